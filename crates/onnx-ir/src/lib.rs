//! An editable graph representation of ONNX models, for passes, checkers and converters.
//!
//! # A model and its keys
//!
//! A [`Model`] owns all entities: nodes, values, graphs and functions are in four arenas of the model, which the main
//! graph, every nested graph, every function's body and the training graphs share. Keys identify them ([`NodeId`],
//! [`ValueId`], [`GraphId`], [`FunctionId`]; printed `n12`, `v3`, `g0`, `f1`). Keys are small, `Copy` and never reused:
//! the key of an erased entity does not resolve. Code holds keys instead of references, so it does not borrow the model
//! and can edit it.
//!
//! ```
//! use onnx_ir::{Cursor, EditError, Model, Position};
//! use onnx_schema::{attr, op};
//! use onnx_types::tensor::Tensor;
//! use onnx_types::{ElemType, Shape, Type};
//!
//! # fn main() -> Result<(), EditError> {
//! // y = Softmax(Identity(x + w))
//! let mut model = Model::new();
//! let graph = model.main_graph();
//! let x = model.add_graph_input(graph, "x", Type::tensor(ElemType::Float, Some(Shape::known(&[2, 1]))));
//! let w = model.intern("w");
//! let w = model.add_initializer(graph, w, Tensor::vector(&[1.0_f32]));
//! let mut build = model.build_at(Position::End(graph));
//! let sum = build.op(op::ADD, [x, w]).output()?;
//! let same = build.op(op::IDENTITY, [sum]).output()?;
//! let y = build.op(op::SOFTMAX, [same]).attr(attr::AXIS, 0_i64).output_named("y")?;
//! model.push_graph_output(graph, y);
//!
//! // Take the identity out.
//! let mut cursor = Cursor::new(&model, graph);
//! while let Some(node) = cursor.next(&model) {
//!     if model.node(node).is(op::IDENTITY) {
//!         let input = model.node(node).input(0);
//!         model.replace_node(node, &[input])?;
//!     }
//! }
//! model.verify().expect("the graph fits together");
//! assert_eq!(model.graph(graph).node_count(), 2);
//! assert_eq!(model.input_producer(model.value(y).producer().unwrap(), 0), model.value(sum).producer());
//!
//! // Values without a name get one when the model is written.
//! let names = model.name_plan();
//! assert_eq!(names.name(y, &model), "y");
//! assert!(!names.name(sum, &model).is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Graphs
//!
//! A [`Graph`] has inputs, outputs, initializers, and nodes in an order that the file or a pass determines. The order
//! is a linked list with spaced keys: inserting anywhere is cheap, and [`Model::is_before`] is one comparison. A valid
//! model's graphs are sorted topologically; the IR does not require it ([`Model::is_sorted`], [`Model::sort`]). Every
//! graph has an [`Owner`]: the model, a node that holds it in an attribute (the branches of `If`, the bodies of `Loop`
//! and `Scan`), a function, a training step, or none so far ([`Model::new_graph`]). A [`Position`] is an insertion
//! point among the nodes.
//!
//! # Values and their uses
//!
//! A [`Value`] has one definition ([`Def`]) and any number of uses ([`Use`]). The definition is an output of a node, an
//! input of a graph, an initializer, or none: a value is *unresolved* if a file uses a name without defining it. Such a
//! model can be loaded, inspected, reported and repaired. A use is an input of a node, an
//! output of a graph, or a name in an attribute ([`AttrValue::Value`]: `Gradient` names values); uses inside nested graphs
//! are ordinary uses. Use lists are exact at all times, and adding, removing or redirecting one
//! use takes constant time, independent of the number of uses. [`Model::replace_all_uses`] takes time linear in the
//! uses; [`Model::erase_node`] returns an error while an output is used, so no entity ever refers to an erased one.
//!
//! An initializer that is also a graph input is only a default that callers may override. [`Value::constant`] and
//! [`Model::constant_tensor`] therefore ignore it, while [`Value::initializer`] does not: passes that fold constants
//! must use the former.
//!
//! # Names are data
//!
//! Operators, attributes, domains and all other names are [`Symbol`](onnx_types::Symbol)s of the model's interner. The
//! names of the specification are constants, so `model.node(n).is(op::RELU)` compares integers. The name of a value is
//! data like its type: it may be missing, two values may have the same, and renaming changes no use. Writing a model
//! assigns unique names: [`Model::name_plan`] names the unnamed values, and renames as few others as possible, callers'
//! names (inputs and outputs of the main graph and of functions) last of all. A pass that replaces a value at an output
//! uses [`Model::replace_value`] or [`Model::replace_node`], which let the output keep its name.
//!
//! # Scopes and captures
//!
//! A nested graph sees the values of the graphs around it; those that it uses are its *captures* ([`Model::captures`]).
//! A training algorithm sees the main graph. A function's body sees only its own values. [`Model::is_visible`] tests
//! one value, and [`Model::ancestor_in`] returns the node of an outer graph that contains an inner use.
//!
//! # Functions
//!
//! A [`Function`] has a body, whose inputs and outputs are the formal parameters, names of attributes with or without
//! defaults, and its own operator sets. Attributes in the body may refer to them ([`AttrValue::Ref`]). Functions are
//! identified by domain, name and overload.
//!
//! # Versions and callees
//!
//! The meaning of operators depends on the version of their operator set. [`Model::versions_in`] returns the versions
//! that apply in a graph, which are those of the model or of the function around it ([`OpsetScope`]), and
//! [`Model::callee`] returns what a node calls under them ([`Callee`]): a standard or custom operator, a function, or
//! an unknown callee. Both take constant time, wherever the node is.
//!
//! # Editing
//!
//! [`Model::build_at`] creates nodes with a builder, [`Model::add_node`] from a record. [`Model::move_node`] moves
//! nodes within and between graphs, with all graphs nested in them. [`Model::copy_graph`], [`Model::copy_nodes`] and
//! [`Model::splice`] are the building blocks of inlining; weights are shared, never copied, also by `Model::clone`.
//! [`Model::erase_dead_nodes`] and [`Model::erase_unused_initializers`] remove unused entities. Edits that would
//! violate an invariant return an [`EditError`] and change nothing; methods panic only for keys of erased entities, as
//! indexing does.
//!
//! # Revisions and changes
//!
//! Code that caches results about a model obtains its [`Model::revision`] and later the [`Changes`] since then
//! ([`Model::changes_since`]): which nodes, values, graphs and functions were created, erased or edited, and in which
//! [`Aspects`]. The first call of `revision` starts the record; before, a model records nothing. The record includes
//! every edit: fields without individual setters are edited through an [`Edit`], which compares when it ends. A record
//! that grew too long, or a revision of another model, results in [`Changes::Everything`].
//!
//! # Traversal while editing
//!
//! The public API has no long-lived borrows. Iterators such as [`Model::nodes`] borrow the model, for reading. A
//! [`Cursor`] does not borrow it: it visits the nodes that existed when it was created and still exist when it reaches
//! them. With the feature `petgraph`, `Model::petgraph` provides a view of a graph for the algorithms of that crate.
//!
//! # Provenance
//!
//! Decoders record the origin of nodes and values ([`Origin`]): a byte of the file, a line of the text. A pass records
//! the node from which it created another one ([`Builder::derive`], [`Model::derive`]), so that a diagnostic after ten
//! passes can still name the user's node ([`Model::root_origin`]).
//!
//! # Verifying
//!
//! [`Model::verify`] checks that lists, uses, definitions, owners and scopes are consistent, in linear time. Run it
//! after every pass in tests. `Debug` of a model, [`Model::listing`] and [`Model::show`] print listings for debugging
//! passes.
//!
//! # What this crate is not for
//!
//! The crate does not read or write files (see `onnx-codec`), check whether a model is valid ONNX (see `onnx-check`),
//! or infer types. The IR can represent invalid models by design. Everything that a file can contain has a
//! representation, including unknown fields, so decoding and encoding a model is lossless.
#![forbid(unsafe_code)]

