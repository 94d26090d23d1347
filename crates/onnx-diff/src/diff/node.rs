//! Nodes that correspond.

use std::collections::BTreeMap;

use onnx_diag::Quoted;
use onnx_ir::{
    AttrValue, Attribute, Def, Model, NodeId, TensorHolder, TensorPart, TensorPlace, User, ValueId,
};
use onnx_schema::{AttrDefault, Registry, Schema};
use onnx_types::Stopped;
use smallvec::SmallVec;

use super::compare::Comparison;
use super::side::Side;
use super::{Aspect, AspectKind};
use crate::hash::{Digest, given, nested};

/// An attribute with its position among those of a node.
type Given<'a> = SmallVec<[(usize, &'a Attribute); 8]>;

impl Comparison<'_> {
    /// All that differs in two nodes.
    pub(super) fn node(&mut self, one: NodeId, two: NodeId) -> Result<Vec<Aspect>, Stopped> {
        let (a, b) = (self.a, self.b);
        let (first, second) = (a.model.node(one), b.model.node(two));
        let mut aspects = Vec::new();
        if a.operators.get(one) != b.operators.get(two) {
            let (before, after) = (Some(a.operator(one)), Some(b.operator(two)));
            aspects.push(Aspect::new(AspectKind::Operator, "", before, after));
        }
        self.attributes(one, two, &mut aspects)?;
        self.operands(one, two, &mut aspects);
        let results =
            |outputs: &[Option<ValueId>]| -> Vec<bool> { outputs.iter().map(Option::is_some).collect() };
        let (before, after) = (results(first.outputs()), results(second.outputs()));
        if before != after {
            let [before, after] = [before, after].map(|given| Some(results_text(&given)));
            aspects.push(Aspect::new(AspectKind::Result, "", before, after));
        }
        self.moved(first.graph(), second.graph(), &mut aspects);
        for (index, (x, y)) in first.outputs().iter().zip(second.outputs()).enumerate() {
            if let (Some(x), Some(y)) = (x, y) {
                self.declared_type(*x, *y, &index.to_string(), &mut aspects);
            }
        }
        self.notes([first.doc(), second.doc()], [first.metadata(), second.metadata()], &mut aspects);
        let devices = |side: &Side<'_>, node: NodeId| side.model.node(node).device_configurations().len();
        let (before, after) = (devices(a, one), devices(b, two));
        if before != after {
            let (before, after) = (Some(before.to_string()), Some(after.to_string()));
            aspects.push(Aspect::new(AspectKind::Annotation, "device configurations", before, after));
        }
        Ok(aspects)
    }

    fn operands(&self, one: NodeId, two: NodeId, aspects: &mut Vec<Aspect>) {
        let (a, b) = (self.a, self.b);
        let (first, second) = (a.model.node(one), b.model.node(two));
        for index in 0..first.input_count().max(second.input_count()) {
            let (x, y) = (first.input(index), second.input(index));
            if !self.correspond(x, y) && !self.is_implied(x, y) {
                let (before, after) = (x.map(|x| a.value(x)), y.map(|y| b.value(y)));
                let after = distinguished(before.as_deref(), after, y.map(|y| b.model.value(y).def()));
                aspects.push(Aspect::new(AspectKind::Operand, index.to_string(), before, after));
            }
        }
        for (name, element, graph) in nested(a.model, one) {
            let Some(&other) = self.pairs.graphs.get(graph) else { continue };
            let (first, second) = (a.model.graph(graph).outputs(), b.model.graph(other).outputs());
            for (index, (x, y)) in first.iter().zip(second).enumerate() {
                let (x, y) = (Some(x.value()), Some(y.value()));
                if !self.correspond(x, y) && !self.is_implied(x, y) {
                    let label = format!("{} {element} output {index}", a.model.str(name));
                    let aspect =
                        Aspect::new(AspectKind::Output, label, Some(a.operand(x)), Some(b.operand(y)));
                    aspects.push(aspect);
                }
            }
        }
    }

    fn attributes(&mut self, one: NodeId, two: NodeId, aspects: &mut Vec<Aspect>) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        let schema = |side: &Side<'_>, node| side.model.callee(node, Registry::STANDARD).standard();
        let schemas = [schema(a, one), schema(b, two)];
        let (all_a, all_b) = (a.model.node(one).attributes(), b.model.node(two).attributes());
        let first: Given<'_> = given(a.model, all_a, schemas[0]);
        let second: Given<'_> = given(b.model, all_b, schemas[1]);
        let mut names: BTreeMap<&str, [Option<(usize, &Attribute)>; 2]> = BTreeMap::new();
        first.iter().for_each(|(_, attribute)| _ = names.entry(a.model.str(attribute.name())).or_default());
        second.iter().for_each(|(_, attribute)| _ = names.entry(b.model.str(attribute.name())).or_default());
        // An attribute that has the default on one side can be stated on the other one.
        for (index, (side, all)) in [(a, all_a), (b, all_b)].into_iter().enumerate() {
            for at in all.iter().enumerate() {
                let slots = names.get_mut(side.model.str(at.1.name()));
                if let Some(slot) = slots.and_then(|slots| slots.get_mut(index)) {
                    // The first of one name counts.
                    slot.get_or_insert(at);
                }
            }
        }
        for (name, [x, y]) in names {
            let is_same = match [x, y].map(named) {
                // Names of values are compared by what they mean.
                [first @ [_, ..], second @ [_, ..]] => {
                    first.len() == second.len()
                        && first.iter().zip(second).all(|(&one, &two)| self.correspond(Some(one), Some(two)))
                }
                _ => self.digest_of(a, one, x) == self.digest_of(b, two, y),
            };
            if is_same {
                continue;
            }
            let pair = [(TensorHolder::Attribute(one, 0), x), (TensorHolder::Attribute(two, 0), y)];
            if let Some(changed) = self.tensors(one, pair)? {
                aspects.extend(changed.map(|changed| Aspect { label: name.to_owned(), ..changed }));
                continue;
            }
            let before = text(a, x.map(|(_, attribute)| attribute), schemas[0], name);
            let after = text(b, y.map(|(_, attribute)| attribute), schemas[1], name);
            aspects.push(Aspect::new(AspectKind::Attribute, name, before, after));
        }
        Ok(())
    }

    fn digest_of(
        &mut self,
        side: &Side<'_>,
        node: NodeId,
        at: Option<(usize, &Attribute)>,
    ) -> Option<Digest> {
        let (position, attribute) = at?;
        let message = self.message.begin("attribute");
        side.labels().attribute(TensorHolder::Attribute(node, position), attribute, message);
        Some(message.finish())
    }

    /// The change of an attribute that is a tensor on both sides; `None` for others.
    fn tensors(
        &mut self,
        node: NodeId,
        pair: [(TensorHolder, Option<(usize, &Attribute)>); 2],
    ) -> Result<Option<Option<Aspect>>, Stopped> {
        let [(first, Some((i, x))), (second, Some((j, y)))] = pair else { return Ok(None) };
        let (AttrValue::Tensor(one), AttrValue::Tensor(two)) = (x.value(), y.value()) else {
            return Ok(None);
        };
        let places = [(first, i), (second, j)].map(|(holder, position)| {
            let holder = match holder {
                TensorHolder::Attribute(node, _) => TensorHolder::Attribute(node, position),
                other => other,
            };
            TensorPlace { holder, element: 0, part: TensorPart::Dense }
        });
        let name = x.name();
        let aspect = self.dense((one, two), places, |side| side.places.attribute(node, name))?;
        Ok(Some(aspect.map(|aspect| Aspect { kind: AspectKind::Attribute, ..aspect })))
    }

    /// Notes the change of a declared type of an inner value.
    pub(super) fn declared_type(
        &mut self,
        one: ValueId,
        two: ValueId,
        label: &str,
        aspects: &mut Vec<Aspect>,
    ) {
        let (a, b) = (self.a.model, self.b.model);
        let is_output = |model: &Model, value: ValueId| {
            model.value(value).output_uses().iter().any(|at| at.user == User::Graph(model.main_graph()))
        };
        if is_output(a, one) || is_output(b, two) {
            // The types of outputs are those of the interface.
            return;
        }
        match (a.ty(one), b.ty(two)) {
            (Some(x), Some(y)) => {
                let before = type_digest(self.a, x, &mut self.message);
                let after = type_digest(self.b, y, &mut self.message);
                if before != after {
                    let (before, after) = (a.show_type(x).to_string(), b.show_type(y).to_string());
                    aspects.push(Aspect::new(AspectKind::DeclaredType, label, Some(before), Some(after)));
                }
            }
            (Some(_), None) => self.declared[0] = self.declared[0].saturating_add(1),
            (None, Some(_)) => self.declared[1] = self.declared[1].saturating_add(1),
            (None, None) => {}
        }
    }
}

