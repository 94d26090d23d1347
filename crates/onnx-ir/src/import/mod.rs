//! Import of graphs, nodes and functions of another model.

mod region;
mod translate;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_types::tensor::NoData;
use onnx_types::{Dim, FieldForms, Interrupt, Stopped, Symbol, Watch};
use slotmap::SparseSecondaryMap;

use crate::attr::{AttrExtra, AttrValue, Attribute};
use crate::edit::EditError;
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::graph::{Owner, QuantAnnotation, QuantParameter};
use crate::info::OpsetImport;
use crate::model::Model;
use crate::node::NewNode;
use crate::order::Position;
use crate::value::{Def, Value};

/// The copies of the graphs that are nested in one. Its cost is theirs, whatever the size of the model.
type Copies = SparseSecondaryMap<GraphId, GraphId, RandomState>;

/// Values and nodes between two checks of the interrupt.
const WATCHED: u64 = 1 << 10;

/// Copies parts of one model into another.
///
/// Names, types, dimension expressions, documentation and metadata are copied into the tables of the receiving model; weights
/// are shared. The receiving model keeps its operator sets: compare [`Model::versions_of`] of both before nodes are imported.
///
/// Values from outside the imported part must be mapped before, to a value of the receiving model or to nothing:
///
/// ```
/// use onnx_ir::{Importer, Model, Position};
/// use onnx_schema::op;
/// # use onnx_types::{ElemType, Type};
/// # let (mut from, mut into) = (Model::new(), Model::new());
/// # let a = from.add_graph_input(from.main_graph(), "a", Type::tensor(ElemType::Float, None));
/// # let relu = from.build_at(Position::End(from.main_graph())).op(op::RELU, [a]).output()?;
/// # let x = into.add_graph_input(into.main_graph(), "x", Type::tensor(ElemType::Float, None));
/// // `from` computes relu = Relu(a), and x takes the place of a.
/// let mut importer = Importer::new(&from);
/// importer.map(a, Some(x));
/// let end = Position::End(into.main_graph());
/// let nodes = importer.nodes(&mut into, from.main_graph(), end)?;
/// assert_eq!(into.node(nodes[0]).input(0), Some(x));
/// assert_eq!(importer.get(relu), into.node(nodes[0]).output(0));
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
#[derive(Debug)]
pub struct Importer<'a> {
    from: &'a Model,
    values: SparseSecondaryMap<ValueId, Option<ValueId>, RandomState>,
    functions: SparseSecondaryMap<FunctionId, FunctionId, RandomState>,
    symbols: HashMap<Symbol, Symbol, RandomState>,
    /// What dimension variables become that do not keep their names.
    dimensions: HashMap<Symbol, Dim, RandomState>,
    attributes: Option<Vec<Attribute>>,
    /// The values that the import under way has made.
    made: Vec<ValueId>,
    /// Number of values and graphs that an anonymous import has made; `None` if names are imported.
    anonymous: Option<usize>,
    /// Ends imports of many nodes.
    watch: Watch,
}

/// The imported part.
#[derive(Clone, Copy)]
enum Source {
    /// A graph.
    Graph(GraphId),
    /// The nodes and initializers of a graph.
    Contents(GraphId),
    /// A node.
    Node(NodeId),
}

impl Source {
    fn nodes(self, from: &Model) -> impl Iterator<Item = NodeId> + '_ {
        let (graph, node) = match self {
            Self::Graph(graph) | Self::Contents(graph) => (Some(graph), None),
            Self::Node(node) => (None, Some(node)),
        };
        graph.into_iter().flat_map(|graph| from.nodes(graph)).chain(node)
    }

    /// The graph whose initializers and annotations are imported.
    const fn contents(self) -> Option<GraphId> {
        match self {
            Self::Graph(graph) | Self::Contents(graph) => Some(graph),
            Self::Node(_) => None,
        }
    }
}

impl<'a> Importer<'a> {
    /// An importer from this model. All parts that it imports go into one other model.
    #[must_use]
    pub fn new(from: &'a Model) -> Self {
        Self {
            from,
            values: SparseSecondaryMap::default(),
            functions: SparseSecondaryMap::default(),
            symbols: HashMap::default(),
            dimensions: HashMap::default(),
            attributes: None,
            made: Vec::new(),
            anonymous: None,
            watch: Watch::silent(&Interrupt::NEVER, WATCHED),
        }
    }

