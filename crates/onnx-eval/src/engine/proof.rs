//! The modes for proofs: evaluation in 64 bits, and results that another implementation could have.

use std::hash::Hasher;
use std::sync::Arc;

use onnx_ir::AttrValue;
use onnx_schema::traits::Rounding;
use onnx_schema::{Schema, SchemaRef, attr, op};
use onnx_types::tensor::{DataSource, Payload, Splat, Tensor};
use onnx_types::{ElemType, Symbol};

use crate::budget::{Budget, probe};
use crate::cx::{Cx, Outcome};
use crate::family::Axes;
use crate::number::Unit;
use crate::options::Perturbation;
use crate::random::at;
use crate::value::Value;

/// Whether evaluation in 64 bits replaces a type by `double`.
pub(crate) const fn is_narrow(elem: ElemType) -> bool {
    matches!(elem, ElemType::Float | ElemType::Float16 | ElemType::Bfloat16)
}

/// A value with `double` in the place of narrower floats, also in sequences and optionals. Maps stay as they are.
pub(super) fn widened(value: Value, data: &dyn DataSource, budget: &mut Budget) -> Outcome<Value> {
    // Sequences of sequences do not exist in a model that the checker accepts; deeper ones stay as they are.
    match value {
        Value::Tensor(tensor) => converted(tensor, ElemType::Double, data, budget).map(Value::Tensor),
        Value::Sequence(items) if items.iter().any(has_narrow) => {
            let items = items.iter().map(|item| match item {
                Value::Tensor(tensor) => {
                    converted(Arc::clone(tensor), ElemType::Double, data, budget).map(Value::Tensor)
                }
                other => Ok(other.clone()),
            });
            Ok(Value::Sequence(Arc::new(items.collect::<Outcome<_>>()?)))
        }
        Value::Optional(Some(inner)) => match inner.as_ref() {
            Value::Tensor(tensor) => {
                let tensor = converted(Arc::clone(tensor), ElemType::Double, data, budget)?;
                Ok(Value::Optional(Some(Arc::new(tensor.into()))))
            }
            _ => Ok(Value::Optional(Some(inner))),
        },
        other => Ok(other),
    }
}

fn has_narrow(value: &Value) -> bool {
    value.tensor().is_some_and(|tensor| is_narrow(tensor.elem()))
}

/// A tensor with its floats in another float type; itself if it has no narrow floats, or none of 64 bits to narrow.
fn converted(
    tensor: Arc<Tensor>,
    to: ElemType,
    data: &dyn DataSource,
    budget: &mut Budget,
) -> Outcome<Arc<Tensor>> {
    let applies =
        if to == ElemType::Double { is_narrow(tensor.elem()) } else { tensor.elem() == ElemType::Double };
    if !applies {
        return Ok(tensor);
    }
    let count = tensor.element_count().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    if to == ElemType::Double
        && matches!(tensor.payload(), Payload::Splat(_))
        && let Some(number) = tensor.iter_f64(data)?.next()
        && let Some(splat) = Splat::new(&number.to_le_bytes())
    {
        let payload = Payload::Splat(splat);
        return Ok(Arc::new(Tensor::from_parts(to.code(), tensor.dims().into(), payload)));
    }
    budget.allocate(count, size_of::<f64>())?;
    // The numbers are copied once.
    probe(count, 2 * size_of::<f64>())?;
    let numbers: Vec<f64> = tensor.iter_f64(data)?.collect();
    let payload = crate::ops::math::cast::round_to(to, &numbers, true, Default::default());
    Ok(Arc::new(Tensor::from_parts(to.code(), tensor.dims().into(), payload)))
}

/// Replaces operands of `double` by ones of a narrower type where the operator does not take `double`, such as the scales of
/// `Resize`: it is then evaluated in that type.
pub(super) fn narrowed(
    schema: &Schema,
    inputs: &mut [Option<Value>],
    data: &dyn DataSource,
    budget: &mut Budget,
) -> Outcome {
    for (index, input) in inputs.iter_mut().enumerate() {
        let Some(formal) = schema.input_for(index) else { break };
        let types = schema.types_of(formal);
        let Some(Value::Tensor(tensor)) = input else { continue };
        if tensor.elem() != ElemType::Double || types.contains_tensor(ElemType::Double) {
            continue;
        }
        let narrow = [ElemType::Float, ElemType::Bfloat16, ElemType::Float16];
        if let Some(to) = narrow.into_iter().find(|&to| types.contains_tensor(to)) {
            *input = Some(converted(Arc::clone(tensor), to, data, budget)?.into());
        }
    }
    Ok(())
}

