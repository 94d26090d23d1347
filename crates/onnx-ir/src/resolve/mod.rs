//! Resolution: the operator set versions in scope at a node, and what the node calls.
//!
//! This is the only implementation of both questions in the workspace.
//!
//! Each graph records its [`OpsetScope`], the model or a function, whose imports apply to its nodes, and each scope keeps a
//! table of its versions that every edit of the imports drops. So a query takes constant time, wherever the node is.

mod versions;

use onnx_schema::{Registry, Schema, SchemaRef, normalize_domain};
use onnx_types::{Interner, Symbol};

pub use versions::{FIRST_IR_WITH_IMPORTS, OpsetVersions};

use crate::changes::Aspects;
use crate::entity::{FunctionId, GraphId, NodeId};
use crate::graph::Owner;
use crate::model::Model;
use crate::node::Node;

/// Whose operator set imports apply to the nodes of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OpsetScope {
    /// The model's: the main graph, training graphs, and everything nested in them.
    #[default]
    Model,
    /// Those of a function: its body, graphs in its attribute defaults, and everything nested in them.
    Function(FunctionId),
}

/// The callee of a node.
#[derive(Clone, Copy, Debug)]
pub enum Callee<'a> {
    /// The node names no operator.
    Unnamed,
    /// The scope of the node does not import the domain of the operator.
    NotImported,
    /// An operator that ONNX defines at the version in scope, deprecated or not.
    Standard(&'static Schema),
    /// An operator of a custom operator set of the registry, deprecated or not.
    Custom(&'a onnx_schema::DeclaredSchema),
    /// A function of the model.
    Function(FunctionId),
    /// One of the experimental operators that ONNX removed: readers accept them, but they have no schema.
    Experimental,
    /// An operator of a domain that neither ONNX nor the registry nor a function of this name defines.
    Undefined,
    /// An operator that the version in scope of a domain of ONNX, or of the registry, does not have;
    /// [`onnx_schema::versions`] lists the versions that have it.
    Unknown {
        /// The version in scope.
        version: i64,
    },
}

impl<'a> Callee<'a> {
    /// The schema of the operator, standard or custom.
    #[must_use]
    pub const fn schema(self) -> Option<SchemaRef<'a>> {
        match self {
            Self::Standard(schema) => Some(SchemaRef::Standard(schema)),
            Self::Custom(schema) => Some(SchemaRef::Declared(schema)),
            _ => None,
        }
    }

    /// The schema, if ONNX defines the operator.
    #[must_use]
    pub const fn standard(self) -> Option<&'static Schema> {
        match self {
            Self::Standard(schema) => Some(schema),
            _ => None,
        }
    }

    /// The function, if the node calls one.
    #[must_use]
    pub const fn function(self) -> Option<FunctionId> {
        match self {
            Self::Function(function) => Some(function),
            _ => None,
        }
    }
}

/// The experimental operators that ONNX removed from the default domain. The reference accepts nodes of these names
/// without checking them.
const EXPERIMENTAL: [&str; 11] = [
    "ATen",
    "Affine",
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
];

fn is_experimental(domain: Symbol, op: Symbol, names: &Interner) -> bool {
    domain.is_empty()
        && onnx_schema::versions(domain, op).is_empty()
        && EXPERIMENTAL.binary_search(&names.resolve(op)).is_ok()
}

