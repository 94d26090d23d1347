//! Equality and hash of attributes, nodes and graphs by what they compute: the encoding, names of values and notes for
//! readers do not count. The equality of [`Attribute`] and [`Tensor`](onnx_types::tensor::Tensor) compares encodings.

use std::hash::{Hash, Hasher};

use foldhash::fast::RandomState;
use onnx_schema::{AttrDefault, Registry, Schema};
use onnx_types::Type;
use onnx_types::tensor::DataSource;
use slotmap::SparseSecondaryMap;
use smallvec::SmallVec;

use crate::attr::{AttrValue, Attribute};
use crate::constant::{Constant, SparseTensor};
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::node::Node;
use crate::resolve::{Callee, OpsetScope};

/// Maximum number of nodes of each nested graph that the hash of a node covers: enough to tell apart nodes whose nested graphs have
/// the same operators on other values.
const HASHED_NODES: usize = 32;

impl Model {
    /// Whether two nodes are the same computation on the same values: they call the same operator or function, with the same
    /// operands and attributes, and have as many outputs.
    ///
    /// Floats are equal if their bits are, so a NaN is equal to itself and −0.0 differs from 0.0. An attribute of a standard
    /// operator that has its default is equal to an absent one. The order of attributes, storage of tensors, names,
    /// documentation and metadata do not count. Nested graphs are compared as by
    /// [`same_graph_meaning`](Self::same_graph_meaning). Tensors whose elements `source` cannot read are different, unless
    /// they name the same range of the same file.
    ///
    /// Random operators are not deterministic: two nodes of the same meaning can give different values
    /// ([`Schema::determinism`]).
    ///
    /// # Panics
    ///
    /// Panics if a node is not of this model or was erased.
    #[must_use]
    pub fn same_meaning(&self, a: NodeId, b: NodeId, source: &dyn DataSource) -> bool {
        let mut comparison = Comparison::new(self, source);
        comparison.nodes(a, b) && comparison.finish()
    }

    /// Returns `true` if two nodes are the same computation on operands that correspond: like [`same_meaning`](Self::same_meaning),
    /// but of the operands only those that are omitted are compared.
    ///
    /// # Panics
    ///
    /// Panics if a node is not of this model or was erased.
    #[must_use]
    pub fn same_operator_meaning(&self, a: NodeId, b: NodeId, source: &dyn DataSource) -> bool {
        let mut comparison = Comparison::new(self, source);
        a == b
            || (same_arity(&self.nodes[a], &self.nodes[b])
                && comparison.operators(a, b)
                && comparison.finish())
    }

    /// Returns `true` if two functions declare and compute the same, whatever their identities, as
    /// [`same_graph_meaning`](Self::same_graph_meaning) compares their bodies.
    ///
    /// # Panics
    ///
    /// Panics if a function is not of this model or was removed.
    #[must_use]
    pub fn same_function_meaning(&self, a: FunctionId, b: FunctionId, source: &dyn DataSource) -> bool {
        let (first, second) = (self.function(a), self.function(b));
        let has_equal = |default: &Attribute| {
            let mut others = second.defaults.iter();
            others.any(|other| self.same_attribute_meaning(default, other, source))
        };
        first.attributes == second.attributes
            && self.versions_of(OpsetScope::Function(a)) == self.versions_of(OpsetScope::Function(b))
            && first.defaults.len() == second.defaults.len()
            && first.defaults.iter().all(has_equal)
            && self.same_graph_meaning(first.body(), second.body(), source)
    }

    /// Whether two graphs compute the same from the same inputs, up to the names of their values: the same nodes in the same
    /// order, with the values of one graph in the place of those of the other. Inputs and outputs correspond by position;
    /// values from outside must be the same.
    ///
    /// # Panics
    ///
    /// Panics if a graph is not of this model or was removed.
    #[must_use]
    pub fn same_graph_meaning(&self, a: GraphId, b: GraphId, source: &dyn DataSource) -> bool {
        let mut comparison = Comparison::new(self, source);
        comparison.open.push((a, b));
        comparison.finish()
    }

    /// Whether two attributes have the same name and value, as [`same_meaning`](Self::same_meaning) compares them.
    #[must_use]
    pub fn same_attribute_meaning(&self, a: &Attribute, b: &Attribute, source: &dyn DataSource) -> bool {
        let mut comparison = Comparison::new(self, source);
        a.name() == b.name() && comparison.attributes(a, b) && comparison.finish()
    }

