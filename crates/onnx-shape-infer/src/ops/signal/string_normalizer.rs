//! `StringNormalizer`: the strings of `[C]` or `[1, C]` that are not stop words, in one case; a single empty string if
//! none is left.
//!
//! Without stop words all strings are kept, which the reference does not infer; a run without any string still gives
//! one.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::STRING_NORMALIZER, &[since(10, normalize)]);

fn normalize(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    match dims.as_slice() {
        [_] => {}
        &[batch, _] => {
            // The reference finds fault with a batch that has a name only, which is 1 in every run.
            cx.same(batch, Dim::Known(1), "the batch size and the one that is taken")?;
        }
        _ => {
            let rank = dims.len();
            return Err(
                cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where 1 or 2 is needed"))
            );
        }
    }
    let removes = cx.texts(attr::STOPWORDS)?.unwrap_or(0) > 0;
    let rank = dims.len();
    if rank == 2
        && let Some(batch) = dims.first_mut()
    {
        *batch = Dim::Known(1);
    }
    if let Some(count) = dims.last_mut()
        && (removes || cx.dims_le(Dim::Known(1), *count) != Some(true))
    {
        *count = Dim::Unknown;
    }
    cx.set_dims(0, dims);
    Ok(())
}
