//! Generated models of every operator in every version: what is converted is valid, and nothing else changes.

use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_quantize::{
    CalibrateError, DequantizeOptions, DynamicOptions, GeneratedSamples, Granularity, Half, MeasureOptions,
    Method, NarrowError, NarrowOptions, QuantizeError, Ranges, Samples, StaticOptions, WeightOptions,
    calibrate, dequantize, measure_on, narrow, quantize_dynamic, quantize_static, quantize_weights,
    use_operators,
};
use onnx_schema::{Registry, all};
use onnx_smith::{SmithOptions, from_seed};
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::{errors, text_of};

#[test]
fn models_of_every_operator_are_converted() {
    let (mut converted, mut refused) = (0, 0);
    for schema in all() {
        let options = SmithOptions::default().with_nodes(6).with_schema(schema.id());
        let model = from_seed(schema.id().index() as u64, &options).model;
        let before = errors(&model);
        let half = if schema.id().index() % 2 == 0 { Half::Float16 } else { Half::Bfloat16 };
        for keep_io in [true, false] {
            let mut result = model.clone();
            let options = NarrowOptions::default().with_run(false).with_keep_io(keep_io);
            match narrow(&mut result, half, &options) {
                Ok(done) => {
                    let new: Vec<String> =
                        errors(&result).into_iter().filter(|error| !before.contains(error)).collect();
                    assert!(new.is_empty(), "{schema}: {new:?}\n{}\n{}", text_of(&model), text_of(&result));
                    converted += usize::from(done.nodes > 0);
                    refused += usize::from(done.unchanged.is_some());
                    if done.unchanged.is_some() {
                        assert_eq!(text_of(&result), text_of(&model), "{schema}");
                    }
                }
                Err(NarrowError::NotTaken(_) | NarrowError::Training) => {
                    assert_eq!(text_of(&result), text_of(&model), "{schema}");
                    refused += 1;
                }
                Err(error) => panic!("{schema}: {error}\n{}", text_of(&model)),
            }
        }
    }
    assert!(converted > 500 && refused > 100, "{converted} {refused}");
}

#[test]
fn weights_of_generated_models_are_quantized() {
    let types = [ElemType::Int8, ElemType::Uint8, ElemType::Int4, ElemType::Uint4, ElemType::Float8E4M3Fn];
    let granularities = [Granularity::Tensor, Granularity::Channel, Granularity::Block(2)];
    let mut quantized = 0;
    for seed in 0..300_u64 {
        let model = from_seed(seed, &SmithOptions::default()).model;
        let to = types[seed as usize % types.len()];
        let options = WeightOptions::default().with_granularity(granularities[seed as usize / 5 % 3]);
        let mut result = model.clone();
        match quantize_weights(&mut result, to, &options) {
            Ok(report) => {
                assert_eq!(errors(&result), errors(&model), "{seed}\n{}", text_of(&result));
                quantized += report.weights.len();
                dequantize(&mut result, &DequantizeOptions::default()).unwrap();
                assert_eq!(errors(&result), errors(&model), "{seed}\n{}", text_of(&result));
            }
            Err(QuantizeError::Version { .. }) => assert_eq!(text_of(&result), text_of(&model), "{seed}"),
            Err(error) => panic!("{seed}: {error}"),
        }
    }
    assert!(quantized > 0);
}

/// The errors of a model after a quantization, without those that it had before.
fn assert_no_new_errors(before: &[String], result: &Model, what: &str) {
    result.verify().unwrap();
    let new: Vec<String> = errors(result).into_iter().filter(|error| !before.contains(error)).collect();
    assert!(new.is_empty(), "{what}: {new:?}\n{}", text_of(result));
}

/// Models of the operators that the tables mention, in every version, with every type of activations: valid, and they run where the model
/// before does.
#[test]
fn activations_of_models_of_every_version_are_quantized() {
    let tables = ["generic", "onnxruntime", "tensorrt"].map(|name| Quantization::named(name).unwrap());
    let names = tables.iter().flat_map(|table| &table.operators).map(|row| row.name.clone());
    let names: std::collections::BTreeSet<String> = names.collect();
    let (mut quantized, mut refused, mut ran) = (0, 0, 0);
    for (seed, schema) in
        all().iter().filter(|schema| names.contains(schema.name())).cycle().take(750).enumerate()
    {
        let options = SmithOptions::default().with_nodes(4).with_schema(schema.id());
        let model = from_seed(seed as u64, &options).model;
        let before = errors(&model);
        let table = &tables[seed % 3];
        let to = table.activations[seed / 3 % table.activations.len()];
        let options = StaticOptions::new(table).with_per_channel(seed % 2 == 0).with_symmetric(seed % 5 == 0);
        let settings = MeasureOptions::default();
        let samples = GeneratedSamples::new(&model, 2, &settings);
        let options = options
            .with_correction((seed % 2 == 0).then_some(&samples as &dyn Samples))
            .with_quantized_results(seed % 4 == 0);
        let what = format!("{schema} {to} {seed}");
        let ranges = match calibrate(&model, to, Method::MinMax, &samples, &options) {
            Ok(ranges) => ranges,
            Err(CalibrateError::Run { .. }) => continue,
            Err(CalibrateError::NotFinite(_)) => Ranges::default(),
            Err(error) => panic!("{what}: {error}"),
        };
        let mut result = model.clone();
        match quantize_static(&mut result, to, &ranges, None, &options) {
            Ok(report) => {
                assert_no_new_errors(&before, &result, &what);
                quantized += report.quantized.len();
                let outputs = measure_on(&model, &result, &samples, &settings);
                match outputs {
                    Ok(outputs) => ran += usize::from(!outputs.is_empty()),
                    // A model without a value to calibrate is not run before, so that it may not run at all.
                    Err(reason) => {
                        let own = measure_on(&model, &model, &samples, &settings);
                        assert!(own.is_err(), "{what}: {reason}\n{}", text_of(&result));
                    }
                }
                use_operators(&mut result, table, Registry::STANDARD, &NoData).unwrap();
                assert_no_new_errors(&before, &result, &what);
                dequantize(&mut result, &DequantizeOptions::default()).unwrap();
                assert_no_new_errors(&before, &result, &what);
            }
            Err(QuantizeError::Version { .. } | QuantizeError::NoRanges) => {
                assert_eq!(text_of(&result), text_of(&model), "{what}");
                refused += 1;
            }
            Err(error) => panic!("{what}: {error}\n{}", text_of(&model)),
        }
        let mut result = model.clone();
        let to = [ElemType::Int8, ElemType::Uint8][seed % 2];
        match quantize_dynamic(&mut result, to, &DynamicOptions::default().with_per_channel(seed % 4 < 2)) {
            Ok(_) => assert_no_new_errors(&before, &result, &what),
            Err(QuantizeError::Version { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
    assert!(quantized > 25 && refused > 20 && ran > 50, "{quantized} {refused} {ran}");
}
