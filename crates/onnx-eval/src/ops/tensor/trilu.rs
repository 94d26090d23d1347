//! `Trilu`: the upper or lower triangle of matrices, zeros elsewhere; `k` moves the diagonal.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Unit, by_unit};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::TRILU, &[since(14, trilu)]).takes(&[(1, Takes::ZERO)]);

fn trilu(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let &[.., rows, columns] = x.dims.as_slice() else {
        return Err(Stop::failed("the input is not a matrix"));
    };
    let k = if cx.has_input(1) { i128::from(cx.scalar_int(1)?) } else { 0 };
    let is_upper = cx.int_or(attr::UPPER, 1)? != 0;
    by_unit!(x.elem, U => {
        let mut out = cx.units::<U>(&x)?.into_vec();
        for (at, element) in out.iter_mut().enumerate() {
            let (row, column) = ((at / columns % rows) as i128, (at % columns) as i128);
            let is_kept = if is_upper { column - row >= k } else { column - row <= k };
            if !is_kept {
                *element = U::zero();
            }
        }
        cx.put_units(0, x.elem, &x.dims, out)
    })
}
