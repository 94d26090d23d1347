//! Checks of `let`: its computation is deterministic, literals are not rounded, and conditions are Boolean.

use onnx_schema::{AttrKind, Determinism, Formal, FormalType, Schema};
use onnx_types::{ElemClass, ElemType};

use super::schema;
use crate::ast::{AttributeTerm, Condition, FlatNode, Operand, Rule};
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
        for (index, output) in node.outputs.iter().enumerate() {
            let Some(output) = *output else { continue };
            let elem = schema.output_for(index).and_then(|formal| result(node, schema, formal, &elems));
            set(&mut elems, output, elem);
        }
    }
    for (at, condition) in &rule.conditions {
        if let Condition::Holds(var) = condition
            && let Some(elem) = elems.get(*var).copied().flatten()
            && elem != ElemType::Bool
        {
            let message = format!("`{}` is of {elem}, and conditions are of bool", rule.variable(*var));
            mistakes.push(Mistake::meaning(*at, message));
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
