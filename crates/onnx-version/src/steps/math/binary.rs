//! Operators of two operands: before version 7, attributes define how they are broadcast.

use onnx_ir::{AttrValue, ValueId};
use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Symbol};

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// `axis` aligns the second operand with an axis of the first one: axes of size 1 follow it. Without it, the last axes are
/// aligned, as in version 7. Without `broadcast`, the shapes are equal.
pub(crate) fn broadcast(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let is_broadcast = step.int(attr::BROADCAST)?.unwrap_or(0) != 0;
    let axis = step.int(attr::AXIS)?.filter(|_| is_broadcast);
    step.remove(attr::BROADCAST);
    step.remove(attr::AXIS);
    let (a, b) = (step.operand(0)?, step.operand(1)?);
    if !is_broadcast {
        same_sizes(step, a, b)?;
    }
    let Some(axis) = axis else { return Ok(()) };
    let (rank, inner) = (step.rank(a)?, step.rank(b)?);
    let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
    let after = rank.saturating_sub(axis).saturating_sub(inner);
    if axis < 0 || after < 0 {
        // A second operand of one element may have any rank.
        let is_one = step.sizes(b).is_some_and(|sizes| sizes.iter().all(|size| *size == Some(1)));
        return if is_one { Ok(()) } else { Err("the operands do not fit at the axis".into()) };
    }
    if after == 0 {
        return Ok(());
    }
    let axes: Vec<i64> = (inner..inner.saturating_add(after)).collect();
    let made = step.before(op::UNSQUEEZE, &[b], &[(attr::AXES, AttrValue::Ints(axes))])?;
    step.set_input(1, Some(made));
    Ok(())
}

/// Refuses operands that no run has: sizes that differ although the node does not broadcast. The newer version would.
pub(crate) fn same_sizes(step: &Step<'_>, a: ValueId, b: ValueId) -> Result<(), VersionReason> {
    let (Some(left), Some(right)) = (step.sizes(a), step.sizes(b)) else { return Ok(()) };
    let differs = |(left, right): (&Option<i64>, &Option<i64>)| {
        left.zip(*right).is_some_and(|(left, right)| left != right)
    };
    if left.len() == right.len() && !left.iter().zip(&right).any(differs) {
        return Ok(());
    }
    let (a, b) = (step.described(a), step.described(b));
    Err(format!("{a} and {b} have different shapes, which this version does not broadcast").into())
}

/// `C` is always broadcast.
pub(crate) fn gemm(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.int(attr::BROADCAST)?.unwrap_or(0) == 0
        && let Some(c) = step.input(2)
    {
        same_sizes(step, c, step.output()?)?;
    }
    step.remove(attr::BROADCAST);
    Ok(())
}

/// Downwards: states how the second operand is broadcast, or repeats operands that cannot be.
pub(crate) fn explicit_broadcast(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (a, b) = (step.operand(0)?, step.operand(1)?);
    let (of_a, of_b) = (step.dims(a)?, step.dims(b)?);
    if is_same(&of_a, &of_b) {
        return Ok(());
    }
    if let Some((axis, core)) = aligned(&of_a, &of_b) {
        return align(step, 1, axis, core, &of_b);
    }
    if let Some((axis, core)) = aligned(&of_b, &of_a)
        && swap(step)?
    {
        return align(step, 1, axis, core, &of_a);
    }
    let (of_a, of_b) = (step.known_sizes(a)?, step.known_sizes(b)?);
    let sizes = common(&[&of_a, &of_b])?;
    let (a, b) = (step.tile(a, &sizes)?, step.tile(b, &sizes)?);
    step.set_input(0, Some(a));
    step.set_input(1, Some(b));
    Ok(())
}

/// Whether two shapes are equal whenever the model runs.
pub(crate) fn is_same(a: &[Dim], b: &[Dim]) -> bool {
    a == b && a.iter().all(|&dim| dim != Dim::Unknown)
}

