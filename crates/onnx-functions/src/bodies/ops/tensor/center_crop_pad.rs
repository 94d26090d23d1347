//! `CenterCropPad`: pads each axis to the requested size and then crops it to that size, around the center. If the
//! difference is odd, the smaller half is before the kept elements. Sizes of `int32` are converted; the reference
//! compares them with those of the input, which are `int64`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, sizes) = (draft.input(0)?, draft.input(1)?);
    let sizes_elem = draft.elem(1)?;
    let sizes = draft.cast(sizes, sizes_elem, ElemType::Int64)?;
    let axes = draft.optional_ints(attr::AXES)?;
    let axes = axes.map(|axes| draft.ints(&axes)).transpose()?;
    let two = draft.ints(&[2])?;
    let old = sizes_of(draft, x, axes)?;
    let padded = draft.maximum(old, sizes)?;
    let added = draft.sub(padded, old)?;
    let before = draft.div(added, two)?;
    let after = draft.sub(added, before)?;
    let pads = draft.concat(&[before, after], 0)?;
    let x = draft.node(op::PAD, &operands(&[x, pads], None, axes), Vec::new(), 1)?;
    let x = *x.first().ok_or("the node has no output")?;
    let old = sizes_of(draft, x, axes)?;
    let removed = draft.sub(old, sizes)?;
    let start = draft.div(removed, two)?;
    let end = draft.add(start, sizes)?;
    let mut inputs = vec![Some(x), Some(start), Some(end)];
    inputs.extend(axes.map(Some));
    draft.node(op::SLICE, &inputs, Vec::new(), 1)
}

/// The operands of `Pad`, whose axes come after the value that it pads with.
fn operands(first: &[V; 2], value: Option<V>, axes: Option<V>) -> Vec<Option<V>> {
    let mut operands: Vec<Option<V>> = first.iter().copied().map(Some).collect();
    if axes.is_some() {
        operands.extend([value, axes]);
    }
    operands
}

/// The sizes of the axes that change.
fn sizes_of(draft: &mut Draft<'_>, x: V, axes: Option<V>) -> Made {
    let sizes = draft.sizes(x, 0, None)?;
    match axes {
        Some(axes) => draft.gather(sizes, axes, 0),
        None => Ok(sizes),
    }
}
