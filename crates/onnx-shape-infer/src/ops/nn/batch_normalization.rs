//! `BatchNormalization`: the result has the shape of the input, the statistics have one element for each channel.
//!
//! Before version 9 the attribute `spatial` can ask for statistics of each place, so that all that is known of theirs is
//! that they have the shape of the inputs with the same meaning. Version 14 says how many outputs there are by
//! `training_mode`. A size that does not fit is a fault from version 9 on; the reference compares them from 14 on.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::BATCH_NORMALIZATION, &[since(1, like_statistics), since(9, by_channel), since(14, by_mode)]);

fn like_statistics(cx: &mut Cx<'_, '_>) -> Outcome {
    for output in 1..5 {
        if let Ok(dims) = cx.shape(3) {
            cx.set_dims(output, dims);
        }
    }
    cx.copy_shape(0, 0)
}

fn by_channel(cx: &mut Cx<'_, '_>) -> Outcome {
    normalize(cx, 5)
}

fn by_mode(cx: &mut Cx<'_, '_>) -> Outcome {
    let training = cx.int_or(attr::TRAINING_MODE, 0)? != 0;
    let (found, wanted) = (cx.output_count(), if training { 3 } else { 1 });
    if found != wanted {
        let message = format_args!("`training_mode` asks for {wanted} outputs, and the node has {found}");
        return Err(cx.fail(&BAD_ATTRIBUTE, message));
    }
    normalize(cx, 3)
}

fn normalize(cx: &mut Cx<'_, '_>, outputs: usize) -> Outcome {
    let input = cx.shape(0);
    let mut channels = match input.as_deref() {
        // One dimension is a batch of one channel.
        Ok([] | [_]) => Dim::Known(1),
        Ok(&[_, channels, ..]) => channels,
        Err(_) => Dim::Unknown,
    };
    for index in 1..5 {
        if let Some(&size) = cx.dims_of_rank(index, 1)?.first() {
            channels = cx.same(channels, size, "the channels of the inputs")?;
        }
    }
    for output in 1..outputs {
        cx.set_shape(output, [channels]);
    }
    let mut dims = input?;
    if let Some(size) = dims.get_mut(1) {
        *size = channels;
    }
    cx.set_dims(0, dims);
    Ok(())
}
