//! Operators of which every admissible implementation computes the same bits from the same operands.
//!
//! An operator whose rounding is open may be approximated, accumulate in any order, or round between its steps.
//! Whether the result of another one is fixed can depend on its operands: the standard does not define which of
//! 0.0 and -0.0 is the greater one, nor the result of an integer overflow.

use onnx_ir::{AttrValue, Model, Node, NodeId};
use onnx_schema::traits::{Rounding, newest};
use onnx_schema::{Registry, Traits, attr, domain, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemClass, ElemType, Symbol};

use crate::formats::range_of;

/// Returns `true` if all admissible implementations compute these results of a node from these operands, bit for bit; NaNs
/// count as equal.
#[must_use]
pub fn are_fixed(
    model: &Model,
    node: NodeId,
    registry: &Registry,
    operands: &[Tensor],
    results: &[Tensor],
) -> bool {
    let record = model.node(node);
    let is_standard = record.domain() == domain::ONNX && model.callee(node, registry).standard().is_some();
    let Some(traits) = newest(record.op()).filter(|_| is_standard) else { return false };
    if traits.rounding() == Rounding::Open || implementations_differ(record, &in_slots(record, operands)) {
        return false;
    }
    match traits.rounding() {
        Rounding::Exact => true,
        Rounding::Order => {
            let is_least = |tensor: &Tensor| {
                extremes(tensor)
                    .zip(range_of(tensor.elem()))
                    .is_some_and(|(own, all)| own.0 <= all.0 && all.0 < 0)
            };
            let may_overflow = record.is(op::ABS) && operands.iter().any(is_least);
            !may_overflow && !operands.iter().any(has_no_order)
        }
        Rounding::Accumulates => {
            operands.iter().chain(results).all(|tensor| tensor.elem().is_integer())
                && is_within_range(record.op(), operands, results)
        }
        Rounding::Once | Rounding::Never => {
            let is_float = |tensor: &Tensor| tensor.elem().class() == ElemClass::Float;
            match operands.iter().any(is_float) {
                true => is_rounded_once(record.op(), operands, results),
                false => is_within_range(record.op(), operands, results),
            }
        }
        Rounding::Converts => {
            // The mode in which elements of eight bits are rounded may be an attribute.
            let is_plain = record.attribute(attr::ROUND_MODE).is_none();
            let [operand, ..] = operands else { return false };
            is_plain && results.iter().all(|result| converts_exactly(operand, result))
        }
        _ => false,
    }
}

/// Whether the standard says nothing about the results of a node on these operands (those that it does not omit), so that
/// implementations may return different ones that rounding does not explain: a float that the integers of the result do not
/// include, a shift by more bits than there are, limits of `Clip` in the wrong order, and other values that the text of an operator
/// excludes, or that implementations treat in different ways.
///
/// What computes constants at the time of an edit asks this: a result that is open stays a node of the model.
#[must_use]
pub fn are_undefined(model: &Model, node: NodeId, operands: &[Tensor], results: &[Tensor]) -> bool {
    let record = model.node(node);
    are_open(record, &in_slots(record, operands), results)
}

/// The operands of a node with `None` for those that it omits.
fn in_slots<'t>(node: &Node, operands: &'t [Tensor]) -> Vec<Option<&'t Tensor>> {
    let mut given = operands.iter();
    node.inputs().map(|input| input.and_then(|_| given.next())).collect()
}

/// Like [`are_undefined`], with `None` for each operand that is omitted: also by the call of the function around the node.
pub(crate) fn are_open(record: &Node, operands: &[Option<&Tensor>], results: &[Tensor]) -> bool {
    if record.domain() != domain::ONNX || !may_be_undefined(record.op()) {
        return false;
    }
    let is_cast = record.is(op::CAST) || record.is(op::CAST_LIKE);
    let [Some(operand), ..] = operands else { return false };
    let is_float = operand.elem().class() == ElemClass::Float;
    let is_outside = |result: &Tensor| result.elem().is_integer() && !includes(result, operand);
    is_cast && is_float && results.iter().any(is_outside) || implementations_differ(record, operands)
}

