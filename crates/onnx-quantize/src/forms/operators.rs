//! Operators that take and give quantized numbers, in the place of others between `DequantizeLinear` and `QuantizeLinear`.

use onnx_compose::{Quantization, Scales};
use onnx_ir::{Attribute, Callee, Model, NewNode, Node, NodeId, Position, ValueId};
use onnx_schema::{FormalOption, Registry, Schema, attr, domain, op};
use onnx_types::tensor::{DataSource, Tensor};
use onnx_types::{ElemType, Symbol, Type};

use crate::edits::{add_constant, count, nodes_outside_functions};
use crate::types::with_elem;
use crate::weights::{Format, QuantizeError};

/// What [`use_operators`] did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct OperatorForm {
    /// Number of nodes that compute with quantized numbers now, by operator, in the order of the first one.
    pub nodes: Vec<(String, usize)>,
}

/// The operand of a `DequantizeLinear`, or the result of a `QuantizeLinear`, with its parameters.
struct Quantized {
    value: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
    elem: ElemType,
}

/// Makes `QLinearConv` of `Conv` and `QLinearMatMul` of `MatMul` where all operands come from `DequantizeLinear` and the result goes to
/// `QuantizeLinear`, and lets operators that move or select elements do so with the quantized numbers, if their parameters before and after
/// are equal. What the operators compute is the same up to the rounding of the sums.
///
/// # Errors
///
/// Returns an error if a constant cannot be read.
pub fn use_operators(
    model: &mut Model,
    table: &Quantization,
    registry: &Registry,
    data: &dyn DataSource,
) -> Result<OperatorForm, QuantizeError> {
    let mut done = OperatorForm::default();
    for node in nodes_outside_functions(model) {
        // A `QuantizeLinear` is gone when its operand is computed with quantized numbers.
        let output = model.get_node(node).and_then(|_| result(model, node));
        let Some(output) = output else { continue };
        let record = model.node(node);
        let Callee::Standard(schema) = model.callee(node, registry) else { continue };
        let is_product = record.is(op::CONV) || record.is(op::MAT_MUL);
        let row = table.operator(model.str(record.op()));
        let is_mover = row.is_some_and(|row| row.scales == Scales::Equal);
        let name = match (is_product, is_mover) {
            (true, _) => product(model, node, &output, data)?,
            (_, true) => {
                moved(model, node, schema, &output)?.then(|| model.str(model.node(node).op()).to_owned())
            }
            _ => None,
        };
        let Some(name) = name else { continue };
        count(&mut done.nodes, name);
    }
    model.erase_unused();
    Ok(done)
}

/// The only use of the result of a node, if that is a `QuantizeLinear` with one scale.
fn result(model: &Model, node: NodeId) -> Option<Quantized> {
    let record = model.node(node);
    if !record.domain().is_empty() || record.outputs().len() != 1 {
        return None;
    }
    let (user, index) = model.sole_consumer(record.output(0)?)?;
    let quantize = model.node(user);
    let is_here = quantize.graph() == record.graph() && quantize.domain().is_empty();
    if index != 0 || !is_here || !quantize.is(op::QUANTIZE_LINEAR) {
        return None;
    }
    let zero = quantize.input(2)?;
    let elem = model.constant_tensor(zero)?.elem();
    let is_one = model.constant_tensor(zero)?.element_count() == Some(1);
    let scale = quantize.input(1).filter(|_| is_one)?;
    Some(Quantized { value: quantize.output(0)?, scale, zero: Some(zero), elem })
}

