//! `ReverseSequence`: beginnings of sequences reversed; the output has the shape of the input, which has a time and a batch
//! axis at least. The lengths are a vector.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::REVERSE_SEQUENCE, &[since(10, reverse)]);

fn reverse(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape_of_min_rank(0, 2)?;
    if cx.rank(1).is_ok_and(|rank| rank != 1) {
        return Err(cx.fail(&WRONG_RANK, "the lengths must be a vector"));
    }
    let axis = usize::try_from(cx.int_or(attr::BATCH_AXIS, 1)?).unwrap_or(usize::MAX);
    if let (Some(&batch), Ok(&[count])) = (dims.get(axis), cx.shape(1).as_deref()) {
        cx.agree(batch, count, "the sizes of the batch and of the lengths")?;
    }
    cx.set_dims(0, dims);
    Ok(())
}
