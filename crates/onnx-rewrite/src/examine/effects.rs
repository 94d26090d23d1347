//! Attributes that a rule drops: each must have an effect on a generated model, or nothing was tested.

use onnx_eval::Value;
use onnx_ir::AttrValue;
use onnx_schema::Schema;
use onnx_types::tensor::NoData;

use super::choose;
use super::generate::{Generator, tensor_of};
use crate::ast::{AttributeTerm, Operand, Rule, Var};

/// An attribute of the left side that nothing else names: the node, and the name.
#[derive(Clone, Debug)]
pub(super) struct Dropped {
    pub(super) node: usize,
    pub(super) name: String,
    pub(super) op: String,
}

impl Dropped {
    /// That it had no effect.
    pub(super) fn untested(&self) -> String {
        format!("the attribute `{}` of `{}` changed no result of a generated model", self.name, self.op)
    }
}

/// The attributes with any value, `<axis = @a>`, that the other sections of a rule do not use. The right side may have another value
/// of the attribute.
pub(super) fn dropped(rule: &Rule) -> Vec<Dropped> {
    let is_used = |var: Var| {
        let mut nodes = rule.lets.iter().chain(&rule.to.nodes);
        nodes.any(|node| {
            node.operands.contains(&Operand::Var(var))
                || node
                    .attributes
                    .iter()
                    .any(|(_, term)| matches!(term, AttributeTerm::Var(other) if *other == var))
        })
    };
    let mut dropped = Vec::new();
    for (index, node) in rule.from.nodes.iter().enumerate() {
        for (name, term) in &node.attributes {
            let is_replaced =
                rule.to.nodes.iter().any(|other| {
                    other.op == node.op && other.attributes.iter().any(|(other, _)| other == name)
                });
            if matches!(term, AttributeTerm::Var(var) if !is_used(*var)) && !is_replaced {
                dropped.push(Dropped { node: index, name: name.clone(), op: node.op.clone() });
            }
        }
    }
    dropped
}

impl Generator<'_> {
    /// Records which dropped attributes of a node have an effect: the node has other results, or does not run, with the default
    /// or another value.
    pub(super) fn record_effects(
        &mut self,
        index: usize,
        schema: &Schema,
        attributes: &[(String, AttrValue)],
        operands: &[Option<Value>],
        results: &[Option<Value>],
    ) {
        let first = operands.first().and_then(tensor_of).map(|tensor| tensor.dims().to_vec());
        for number in 0..self.dropped.len() {
            let Some(dropped) = self.dropped.get(number).filter(|dropped| dropped.node == index).cloned()
            else {
                continue;
            };
            let formal = schema.attributes().iter().find(|formal| formal.text() == dropped.name);
            let is_given = attributes.iter().any(|(name, _)| *name == dropped.name);
            let Some(formal) = formal.filter(|_| is_given) else { continue };
            let mut others = attributes.to_vec();
            others.retain(|(name, _)| *name != dropped.name);
            if formal.is_required {
                let first = first.as_deref().unwrap_or_default();
                let Some(value) = choose::attribute(&mut self.rng, &dropped.op, formal, first) else {
                    continue;
                };
                others.push((dropped.name, value));
            }
            let name = [schema.domain_name(), dropped.op.as_str()];
            let run = self.scratch.run_values(name, others, operands, results.len());
            if !run.is_ok_and(|run| run.iter().zip(results).all(|(a, b)| is_same(a.as_ref(), b.as_ref()))) {
                self.effective.push(number);
            }
        }
    }
}

/// Returns `true` if two values have the same type and elements; NaNs are the same.
fn is_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let (Some(a), Some(b)) = (a.tensor(), b.tensor()) else { return a == b };
    if a.elem() != b.elem() || a.dims() != b.dims() {
        return false;
    }
    match (a.iter_f64(&NoData), b.iter_f64(&NoData)) {
        (Ok(a), Ok(b)) => a.map(f64::to_bits).eq(b.map(f64::to_bits)),
        _ => crate::effective::is_equal(a, b),
    }
}
