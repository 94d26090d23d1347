//! An editable graph for ONNX models: what passes, checkers and converters work on.
//!
//! # A model and its keys
//!
//! A [`Model`] owns everything: nodes, values, graphs and functions lie in four arenas of the model, for the main graph,
//! every nested graph, every function's body and the training graphs together. They are named by keys ([`NodeId`],
//! [`ValueId`], [`GraphId`], [`FunctionId`]; printed `n12`, `v3`, `g0`, `f1`) that are small, `Copy`, and never mean
//! another thing: the key of something erased finds nothing. So code holds keys instead of references, and the model is
//! free to be edited meanwhile.
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
//! A [`Graph`] has inputs, outputs, initializers, and nodes in an order that the file gave or a pass made. The order is a
//! linked list with spaced keys: inserting anywhere is cheap, and [`Model::is_before`] is one comparison. A valid model's
//! graphs are sorted topologically; the model does not insist ([`Model::is_sorted`], [`Model::sort`]). Every graph has an
//! [`Owner`]: the model, a node that holds it in an attribute (the branches of `If`, the bodies of `Loop` and `Scan`), a
//! function, a training step, or nothing so far ([`Model::new_graph`]). A [`Position`] names a place among the nodes.
//!
//! # Values and their uses
//!
//! A [`Value`] has one definition ([`Def`]) and any number of uses ([`Use`]). The definition is an output of a node, an
//! input of a graph, an initializer, or none: a value is *unresolved* where a file uses a name that nobody defines. Such a
//! model can be loaded, looked at, reported and repaired. A use is an input of a node or an output of a graph; uses inside
//! nested graphs are uses as any other. Use lists are exact at all times, and adding, removing or redirecting one use takes
//! constant time however many others there are. [`Model::replace_all_uses`] takes time linear in the uses;
//! [`Model::erase_node`] refuses while an output is used, so nothing ever refers to what is gone.
//!
//! An initializer that is also a graph input is only a default that callers may override. [`Value::constant`] and
//! [`Model::constant_tensor`] therefore ignore it, while [`Value::initializer`] does not: passes that fold constants want
//! the former.
//!
//! # Names are data
//!
//! Operators, attributes, domains and all other names are [`Symbol`](onnx_types::Symbol)s of the model's interner. Those
//! that ONNX knows are constants, so `model.node(n).is(op::RELU)` compares integers. The name of a value is data like its
//! type: it may be missing, two values may have the same, and renaming touches no use. What tells values apart in a file
//! is settled when the model is written: [`Model::name_plan`] names what has no name, and renames as little as it must,
//! callers' names (inputs and outputs of the main graph and of functions) last of all. A pass that replaces a value at an
//! output uses [`Model::replace_value`] or [`Model::replace_node`], which let the output keep its name.
//!
//! # Scopes and captures
//!
//! A nested graph sees the values of the graphs around it; what it uses of them it *captures* ([`Model::captures`]). A
//! training algorithm sees the main graph. A function's body sees nothing but its own. [`Model::is_visible`] answers for
//! one value, [`Model::ancestor_in`] says where in an outer graph an inner use happens.
//!
//! # Functions
//!
//! A [`Function`] has a body, whose inputs and outputs are the formal parameters, names of attributes with or without
//! defaults, and its own operator sets. Attributes in the body may refer to them ([`AttrValue::Ref`]). Functions are told
//! apart by domain, name and overload.
//!
//! # Versions and callees
//!
//! Operators change their meaning with the version of their operator set. [`Model::versions_in`] returns the versions
//! that apply in a graph, which are those of the model or of the function around it ([`OpsetScope`]), and [`Model::callee`]
//! what a node calls under them ([`Callee`]): a standard or custom operator, a function, or nothing that is known. Both
//! take constant time, wherever the node is.
//!
//! # Editing
//!
//! [`Model::build_at`] makes nodes pleasantly, [`Model::add_node`] makes them from a record. Nodes move by
//! [`Model::move_node`] within and between graphs, with all that is nested in them. [`Model::copy_graph`],
//! [`Model::copy_nodes`] and [`Model::splice`] are what inlining is made of; weights are shared, never copied, also by
//! `Model::clone`. [`Model::erase_dead_nodes`] and [`Model::erase_unused_initializers`] tidy up. Edits that would break an
//! invariant return an [`EditError`] and change nothing; methods panic only for keys of things that are gone, as indexing
//! does.
//!
//! # Revisions and changes
//!
//! Whoever keeps results about a model asks for its [`Model::revision`] and later for the [`Changes`] since then
//! ([`Model::changes_since`]): which nodes, values, graphs and functions were created, erased or edited, and in which
//! [`Aspects`]. The first revision starts the record; a model that nobody asks for a revision records nothing. There is no
//! edit that the record misses: fields that methods do not set one by one are edited through an [`Edit`], which compares
//! when it ends. A record that grew too long, or a revision of another model, reads as [`Changes::Everything`].
//!
//! # Walking while editing
//!
//! Nothing public hands out long borrows. Iterators such as [`Model::nodes`] borrow the model, for reading. A [`Cursor`]
//! borrows nothing: it visits the nodes that were there when it was made and are still there when their turn comes.
//! With the feature `petgraph`, `Model::petgraph` lends a graph to the algorithms of that crate.
//!
//! # Provenance
//!
//! Decoders record where nodes and values come from ([`Origin`]): a byte of the file, a line of the text. A pass says what
//! it made a node from ([`Builder::derive`], [`Model::derive`]), so that a diagnostic after ten passes can still name
//! the user's node ([`Model::root_origin`]).
//!
//! # Verifying
//!
//! [`Model::verify`] proves that lists, uses, definitions, owners and scopes fit together, in linear time. Run it after
//! every pass in tests. `Debug` of a model, [`Model::listing`] and [`Model::show`] print what a pass author wants to see.
//!
//! # What this crate is not for
//!
//! It reads and writes no files (`onnx-codec` does), does not say whether a model is valid ONNX (`onnx-check`), and infers
//! no types. It holds invalid models on purpose. Everything a file can say has a place in it, including fields that nobody
//! knows, so that a model that is read and written again stays what it was.
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
mod graph;
mod import;
mod info;
mod load;
mod meaning;
mod model;
mod names;
mod node;
mod operator_set;
mod order;
#[cfg(feature = "petgraph")]
mod petgraph_view;
mod places;
mod provenance;
mod resolve;
mod scope;
mod selector;
mod sort;
mod tensors;
#[cfg(test)]
mod tests;
mod traverse;
mod uses;
mod value;
mod verify;
mod walk;

