//! `Dropout`: the input with some elements set to 0 in training, and a mask of those that are left.
//!
//! Both outputs have the shape of the input. Without training the elements stay as they are: always at versions 7 and 10,
//! which are for inference, and from version 12 on where the third input is absent or false. From then on the ratio and the
//! third input are scalars.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::elementwise::keep_elements;
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::DROPOUT, &[since(1, dropout), since(12, with_inputs)])
    .values(&[since(7, keep_elements), since(12, unless_training)]);

fn dropout(cx: &mut Cx<'_, '_>) -> Outcome {
    for output in 0..2 {
        cx.copy_shape(0, output)?;
    }
    Ok(())
}

fn with_inputs(cx: &mut Cx<'_, '_>) -> Outcome {
    dropout(cx)?;
    for (input, what) in [(1, "the ratio"), (2, "the training mode")] {
        if cx.rank(input).is_ok_and(|rank| rank != 0) {
            return Err(cx.fail(&WRONG_RANK, format_args!("{what} must be a scalar")));
        }
    }
    Ok(())
}

fn unless_training(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.has_input(2) && cx.scalar(2)? != Dim::Known(0) {
        return Err(Stop::Unknown);
    }
    keep_elements(cx)
}
