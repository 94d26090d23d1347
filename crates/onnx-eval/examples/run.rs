//! Runs a model that is written as text, and prints its outputs: `cargo run -p onnx-eval --example run`.
#![allow(clippy::print_stdout, reason = "an example")]

use onnx_eval::{EvalOptions, Evaluator, Value};
use onnx_types::tensor::{NoData, Tensor};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20]>
powers (int64 n) => (int64[n] y) {
   zero = Constant <value_int = 0> ()
   one = Constant <value_int = 1> ()
   two = Constant <value_int = 2> ()
   exponents = Range (zero, n, one)
   y = Pow (two, exponents)
}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = onnx_text::parse_model(MODEL, &onnx_text::ParseOptions::default())?;
    let evaluator = Evaluator::new(&model, &EvalOptions::default())?;
    for n in [0, 1, 10] {
        let outputs = evaluator.run(&[("n", Value::from(Tensor::scalar(n)))])?;
        let y = outputs.first().and_then(Value::tensor).ok_or("the model has no outputs")?;
        println!("{:?}", y.to_vec::<i64>(&NoData)?);
    }
    Ok(())
}
