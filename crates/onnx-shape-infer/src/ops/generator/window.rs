//! `BlackmanWindow`, `HammingWindow`, `HannWindow`: a vector whose length the input gives.
//!
//! As in the reference, a constant length must be a scalar above 0. The reference knows the length only where it is a
//! constant, and else not even the rank.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome};
use crate::family::element_type;
use crate::fault::{BAD_VALUE, WRONG_RANK};
use crate::registry::{OpRules, Row, infer, since};

const ROWS: &[Row] = &[since(17, window)];

pub(in crate::ops) const RULES: &[OpRules] =
    &[infer(op::BLACKMAN_WINDOW, ROWS), infer(op::HAMMING_WINDOW, ROWS), infer(op::HANN_WINDOW, ROWS)];

fn window(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = element_type::attribute(cx, attr::OUTPUT_DATATYPE)?.unwrap_or(ElemType::Float);
    cx.set_elem(0, elem);
    cx.set_shape(0, [Dim::Unknown]);
    if let Some(size) = cx.constant(0)
        && size.rank() != 0
    {
        return Err(cx.fail(&WRONG_RANK, "the length is no scalar"));
    }
    let size = cx.scalar(0)?;
    if let Dim::Known(size) = size
        && size <= 0
    {
        return Err(cx.fail(&BAD_VALUE, format_args!("the length is {size}")));
    }
    cx.set_shape(0, [size]);
    Ok(())
}