/// Where a shape without its outer axes of size 1 is a part of another one: the axis, and the range of axes that remain.
fn aligned(outer: &[Dim], inner: &[Dim]) -> Option<(usize, (usize, usize))> {
    let offset = outer.len().checked_sub(inner.len())?;
    let is_one = |dim: &Dim| dim.known() == Some(1);
    let start = inner.iter().position(|dim| !is_one(dim)).unwrap_or(inner.len());
    let end = inner.iter().rposition(|dim| !is_one(dim)).map_or(start, |last| last.saturating_add(1));
    let core = inner.get(start..end)?;
    let axis = offset.saturating_add(start);
    let place = outer.get(axis..axis.saturating_add(core.len()))?;
    is_same(place, core).then_some((axis, (start, end)))
}

/// Reshapes an operand to the remaining axes, and states the axis at which they are.
fn align(
    step: &mut Step<'_>,
    index: usize,
    axis: usize,
    (start, end): (usize, usize),
    dims: &[Dim],
) -> Result<(), VersionReason> {
    let ones: Vec<i64> = (0..dims.len())
        .filter(|index| !(start..end).contains(index))
        .filter_map(|index| i64::try_from(index).ok())
        .collect();
    let value = step.operand(index)?;
    if start == end {
        // One element is broadcast whatever its rank; rank 0 or 1 is what all readers accept.
        let extra: Vec<i64> = ones.into_iter().skip(1).collect();
        if !extra.is_empty() {
            let made = step.with_axes(op::SQUEEZE, value, &extra)?;
            step.set_input(index, Some(made));
        }
        return step.set(attr::BROADCAST, 1_i64);
    }
    if !ones.is_empty() {
        let made = step.with_axes(op::SQUEEZE, value, &ones)?;
        step.set_input(index, Some(made));
    }
    step.set(attr::BROADCAST, 1_i64)?;
    step.set(attr::AXIS, i64::try_from(axis).unwrap_or(i64::MAX))
}

/// Exchanges the operands, if an operator computes the same with them. Returns `false` if there is none.
fn swap(step: &mut Step<'_>) -> Result<bool, VersionReason> {
    let (mut a, b) = (step.operand(0)?, step.operand(1)?);
    let renamed = match step.old.op() {
        op::ADD | op::MUL | op::AND | op::OR | op::XOR | op::EQUAL => None,
        op::GREATER => Some(op::LESS),
        op::LESS => Some(op::GREATER),
        op::SUB if step.elem(b)?.is_float() => Some(op::ADD),
        _ => return Ok(false),
    };
    let mut first = b;
    if step.old.op() == op::SUB {
        // a - b is -b + a.
        first = step.like(b, op::NEG, &[b], &[])?;
    }
    std::mem::swap(&mut a, &mut first);
    step.set_input(0, Some(a));
    step.set_input(1, Some(first));
    if let Some(renamed) = renamed {
        step.rename(renamed);
    }
    Ok(true)
}

/// The shape that shapes are broadcast to.
pub(crate) fn common(shapes: &[&[i64]]) -> Result<Vec<i64>, VersionReason> {
    let rank = shapes.iter().map(|sizes| sizes.len()).max().unwrap_or(0);
    let mut common = vec![1_i64; rank];
    for sizes in shapes {
        for (slot, &size) in common.iter_mut().rev().zip(sizes.iter().rev()) {
            match (*slot, size) {
                (_, 1) => {}
                (1, size) => *slot = size,
                (old, new) if old == new => {}
                _ => return Err("the operands cannot be broadcast".into()),
            }
        }
    }
    Ok(common)
}