/// The operand of the `DequantizeLinear` that makes an operand of a node.
fn operand(model: &Model, record: &Node, index: usize) -> Option<Quantized> {
    let node = model.value(record.input(index)?).producer()?;
    let dequantize = model.node(node);
    if !dequantize.is(op::DEQUANTIZE_LINEAR) || !dequantize.domain().is_empty() {
        return None;
    }
    // Blocks have no operator form.
    if dequantize.int(attr::BLOCK_SIZE).unwrap_or(0) != 0 {
        return None;
    }
    let (value, scale, zero) = (dequantize.input(0)?, dequantize.input(1)?, dequantize.input(2));
    let of = |value: ValueId| model.constant_tensor(value).map(Tensor::elem);
    let made = || {
        let quantize = model.value(value).producer().map(|node| model.node(node))?;
        quantize.is(op::QUANTIZE_LINEAR).then(|| of(quantize.input(2)?)).flatten()
    };
    let elem = zero.and_then(of).or_else(|| of(value)).or_else(made)?;
    Some(Quantized { value, scale, zero, elem })
}

/// The numbers of a constant of `float`.
fn numbers(model: &Model, value: ValueId, data: &dyn DataSource) -> Option<Vec<f32>> {
    model.constant_tensor(value)?.to_vec::<f32>(data).ok()
}

/// Makes a `QLinearConv` or a `QLinearMatMul`; `None` if an operand is not quantized.
fn product(
    model: &mut Model,
    node: NodeId,
    output: &Quantized,
    data: &dyn DataSource,
) -> Result<Option<String>, QuantizeError> {
    let record = model.node(node);
    let is_conv = record.is(op::CONV);
    let new = if is_conv { op::Q_LINEAR_CONV } else { op::Q_LINEAR_MAT_MUL };
    let (Some(a), Some(b)) = (operand(model, record, 0), operand(model, record, 1)) else { return Ok(None) };
    let version = model.versions_in(record.graph()).get(domain::ONNX).unwrap_or(1);
    let takes = |index: usize, elem: ElemType| {
        let schema = onnx_schema::lookup(domain::ONNX, new, version);
        let formal = schema.and_then(|schema| Some((schema, schema.input_for(index)?)));
        formal.is_some_and(|(schema, formal)| schema.types_of(formal).contains_tensor(elem))
    };
    if !has_kernel(a.elem, b.elem, output.elem) {
        return Ok(None);
    }
    // The scales of the operands are one number, except those of the weights of a convolution and of the columns of a product.
    let one = numbers(model, a.scale, data).filter(|scales| scales.len() == 1);
    let Some(one) = one.and_then(|scales| scales.first().copied()) else { return Ok(None) };
    let channels = numbers(model, b.scale, data);
    let Some(channels) = channels.filter(|scales| !scales.is_empty()) else { return Ok(None) };
    if !takes(0, a.elem)
        || !takes(3, b.elem)
        || !takes(7, output.elem)
        || !has_axis(model, record, is_conv, &channels)
    {
        return Ok(None);
    }
    let bias = match record.input(2).filter(|_| is_conv) {
        None => None,
        Some(_) => match bias(model, record, (one, &channels), data) {
            Some(bias) => Some(bias),
            None => return Ok(None),
        },
    };
    let attributes: Vec<Attribute> = record.attributes().to_vec();
    let name = record.name();
    let Some(zero) = output.zero else { return Ok(None) };
    let [first, second] = [zero_of(model, &a, 1)?, zero_of(model, &b, channels.len())?];
    let mut inputs = vec![a.value, a.scale, first, b.value, b.scale, second, output.scale, zero];
    inputs.extend(bias);
    let old = output.value;
    let made = model.new_value_in(model.node(node).graph(), Symbol::EMPTY);
    let mut call = NewNode::new(new).inputs(inputs).outputs([made]);
    call.name = name;
    for attribute in attributes {
        call = call.attribute(attribute);
    }
    let at = model.value(old).producer().map_or(Position::After(node), Position::Before);
    model.add_node(at, call)?;
    take_place(model, old, made)?;
    Ok(Some(model.str(new).to_owned()))
}

/// Returns `true` if runtimes multiply these types: the operators take all, but numbers with a sign are multiplied by others with one, and the
/// result has the type of the first operand.
fn has_kernel(a: ElemType, b: ElemType, result: ElemType) -> bool {
    a == result && (a != ElemType::Int8 || b == ElemType::Int8)
}

