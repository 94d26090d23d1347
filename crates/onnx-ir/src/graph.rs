//! Graphs: nodes in order, with inputs, outputs and initializers.

use std::ops::Deref;
use std::sync::OnceLock;

use onnx_types::{FieldForms, Symbol, UnknownFields};

use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::extras::{Metadata, MetadataEntry, ValueRef};
use crate::resolve::{OpsetScope, OpsetVersions};
use crate::value::{InfoEntry, OwnInfo};

/// The owner of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Owner {
    /// Nothing yet: a nested graph before its node is made.
    Detached,
    /// The model: the main graph.
    Model,
    /// A node, as an attribute's value; names of the node's graph and its ancestors are visible inside.
    Node(NodeId),
    /// A function, as its body or, rarely, in an attribute default; nothing outside is visible inside.
    Function(FunctionId),
    /// A `TrainingInfoProto`, as `initialization`.
    Initialization,
    /// A `TrainingInfoProto`, as `algorithm`; names of the main graph are visible inside.
    Algorithm,
}

/// One output of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphOutput {
    pub(crate) value: ValueId,
    /// The position of this use in the value's use list.
    pub(crate) slot: u32,
    pub(crate) own: Option<Box<OwnInfo>>,
}

impl GraphOutput {
    /// The value.
    #[must_use]
    pub const fn value(&self) -> ValueId {
        self.value
    }

    /// The declaration of the output that differs from the information stored with the value.
    #[must_use]
    pub fn own(&self) -> Option<&OwnInfo> {
        self.own.as_deref()
    }
}

/// Names the tensors that quantize a value (message `TensorAnnotation`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QuantAnnotation {
    /// The value that is annotated.
    pub tensor: ValueRef,
    /// The parameters: a predefined key such as `SCALE_TENSOR` and the initializer that holds it.
    pub parameters: Vec<QuantParameter>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// A key and the value that it names: an entry of a quantization annotation or of a training binding.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QuantParameter {
    /// The key.
    pub key: Symbol,
    /// The value.
    pub value: ValueRef,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

crate::extras::encoded!(QuantAnnotation, QuantParameter);

impl QuantAnnotation {
    /// The annotation of a value.
    #[must_use]
    pub const fn new(tensor: ValueRef, parameters: Vec<QuantParameter>) -> Self {
        Self { tensor, parameters, forms: FieldForms::CANONICAL, unknown: Vec::new() }
    }
}

impl QuantParameter {
    /// The parameter `key`, which a value holds.
    #[must_use]
    pub const fn new(key: Symbol, value: ValueRef) -> Self {
        Self { key, value, forms: FieldForms::CANONICAL, unknown: Vec::new() }
    }
}

/// The descriptive fields of a [`Graph`], which dereferences to them; [`Model::graph_mut`](crate::Model::graph_mut) edits
/// them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GraphInfo {
    /// `quantization_annotation`.
    pub quantization: Vec<QuantAnnotation>,
    /// `doc_string`; empty where there is none.
    pub doc: Symbol,
    /// `metadata_props`.
    pub metadata: Metadata,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

impl GraphInfo {
    const fn new() -> Self {
        Self {
            quantization: Vec::new(),
            doc: Symbol::EMPTY,
            metadata: Vec::new(),
            forms: FieldForms::CANONICAL,
            unknown: Vec::new(),
        }
    }
}

impl Deref for Graph {
    type Target = GraphInfo;

    fn deref(&self) -> &GraphInfo {
        &self.info
    }
}

/// A graph: the main graph, a nested one, a function's body or a training graph (message `GraphProto`).
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) name: Symbol,
    pub(crate) owner: Owner,
    pub(crate) scope: OpsetScope,
    pub(crate) first: Option<NodeId>,
    pub(crate) last: Option<NodeId>,
    pub(crate) node_count: usize,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<GraphOutput>,
    /// May contain keys of values that are gone or have ceased to be initializers: the model skips them.
    pub(crate) initializers: Vec<ValueId>,
    pub(crate) stale_initializers: usize,
    /// May hold keys of values that are gone: the model skips them.
    pub(crate) value_info: Vec<InfoEntry>,
    pub(crate) info: GraphInfo,
}

