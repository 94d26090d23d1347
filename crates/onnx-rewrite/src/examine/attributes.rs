//! The attributes of generated nodes.

use onnx_ir::AttrValue;
use onnx_schema::Schema;
use onnx_types::ElemType;

use super::choose;
use super::generate::{Generator, Slot};
use super::sizes;
use crate::ast::{AttributeTerm, FlatNode, Rule};
use crate::evaluate::as_kind;

/// A value that an attribute of the rule must have in a model which it edits.
#[derive(Clone, Debug)]
pub(super) struct DueValue {
    /// The byte of the operator in the rule.
    at: usize,
    name: String,
    value: AttrValue,
}

/// The values of attributes with any value that are types or words: a rule may be wrong for one of them only.
pub(super) fn due_values(rule: &Rule) -> Vec<DueValue> {
    let mut due = Vec::new();
    for node in &rule.from.nodes {
        for (name, term) in &node.attributes {
            if !matches!(term, AttributeTerm::Var(_)) {
                continue;
            }
            let values: Vec<AttrValue> = match name.as_str() {
                "to" | "dtype" => {
                    let elems = choose::OTHER_ELEMS.iter().chain(&[ElemType::Float, ElemType::String]);
                    elems.map(|&elem| AttrValue::Int(i64::from(elem as i32))).collect()
                }
                name => choose::words(&node.op, name).iter().map(|&word| AttrValue::from(word)).collect(),
            };
            due.extend(values.into_iter().map(|value| DueValue { at: node.at, name: name.clone(), value }));
        }
    }
    due
}

impl Generator<'_> {
    /// In a part of the models, the next value that an attribute must have.
    fn due_value(&mut self, node: &FlatNode, name: &str) -> Option<AttrValue> {
        if self.named_value.is_some() || !self.rng.chance(40) {
            return None;
        }
        let all: Vec<usize> = (0..self.due_values.len())
            .filter(|&index| {
                self.due_values.get(index).is_some_and(|due| due.at == node.at && due.name == name)
            })
            .collect();
        let index = self.rng.pick(&all)?;
        self.named_value = Some(index);
        self.due_values.get(index).map(|due| due.value.clone())
    }

    /// Notes that the rule edited the last model, or that an edit of it was refused.
    pub(super) fn settle(&mut self) {
        let named = self.named;
        self.unknown.due = self.unknown.due.saturating_sub(usize::from(self.unknown.is_model));
        self.due.retain(|due| Some(*due) != named);
        if let Some(index) = self.named_value.take().filter(|&index| index < self.due_values.len()) {
            self.due_values.remove(index);
        }
    }

    /// The attributes of a node that are not their defaults.
    pub(super) fn attributes(
        &mut self,
        node: &FlatNode,
        schema: &Schema,
        first: &[i64],
        weight: Option<&[i64]>,
    ) -> Option<Vec<(String, AttrValue)>> {
        let groups = sizes::groups(&node.op, first, weight, self.groups);
        let of_weights = |name: &str| choose::of_weights(&node.op, name, weight, groups);
        let mut attributes = Vec::new();
        for (name, term) in &node.attributes {
            match term {
                AttributeTerm::Value(value) => {
                    let is_operand = schema.attributes().iter().all(|formal| formal.text() != name);
                    if is_operand {
                        return None;
                    }
                    attributes.push((name.clone(), as_kind(value.clone(), schema, name)));
                }
                AttributeTerm::Var(var) => {
                    if let Some(Some(Slot::Attribute(known))) = self.slots.get(*var) {
                        let kind = schema.attributes().iter().find(|formal| formal.text() == name)?.kind;
                        attributes.push((name.clone(), crate::effective::to_value(known, kind)?));
                        continue;
                    }
                    let formal = schema.attributes().iter().find(|formal| formal.text() == name)?;
                    let is_needed = formal.is_required || name == "group" && groups > 1;
                    let is_planned = self.plan.attribute(name).is_some();
                    if !is_needed && !is_planned && self.rng.chance(25) {
                        continue;
                    }
                    let value = match self.plan.attribute(name) {
                        Some(Some(value)) => value,
                        Some(None) => continue,
                        None => of_weights(name)
                            .or_else(|| self.due_value(node, name))
                            .or_else(|| self.near_attribute(*var, formal))
                            .or_else(|| choose::attribute(&mut self.rng, &node.op, formal, first))?,
                    };
                    *self.slots.get_mut(*var)? = Some(Slot::Attribute(value.to_tensor()?));
                    attributes.push((name.clone(), value));
                }
            }
        }
        if node.is_open {
            for formal in schema.attributes() {
                let is_named = attributes.iter().any(|(other, _)| other == formal.text());
                if let Some(planned) = self.plan.attribute(formal.text()).filter(|_| !is_named) {
                    attributes.extend(planned.map(|value| (formal.text().to_owned(), value)));
                    continue;
                }
                let is_needed = formal.is_required || (formal.text() == "group" && groups > 1);
                if !is_named && (is_needed || self.rng.chance(40)) {
                    let value = of_weights(formal.text());
                    let value = value.or_else(|| choose::attribute(&mut self.rng, &node.op, formal, first));
                    attributes.extend(value.map(|value| (formal.text().to_owned(), value)));
                }
            }
        }
        Some(attributes)
    }
}
