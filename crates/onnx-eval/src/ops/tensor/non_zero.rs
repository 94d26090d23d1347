//! `NonZero`: the coordinates of elements that are not 0, one row for each axis, in row-major order. Of a scalar, a matrix
//! without rows. A complex number is 0 if both parts are, a string if it is empty.

use bytes::Bytes;
use onnx_schema::op;
use onnx_types::{ElemClass, ElemType};

use crate::cx::axes::strides;
use crate::cx::{Cx, Outcome};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::NON_ZERO, &[since(9, non_zero)]);

fn non_zero(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    cx.budget.allocate(x.count, size_of::<usize>())?;
    let found: Vec<usize> = match x.elem.class() {
        ElemClass::String => places(&cx.units::<Bytes>(&x)?, |text| !text.is_empty()),
        ElemClass::Complex => {
            let parts = cx.complex(&x)?;
            places(&parts, |&(real, imaginary)| real != 0.0 || imaginary != 0.0)
        }
        _ => by_number!(x.elem, T => Ok(places(&cx.read::<T>(&x)?, |value| *value != T::ZERO)))?,
    };
    let mut out = cx.buffer(cx.count(&[x.rank(), found.len()])?)?;
    for (&stride, &dim) in strides(&x.dims).iter().zip(&x.dims) {
        out.extend(found.iter().map(|&at| (at / stride.max(1) % dim.max(1)) as i64));
    }
    cx.put(0, ElemType::Int64, &[x.rank(), found.len()], out)
}

/// The indices of the elements with a property.
fn places<T>(elements: &[T], test: impl Fn(&T) -> bool) -> Vec<usize> {
    elements.iter().enumerate().filter(|(_, element)| test(element)).map(|(at, _)| at).collect()
}
