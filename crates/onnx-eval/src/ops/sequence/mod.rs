//! Sequences and optional values.

mod concat_from_sequence;
mod optional;
mod optional_get_element;
mod optional_has_element;
mod sequence_at;
mod sequence_construct;
mod sequence_empty;
mod sequence_erase;
mod sequence_insert;
mod sequence_length;
mod split_to_sequence;

use std::sync::Arc;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::OpKernels;
use crate::value::Value;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    concat_from_sequence::KERNELS,
    optional::KERNELS,
    optional_get_element::KERNELS,
    optional_has_element::KERNELS,
    sequence_at::KERNELS,
    sequence_construct::KERNELS,
    sequence_empty::KERNELS,
    sequence_erase::KERNELS,
    sequence_insert::KERNELS,
    sequence_length::KERNELS,
    split_to_sequence::KERNELS,
];

/// The elements of a sequence.
fn items(cx: &Cx<'_, '_>, index: usize) -> Outcome<Arc<Vec<Value>>> {
    match cx.value(index)? {
        Value::Sequence(items) => Ok(Arc::clone(items)),
        _ => Err(Stop::failed(format_args!("input {index} is not a sequence"))),
    }
}

/// The position that an optional input names, among `count` of them; negative ones count from the end.
fn position(cx: &Cx<'_, '_>, index: usize, count: usize) -> Outcome<Option<usize>> {
    if !cx.has_input(index) {
        return Ok(None);
    }
    let given = cx.scalar_int(index)?;
    let from_start = if given < 0 { i128::from(given) + count as i128 } else { i128::from(given) };
    let position = usize::try_from(from_start).ok().filter(|&position| position < count);
    position.map(Some).ok_or_else(|| Stop::failed(format_args!("position {given} is outside the sequence")))
}