    /// Like [`new`](Self::new), for a copy that does not depend on the names in the other model. It contains what the other
    /// model computes, and nothing else.
    ///
    /// Values are named `v0`, `v1` and so on, nested graphs `g0`, `g1`. Operators, attributes and functions keep their names.
    /// Declared types are imported for the inputs of graphs only, with those sizes that are numbers. Names of nodes,
    /// documentation, metadata, `value_info`, annotations, device configurations and unknown fields are omitted.
    #[must_use]
    pub fn anonymous(from: &'a Model) -> Self {
        Self { anonymous: Some(0), ..Self::new(from) }
    }

    /// Lets an interrupt end imports with [`EditError::Stopped`]. The receiving model then has a part of the values and nodes, which nothing
    /// refers to: drop it.
    pub fn set_interrupt(&mut self, interrupt: &Interrupt) {
        self.watch = Watch::silent(interrupt, WATCHED);
    }

    /// Lets operands `from` become `to`, or be omitted.
    pub fn map(&mut self, from: ValueId, to: Option<ValueId>) {
        self.values.insert(from, to);
    }

    /// Lets a dimension variable of the other model become a variable or size of the receiving model. Others keep their names.
    pub fn map_dimension(&mut self, from: Symbol, to: Dim) {
        self.dimensions.insert(from, to);
    }

    /// The value of the receiving model that stands for a value; `None` if nothing does.
    #[must_use]
    pub fn get(&self, value: ValueId) -> Option<ValueId> {
        self.values.get(value).copied().flatten()
    }

    /// Gives the attributes of a call, with names of the receiving model: references to a function's attribute are replaced
    /// by the attribute of that name, and removed if the list has none. Put the defaults of the function at the end of the
    /// list; the first of a name counts. A reference in the list must have a value in every call if the function has a default
    /// for the attribute: where it has none, the default would apply, which a copy cannot express.
    pub fn set_attributes(&mut self, attributes: Vec<Attribute>) {
        self.attributes = Some(attributes);
    }

    /// Imports a graph with everything nested in it, detached. The operator sets of `into` apply to it.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph uses a value from outside that is not mapped, or a mapped value is gone.
    pub fn graph(&mut self, into: &mut Model, graph: GraphId) -> Result<GraphId, EditError> {
        let name = self.from.get_graph(graph).ok_or(EditError::Gone)?.name();
        let name = self.graph_name(into, name);
        let copy = into.new_graph(name);
        self.fill_or_drop(into, Source::Graph(graph), copy)?;
        Ok(copy)
    }

    /// Imports the nodes and initializers of a graph, with everything nested in them, to a place. Returns the new nodes of the
    /// outermost level, in order; [`get`](Self::get) returns the copies of the outputs.
    ///
    /// # Errors
    ///
    /// Returns an error if the nodes use an input of the graph, or a value from outside, that is not mapped, or if the
    /// insertion point or a mapped value is gone. `into` is unchanged then, except its interner and table of
    /// expressions.
    pub fn nodes(
        &mut self,
        into: &mut Model,
        graph: GraphId,
        at: Position,
    ) -> Result<Vec<NodeId>, EditError> {
        self.from.get_graph(graph).ok_or(EditError::Gone)?;
        self.place(into, Source::Contents(graph), at)
    }

    /// Imports a node, with everything nested in it, to a place. Returns the new node; [`get`](Self::get) tells where its
    /// outputs went.
    ///
    /// # Errors
    ///
    /// See [`nodes`](Self::nodes).
    pub fn node(&mut self, into: &mut Model, node: NodeId, at: Position) -> Result<NodeId, EditError> {
        self.from.get_node(node).ok_or(EditError::Gone)?;
        let nodes = self.place(into, Source::Node(node), at)?;
        nodes.first().copied().ok_or(EditError::Gone)
    }

    fn place(&mut self, into: &mut Model, source: Source, at: Position) -> Result<Vec<NodeId>, EditError> {
        into.check_position(at)?;
        let (target, ..) = into.neighbours(at);
        let shell = into.new_graph_in(target, Symbol::EMPTY);
        self.fill_or_drop(into, source, shell)?;
        let nodes = into.nodes(shell).collect();
        into.splice(shell, at)?;
        into.drop_graphs(vec![shell]);
        Ok(nodes)
    }

