//! Results for the values in function bodies hold in each call.

use onnx_ir::{Attribute, Callee, FunctionId, Model, NodeId, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, MergePolicy, Ty, infer, infer_function};
use onnx_types::{ElemType, Type};

/// What inference says about the values in a function's body agrees with what it says about each call of the main graph
/// and of the graphs nested in it, visited in isolation.
///
/// # Errors
///
/// The first value for which it does not.
pub fn bodies(model: &Model) -> Result<(), String> {
    let mut model = model.clone();
    let mut results = infer(&model, &InferOptions::default());
    results.apply(&mut model, MergePolicy::Refine).map_err(|error| error.to_string())?;
    let main = model.main_graph();
    let nodes: Vec<NodeId> = model.nodes_in(main).collect();
    for node in nodes {
        let Callee::Function(function) = model.callee(node, Registry::STANDARD) else { continue };
        let record = model.node(node);
        let inputs: Vec<Option<Type>> = record
            .inputs()
            .map(|input| input.map(|value| model.ty(value).cloned().unwrap_or_default()))
            .collect();
        let attributes: Vec<Attribute> = record.attributes().to_vec();
        let call = infer_function(&model, function, &inputs, &attributes, &InferOptions::default());
        agree(&model, function, &results, &call)?;
    }
    Ok(())
}

fn agree(model: &Model, function: FunctionId, all: &Inference, call: &Inference) -> Result<(), String> {
    let body = model.function(function).body();
    let outputs = model.nodes_in(body).flat_map(|node| model.node(node).outputs().iter().flatten());
    let values: Vec<ValueId> = model.graph(body).inputs().iter().chain(outputs).copied().collect();
    for value in values {
        let (general, special) = (all.ty(value), call.ty(value));
        if contradict(&general, &special) {
            let name = model.str(model.value(value).name());
            return Err(format!("`{name}` of a function is {general:?} in all calls and {special:?} in one"));
        }
    }
    Ok(())
}

/// Whether no value has both types.
fn contradict(a: &Ty, b: &Ty) -> bool {
    let (Ty::Tensor(a, left), Ty::Tensor(b, right)) = (a, b) else { return false };
    let is_open = |elem: &ElemType| *elem == ElemType::Undefined;
    if a != b && !is_open(a) && !is_open(b) {
        return true;
    }
    let (Some(left), Some(right)) = (left, right) else { return false };
    let differ =
        |(a, b): (&onnx_types::Dim, &onnx_types::Dim)| a.known().zip(b.known()).is_some_and(|(a, b)| a != b);
    left.len() != right.len() || left.iter().zip(right).any(differ)
}
