//! `OneHotEncoder`: a new last axis with one element for each category. Floats are truncated to integers; NaN and
//! numbers outside the range of integers do not match any category. The last of equal categories counts, as in
//! onnxruntime.

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::ONE_HOT_ENCODER, &[since(1, encode)]).of(domain::ML);

fn encode(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (texts, ints) = (cx.texts(attr::CATS_STRINGS)?, cx.ints(attr::CATS_INT64S)?);
    // One of the lists is defined; it can be empty.
    if texts.is_some() == ints.is_some() || texts.is_none() == (x.elem == ElemType::String) {
        return Err(Stop::failed("the categories must be either texts or integers, as the input is"));
    }
    let (texts, ints) = (texts.unwrap_or_default(), ints.unwrap_or_default());
    let width = texts.len().max(ints.len());
    let places: Vec<Option<usize>> = if x.elem == ElemType::String {
        let table: HashMap<&[u8], usize, RandomState> = texts.into_iter().zip(0..).collect();
        let elements = cx.units::<Bytes>(&x)?;
        cx.collect(elements.iter().map(|text| table.get(text.as_ref()).copied()))?
    } else {
        let table: HashMap<i128, usize, RandomState> = ints.into_iter().map(i128::from).zip(0..).collect();
        by_number!(x.elem, T => {
            let elements = cx.read::<T>(&x)?;
            let place = |value: &T| if value.is_nan() { None } else { table.get(&value.exact()).copied() };
            cx.collect(elements.iter().map(place))
        })?
    };
    if cx.int_or(attr::ZEROS, 1)? == 0 && places.contains(&None) {
        return Err(Stop::failed("an element is none of the categories"));
    }
    let mut dims = x.dims.clone();
    dims.push(width);
    let count = cx.count(&dims)?;
    let mut out = cx.filled(count, 0.0_f32)?;
    for (row, place) in out.chunks_mut(width.max(1)).zip(places) {
        if let Some(place) = place {
            row[place] = 1.0;
        }
    }
    cx.put(0, ElemType::Float, &dims, out)
}
