//! Operators on quantized tensors.

use onnx_types::{Dim, ElemType};

use super::{Rule, int, like_first};
use crate::cx::{Cx, Outcome};

pub(super) const RULES: &[Rule] = &[
    ("QLinearAdd", binary),
    ("QLinearMul", binary),
    ("QLinearSoftmax", like_first),
    ("QLinearSigmoid", like_first),
    ("QLinearLeakyRelu", like_first),
    ("QLinearGlobalAveragePool", global_pool),
    ("QGemm", gemm),
    ("DynamicQuantizeLSTM", lstm),
];

/// Both operands come with a scale and a zero point.
fn binary(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    cx.set_elem(0, elem);
    let (left, right) = (cx.shape(0)?, cx.shape(3)?);
    let dims = cx.broadcast(&left, &right)?;
    cx.set_dims(0, dims);
    Ok(())
}

fn global_pool(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    cx.set_elem(0, elem);
    let mut dims = cx.shape_of_min_rank(0, 2)?;
    let last = dims.len().saturating_sub(1);
    let channel = if int(cx, "channels_last", 0)? == 0 { 1 } else { last };
    for (axis, dim) in dims.iter_mut().enumerate() {
        if axis != 0 && axis != channel {
            *dim = Dim::Known(1);
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// The result is quantized if it is given a scale and a zero point, and of floats otherwise.
fn gemm(cx: &mut Cx<'_, '_>) -> Outcome {
    match (cx.has_input(7), cx.elem(8)) {
        (_, Ok(elem)) => cx.set_elem(0, elem),
        (false, Err(_)) if !cx.has_input(8) => cx.set_elem(0, ElemType::Float),
        _ => {}
    }
    let (left, right) = (cx.shape_of_rank(0, 2)?, cx.shape_of_rank(3, 2)?);
    let across = (int(cx, "transA", 0)? != 0, int(cx, "transB", 0)? != 0);
    let [a, b] = [&left, &right]
        .map(|dims| (dims.first().copied().unwrap_or_default(), dims.last().copied().unwrap_or_default()));
    let (rows, inner) = if across.0 { (a.1, a.0) } else { a };
    let (other, columns) = if across.1 { (b.1, b.0) } else { b };
    cx.same(inner, other, "the inner sizes of the matrices")?;
    cx.set_shape(0, [rows, columns]);
    Ok(())
}

/// As `LSTM`, but that the weights are transposed; the number of directions is their first size.
fn lstm(cx: &mut Cx<'_, '_>) -> Outcome {
    for output in 0..3 {
        cx.set_elem(output, ElemType::Float);
    }
    let input = cx.shape_of_rank(0, 3)?;
    let weights = cx.shape_of_rank(2, 3)?;
    let (length, batch) = (at(&input, 0), at(&input, 1));
    let (directions, hidden) = (at(&weights, 0), at(&weights, 1));
    cx.set_shape(0, [length, directions, batch, hidden]);
    cx.set_shape(1, [directions, batch, hidden]);
    cx.set_shape(2, [directions, batch, hidden]);
    Ok(())
}

fn at(dims: &[Dim], axis: usize) -> Dim {
    dims.get(axis).copied().unwrap_or_default()
}
