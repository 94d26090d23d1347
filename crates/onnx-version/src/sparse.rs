//! Constants with sparse values as dense ones.

use onnx_ir::{AttrValue, Model, NodeId, SparseTensor};
use onnx_schema::{attr, op};
use onnx_types::tensor::{NoData, Tensor};

/// Maximum number of elements of a sparse constant that is written as a dense one.
pub(crate) const MAX_ELEMENTS: usize = 1 << 16;

/// The value of a `Constant`, if it is sparse.
pub(crate) fn value(model: &Model, node: NodeId) -> Option<&SparseTensor> {
    let record = model.node(node);
    let given = record.attribute(attr::SPARSE_VALUE).filter(|_| record.is(op::CONSTANT))?;
    match given.value() {
        AttrValue::SparseTensor(sparse) => Some(sparse),
        _ => None,
    }
}

/// The dense tensor, if it has at most [`MAX_ELEMENTS`] elements that are not narrower than a byte.
pub(crate) fn dense(sparse: &SparseTensor) -> Option<Tensor> {
    let values = sparse.values.as_ref()?;
    let elem = values.elem();
    let width = usize::try_from(elem.bits()?).ok().filter(|bits| bits % 8 == 0)? / 8;
    let count = sparse.dims.iter().try_fold(1_usize, |count, &size| {
        count.checked_mul(usize::try_from(size).ok()?).filter(|&count| count <= MAX_ELEMENTS)
    })?;
    let given = values.bytes(&NoData).ok()?;
    let places = match sparse.indices.as_ref() {
        Some(indices) => places(indices, &sparse.dims)?,
        None => Vec::new(),
    };
    if places.len() != given.len().checked_div(width)? {
        return None;
    }
    let mut bytes = vec![0_u8; count.checked_mul(width)?];
    for (place, element) in places.into_iter().zip(given.chunks_exact(width)) {
        bytes.chunks_exact_mut(width).nth(place)?.copy_from_slice(element);
    }
    Tensor::from_raw(elem, sparse.dims.iter().copied(), bytes).ok()
}

/// The linear indices of the values, also if coordinates are given.
fn places(indices: &Tensor, dims: &[i64]) -> Option<Vec<usize>> {
    let listed: Vec<i64> = indices.iter_i64(&NoData).ok()?.collect();
    if indices.rank() < 2 {
        return listed.into_iter().map(|place| usize::try_from(place).ok()).collect();
    }
    if dims.is_empty() || indices.dims().get(1).copied() != i64::try_from(dims.len()).ok() {
        return None;
    }
    let place = |coordinates: &[i64]| {
        let place = coordinates.iter().zip(dims).try_fold(0_i64, |place, (&at, &size)| {
            place.checked_mul(size)?.checked_add(at).filter(|_| (0..size).contains(&at))
        });
        place.and_then(|place| usize::try_from(place).ok())
    };
    listed.chunks_exact(dims.len()).map(place).collect()
}
