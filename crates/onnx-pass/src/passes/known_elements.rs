//! The pass `known-elements`: integers that inference knows become constants.

mod operands;
mod sizes;

use onnx_ir::{Model, NodeId, Position, ValueId};
use onnx_schema::op;
use onnx_shape_infer::{Content, Inference};
use onnx_types::ElemClass;
use onnx_types::tensor::Tensor;

pub(super) use sizes::tap_sizes;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::{Reason, label};

/// The name of the pass.
const NAME: &str = "known-elements";

pub(super) fn pass() -> Pass {
    let summary =
        "Makes integers that inference knows constants, and operands of `Reshape` as constant as possible.";
    Pass::new(NAME, summary, Exactness::Exact, known_elements)
        .with_page(include_str!("known_elements.md"))
        .after("sorted")
}

/// Replaces values of integers and truth values whose elements inference knows by constants. Operands of `Reshape`, `Expand`,
/// `Tile` and `Slice` become constants where another constant means the same. Values whose elements are sizes of the inputs become
/// an earlier value with equal elements, or are made of fewer nodes. Exported models compute many shapes from shapes; the nodes
/// that did so are dead afterwards and are erased by the edit.
pub fn known_elements(cx: &mut PassCx<'_>) -> Report {
    let mut report = operands::simplify(cx);
    let known: Vec<NodeId> = {
        let (model, inference) = (cx.model(), cx.inference());
        let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        nodes.filter(|&node| computes(model, node) && has_known_result(model, inference, node)).collect()
    };
    // Users come first, because this makes the nodes dead whose results only they use.
    for node in known.into_iter().rev() {
        if cx.is_stopped() {
            break;
        }
        if cx.model().get_node(node).is_none() {
            continue;
        }
        let mut patch = cx.patch(NAME, Exactness::Exact);
        patch.source(node);
        match materialize(&mut patch, node) {
            Ok(()) => report.commit(patch),
            Err(reason) => report.miss(patch.model(), node, &reason),
        }
    }
    for later in [sizes::merge(cx), sizes::simplify(cx)] {
        report.extend(later);
    }
    report
}

/// Returns `true` if all elements of an output are known integers.
fn has_known_result(model: &Model, inference: &Inference, node: NodeId) -> bool {
    let mut outputs = model.node(node).outputs().iter().flatten();
    outputs.any(|&output| {
        let is_known = |content: &Content| content.iter().all(|element| element.known().is_some());
        model.value(output).is_used() && inference.content(output).is_some_and(is_known)
    })
}

fn is_constant(model: &Model, value: ValueId) -> bool {
    let record = model.value(value);
    let is_node = record.producer().is_some_and(|producer| model.node(producer).is(op::CONSTANT));
    is_node || record.constant().is_some()
}

/// Nodes that are not constants, and have results of which the elements may be known.
fn computes(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    !record.is(op::CONSTANT) && !record.is(op::IDENTITY) && record.nested_graphs().next().is_none()
}

/// Replaces the outputs of a node whose elements are known.
fn materialize(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let outputs: Vec<ValueId> = patch.model().node(node).outputs().iter().flatten().copied().collect();
    let mut is_any = false;
    let mut reason = None;
    for output in outputs {
        // An output without uses needs no replacement; the node is kept while another output is used.
        if !patch.model().value(output).is_used() {
            continue;
        }
        match known(patch, output) {
            Ok(tensor) => {
                // If the elements are computed from sizes only, the claim begins at the tensors that have these sizes.
                let _ = tap_sizes(patch, output);
                let new = patch.new_constant(Position::Before(node), tensor)?;
                patch.replace(output, new);
                is_any = true;
            }
            Err(why) => reason = Some(why),
        }
    }
    if is_any { Ok(()) } else { Err(reason.unwrap_or_else(|| "it has no outputs".into())) }
}

/// The elements of a value, if all are known.
fn known(patch: &mut Patch<'_, '_>, value: ValueId) -> Result<Tensor, Reason> {
    let is_integer = |class| matches!(class, ElemClass::Int | ElemClass::Uint | ElemClass::Bool);
    if !patch.elem(value).is_some_and(|elem| is_integer(elem.class())) {
        let value = label(patch.model(), value);
        return Err(Reason::new(format!("the elements of its result {value} are not integers")));
    }
    patch.try_constant(value)
}