impl Graph {
    pub(crate) const fn new(owner: Owner) -> Self {
        Self {
            name: Symbol::EMPTY,
            owner,
            scope: OpsetScope::Model,
            first: None,
            last: None,
            node_count: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            initializers: Vec::new(),
            stale_initializers: 0,
            value_info: Vec::new(),
            info: GraphInfo::new(),
        }
    }

    /// The name; empty where there is none.
    #[must_use]
    pub const fn name(&self) -> Symbol {
        self.name
    }

    /// The owner of the graph.
    #[must_use]
    pub const fn owner(&self) -> Owner {
        self.owner
    }

    /// The first node.
    #[must_use]
    pub const fn first(&self) -> Option<NodeId> {
        self.first
    }

    /// The last node.
    #[must_use]
    pub const fn last(&self) -> Option<NodeId> {
        self.last
    }

    /// The number of nodes, nested graphs not counted.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.node_count
    }

    /// The inputs in order.
    #[must_use]
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// The outputs in order.
    #[must_use]
    pub fn outputs(&self) -> &[GraphOutput] {
        &self.outputs
    }

    /// The number of initializers that were added so far, for naming the next one in messages.
    #[must_use]
    pub fn initializer_slots(&self) -> usize {
        self.initializers.len()
    }

    /// The metadata.
    #[must_use]
    pub fn metadata(&self) -> &[MetadataEntry] {
        &self.metadata
    }
}

/// The declarations of a [`Function`], which dereferences to it, except its body and the defaults of attributes;
/// [`Model::function_mut`](crate::Model::function_mut) edits it.
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct FunctionInfo {
    /// Names of attributes that every call must give: `attribute`.
    pub attributes: Vec<Symbol>,
    /// The operator sets that the body uses.
    pub opset_imports: Vec<crate::OpsetImport>,
    /// `doc_string`; empty where there is none.
    pub doc: Symbol,
    /// `metadata_props`.
    pub metadata: Metadata,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

impl Deref for Function {
    type Target = FunctionInfo;

    fn deref(&self) -> &FunctionInfo {
        &self.info
    }
}

/// A function that the model defines (message `FunctionProto`).
#[derive(Clone, Debug)]
pub struct Function {
    pub(crate) name: Symbol,
    pub(crate) domain: Symbol,
    pub(crate) overload: Symbol,
    pub(crate) body: GraphId,
    /// Attributes that a call may leave out, with their defaults: `attribute_proto`. They hold no graphs unless the
    /// file does; such graphs belong to the function. See
    /// [`Model::push_function_default`](crate::Model::push_function_default).
    pub defaults: Vec<crate::Attribute>,
    /// What `opset_imports` puts into scope; computed on demand, and dropped by every edit of the function.
    pub(crate) versions: OnceLock<OpsetVersions>,
    pub(crate) info: FunctionInfo,
}

impl Function {
    /// The name: what calls write as `op_type`.
    #[must_use]
    pub const fn name(&self) -> Symbol {
        self.name
    }

    /// The domain, with `ai.onnx` replaced by its other name, the empty one.
    #[must_use]
    pub fn domain(&self) -> Symbol {
        onnx_schema::normalize_domain(self.domain)
    }

    /// The domain as it is written.
    #[must_use]
    pub const fn written_domain(&self) -> Symbol {
        self.domain
    }

    /// Which of several functions of one name it is; empty where there is one.
    #[must_use]
    pub const fn overload(&self) -> Symbol {
        self.overload
    }

    /// The body; its inputs and outputs are the formal parameters.
    #[must_use]
    pub const fn body(&self) -> GraphId {
        self.body
    }
}
