//! The floats of weights whose layout is that of an operator of onnxruntime.

use onnx_eval::{EvalOptions, constant};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

/// Dimensions and elements.
pub(super) type Floats = ([i64; 2], Vec<f32>);

/// The matrix of a `MatMulNBits`: its dimensions `[K, N]` with the elements, and the type of the scales. `None` if it is not constant, or
/// the parts do not fit.
pub(super) fn packed(model: &Model, node: NodeId, run: &EvalOptions<'_>) -> Option<(Floats, ElemType)> {
    let record = model.node(node);
    let size = |name: &str, default: i64| {
        let attribute = record.attributes().iter().find(|attribute| model.str(attribute.name()) == name);
        usize::try_from(attribute.and_then(|attribute| attribute.as_int()).unwrap_or(default)).ok()
    };
    let (rows, columns) = (size("K", 0)?, size("N", 0)?);
    let (bits, block) = (size("bits", 4)?, size("block_size", 0)?);
    if !matches!(bits, 2 | 4 | 8) || !block.is_power_of_two() || block < 8 {
        return None;
    }
    let blocks = rows.div_ceil(block);
    let tensor = |index: usize| constant(model, record.input(index)?, run).ok();
    let codes = tensor(1)?.to_vec::<u8>(run.data).ok()?;
    let scales_tensor = tensor(2)?;
    let scales: Vec<f64> = scales_tensor.iter_f64(run.data).ok()?.collect();
    let width = blocks.checked_mul(block)?.checked_mul(bits)? / 8;
    if codes.len() != columns.checked_mul(width)? || scales.len() != columns.checked_mul(blocks)? {
        return None;
    }
    let code = |bytes: &[u8], index: usize| {
        let position = index * bits;
        let byte = u16::from(*bytes.get(position / 8)?);
        Some(f64::from((byte >> (position % 8)) & ((1 << bits) - 1)))
    };
    let zeros: Vec<f64> = match record.input(3) {
        None => vec![f64::from(1_u16 << (bits - 1)); scales.len()],
        Some(_) => {
            let zeros = tensor(3)?;
            if zeros.elem() == ElemType::Uint8 {
                let bytes = zeros.to_vec::<u8>(run.data).ok()?;
                let width = (blocks * bits).div_ceil(8);
                let of = |index: usize| {
                    let (column, block) = (index / blocks, index % blocks);
                    code(bytes.get(column * width..(column + 1) * width)?, block)
                };
                (0..scales.len()).map(of).collect::<Option<_>>()?
            } else {
                zeros.iter_f64(run.data).ok()?.collect()
            }
        }
    };
    let mut made = vec![0.0_f32; rows.checked_mul(columns)?];
    for column in 0..columns {
        let bytes = codes.get(column * width..(column + 1) * width)?;
        for row in 0..rows {
            let at = column * blocks + row / block;
            let number = (code(bytes, row)? - zeros.get(at)?) as f32 * *scales.get(at)? as f32;
            *made.get_mut(row * columns + column)? = number;
        }
    }
    Some((([rows as i64, columns as i64], made), scales_tensor.elem()))
}

/// The weights of a `DynamicQuantizeLSTM`, `[directions, size, 4 * hidden]`, as those of `LSTM`: with the last two axes exchanged. There is
/// a scale for each direction, or for each of its columns.
pub(super) fn transposed_floats(
    model: &Model,
    (value, scale, zero): (Option<ValueId>, Option<ValueId>, Option<ValueId>),
    run: &EvalOptions<'_>,
) -> Option<Tensor> {
    let quantized = constant(model, value?, run).ok()?;
    let &[directions, size, columns] = quantized.dims() else { return None };
    let (count, height, width) =
        (usize::try_from(directions).ok()?, usize::try_from(size).ok()?, usize::try_from(columns).ok()?);
    let list = |value: Option<ValueId>| -> Option<Vec<f64>> {
        Some(constant(model, value?, run).ok()?.iter_f64(run.data).ok()?.collect())
    };
    let (scales, zeros) = (list(scale)?, list(zero)?);
    let at = |list: &[f64], direction: usize, column: usize| match list.len() {
        length if length == count => list.get(direction).copied(),
        length if length == count * width => list.get(direction * width + column).copied(),
        _ => None,
    };
    let numbers: Vec<f64> = quantized.iter_f64(run.data).ok()?.collect();
    let mut made = Vec::with_capacity(numbers.len());
    for direction in 0..count {
        for column in 0..width {
            let (scale, zero) = (at(&scales, direction, column)?, at(&zeros, direction, column)?);
            for row in 0..height {
                let number = numbers.get((direction * height + row) * width + column)?;
                made.push((number - zero) as f32 * scale as f32);
            }
        }
    }
    Tensor::from_slice(vec![directions, columns, size], &made).ok()
}
