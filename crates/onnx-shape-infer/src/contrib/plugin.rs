//! Operators of plug-ins of TensorRT in the default domain, and containers of compiled models.

use onnx_schema::onnxruntime::{default, microsoft};
use onnx_types::Dim;

use super::like_first;
use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::at;

pub(super) const RULES: &[OpRules] = &[
    infer(default::DISENTANGLED_ATTENTION_TRT, &[since(1, like_first)]),
    infer(default::EFFICIENT_NMS_TRT, &[since(1, suppress)]),
    infer(default::MULTILEVEL_CROP_AND_RESIZE_TRT, &[since(1, crop)]),
    infer(default::PYRAMID_ROI_ALIGN_TRT, &[since(1, crop)]),
    infer(microsoft::EP_CONTEXT, &[since(1, opaque)]),
    infer(microsoft::SNPE, &[since(1, opaque)]),
];

/// What a compiled model computes is not in the node.
#[expect(clippy::unnecessary_wraps, reason = "it has the type of rules")]
const fn opaque(_: &mut Cx<'_, '_>) -> Outcome {
    Ok(())
}

fn suppress(cx: &mut Cx<'_, '_>) -> Outcome {
    let batch = cx.shape(0).map(|boxes| at(&boxes, 0)).unwrap_or_default();
    let most = cx.int("max_output_boxes")?.map_or(Dim::Unknown, Dim::Known);
    cx.set_shape(0, [batch, Dim::Known(1)]);
    cx.set_shape(1, [batch, most, Dim::Known(4)]);
    cx.set_shape(2, [batch, most]);
    cx.set_shape(3, [batch, most]);
    Ok(())
}

/// A square patch of all channels for each box.
fn crop(cx: &mut Cx<'_, '_>) -> Outcome {
    let boxes = cx.shape(0)?;
    let channels = cx.shape(1).map(|features| at(&features, 1)).unwrap_or_default();
    let side = cx.int("pooled_size")?.map_or(Dim::Unknown, Dim::Known);
    cx.set_shape(0, [at(&boxes, 0), at(&boxes, 1), channels, side, side]);
    Ok(())
}