/// Returns `true` for operators of arithmetic whose result is rounded once.
pub(super) fn is_arithmetic(schema: &Schema) -> bool {
    schema.traits().rounding() == Rounding::Once
}

/// Moves each finite float of a result by a number of units in the last place that depends only on the seed, the operator, its
/// attributes, the operands, the output and the index: equal calls keep equal results. Zeros stay.
pub(crate) fn perturb(cx: &mut Cx<'_, '_>, perturbation: Perturbation) -> Outcome {
    // One number is its own sum and mean, and two have one sum, which is rounded once.
    let exact = match cx.op() {
        op::SUM => 2,
        op::MEAN => 1,
        _ => 0,
    };
    if cx.input_count() <= exact {
        return Ok(());
    }
    // A formula of one operand that sums nothing moves elements.
    if cx.op() == op::EINSUM && cx.input_count() == 1 && sums_nothing(cx.text(attr::EQUATION)?) {
        return Ok(());
    }
    // A scatter that does not accumulate copies its operands.
    let is_scatter = matches!(cx.op(), op::SCATTER_ELEMENTS | op::SCATTER_ND);
    if is_scatter && !matches!(cx.text(attr::REDUCTION)?, "add" | "mul") {
        return Ok(());
    }
    if !perturbation.arithmetic && has_exact_sums(cx) {
        return Ok(());
    }
    let call = hash_of_call(cx, perturbation.seed);
    for output in 0..cx.outputs.len() {
        let Some(Some(Value::Tensor(tensor))) = cx.outputs.get(output) else { continue };
        let (tensor, seed) = (Arc::clone(tensor), at(call ^ output as u64, 0));
        let (width, mantissa) = match tensor.elem() {
            ElemType::Double => (64, 52),
            ElemType::Float => (32, 23),
            ElemType::Float16 => (16, 10),
            ElemType::Bfloat16 => (16, 7),
            _ => continue,
        };
        let operand = crate::cx::Operand::new(Arc::clone(&tensor))?;
        probe(operand.count, (width as usize).div_ceil(8))?;
        let format = Format { width, mantissa, ulps: perturbation.ulps };
        macro_rules! moved {
            ($unit:ty) => {{
                let units = cx.units::<$unit>(&operand)?;
                let moved = units
                    .iter()
                    .enumerate()
                    .map(|(index, &unit)| format.moved(u64::from(unit), at(seed ^ index as u64, 0)) as $unit);
                <$unit>::store(operand.elem, moved.collect())
            }};
        }
        let payload = match width {
            64 => moved!(u64),
            32 => moved!(u32),
            _ => moved!(u16),
        };
        let tensor = Tensor::from_parts(operand.elem.code(), tensor.dims().into(), payload);
        if let Some(slot) = cx.outputs.get_mut(output) {
            *slot = Some(tensor.into());
        }
    }
    Ok(())
}

/// Returns `true` if all sums of products of the operands are integers that the type of the result has: no implementation rounds
/// them, in whatever order it adds.
fn has_exact_sums(cx: &mut Cx<'_, '_>) -> bool {
    if !matches!(cx.op(), op::MAT_MUL | op::EINSUM | op::REDUCE_SUM | op::CUM_SUM) {
        return false;
    }
    let mut greatest = 1.0;
    for index in 0..cx.input_count() {
        let Ok(operand) = cx.tensor(index) else { return false };
        // Axes are integers.
        let digits = match operand.elem {
            ElemType::Double => 53,
            ElemType::Float => 24,
            _ if operand.elem.is_float() => return false,
            _ => continue,
        };
        let Ok(numbers) = cx.read_f64(&operand) else { return false };
        if !numbers.iter().all(|number| number.fract() == 0.0) {
            return false;
        }
        greatest *=
            numbers.iter().fold(1.0, |most: f64, number| most.max(number.abs())) * numbers.len() as f64;
        if greatest > (1_u64 << digits) as f64 {
            return false;
        }
    }
    true
}

/// Returns `true` if the result of a formula has all labels of its operand.
fn sums_nothing(equation: &str) -> bool {
    let Some((operand, result)) = equation.split_once("->") else { return false };
    operand.chars().filter(|label| !label.is_whitespace()).all(|label| result.contains(label))
}

/// A float format, and how far numbers move.
#[derive(Clone, Copy)]
struct Format {
    width: u32,
    mantissa: u32,
    ulps: u64,
}

