//! Forms that runtimes fuse, and those that onnxruntime cannot load or computes otherwise, although they mean the same.
//!
//! onnxruntime makes `Gemm` of a product and the sum behind it, with a `Reshape` around it for operands of more than two axes. There is no
//! quantized kernel of that `Gemm` if the bias is `float`: the product is computed in `float`, several times slower. A bias with an axis more
//! is added for itself, and the product stays one of integers.
//!
//! It also repeats a pair of `QuantizeLinear` and `DequantizeLinear` behind operators that move elements. From version 21 of the operators on,
//! its pair of `int8` is not valid: it replaces the zero point by one of `uint8`, but not `output_dtype`. With the pair in the model,
//! nothing is repeated; the numbers are those of the first pair. The `Reshape` around a `Gemm` that it makes gets such a pair, too.
//!
//! What stays between quantized operators is the subject of [`held`].

mod held;
mod repeat;
mod runtime_view;
mod stacks;

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_compose::BiasFormat;
use onnx_ir::{Model, NodeId, Position};
use onnx_schema::{domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{Interrupt, Watch};

use self::held::Held;
use self::repeat::repeat_pairs;
pub(crate) use self::runtime_view::{RuntimeView, moves_elements};
pub(super) use self::runtime_view::{body, is_outside};
use super::{StaticReport, WATCHED_NODES};
use crate::edits::{add_constant, erase_unused_initializers};
use crate::weights::{QuantizeError, dense_constant};

/// The first version of `Unsqueeze` whose axes are an operand.
const WITH_AXES: i64 = 13;

/// Rewrites what onnxruntime would compute otherwise than the model `before` was quantized, or slower, and adds the pairs that it would
/// repeat. Returns `true` if something changed.
///
/// # Errors
///
/// Returns an error if the model cannot be edited, or the interrupt is set.
pub(super) fn write(
    model: &mut Model,
    before: &Model,
    bias: BiasFormat,
    (report, interrupt): (&mut StaticReport, &Interrupt),
) -> Result<bool, QuantizeError> {
    let mut has_changed = false;
    let view = RuntimeView::of(model);
    let mut done = HashSet::<Held, RandomState>::default();
    for held in stacks::find(model, &view) {
        if done.insert(held) {
            has_changed |= held.hold(model)?;
        }
    }
    let mut watch = Watch::silent(interrupt, WATCHED_NODES);
    for held in Held::find((model, &view), before, bias, &mut watch)? {
        watch.work(1)?;
        if done.insert(held) {
            has_changed |= held.hold(model)?;
        }
    }
    if has_changed {
        erase_unused_initializers(model);
    }
    let (pairs, has_held) = repeat_pairs(model, &view)?;
    report.pairs += pairs;
    Ok(has_changed || has_held || pairs > 0)
}

/// Lets a bias have an axis more. Returns `false` if the version of the operators has no form for it.
fn widen_bias(model: &mut Model, (sum, index): (NodeId, usize)) -> Result<bool, QuantizeError> {
    let Some(bias) = model.node(sum).input(index) else { return Ok(false) };
    let name = format!("{}_row", model.str(model.value(bias).name()));
    let new = if let Some(mut tensor) = dense_constant(model, bias).cloned() {
        let dims: Vec<i64> = std::iter::once(1).chain(tensor.dims().iter().copied()).collect();
        tensor.set_dims(dims);
        add_constant(model, &name, tensor)?
    } else if version(model, sum) >= WITH_AXES {
        let axes = add_constant(model, &format!("{name}_axes"), Tensor::vector(&[0_i64]))?;
        let name = model.unused_name(&name);
        let name = model.str(name).to_owned();
        model.build_at(Position::Before(sum)).op(op::UNSQUEEZE, [bias, axes]).output_named(&name)?
    } else {
        return Ok(false);
    };
    model.set_input(sum, index, Some(new));
    Ok(true)
}

fn version(model: &Model, node: NodeId) -> i64 {
    model.versions_in(model.node(node).graph()).get(domain::ONNX).unwrap_or(1)
}