/// Downwards: `C` is broadcast only if an attribute says so, and along its first axis only.
pub(crate) fn explicit_gemm(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let c = step.operand(2)?;
    let output = step.output()?;
    let (inner, outer) = (step.dims(c)?, step.dims(output)?);
    if is_same(&inner, &outer) {
        return Ok(());
    }
    let one = |dim: Option<&Dim>| dim.and_then(|dim| dim.known()) == Some(1);
    let is_suffix = |inner: &[Dim], outer: &[Dim]| {
        outer
            .len()
            .checked_sub(inner.len())
            .and_then(|at| outer.get(at..))
            .is_some_and(|end| is_same(end, inner))
    };
    match inner.len() {
        0 => {}
        1 if is_suffix(&inner, &outer) || one(inner.first()) => {}
        2 if one(inner.first())
            && (is_suffix(inner.get(1..).unwrap_or(&[]), &outer) || one(inner.last())) =>
        {
            let made = step.with_axes(op::SQUEEZE, c, &[0])?;
            step.set_input(2, Some(made));
        }
        _ => {
            let sizes = step.known_sizes(output)?;
            let made = step.tile(c, &sizes)?;
            step.set_input(2, Some(made));
            return Ok(());
        }
    }
    step.set(attr::BROADCAST, 1_i64)
}

/// Downwards: an omitted `C` is zero.
pub(crate) fn gemm_with_c(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.input(2).is_some() {
        return Ok(());
    }
    let elem = step.elem(step.operand(0)?)?;
    if !elem.is_float() {
        return Err(VersionReason::new(
            Cause::TypeNotAllowed,
            format!("a zero of type {} in the place of the omitted `C`", elem.name()),
        ));
    }
    let zero = step.number(-0.0, elem)?;
    step.set_input(2, Some(zero));
    Ok(())
}

/// Downwards: the exponent has the type of the base, and integers are not allowed.
pub(crate) fn exponent_of_base(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (base, exponent) = (step.operand(0)?, step.operand(1)?);
    let (of_base, of_exponent) = (step.elem(base)?, step.elem(exponent)?);
    if of_base == of_exponent || !of_base.is_float() {
        return Ok(());
    }
    let is_exact = match (of_base, of_exponent) {
        (ElemType::Float, ElemType::Int8 | ElemType::Uint8 | ElemType::Int16 | ElemType::Uint16)
        | (ElemType::Float, ElemType::Float16)
        | (ElemType::Float16, ElemType::Int8 | ElemType::Uint8)
        | (ElemType::Double, _) => of_exponent != ElemType::Int64 && of_exponent != ElemType::Uint64,
        _ => false,
    };
    if !is_exact {
        let small = step.floats(exponent, "the exponent")?;
        if small.iter().any(|number| number.abs() > 2048.0 || number.fract() != 0.0) {
            return Err(VersionReason::new(
                Cause::TypeNotAllowed,
                format!("the exponent has the type {}, and the base {}", of_exponent.name(), of_base.name()),
            ));
        }
    }
    let made = step.cast(exponent, of_base)?;
    step.set_input(1, Some(made));
    Ok(())
}

/// Downwards: integers are compared as `double`, or in two halves if `double` does not represent all integers of the
/// type.
pub(crate) fn compared_as_double(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (a, b) = (step.operand(0)?, step.operand(1)?);
    if [ElemType::Int64, ElemType::Uint64].contains(&step.elem(a)?) {
        return compared_in_halves(step, [a, b]);
    }
    for (index, value) in [a, b].into_iter().enumerate() {
        if !step.elem(value)?.is_float() {
            let made = step.cast(value, ElemType::Double)?;
            step.set_input(index, Some(made));
        }
    }
    Ok(())
}

