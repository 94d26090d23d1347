//! Nodes: calls of operators.

use onnx_schema::{CONSTANT_VALUES, normalize_domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{FieldForms, Symbol, UnknownField};
use smallvec::SmallVec;

use crate::attr::Attribute;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::extras::{Extras, MetadataEntry, NodeDeviceConfiguration};

/// One input of a node: the value, and where the value's use list records it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operand {
    /// The value; `None` where an optional input is left out.
    pub(crate) value: Option<ValueId>,
    /// The position of this use in the value's use list.
    pub(crate) slot: u32,
}

impl Operand {
    pub(crate) const ABSENT: Self = Self { value: None, slot: 0 };
}

/// A node: an operator applied to values (message `NodeProto`).
///
/// The record contains the node's properties; its insertion point in the graph is a pair of links that only the model
/// changes.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) op: Symbol,
    pub(crate) domain: Symbol,
    pub(crate) overload: Symbol,
    pub(crate) name: Symbol,
    pub(crate) inputs: SmallVec<[Operand; 2]>,
    pub(crate) outputs: SmallVec<[Option<ValueId>; 1]>,
    pub(crate) attributes: Vec<Attribute>,
    /// For each value that the attributes name, in their order: the position of this use in the value's use list.
    pub(crate) name_slots: Box<[u32]>,
    pub(crate) extras: Option<Box<Extras>>,
    pub(crate) forms: FieldForms,
    pub(crate) graph: GraphId,
    pub(crate) prev: Option<NodeId>,
    pub(crate) next: Option<NodeId>,
    /// Ascends along the list; see `order`.
    pub(crate) order: u64,
}

impl Node {
    /// The operator (or function) that the node calls: `op_type`.
    #[must_use]
    pub const fn op(&self) -> Symbol {
        self.op
    }

    /// The domain of the operator, with `ai.onnx` replaced by its other name, the empty one.
    #[must_use]
    pub fn domain(&self) -> Symbol {
        normalize_domain(self.domain)
    }

    /// The domain as it is written.
    #[must_use]
    pub const fn written_domain(&self) -> Symbol {
        self.domain
    }

    /// The overload of the function that the node calls; empty for operators.
    #[must_use]
    pub const fn overload(&self) -> Symbol {
        self.overload
    }

    /// The tensor that the attribute of a `Constant` gives, in whichever form. `None` for other operators, sparse tensors, and
    /// nodes without exactly one attribute.
    #[must_use]
    pub fn constant_tensor(&self) -> Option<Tensor> {
        let [attribute] = self.attributes() else { return None };
        let is_constant = self.is(op::CONSTANT) && CONSTANT_VALUES.contains(&attribute.name());
        is_constant.then(|| attribute.value().to_tensor()).flatten()
    }

    /// Whether the node calls this operator of the default domain.
    ///
    /// ```
    /// # use onnx_ir::{Model, Position, NewNode};
    /// # use onnx_schema::op;
    /// # let mut model = Model::new();
    /// # let graph = model.main_graph();
    /// # let node = model.add_node(Position::End(graph), NewNode::new(op::RELU)).unwrap();
    /// assert!(model.node(node).is(op::RELU));
    /// ```
    #[must_use]
    pub fn is(&self, op: Symbol) -> bool {
        self.op == op && self.domain().is_empty()
    }

    /// The name; empty where there is none.
    #[must_use]
    pub const fn name(&self) -> Symbol {
        self.name
    }