    /// Imports a function. A function of the same identity that means the same is used as it is.
    ///
    /// The functions that it calls are not imported: import the [callees first](crate::CallGraph::callees_first).
    ///
    /// # Errors
    ///
    /// Returns an error if `into` has another function of this identity, or the body uses values of nothing.
    pub fn function(&mut self, into: &mut Model, function: FunctionId) -> Result<FunctionId, EditError> {
        if let Some(&known) = self.functions.get(function) {
            return Ok(known);
        }
        let record = self.from.functions.get(function).ok_or(EditError::Gone)?;
        let [domain, name, overload] =
            [record.written_domain(), record.name(), record.overload()].map(|name| self.symbol(into, name));
        let existing = into.find_function(domain, name, overload);
        let copy = into.add_function(domain, name, overload);
        let start = self.made.len();
        let filled = self.fill_function(into, function, copy);
        let made = self.made.split_off(start);
        let result = match (filled, existing) {
            (Ok(()), None) => Ok(copy),
            (Ok(()), Some(known)) if into.same_function_meaning(known, copy, &NoData) => Ok(known),
            (Ok(()), Some(_)) => Err(EditError::FunctionExists),
            (Err(error), _) => Err(error),
        };
        if result != Ok(copy) {
            into.remove_function(copy)?;
            erase_unresolved(into, made)?;
        }
        let kept = result?;
        self.functions.insert(function, kept);
        Ok(kept)
    }

    fn fill_function(
        &mut self,
        into: &mut Model,
        function: FunctionId,
        copy: FunctionId,
    ) -> Result<(), EditError> {
        let record = &self.from.functions[function];
        // References in a body that is imported stay references.
        let outer = self.attributes.take();
        let body = into.function(copy).body();
        let filled = self.fill(into, Source::Graph(record.body()), body);
        self.attributes = outer;
        filled?;
        for default in &record.defaults {
            let default = self.attribute(into, default, &Copies::default())?;
            if let Some(default) = default {
                into.push_function_default(copy, default)?;
            }
        }
        let attributes = record.attributes.iter().map(|&name| self.symbol(into, name)).collect();
        let imports = record.opset_imports.iter();
        let imports = imports
            .map(|import| OpsetImport::new(self.symbol(into, import.written_domain()), import.version()))
            .collect();
        let (doc, metadata) = (self.note(into, record.doc), self.metadata(into, &record.metadata));
        let mut info = into.function_mut(copy);
        (info.attributes, info.opset_imports, info.doc, info.metadata) = (attributes, imports, doc, metadata);
        Ok(())
    }

    /// Imports into a graph that was made for it; removes the graph if that fails.
    fn fill_or_drop(&mut self, into: &mut Model, source: Source, copy: GraphId) -> Result<(), EditError> {
        let start = self.made.len();
        let filled = self.fill(into, source, copy);
        let made = self.made.split_off(start);
        // What is left of work that was stopped is not removed: that would take as long.
        if filled.is_err() && filled != Err(EditError::Stopped) {
            into.drop_graphs(vec![copy]);
            erase_unresolved(into, made)?;
        }
        filled
    }

    /// Imports into a graph, with all nested graphs, without recursion. If that fails, the graph and the outputs of nodes that
    /// were not made are left to the caller.
    fn fill(&mut self, into: &mut Model, source: Source, copy: GraphId) -> Result<(), EditError> {
        let from = self.from;
        let mut pairs = vec![(source, copy)];
        let mut copies = Copies::default();
        let mut position = 0;
        while let Some(&(source, copy)) = pairs.get(position) {
            self.define(into, source, copy)?;
            for node in source.nodes(from) {
                for nested in from.node(node).nested_graphs() {
                    let name = self.graph_name(into, from.graph(nested).name());
                    let nested_copy = into.new_graph_in(copy, name);
                    pairs.push((Source::Graph(nested), nested_copy));
                    copies.insert(nested, nested_copy);
                }
            }
            position += 1;
        }
        // Inner graphs are filled before the nodes that own them are made.
        for &(source, copy) in pairs.iter().rev() {
            let made = self.contents(into, source, copy, &copies);
            if made.is_err() && made != Err(EditError::Stopped) {
                // Those that are owned by now go with their owners.
                let detached = copies
                    .values()
                    .copied()
                    .filter(|&graph| into.graph(graph).owner() == Owner::Detached)
                    .collect();
                into.drop_graphs(detached);
            }
            made?;
        }
        Ok(())
    }

