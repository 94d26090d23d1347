//! Checks of conditions: what they name is computed, and what they compare can be equal or ordered.

use crate::ast::{AttributeTerm, Condition, Operand, Rule, Size, Var};
use crate::fault::Mistake;

pub(super) fn conditions(rule: &Rule, mistakes: &mut Vec<Mistake>) {
    for (at, condition) in &rule.conditions {
        match condition {
            Condition::Holds(var) if !is_computed(rule, *var) => {
                let message = format!("`let` does not compute `{}`", rule.variable(*var));
                mistakes.push(Mistake::meaning(*at, message));
            }
            Condition::Equal(a, b) if is_never_equal(*a, *b) => {
                let message = format!("`{} == {}` is never true", rule.size_text(*a), rule.size_text(*b));
                mistakes.push(Mistake::meaning(*at, message));
            }
            Condition::AtMost(a, b) if is_never_at_most(*a, *b) => {
                let message = format!("`{} <= {}` is never true", rule.size_text(*a), rule.size_text(*b));
                mistakes.push(Mistake::meaning(*at, message));
            }
            _ => {}
        }
    }
    unused(rule, mistakes);
}

fn is_computed(rule: &Rule, var: Var) -> bool {
    rule.lets.iter().any(|node| node.outputs.contains(&Some(var)))
}

/// Ranks and dimensions are not negative.
const fn is_never_equal(a: Size, b: Size) -> bool {
    match (a, b) {
        (Size::Number(a), Size::Number(b)) => a != b,
        (Size::Number(number), _) | (_, Size::Number(number)) => number < 0,
        _ => false,
    }
}

const fn is_never_at_most(a: Size, b: Size) -> bool {
    match (a, b) {
        (Size::Number(a), Size::Number(b)) => a > b,
        (_, Size::Number(number)) => number < 0,
        _ => false,
    }
}

/// Something uses each result of `let`.
fn unused(rule: &Rule, mistakes: &mut Vec<Mistake>) {
    let uses = |operand: &Operand, var: Var| match operand {
        Operand::Var(other) | Operand::Rest(other) | Operand::Default(other, _) => *other == var,
        Operand::Omitted | Operand::Literal(_) => false,
    };
    for node in &rule.lets {
        if mistakes.iter().any(|other| other.at == node.at) {
            continue;
        }
        let mut readers = rule.lets.iter().chain(&rule.to.nodes);
        let is_used = |var: Var| {
            let is_read = readers.any(|reader| {
                reader.operands.iter().any(|operand| uses(operand, var))
                    || reader
                        .attributes
                        .iter()
                        .any(|(_, term)| matches!(term, AttributeTerm::Var(other) if *other == var))
            });
            is_read
                || rule.to.outputs.contains(&var)
                || rule.conditions.iter().any(|(_, condition)| condition.names(var))
        };
        if !node.outputs.iter().flatten().copied().any(is_used) {
            let names: Vec<String> =
                node.outputs.iter().flatten().map(|&var| format!("`{}`", rule.variable(var))).collect();
            let message = format!("nothing uses {}, which `let` computes", names.join(" and "));
            mistakes.push(Mistake::meaning(node.at, message));
        }
    }
}