/// Whether results of an operator can be undefined.
pub(crate) fn may_be_undefined(op: Symbol) -> bool {
    newest(op).is_some_and(Traits::may_be_undefined)
}

/// Whether the text of a standard operator leaves its result open for these operands, or implementations follow it in different
/// ways.
fn implementations_differ(node: &Node, operands: &[Option<&Tensor>]) -> bool {
    let operand = |index: usize| operands.get(index).copied().flatten();
    let is_float = |tensor: &Tensor| tensor.elem().class() == ElemClass::Float;
    let any_of = |tensor: &Tensor, is: fn(f64) -> bool| {
        is_float(tensor) && floats(tensor).is_none_or(|mut all| all.any(is))
    };
    let any_float = |is: fn(f64) -> bool| operands.iter().flatten().any(|tensor| any_of(tensor, is));
    let bounds = |index: usize| operand(index).filter(|tensor| !is_float(tensor)).and_then(extremes);
    match node.op() {
        // The bits that remain of a number that is shifted out.
        op::BIT_SHIFT => {
            let bits = operand(0).and_then(|tensor| tensor.elem().bits()).unwrap_or(0);
            bounds(1).is_none_or(|shifts| shifts.0 < 0 || shifts.1 >= i128::from(bits))
        }
        // Engines skip NaN in a window, or return it.
        op::GLOBAL_MAX_POOL | op::MAX_POOL => any_float(f64::is_nan),
        // The default of a limit is the least or the greatest finite number; other implementations keep infinities.
        op::CLIP => {
            let omits = |index, name| operand(index).is_none() && node.attribute(name).is_none();
            let has = |is: fn(f64) -> bool| operand(0).is_some_and(|tensor| any_of(tensor, is));
            omits(1, attr::MIN) && has(|x| x == f64::NEG_INFINITY)
                || omits(2, attr::MAX) && has(|x| x == f64::INFINITY)
                || has_open_limits(node, operands)
        }
        // A quotient by 0, and the one that no integer is.
        op::DIV | op::MOD => {
            let least = operand(0).and_then(|tensor| range_of(tensor.elem())).map(|range| range.0);
            let (a, b) = (bounds(0), bounds(1));
            let is_least = a.zip(least).is_some_and(|(a, least)| a.0 == least && least < 0);
            b.is_some_and(|b| {
                b.0 <= 0 && 0 <= b.1 && has_zero(operand(1)) || b.0 <= -1 && -1 <= b.1 && is_least
            })
        }
        // Elements are removed before the others are repeated, or after that.
        op::PAD => {
            let repeats = node.attribute(attr::MODE).is_some_and(
                |mode| !matches!(mode.value(), AttrValue::String(mode) if mode.as_ref() == b"constant"),
            );
            let removes = |pads: &Tensor| extremes(pads).is_none_or(|all| all.0 < 0);
            let attribute = node.ints(attr::PADS).into_iter().flatten();
            repeats && (attribute.copied().any(|pad| pad < 0) || operand(1).is_some_and(removes))
        }
        // An index that is not an integer.
        op::ONE_HOT => {
            operands.iter().take(2).flatten().any(|tensor| any_of(tensor, |index| index.fract() != 0.0))
        }
        // The integer of a fraction.
        op::POW => bounds(0).is_some() && bounds(1).is_some_and(|exponents| exponents.0 < 0),
        // The integer of NaN, and the quotient by a scale of 0.
        op::QUANTIZE_LINEAR => {
            any_float(f64::is_nan) || operand(1).is_some_and(|scale| any_of(scale, |scale| scale == 0.0))
        }
        // The quotient of a range of one number: the scale of zeros is 0 by the body of the function, and 1 or 1/255 elsewhere.
        op::DYNAMIC_QUANTIZE_LINEAR => {
            any_float(|number| !number.is_finite()) || !any_float(|number| number != 0.0)
        }
        // The order of the elements.
        op::TOP_K => node.int(attr::SORTED) == Some(0),
        _ => false,
    }
}

