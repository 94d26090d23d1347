//! Work on large models ends soon after an interrupt, wherever it is by then.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_compose::Quantization;
use onnx_diff::{DiffOptions, HashOptions, diff, hash_model};
use onnx_ir::{Model, ValueId};
use onnx_quantize::{
    BlockOptions, Calibration, DynamicOptions, GeneratedSamples, Half, MeasureOptions, NarrowOptions,
    StaticOptions, WeightOptions, narrow, quantize_blocks, quantize_calibrated, quantize_dynamic,
    quantize_weights,
};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::{ElemType, Execution, Interrupt};
use onnx_weights::{StripOptions, restore, strip};

const NODES: usize = 4096;

/// Layers of a product with a separate weight, a sum, and two functions, with these operators.
fn layers(operators: [&str; 3], offset: usize) -> Model {
    let (mut weights, mut nodes) = (String::new(), String::new());
    let [sum, first, second] = operators;
    let bias = if sum == "Add" { ", b" } else { "" };
    for layer in 0..NODES / 4 {
        let elements: Vec<String> =
            (0..16).map(|place| ((layer * 31 + place * 7 + offset) % 101).to_string()).collect();
        write!(weights, ", float[4,4] w{layer} = {{{}}}", elements.join(", ")).unwrap();
        writeln!(nodes, "m{layer} = MatMul (v{layer}, w{layer}) a{layer} = {sum} (m{layer}{bias})").unwrap();
        writeln!(nodes, "r{layer} = {first} (a{layer}) v{} = {second} (r{layer})", layer + 1).unwrap();
    }
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\n\
         g (float[N,4] v0) => (float[N,4] y) <float[4] b = {{1, 2, 3, 4}}{weights}> {{\n{nodes}y = Relu (v{})\n}}",
        NODES / 4
    );
    parse_model(&text, &ParseOptions::default()).unwrap()
}

/// A chain of nodes, of which some use an older value as well.
fn chain(operators: &[&str], name: char) -> Model {
    let mut text =
        format!("<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] {name}0) => (float[N] y) {{\n");
    for node in 0..NODES {
        let operator = operators[node % operators.len()];
        let other = match operator {
            "Add" | "Sub" | "Mul" => format!(", {name}{}", node / 2),
            _ => String::new(),
        };
        writeln!(text, "{name}{} = {operator} ({name}{node}{other})", node + 1).unwrap();
    }
    writeln!(text, "y = Relu ({name}{NODES})\n}}").unwrap();
    parse_model(&text, &ParseOptions::default()).unwrap()
}