    /// Feeds a hash that nodes of the [same meaning](Self::same_meaning) share, in time linear in the node and a few nodes of its
    /// nested graphs. A few hundred bytes of each initializer that they use are read.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn hash_meaning(&self, node: NodeId, source: &dyn DataSource, state: &mut impl Hasher) {
        self.hash_operator(node, source, state);
        self.hash_inputs(node, None, source, state);
        // The order of attributes does not count.
        let sum = self.nodes[node].nested_graphs().fold(0_u64, |sum, graph| {
            let mut hasher = Fold::default();
            for nested in self.nodes(graph).take(HASHED_NODES) {
                self.nodes[nested].op.hash(&mut hasher);
                self.hash_inputs(nested, Some(graph), source, &mut hasher);
            }
            sum.wrapping_add(hasher.finish())
        });
        sum.hash(state);
    }

    /// Feeds the inputs of a node, except those that a graph defines.
    fn hash_inputs(
        &self,
        node: NodeId,
        inner: Option<GraphId>,
        source: &dyn DataSource,
        state: &mut impl Hasher,
    ) {
        for input in self.nodes[node].inputs() {
            // Initializers of equal elements are equal operands.
            match input.and_then(|input| self.values[input].constant()) {
                Some(constant) => constant.hash_meaning(source, state),
                None if inner.is_some() && input.map(|input| self.graph_of(input)) == inner => {}
                None => input.hash(state),
            }
        }
    }

    /// Feeds a hash that nodes share which are the same computation on any operands: see
    /// [`same_operator_meaning`](Self::same_operator_meaning).
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn hash_operator(&self, node: NodeId, source: &dyn DataSource, state: &mut impl Hasher) {
        let schema = self.callee(node, Registry::STANDARD).standard();
        let node = &self.nodes[node];
        (node.domain(), node.op, node.overload).hash(state);
        node.input_count().hash(state);
        node.outputs().len().hash(state);
        // The order of attributes does not count, so their hashes are added.
        let sum = given(node.attributes(), schema).fold(0_u64, |sum, attribute| {
            let mut hasher = Fold::default();
            attribute.name().hash(&mut hasher);
            hash_value(attribute.value(), source, &mut hasher);
            sum.wrapping_add(hasher.finish())
        });
        sum.hash(state);
    }
}

/// Returns `true` if two nodes have as many operands and results, and omit the same ones.
fn same_arity(a: &Node, b: &Node) -> bool {
    let same = |(a, b): (Option<ValueId>, Option<ValueId>)| a.is_some() == b.is_some();
    a.input_count() == b.input_count()
        && a.outputs().len() == b.outputs().len()
        && a.inputs().zip(b.inputs()).all(same)
        && a.outputs().iter().copied().zip(b.outputs().iter().copied()).all(same)
}

/// The attributes that are not the default of the operator.
fn given<'a>(
    attributes: &'a [Attribute],
    schema: Option<&'static Schema>,
) -> impl Iterator<Item = &'a Attribute> {
    attributes.iter().filter(move |attribute| {
        let default = schema.and_then(|schema| schema.attribute(attribute.name())?.default);
        !default.is_some_and(|default| attribute.value().is_default(default))
    })
}

impl AttrValue {
    /// Returns `true` if the value is the default of an attribute; floats are compared by their bits.
    #[must_use]
    pub fn is_default(&self, default: AttrDefault) -> bool {
        match (self, default) {
            (AttrValue::Float(value), AttrDefault::Float(default)) => value.to_bits() == default.to_bits(),
            (AttrValue::Int(value), AttrDefault::Int(default)) => *value == default,
            (AttrValue::String(value), AttrDefault::String(default)) => value == default.as_bytes(),
            (AttrValue::Floats(values), AttrDefault::Floats(default)) => same_floats(values, default),
            (AttrValue::Ints(values), AttrDefault::Ints(default)) => values == default,
            (AttrValue::Strings(values), AttrDefault::Strings(default)) => {
                values.iter().map(|value| &value[..]).eq(default.iter().map(|text| text.as_bytes()))
            }
            _ => false,
        }
    }
}

impl Constant {
    /// Whether two constants have the same type and elements, as [`Model::same_meaning`] compares tensors. A sparse one differs
    /// from every dense one.
    #[must_use]
    pub fn same_meaning(&self, other: &Self, source: &dyn DataSource) -> bool {
        match (self, other) {
            (Self::Dense(a), Self::Dense(b)) => a.same_meaning(b, source),
            (Self::Sparse(a), Self::Sparse(b)) => a.same_meaning(b, source),
            _ => false,
        }
    }