/// Whether a tensor of integers has a 0.
fn has_zero(tensor: Option<&Tensor>) -> bool {
    tensor.is_some_and(|tensor| match tensor.elem() {
        ElemType::Uint64 => tensor.to_vec::<u64>(&NoData).is_ok_and(|all| all.contains(&0)),
        _ => tensor.iter_i64(&NoData).is_ok_and(|mut all| all.any(|number| number == 0)),
    })
}

/// Whether a limit of a `Clip` is NaN, or the lower one is greater than the upper one: texts of older versions do not say which of
/// them has effect.
fn has_open_limits(node: &Node, operands: &[Option<&Tensor>]) -> bool {
    let number = |tensor: &Tensor| -> Option<f64> {
        match tensor.elem().class() {
            ElemClass::Float => floats(tensor)?.next(),
            _ => extremes(tensor).map(|bounds| bounds.0 as f64),
        }
    };
    let operand = |index: usize| operands.get(index).copied().flatten().and_then(number);
    let attribute = |name: Symbol| node.attribute(name).and_then(|attribute| attribute.value().to_tensor());
    let limit = |index, name| operand(index).or_else(|| attribute(name).as_ref().and_then(number));
    let (low, high) = (limit(1, attr::MIN), limit(2, attr::MAX));
    let is_nan = |limit: Option<f64>| limit.is_some_and(f64::is_nan);
    is_nan(low) || is_nan(high) || low.zip(high).is_some_and(|(low, high)| low > high)
}

/// Returns `true` if a tensor has elements that implementations order differently: NaN, and zeros of both signs.
fn has_no_order(tensor: &Tensor) -> bool {
    let is_float = tensor.elem().class() == ElemClass::Float;
    is_float
        && floats(tensor).is_none_or(|mut all| all.any(|x| x.is_nan() || x == 0.0 && x.is_sign_negative()))
}

/// Returns `true` if an operation on floats rounds as IEEE 754 says, whatever the implementation does with the sign of a zero
/// that it makes, and with numbers that are smaller than the normal ones.
fn is_rounded_once(op: Symbol, operands: &[Tensor], results: &[Tensor]) -> bool {
    // All that have an exact result but `Floor`, which makes no zero of a negative number.
    let makes_zero = op != op::FLOOR && newest(op).is_some_and(|traits| traits.rounding() == Rounding::Never);
    let is_open = |tensor: &Tensor, zero: bool| {
        let least = least_normal(tensor.elem());
        floats(tensor).is_none_or(|mut all| {
            all.any(|x| zero && x == 0.0 || x != 0.0 && least.is_none_or(|least| x.abs() < least))
        })
    };
    !operands.iter().any(|operand| is_open(operand, false))
        && !results.iter().any(|result| is_open(result, makes_zero))
}

/// The least positive normal number of a type that all implementations compute in.
const fn least_normal(elem: ElemType) -> Option<f64> {
    match elem {
        ElemType::Double => Some(f64::MIN_POSITIVE),
        ElemType::Float | ElemType::Bfloat16 => Some(f32::MIN_POSITIVE as f64),
        ElemType::Float16 => Some(6.103_515_625e-5),
        _ => None,
    }
}

/// Returns `true` if no integer can overflow, and no quotient has another sign convention.
fn is_within_range(op: Symbol, operands: &[Tensor], results: &[Tensor]) -> bool {
    let Some(range) = results.first().and_then(|result| range_of(result.elem())) else { return false };
    let bounds: Option<Vec<(i128, i128)>> = operands.iter().map(extremes).collect();
    let Some(bounds) = bounds else { return false };
    let magnitude = |(low, high): (i128, i128)| low.unsigned_abs().max(high.unsigned_abs());
    let count = operands.first().and_then(Tensor::element_count).unwrap_or(u64::MAX);
    let fits =
        |magnitude: Option<u128>| magnitude.is_some_and(|magnitude| magnitude <= range.1.unsigned_abs());
    match (op, bounds.as_slice()) {
        (op::ADD, &[a, b]) => fits(magnitude(a).checked_add(magnitude(b))),
        (op::SUB, &[a, b]) => {
            let (low, high) = (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0));
            range.0 <= low && high <= range.1
        }
        (op::MUL, &[a, b]) => fits(magnitude(a).checked_mul(magnitude(b))),
        (op::NEG, &[a]) => fits(Some(magnitude(a))) && range.0 < 0,
        // Quotients of negative numbers were rounded down and towards zero in different versions.
        (op::DIV | op::MOD, &[a, b]) => a.0 >= 0 && b.0 > 0,
        (op::SUM, all) => {
            fits(all.iter().try_fold(0_u128, |sum, &bounds| sum.checked_add(magnitude(bounds))))
        }
        (op::REDUCE_SUM | op::CUM_SUM, &[a, ..]) => fits(magnitude(a).checked_mul(u128::from(count))),
        (op::REDUCE_PROD, &[a, ..]) => {
            u32::try_from(count).is_ok_and(|count| fits(magnitude(a).max(1).checked_pow(count)))
        }
        // The last number is before the limit, and the one after it is not computed.
        (op::RANGE, &[_, _, _]) => true,
        _ => false,
    }
}

