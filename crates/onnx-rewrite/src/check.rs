//! Checks of rules that need no model.

mod conditions;
mod declared;
mod kinds;
mod lets;

use onnx_schema::{Registry, Schema};
use onnx_types::ElemType;

use crate::ast::{Condition, Elems, FlatNode, Operand, Rule, Var};
use crate::condition::is_of;
use crate::cost::Costs;
use crate::evaluate::INTRINSICS;
use crate::fault::Mistake;

/// The section that a node is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On the left side, where it can be a node of any version.
    From,
    /// On the right side or in `let`, in the form of the latest version.
    New,
}

/// Everything that is wrong with a rule.
pub(crate) fn mistakes(rule: &Rule, registry: &Registry) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for node in &rule.from.nodes {
        operator(node, Place::From, rule.since, &mut mistakes);
        declared::operator(node, Place::From, registry, &mut mistakes);
    }
    for node in &rule.to.nodes {
        operator(node, Place::New, rule.since, &mut mistakes);
        declared::operator(node, Place::New, registry, &mut mistakes);
    }
    for node in &rule.lets {
        if node.domain == "rule" {
            intrinsic(node, &mut mistakes);
        } else if node.domain.is_empty() {
            operator(node, Place::New, rule.since, &mut mistakes);
        } else {
            mistakes
                .push(Mistake::meaning(node.at, "`let` has operators of the default domain and of `rule`"));
        }
    }
    lets::lets(rule, &mut mistakes);
    conditions::conditions(rule, &mut mistakes);
    sides(rule, &mut mistakes);
    copies(rule, &mut mistakes);
    types(rule, &mut mistakes);
    mistakes
}

/// Everything that is wrong with an idiom: the left side of a rule, whose conditions state which operands are constant.
pub(crate) fn mistakes_of_idiom(idiom: &Rule) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for node in &idiom.from.nodes {
        operator(node, Place::From, idiom.since, &mut mistakes);
    }
    for (at, condition) in &idiom.conditions {
        if !matches!(condition, Condition::Constant(_)) {
            mistakes.push(Mistake::meaning(*at, "the conditions of an idiom are of the form `const(x)`"));
        }
    }
    mistakes
}

fn schema(node: &FlatNode) -> Option<&'static Schema> {
    onnx_schema::lookup_by_name(&node.domain, &node.op, i64::MAX)
}

/// The operator exists, and some version has the attributes and operands.
fn operator(node: &FlatNode, place: Place, since: i64, mistakes: &mut Vec<Mistake>) {
    if node.domain == "rule" {
        mistakes.push(Mistake::meaning(node.at, "operators of the domain `rule` are for `let`"));
        return;
    }
    let is_standard = node.domain.is_empty() || node.domain.starts_with("ai.onnx");
    if !is_standard {
        return;
    }
    let Some(latest) = schema(node) else {
        let near = onnx_schema::suggest_op(&node.op);
        let message = format!("the operator `{}` does not exist{}", node.op, did_you_mean(near));
        mistakes.push(Mistake::meaning(node.at, message));
        return;
    };
    let versions = in_scope(latest, since);
    for (name, _, at) in node.placed_attributes() {
        let is_known = versions.iter().any(|schema| {
            schema.attributes().iter().any(|formal| formal.text() == name)
                || schema.inputs().iter().any(|formal| formal.name == name)
        });
        if !is_known {
            let near = onnx_schema::suggest_attribute(latest, name);
            let message = format!("`{}` has no attribute `{name}`{}", node.op, did_you_mean(near));
            mistakes.push(Mistake::meaning(at, message));
        }
    }
    kinds::attributes(node, versions, mistakes);
    kinds::required(node, place, versions, mistakes);
    let has_rest = node.operands.iter().any(|operand| matches!(operand, Operand::Rest(_)));
    let (count, most) = (node.operands.len(), latest.max_inputs());
    if !has_rest && (most.is_some_and(|most| count > most) || count < latest.min_inputs()) {
        mistakes.push(Mistake::meaning(node.at, format!("`{}` does not have {count} operands", node.op)));
    }
    if has_rest && !latest.inputs().last().is_some_and(onnx_schema::Formal::is_variadic) {
        let message = format!("`{}` does not have any number of operands", node.op);
        mistakes.push(Mistake::meaning(node.at, message));
    }
    if latest.max_outputs().is_some_and(|most| node.outputs.len() > most) {
        let message = format!("`{}` does not have {} results", node.op, node.outputs.len());
        mistakes.push(Mistake::meaning(node.at, message));
    }
}

