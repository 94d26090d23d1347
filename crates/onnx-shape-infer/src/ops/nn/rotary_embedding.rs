//! `RotaryEmbedding`: the result has the shape of the input, `[B, heads, length, size]` or, with `num_heads`,
//! `[B, length, heads*size]`.

use onnx_schema::{attr, op};

use super::heads::{count, share};
use crate::cx::{Cx, Outcome};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::ROTARY_EMBEDDING, &[since(23, rotate)]);

fn rotate(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape(0)?;
    match dims.len() {
        4 => {}
        3 => {
            let heads = count(cx, attr::NUM_HEADS)?;
            share(cx, at(&dims, 2), heads)?;
        }
        rank => {
            return Err(
                cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where 3 or 4 is needed"))
            );
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