fn printed(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

/// An interrupt that holds at a check, and counts the checks.
fn at_check(number: usize) -> (Execution, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let interrupt = Interrupt::when(move || counted.fetch_add(1, Ordering::Relaxed) == number);
    (Execution::default().with_interrupt(interrupt), asked)
}

/// Does work to its end, which has to check the interrupt this often for each 1,024 nodes, and then until some of the checks. The work
/// returns whether it was ended.
fn ends(least: usize, work: impl Fn(&Execution) -> bool) {
    let (execution, asked) = at_check(usize::MAX);
    assert!(!work(&execution), "nothing ends the work");
    let checks = asked.load(Ordering::Relaxed);
    assert!(checks >= least * NODES / 1024, "{checks} checks");
    for number in (0..checks).step_by(checks.div_ceil(24)) {
        let (execution, _) = at_check(number);
        assert!(work(&execution), "it does not end at check {number} of {checks}");
    }
}

/// The same for an edit: the model is as before if it is ended.
fn edit_ends(model: &Model, least: usize, edit: impl Fn(&mut Model, &Execution) -> bool) {
    let before = printed(model);
    ends(least, |execution| {
        let mut edited = model.clone();
        let is_ended = edit(&mut edited, execution);
        assert!(!is_ended || printed(&edited) == before, "an interrupted change is visible");
        is_ended
    });
}

#[test]
fn diff_of_unlike_models_ends() {
    let a = chain(&["Relu", "Identity", "Add", "Neg"], 'v');
    let b = chain(&["Neg", "Abs", "Mul", "Relu", "Sub", "Neg"], 'u');
    ends(200, |execution| {
        let options = DiffOptions::default().with_execution(execution.clone());
        diff(&a, &b, &options).is_err()
    });
}

#[test]
fn diff_of_layers_ends() {
    let (a, b) = (layers(["Add", "Relu", "Sigmoid"], 0), layers(["Neg", "Abs", "Tanh"], 5));
    ends(750, |execution| {
        let options = DiffOptions::default().with_execution(execution.clone());
        diff(&a, &b, &options).is_err()
    });
}

#[test]
fn diff_of_equal_models_ends() {
    let model = layers(["Add", "Relu", "Sigmoid"], 0);
    ends(180, |execution| {
        let options = DiffOptions::default().with_execution(execution.clone());
        diff(&model, &model, &options).is_err()
    });
}

#[test]
fn hash_ends() {
    let model = layers(["Add", "Relu", "Sigmoid"], 0);
    ends(40, |execution| {
        hash_model(&model, &HashOptions::default().with_execution(execution.clone())).is_err()
    });
}

#[test]
fn cost_ends() {
    let model = layers(["Add", "Relu", "Sigmoid"], 0);
    ends(28, |execution| {
        let options = onnx_cost::CostOptions::default().with_execution(execution.clone());
        onnx_cost::cost(&model, &options).is_err()
    });
}

#[test]
fn verification_ends() {
    let model = layers(["Add", "Relu", "Sigmoid"], 0);
    ends(12, |execution| match model.verify_until(&execution.interrupt) {
        Ok(verified) => {
            assert_eq!(verified, Ok(()));
            false
        }
        Err(_) => true,
    });
}

#[test]
fn half_precision_ends() {
    edit_ends(&chain(&["Relu", "Neg"], 'v'), 105, |model, execution| {
        let options = NarrowOptions::default().with_run(false).with_execution(execution.clone());
        narrow(model, Half::Float16, &options).is_err()
    });
}

#[test]
fn quantization_of_weights_ends() {
    edit_ends(&layers(["Add", "Relu", "Sigmoid"], 0), 1000, |model, execution| {
        let options = WeightOptions::default().with_execution(execution.clone());
        quantize_weights(model, ElemType::Int8, &options).is_err()
    });
}

#[test]
fn dynamic_quantization_ends() {
    edit_ends(&layers(["Add", "Relu", "Sigmoid"], 0), 800, |model, execution| {
        let options = DynamicOptions::default().with_execution(execution.clone());
        quantize_dynamic(model, ElemType::Uint8, &options).is_err()
    });
}

#[test]
fn quantization_in_blocks_ends() {
    edit_ends(&layers(["Add", "Relu", "Sigmoid"], 0), 1200, |model, execution| {
        let options = BlockOptions::default().with_execution(execution.clone());
        quantize_blocks(model, ElemType::Uint4, &options).is_err()
    });
}

#[test]
fn static_quantization_ends() {
    let table = Quantization::named("onnxruntime").unwrap();
    edit_ends(&layers(["Add", "Relu", "Sigmoid"], 0), 3800, |model, execution| {
        let options = StaticOptions::new(&table).with_execution(execution.clone());
        let settings = MeasureOptions::default().with_execution(execution.clone());
        let before = model.clone();
        let samples = GeneratedSamples::new(&before, 1, &settings);
        let calibration = Calibration::default().with_samples(Some(&samples));
        quantize_calibrated(model, ElemType::Uint8, &calibration, &options).is_err()
    });
}

#[test]
fn generating_one_weight_ends() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[1,2048] x, float[2048,2048] w) => (float[1,2048] y) { y = MatMul (x, w) }";
    let mut stripped = parse_model(text, &ParseOptions::default()).unwrap();
    let weight: ValueId = stripped.find_value(stripped.main_graph(), "w").unwrap();
    let zeros = onnx_types::tensor::Tensor::splat([2048, 2048], 0.0_f32).unwrap();
    let graph = stripped.main_graph();
    stripped.set_initializer(graph, weight, Some(Arc::new(onnx_ir::Constant::Dense(zeros))));
    strip(&mut stripped, &StripOptions::default(), &|_| true);
    // 4 Mi elements.
    edit_ends(&stripped, 60 * 1024 / NODES, |model, execution| restore(model, 5, execution).is_err());
}
