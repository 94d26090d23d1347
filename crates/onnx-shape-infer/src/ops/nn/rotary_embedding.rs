//! `RotaryEmbedding`: the result has the shape of the input, `[B, heads, length, size]` or, with `num_heads`,
//! `[B, length, heads*size]`. What is turned of a head is even, and the cosines and sines fit it; the reference does not
//! check them.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::heads::{count, share};
use crate::cx::{Cx, Outcome};
use crate::fault::{SIZES_DIFFER, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::ROTARY_EMBEDDING, &[since(23, rotate)]);

fn rotate(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape(0)?;
    let (steps, size) = match dims.len() {
        4 => (at(&dims, 2), at(&dims, 3)),
        3 => {
            let heads = count(cx, attr::NUM_HEADS)?;
            (at(&dims, 1), share(cx, at(&dims, 2), heads)?)
        }
        rank => {
            return Err(
                cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where 3 or 4 is needed"))
            );
        }
    };
    angles_fit(cx, [at(&dims, 0), steps], size)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// There is an angle for each pair of elements that are turned: for each position, or for each step of the batch.
fn angles_fit(cx: &mut Cx<'_, '_>, places: [Dim; 2], size: Dim) -> Outcome {
    let turned = match cx.int_or(attr::ROTARY_EMBEDDING_DIM, 0)? {
        0 => size,
        turned => Dim::Known(turned),
    };
    cx.divides(Dim::Known(2), turned, "elements that are turned")?;
    if cx.dims_le(turned, size) == Some(false) {
        return Err(cx.fail(&SIZES_DIFFER, "more elements are turned than a head has"));
    }
    let half = turned.known().and_then(|turned| turned.checked_div(2)).map_or(Dim::Unknown, Dim::Known);
    let has_positions = cx.has_input(3);
    for input in [1, 2] {
        let angles = cx.dims_of_rank(input, if has_positions { 2 } else { 3 })?;
        let last = angles.last().copied().unwrap_or_default();
        cx.agree(last, half, "the angles and the pairs of elements")?;
        if !has_positions {
            for (&place, &found) in places.iter().zip(&angles) {
                cx.agree(place, found, "a size of the input and of its angles")?;
            }
        }
    }
    if has_positions {
        let positions = cx.dims_of_rank(3, 2)?;
        for (&place, &found) in places.iter().zip(&positions) {
            cx.agree(place, found, "a size of the input and of its positions")?;
        }
    }
    Ok(())
}
