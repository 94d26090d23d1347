//! `NonZero`: the coordinates of elements that are not 0, one row for each axis, in row-major order. Of a scalar, a matrix
//! without rows.

use onnx_schema::op;
use onnx_types::ElemType;

use crate::cx::axes::strides;
use crate::cx::{Cx, Outcome};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::NON_ZERO, &[since(9, non_zero)]);

fn non_zero(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let found: Vec<usize> = by_number!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        Ok(elements.iter().enumerate().filter(|(_, value)| **value != T::ZERO).map(|(at, _)| at).collect())
    })?;
    let mut out = cx.buffer(cx.count(&[x.rank(), found.len()])?)?;
    for (&stride, &dim) in strides(&x.dims).iter().zip(&x.dims) {
        out.extend(found.iter().map(|&at| (at / stride.max(1) % dim.max(1)) as i64));
    }
    cx.put(0, ElemType::Int64, &[x.rank(), found.len()], out)
}
