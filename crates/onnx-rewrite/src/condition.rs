//! Conditions of rules.

use onnx_ir::ValueId;
use onnx_pass::{Exactness, Patch, Reason};
use onnx_types::expr::Dialect;
use onnx_types::tensor::NoData;
use onnx_types::{Dim, ElemClass, ElemType};

use crate::ast::{Class, Condition, Elems, Operand, Rule, Size, Var};
use crate::matching::{Bound, RuleMatch};

/// Checks the conditions of a rule on a match.
pub(crate) fn check(rule: &Rule, found: &RuleMatch, patch: &mut Patch<'_, '_>) -> Result<(), Reason> {
    rule.conditions.iter().try_for_each(|(_, condition)| holds(rule, found, patch, condition))?;
    are_finite(rule, found)
}

/// Checks that the constants which `let` computes for the right side of a rule of the class *rounding* are real numbers, except
/// limits. The sides are equal in real arithmetic, which says nothing about infinities: `0 * inf` is NaN where `x - x` was 0 before.
fn are_finite(rule: &Rule, found: &RuleMatch) -> Result<(), Reason> {
    if rule.class != Exactness::Rounding {
        return Ok(());
    }
    let is_limit = |op: &str| matches!(op, "Clip" | "Max" | "Min");
    let operands = rule.to.nodes.iter().filter(|node| !is_limit(&node.op)).flat_map(|node| &node.operands);
    for operand in operands {
        let Operand::Var(var) = operand else { continue };
        let Some(Bound::Tensor(tensor)) = found.bound.get(*var) else { continue };
        if tensor.elem().class() == ElemClass::Float && !tensor.iter_f64(&NoData)?.all(f64::is_finite) {
            let name = rule.variable(*var);
            return Err(Reason::new(format!("`{name}` has an infinity or a NaN, and the class is rounding")));
        }
    }
    Ok(())
}

fn holds(
    rule: &Rule,
    found: &RuleMatch,
    patch: &mut Patch<'_, '_>,
    condition: &Condition,
) -> Result<(), Reason> {
    let name = |var: Var| rule.variable(var);
    let fails = |text: String| Err(Reason::new(text));
    match condition {
        Condition::Holds(var) => is_true(rule, found, *var),
        Condition::Elem(var, wanted) => {
            let elem = elem(found, patch, *var);
            let elem = elem
                .ok_or_else(|| Reason::new(format!("the element type of `{}` is not known", name(*var))))?;
            let is_one = match wanted {
                Elems::Class(class) => is_of(elem, *class),
                Elems::List(elems) => elems.contains(&elem),
                Elems::Of(other) => self::elem(found, patch, *other) == Some(elem),
            };
            if is_one { Ok(()) } else { fails(format!("`{}` is of {elem}", name(*var))) }
        }
        Condition::Constant(var) => match found.bound.get(*var) {
            Some(Bound::Value(value)) => patch.try_constant(*value).map(|_| ()),
            _ => Ok(()),
        },
        Condition::NotConstant(var) => match found.bound.get(*var) {
            Some(Bound::Value(value)) if patch.try_constant(*value).is_err() => Ok(()),
            _ => fails(format!("`{}` is constant", name(*var))),
        },
        Condition::OneUse(var) => match found.value(*var) {
            Some(value) if patch.model().value(value).uses().len() == 1 => Ok(()),
            _ => fails(format!("`{}` has several uses", name(*var))),
        },
        Condition::Shared(_) => Ok(()),
        Condition::Granted(granted) => match patch.grant(*granted) {
            true => Ok(()),
            false => fails(format!("the condition `{}` is not granted", granted.name())),
        },
        Condition::Equal(a, b) => {
            let (first, second) = (size(rule, found, patch, *a)?, size(rule, found, patch, *b)?);
            let is_equal = patch.proved_eq(first, second);
            let sizes = || compared(rule, patch, (*a, first), (*b, second));
            if is_equal { Ok(()) } else { fails(format!("{} are not proved to be equal", sizes())) }
        }
        Condition::AtMost(a, b) => {
            let (first, second) = (size(rule, found, patch, *a)?, size(rule, found, patch, *b)?);
            let is_less = patch.proved_le(first, second);
            let sizes = || compared(rule, patch, (*a, first), (*b, second));
            if is_less { Ok(()) } else { fails(format!("{} are not proved to be in this order", sizes())) }
        }
        Condition::SameShape(a, b) => {
            let (first, second) = (dims(rule, found, patch, *a)?, dims(rule, found, patch, *b)?);
            let is_same = first.len() == second.len()
                && first.into_iter().zip(second).all(|(a, b)| patch.proved_eq(a, b));
            let names = (name(*a), name(*b));
            if is_same {
                Ok(())
            } else {
                fails(format!("the sizes of `{}` and `{}` are not proved to be equal", names.0, names.1))
            }
        }
    }
}