mod attr;
mod builder;
mod call_graph;
mod changes;
mod constant;
mod copy;
mod cursor;
mod dead;
mod determinism;
mod display;
mod edit;
mod entity;
mod extras;
mod glob;
mod graph;
mod import;
mod info;
mod meaning;
mod model;
mod named;
mod names;
mod node;
mod operator_set;
mod order;
#[cfg(feature = "petgraph")]
mod petgraph_view;
mod places;
mod provenance;
mod quoted;
mod resolve;
mod scope;
mod sort;
mod tensors;
#[cfg(test)]
mod tests;
mod traverse;
mod uses;
mod value;
mod value_types;
mod verify;
mod walk;
mod writer;

pub use attr::{AttrExtra, AttrValue, Attribute};
pub use builder::{Builder, NodeBuilder};
pub use call_graph::{CallCycle, CallGraph};
pub use changes::{Aspects, Change, Changes, Edit, Edits, Revision};
pub use constant::{Constant, SparseTensor};
pub use copy::CopyMap;
pub use cursor::Cursor;
pub use display::{Listing, Show};
pub use edit::{EditError, ShowEditError};
pub use entity::{FunctionId, GraphId, NodeId, ValueId};
pub use extras::{
    DeviceGroup, Extras, Metadata, MetadataEntry, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding, Source, ValueRef, metadata_value, set_metadata,
};
pub use glob::Glob;
pub use graph::{
    Function, FunctionInfo, Graph, GraphInfo, GraphOutput, Owner, QuantAnnotation, QuantParameter,
};
pub use import::Importer;
pub use info::{Binding, DeviceConfiguration, ModelInfo, OpsetImport, TrainingInfo};
pub use model::Model;
pub use named::naming_attributes;
pub use names::NamePlan;
pub use node::{NewNode, Node};
pub use onnx_schema::AttrKind;
pub use operator_set::{OperatorEntry, OperatorSetDocument};
pub use order::Position;
#[cfg(feature = "petgraph")]
pub use petgraph_view::{GraphView, Neighbors, Visited};
pub use places::Places;
pub use provenance::{Derivation, DerivationId, DerivationSource, Origin};
pub use quoted::{QuotedError, read_quoted};
pub use resolve::{Callee, FIRST_IR_WITH_IMPORTS, OpsetScope, OpsetVersions};
pub use sort::Cycle;
pub use tensors::{TensorHolder, TensorPart, TensorPlace};
pub use value::{Def, InfoEntry, OwnInfo, Use, User, Value};
pub use value_types::{DeclaredTypes, ValueTypes};
pub use verify::{Fault, FaultKind, Subject};
pub use walk::{Event, Walk};

/// What decoders and parsers use to build a model from a file, whose names may be wrong in any way.
///
/// Passes, checkers and other tools do not need it: they edit a [`Model`].
pub mod raw {
    pub use crate::writer::{ModelWriter, NodeFields, OuterGraph, ValueInfoFields};
}
