//! The inputs of runs, and the budgets that are measured on them.

use onnx_compose::Quantization;
use onnx_quantize::{
    Budget, GeneratedSamples, MeasureOptions, Method, Samples, StaticOptions, calibrate, measure_on,
    quantize_static,
};
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::activations::NETWORK;
use super::model;

/// Three products, of which the second one loses most by itself, and the last one makes the error of the output.
#[test]
fn a_budget_keeps_what_makes_the_error_of_the_outputs() {
    let mut nodes = String::new();
    for index in 0..12 {
        let from = if index == 0 { "x".to_owned() } else { format!("h{}", index - 1) };
        // The weights of one product have very different sizes.
        let weight = if index == 7 { "rough" } else { "w" };
        nodes.push_str(&format!("h{index} = MatMul ({from}, {weight})\n"));
    }
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[8,2] x) => (float[8,2] y) \
         <float[2,2] w = {{0.9, 0.05, -0.05, 0.9}}, float[2,2] rough = {{1000, 0.3, 0.4, -0.0005}}, float[2] mean = {{0.001, 1}}> {{\n\
         {nodes}\ny = Mul (h11, mean)\n}}"
    );
    let source = model(&text);
    let table = Quantization::named("onnxruntime").unwrap();
    let (options, settings) = (StaticOptions::new(&table), MeasureOptions::default());
    let samples = GeneratedSamples::new(&source, 4, &settings);
    let ranges = calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
    let mut result = source.clone();
    let budget = Budget { snr: 25.0, samples: &samples };
    let report = quantize_static(&mut result, ElemType::Uint8, &ranges, Some(budget), &options).unwrap();
    let quantized: usize = report.quantized.iter().map(|(_, count)| count).sum();
    assert!(report.outputs.iter().all(|output| output.snr >= Some(25.0)), "{:?}", report.outputs);
    assert!(report.runs <= 40, "{}", report.runs);
    assert!(quantized >= 3, "{report:?}");
}

/// A generated index can be out of range: other inputs are generated then.
#[test]
fn other_inputs_are_generated_if_the_model_fails() {
    let source = model(
        r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[2,2] x, float[2] place) => (float[2,2] y) <float[2,2] w = {0.5, 1, -0.5, 2}, float four = {4}, float[3,2] t = {1, 2, 3, 4, 5, 6}> {
           far = Mul (place, four)
           index = Cast <to = 7> (far)
           row = Gather (t, index)
           p = MatMul (x, w)
           y = Add (p, row)
        }"#,
    );
    let table = Quantization::named("generic").unwrap();
    let settings = MeasureOptions::default();
    let mut replaced = false;
    for seed in 0..8 {
        let execution = onnx_types::Execution::DEFAULT.with_seed(seed);
        let settings = settings.clone().with_execution(execution.clone());
        let samples = GeneratedSamples::new(&source, 4, &settings);
        let options = StaticOptions::new(&table).with_execution(execution);
        let place = |index: usize| {
            let inputs = samples.sample(index).unwrap();
            inputs[1].1.tensor().unwrap().to_vec::<f32>(&NoData).unwrap()
        };
        let all = || (0..4).map(place).collect::<Vec<_>>();
        let first = all();
        let found = calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options);
        if found.is_ok() {
            // What was replaced stays so: the same inputs are measured.
            replaced |= first != all();
            assert!(measure_on(&source, &source, &samples, &settings).is_ok());
        }
    }
    assert!(replaced);
}

/// Sizes that the model relates to each other, such as those of a cache and a mask, may contradict in nearly all inputs: they grow until they
/// do not.
#[test]
fn sizes_of_other_inputs_grow() {
    let source = model(
        r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[N,2] x, float[P,2] past, float[T] mask) => (float[N,2] y) <float[2,2] w = {0.5, 1, -0.5, 2}> {
           new = Shape <end = 1> (x)
           old = Shape <end = 1> (past)
           place = Add (new, old)
           last = Gather (mask, place)
           p = MatMul (x, w)
           y = Add (p, last)
        }"#,
    );
    let table = Quantization::named("generic").unwrap();
    for seed in 0..8 {
        let execution = onnx_types::Execution::DEFAULT.with_seed(seed);
        let settings = MeasureOptions::default().with_execution(execution.clone());
        let samples = GeneratedSamples::new(&source, 4, &settings);
        let options = StaticOptions::new(&table).with_execution(execution);
        calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
        assert!(measure_on(&source, &source, &samples, &settings).is_ok());
        // What is stated are the sizes of the inputs that the model ran on.
        let least: Vec<i64> = samples.inputs().iter().map(|input| input.least[0]).collect();
        assert!(least[2] > least[0] + least[1], "{least:?}");
    }
}

#[test]
fn sizes_of_generated_inputs_are_set_and_stated() {
    let source = model(NETWORK);
    let sizes = [("N".to_owned(), 5)];
    let free = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 2, &free);
    samples.sample(0).unwrap();
    assert_eq!(samples.open(), ["N"]);
    let set = MeasureOptions::default().with_sizes(&sizes);
    let samples = GeneratedSamples::new(&source, 2, &set);
    samples.sample(0).unwrap();
    samples.sample(1).unwrap();
    let inputs = samples.inputs();
    assert!(samples.open().is_empty());
    assert_eq!(
        (inputs[0].name.as_str(), &inputs[0].least[..], &inputs[0].greatest[..]),
        ("x", &[5, 2, 4, 4][..], &[5, 2, 4, 4][..])
    );
}
