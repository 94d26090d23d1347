//! Values: what flows along the edges.

use std::fmt;
use std::sync::Arc;

use onnx_types::{FieldForms, Symbol, Type, UnknownFields};
use smallvec::SmallVec;

use crate::constant::Constant;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::extras::{Extras, Metadata};

/// The definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Def {
    /// Undefined: the name is used in or below this graph and has no definition. A value may also be unresolved
    /// temporarily during editing.
    Unresolved(GraphId),
    /// An input of a graph; it may have an initializer too, which then is its default.
    Input {
        /// The graph.
        graph: GraphId,
        /// The position among its inputs.
        index: u32,
    },
    /// An initializer of a graph that is not one of its inputs.
    Initializer(GraphId),
    /// An output of a node.
    Output {
        /// The node.
        node: NodeId,
        /// The position among its outputs.
        index: u32,
    },
}

/// Who uses a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum User {
    /// A node, as one of its inputs.
    Node(NodeId),
    /// A node, in an attribute that names values, as those of `Gradient` do. The value and what it is computed from matter to the
    /// node, so it is used like an input, but the node is not given its elements.
    Attribute(NodeId),
    /// A graph, as one of its outputs.
    Graph(GraphId),
}

/// One use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Use {
    /// Who uses it.
    pub user: User,
    /// The position among the inputs of the node, the values that its attributes name, or the outputs of the graph.
    pub index: u32,
}

impl User {
    /// The node, if a node uses the value, as an input or in an attribute.
    #[must_use]
    pub const fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(node) | Self::Attribute(node) => Some(node),
            Self::Graph(_) => None,
        }
    }
}

impl fmt::Display for Def {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved(graph) => write!(f, "unresolved in {graph}"),
            Self::Input { graph, index } => write!(f, "input {index} of {graph}"),
            Self::Initializer(graph) => write!(f, "initializer of {graph}"),
            Self::Output { node, index } => write!(f, "output {index} of {node}"),
        }
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user {
            User::Node(node) => write!(f, "input {} of {node}", self.index),
            User::Attribute(node) => write!(f, "name {} in the attributes of {node}", self.index),
            User::Graph(graph) => write!(f, "output {} of {graph}", self.index),
        }
    }
}

/// Facts about a value that are one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ValueFlags(pub u8);

impl ValueFlags {
    /// The file gives the name twice, or hides an outer value by it. Such names are written as they were read.
    pub(crate) const NAME_AS_READ: u8 = 1;
    /// The value is in the list `value_info` of its graph.
    pub(crate) const IN_VALUE_INFO: u8 = 2;

    pub(crate) const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    pub(crate) const fn set(&mut self, flag: u8, on: bool) {
        if on {
            self.0 |= flag;
        } else {
            self.0 &= !flag;
        }
    }
}

/// A value: one definition, any number of uses, and what is known about it.
///
/// Values are identified by their [`ValueId`]; the name is data and may be missing while a model is edited.
#[derive(Clone, Debug)]
pub struct Value {
    pub(crate) name: Symbol,
    pub(crate) def: Def,
    /// Those by outputs of graphs come first.
    pub(crate) uses: SmallVec<[Use; 2]>,
    /// Number of uses by outputs of graphs.
    pub(crate) graph_uses: u32,
    pub(crate) ty: Option<Arc<Type>>,
    pub(crate) constant: Option<Arc<Constant>>,
    pub(crate) extras: Option<Box<Extras>>,
    pub(crate) flags: ValueFlags,
}

impl Value {
    pub(crate) fn new(name: Symbol, def: Def) -> Self {
        Self {
            name,
            def,
            uses: SmallVec::new(),
            graph_uses: 0,
            ty: None,
            constant: None,
            extras: None,
            flags: ValueFlags(0),
        }
    }

    /// The name; empty where there is none (yet).
    #[must_use]
    pub const fn name(&self) -> Symbol {
        self.name
    }

    /// The definition of the value.
    #[must_use]
    pub const fn def(&self) -> Def {
        self.def
    }

