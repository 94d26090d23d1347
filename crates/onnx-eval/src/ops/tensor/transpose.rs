//! `Transpose`: the axes in another order, reversed by default.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::family::layout::transposed;
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::TRANSPOSE, &[since(1, transpose)]);

fn transpose(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let perm = match cx.ints(attr::PERM)? {
        Some(perm) => axes::axes(&perm, x.rank())?,
        None => (0..x.rank()).rev().collect(),
    };
    if perm.len() != x.rank() {
        return Err(Stop::failed(format_args!("`perm` names {} of {} axes", perm.len(), x.rank())));
    }
    let dims: Dims = perm.iter().map(|&axis| x.dims[axis]).collect();
    // Axes of size 1 may move without moving elements.
    let moved: Vec<usize> = perm.iter().copied().filter(|&axis| x.dims[axis] != 1).collect();
    if moved.is_sorted() {
        return cx.put_reshaped(0, &x.tensor, &dims);
    }
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let out = transposed::<U>(cx, &elements, &x.dims, &perm)?;
        cx.put_units(0, x.elem, &dims, out)
    })
}