/// Compares the quotients by 2^32, and the remainders if the quotients are equal. Division rounds towards zero, so
/// remainders have the sign of the integer.
fn compared_in_halves(step: &mut Step<'_>, operands: [ValueId; 2]) -> Result<(), VersionReason> {
    let unit = match step.elem(operands[0])? {
        ElemType::Int64 => Tensor::scalar(1_i64 << 32),
        _ => Tensor::scalar(1_u64 << 32),
    };
    let unit = step.constant(unit)?;
    let half = |step: &mut Step<'_>, value| -> Result<[ValueId; 2], VersionReason> {
        let high = step.like(value, op::DIV, &[value, unit], &[])?;
        let multiple = step.like(value, op::MUL, &[high, unit], &[])?;
        Ok([high, step.like(value, op::SUB, &[value, multiple], &[])?])
    };
    let ([high_a, low_a], [high_b, low_b]) = (half(step, operands[0])?, half(step, operands[1])?);
    let ordered = |step: &mut Step<'_>, a, b| -> Result<ValueId, VersionReason> {
        let (a, b) = (step.cast(a, ElemType::Double)?, step.cast(b, ElemType::Double)?);
        boolean(step, step.old.op(), &[a, b])
    };
    let (by_high, by_low) = (ordered(step, high_a, high_b)?, ordered(step, low_a, low_b)?);
    let (a, b) = (step.cast(high_a, ElemType::Int64)?, step.cast(high_b, ElemType::Int64)?);
    let is_tie = boolean(step, op::EQUAL, &[a, b])?;
    let by_low = boolean(step, op::AND, &[is_tie, by_low])?;
    let made = boolean(step, op::OR, &[by_high, by_low])?;
    step.replace(made)
}

fn boolean(step: &mut Step<'_>, op: Symbol, inputs: &[ValueId]) -> Result<ValueId, VersionReason> {
    let made = step.before(op, inputs, &[])?;
    step.types.set_elem(made, ElemType::Bool);
    Ok(made)
}

/// Downwards: floats are equal if neither is less, and neither is a NaN.
pub(crate) fn equal_floats(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (a, b) = (step.operand(0)?, step.operand(1)?);
    let elem = step.elem(a)?;
    if !elem.is_float() {
        return small_integers(step, elem);
    }
    let less = boolean(step, op::LESS, &[a, b])?;
    let greater = boolean(step, op::GREATER, &[a, b])?;
    let (nan_a, nan_b) = (boolean(step, op::IS_NAN, &[a])?, boolean(step, op::IS_NAN, &[b])?);
    let ordered = boolean(step, op::OR, &[less, greater])?;
    let nan = boolean(step, op::OR, &[nan_a, nan_b])?;
    let other = boolean(step, op::OR, &[ordered, nan])?;
    let made = boolean(step, op::NOT, &[other])?;
    step.replace(made)
}

/// Integer types that the older version does not compare are compared as `int32`, which represents all of their values.
fn small_integers(step: &mut Step<'_>, elem: ElemType) -> Result<(), VersionReason> {
    if elem.bits().is_none_or(|bits| bits >= 32) || elem == ElemType::Bool {
        return Ok(());
    }
    for index in [0, 1] {
        let value = step.operand(index)?;
        let made = step.cast(value, ElemType::Int32)?;
        step.set_input(index, Some(made));
    }
    Ok(())
}

/// Downwards: a remainder of floats with the sign of the divisor, from one with the sign of the dividend.
pub(crate) fn remainder_of_floats(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (a, b) = (step.operand(0)?, step.operand(1)?);
    let elem = step.elem(a)?;
    if !elem.is_float() || step.flag(attr::FMOD)? {
        return Ok(());
    }
    let rest = step.like(a, op::MOD, &[a, b], &[(attr::FMOD, AttrValue::Int(1))])?;
    let [zero, negative_zero] = [step.number(0.0, elem)?, step.number(-0.0, elem)?];
    let is_negative = |step: &mut Step<'_>, value| -> Result<ValueId, VersionReason> {
        let made = step.before(op::LESS, &[value, zero], &[])?;
        step.types.set_elem(made, ElemType::Bool);
        Ok(made)
    };
    let (rest_is_negative, b_is_negative) = (is_negative(step, rest)?, is_negative(step, b)?);
    let differs = step.before(op::XOR, &[rest_is_negative, b_is_negative], &[])?;
    let moved = step.like(a, op::ADD, &[rest, b], &[])?;
    let moved = step.like(a, op::WHERE, &[differs, moved, rest], &[])?;
    let is_zero = step.before(op::EQUAL, &[rest, zero], &[])?;
    let signed = step.like(a, op::WHERE, &[b_is_negative, negative_zero, zero], &[])?;
    let made = step.like(a, op::WHERE, &[is_zero, signed, moved], &[])?;
    step.replace(made)
}
