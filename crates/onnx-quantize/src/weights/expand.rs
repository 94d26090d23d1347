//! Operators that compute with quantized numbers as those of floats: with `DequantizeLinear` in front and `QuantizeLinear` behind, or with
//! the floats of constant weights.

use onnx_eval::{EvalOptions, constant};
use onnx_ir::{Attribute, EditError, Model, NodeId, Position, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;
use onnx_types::tensor::{Tensor, f16, require_memory};

use super::dequantize::{DequantizeError, is_quantized};
use super::packed::{packed, transposed_floats};
use crate::edits::{nodes_outside_functions, substitute};

/// Operators of onnxruntime.
const MICROSOFT: &str = "com.microsoft";

/// Number of weights that became floats with an operator; `None` if it stays.
type Made = Option<usize>;

/// Replaces the operators that have a form of floats with equal meaning. Returns their number, and that of their weights.
pub(super) fn expand(model: &mut Model, run: &EvalOptions<'_>) -> Result<(usize, usize), DequantizeError> {
    let (mut count, mut weights) = (0, 0);
    for node in nodes_outside_functions(model) {
        // A pattern of several nodes may have replaced it.
        if model.get_node(node).is_none() {
            continue;
        }
        require_floats(model, node)?;
        let name = model.str(model.node(node).op()).to_owned();
        let is_standard = model.node(node).domain().is_empty();
        let is_microsoft = model.str(model.node(node).domain()) == MICROSOFT;
        let expanded = match name.as_str() {
            "QLinearConv" if is_standard => linear(model, node, Linear::Conv, run)?,
            "QLinearMatMul" if is_standard => linear(model, node, Linear::Binary("MatMul"), run)?,
            "QLinearAdd" if is_microsoft => linear(model, node, Linear::Binary("Add"), run)?,
            "QLinearMul" if is_microsoft => linear(model, node, Linear::Binary("Mul"), run)?,
            "QLinearSigmoid" if is_microsoft => linear(model, node, Linear::Unary("Sigmoid"), run)?,
            "QLinearLeakyRelu" if is_microsoft => linear(model, node, Linear::Unary("LeakyRelu"), run)?,
            "MatMulInteger" | "ConvInteger" if is_standard => scaled_product(model, node, run)?,
            "DynamicQuantizeMatMul" if is_microsoft => dynamic_product(model, node, run)?,
            "MatMulNBits" if is_microsoft => blocks(model, node, run)?,
            "DynamicQuantizeLSTM" if is_microsoft => lstm(model, node, run)?,
            _ => None,
        };
        count += usize::from(expanded.is_some());
        weights += expanded.unwrap_or_default();
    }
    Ok((count, weights))
}

/// Decides whether the system has memory for the floats of the constants of a node with quantized numbers: making them ends the process if
/// there is none.
fn require_floats(model: &Model, node: NodeId) -> Result<(), DequantizeError> {
    /// Bytes of an element while it is made: a list that grows, and the tensor.
    const BYTES: usize = 12;
    let record = model.node(node);
    if !is_quantized(model, node) {
        return Ok(());
    }
    let bits = model.names().get("bits").and_then(|name| record.int(name)).unwrap_or(4);
    let has_codes = model.str(record.op()) == "MatMulNBits";
    let codes = usize::try_from(bits).ok().and_then(|bits| 8_usize.checked_div(bits)).filter(|_| has_codes);
    let codes = codes.unwrap_or(1);
    for value in record.inputs().flatten() {
        let Some(tensor) = model.constant_tensor(value) else { continue };
        let count = usize::try_from(tensor.element_count().unwrap_or_default()).unwrap_or(usize::MAX);
        require_memory::<[u8; BYTES]>(count.saturating_mul(codes)).map_err(|reason| {
            let tensor = model.str(model.value(value).name()).to_owned();
            DequantizeError::Elements { tensor, reason }
        })?;
    }
    Ok(())
}

/// The version of the ONNX operators for a node.
fn version(model: &Model, node: NodeId) -> i64 {
    model.versions_in(model.node(node).graph()).get(domain::ONNX).unwrap_or(1)
}

fn tensor(model: &Model, value: ValueId, run: &EvalOptions<'_>) -> Option<Tensor> {
    constant(model, value, run).ok()
}

fn numbers(model: &Model, value: Option<ValueId>, run: &EvalOptions<'_>) -> Option<Vec<f64>> {
    Some(tensor(model, value?, run)?.iter_f64(run.data).ok()?.collect())
}

/// The floats of a constant; the scales are one number, or one for each index of an axis.
fn floats(
    model: &Model,
    (value, scale, zero): (Option<ValueId>, Option<ValueId>, Option<ValueId>),
    axis: usize,
    run: &EvalOptions<'_>,
) -> Option<Tensor> {
    let quantized = tensor(model, value?, run)?;
    let scales = numbers(model, scale, run)?;
    let zeros = match zero {
        Some(_) => numbers(model, zero, run)?,
        None => vec![0.0],
    };
    let dims = quantized.dims().to_vec();
    let size = usize::try_from(*dims.get(axis).unwrap_or(&1)).ok()?;
    let inner: usize = dims.iter().skip(axis + 1).map(|&size| size as usize).product();
    let fits = |list: &[f64]| list.len() == 1 || list.len() == size;
    if !fits(&scales) || !fits(&zeros) || inner == 0 || size == 0 {
        return None;
    }
    let at = |list: &[f64], index: usize| list.get(if list.len() == 1 { 0 } else { index }).copied();
    let made: Option<Vec<f32>> = quantized
        .iter_f64(run.data)
        .ok()?
        .enumerate()
        .map(|(index, number)| {
            let channel = index / inner % size;
            Some((number - at(&zeros, channel)?) as f32 * at(&scales, channel)? as f32)
        })
        .collect();
    Tensor::from_slice(dims, &made?).ok()
}

/// Operators with quantized operands and results.
#[derive(Clone, Copy)]
enum Linear {
    Conv,
    Binary(&'static str),
    Unary(&'static str),
}

/// `QLinear...`: pairs around the operator of floats.
fn linear(model: &mut Model, node: NodeId, form: Linear, run: &EvalOptions<'_>) -> Result<Made, EditError> {
    let record = model.node(node);
    let input = |index| record.input(index);
    let (name, operands, result) = match form {
        Linear::Conv => ("Conv", vec![0, 3], 6),
        Linear::Binary(name) => (name, vec![0, 3], 6),
        Linear::Unary(name) => (name, vec![0], 3),
    };
    let (Some(scale), Some(old)) = (input(result), record.output(0)) else { return Ok(None) };
    let zero = input(result + 1);
    if version(model, node) < 10 || zero.is_none() {
        return Ok(None);
    }
    let Some(weights) = weights(model, node, (form, &operands), run) else { return Ok(None) };
    let bias = match (form, input(8)) {
        (Linear::Conv, Some(_)) => match bias(model, node, run) {
            Some(bias) => Some(bias),
            None => return Ok(None),
        },
        _ => None,
    };
    let attributes = record.attributes().to_vec();
    let parts: Vec<_> =
        operands.iter().map(|&first| (input(first), input(first + 1), input(first + 2))).collect();
    let mut build = model.build_at(Position::Before(node));
    let mut inputs = Vec::new();
    let made = weights.iter().flatten().count();
    for (weight, (value, scale, zero)) in weights.into_iter().zip(parts) {
        inputs.push(match weight {
            Some(weight) => build.constant(weight.held(run.data))?,
            None => build.op(op::DEQUANTIZE_LINEAR, [value, scale, zero].into_iter().flatten()).output()?,
        });
    }
    if let Some(bias) = bias {
        inputs.push(build.constant(bias.held(run.data))?);
    }
    let mut call = build.call("", name, inputs);
    for attribute in attributes {
        call = call.attribute(attribute);
    }
    let float = call.output()?;
    let new =
        build.op(op::QUANTIZE_LINEAR, [Some(float), Some(scale), zero].into_iter().flatten()).output()?;
    substitute(model, node, old, new)?;
    Ok(Some(made))
}

/// The floats of the operands of a `QLinear...` that are constant weights; `None` if one has no form of floats.
fn weights(
    model: &Model,
    node: NodeId,
    (form, operands): (Linear, &[usize]),
    run: &EvalOptions<'_>,
) -> Option<Vec<Option<Tensor>>> {
    let record = model.node(node);
    let found = operands.iter().map(|&first| {
        let parts = (record.input(first), record.input(first + 1), record.input(first + 2));
        let weight = if first == 3 {
            let rank = || parts.0.and_then(|value| tensor(model, value, run)).map_or(1, |one| one.rank());
            let axis = if matches!(form, Linear::Conv) { 0 } else { rank().saturating_sub(1) };
            floats(model, parts, axis, run)
        } else {
            None
        };
        // Scales of channels need an axis, which only constants have here.
        let is_one = || numbers(model, parts.1, run).is_some_and(|scales| scales.len() == 1);
        (weight.is_some() || is_one()).then_some(weight)
    });
    found.collect()
}

/// The bias of a `QLinearConv`: its scale is the product of those of the operands.
fn bias(model: &Model, node: NodeId, run: &EvalOptions<'_>) -> Option<Tensor> {
    let record = model.node(node);
    let bias = tensor(model, record.input(8)?, run)?;
    let operand = *numbers(model, record.input(1), run)?.first()?;
    let weights = numbers(model, record.input(4), run)?;
    let at = |index: usize| weights.get(if weights.len() == 1 { 0 } else { index }).copied();
    let made = bias.iter_f64(run.data).ok()?.enumerate();
    let made: Option<Vec<f32>> =
        made.map(|(index, number)| Some((number * operand * at(index)?) as f32)).collect();
    Tensor::from_slice(bias.dims().to_vec(), &made?).ok()
}

/// The `DynamicQuantizeLinear` that makes an operand, whose zero point is another one: its operand and its scale.
fn dynamic(model: &Model, value: Option<ValueId>, zero: Option<ValueId>) -> Option<(ValueId, ValueId)> {
    let node = model.node(model.value(value?).producer()?);
    let is_dynamic = node.is(op::DYNAMIC_QUANTIZE_LINEAR) && node.domain().is_empty();
    let is_same = node.output(0) == value && zero.is_some() && node.output(2) == zero;
    (is_dynamic && is_same).then_some((node.input(0)?, node.output(1)?))
}

/// `MatMulInteger` or `ConvInteger` of a `DynamicQuantizeLinear` and a constant, with `Cast` and `Mul` behind: the product of floats.
fn scaled_product(model: &mut Model, node: NodeId, run: &EvalOptions<'_>) -> Result<Made, EditError> {
    let record = model.node(node);
    let is_conv = record.is(op::CONV_INTEGER);
    let Some((float, scale)) = dynamic(model, record.input(0), record.input(2)) else { return Ok(None) };
    let Some(mul) = scaled(model, node) else { return Ok(None) };
    let own = model.node(mul.node);
    let factor = own.inputs().flatten().find(|&value| value != mul.product);
    // The factor is the product of both scales, in any order.
    let factor = factor.and_then(|value| model.value(value).producer()).map(|node| model.node(node));
    let Some(factor) = factor.filter(|factor| factor.is(op::MUL) && factor.domain().is_empty()) else {
        return Ok(None);
    };
    let others: Vec<ValueId> = factor.inputs().flatten().filter(|&value| value != scale).collect();
    let &[weight_scale] = others.as_slice() else { return Ok(None) };
    let rank = record.input(1).and_then(|value| tensor(model, value, run)).map_or(0, |weight| weight.rank());
    let axis = if is_conv { 0 } else { rank.saturating_sub(1) };
    let parts = (record.input(1), Some(weight_scale), record.input(3));
    let Some(weight) = floats(model, parts, axis, run) else { return Ok(None) };
    let (Some(old), attributes) = (own.output(0), record.attributes().to_vec()) else { return Ok(None) };
    let name = if is_conv { "Conv" } else { "MatMul" };
    product(model, mul.node, old, (name, float, weight), attributes, run)
}

/// The multiplication behind an integer product.
struct Scaled {
    node: NodeId,
    product: ValueId,
}

fn scaled(model: &Model, node: NodeId) -> Option<Scaled> {
    let (cast, _) = model.sole_consumer(model.node(node).output(0)?)?;
    let to = model.node(cast).is(op::CAST).then(|| model.node(cast).int(attr::TO)).flatten();
    let product = model.node(cast).output(0).filter(|_| to == Some(i64::from(ElemType::Float.code())))?;
    let (mul, _) = model.sole_consumer(product)?;
    let is_here = model.node(mul).graph() == model.node(node).graph();
    (is_here && model.node(mul).is(op::MUL) && model.node(mul).domain().is_empty())
        .then_some(Scaled { node: mul, product })
}

/// Puts a product with a constant in the place of a node.
fn product(
    model: &mut Model,
    node: NodeId,
    old: ValueId,
    (name, float, weight): (&str, ValueId, Tensor),
    attributes: Vec<Attribute>,
    run: &EvalOptions<'_>,
) -> Result<Made, EditError> {
    let mut build = model.build_at(Position::Before(node));
    let weight = build.constant(weight.held(run.data))?;
    let mut call = build.call("", name, [float, weight]);
    for attribute in attributes {
        call = call.attribute(attribute);
    }
    let new = call.output()?;
    substitute(model, node, old, new)?;
    Ok(Some(1))
}

/// `DynamicQuantizeMatMul`: the product with the floats of the matrix, and the bias.
fn dynamic_product(model: &mut Model, node: NodeId, run: &EvalOptions<'_>) -> Result<Made, EditError> {
    let record = model.node(node);
    let parts = (record.input(1), record.input(2), record.input(3));
    let rank = parts.0.and_then(|value| tensor(model, value, run)).map_or(0, |weight| weight.rank());
    let weight = floats(model, parts, rank.saturating_sub(1), run);
    let (Some(weight), Some(float), Some(old)) = (weight, record.input(0), record.output(0)) else {
        return Ok(None);
    };
    let bias = record.input(4);
    with_bias(model, node, old, (float, weight), bias, run)
}

/// `MatMul`, and `Add` of a bias, in the place of a node.
fn with_bias(
    model: &mut Model,
    node: NodeId,
    old: ValueId,
    (float, weight): (ValueId, Tensor),
    bias: Option<ValueId>,
    run: &EvalOptions<'_>,
) -> Result<Made, EditError> {
    let Some(bias) = bias else {
        return product(model, node, old, ("MatMul", float, weight), Vec::new(), run);
    };
    let mut build = model.build_at(Position::Before(node));
    let weight = build.constant(weight.held(run.data))?;
    let made = build.op(op::MAT_MUL, [float, weight]).output()?;
    let new = build.op(op::ADD, [made, bias]).output()?;
    substitute(model, node, old, new)?;
    Ok(Some(1))
}

/// `MatMulNBits`: the product with the floats of the blocks.
fn blocks(model: &mut Model, node: NodeId, run: &EvalOptions<'_>) -> Result<Made, EditError> {
    let record = model.node(node);
    // An index of groups is another order of the rows.
    if record.input(4).is_some() {
        return Ok(None);
    }
    let (Some(float), Some(old)) = (record.input(0), record.output(0)) else { return Ok(None) };
    let Some((matrix, elem)) = packed(model, node, run) else { return Ok(None) };
    let weight = match elem {
        ElemType::Float => Tensor::from_slice(matrix.0, &matrix.1),
        ElemType::Float16 => Tensor::from_slice(
            matrix.0,
            &matrix.1.iter().map(|&number| f16::from_f32(number)).collect::<Vec<_>>(),
        ),
        _ => return Ok(None),
    };
    let Ok(weight) = weight else { return Ok(None) };
    let bias = record.input(5);
    with_bias(model, node, old, (float, weight), bias, run)
}

/// `DynamicQuantizeLSTM`: `LSTM` with the floats of the weights, which have the other order of axes.
fn lstm(model: &mut Model, node: NodeId, run: &EvalOptions<'_>) -> Result<Made, EditError> {
    let record = model.node(node);
    let weights = |index: usize, scale: usize| {
        let (value, scale, zero) = (record.input(index), record.input(scale), record.input(scale + 1));
        transposed_floats(model, (value, scale, zero), run)
    };
    let (Some(first), Some(second)) = (weights(1, 8), weights(2, 10)) else { return Ok(None) };
    let given: Vec<Option<ValueId>> = (0..8).map(|index| record.input(index)).collect();
    let outputs: Vec<Option<ValueId>> = record.outputs().to_vec();
    let attributes = record.attributes().to_vec();
    let present: Vec<bool> = outputs.iter().map(Option::is_some).collect();
    let mut build = model.build_at(Position::Before(node));
    let first = build.constant(first.held(run.data))?;
    let second = build.constant(second.held(run.data))?;
    let mut call = build.call("", "LSTM", []);
    for (index, value) in given.into_iter().enumerate() {
        call = call.input(match index {
            1 => Some(first),
            2 => Some(second),
            _ => value,
        });
    }
    for attribute in attributes {
        call = call.attribute(attribute);
    }
    let made = call.outputs_if(&present)?;
    for (old, new) in outputs.into_iter().zip(made) {
        let (Some(old), Some(new)) = (old, new) else { continue };
        let is_named = model.is_known_output(old);
        if model.replace_or_alias(old, new)?.is_none() && !is_named {
            model.take_name(new, old);
        }
    }
    model.erase_node(node)?;
    Ok(Some(2))
}
