//! Checks of `let`: its computation is deterministic, literals are not rounded, and conditions are Boolean.

use onnx_ir::AttrValue;
use onnx_schema::{AttrKind, Determinism, Formal, FormalType, Schema};
use onnx_types::{ElemClass, ElemType};

use super::schema;
use crate::ast::{AttributeTerm, Condition, FlatNode, Operand, Rule, Var};
use crate::fault::Mistake;

pub(super) fn lets(rule: &Rule, mistakes: &mut Vec<Mistake>) {
    let mut elems = attribute_elems(rule);
    for node in &rule.lets {
        if node.domain == "rule" {
            for output in node.outputs.iter().flatten() {
                set(&mut elems, *output, Some(ElemType::Int64));
            }
            continue;
        }
        let Some(schema) = schema(node).filter(|_| node.domain.is_empty()) else { continue };
        if schema.determinism() == Determinism::NonDeterministic {
            let message = format!("`let` computes the same each time, and `{}` does not", node.op);
            mistakes.push(Mistake::meaning(node.at, message));
        }
        literals(node, schema, &elems, mistakes);
        attributes(node, schema, &elems, rule, mistakes);
        for (index, output) in node.outputs.iter().enumerate() {
            let Some(output) = *output else { continue };
            let elem = schema.output_for(index).and_then(|formal| result(node, schema, formal, &elems));
            set(&mut elems, output, elem);
        }
    }
    for node in &rule.to.nodes {
        if let Some(schema) = schema(node) {
            attributes(node, schema, &elems, rule, mistakes);
        }
    }
    for (at, condition) in &rule.conditions {
        let Condition::Holds(var) = condition else { continue };
        let name = rule.variable(*var);
        if let Some(elem) = elems.get(*var).copied().flatten().filter(|&elem| elem != ElemType::Bool) {
            let message = format!("`{name}` is of {elem}, and conditions are of bool");
            mistakes.push(Mistake::meaning(*at, message));
        } else if let Some(op) = never_boolean(rule, *var) {
            let message =
                format!("`{name}` is a result of `{op}`, which is never of bool, as conditions are");
            mistakes.push(Mistake::meaning(*at, message));
        }
    }
}

/// The operator of `let` that computes a variable, if its result is never Boolean.
fn never_boolean(rule: &Rule, var: Var) -> Option<&str> {
    let node = rule.lets.iter().find(|node| node.domain.is_empty() && node.outputs.contains(&Some(var)))?;
    let index = node.outputs.iter().position(|output| *output == Some(var))?;
    let schema = schema(node)?;
    let types = schema.types_of(schema.output_for(index)?);
    let has_tensors = (1..64).filter_map(ElemType::from_code).any(|elem| types.contains_tensor(elem));
    (has_tensors && !types.contains_tensor(ElemType::Bool)).then_some(node.op.as_str())
}

/// What `let` computes for an attribute has its kind: numbers are converted only from integers to floats.
fn attributes(
    node: &FlatNode,
    schema: &Schema,
    elems: &[Option<ElemType>],
    rule: &Rule,
    mistakes: &mut Vec<Mistake>,
) {
    for (name, term, at) in node.placed_attributes() {
        let AttributeTerm::Var(var) = term else { continue };
        let Some(elem) = elems.get(*var).copied().flatten() else { continue };
        let Some(formal) = schema.attributes().iter().find(|formal| formal.text() == name) else { continue };
        let is_integer = matches!(elem.class(), ElemClass::Int | ElemClass::Uint | ElemClass::Bool);
        let is_number = is_integer || elem.class() == ElemClass::Float;
        let fits = match formal.kind {
            AttrKind::Int | AttrKind::Ints => is_integer,
            AttrKind::Float | AttrKind::Floats => is_number,
            AttrKind::String | AttrKind::Strings => !is_number,
            _ => true,
        };
        if !fits {
            let (op, kind, var) = (&node.op, formal.kind, rule.variable(*var));
            let message =
                format!("`{op}` has the attribute `{name}` of kind {kind}, and `{var}` is of {elem}");
            mistakes.push(Mistake::meaning(at, message));
        }
    }
}

fn set(elems: &mut [Option<ElemType>], var: usize, elem: Option<ElemType>) {
    if let Some(slot) = elems.get_mut(var) {
        *slot = elem;
    }
}

/// The element types of the attributes of the left side, by variable; `None` for all others.
fn attribute_elems(rule: &Rule) -> Vec<Option<ElemType>> {
    let mut elems = vec![None; rule.names.len()];
    for node in &rule.from.nodes {
        let Some(schema) = schema(node) else { continue };
        for (name, term) in &node.attributes {
            let AttributeTerm::Var(var) = term else { continue };
            let formal = schema.attributes().iter().find(|formal| formal.text() == name);
            let elem = match formal.map(|formal| formal.kind) {
                Some(AttrKind::Int | AttrKind::Ints) => Some(ElemType::Int64),
                Some(AttrKind::Float | AttrKind::Floats) => Some(ElemType::Float),
                _ => None,
            };
            set(&mut elems, *var, elem);
        }
    }
    elems
}

/// The element type of the operands of a type variable, or of a type: `None` if an operand has an unknown one, or they differ.
fn common(node: &FlatNode, schema: &Schema, ty: FormalType, elems: &[Option<ElemType>]) -> Option<ElemType> {
    let mut common = None;
    for (index, operand) in node.operands.iter().enumerate() {
        if schema.input_for(index).is_none_or(|formal| formal.ty != ty) {
            continue;
        }
        let elem = match operand {
            Operand::Omitted | Operand::Literal(_) => continue,
            Operand::Var(var) => elems.get(*var).copied().flatten()?,
            Operand::Rest(_) | Operand::Default(..) => return None,
        };
        if common.is_some_and(|other| other != elem) {
            return None;
        }
        common = Some(elem);
    }
    common
}

/// The element type of a result: the only one that it can have, or that of the operands of the same type variable.
fn result(node: &FlatNode, schema: &Schema, formal: &Formal, elems: &[Option<ElemType>]) -> Option<ElemType> {
    let types = schema.types_of(formal);
    let mut possible = (1..64).filter_map(ElemType::from_code).filter(|&elem| types.contains_tensor(elem));
    match (possible.next(), possible.next()) {
        (Some(elem), None) => Some(elem),
        _ if node.op == "Cast" => node.attributes.iter().find_map(|(name, term)| match term {
            AttributeTerm::Value(AttrValue::Int(code)) if name == "to" => {
                ElemType::from_code(i32::try_from(*code).ok()?)
            }
            _ => None,
        }),
        _ => common(node, schema, formal.ty, elems),
    }
}

/// A literal next to operands of integers is an integer.
fn literals(node: &FlatNode, schema: &Schema, elems: &[Option<ElemType>], mistakes: &mut Vec<Mistake>) {
    for (index, operand) in node.operands.iter().enumerate() {
        let Operand::Literal(literal) = operand else { continue };
        let Some(formal) = schema.input_for(index) else { continue };
        let Some(elem) = common(node, schema, formal.ty, elems) else { continue };
        let is_integral = matches!(elem.class(), ElemClass::Int | ElemClass::Uint | ElemClass::Bool);
        if let Some(number) = literal.numbers.iter().find(|number| is_integral && number.fract() != 0.0) {
            let message = format!("`{}` has operands of {elem} here, and {number} is not one", node.op);
            mistakes.push(Mistake::meaning(node.at, message));
        }
    }
}