pub use attr::{AttrExtra, AttrValue, Attribute};
pub use builder::{Builder, NodeBuilder};
pub use call_graph::{CallCycle, CallGraph};
pub use changes::{Aspects, Change, Changes, Edit, Edits, Revision};
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
pub use graph::{
    Function, FunctionInfo, Graph, GraphInfo, GraphOutput, Owner, QuantAnnotation, QuantParameter,
};
pub use import::Importer;
pub use info::{Binding, DeviceConfiguration, ModelInfo, OpsetImport, TrainingInfo};
pub use load::{LoadedInfo, LoadedNode, LoadedOutput, Loader, OuterGraph};
pub use model::Model;
pub use names::NamePlan;
pub use node::{NewNode, Node};
pub use onnx_schema::AttrKind;
pub use operator_set::{OperatorEntry, OperatorSetDocument};
pub use order::Position;
#[cfg(feature = "petgraph")]
pub use petgraph_view::{GraphView, Neighbors, Visited};
pub use places::Places;
pub use provenance::{Derivation, DerivationId, DerivationSource, Origin};
pub use resolve::{Callee, FIRST_IR_WITH_IMPORTS, OpsetScope, OpsetVersions};
pub use selector::{Element, Scope, Selector, SelectorError, Selectors};
pub use sort::Cycle;
pub use tensors::{TensorHolder, TensorPart, TensorPlace};
pub use value::{Def, InfoEntry, OwnInfo, Use, User, Value};
pub use verify::{Fault, FaultKind, Subject};
pub use walk::{Event, Walk};
