//! An editable arena graph for ONNX models.
#![forbid(unsafe_code)]

mod attr;
mod builder;
mod constant;
mod copy;
mod cursor;
mod dead;
mod display;
mod edit;
mod entity;
mod extras;
mod graph;
mod info;
mod load;
mod model;
mod names;
mod node;
mod order;
mod petgraph_view;
mod provenance;
mod scope;
mod sort;
mod tensors;
#[cfg(test)]
mod tests;
mod traverse;
mod uses;
mod value;
mod verify;

pub use attr::{AttrExtra, AttrKind, AttrValue, Attribute};
pub use builder::{Builder, NodeBuilder};
pub use constant::{Constant, SparseTensor};
pub use copy::CopyMap;
pub use cursor::Cursor;
pub use display::{Listing, Show};
pub use edit::EditError;
pub use entity::{FunctionId, GraphId, NodeId, ValueId};
pub use extras::{
    DeviceGroup, Extras, Metadata, MetadataEntry, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding, Source, ValueRef, metadata_value, set_metadata,
};
pub use graph::{Function, Graph, GraphOutput, Owner, QuantAnnotation, QuantParameter};
pub use info::{Binding, DeviceConfiguration, ModelInfo, OpsetImport, TrainingInfo, opset_version};
pub use load::{LoadedNode, LoadedOutput};
pub use model::Model;
pub use names::NamePlan;
pub use node::{NewNode, Node};
pub use order::Position;
pub use petgraph_view::{GraphView, Neighbors, Visited};
pub use provenance::{Derivation, DerivationId, Origin};
pub use sort::Cycle;
pub use tensors::{TensorHolder, TensorPart, TensorPlace};
pub use value::{Def, InfoEntry, OwnInfo, Use, User, Value};
pub use verify::{Fault, FaultKind, Subject};
