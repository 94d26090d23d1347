//! Where a runtime tolerates less than the rules that it tolerates cover, such as cycles, where it repairs the order of nodes.

use onnx_diag::{Diagnostic, Locus, Sink};
use onnx_ir::{Attribute, GraphId, GraphOutput, Model, Owner, Places, ValueId};
use onnx_schema::{Schema, op};
use onnx_types::{Dim, ElemType, Type, TypeKind};

use super::{Cx, Target};
use crate::rules::TARGET_LACKS_FEATURE;

/// The rule of nodes that are not sorted. A runtime that tolerates it sorts the main graph.
const NOT_SORTED: &str = "ONNX2312";
/// The rule of declared shapes. A runtime that tolerates it does so for results of nodes, not for inputs of bodies.
const SHAPE_DIFFERS: &str = "ONNX3025";
/// The first version of the format in which initializers need not be inputs.
const FREE_INITIALIZERS: i64 = 4;

/// The rule of types of inputs and outputs. A runtime that tolerates it needs the kind and element type of what it is given.
const TYPE_INCOMPLETE: &str = "ONNX2901";
/// The rule of names of graphs. A runtime that tolerates it needs an output or a node.
const GRAPH_NAME_MISSING: &str = "ONNX2201";
/// The rule of initializers that are not inputs in old models. A runtime that tolerates it needs a use of them.
const NOT_AN_INPUT: &str = "ONNX2103";
/// The rule of imports of versions below 1. A runtime that tolerates it has no operators in them.
const VERSION_OUT_OF_RANGE: &str = "ONNX2010";

impl Target {
    /// Returns `true` if it tolerates violations of the rule everywhere.
    pub(super) fn does_tolerate(&self, code: &str) -> bool {
        self.tolerates.iter().any(|tolerated| tolerated.rule == code && tolerated.is_everywhere())
    }

    /// Returns `true` if it tolerates violations of the rule, everywhere or in some places.
    fn does_tolerate_somewhere(&self, code: &str) -> bool {
        self.tolerates.iter().any(|tolerated| tolerated.rule == code)
    }

    fn lacks(&self, place: Locus, what: &str, sink: &mut Sink) {
        let message = format!("{} {} {what}", self.name, self.version);
        sink.report(Diagnostic::new(&TARGET_LACKS_FEATURE, place, message));
    }
}

/// Inputs of the main graph without a type, and types without an element type.
pub(super) fn of_interface(model: &Model, target: &Target, places: &Places<'_>, sink: &mut Sink) {
    if !target.does_tolerate(TYPE_INCOMPLETE) {
        return;
    }
    let graph = model.graph(model.main_graph());
    for &value in graph.inputs() {
        if model.value(value).ty().is_none_or(|ty| ty.kind == TypeKind::Undefined) {
            target.lacks(places.definition(value), "loads no input without a type", sink);
        }
    }
    for value in graph.inputs().iter().copied().chain(graph.outputs().iter().map(GraphOutput::value)) {
        let is_open = |ty: &Type| match &ty.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => tensor.elem == ElemType::Undefined,
            TypeKind::Sequence(None) | TypeKind::Optional(None) => true,
            TypeKind::Map { key, value } => *key == ElemType::Undefined || value.is_none(),
            _ => false,
        };
        if model.value(value).ty().is_some_and(is_open) {
            target.lacks(places.definition(value), "loads no type without an element type", sink);
        }
    }
}

/// Inputs of the main graph with a type that the runtime does not know, whether something uses them or not.
pub(super) fn of_types(model: &Model, target: &Target, places: &Places<'_>, sink: &mut Sink) {
    if target.types.is_empty() {
        return;
    }
    for &value in model.graph(model.main_graph()).inputs() {
        let unknown = model.value(value).ty().and_then(spelled).filter(|ty| !target.types.contains(ty));
        if let Some(ty) = unknown {
            target.lacks(places.definition(value), &format!("has no values of the type {ty}"), sink);
        }
    }
}

/// A type without shapes, as the specification writes it; `None` if a part of it is missing.
pub(super) fn spelled(ty: &Type) -> Option<String> {
    let elem = |elem: ElemType| (elem != ElemType::Undefined).then_some(elem);
    Some(match &ty.kind {
        TypeKind::Tensor(tensor) => format!("tensor({})", elem(tensor.elem)?),
        TypeKind::SparseTensor(tensor) => format!("sparse_tensor({})", elem(tensor.elem)?),
        TypeKind::Sequence(of) => format!("seq({})", spelled(of.as_deref()?)?),
        TypeKind::Optional(of) => format!("optional({})", spelled(of.as_deref()?)?),
        TypeKind::Map { key, value } => format!("map({}, {})", elem(*key)?, spelled(value.as_deref()?)?),
        _ => return None,
    })
}

/// A main graph without outputs and nodes. Constants are not nodes any more when it is loaded.
pub(super) fn of_empty(model: &Model, target: &Target, places: &Places<'_>, sink: &mut Sink) {
    let main = model.main_graph();
    let is_constant = |node| model.node(node).is(op::CONSTANT);
    let is_empty = model.graph(main).outputs().is_empty() && model.nodes(main).all(is_constant);
    if is_empty && target.does_tolerate_somewhere(GRAPH_NAME_MISSING) {
        target.lacks(places.graph(main), "loads no graph without outputs and nodes", sink);
    }
}

