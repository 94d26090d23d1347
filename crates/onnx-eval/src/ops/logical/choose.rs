//! `Where`: elements of one of two tensors, as a third one of `bool` says. All three broadcast.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::family::broadcast::{for_each_piece, joined, repeated};
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::WHERE, &[since(9, choose)]);

fn choose(cx: &mut Cx<'_, '_>) -> Outcome {
    let (condition, x, y) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let dims = joined(&[&condition.dims, &x.dims, &y.dims])?;
    let steps = [&condition, &x, &y].map(|operand| repeated(&operand.dims, &dims));
    let conditions = cx.units::<u8>(&condition)?;
    by_unit!(x.elem, U => {
        let (xs, ys) = (cx.units::<U>(&x)?, cx.units::<U>(&y)?);
        let mut out = cx.buffer(cx.count(&dims)?)?;
        for_each_piece(cx.poll(), &dims, [&steps[0], &steps[1], &steps[2]], |[c, a, b], [dc, da, db], length| {
            out.extend((0..length).map(|i| {
                let chosen = if conditions[c + i * dc] != 0 { &xs[a + i * da] } else { &ys[b + i * db] };
                U::clone(chosen)
            }));
        })?;
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}