    /// The node that makes the value, if a node does.
    #[must_use]
    pub const fn producer(&self) -> Option<NodeId> {
        match self.def {
            Def::Output { node, .. } => Some(node),
            _ => None,
        }
    }

    /// Its uses by nodes (those of nested graphs included), in attributes that name it, and as outputs of graphs, in no particular
    /// order.
    #[must_use]
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// Its uses by outputs of graphs: the first of [`uses`](Self::uses).
    #[must_use]
    pub fn output_uses(&self) -> &[Use] {
        self.uses.get(..self.graph_uses as usize).unwrap_or_default()
    }

    /// Whether anything uses the value.
    #[must_use]
    pub fn is_used(&self) -> bool {
        !self.uses.is_empty()
    }

    /// The declared or inferred type, if there is one.
    #[must_use]
    pub fn ty(&self) -> Option<&Type> {
        self.ty.as_deref()
    }

    /// The type, shared.
    #[must_use]
    pub const fn shared_ty(&self) -> Option<&Arc<Type>> {
        self.ty.as_ref()
    }

    /// The content, if the value is an initializer. An initializer that is also a graph input is only a default: see
    /// [`Value::constant`].
    #[must_use]
    pub const fn initializer(&self) -> Option<&Arc<Constant>> {
        self.constant.as_ref()
    }

    /// The content, if the value is an initializer that no caller can override.
    #[must_use]
    pub const fn constant(&self) -> Option<&Arc<Constant>> {
        match self.def {
            Def::Initializer(_) => self.constant.as_ref(),
            _ => None,
        }
    }

    /// The documentation in its `ValueInfoProto`; empty where there is none.
    #[must_use]
    pub fn doc(&self) -> Symbol {
        self.extras.as_ref().map_or(Symbol::EMPTY, |extras| extras.doc)
    }

    /// The metadata in its `ValueInfoProto`.
    #[must_use]
    pub fn metadata(&self) -> &[crate::MetadataEntry] {
        self.extras.as_ref().map_or(&[], |extras| &extras.metadata)
    }

    /// Documentation, metadata, unknown fields and other extras, if there are any.
    #[must_use]
    pub fn extras(&self) -> Option<&Extras> {
        self.extras.as_deref()
    }

    /// Whether the file gives the name to several values that see each other; such names are written as they were read.
    #[must_use]
    pub const fn is_name_as_read(&self) -> bool {
        self.flags.has(ValueFlags::NAME_AS_READ)
    }

    /// Returns `true` if the value is in the list `value_info` of its graph.
    #[must_use]
    pub const fn is_in_value_info(&self) -> bool {
        self.flags.has(ValueFlags::IN_VALUE_INFO)
    }
}

/// The content of a `ValueInfoProto` that differs from the information stored with the value.
///
/// A value can be described several times: as a graph input, as a graph output and in `value_info`. The descriptions
/// nearly always agree; where a file's do not, the deviating one is kept here.
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct OwnInfo {
    /// The type.
    pub ty: Option<Arc<Type>>,
    /// `doc_string`.
    pub doc: Symbol,
    /// `metadata_props`.
    pub metadata: Metadata,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

impl OwnInfo {
    /// A description that states a type and nothing else.
    #[must_use]
    pub fn of_type(ty: impl Into<Arc<Type>>) -> Self {
        Self { ty: Some(ty.into()), ..Self::default() }
    }
}

/// One entry of a graph's `value_info`.
#[derive(Clone, Debug, PartialEq)]
pub struct InfoEntry {
    pub(crate) value: ValueId,
    pub(crate) own: Option<Box<OwnInfo>>,
}

impl InfoEntry {
    /// The value that the entry describes.
    #[must_use]
    pub const fn value(&self) -> ValueId {
        self.value
    }

    /// The content of the entry that differs from the value.
    #[must_use]
    pub fn own(&self) -> Option<&OwnInfo> {
        self.own.as_deref()
    }
}
