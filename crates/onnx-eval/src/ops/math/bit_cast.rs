//! `BitCast`: the same bits read as another type of the same width. Nothing is copied.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Unit, by_unit};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::BIT_CAST, &[since(26, bit_cast)]);

fn bit_cast(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let to = cx.elem_attribute(attr::TO)?.ok_or_else(|| Stop::failed("attribute `to` is missing"))?;
    if cx.is_double && (x.elem.is_float() || to.is_float()) {
        return Err(Stop::unsupported("the bits of a float that is computed in 64 bits"));
    }
    if x.elem.bits().is_none() || x.elem.bits() != to.bits() {
        let from = x.elem;
        return Err(Stop::failed(format_args!("elements of {from} cannot be read as ones of {to}")));
    }
    // A `bool` is 0 or 1 in its byte, so other bytes are read as 1.
    let payload = by_unit!(x.elem, U => U::store(to, cx.units::<U>(&x)?.into_vec()));
    let tensor = cx.tensor_of(to, &x.dims, payload)?;
    cx.put_value(0, tensor)
}
