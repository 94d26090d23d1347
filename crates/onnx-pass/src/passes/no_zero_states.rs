//! The pass `no-zero-states`: initial states of recurrent operators that are zeros are left out.

use onnx_ir::{Model, NodeId, Position, ValueId};
use onnx_schema::{Registry, attr, op};
use onnx_types::tensor::{NoData, Tensor};

use super::Report;
use super::known_elements::tap_sizes;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "no-zero-states";

/// The operands of `RNN`, `GRU` and `LSTM` that are initial states; only an `LSTM` has the second one.
const STATES: std::ops::Range<usize> = 5..7;

/// Maximum number of nodes between a state and the zeros that it is made of.
const MAX_NODES: usize = 64;

pub(super) fn pass() -> Pass {
    Pass::new(
        NAME,
        "Leaves out initial states of recurrent operators that are zeros.",
        Exactness::Rounding,
        no_zero_states,
    )
    .with_page(include_str!("no_zero_states.md"))
}

/// Leaves out the initial states of `RNN`, `GRU` and `LSTM` whose elements are all zeros, which is what the operators begin with
/// if they have no such operand. Implementations may skip the products with a state that is left out, so last bits may differ.
pub fn no_zero_states(cx: &mut PassCx<'_>) -> Report {
    cx.rewrite_nodes(NAME, Exactness::Rounding, is_candidate, remove)
}

fn is_candidate(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    [op::RNN, op::GRU, op::LSTM].iter().any(|&op| record.is(op))
        && model.callee(node, Registry::STANDARD).standard().is_some()
        && STATES.into_iter().any(|index| record.input(index).is_some())
}

fn remove(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let mut inputs: Vec<Option<ValueId>> = patch.model().node(node).inputs().collect();
    let mut result = Err(Reason::from("no initial state is zeros"));
    for operand in inputs.get_mut(STATES.start..).unwrap_or_default().iter_mut().take(STATES.len()) {
        let Some(state) = *operand else { continue };
        if are_zeros(patch, state) {
            // The claim begins at the tensors whose sizes the state has.
            let _ = tap_sizes(patch, state);
            *operand = None;
            result = Ok(());
        }
    }
    result?;
    while inputs.last().is_some_and(Option::is_none) {
        inputs.pop();
    }
    for &input in inputs.iter().flatten() {
        if patch.model().value(input).constant().is_none() {
            patch.tap(input);
        }
    }
    let outputs = patch.model().node(node).outputs().to_vec();
    let new = patch.like(node, Position::Before(node), &inputs)?;
    for (old, new) in outputs.into_iter().zip(new) {
        if let (Some(old), Some(new)) = (old, new) {
            patch.replace(old, new);
        }
    }
    Ok(())
}

/// Returns `true` if all elements of a value are positive zeros, whatever its sizes.
fn are_zeros(patch: &mut Patch<'_, '_>, value: ValueId) -> bool {
    let mut at = value;
    for _ in 0..MAX_NODES {
        if let Ok(tensor) = patch.try_constant(at) {
            return is_zero(&tensor);
        }
        let model = patch.model();
        let Some(node) = model.get_value(at).and_then(onnx_ir::Value::producer) else { return false };
        let record = model.node(node);
        let Some(schema) = model.callee(node, Registry::STANDARD).standard() else { return false };
        if record.is(op::CONSTANT_OF_SHAPE) {
            return match record.attribute(attr::VALUE) {
                None => true,
                Some(value) => value.as_tensor().is_some_and(|tensor| is_zero(tensor)),
            };
        }
        let Some(input) = record.input(0).filter(|_| schema.traits().keeps_elements()) else {
            return false;
        };
        at = input;
    }
    false
}

/// Returns `true` if a tensor has elements, and these are positive zeros.
fn is_zero(tensor: &Tensor) -> bool {
    let is_zero = |number: f64| number == 0.0 && number.is_sign_positive();
    tensor.iter_f64(&NoData).is_ok_and(|mut elements| elements.all(is_zero))
}
