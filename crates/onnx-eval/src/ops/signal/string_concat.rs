//! `StringConcat`: joins the texts of two tensors that broadcast.

use bytes::Bytes;
use onnx_schema::op;
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::family::broadcast::{joined, map2};
use crate::registry::{OpKernels, eval, since};
use crate::value::string_bytes;

pub(super) const KERNELS: OpKernels = eval(op::STRING_CONCAT, &[since(20, concat)]);

fn concat(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let (x, y) = (cx.units::<Bytes>(&a)?, cx.units::<Bytes>(&b)?);
    let count = cx.count(&joined(&[&a.dims, &b.dims])?)?;
    // Every text of an operand occurs equally often in the result.
    let bytes = |texts: &[Bytes]| {
        let sum = texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len()));
        sum.saturating_mul(count.checked_div(texts.len()).unwrap_or(0))
    };
    let total = bytes(&x).saturating_add(bytes(&y));
    cx.work(total)?;
    cx.budget.allocate(1, total)?;
    cx.budget.allocate(count, string_bytes(1) as usize)?;
    let (x, y): (Vec<&Bytes>, Vec<&Bytes>) = (cx.collect(x.iter())?, cx.collect(y.iter())?);
    let (dims, out) =
        map2(cx, (&x, &a.dims), (&y, &b.dims), |x, y| Bytes::from([x.as_ref(), y.as_ref()].concat()))?;
    cx.put_units(0, ElemType::String, &dims, out)
}