/// Returns `true` if the scales of a second operand are where the operators expect them.
fn has_axis(model: &Model, record: &Node, is_conv: bool, scales: &[f32]) -> bool {
    if scales.len() == 1 {
        return true;
    }
    let producer = record.input(1).and_then(|value| model.value(value).producer());
    let axis = producer.and_then(|node| model.node(node).int(attr::AXIS)).unwrap_or(1);
    if is_conv { axis == 0 } else { axis == 1 || axis == -1 }
}

/// The bias as `int32`, if its scale is the product of the others.
fn bias(
    model: &Model,
    record: &Node,
    (one, channels): (f32, &[f32]),
    data: &dyn DataSource,
) -> Option<ValueId> {
    let bias =
        operand(model, record, 2).filter(|bias| bias.elem == ElemType::Int32 && bias.zero.is_none())?;
    let scales = numbers(model, bias.scale, data)?;
    let is_product = |(scale, channel): (&f32, &f32)| {
        let product = one * channel;
        (scale - product).abs() <= product.abs() * 1e-5
    };
    let is_same = scales.len() == channels.len() && scales.iter().zip(channels).all(is_product);
    is_same.then_some(bias.value)
}

/// The zero point of an operand; a constant of zeros, if it has none.
fn zero_of(model: &mut Model, operand: &Quantized, count: usize) -> Result<ValueId, QuantizeError> {
    if let Some(zero) = operand.zero {
        return Ok(zero);
    }
    let format = Format::of(operand.elem).ok_or(QuantizeError::Type(operand.elem))?;
    let name = format!("{}_zero_point", model.str(model.value(operand.value).name()));
    let dims: Vec<i64> = if count == 1 { Vec::new() } else { vec![count as i64] };
    let zeros = format.tensor(&dims, &vec![0.0; count]);
    let zeros = zeros.map_err(|reason| QuantizeError::Weight { tensor: name.clone(), reason })?;
    Ok(add_constant(model, &name, zeros)?)
}

/// Lets a value have all uses and the name of another one.
fn take_place(model: &mut Model, old: ValueId, new: ValueId) -> Result<(), QuantizeError> {
    model.take_name(new, old);
    if let Some(ty) = model.value(old).shared_ty().cloned() {
        model.set_type(new, Some(ty));
    }
    model.replace_all_uses(old, new);
    let producer = model.value(old).producer();
    if let Some(node) = producer.filter(|&node| model.is_dead(node)) {
        model.erase_node(node)?;
    }
    Ok(())
}

/// Lets a node that moves elements do so with quantized numbers. Returns `false` if it does not, or the parameters differ.
fn moved(
    model: &mut Model,
    node: NodeId,
    schema: &'static Schema,
    output: &Quantized,
) -> Result<bool, QuantizeError> {
    let record = model.node(node);
    let is_list = schema.input_for(0).is_some_and(|formal| formal.option == FormalOption::Variadic);
    let count = if is_list { record.input_count() } else { 1 };
    let from: Option<Vec<Quantized>> = (0..count).map(|index| operand(model, record, index)).collect();
    let Some(from) = from else { return Ok(false) };
    let is_same = |from: &Quantized| from.scale == output.scale && from.zero == output.zero;
    let elem = output.elem;
    let formal = schema.input_for(0).zip(schema.output_for(0));
    let takes = formal.is_some_and(|(input, output)| {
        schema.types_of(input).contains_tensor(elem) && schema.types_of(output).contains_tensor(elem)
    });
    if !takes || !from.iter().all(is_same) {
        return Ok(false);
    }
    let Some(own) = record.output(0) else { return Ok(false) };
    let ty: Option<Type> = model.ty(own).map(|ty| with_elem(ty, elem));
    for (index, from) in from.iter().enumerate() {
        model.set_input(node, index, Some(from.value));
    }
    model.set_type(own, ty);
    take_place(model, output.value, own)?;
    Ok(true)
}