/// The versions of an operator that models have to which a rule applies: the one in scope at the first version of the rule, and
/// later ones.
fn in_scope(latest: &'static Schema, since: i64) -> &'static [Schema] {
    let versions = onnx_schema::versions(latest.domain(), latest.op());
    // `since` is about the default domain.
    let first = if latest.domain().is_empty() {
        versions.iter().rposition(|schema| schema.since_version() <= since).unwrap_or(0)
    } else {
        0
    };
    versions.get(first..).unwrap_or(versions)
}

/// The end of a message about an unknown name.
fn did_you_mean(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn intrinsic(node: &FlatNode, mistakes: &mut Vec<Mistake>) {
    match INTRINSICS.iter().find(|(name, _)| *name == node.op) {
        None => {
            let known: Vec<String> = INTRINSICS.iter().map(|(name, _)| format!("`rule.{name}`")).collect();
            let message =
                format!("`rule.{}` does not exist; the intrinsics are {}", node.op, known.join(", "));
            mistakes.push(Mistake::meaning(node.at, message));
        }
        Some(&(name, count)) => {
            let are_names = node.operands.iter().all(|operand| matches!(operand, Operand::Var(_)));
            if node.operands.len() != count || !are_names || node.outputs.len() != 1 {
                let names = if count == 1 { "a name" } else { "two names" };
                let message = format!("`rule.{name}` takes {names}, and has one result");
                mistakes.push(Mistake::meaning(node.at, message));
            }
        }
    }
}

fn vars(node: &FlatNode) -> impl Iterator<Item = Var> + '_ {
    node.operands.iter().filter_map(|operand| match operand {
        Operand::Var(var) | Operand::Rest(var) | Operand::Default(var, _) => Some(*var),
        _ => None,
    })
}

/// The sides have the same results; the left side uses its operands and produces its results.
fn sides(rule: &Rule, mistakes: &mut Vec<Mistake>) {
    let made = |var: Var| rule.from.nodes.iter().any(|node| node.outputs.contains(&Some(var)));
    for &(var, _) in &rule.from.inputs {
        if !rule.from.nodes.iter().any(|node| vars(node).any(|other| other == var)) {
            let message = format!("no node of the left side uses `{}`", rule.variable(var));
            mistakes.push(Mistake::meaning(rule.place(var), message));
        }
    }
    for (&var, &at) in rule.from.outputs.iter().zip(&rule.from.output_places) {
        if !made(var) {
            let message = format!("no node of the left side makes `{}`", rule.variable(var));
            mistakes.push(Mistake::meaning(at, message));
        }
    }
    let (before, after) = (rule.from.outputs.len(), rule.to.outputs.len());
    if before != after {
        // The first result that the left side does not have, or the last one of the right side.
        let at = rule.to.output_places.get(before).or(rule.to.output_places.last());
        let message = format!("the sides have different numbers of results: {before} before, {after} after");
        mistakes.push(Mistake::meaning(at.copied().unwrap_or(rule.at), message));
    }
    for node in &rule.from.nodes {
        let is_used = node.outputs.iter().flatten().any(|&var| {
            let is_operand = rule.from.nodes.iter().any(|node| vars(node).any(|other| other == var));
            is_operand || rule.from.outputs.contains(&var)
        });
        if !is_used {
            mistakes.push(Mistake::meaning(node.at, format!("no result needs this `{}`", node.op)));
        }
        let rests = node.operands.iter().filter(|operand| matches!(operand, Operand::Rest(_))).count();
        if rests > 2 {
            mistakes.push(Mistake::meaning(node.at, "a node has at most two operands with `*`"));
        }
    }
}

/// The attributes that `...` copies are defined.
fn copies(rule: &Rule, mistakes: &mut Vec<Mistake>) {
    for node in rule.to.nodes.iter().filter(|node| node.is_open) {
        let from = rule.from.nodes.iter().filter(|from| from.is_open && from.op == node.op).count();
        if from != 1 {
            let message = format!(
                "`...` copies the attributes of one `{}` with `...` on the left side, not of {from}",
                node.op
            );
            mistakes.push(Mistake::meaning(node.at, message));
        }
    }
}

/// Some element type is allowed everywhere that a variable occurs on the left side.
fn types(rule: &Rule, mistakes: &mut Vec<Mistake>) {
    for var in 0..rule.names.len() {
        let mut possible: Vec<ElemType> = (1..64).filter_map(ElemType::from_code).collect();
        let before = possible.len();
        // Alternatives may accept different types.
        let is_alternative = |node: &FlatNode| {
            node.within.is_some()
                || rule.from.nodes.iter().filter(|other| other.outputs == node.outputs).count() > 1
        };
        for node in rule.from.nodes.iter().filter(|node| !is_alternative(node)) {
            let Some(schema) = schema(node) else { continue };
            for (index, operand) in node.operands.iter().enumerate() {
                if *operand == Operand::Var(var)
                    && let Some(formal) = schema.input_for(index)
                {
                    retain(&mut possible, schema, formal);
                }
            }
            for (index, output) in node.outputs.iter().enumerate() {
                if *output == Some(var)
                    && let Some(formal) = schema.output_for(index)
                {
                    retain(&mut possible, schema, formal);
                }
            }
        }
        let mut at = rule.place(var);
        for (place, condition) in &rule.conditions {
            let Condition::Elem(other, wanted) = condition else { continue };
            if *other == var {
                at = *place;
                possible.retain(|&elem| match wanted {
                    Elems::Class(class) => is_of(elem, *class),
                    Elems::List(elems) => elems.contains(&elem),
                    Elems::Of(_) => true,
                });
            }
        }
        if possible.is_empty() && before > 0 {
            let nested = rule.names.get(var).is_some_and(String::is_empty);
            let maker = rule.from.nodes.iter().find(|node| nested && node.outputs.contains(&Some(var)));
            let name = match maker {
                Some(node) => format!("the result of `{}`", node.op),
                None => format!("`{}`", rule.variable(var)),
            };
            let message = format!("no element type is possible for {name}");
            mistakes.push(Mistake::meaning(at, message));
        }
    }
}

/// Leaves the element types of a parameter; those of sequences and other types are not compared.
fn retain(possible: &mut Vec<ElemType>, schema: &Schema, formal: &onnx_schema::Formal) {
    let types = schema.types_of(formal);
    if (1..64).filter_map(ElemType::from_code).any(|elem| types.contains_tensor(elem)) {
        possible.retain(|&elem| types.contains_tensor(elem));
    }
}

/// The costs of the sides of a rule whose right side does not cost less than the left one with the cheapest alternatives; `None`
/// for other rules.
pub(crate) fn raised_cost(rule: &Rule) -> Option<(u64, u64)> {
    let (nodes, costs) = (&rule.from.nodes, Costs::standard());
    let inner = |owner: usize| -> u64 {
        nodes.iter().filter(|node| node.within == Some(owner)).map(|node| costs.of(&node.op)).sum()
    };
    let mut old = 0_u64;
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.within.is_none()) {
        let alternatives = nodes.iter().enumerate().filter(|(_, other)| other.outputs == node.outputs);
        let cheapest =
            alternatives.map(|(index, other)| (costs.of(&other.op).saturating_add(inner(index)), index));
        if let Some((cost, cheapest)) = cheapest.min()
            && cheapest == index
        {
            old = old.saturating_add(cost);
        }
    }
    let new: u64 = rule.to.nodes.iter().map(|node| costs.of(&node.op)).sum();
    (new >= old).then_some((old, new))
}
