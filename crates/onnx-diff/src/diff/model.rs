//! The model as a whole, its interface, functions and graphs.

use std::collections::BTreeSet;

use onnx_ir::{
    Attribute, Binding, FunctionId, GraphId, Model, OpsetScope, OpsetVersions, TensorHolder, ValueId,
    ValueRef,
};
use onnx_schema::normalize_domain;
use onnx_types::Type;
use slotmap::SecondaryMap;

use super::compare::{Comparison, joined, some};
use super::node::{text, type_digest};
use super::side::Side;
use super::{Aspect, AspectKind, ChangeKind, ChangedElement};
use crate::hash::declared;

impl Comparison<'_> {
    /// Header, operator sets, training and notes.
    pub(super) fn model(&mut self) {
        let (a, b) = (self.a.model, self.b.model);
        let (one, two) = (a.info(), b.info());
        let mut aspects = Vec::new();
        let header = |model: &Model| {
            let info = model.info();
            let number = |number: i64| if number == 0 { String::new() } else { number.to_string() };
            [
                ("ir_version", number(info.ir_version)),
                ("producer_name", model.str(info.producer_name).to_owned()),
                ("producer_version", model.str(info.producer_version).to_owned()),
                ("domain", model.str(info.domain).to_owned()),
                ("model_version", number(info.model_version)),
            ]
        };
        for ((label, before), (_, after)) in header(a).into_iter().zip(header(b)) {
            if before != after {
                aspects.push(Aspect::new(AspectKind::Header, label, some(&before), some(&after)));
            }
        }
        self.imports([a.versions_of(OpsetScope::Model), b.versions_of(OpsetScope::Model)], &mut aspects);
        self.training(&mut aspects);
        self.notes([one.doc, two.doc], [&one.metadata, &two.metadata], &mut aspects);
        let (before, after) = (one.configurations.len(), two.configurations.len());
        if before != after {
            let (before, after) = (Some(before.to_string()), Some(after.to_string()));
            aspects.push(Aspect::new(AspectKind::Annotation, "device configurations", before, after));
        }
        let places = || (Some(onnx_diag::Locus::model()), Some(onnx_diag::Locus::model()));
        // Aspects that are part of the hash and notes are reported as two changes.
        let (notes, others): (Vec<Aspect>, Vec<Aspect>) =
            aspects.into_iter().partition(|aspect| aspect.kind.is_note());
        self.changed(ChangedElement::Model, places, String::new, others);
        self.changed(ChangedElement::Model, places, String::new, notes);
    }

    fn imports(&self, versions: [&OpsetVersions; 2], aspects: &mut Vec<Aspect>) {
        let list = |model: &Model, versions: &OpsetVersions| -> Vec<(String, String)> {
            let of = |(domain, _)| {
                let version = versions.get(domain).unwrap_or_default();
                (model.str(normalize_domain(domain)).to_owned(), version.to_string())
            };
            versions.iter().map(of).collect()
        };
        let (one, two) = (list(self.a.model, versions[0]), list(self.b.model, versions[1]));
        for (domain, before, after) in joined(one, two) {
            if before != after {
                let label = if domain.is_empty() { "ai.onnx".to_owned() } else { domain };
                aspects.push(Aspect::new(AspectKind::OperatorSet, label, before, after));
            }
        }
    }

    fn training(&self, aspects: &mut Vec<Aspect>) {
        let (one, two) = (&self.a.model.info().training, &self.b.model.info().training);
        if one.len() != two.len() {
            let (before, after) = (Some(one.len().to_string()), Some(two.len().to_string()));
            aspects.push(Aspect::new(AspectKind::Training, "steps", before, after));
        }
        for (index, (x, y)) in one.iter().zip(two).enumerate() {
            let lists = [
                (&x.initialization_binding, &y.initialization_binding, "initialization bindings"),
                (&x.update_binding, &y.update_binding, "update bindings"),
            ];
            for (x, y, name) in lists {
                let same = x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.same_binding(x, y));
                if !same {
                    aspects.push(Aspect::new(
                        AspectKind::Training,
                        format!("step {index} {name}"),
                        None,
                        None,
                    ));
                }
            }
            let graphs = [(x.initialization, y.initialization), (x.algorithm, y.algorithm)];
            for ((x, y), name) in graphs.into_iter().zip(["initialization", "algorithm"]) {
                match (x, y) {
                    (Some(x), Some(y)) => self.outputs((x, y), &format!("step {index} {name}"), aspects),
                    (None, None) => {}
                    _ => aspects.push(Aspect::new(
                        AspectKind::Training,
                        format!("step {index} {name}"),
                        None,
                        None,
                    )),
                }
            }
        }
    }

    fn same_binding(&self, one: &Binding, two: &Binding) -> bool {
        let same = |one: ValueRef, two: ValueRef| match (one, two) {
            (ValueRef::Value(one), ValueRef::Value(two)) => {
                let are_there =
                    self.a.model.get_value(one).is_some() && self.b.model.get_value(two).is_some();
                are_there && self.correspond(Some(one), Some(two))
            }
            (ValueRef::Name(one), ValueRef::Name(two)) => self.a.model.str(one) == self.b.model.str(two),
            _ => false,
        };
        same(one.key, two.key) && same(one.value, two.value)
    }

    /// The inputs and outputs of the main graph.
    pub(super) fn interface(&mut self) {
        let (a, b, border) = (self.a, self.b, self.border);
        let [main_a, main_b] = [a, b].map(|side| side.model.main_graph());
        let (graph_a, graph_b) = (a.model.graph(main_a), b.model.graph(main_b));
        let mut other: SecondaryMap<ValueId, ValueId> = SecondaryMap::new();
        border.inputs.iter().for_each(|&(one, two)| _ = other.insert(one, two));
        let mut position: SecondaryMap<ValueId, usize> = SecondaryMap::new();
        graph_b.inputs().iter().enumerate().for_each(|(at, &value)| _ = position.insert(value, at));
        for (at, &input) in graph_a.inputs().iter().enumerate() {
            let place = a.places.graph_input(main_a, at);
            match other.get(input) {
                Some(&partner) => {
                    let aspects = self.input(input, partner);
                    let at = position.get(partner).copied().unwrap_or_default();
                    let places = || (Some(place), Some(b.places.graph_input(main_b, at)));
                    self.changed(ChangedElement::Input, places, || b.value(partner), aspects);
                }
                None => self.only(
                    ChangeKind::Removed,
                    ChangedElement::Input,
                    place,
                    typed(a, input, a.model.ty(input)),
                ),
            }
        }
        let mut taken: SecondaryMap<ValueId, ()> = SecondaryMap::new();
        border.inputs.iter().for_each(|&(_, two)| _ = taken.insert(two, ()));
        for (at, &input) in graph_b.inputs().iter().enumerate() {
            if !taken.contains_key(input) {
                let text = typed(b, input, b.model.ty(input));
                self.only(ChangeKind::Added, ChangedElement::Input, b.places.graph_input(main_b, at), text);
            }
        }
        self.graph_outputs(main_a, main_b);
        let inputs: Vec<usize> =
            border.inputs.iter().filter_map(|&(_, two)| position.get(two).copied()).collect();
        let outputs: Vec<usize> = border.outputs.iter().map(|&(_, two)| two).collect();
        let list = |side: &Side<'_>, values: &mut dyn Iterator<Item = ValueId>| {
            let names: Vec<String> = values.map(|value| side.value(value)).collect();
            Some(names.join(", "))
        };
        let mut aspects = Vec::new();
        if !inputs.is_sorted() {
            let before = list(a, &mut graph_a.inputs().iter().copied());
            let after = list(b, &mut graph_b.inputs().iter().copied());
            aspects.push(Aspect::new(AspectKind::Order, "inputs", before, after));
        }
        if !outputs.is_sorted() {
            let before = list(a, &mut graph_a.outputs().iter().map(|output| output.value()));
            let after = list(b, &mut graph_b.outputs().iter().map(|output| output.value()));
            aspects.push(Aspect::new(AspectKind::Order, "outputs", before, after));
        }
        let places = || (Some(a.places.graph(main_a)), Some(b.places.graph(main_b)));
        self.changed(ChangedElement::Graph, places, String::new, aspects);
    }

    fn input(&mut self, one: ValueId, two: ValueId) -> Vec<Aspect> {
        let (a, b) = (self.a, self.b);
        let (first, second) = (a.model.value(one), b.model.value(two));
        let mut aspects = self.named(one, two);
        self.types(first.ty(), second.ty(), AspectKind::Type, &mut aspects);
        let defaults = [first.initializer().is_some(), second.initializer().is_some()];
        if defaults[0] != defaults[1] {
            let [before, after] =
                defaults.map(|is_given| Some(if is_given { "given" } else { "none" }.to_owned()));
            aspects.push(Aspect::new(AspectKind::Default, "", before, after));
        }
        self.notes([first.doc(), second.doc()], [first.metadata(), second.metadata()], &mut aspects);
        aspects
    }

    fn named(&self, one: ValueId, two: ValueId) -> Vec<Aspect> {
        let name = |side: &Side<'_>, value| side.model.str(side.model.value(value).name()).to_owned();
        let (before, after) = (name(self.a, one), name(self.b, two));
        let is_same = before == after;
        let aspect = Aspect::new(AspectKind::Name, "", Some(before), Some(after));
        if is_same { Vec::new() } else { vec![aspect] }
    }

    fn types(&mut self, one: Option<&Type>, two: Option<&Type>, kind: AspectKind, aspects: &mut Vec<Aspect>) {
        let (a, b) = (self.a, self.b);
        let before = one.map(|ty| type_digest(a, ty, &mut self.message));
        let after = two.map(|ty| type_digest(b, ty, &mut self.message));
        if before != after {
            let before = one.map(|ty| a.model.show_type(ty).to_string());
            let after = two.map(|ty| b.model.show_type(ty).to_string());
            aspects.push(Aspect::new(kind, "", before, after));
        }
    }

    fn graph_outputs(&mut self, main_a: GraphId, main_b: GraphId) {
        let (a, b, border) = (self.a, self.b, self.border);
        let (all_a, all_b) = (a.model.graph(main_a).outputs(), b.model.graph(main_b).outputs());
        for &(i, j) in &border.outputs {
            let (Some(x), Some(y)) = (all_a.get(i), all_b.get(j)) else { continue };
            let mut aspects = self.named(x.value(), y.value());
            self.types(declared(a.model, x), declared(b.model, y), AspectKind::Type, &mut aspects);
            let (one, two) = (Some(x.value()), Some(y.value()));
            if !self.correspond(one, two) && !self.is_implied(one, two) {
                let made = |side: &Side<'_>, value: ValueId| match side.model.value(value).producer() {
                    Some(node) => side.node(node),
                    None => side.value(value),
                };
                let (before, after) = (Some(made(a, x.value())), Some(made(b, y.value())));
                aspects.push(Aspect::new(AspectKind::Output, "", before, after));
            }
            let places = || (Some(a.places.graph_output(main_a, i)), Some(b.places.graph_output(main_b, j)));
            self.changed(ChangedElement::Output, places, || b.value(y.value()), aspects);
        }
        let (first, second): (BTreeSet<usize>, BTreeSet<usize>) = border.outputs.iter().copied().unzip();
        for (at, output) in all_a.iter().enumerate().filter(|(at, _)| !first.contains(at)) {
            let text = typed(a, output.value(), declared(a.model, output));
            self.only(ChangeKind::Removed, ChangedElement::Output, a.places.graph_output(main_a, at), text);
        }
        for (at, output) in all_b.iter().enumerate().filter(|(at, _)| !second.contains(at)) {
            let text = typed(b, output.value(), declared(b.model, output));
            self.only(ChangeKind::Added, ChangedElement::Output, b.places.graph_output(main_b, at), text);
        }
    }

    /// Values at the outputs of graphs that correspond by position.
    fn outputs(&self, (one, two): (GraphId, GraphId), label: &str, aspects: &mut Vec<Aspect>) {
        let (a, b) = (self.a, self.b);
        let (first, second) = (a.model.graph(one).outputs(), b.model.graph(two).outputs());
        for index in 0..first.len().max(second.len()) {
            let [x, y] = [first, second].map(|outputs| outputs.get(index).map(|output| output.value()));
            if !self.correspond(x, y) && !self.is_implied(x, y) {
                let (before, after) = (x.map(|x| a.value(x)), y.map(|y| b.value(y)));
                let label =
                    if label.is_empty() { index.to_string() } else { format!("{label} output {index}") };
                aspects.push(Aspect::new(AspectKind::Output, label, before, after));
            }
        }
    }

    pub(super) fn functions(&mut self) {
        let (a, b, border) = (self.a, self.b, self.border);
        let mut partners: SecondaryMap<FunctionId, FunctionId> = SecondaryMap::new();
        border.functions.iter().for_each(|&(one, two)| _ = partners.insert(one, two));
        for &function in a.model.functions() {
            let place = a.places.function(function);
            match partners.get(function) {
                Some(&other) => {
                    let aspects = self.function(function, other);
                    let places = || (Some(place), Some(b.places.function(other)));
                    self.changed(ChangedElement::Function, places, || b.function(other), aspects);
                }
                None => self.only(ChangeKind::Removed, ChangedElement::Function, place, a.function(function)),
            }
        }
        let mut taken: SecondaryMap<FunctionId, ()> = SecondaryMap::new();
        border.functions.iter().for_each(|&(_, two)| _ = taken.insert(two, ()));
        for &function in b.model.functions().iter().filter(|&&function| !taken.contains_key(function)) {
            self.only(
                ChangeKind::Added,
                ChangedElement::Function,
                b.places.function(function),
                b.function(function),
            );
        }
    }

    fn function(&mut self, one: FunctionId, two: FunctionId) -> Vec<Aspect> {
        let (a, b) = (self.a, self.b);
        let (first, second) = (a.model.function(one), b.model.function(two));
        let mut aspects = Vec::new();
        let count = |side: &Side<'_>, graph| side.model.graph(graph).inputs().len();
        let (before, after) = (count(a, first.body()), count(b, second.body()));
        if before != after {
            let (before, after) = (Some(before.to_string()), Some(after.to_string()));
            aspects.push(Aspect::new(AspectKind::Operand, "count", before, after));
        }
        let declared = |side: &mut Self, is_b: bool, function: FunctionId| {
            let here = if is_b { side.b } else { side.a };
            let record = here.model.function(function);
            let required = record
                .attributes
                .iter()
                .map(|&name| (here.model.str(name).to_owned(), "required".to_owned()));
            let mut all: Vec<(String, String)> = required.collect();
            for (position, default) in record.defaults.iter().enumerate() {
                let message = side.message.begin("default");
                here.labels().attribute(TensorHolder::Default(function, position), default, message);
                // The digest distinguishes elements with the same text.
                let entry = format!("{}\0{}", default_text(here, default), message.finish());
                all.push((here.model.str(default.name()).to_owned(), entry));
            }
            all
        };
        let (x, y) = (declared(self, false, one), declared(self, true, two));
        for (name, before, after) in joined(x, y) {
            if before != after {
                let shown = |text: Option<String>| {
                    text.map(|text| text.split('\0').next().unwrap_or_default().to_owned())
                };
                aspects.push(Aspect::new(AspectKind::Attribute, name, shown(before), shown(after)));
            }
        }
        let versions =
            [a.model.versions_of(OpsetScope::Function(one)), b.model.versions_of(OpsetScope::Function(two))];
        self.imports(versions, &mut aspects);
        self.outputs((first.body(), second.body()), "", &mut aspects);
        self.notes([first.doc, second.doc], [&first.metadata, &second.metadata], &mut aspects);
        aspects
    }

    /// Notes of graphs that correspond.
    pub(super) fn graphs(&mut self) {
        let (a, b, pairs) = (self.a, self.b, self.pairs);
        for &graph in &a.graphs {
            let Some(&other) = pairs.graphs.get(graph) else { continue };
            let (first, second) = (a.model.graph(graph), b.model.graph(other));
            let mut aspects = Vec::new();
            self.notes([first.doc, second.doc], [&first.metadata, &second.metadata], &mut aspects);
            let keys = |side: &Side<'_>, graph: GraphId| {
                let annotations = side.model.graph(graph).quantization.iter();
                let mut keys: Vec<String> = annotations
                    .map(|annotation| {
                        let keys = annotation.parameters.iter().map(|entry| side.model.str(entry.key));
                        keys.collect::<Vec<_>>().join(" ")
                    })
                    .collect();
                keys.sort_unstable();
                keys
            };
            let (before, after) = (keys(a, graph), keys(b, other));
            if before != after {
                let other = if before.len() == after.len() { " with other parameters" } else { "" };
                let text = |keys: &[String], other| Some(format!("{}{other}", values(keys.len())));
                let (before, after) = (text(&before, ""), text(&after, other));
                aspects.push(Aspect::new(AspectKind::Annotation, "quantization", before, after));
            }
            let places = || (Some(a.places.graph(graph)), Some(b.places.graph(other)));
            self.changed(ChangedElement::Graph, places, String::new, aspects);
        }
    }

    /// Notes how many values have a declared type in one model only.
    pub(super) fn declared_types(&mut self) {
        let [only_a, only_b] = self.declared.map(|count| (count != 0).then(|| count.to_string()));
        let sides = [(only_a, None), (None, only_b)].into_iter();
        let sides = sides.filter(|(a, b)| a.is_some() || b.is_some());
        let aspects = sides.map(|(a, b)| Aspect::new(AspectKind::DeclaredType, "count", a, b)).collect();
        let places = || (Some(onnx_diag::Locus::model()), Some(onnx_diag::Locus::model()));
        self.changed(ChangedElement::Model, places, String::new, aspects);
    }
}

fn values(count: usize) -> String {
    if count == 1 { "1 value".to_owned() } else { format!("{count} values") }
}

fn default_text(side: &Side<'_>, default: &Attribute) -> String {
    text(side, Some(default), None, "").unwrap_or_default()
}

fn typed(side: &Side<'_>, value: ValueId, ty: Option<&Type>) -> String {
    match ty {
        Some(ty) => format!("{} {}", side.model.show_type(ty), side.value(value)),
        None => side.value(value),
    }
}