impl Model {
    /// Whose imports apply to the nodes of a graph. For a detached graph, those of the graph that it was taken from, or
    /// the model's.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn scope(&self, graph: GraphId) -> OpsetScope {
        self.graphs[graph].scope
    }

    /// The operator set versions of a scope; those of the model if the function was removed.
    #[must_use]
    pub fn versions_of(&self, scope: OpsetScope) -> &OpsetVersions {
        if let OpsetScope::Function(function) = scope
            && let Some(record) = self.functions.get(function)
        {
            return record.versions.get_or_init(|| OpsetVersions::new(&record.info.opset_imports));
        }
        self.versions.get_or_init(|| OpsetVersions::of_model(&self.info.opset_imports, self.info.ir_version))
    }

    /// The operator set versions that apply to the nodes of a graph.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn versions_in(&self, graph: GraphId) -> &OpsetVersions {
        self.versions_of(self.graphs[graph].scope)
    }

    /// The version of a domain's operator set that the main graph sees.
    #[must_use]
    pub fn opset_version(&self, domain: Symbol) -> Option<i64> {
        self.versions_of(OpsetScope::Model).get(domain)
    }

    /// The function with this identity: the first in the file if several have it.
    #[must_use]
    pub fn find_function(&self, domain: Symbol, name: Symbol, overload: Symbol) -> Option<FunctionId> {
        self.function_index.get(&(normalize_domain(domain), name, overload)).copied()
    }

    /// The callee of a node.
    ///
    /// An operator that ONNX defines at the version in scope takes precedence over a function of the same identity, as in
    /// the reference; a function takes precedence over a custom operator.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    #[must_use]
    pub fn callee<'a>(&'a self, node: NodeId, registry: &'a Registry) -> Callee<'a> {
        let node = &self.nodes[node];
        self.callee_in(node, self.versions_in(node.graph), registry)
    }

    /// Like [`Model::callee`], under other versions than those in scope: for parts of a model that are checked without it,
    /// and for bodies of functions that are not part of a model.
    #[must_use]
    pub fn callee_in<'a>(
        &'a self,
        node: &Node,
        versions: &OpsetVersions,
        registry: &'a Registry,
    ) -> Callee<'a> {
        let (domain, op) = (node.domain(), node.op);
        if op.is_empty() {
            return Callee::Unnamed;
        }
        let version = versions.get(domain);
        let standard = version.and_then(|version| onnx_schema::lookup(domain, op, version));
        if standard.is_none() && is_experimental(domain, op, &self.names) {
            return Callee::Experimental;
        }
        let Some(version) = version else { return Callee::NotImported };
        if registry.has_declared() {
            return self.callee_with_custom(node, version, standard, registry);
        }
        if let Some(schema) = standard {
            return Callee::Standard(schema);
        }
        if let Some(function) = self.function_called(node) {
            return Callee::Function(function);
        }
        if onnx_schema::opset_versions(domain).is_none() {
            Callee::Undefined
        } else {
            Callee::Unknown { version }
        }
    }

    fn callee_with_custom<'a>(
        &'a self,
        node: &Node,
        version: i64,
        standard: Option<&'static Schema>,
        registry: &'a Registry,
    ) -> Callee<'a> {
        let [domain, op] = [node.domain(), node.op].map(|name| self.str(name));
        let custom = registry.declared(domain, op, version);
        if let Some(schema) = standard
            && custom.is_none_or(|custom| custom.since_version() <= schema.since_version())
        {
            return Callee::Standard(schema);
        }
        if let Some(function) = self.function_called(node) {
            return Callee::Function(function);
        }
        let is_known = || {
            onnx_schema::opset_versions(node.domain()).is_some()
                || registry.declared_versions(domain).is_some()
        };
        match custom {
            Some(schema) => Callee::Custom(schema),
            None if is_known() => Callee::Unknown { version },
            None => Callee::Undefined,
        }
    }

    /// The function that has the identity that a node names, whether or not a standard operator takes precedence.
    #[must_use]
    pub fn function_called(&self, node: &Node) -> Option<FunctionId> {
        // Most models have no functions, and the lookup needs a hash.
        if self.function_order.is_empty() {
            return None;
        }
        self.find_function(node.domain, node.op, node.overload)
    }

    /// Records the scope of a graph and of everything nested in it. Graphs that have the scope already are not entered, so
    /// building a graph from the inside out visits each node at most once.
    pub(crate) fn set_scope(&mut self, graph: GraphId, scope: OpsetScope) {
        let mut open = vec![graph];
        while let Some(graph) = open.pop() {
            if self.graphs[graph].scope == scope {
                continue;
            }
            self.graphs[graph].scope = scope;
            self.record(graph, Aspects::VERSIONS);
            let mut at = self.graphs[graph].first;
            while let Some(node) = at {
                open.extend(self.nodes[node].nested_graphs());
                at = self.nodes[node].next;
            }
        }
    }

    /// Sets what a graph belongs to, and with it the scope of the graph and of everything nested in it.
    pub(crate) fn set_owner(&mut self, graph: GraphId, owner: Owner) {
        let old = std::mem::replace(&mut self.graphs[graph].owner, owner);
        self.record(graph, Aspects::POSITION.when(old != owner));
        let scope = match owner {
            Owner::Node(node) => self.graphs[self.nodes[node].graph].scope,
            Owner::Function(function) => OpsetScope::Function(function),
            Owner::Model | Owner::Initialization | Owner::Algorithm => OpsetScope::Model,
            // A detached graph keeps its scope, so its operators keep their versions.
            Owner::Detached => return,
        };
        self.set_scope(graph, scope);
    }

    /// Sets the scope of the graphs nested in a node to that of the graph that contains the node.
    pub(crate) fn set_nested_scopes(&mut self, node: NodeId) {
        let scope = self.graphs[self.nodes[node].graph].scope;
        let nested: smallvec::SmallVec<[GraphId; 2]> = self.nodes[node].nested_graphs().collect();
        for graph in nested {
            self.set_scope(graph, scope);
        }
    }
}