    /// Makes the values that a graph or node defines.
    fn define(&mut self, into: &mut Model, source: Source, copy: GraphId) -> Result<(), EditError> {
        let from = self.from;
        if let Source::Graph(graph) = source {
            for &input in from.graph(graph).inputs() {
                let new = self.value(into, input, copy, true);
                into.push_graph_input(copy, new)?;
                into.set_initializer(copy, new, from.value(input).initializer().cloned());
            }
        }
        for value in source.contents().into_iter().flat_map(|graph| from.initializers(graph)) {
            if matches!(from.value(value).def(), Def::Initializer(_)) {
                let new = self.value(into, value, copy, false);
                into.set_initializer(copy, new, from.value(value).initializer().cloned());
            }
        }
        for node in source.nodes(from) {
            self.watch.work(1)?;
            for &output in from.node(node).outputs().iter().flatten() {
                self.value(into, output, copy, false);
            }
        }
        Ok(())
    }

    /// Makes an unresolved value like one of the other model.
    fn value(&mut self, into: &mut Model, value: ValueId, graph: GraphId, is_input: bool) -> ValueId {
        let record = self.from.value(value);
        let name = match self.next_number() {
            Some(number) => into.intern(&format!("v{number}")),
            None => self.symbol(into, record.name()),
        };
        let new = into.new_value_in(graph, name);
        let ty = record.shared_ty().filter(|_| is_input || self.anonymous.is_none());
        if let Some(ty) = self.shared_ty(into, ty) {
            into.set_type(new, Some(ty));
        }
        if let Some(extras) = record.extras().filter(|_| self.anonymous.is_none()) {
            let extras = self.extras(into, extras);
            *into.value_extras_mut(new) = extras;
        }
        self.values.insert(value, Some(new));
        self.made.push(new);
        new
    }

    /// The number of the next name of an anonymous import.
    fn next_number(&mut self) -> Option<usize> {
        let next = self.anonymous.as_mut()?;
        let number = *next;
        *next += 1;
        Some(number)
    }

    fn graph_name(&mut self, into: &mut Model, name: Symbol) -> Symbol {
        match self.next_number() {
            Some(number) => into.intern(&format!("g{number}")),
            None => self.symbol(into, name),
        }
    }

    fn operand(&self, value: ValueId) -> Result<Option<ValueId>, EditError> {
        self.values.get(value).copied().ok_or(EditError::NotMapped { value })
    }

    /// What takes the place of a value that an attribute names. The name of nothing stays the name of nothing.
    fn named(&mut self, into: &mut Model, value: ValueId) -> Result<ValueId, EditError> {
        let is_unresolved = matches!(self.from.get_value(value).map(Value::def), Some(Def::Unresolved(_)));
        if is_unresolved && !self.values.contains_key(value) {
            return Ok(self.value(into, value, into.main_graph(), false));
        }
        self.operand(value)?.ok_or(EditError::NotMapped { value })
    }

    fn contents(
        &mut self,
        into: &mut Model,
        source: Source,
        copy: GraphId,
        copies: &Copies,
    ) -> Result<(), EditError> {
        let from = self.from;
        for node in source.nodes(from) {
            self.watch.work(1)?;
            self.make_node(into, node, copy, copies)?;
        }
        if let Source::Graph(graph) = source {
            for output in from.graph(graph).outputs() {
                let value =
                    self.operand(output.value())?.ok_or(EditError::NotMapped { value: output.value() })?;
                into.get_value(value).ok_or(EditError::Gone)?;
                into.push_graph_output(copy, value);
            }
        }
        let Some(graph) = source.contents().filter(|_| self.anonymous.is_none()) else { return Ok(()) };
        for entry in from.value_info(graph) {
            if let Some(value) = self.get(entry.value()) {
                let own = entry.own().map(|own| Box::new(self.own_info(into, own)));
                into.push_value_info(copy, value, own);
            }
        }
        let record = from.graph(graph);
        let quantization = record.quantization.iter().map(|entry| self.annotation(into, entry)).collect();
        let (doc, metadata) = (self.note(into, record.doc), self.metadata(into, &record.metadata));
        let mut info = into.graph_mut(copy);
        (info.quantization, info.doc, info.metadata) = (quantization, doc, metadata);
        Ok(())
    }

