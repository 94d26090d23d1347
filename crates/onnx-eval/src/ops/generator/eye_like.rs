//! `EyeLike`: ones on a diagonal `k` above the main one, and zeros. A diagonal outside the matrix leaves zeros only.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::EYE_LIKE, &[since(9, eye)]);

fn eye(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let &[rows, columns] = x.dims.as_slice() else { return Err(Stop::failed("the input is not a matrix")) };
    let elem = cx.elem_attribute(attr::DTYPE)?.unwrap_or(x.elem);
    let k = i128::from(cx.int_or(attr::K, 0)?);
    by_number!(elem, T => {
        let mut out = cx.filled(x.count, T::ZERO)?;
        for row in 0..rows {
            let column = usize::try_from(row as i128 + k).ok().filter(|&column| column < columns);
            if let Some(column) = column {
                out[row * columns + column] = T::ONE;
            }
        }
        cx.put(0, elem, &x.dims, out)
    })
}
