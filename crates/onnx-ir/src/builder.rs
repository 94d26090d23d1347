//! Making nodes pleasantly.

use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;
use onnx_types::{Symbol, Type};

use crate::attr::{AttrValue, Attribute};
use crate::changes::Aspects;
use crate::edit::EditError;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::node::NewNode;
use crate::order::Position;
use crate::provenance::Origin;
use crate::resolve::OpsetScope;
use crate::value::Def;

/// Makes nodes at a place, one after the other; [`Model::build_at`] returns it.
#[derive(Debug)]
pub struct Builder<'a> {
    model: &'a mut Model,
    at: Position,
    origin: Option<Origin>,
    /// Versions that apply to the new nodes in the place of those in scope.
    versions: Vec<(Symbol, i64)>,
}

impl<'a> Builder<'a> {
    /// Makes nodes for another version of an operator set than the one in scope, for code that changes the import afterwards:
    /// the builders of `onnx-ops` make their form.
    #[must_use]
    pub fn with_version(mut self, domain: Symbol, version: i64) -> Self {
        let domain = onnx_schema::normalize_domain(domain);
        self.versions.retain(|(other, _)| *other != domain);
        self.versions.push((domain, version));
        self
    }

    /// The version of an operator set for which nodes are made: that of [`with_version`](Self::with_version), or the one in
    /// scope at the place. `None` if it is not imported or the place is gone.
    #[must_use]
    pub fn version(&self, domain: Symbol) -> Option<i64> {
        let domain = onnx_schema::normalize_domain(domain);
        if let Some(&(_, version)) = self.versions.iter().find(|(other, _)| *other == domain) {
            return Some(version);
        }
        self.model.check_position(self.at).ok()?;
        let (graph, ..) = self.model.neighbours(self.at);
        self.model.versions_in(graph).get(domain)
    }

    /// Records that a pass makes the nodes from earlier ones, which diagnostics then name; see [`Model::derive`].
    ///
    /// # Panics
    ///
    /// Panics if one of `sources` is not of this model or was erased.
    #[must_use]
    pub fn derive(mut self, pass: &str, sources: &[NodeId]) -> Self {
        let pass = self.model.intern(pass);
        self.origin = Some(self.model.derive(pass, sources));
        self
    }

    /// Begins a node that calls an operator of the default domain; it is made by [`output`](NodeBuilder::output),
    /// [`outputs`](NodeBuilder::outputs) or [`node`](NodeBuilder::node).
    #[must_use = "the node is made by `output`, `outputs` or `node`"]
    pub fn op<'b>(
        &'b mut self,
        op: Symbol,
        inputs: impl IntoIterator<Item = ValueId>,
    ) -> NodeBuilder<'a, 'b> {
        NodeBuilder { builder: self, new: NewNode::new(op).inputs(inputs) }
    }

    /// Begins a node that calls an operator or function of any domain.
    #[must_use = "the node is made by `output`, `outputs` or `node`"]
    pub fn call<'b>(
        &'b mut self,
        domain: &str,
        op: &str,
        inputs: impl IntoIterator<Item = ValueId>,
    ) -> NodeBuilder<'a, 'b> {
        let (domain, op) = (self.model.intern(domain), self.model.intern(op));
        NodeBuilder { builder: self, new: NewNode { domain, ..NewNode::new(op).inputs(inputs) } }
    }

    /// Begins a node that calls an operator or function whose names are symbols of the model.
    #[must_use = "the node is made by `output`, `outputs` or `node`"]
    pub fn call_symbol<'b>(&'b mut self, domain: Symbol, op: Symbol) -> NodeBuilder<'a, 'b> {
        NodeBuilder { builder: self, new: NewNode { domain, ..NewNode::new(op) } }
    }

    /// A constant at this place: an initializer, or a `Constant` node in a function body, which cannot have initializers.
    ///
    /// # Errors
    ///
    /// Returns an error if the place is gone.
    pub fn constant(&mut self, tensor: Tensor) -> Result<ValueId, EditError> {
        self.model.check_position(self.at)?;
        let (graph, ..) = self.model.neighbours(self.at);
        if matches!(self.model.scope(graph), OpsetScope::Function(_)) {
            return self.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output();
        }
        Ok(self.model.add_initializer(graph, Symbol::EMPTY, tensor))
    }

    /// The model, for anything else between two nodes.
    pub const fn model(&mut self) -> &mut Model {
        self.model
    }

    /// The insertion point of the next node.
    #[must_use]
    pub const fn position(&self) -> Position {
        self.at
    }
}

/// A node in the making; see [`Builder::op`].
#[derive(Debug)]
pub struct NodeBuilder<'a, 'b> {
    builder: &'b mut Builder<'a>,
    new: NewNode,
}