    fn make_node(
        &mut self,
        into: &mut Model,
        node: NodeId,
        copy: GraphId,
        copies: &Copies,
    ) -> Result<(), EditError> {
        let record = self.from.node(node);
        let operand = |value: Option<ValueId>| value.map_or(Ok(None), |value| self.operand(value));
        let inputs = record.inputs().map(operand).collect::<Result<_, _>>()?;
        let outputs = record.outputs().iter().copied().map(operand).collect::<Result<_, _>>()?;
        let mut attributes = Vec::with_capacity(record.attributes().len());
        for attribute in record.attributes() {
            attributes.extend(self.attribute(into, attribute, copies)?);
        }
        let new = NewNode {
            op: self.symbol(into, record.op()),
            domain: self.symbol(into, record.written_domain()),
            overload: self.symbol(into, record.overload()),
            name: self.note(into, record.name()),
            inputs,
            outputs,
            attributes,
            forms: if self.anonymous.is_some() { FieldForms::default() } else { record.forms() },
            extras: (record.extras().filter(|_| self.anonymous.is_none()))
                .map(|extras| Box::new(self.extras(into, extras))),
        };
        into.add_node(Position::End(copy), new)?;
        Ok(())
    }

    /// The attribute with the copies of its graphs, or what a reference stands for; `None` if the call omits that.
    fn attribute(
        &mut self,
        into: &mut Model,
        attribute: &Attribute,
        copies: &Copies,
    ) -> Result<Option<Attribute>, EditError> {
        let name = self.symbol(into, attribute.name());
        let mut nested = |importer: &mut Self, graph: &GraphId| match copies.get(*graph) {
            Some(&copy) => Ok(copy),
            // A graph in an attribute default of a function is not inside the body.
            None => importer.graph(into, *graph),
        };
        let value = match attribute.value() {
            AttrValue::Graph(graph) => AttrValue::Graph(nested(self, graph)?),
            AttrValue::Value(value) => AttrValue::Value(self.named(into, *value)?),
            AttrValue::Values(values) => AttrValue::Values(
                values.iter().map(|&value| self.named(into, value)).collect::<Result<_, _>>()?,
            ),
            AttrValue::Graphs(graphs) => {
                AttrValue::Graphs(graphs.iter().map(|graph| nested(self, graph)).collect::<Result<_, _>>()?)
            }
            AttrValue::Ref(target) => {
                let target = self.symbol(into, *target);
                let Some(actual) = &self.attributes else {
                    return Ok(Some(Attribute::reference(name, target, attribute.kind())));
                };
                let Some(actual) = actual.iter().find(|actual| actual.name() == target) else {
                    return Ok(None);
                };
                let value = actual.value().clone();
                return Ok(Some(attribute.resolved(name, into.with_copied_graphs(value, &mut Vec::new())?)));
            }
            AttrValue::Type(ty) => AttrValue::Type(Arc::new(self.ty(into, ty))),
            AttrValue::Types(types) => AttrValue::Types(types.iter().map(|ty| self.ty(into, ty)).collect()),
            other => other.clone(),
        };
        if self.anonymous.is_some() {
            return Ok(Some(Attribute::new(name, value)));
        }
        let doc = self.symbol(into, attribute.doc());
        let extra = (!doc.is_empty() || !attribute.unknown().is_empty())
            .then(|| Box::new(AttrExtra { doc, unknown: attribute.unknown().to_vec() }));
        Ok(Some(Attribute::from_parts(name, value, attribute.declared_kind(), attribute.forms(), extra)))
    }

    fn annotation(&mut self, into: &mut Model, annotation: &QuantAnnotation) -> QuantAnnotation {
        let parameter = |importer: &mut Self, into: &mut Model, entry: &QuantParameter| QuantParameter {
            key: importer.symbol(into, entry.key),
            value: importer.reference(into, entry.value),
            forms: entry.forms,
            unknown: entry.unknown.clone(),
        };
        QuantAnnotation {
            tensor: self.reference(into, annotation.tensor),
            parameters: annotation.parameters.iter().map(|entry| parameter(self, into, entry)).collect(),
            forms: annotation.forms,
            unknown: annotation.unknown.clone(),
        }
    }
}

impl From<Stopped> for EditError {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

/// Erases the values that nothing defines: outputs of nodes that were not made.
fn erase_unresolved(into: &mut Model, values: Vec<ValueId>) -> Result<(), EditError> {
    let is_unresolved =
        |value: ValueId| into.get_value(value).is_some_and(|value| matches!(value.def(), Def::Unresolved(_)));
    let unresolved: Vec<ValueId> = values.into_iter().filter(|&value| is_unresolved(value)).collect();
    unresolved.into_iter().try_for_each(|value| into.erase_value(value))
}