    /// The inputs in order; `None` where an optional input is left out.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = Option<ValueId>> + DoubleEndedIterator + '_ {
        self.inputs.iter().map(|operand| operand.value)
    }

    /// The input at a position; `None` where it is left out or the node has fewer inputs.
    #[must_use]
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index)?.value
    }

    /// The number of inputs, those left out in the middle included.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// The values that attributes name, in the order of the attributes; see [`AttrValue::Value`](crate::AttrValue::Value).
    pub fn named_values(&self) -> impl Iterator<Item = ValueId> + '_ {
        // Next to no node has any.
        let attributes: &[Attribute] = if self.name_slots.is_empty() { &[] } else { &self.attributes };
        attributes.iter().flat_map(|attribute| attribute.value().values().iter().copied())
    }

    /// The values that the node itself uses: its inputs, then those that attributes name. Uses in nested graphs are not among them:
    /// see [`Model::for_each_use_within`](crate::Model::for_each_use_within).
    pub fn used_values(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs().flatten().chain(self.named_values())
    }

    /// The outputs in order; `None` where an optional output is left out.
    #[must_use]
    pub fn outputs(&self) -> &[Option<ValueId>] {
        &self.outputs
    }

    /// The output at a position; `None` where it is left out or the node has fewer outputs.
    #[must_use]
    pub fn output(&self, index: usize) -> Option<ValueId> {
        self.outputs.get(index).copied().flatten()
    }

    /// The attributes in file order.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The attribute with the given name, if there is one; the first where a file repeats a name.
    #[must_use]
    pub fn attribute(&self, name: Symbol) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name() == name)
    }

    /// The integer attribute with the given name.
    #[must_use]
    pub fn int(&self, name: Symbol) -> Option<i64> {
        self.attribute(name)?.as_int()
    }

    /// The integer list attribute with the given name.
    #[must_use]
    pub fn ints(&self, name: Symbol) -> Option<&[i64]> {
        self.attribute(name)?.as_ints()
    }

    /// The nested graphs of all attributes, in order.
    pub fn nested_graphs(&self) -> impl Iterator<Item = GraphId> + '_ {
        self.attributes.iter().flat_map(|attribute| attribute.value().graphs().iter().copied())
    }

    /// The graph that contains the node.
    #[must_use]
    pub const fn graph(&self) -> GraphId {
        self.graph
    }

    /// The node before this one in the same graph.
    #[must_use]
    pub const fn prev(&self) -> Option<NodeId> {
        self.prev
    }

    /// The node after this one in the same graph.
    #[must_use]
    pub const fn next(&self) -> Option<NodeId> {
        self.next
    }

    /// The documentation; empty where there is none.
    #[must_use]
    pub fn doc(&self) -> Symbol {
        self.extras.as_ref().map_or(Symbol::EMPTY, |extras| extras.doc)
    }

    /// The metadata.
    #[must_use]
    pub fn metadata(&self) -> &[MetadataEntry] {
        self.extras.as_ref().map_or(&[], |extras| &extras.metadata)
    }

    /// The distribution of the node over several devices.
    #[must_use]
    pub fn device_configurations(&self) -> &[NodeDeviceConfiguration] {
        self.extras.as_ref().map_or(&[], |extras| &extras.device_configurations)
    }

    /// Fields that this version of the format does not know.
    #[must_use]
    pub fn unknown(&self) -> &[UnknownField] {
        self.extras.as_ref().map_or(&[], |extras| &extras.unknown)
    }

    /// The explicitly encoded defaults.
    #[must_use]
    pub const fn forms(&self) -> FieldForms {
        self.forms
    }

    /// Documentation, metadata, device configurations and unknown fields, if there are any.
    #[must_use]
    pub fn extras(&self) -> Option<&Extras> {
        self.extras.as_deref()
    }
}

/// The record of a new node; [`Model::add_node`](crate::Model::add_node) inserts it into a graph.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewNode {
    /// The operator.
    pub op: Symbol,
    /// Its domain; empty for the default one.
    pub domain: Symbol,
    /// The overload of a function; empty for operators.
    pub overload: Symbol,
    /// The node's name; may be empty.
    pub name: Symbol,
    /// The inputs; `None` leaves an optional one out.
    pub inputs: SmallVec<[Option<ValueId>; 4]>,
    /// The outputs: unresolved values that the node will define; `None` leaves an optional one out.
    pub outputs: SmallVec<[Option<ValueId>; 2]>,
    /// The attributes. Nested graphs in them must be detached; they come to belong to the node.
    pub attributes: Vec<Attribute>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Documentation, metadata and other extras.
    pub extras: Option<Box<Extras>>,
}

impl NewNode {
    /// A node that calls an operator of the default domain, without inputs and outputs so far.
    #[must_use]
    pub fn new(op: Symbol) -> Self {
        Self { op, ..Self::default() }
    }

    /// Sets the domain of the operator.
    #[must_use]
    pub const fn domain(mut self, domain: Symbol) -> Self {
        self.domain = domain;
        self
    }

    /// Sets the name.
    #[must_use]
    pub const fn name(mut self, name: Symbol) -> Self {
        self.name = name;
        self
    }

    /// Adds inputs.
    #[must_use]
    pub fn inputs(mut self, inputs: impl IntoIterator<Item = ValueId>) -> Self {
        self.inputs.extend(inputs.into_iter().map(Some));
        self
    }

    /// Adds outputs: unresolved values, such as [`Model::new_value`](crate::Model::new_value) makes.
    #[must_use]
    pub fn outputs(mut self, outputs: impl IntoIterator<Item = ValueId>) -> Self {
        self.outputs.extend(outputs.into_iter().map(Some));
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute);
        self
    }
}