/// Checks that all elements that `let` computes for a variable are true.
fn is_true(rule: &Rule, found: &RuleMatch, var: Var) -> Result<(), Reason> {
    let fails = |what: &str| Err(Reason::new(format!("`{}` {what}", rule.variable(var))));
    let Some(Bound::Tensor(tensor)) = found.bound.get(var) else {
        return fails("is not computed by `let`");
    };
    if tensor.elem() != ElemType::Bool {
        return fails("is not of bool");
    }
    // A comparison without elements proves nothing.
    if tensor.element_count() == Some(0) {
        return fails("has no elements");
    }
    let mut elements = tensor.iter_f64(&NoData)?;
    if elements.all(|element| element != 0.0) { Ok(()) } else { fails("is false") }
}

/// The element type of a variable.
pub(crate) fn elem(found: &RuleMatch, patch: &Patch<'_, '_>, var: Var) -> Option<ElemType> {
    match found.bound.get(var)? {
        Bound::Value(value) => patch.elem(*value),
        Bound::Tensor(tensor) => Some(tensor.elem()),
        Bound::Rest(values) => {
            let first: Option<ValueId> = values.first().copied().flatten();
            patch.elem(first?)
        }
        _ => None,
    }
}

pub(crate) fn is_of(elem: ElemType, class: Class) -> bool {
    let found = elem.class();
    match class {
        Class::Floats => found == ElemClass::Float,
        Class::Integers => matches!(found, ElemClass::Int | ElemClass::Uint),
        Class::Signed => matches!(found, ElemClass::Int | ElemClass::Float),
        Class::Unsigned => found == ElemClass::Uint,
        Class::Numbers => matches!(found, ElemClass::Int | ElemClass::Uint | ElemClass::Float),
    }
}

fn dims(rule: &Rule, found: &RuleMatch, patch: &mut Patch<'_, '_>, var: Var) -> Result<Vec<Dim>, Reason> {
    match found.bound.get(var) {
        Some(Bound::Value(value)) => patch.try_shape(*value),
        Some(Bound::Tensor(tensor)) => Ok(tensor.dims().iter().copied().map(Dim::Known).collect()),
        _ => Err(Reason::new(format!("`{}` is omitted", rule.variable(var)))),
    }
}

fn size(rule: &Rule, found: &RuleMatch, patch: &mut Patch<'_, '_>, size: Size) -> Result<Dim, Reason> {
    match size {
        Size::Number(number) => Ok(Dim::Known(number)),
        Size::Rank(var) => {
            let rank = match found.bound.get(var) {
                Some(Bound::Value(value)) => patch.try_rank(*value)?,
                _ => dims(rule, found, patch, var)?.len(),
            };
            Ok(Dim::Known(i64::try_from(rank).unwrap_or(i64::MAX)))
        }
        Size::Dim(var, axis) => {
            let dims = dims(rule, found, patch, var)?;
            let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
            let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
            let dim = usize::try_from(axis).ok().and_then(|axis| dims.get(axis));
            dim.copied().ok_or_else(|| Reason::new(format!("`{}` has no axis {axis}", rule.variable(var))))
        }
    }
}

/// Two sizes of a condition in a message, each with its value if that is known.
fn compared(rule: &Rule, patch: &Patch<'_, '_>, a: (Size, Dim), b: (Size, Dim)) -> String {
    let model = patch.model();
    let one = |(size, dim): (Size, Dim)| {
        let text = rule.size_text(size);
        let value = model.exprs().text(dim, model.names(), Dialect::Python);
        match (size, value) {
            (Size::Number(_), _) => format!("`{text}`"),
            (_, Some(value)) => format!("`{text}`, which is {value},"),
            (_, None) => format!("`{text}`, which is not known,"),
        }
    };
    format!("{} and {}", one(a), one(b))
}
