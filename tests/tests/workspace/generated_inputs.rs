//! Generated inputs are valid: models of one operator run on what `onnx_eval::generate` makes for them.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::collections::BTreeSet;

use onnx_eval::generate::Generator;
use onnx_eval::{EvalOptions, Evaluator, Failure, FailureKind, Value, has_kernel};
use onnx_ir::{Model, ValueId};
use onnx_schema::SchemaId;
use onnx_shape_infer::{InferOptions, infer};
use onnx_smith::SmithOptions;
use onnx_types::{Limits, Symbol};

/// Parts of the messages with which runs end nevertheless.
const KNOWN: [&str; 5] = [
    // `Cast` of a generated text to a number.
    "is not a number",
    // `CastMap` and `DictVectorizer`: the type of a map does not declare the rank of its values.
    "a value of the map must have one element",
    // These are wrong whatever the inputs are: an attribute of `Dropout`, and `Softmax` and others of a scalar.
    "is not in [0, 1)",
    "is not one of a tensor of rank 0",
    // `MaxRoiPool`: one of five columns of an operand is an index.
    "does not exist",
];

/// The inputs that are generated; `None` if an input has a type of which no values are generated.
fn inputs(model: &Model, seed: u64) -> Option<Vec<Option<Value>>> {
    let inference = infer(model, &InferOptions::default());
    let size = |_: Symbol| Some(2);
    let sizes = |value: ValueId| {
        let shape = inference.shape(value)?;
        Some(shape.iter().map(|&dim| inference.exprs().eval(dim, &size)).collect())
    };
    let generator = Generator::new(model, seed, &sizes);
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let values = inputs.map(|&input| match model.value(input).initializer() {
        Some(_) => Some(None),
        None => generator.value(input, &Limits::default()).ok().map(Some),
    });
    values.collect()
}

fn run(model: &Model, values: Vec<Option<Value>>) -> Result<Vec<Value>, Failure> {
    Evaluator::new(model, &EvalOptions::default())?.run_in_order(values)
}

#[test]
fn generated_inputs_are_valid() {
    let options = SmithOptions::default().with_nodes(1);
    let (mut runs, mut completed) = (0, 0);
    let (mut used, mut unknown) = (BTreeSet::new(), Vec::new());
    for schema in (0..SchemaId::COUNT).filter_map(SchemaId::from_index).filter(|&schema| has_kernel(schema)) {
        for round in 0..3 {
            let seed = schema.index() as u64 * 1000 + round;
            let model = onnx_smith::from_seed(seed, &options.clone().with_schema(schema)).model;
            let Some(values) = inputs(&model, seed) else { continue };
            runs += 1;
            match run(&model, values) {
                Ok(_) => completed += 1,
                Err(failure) => {
                    assert_eq!(failure.kind(), FailureKind::Operator, "{failure}");
                    let message = failure.to_string();
                    match KNOWN.iter().position(|known| message.contains(known)) {
                        Some(known) => drop(used.insert(known)),
                        None => unknown.push(format!("{} seed {seed}: {message}", schema.schema())),
                    }
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(runs > 1800 && completed * 100 >= runs * 98, "{completed} of {runs} runs");
    assert_eq!(used.len(), KNOWN.len(), "of {KNOWN:?}, {used:?} occur");
}