/// Initializers that are neither used nor inputs, in versions of the format in which they had to be inputs.
pub(super) fn of_initializers(model: &Model, target: &Target, places: &Places<'_>, sink: &mut Sink) {
    if !target.does_tolerate_somewhere(NOT_AN_INPUT) || model.info().ir_version >= FREE_INITIALIZERS {
        return;
    }
    let main = model.main_graph();
    let inputs = model.graph(main).inputs();
    for value in model.initializers(main) {
        if !inputs.contains(&value) && !model.value(value).is_used() {
            target.lacks(
                places.initializer(value),
                "loads no initializer without a use before IR version 4",
                sink,
            );
        }
    }
}

/// Operators of versions below 1, and functions that import them.
pub(super) fn of_early_versions(model: &Model, target: &Target, places: &Places<'_>, sink: &mut Sink) {
    if !target.does_tolerate(VERSION_OUT_OF_RANGE) {
        return;
    }
    for &function in model.functions() {
        if model.function(function).opset_imports.iter().any(|import| import.version() < 1) {
            target.lacks(places.function(function), "loads no function that imports a version below 1", sink);
        }
    }
    for graph in model.all_graphs() {
        let versions = model.versions_in(graph);
        for node in model.nodes(graph) {
            if versions.get(model.node(node).domain()).is_some_and(|version| version < 1) {
                target.lacks(places.node(node), "has no operators of a version below 1", sink);
            }
        }
    }
}

/// Cycles, and nodes of other graphs than the main one that are not sorted. Without the tolerance both are errors anyway.
pub(super) fn of_order(model: &Model, target: &Target, places: &Places<'_>, sink: &mut Sink) {
    if !target.does_tolerate(NOT_SORTED) {
        return;
    }
    for graph in model.all_graphs().filter(|&graph| !model.is_sorted(graph)) {
        let what = match model.graph(graph).owner() {
            _ if model.sorted_nodes(graph).is_err() => "loads no graph with a cycle",
            Owner::Node(_) | Owner::Function(_) => "sorts the nodes of the main graph only",
            _ => continue,
        };
        target.lacks(places.graph(graph), what, sink);
    }
}

impl Cx<'_> {
    /// What is wrong with the shapes that the body of a node declares, as the rest of a sentence; `name` is the operator with quotes.
    pub(super) fn of_body(&self, schema: &Schema, name: &str) -> Option<String> {
        if !self.target.does_tolerate(SHAPE_DIFFERS) || !schema.domain_name().is_empty() {
            return None;
        }
        let (inputs, body): (Vec<_>, GraphId) = {
            let record = self.model.node(self.node);
            (record.inputs().collect(), record.nested_graphs().next()?)
        };
        // Shapes of the other inputs of a loop may change.
        let mut compared = match (schema.name(), schema.since_version()) {
            ("Loop", _) => 1..2,
            ("Scan", 9..) | ("SequenceMap", _) => 0..inputs.len(),
            _ => return None,
        };
        let differs = |&index: &usize| {
            let given = self.given(schema.name(), &inputs, index);
            let declared = self.model.graph(body).inputs().get(index);
            let declared = declared.and_then(|&value| dims(self.model.value(value).ty()?));
            given.zip(declared).is_some_and(|(given, declared)| do_differ(&given, &declared))
        };
        let index = compared.find(differs)?;
        Some(format!("no {name} whose body declares another shape for its input {index} than it gets"))
    }

    /// The dimensions of what an input of a body gets, as far as they are known.
    fn given(&self, operator: &str, inputs: &[Option<ValueId>], index: usize) -> Option<Vec<Dim>> {
        let ty = self.types.type_of(self.model, (*inputs.get(index)?)?)?;
        if operator == "SequenceMap"
            && let TypeKind::Sequence(element) = &ty.kind
        {
            return dims(element.as_deref()?);
        }
        let mut given = dims(&ty)?;
        if operator == "Scan" {
            let scanned = self.attribute(self.node, "num_scan_inputs")?.as_int()?;
            let states = inputs.len().checked_sub(usize::try_from(scanned).ok()?)?;
            if let Some(number) = index.checked_sub(states) {
                let axes = self.attribute(self.node, "scan_input_axes").map(Attribute::as_ints);
                let axis = axes.map_or(Some(0), |axes| axes?.get(number).copied())?;
                let from_end = if axis < 0 { i64::try_from(given.len()).ok()? } else { 0 };
                let axis =
                    usize::try_from(axis.checked_add(from_end)?).ok().filter(|&axis| axis < given.len())?;
                given.remove(axis);
            }
        }
        Some(given)
    }
}

fn dims(ty: &Type) -> Option<Vec<Dim>> {
    let TypeKind::Tensor(tensor) = &ty.kind else { return None };
    Some(tensor.shape.as_ref()?.dims().to_vec())
}

/// Returns `true` if no shape is both.
fn do_differ(a: &[Dim], b: &[Dim]) -> bool {
    a.len() != b.len()
        || a.iter().zip(b).any(|pair| matches!(pair, (Dim::Known(one), Dim::Known(two)) if one != two))
}
