//! `Unsqueeze`: axes of size 1 are put in, named by an attribute until version 12 and by an input from version 13 on. They
//! count in the output.
//!
//! Axes outside the output and axes that occur twice are faults at all versions; the reference ignores them at version
//! 1. If only the number of axes is known, only the rank is inferred.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Ints, Outcome, Param, Stop};
use crate::family::elementwise::keep_elements;
use crate::fault::MISSING;
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(
    op::UNSQUEEZE,
    &[since(1, |cx| unsqueeze(cx, Param::Attr(attr::AXES))), since(13, |cx| unsqueeze(cx, Param::Input(1)))],
)
.values(&[since(1, keep_elements)]);

fn unsqueeze(cx: &mut Cx<'_, '_>, param: Param) -> Outcome {
    let axes = match (cx.param(param)?, param) {
        (Ints::Known(axes), _) => axes,
        (Ints::Unknown, Param::Input(index)) => {
            let added = cx.elements(index)?.ok_or(Stop::Unknown)?.len();
            let rank = cx.rank(0)?.saturating_add(added);
            cx.set_shape(0, Dims::from_elem(Dim::Unknown, rank));
            return Ok(());
        }
        (Ints::Absent, Param::Input(_)) => return Err(cx.fail(&MISSING, "input `axes` is missing")),
        _ => return Err(Stop::Unknown),
    };
    let mut sizes = cx.shape(0)?.into_iter();
    let named = cx.axes(&axes, sizes.len().saturating_add(axes.len()))?;
    let dims: Dims = named
        .into_iter()
        .map(|named| if named { Dim::Known(1) } else { sizes.next().unwrap_or_default() })
        .collect();
    cx.set_dims(0, dims);
    Ok(())
}
