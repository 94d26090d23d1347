//! `DepthToSpace` and `SpaceToDepth`: blocks of the two spatial axes as channels, and back.
//!
//! What is divided must be divisible, which is proved by the node's being valid. Numbers that are not are a fault; the
//! reference rounds them.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::facts::Relation;
use crate::fault::{BAD_ATTRIBUTE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const DEPTH_TO_SPACE: OpRules = infer(op::DEPTH_TO_SPACE, &[since(1, |cx| blocks(cx, true))]);

pub(super) const SPACE_TO_DEPTH: OpRules = infer(op::SPACE_TO_DEPTH, &[since(1, |cx| blocks(cx, false))]);

fn blocks(cx: &mut Cx<'_, '_>, to_space: bool) -> Outcome {
    let block = cx.int_or(attr::BLOCKSIZE, 0)?;
    if block <= 0 {
        return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("the size of blocks is {block}")));
    }
    let dims = cx.shape(0)?;
    let &[batch, channels, height, width] = dims.as_slice() else {
        let rank = dims.len();
        return Err(cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where 4 is needed")));
    };
    let block = Dim::Known(block);
    let area = area_of(cx, &[block, block], channels)?;
    let dims = if to_space {
        let channels = divided(cx, channels, area, "channels")?;
        [batch, channels, cx.product_of_sizes(&[height, block])?, cx.product_of_sizes(&[width, block])?]
    } else {
        let channels = cx.product_of_sizes(&[channels, area])?;
        let height = divided(cx, height, block, "rows")?;
        [batch, channels, height, divided(cx, width, block, "columns")?]
    };
    cx.set_shape(0, dims);
    Ok(())
}

/// The number of elements of a block. Overflow is a fault only if the tensor provably has channels.
pub(super) fn area_of(cx: &mut Cx<'_, '_>, block: &[Dim], channels: Dim) -> Outcome<Dim> {
    let are_there = cx.dims_le(Dim::Known(1), channels) == Some(true);
    if are_there { cx.product_of_sizes(block) } else { Ok(cx.product(block)) }
}

/// The quotient of a size that is divisible in every valid run. `what` names what is divided: "channels".
///
/// # Errors
///
/// With a finding when both are numbers and a remainder is left.
pub(super) fn divided(cx: &mut Cx<'_, '_>, dim: Dim, by: Dim, what: &str) -> Outcome<Dim> {
    cx.divides(by, dim, what)?;
    let quotient = cx.dims().exact_div(dim, by);
    if dim.known().is_none() && !quotient.is_unknown() {
        cx.prove(Relation::Divides(by, dim));
    }
    Ok(quotient)
}
