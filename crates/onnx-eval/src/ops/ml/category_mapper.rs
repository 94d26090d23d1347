//! `CategoryMapper`: texts to integers, or integers to texts, element by element. The last of equal categories counts, as in
//! onnxruntime; the specification does not say.

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::CATEGORY_MAPPER, &[since(1, map)]).of(domain::ML);

fn map(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let ints = cx.ints(attr::CATS_INT64S)?.unwrap_or_default();
    let texts = cx.texts(attr::CATS_STRINGS)?.unwrap_or_default();
    if ints.len() != texts.len() {
        return Err(Stop::failed(format_args!(
            "there are {} texts for {} integers",
            texts.len(),
            ints.len()
        )));
    }
    cx.work(ints.len())?;
    if x.elem == ElemType::String {
        let otherwise = cx.int_or(attr::DEFAULT_INT64, -1)?;
        let table: HashMap<&[u8], i64, RandomState> = texts.into_iter().zip(ints).collect();
        let elements = cx.units::<Bytes>(&x)?;
        let mut out = cx.buffer(x.count)?;
        out.extend(elements.iter().map(|text| table.get(text.as_ref()).copied().unwrap_or(otherwise)));
        return cx.put(0, ElemType::Int64, &x.dims, out);
    }
    let otherwise = Bytes::copy_from_slice(cx.text(attr::DEFAULT_STRING)?.as_bytes());
    let texts = texts.into_iter().map(Bytes::copy_from_slice);
    let table: HashMap<i64, Bytes, RandomState> = ints.into_iter().zip(texts).collect();
    let elements = cx.read::<i64>(&x)?;
    let mut out = cx.buffer(x.count)?;
    out.extend(elements.iter().map(|key| table.get(key).unwrap_or(&otherwise).clone()));
    cx.put_units(0, ElemType::String, &x.dims, out)
}