pub(super) fn type_digest(
    side: &Side<'_>,
    ty: &onnx_types::Type,
    message: &mut crate::hash::Message,
) -> Digest {
    side.labels().ty(Some(ty), message.begin("type"));
    message.finish()
}

fn results_text(given: &[bool]) -> String {
    let marks: Vec<&str> = given.iter().map(|is_given| if *is_given { "given" } else { "omitted" }).collect();
    marks.join(", ")
}

/// The values that an attribute names.
fn named(at: Option<(usize, &Attribute)>) -> &[ValueId] {
    at.map_or(&[][..], |(_, attribute)| attribute.value().values())
}

/// Text for an attribute, or for the default that takes its place.
pub(super) fn text(
    side: &Side<'_>,
    attribute: Option<&Attribute>,
    schema: Option<&Schema>,
    name: &str,
) -> Option<String> {
    if let Some(attribute) = attribute {
        let graphs = attribute.value().graphs();
        if graphs.is_empty() {
            return Some(side.model.show_attribute(attribute).to_string());
        }
        let of = graphs.iter().filter_map(|&graph| side.model.get_graph(graph));
        let texts: Vec<String> = of
            .map(|graph| {
                format!("graph with {} inputs and {} outputs", graph.inputs().len(), graph.outputs().len())
            })
            .collect();
        return Some(texts.join(", "));
    }
    let default = schema?.attribute(side.model.names().get(name)?)?.default?;
    let text = match default {
        AttrDefault::Float(value) => format!("{value:?}"),
        AttrDefault::Int(value) => value.to_string(),
        AttrDefault::String(value) => Quoted(value).to_string(),
        AttrDefault::Floats(values) => format!("{values:?}"),
        AttrDefault::Ints(values) => format!("{values:?}"),
        AttrDefault::Strings(values) => format!("{values:?}"),
        _ => return None,
    };
    Some(format!("{text} (default)"))
}

/// The name of a value that replaces another one, with what distinguishes them if their names are equal.
fn distinguished(before: Option<&str>, after: Option<String>, def: Option<Def>) -> Option<String> {
    let after = after?;
    if before != Some(after.as_str()) {
        return Some(after);
    }
    let what =
        if matches!(def, Some(Def::Output { .. })) { "made by another node" } else { "another tensor" };
    Some(format!("{after} ({what})"))
}
