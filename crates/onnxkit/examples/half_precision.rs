//! Converts a model to half precision: `cargo run -p onnxkit --example half_precision IN OUT`.
//!
//! The pass only inserts `Cast`: around each node that takes `float16` everywhere it takes `float`. In floats of 64 bits a cast
//! is the identity, so [`prove_models`] tests the surgery apart from the rounding. Then the casts of weights are folded.
#![allow(clippy::print_stdout, reason = "an example")]

use std::collections::HashMap;
use std::error::Error;

use onnxkit::eval::{EvalOptions, constant};
use onnxkit::functions::{InlineOptions, inline_all};
use onnxkit::infer::{InferOptions, Inference, infer};
use onnxkit::ir::{Model, NodeId, Position, User, ValueId};
use onnxkit::ops::{Call, ops};
use onnxkit::pass::{Exactness, PassOptions, Verdict, prove_models};
use onnxkit::schema::{domain, op};
use onnxkit::types::tensor::DataSource;
use onnxkit::types::{ElemType, Type};

/// The inputs and the outputs of a node that become `float16`; `None` if the node stays as it is.
fn narrow(model: &Model, inference: &Inference, node: NodeId) -> Option<(Vec<usize>, Vec<usize>)> {
    let call = Call::of(model, node).ok()?;
    let (schema, record) = (call.schema(), call.node());
    let is_kept =
        [op::CAST, op::CAST_LIKE, op::CONSTANT, op::CONSTANT_OF_SHAPE, op::RANGE].contains(&schema.op());
    if schema.domain() != domain::ONNX || is_kept || record.nested_graphs().next().is_some() {
        return None;
    }
    let is_float = |value: Option<ValueId>| value.is_some_and(|v| inference.elem(v) == Some(ElemType::Float));
    // An operand of unknown type might share the type of one that changes.
    if record.inputs().flatten().any(|value| inference.elem(value).is_none()) {
        return None;
    }
    // The last formal is that of all other operands where it is variadic.
    let takes = |formal| schema.types_of(formal).contains_tensor(ElemType::Float16);
    let mut inputs = Vec::new();
    for (index, _) in record.inputs().enumerate().filter(|&(_, input)| is_float(input)) {
        let formal = schema.inputs().get(index).or(schema.inputs().last())?;
        // A scale or a statistic that stays single has a separate type variable.
        if takes(formal) {
            inputs.push(index);
        }
    }
    let mut outputs = Vec::new();
    for (index, _) in record.outputs().iter().enumerate().filter(|&(_, output)| is_float(*output)) {
        let formal = schema.outputs().get(index).or(schema.outputs().last())?;
        if takes(formal) {
            outputs.push(index);
        }
    }
    (!inputs.is_empty() && !outputs.is_empty()).then_some((inputs, outputs))
}

/// The casts that are inserted: results that become half again, each with the half that it was made of.
type Widened = HashMap<ValueId, ValueId>;

/// Inserts a cast of each operand in front of a node and one of each result behind it. What was half before is not cast again.
fn surround(
    model: &mut Model,
    node: NodeId,
    (inputs, outputs): (Vec<usize>, Vec<usize>),
    widened: &mut Widened,
) -> Result<(), Box<dyn Error>> {
    for index in inputs {
        let Some(operand) = model.node(node).input(index) else { continue };
        let half = match widened.get(&operand) {
            Some(&half) => half,
            None => {
                let mut build = model.build_at(Position::Before(node));
                ops::cast(&mut build, operand, ElemType::Float16).output()?
            }
        };
        model.set_input(node, index, Some(half));
    }
    for index in outputs {
        let Some(result) = model.node(node).output(index) else { continue };
        let mut build = model.build_at(Position::After(node));
        let cast = ops::cast(&mut build, result, ElemType::Float).output()?;
        let Some(of_cast) = model.value(cast).producer() else { continue };
        // The name, the type and the users of the result are those of the cast.
        model.take_name(cast, result);
        model.set_type(cast, model.value(result).ty().cloned());
        model.set_type(result, None::<Type>);
        model.replace_uses_where(result, cast, |_, used| used.user != User::Node(of_cast));
        widened.insert(cast, result);
    }
    Ok(())
}

/// Replaces casts of constants by constants.
fn fold(model: &mut Model, data: &dyn DataSource) -> Result<(), Box<dyn Error>> {
    let nodes: Vec<NodeId> = model.all_graphs().flat_map(|graph| model.nodes(graph)).collect();
    for node in nodes.into_iter().filter(|&node| model.node(node).is(op::CAST)).collect::<Vec<_>>() {
        let Some(result) = model.node(node).output(0) else { continue };
        let Ok(tensor) = constant(model, result, &EvalOptions::default().with_data(data)) else { continue };
        let made = model.build_at(Position::Before(node)).constant(tensor)?;
        model.replace_value(result, made);
    }
    model.erase_unused();
    Ok(())
}

/// The model in half precision, whose inputs and outputs stay single, and the verdict about the surgery.
pub fn half_precision(model: &Model, data: &dyn DataSource) -> Result<(Model, Verdict), Box<dyn Error>> {
    let mut before = model.clone();
    inline_all(&mut before, &InlineOptions::default())?;
    let mut after = before.clone();
    let inference = infer(&before, &InferOptions::default().with_data(data));
    let nodes: Vec<NodeId> = before.all_graphs().flat_map(|graph| before.nodes(graph)).collect();
    let mut widened = Widened::new();
    for node in nodes {
        if let Some(casts) = narrow(&before, &inference, node) {
            surround(&mut after, node, casts, &mut widened)?;
        }
    }
    after.erase_unused();
    let verdict = prove_models(&before, &after, Exactness::Rounding, &PassOptions::default().with_data(data));
    fold(&mut after, data)?;
    Ok((after, verdict))
}

fn main() -> Result<(), Box<dyn Error>> {
    use onnxkit::codec::{DecodeOptions, EncodeOptions, ReadMode, WriteOptions, load, save};
    let mut args = std::env::args().skip(1);
    let (Some(input), Some(output)) = (args.next(), args.next()) else {
        return Err("usage: half_precision IN OUT".into());
    };
    let loaded = load(&input, ReadMode::Memory, &DecodeOptions::default())?;
    let (model, verdict) = half_precision(&loaded.model, &loaded.data)?;
    println!("the surgery is {verdict}; {} nodes", model.node_count());
    save(&output, &model, &[], &EncodeOptions::default(), &WriteOptions::default())?;
    Ok(())
}
