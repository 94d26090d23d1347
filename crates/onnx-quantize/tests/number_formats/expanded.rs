//! Operators of onnxruntime with quantized numbers: their meaning here, and that of the operators of floats in their place, are those of
//! onnxruntime, whose results `runtime_results.py` wrote.

use onnx_eval::{EvalOptions, Evaluator, Value};
use onnx_ir::Model;
use onnx_quantize::{DequantizeOptions, dequantize};
use onnx_schema::Registry;
use onnx_types::tensor::{NoData, Tensor};
use serde_json::Value as Json;

use super::{forms::registry, model};

const RESULTS: &str = include_str!("runtime_results.jsonl");

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn inputs(json: &Json) -> Vec<(&str, Value)> {
    let tensor = |parts: &Json| {
        let dims: Vec<i64> = numbers(&parts[1]).into_iter().map(|size| size as i64).collect();
        let all: Vec<f32> = numbers(&parts[2]).into_iter().map(|number| number as f32).collect();
        Value::from(Tensor::from_slice(dims, &all).unwrap())
    };
    json.as_object().unwrap().iter().map(|(name, parts)| (name.as_str(), tensor(parts))).collect()
}

fn run(model: &Model, inputs: &[(&str, Value)], registry: &Registry) -> Vec<Vec<f64>> {
    let options = EvalOptions::default().with_registry(registry);
    let made = Evaluator::new(model, &options).unwrap().run(inputs).unwrap();
    made.iter().map(|value| value.tensor().unwrap().iter_f64(&NoData).unwrap().collect()).collect()
}

fn largest_difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().zip(b).flat_map(|(a, b)| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b)
    });
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn operators_of_floats_compute_what_the_runtime_does() {
    let registry = registry();
    let mut count = 0;
    for line in RESULTS.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let (name, tolerance) = (case["name"].as_str().unwrap(), case["tolerance"].as_f64().unwrap());
        let mut model = model(case["model"].as_str().unwrap());
        let inputs = inputs(&case["inputs"]);
        let wanted: Vec<Vec<f64>> = case["outputs"].as_array().unwrap().iter().map(numbers).collect();
        let done = dequantize(&mut model, &DequantizeOptions::default().with_registry(&registry)).unwrap();
        assert!(done.left.is_empty(), "{name}: {:?}", done.left);
        let ops: Vec<&str> =
            model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op())).collect();
        assert!(ops.iter().all(|op| !op.contains("Quantize") && !op.contains("QLinear")), "{name}: {ops:?}");
        let found = run(&model, &inputs, Registry::STANDARD);
        let difference = largest_difference(&found, &wanted);
        assert!(difference <= tolerance, "{name}: {difference} > {tolerance}");
        count += 1;
    }
    assert!(count > 100, "{count}");
}