    /// Feeds a hash that constants of the [same meaning](Self::same_meaning) share; a few hundred bytes of the elements are
    /// read.
    pub fn hash_meaning(&self, source: &dyn DataSource, state: &mut impl Hasher) {
        match self {
            Self::Dense(tensor) => tensor.hash_meaning(source, state),
            Self::Sparse(sparse) => {
                sparse.dims.hash(state);
                if let Some(values) = &sparse.values {
                    values.hash_meaning(source, state);
                }
            }
        }
    }
}

impl SparseTensor {
    fn same_meaning(&self, other: &Self, source: &dyn DataSource) -> bool {
        let same = |a: &Option<_>, b: &Option<_>| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => onnx_types::tensor::Tensor::same_meaning(a, b, source),
            _ => false,
        };
        self.dims == other.dims && same(&self.values, &other.values) && same(&self.indices, &other.indices)
    }
}

fn same_floats(a: &[f32], b: &[f32]) -> bool {
    a.iter().map(|value| value.to_bits()).eq(b.iter().map(|value| value.to_bits()))
}

/// Equality of types by their kind; denotations are notes.
fn same_type(a: Option<&Type>, b: Option<&Type>) -> bool {
    a.map(|ty| &ty.kind) == b.map(|ty| &ty.kind)
}

fn hash_value(value: &AttrValue, source: &dyn DataSource, state: &mut impl Hasher) {
    value.kind().map(|kind| kind as u8).hash(state);
    match value {
        AttrValue::Ref(target, ..) => target.hash(state),
        AttrValue::Float(value) => value.to_bits().hash(state),
        AttrValue::Int(value) => value.hash(state),
        AttrValue::String(value) => value.hash(state),
        AttrValue::Floats(values) => values.iter().for_each(|value| value.to_bits().hash(state)),
        AttrValue::Ints(values) => values.hash(state),
        AttrValue::Strings(values) => values.hash(state),
        AttrValue::Tensor(tensor) => tensor.hash_meaning(source, state),
        AttrValue::Tensors(tensors) => tensors.len().hash(state),
        // What is inside is compared, not hashed: nested graphs may be large.
        AttrValue::Graphs(graphs) => graphs.len().hash(state),
        _ => {}
    }
}

/// The hash of a single attribute: FNV-1a, which depends only on the bytes.
struct Fold(u64);

impl Default for Fold {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A comparison under way. All of its parts must hold, so they are made in any order, and nothing recurses.
struct Comparison<'a> {
    model: &'a Model,
    source: &'a dyn DataSource,
    /// Which value stands for a value of the first graphs.
    values: SparseSecondaryMap<ValueId, ValueId, RandomState>,
    /// Pairs of graphs that remain to be compared.
    open: Vec<(GraphId, GraphId)>,
}

impl<'a> Comparison<'a> {
    fn new(model: &'a Model, source: &'a dyn DataSource) -> Self {
        Self { model, source, values: SparseSecondaryMap::default(), open: Vec::new() }
    }

    /// Compares the graphs that remain.
    fn finish(&mut self) -> bool {
        while let Some((a, b)) = self.open.pop() {
            if a != b && !self.graphs(a, b) {
                return false;
            }
        }
        true
    }

    fn graphs(&mut self, a: GraphId, b: GraphId) -> bool {
        let model = self.model;
        let (first, second) = (&model.graphs[a], &model.graphs[b]);
        let same_counts = first.inputs.len() == second.inputs.len()
            && first.outputs.len() == second.outputs.len()
            && first.node_count == second.node_count;
        if !same_counts {
            return false;
        }
        for (&a, &b) in first.inputs.iter().zip(&second.inputs) {
            let (one, two) = (&model.values[a], &model.values[b]);
            let same_default = match (one.initializer(), two.initializer()) {
                (None, None) => true,
                (Some(a), Some(b)) => self.constants(a, b),
                _ => false,
            };
            if !same_default || !same_type(one.ty(), two.ty()) {
                return false;
            }
            self.values.insert(a, b);
        }
        model.nodes(a).zip(model.nodes(b)).all(|(a, b)| self.nodes(a, b))
            && first.outputs.iter().zip(&second.outputs).all(|(a, b)| self.operands(a.value, b.value))
    }