impl Format {
    /// The code of a number that is at most `ulps` away from that of `code`; itself for zeros, infinities and NaN.
    fn moved(self, code: u64, draw: u64) -> u64 {
        let sign = 1 << (self.width - 1);
        let infinity = (sign - 1) >> self.mantissa << self.mantissa;
        let (magnitude, sign) = (code & (sign - 1), code & sign);
        if magnitude == 0 || magnitude >= infinity {
            return code;
        }
        // More than 1/64 of a number would not be a difference of rounding.
        let most = self.ulps.min(1 << self.mantissa.saturating_sub(6));
        let moved = magnitude.saturating_add(draw % (2 * most + 1)).saturating_sub(most);
        sign | moved.clamp(1, infinity - 1)
    }
}

/// A hash of the operator, its attributes with defaults, and the operands. What is the same computation in another notation has
/// the same hash: axes that count from the end, axes in another order, and windows whose sizes or padding are derived.
fn hash_of_call(cx: &Cx<'_, '_>, seed: u64) -> u64 {
    let mut state = Fold(at(seed, 0));
    state.write(cx.model.str(cx.node.op()).as_bytes());
    let names: Vec<Symbol> = match cx.schema {
        Some(SchemaRef::Standard(schema)) => schema.attributes().iter().map(|formal| formal.name).collect(),
        _ => cx.node.attributes().iter().map(onnx_ir::Attribute::name).collect(),
    };
    let is_reduction = names.contains(&attr::KEEPDIMS);
    let derived: &[Symbol] = if is_reduction {
        &[attr::AXES, attr::KEEPDIMS, attr::NOOP_WITH_EMPTY_AXES]
    } else {
        &[attr::KERNEL_SHAPE, attr::AUTO_PAD, attr::PADS]
    };
    for name in names.into_iter().filter(|name| !derived.contains(name)) {
        state.write(cx.model.str(name).as_bytes());
        hash_attribute(cx, name, &mut state);
    }
    if is_reduction {
        reduced_axes(cx).iter().for_each(|axis| state.write(&axis.to_le_bytes()));
    }
    // An operand that is left out at the end is one that is not there.
    let count = cx.inputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    for input in cx.inputs.iter().take(if is_reduction { 1 } else { count }) {
        state.write(&[u8::from(input.is_some())]);
        if let Some(Value::Tensor(tensor)) = input {
            tensor.hash_meaning(cx.data, &mut state);
        }
    }
    state.finish()
}

/// The axes along which a reduction reduces, in ascending order. The kernel has refused what is invalid.
fn reduced_axes(cx: &Cx<'_, '_>) -> Vec<i64> {
    let place = if cx.has_input(1) { Axes::Input(1) } else { Axes::Attribute };
    let rank = first_rank(cx);
    let mut axes = cx.axes_at(place).ok().flatten().unwrap_or_default();
    if axes.is_empty() && !cx.flag(attr::NOOP_WITH_EMPTY_AXES).unwrap_or(false) {
        axes = (0..rank).collect();
    }
    axes.iter_mut().for_each(|axis| *axis = from_start(*axis, rank));
    axes.sort_unstable();
    axes
}

/// The rank of the first operand.
fn first_rank(cx: &Cx<'_, '_>) -> i64 {
    cx.tensor(0).map_or(0, |x| x.rank() as i64)
}

/// An axis as counted from the first one.
const fn from_start(axis: i64, rank: i64) -> i64 {
    if axis < 0 { axis.wrapping_add(rank) } else { axis }
}

/// Attributes of these operators are numbers, lists of numbers and strings; others do not count.
fn hash_attribute(cx: &Cx<'_, '_>, name: Symbol, state: &mut Fold) {
    if let Ok(Some(number)) = cx.int(name) {
        let number = if name == attr::AXIS { from_start(number, first_rank(cx)) } else { number };
        state.write(&number.to_le_bytes());
    } else if let Ok(Some(number)) = cx.float(name) {
        state.write(&number.to_le_bytes());
    } else if let Ok(Some(numbers)) = cx.ints(name) {
        numbers.iter().for_each(|number| state.write(&number.to_le_bytes()));
    } else if let Ok(Some(numbers)) = cx.floats(name) {
        numbers.iter().for_each(|number| state.write(&number.to_le_bytes()));
    } else if let Ok(text) = cx.text(name) {
        state.write(text.as_bytes());
    } else if let Some(AttrValue::Tensor(tensor)) = cx.attribute(name).map(onnx_ir::Attribute::value) {
        tensor.hash_meaning(cx.data, state);
    }
}

/// A hash that depends on nothing but the bytes.
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        at(self.0, 0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(9);
        }
    }
}
