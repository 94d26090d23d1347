//! Weights: read once, on first use.

use std::sync::{Arc, OnceLock};

use onnx_ir::{Constant, SparseTensor};
use onnx_types::tensor::{DataSource, Payload, Tensor};

use crate::budget::{Budget, probe};
use crate::cx::{Outcome, Stop, axes};
use crate::number::{Number, Unit, by_unit};
use crate::value::Value;

/// A constant of the model with its value, which is made on first use.
pub(crate) struct Weight {
    constant: Arc<Constant>,
    value: OnceLock<Value>,
}

impl Weight {
    pub(crate) const fn new(constant: Arc<Constant>) -> Self {
        Self { constant, value: OnceLock::new() }
    }

    pub(crate) fn value(&self, data: &dyn DataSource, budget: &mut Budget) -> Outcome<Value> {
        if let Some(value) = self.value.get() {
            return Ok(value.clone());
        }
        let made = match self.constant.as_ref() {
            Constant::Dense(tensor) => {
                try_memory(tensor)?;
                dense(tensor, data)?
            }
            Constant::Sparse(sparse) => densified(sparse, data, budget)?,
        };
        Ok(self.value.get_or_init(|| made.into()).clone())
    }
}

/// Tries whether the system has memory for elements that are decoded; bytes of the file are shared, and weights are not counted.
fn try_memory(tensor: &Tensor) -> Outcome {
    let Some(bits) = tensor.elem().bits() else { return Ok(()) };
    if matches!(tensor.payload(), Payload::Raw(_) | Payload::Splat(_) | Payload::External(_)) {
        return Ok(());
    }
    let count = tensor.element_count().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    // More elements than there are bytes in the file are a fault, which reading finds.
    let most = usize::try_from(tensor.payload().resident_bytes()).unwrap_or(usize::MAX);
    probe(count.min(most), (bits as usize).div_ceil(8))
}

/// The tensor with its elements in memory: bytes of the file are shared, other encodings are decoded.
pub(crate) fn dense(tensor: &Tensor, data: &dyn DataSource) -> Outcome<Tensor> {
    let payload = match tensor.payload() {
        payload @ (Payload::Splat(_) | Payload::Strings(_)) => {
            tensor.validate()?;
            payload.clone()
        }
        _ if tensor.elem() == onnx_types::ElemType::String => {
            Payload::strings(tensor.string_bytes()?.to_vec())
        }
        _ => Payload::Raw(tensor.bytes(data)?),
    };
    Ok(Tensor::from_parts(tensor.data_type(), tensor.dims().into(), payload))
}

/// The dense tensor of a sparse one: zeros, or empty strings, except at the indices.
pub(crate) fn densified(
    sparse: &SparseTensor,
    data: &dyn DataSource,
    budget: &mut Budget,
) -> Outcome<Tensor> {
    let missing = || Stop::failed("a sparse tensor has no values or no indices");
    let (values, indices) = (sparse.values.as_ref().ok_or_else(missing)?, sparse.indices.as_ref());
    let dims = axes::sizes(&sparse.dims)?;
    let count = budget.count(&dims)?;
    let places = match indices {
        Some(indices) => places(indices, &dims, data)?,
        None if values.element_count() == Some(0) => Vec::new(),
        None => return Err(missing()),
    };
    let payload = by_unit!(values.elem(), U => {
        let values_in = U::load(values, data)?;
        if places.len() != values_in.len() {
            return Err(Stop::failed("a sparse tensor has not as many indices as values"));
        }
        budget.allocate(count, size_of::<U>())?;
        let mut units = vec![U::zero(); count];
        for (&place, unit) in places.iter().zip(values_in.iter()) {
            let slot = units.get_mut(place);
            *slot.ok_or_else(|| Stop::failed("an index of a sparse tensor is outside its sizes"))? = unit.clone();
        }
        U::store(values.elem(), units)
    });
    Ok(Tensor::from_parts(values.data_type(), sparse.dims.iter().copied().collect(), payload))
}

/// The linear places of the values: the indices, or coordinates of rank 2 converted.
fn places(indices: &Tensor, dims: &[usize], data: &dyn DataSource) -> Outcome<Vec<usize>> {
    let listed = i64::decode(indices, data)?;
    let outside = || Stop::failed("an index of a sparse tensor is outside its sizes");
    if indices.rank() < 2 {
        return listed.iter().map(|&place| usize::try_from(place).map_err(|_| outside())).collect();
    }
    if indices.dims().get(1).and_then(|&rank| usize::try_from(rank).ok()) != Some(dims.len())
        || dims.is_empty()
    {
        return Err(Stop::failed("the coordinates of a sparse tensor have another rank than the tensor"));
    }
    let strides = axes::strides(dims);
    let place = |coordinates: &[i64]| {
        coordinates.iter().zip(dims).zip(&strides).try_fold(0, |place, ((&at, &dim), &stride)| {
            let at = usize::try_from(at).ok().filter(|&at| at < dim)?;
            Some(place + at * stride)
        })
    };
    listed.chunks_exact(dims.len()).map(|coordinates| place(coordinates).ok_or_else(outside)).collect()
}
