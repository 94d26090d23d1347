//! `Reshape`: the same elements with other sizes, an attribute before version 5. Nothing is copied.
//!
//! A 0 copies the size of the input at its index, unless `allowzero` is set. One -1 becomes what the other sizes leave; it
//! fails if their product is 0, since any size would do.

use onnx_schema::{attr, op};

use crate::cx::axes::{product, size};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::RESHAPE, &[since(1, by_attribute), since(5, by_input)]).takes(&[(1, Takes::Shape)]);

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let sizes = cx.ints(attr::SHAPE)?.unwrap_or_default();
    reshape(cx, &sizes)
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome {
    let sizes = cx.vector(1)?;
    reshape(cx, &sizes)
}

fn reshape(cx: &mut Cx<'_, '_>, sizes: &[i64]) -> Outcome {
    let x = cx.tensor(0)?;
    let keeps_zero = cx.flag(attr::ALLOWZERO)?;
    let mut dims = Dims::new();
    let mut open = None;
    for (index, &given) in sizes.iter().enumerate() {
        dims.push(match given {
            -1 if open.is_some() => return Err(Stop::failed("more than one size is -1")),
            -1 => {
                open = Some(index);
                1
            }
            0 if !keeps_zero => *x.dims.get(index).ok_or_else(|| {
                Stop::failed(format_args!("size 0 at {index} is beyond the rank of the input"))
            })?,
            given => size(given)?,
        });
    }
    let rest = product(&dims);
    if let Some(index) = open {
        match x.count.checked_rem(rest) {
            Some(0) => dims[index] = x.count / rest,
            Some(_) => {
                let count = x.count;
                return Err(Stop::failed(format_args!(
                    "{count} elements do not divide by {rest}, the product of the other sizes"
                )));
            }
            None => return Err(Stop::failed("a size of -1 is ambiguous if another size is 0")),
        }
    }
    if product(&dims) != x.count {
        return Err(Stop::failed(format_args!("{} elements do not fit sizes {sizes:?}", x.count)));
    }
    cx.put_reshaped(0, &x.tensor, &dims)
}
