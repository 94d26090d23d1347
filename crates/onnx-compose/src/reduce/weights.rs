//! Weights become inputs, or zeros.

use std::sync::Arc;

use onnx_ir::{Constant, Def, Model, ValueId};
use onnx_types::tensor::{Payload, Tensor};
use onnx_types::{ElemType, Shape, Type};

use super::parts::all_initializers;
use super::{Chosen, Taken};

/// The largest tensor of zeros that is written out, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Makes inputs of the weights of the main graph.
pub(super) fn to_inputs(model: &mut Model, chosen: Chosen) -> Taken {
    let main = model.main_graph();
    let is_plain = |model: &Model, value: ValueId| matches!(model.value(value).def(), Def::Initializer(_));
    let all: Vec<ValueId> = model.initializers(main).filter(|&value| is_plain(model, value)).collect();
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &value) in all.iter().enumerate() {
        if !chosen.contains(index) {
            continue;
        }
        let Some(ty) = type_of(model, value) else { continue };
        model.set_initializer(main, value, None);
        model.set_type(value, Some(ty));
        if model.push_graph_input(main, value).is_ok() {
            taken.gone = taken.gone.saturating_add(1);
        }
    }
    taken
}

fn type_of(model: &Model, value: ValueId) -> Option<Type> {
    let tensor = model.value(value).initializer()?.dense()?;
    let is_valid = tensor.dims().iter().all(|&dim| dim >= 0);
    is_valid.then(|| Type::tensor(tensor.elem(), Some(Shape::known(tensor.dims()))))
}

/// Replaces the elements of weights by zeros.
pub(super) fn to_zeros(model: &mut Model, chosen: Chosen) -> Taken {
    let mut all = all_initializers(model);
    all.retain(|&(_, value)| is_not_zero(model, value));
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &(graph, value)) in all.iter().enumerate() {
        if !chosen.contains(index) {
            continue;
        }
        let tensor = model.value(value).initializer().and_then(|constant| constant.dense());
        let zero = tensor.and_then(|tensor| zeros(tensor.elem(), tensor.dims()));
        if let Some(zero) = zero {
            model.set_initializer(graph, value, Some(Arc::new(Constant::Dense(zero))));
            taken.gone = taken.gone.saturating_add(1);
        }
    }
    taken
}

/// Returns `true` if the elements of an initializer are more than one number that is repeated.
fn is_not_zero(model: &Model, value: ValueId) -> bool {
    let tensor = model.value(value).initializer().and_then(|constant| constant.dense());
    tensor.is_some_and(|tensor| {
        let is_large = tensor.element_count().is_some_and(|count| count > 1);
        is_large && !matches!(tensor.payload(), Payload::Splat(_)) && !is_zero(tensor)
    })
}

/// Returns `true` if all bytes in memory are zero.
fn is_zero(tensor: &Tensor) -> bool {
    matches!(tensor.payload(), Payload::Raw(bytes) if bytes.iter().all(|&byte| byte == 0))
}

/// A tensor of zeros.
pub(crate) fn zeros(elem: ElemType, dims: &[i64]) -> Option<Tensor> {
    let dims = dims.iter().copied();
    let count = dims.clone().try_fold(1_u64, |count, dim| count.checked_mul(u64::try_from(dim).ok()?))?;
    let bytes = elem.byte_len(count)?;
    if bytes > MAX_BYTES {
        return match elem {
            ElemType::Float => Tensor::splat(dims, 0.0_f32).ok(),
            ElemType::Double => Tensor::splat(dims, 0.0_f64).ok(),
            ElemType::Int64 => Tensor::splat(dims, 0_i64).ok(),
            ElemType::Int32 => Tensor::splat(dims, 0_i32).ok(),
            ElemType::Int8 => Tensor::splat(dims, 0_i8).ok(),
            ElemType::Uint8 => Tensor::splat(dims, 0_u8).ok(),
            _ => None,
        };
    }
    Tensor::from_raw(elem, dims, vec![0; usize::try_from(bytes).ok()?]).ok()
}