impl NodeBuilder<'_, '_> {
    /// Sets the node's name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.new.name = self.builder.model.intern(name);
        self
    }

    /// Sets the overload of the function that is called.
    #[must_use]
    pub fn overload(mut self, overload: &str) -> Self {
        self.new.overload = self.builder.model.intern(overload);
        self
    }

    /// Adds an input; `None` leaves an optional one out.
    #[must_use]
    pub fn input(mut self, value: Option<ValueId>) -> Self {
        self.new.inputs.push(value);
        self
    }

    /// Adds an attribute. A nested graph is given by its key, and must be detached.
    #[must_use]
    pub fn attr(mut self, name: Symbol, value: impl Into<AttrValue>) -> Self {
        self.new.attributes.push(Attribute::new(name, value));
        self
    }

    /// Adds an attribute as it is, such as a reference to an attribute of the enclosing function.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.new.attributes.push(attribute);
        self
    }

    /// Makes the node without adding outputs.
    ///
    /// # Errors
    ///
    /// See [`Model::add_node`].
    pub fn node(self) -> Result<NodeId, EditError> {
        let Builder { model, at, origin, .. } = self.builder;
        let node = model.add_node(*at, self.new)?;
        // The next node is inserted after this one, so nodes are in the order of their creation.
        if matches!(at, Position::Start(_) | Position::After(_)) {
            *at = Position::After(node);
        }
        if let Some(origin) = *origin {
            model.set_node_origin(node, origin);
        }
        Ok(node)
    }

    /// Makes the node with one output, which gets a name when the model is written.
    ///
    /// # Errors
    ///
    /// See [`Model::add_node`].
    pub fn output(self) -> Result<ValueId, EditError> {
        self.output_named("")
    }

    /// Makes the node with one output of the given name.
    ///
    /// # Errors
    ///
    /// See [`Model::add_node`].
    pub fn output_named(mut self, name: &str) -> Result<ValueId, EditError> {
        let model = &mut *self.builder.model;
        let name = model.intern(name);
        let value = model.new_value(name);
        self.new.outputs.push(Some(value));
        self.finish(&[value]).map(|_| value)
    }

    /// Makes the node with several outputs.
    ///
    /// # Errors
    ///
    /// See [`Model::add_node`].
    pub fn outputs<const N: usize>(mut self) -> Result<[ValueId; N], EditError> {
        let values = std::array::from_fn(|_| self.builder.model.new_value(Symbol::EMPTY));
        self.new.outputs.extend(values.map(Some));
        self.finish(&values).map(|_| values)
    }

    /// Makes the node with a number of outputs that is known at run time; those that are `false` are omitted.
    ///
    /// # Errors
    ///
    /// See [`Model::add_node`].
    pub fn outputs_if(mut self, present: &[bool]) -> Result<Vec<Option<ValueId>>, EditError> {
        let model = &mut *self.builder.model;
        let values: Vec<Option<ValueId>> =
            present.iter().map(|present| present.then(|| model.new_value(Symbol::EMPTY))).collect();
        self.new.outputs.extend(values.iter().copied());
        let made: Vec<ValueId> = values.iter().copied().flatten().collect();
        self.finish(&made).map(|_| values)
    }

    /// Makes the node, and takes back its new outputs when it is refused.
    fn finish(self, outputs: &[ValueId]) -> Result<NodeId, EditError> {
        let NodeBuilder { builder, new } = self;
        let made = NodeBuilder { builder: &mut *builder, new }.node();
        if made.is_err() {
            for &value in outputs {
                builder.model.values.remove(value);
                builder.model.record(value, Aspects::ERASED);
            }
        }
        made
    }
}

impl Model {
    /// Makes nodes at a place, in the order they are asked for.
    ///
    /// ```
    /// use onnx_ir::{Model, Position};
    /// use onnx_schema::{attr, op};
    /// use onnx_types::{ElemType, Shape, Type};
    ///
    /// let mut model = Model::new();
    /// let graph = model.main_graph();
    /// let x = model.add_graph_input(graph, "x", Type::tensor(ElemType::Float, Some(Shape::known(&[2, 6]))));
    /// let mut build = model.build_at(Position::End(graph));
    /// let [left, right] = build.op(op::SPLIT, [x]).attr(attr::AXIS, 1_i64).attr(attr::NUM_OUTPUTS, 2_i64).outputs()?;
    /// let sum = build.op(op::ADD, [left, right]).name("sum").output_named("y")?;
    /// model.push_graph_output(graph, sum);
    /// assert_eq!(model.graph(graph).node_count(), 2);
    /// # Ok::<(), onnx_ir::EditError>(())
    /// ```
    pub const fn build_at(&mut self, at: Position) -> Builder<'_> {
        Builder { model: self, at, origin: None, versions: Vec::new() }
    }

    /// Makes a new value an input of a graph.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn add_graph_input(&mut self, graph: GraphId, name: &str, ty: impl Into<Option<Type>>) -> ValueId {
        let name = self.intern(name);
        let value = self.new_value_in(graph, name);
        let index = self.graphs[graph].inputs.len() as u32;
        self.graphs[graph].inputs.push(value);
        self.values[value].def = Def::Input { graph, index };
        self.record(graph, Aspects::INTERFACE);
        self.set_type(value, ty.into());
        value
    }

    /// A name that nothing in the model has, made from a prefix and a number in constant time.
    pub fn fresh_name(&mut self, prefix: &str) -> Symbol {
        self.names.fresh(prefix)
    }

    /// A name that nothing in the model has: this one, or one that is made from it as [`fresh_name`](Self::fresh_name) does.
    pub fn unused_name(&mut self, name: &str) -> Symbol {
        match self.names.get(name) {
            None => self.intern(name),
            Some(_) => self.fresh_name(name),
        }
    }
}
