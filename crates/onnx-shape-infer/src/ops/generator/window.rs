//! `BlackmanWindow`, `HammingWindow`, `HannWindow`: a vector whose length the input gives.
//!
//! As in the reference, a constant length must be a scalar. A length of 0 or less gives a vector without elements: the
//! specification sets no lower limit, and the function that defines the operator begins with a `Range` to the length. The
//! reference's inference rejects such a constant, its evaluator returns the empty vector, and so does onnxruntime for 0. The reference infers the
//! length only if it is a constant, and otherwise not even the rank.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome};
use crate::family::element_type;
use crate::fault::WRONG_RANK;
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
        return Err(cx.fail(&WRONG_RANK, "the length is not a scalar"));
    }
    let size = cx.scalar(0)?;
    let size = cx.max(size, Dim::Known(0));
    cx.set_shape(0, [size]);
    Ok(())
}