    /// Compares two nodes; pairs of nested graphs and of outputs are noted.
    fn nodes(&mut self, a: NodeId, b: NodeId) -> bool {
        if a == b {
            return true;
        }
        let model = self.model;
        let (first, second) = (&model.nodes[a], &model.nodes[b]);
        if !same_arity(first, second) {
            return false;
        }
        let mut pairs = first.inputs().flatten().zip(second.inputs().flatten());
        if !pairs.all(|(a, b)| self.operands(a, b)) || !self.operators(a, b) {
            return false;
        }
        for (a, b) in first.outputs().iter().flatten().zip(second.outputs().iter().flatten()) {
            self.values.insert(*a, *b);
        }
        true
    }

    /// Compares what two nodes call, and their attributes; pairs of nested graphs are noted.
    fn operators(&mut self, a: NodeId, b: NodeId) -> bool {
        let Some(schema) = self.callees(a, b) else { return false };
        let (first, second) = (&self.model.nodes[a], &self.model.nodes[b]);
        let others: SmallVec<[&Attribute; 8]> = given(second.attributes(), schema).collect();
        let mut count = 0_usize;
        for attribute in given(first.attributes(), schema) {
            count += 1;
            let other = others.iter().find(|other| other.name() == attribute.name());
            if !other.is_some_and(|other| self.attributes(attribute, other)) {
                return false;
            }
        }
        count == others.len()
    }

    /// The schema of what both nodes call, if it is the same; `Some(None)` if that has no schema.
    fn callees(&self, a: NodeId, b: NodeId) -> Option<Option<&'static Schema>> {
        let model = self.model;
        let (first, second) = (&model.nodes[a], &model.nodes[b]);
        let identity = |node: &Node| (node.domain(), node.op, node.overload);
        if identity(first) != identity(second) {
            return None;
        }
        match (model.callee(a, Registry::STANDARD), model.callee(b, Registry::STANDARD)) {
            (Callee::Standard(a), Callee::Standard(b)) => (a.id() == b.id()).then_some(Some(a)),
            (Callee::Function(a), Callee::Function(b)) => (a == b).then_some(None),
            (Callee::Standard(_) | Callee::Function(_), _)
            | (_, Callee::Standard(_) | Callee::Function(_)) => None,
            _ => {
                let version = |graph| model.versions_in(graph).get(first.domain());
                (version(first.graph) == version(second.graph)).then_some(None)
            }
        }
    }

    fn operands(&mut self, a: ValueId, b: ValueId) -> bool {
        if let Some(&known) = self.values.get(a) {
            return known == b;
        }
        if a == b {
            return true;
        }
        let model = self.model;
        // Initializers of the two graphs correspond if their elements are equal.
        if let (Some(one), Some(two)) = (model.values[a].constant(), model.values[b].constant())
            && self.constants(one, two)
        {
            self.values.insert(a, b);
            return true;
        }
        false
    }

    fn constants(&self, a: &Constant, b: &Constant) -> bool {
        a.same_meaning(b, self.source)
    }

    fn sparse(&self, a: &SparseTensor, b: &SparseTensor) -> bool {
        a.same_meaning(b, self.source)
    }

    /// Compares the values of two attributes of one name; pairs of graphs are noted.
    fn attributes(&mut self, a: &Attribute, b: &Attribute) -> bool {
        if a.kind() != b.kind() {
            return false;
        }
        match (a.value(), b.value()) {
            (AttrValue::Float(a), AttrValue::Float(b)) => a.to_bits() == b.to_bits(),
            (AttrValue::Floats(a), AttrValue::Floats(b)) => same_floats(a, b),
            (AttrValue::Tensor(a), AttrValue::Tensor(b)) => a.same_meaning(b, self.source),
            (AttrValue::Tensors(a), AttrValue::Tensors(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_meaning(b, self.source))
            }
            (AttrValue::SparseTensor(a), AttrValue::SparseTensor(b)) => self.sparse(a, b),
            (AttrValue::SparseTensors(a), AttrValue::SparseTensors(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.sparse(a, b))
            }
            (AttrValue::Type(a), AttrValue::Type(b)) => same_type(Some(a), Some(b)),
            (AttrValue::Types(a), AttrValue::Types(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_type(Some(a), Some(b)))
            }
            (AttrValue::Value(a), AttrValue::Value(b)) => self.operands(*a, *b),
            (AttrValue::Values(a), AttrValue::Values(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.operands(a, b))
            }
            (AttrValue::Graph(a), AttrValue::Graph(b)) => {
                self.open.push((*a, *b));
                true
            }
            (AttrValue::Graphs(a), AttrValue::Graphs(b)) => {
                self.open.extend(a.iter().copied().zip(b.iter().copied()));
                a.len() == b.len()
            }
            (a, b) => a == b,
        }
    }
}