fn converts_exactly(from: &Tensor, to: &Tensor) -> bool {
    let class = |tensor: &Tensor| tensor.elem().class();
    match (class(from), class(to)) {
        // A float has several representations as a string.
        (ElemClass::String, _) | (_, ElemClass::String) => from.elem() == to.elem(),
        (ElemClass::Complex, _) | (_, ElemClass::Complex) => false,
        (ElemClass::Float, ElemClass::Int | ElemClass::Uint) => includes(to, from),
        // Rounded to the nearest number, ties to even; the standard does not define the result for one that is too
        // large or too small.
        (ElemClass::Float, ElemClass::Float) => {
            let is_normal = |(old, new): (f64, f64)| {
                old == new
                    || old.is_nan() && new.is_nan()
                    || new.is_finite() && least_normal(to.elem()).is_some_and(|least| new.abs() >= least)
            };
            floats(from).zip(floats(to)).is_some_and(|(old, new)| old.zip(new).all(is_normal))
        }
        (ElemClass::Int | ElemClass::Uint, ElemClass::Float) => {
            let pairs = from.iter_i64(&NoData).ok().zip(floats(to));
            // Beyond 2^53, the comparison itself rounds.
            let is_same = |(old, new): (i64, f64)| old.unsigned_abs() <= 1 << 53 && old as f64 == new;
            pairs.is_some_and(|(old, mut new)| old.zip(&mut new).all(is_same))
        }
        // Booleans, and integers, of which the lower bits are kept.
        _ => true,
    }
}

/// Returns `true` if all floats are finite, and within the integers of a type after truncation.
fn includes(integers: &Tensor, floating: &Tensor) -> bool {
    floats(floating).is_some_and(|mut all| all.all(|number| is_defined_cast(number, integers.elem())))
}

/// Returns `true` if the standard defines what `Cast` makes of a float in another type.
pub(crate) fn is_defined_cast(number: f64, to: ElemType) -> bool {
    if to == ElemType::Float8E8M0 {
        return !number.is_sign_negative();
    }
    let Some((low, high)) = range_of(to) else { return true };
    // 2^63 is a float, and no integer of 64 bits.
    number.trunc() >= low as f64 && number.trunc() < high as f64 + 1.0
}

/// The least and the greatest element; (0, 0) if there is none, `None` if the elements are not integers.
fn extremes(tensor: &Tensor) -> Option<(i128, i128)> {
    if tensor.elem() == ElemType::Uint64 {
        let all = tensor.to_vec::<u64>(&NoData).ok()?;
        let (low, high) = (all.iter().min().copied(), all.iter().max().copied());
        return Some((i128::from(low.unwrap_or(0)), i128::from(high.unwrap_or(0))));
    }
    if !tensor.elem().is_integer() {
        return None;
    }
    let all: Vec<i64> = tensor.iter_i64(&NoData).ok()?.collect();
    let (low, high) = (all.iter().min().copied(), all.iter().max().copied());
    Some((i128::from(low.unwrap_or(0)), i128::from(high.unwrap_or(0))))
}

fn floats(tensor: &Tensor) -> Option<impl Iterator<Item = f64> + '_> {
    tensor.iter_f64(&NoData).ok()
}
