//! `Upsample`, which `Resize` has replaced: axes scaled by two attributes for height and width at version 1, by one
//! attribute until version 8 and by an input after that.
//!
//! The reference infers nothing at version 1.

use onnx_schema::{attr, op};
use onnx_types::Symbol;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BAD_VALUE, MISSING};
use crate::registry::{OpRules, infer, since};

use super::resize::{by_scales, scaled};

pub(super) const RULES: OpRules = infer(
    op::UPSAMPLE,
    &[since(1, height_and_width), since(7, by_attribute), since(9, |cx| by_scales(cx, 1))],
);

fn height_and_width(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape_of_rank(0, 4)?;
    for (at, name) in [(2, attr::HEIGHT_SCALE), (3, attr::WIDTH_SCALE)] {
        let scale = needed(cx, name)?;
        if let Some(slot) = dims.get_mut(at) {
            *slot = scaled(cx, *slot, Elem::number(f64::from(scale)));
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn needed(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome<f32> {
    cx.float(name)?.ok_or(Stop::Unknown)
}

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(scales) = cx.floats(attr::SCALES)? else {
        return Err(cx.fail(&MISSING, "attribute `scales` is missing"));
    };
    let mut dims = cx.shape(0)?;
    if scales.len() != dims.len() {
        let (count, rank) = (scales.len(), dims.len());
        return Err(cx.fail(&BAD_VALUE, format_args!("there are {count} scales for a tensor of rank {rank}")));
    }
    for (dim, &scale) in dims.iter_mut().zip(scales) {
        *dim = scaled(cx, *dim, Elem::number(f64::from(scale)));
    }
    cx.set_dims(0, dims);
    Ok(())
}
