//! `MelWeightMatrix`: weights `[dft_length//2 + 1, num_mel_bins]` of the type that `output_datatype` says.
//!
//! The numbers are inputs, so that the shape follows where they are followed; the reference needs constants.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use super::dft::scalar_rank;
use crate::cx::{Cx, Outcome};
use crate::family::element_type::defined;
use crate::fault::BAD_VALUE;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::MEL_WEIGHT_MATRIX, &[since(17, weights)]);

fn weights(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = defined(cx, attr::OUTPUT_DATATYPE)?.unwrap_or(ElemType::Float);
    cx.set_elem(0, elem);
    let bins = number(cx, 0, "num_mel_bins")?;
    let length = number(cx, 1, "dft_length")?;
    let half = cx.dims().floor_div(length, Dim::Known(2));
    let rows = cx.dims().add(half, Dim::Known(1));
    cx.set_shape(0, [rows, bins]);
    Ok(())
}

/// A scalar input that is a size.
fn number(cx: &mut Cx<'_, '_>, input: usize, name: &str) -> Outcome<Dim> {
    scalar_rank(cx, input, name)?;
    let size = cx.scalar(input).unwrap_or(Dim::Unknown);
    match size {
        Dim::Known(number) if number < 0 => {
            Err(cx.fail(&BAD_VALUE, format_args!("`{name}` is {number}, which is not a size")))
        }
        Dim::Known(_) => Ok(size),
        _ if cx.dims_le(Dim::Known(0), size) == Some(true) => Ok(size),
        _ => Ok(Dim::Unknown),
    }
}
