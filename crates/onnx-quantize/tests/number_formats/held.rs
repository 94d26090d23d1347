//! Weights that are made go to the source of external data, which can hold them outside of memory.

use std::sync::Mutex;

use bytes::Bytes;
use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_quantize::{
    BlockOptions, DequantizeOptions, DynamicOptions, GeneratedSamples, Granularity, Half, MeasureOptions,
    Method, NarrowOptions, StaticOptions, WeightOptions, calibrate, dequantize, narrow, quantize_blocks,
    quantize_dynamic, quantize_static, quantize_weights,
};
use onnx_types::ElemType;
use onnx_types::tensor::{DataError, DataSource, NoData, Payload};

use super::model;

/// A source that gives copies, and knows their addresses.
#[derive(Default)]
struct Holder(Mutex<Vec<Bytes>>);

impl DataSource for Holder {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        NoData.read(location, offset, length)
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        NoData.len(location)
    }

    fn hold(&self, bytes: Bytes) -> Bytes {
        let copy = Bytes::copy_from_slice(&bytes);
        self.0.lock().unwrap().push(copy.clone());
        copy
    }
}

impl Holder {
    /// The large constants of a model that are not held, and the number of those that are.
    fn left(&self, model: &Model) -> (Vec<String>, usize) {
        let held = self.0.lock().unwrap();
        let (mut left, mut count) = (Vec::new(), 0);
        let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        let made = nodes.flat_map(|node| model.node(node).outputs().iter().copied().flatten());
        let constants = model.all_graphs().flat_map(|graph| model.initializers(graph)).chain(made);
        for value in constants {
            let Some(tensor) = model.constant_tensor(value) else { continue };
            let Payload::Raw(bytes) = tensor.payload() else { continue };
            if bytes.len() < 64 {
                continue;
            }
            match held.iter().any(|held| held.as_ptr() == bytes.as_ptr()) {
                true => count += 1,
                false => left.push(model.str(model.value(value).name()).to_owned()),
            }
        }
        (left, count)
    }
}

fn source() -> Model {
    let numbers: Vec<String> =
        (0..32 * 32).map(|index| format!("{:.3}", (f64::from(index) * 0.37).sin())).collect();
    model(&format!(
        r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,32] x) => (float[N,32] y) <float[32,32] w = {{{}}}> {{ y = MatMul (x, w) }}"#,
        numbers.join(", ")
    ))
}

type Edit<'a> = &'a dyn Fn(&mut Model, &Holder);

#[test]
fn large_results_of_every_edit_are_held() {
    let source = source();
    let table = Quantization::named("onnxruntime").unwrap();
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 1, &settings);
    let weights = |granularity, to| {
        move |model: &mut Model, holder: &Holder| {
            let options = WeightOptions::default().with_granularity(granularity).with_data(holder);
            quantize_weights(model, to, &options).unwrap();
        }
    };
    let blocks = |model: &mut Model, holder: &Holder| {
        quantize_blocks(model, ElemType::Uint4, &BlockOptions::default().with_block(16).with_data(holder))
            .unwrap();
    };
    let dynamic = |model: &mut Model, holder: &Holder| {
        quantize_dynamic(model, ElemType::Int8, &DynamicOptions::default().with_data(holder)).unwrap();
    };
    let fixed = |model: &mut Model, holder: &Holder| {
        let options = StaticOptions::new(&table).with_data(holder);
        let ranges = calibrate(model, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
        quantize_static(model, ElemType::Uint8, &ranges, None, &options).unwrap();
    };
    let half = |model: &mut Model, holder: &Holder| {
        narrow(model, Half::Float16, &NarrowOptions::default().with_data(holder)).unwrap();
    };
    let back = |model: &mut Model, holder: &Holder| {
        quantize_weights(model, ElemType::Int8, &WeightOptions::default()).unwrap();
        dequantize(model, &DequantizeOptions::default().with_data(holder)).unwrap();
    };
    let edits: [(&str, Edit<'_>, usize); 8] = [
        ("a scale for all", &weights(Granularity::Tensor, ElemType::Int4), 1),
        ("channels", &weights(Granularity::Channel, ElemType::Int8), 2),
        ("blocks with zero points", &weights(Granularity::Block(4), ElemType::Uint8), 3),
        ("products of blocks", &blocks, 2),
        ("dynamic", &dynamic, 1),
        ("static", &fixed, 1),
        ("half precision", &half, 1),
        ("back", &back, 1),
    ];
    for (name, edit, count) in edits {
        let (mut result, holder) = (source.clone(), Holder::default());
        edit(&mut result, &holder);
        assert_eq!(holder.left(&result), (Vec::new(), count), "{name}");
    }
}
