//! `ImageDecoder`: a picture `[height, width, channels]`. The sizes are those of the encoded one; the channels follow from
//! `pixel_format`, where the reference says nothing.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::IMAGE_DECODER, &[since(20, decode)]);

fn decode(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.dims_of_rank(0, 1)?;
    let channels = match cx.text(attr::PIXEL_FORMAT)? {
        Some("Grayscale") => Dim::Known(1),
        Some("RGB" | "BGR") => Dim::Known(3),
        _ => Dim::Unknown,
    };
    cx.set_shape(0, [Dim::Unknown, Dim::Unknown, channels]);
    Ok(())
}
