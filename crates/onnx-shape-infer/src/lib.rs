//! Types, shapes and shape values of every ONNX operator, with dimension algebra.
//!
//! # What it does
//!
//! [`infer`] visits the nodes of a model once, in order, and determines the type of each value: the element type, the
//! rank, and the sizes as numbers or as expressions of the model's dimension variables. The result is an [`Inference`],
//! a table separate from the model; nothing in the model changes. New symbols and expressions belong to the result
//! until [`Inference::apply`] writes them.
//!
//! ```
//! use onnx_ir::{Model, NewNode, OpsetImport, Position};
//! use onnx_schema::{domain, op};
//! use onnx_shape_infer::{InferOptions, infer};
//! use onnx_types::{Dim, ElemType, Shape, Type};
//!
//! // y = Reshape (x, Shape (x)), for x of shape [N, 2*N].
//! let mut model = Model::new();
//! model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 18));
//! let graph = model.main_graph();
//! let [x, s, y] = ["x", "s", "y"].map(|name| { let name = model.intern(name); model.new_value(name) });
//! model.push_graph_input(graph, x)?;
//! let [n, twice] = ["N", "2*N"].map(|name| Dim::Var(model.intern(name)));
//! model.set_type(x, Some(Type::tensor(ElemType::Float, Some(Shape::new([n, twice])))));
//! model.add_node(Position::End(graph), NewNode::new(op::SHAPE).inputs([x]).outputs([s]))?;
//! model.add_node(Position::End(graph), NewNode::new(op::RESHAPE).inputs([x, s]).outputs([y]))?;
//!
//! let inference = infer(&model, &InferOptions::default());
//! assert_eq!(inference.elem(y), Some(ElemType::Float));
//! let shape = inference.shape(y).expect("its rank is known");
//! let texts: Vec<_> = shape.iter().map(|&dim| inference.display(&model, dim).to_string()).collect();
//! assert_eq!(texts, ["N", "2*N"]);
//! # Ok::<(), onnx_ir::EditError>(())
//! ```
//!
//! # What it promises
//!
//! **Never wrong.** A size that is claimed is the size at run time, for all sizes of the inputs with which the model runs
//! at all, 0 and 1 among them. What is not known is said to be unknown: it becomes a new symbol, the same one wherever the
//! same size appears. If a result depends on more than the semantics of the operators (a declaration in the model, a window
//! that fits, numbers that stay in the range of their type), the condition is recorded among the [`Facts`] as a guard:
//! [`Inference::guards`]. If all guards hold, no inferred size is negative. Initializers that the caller can override (with
//! IR version 3, or [`InferOptions::defaults_are_constant`]) and loops that may have no iteration have guards, too.
//! `docs/guards.md` lists what is assumed. Without assumptions ([`InferOptions::assumed`]), what needs a guard is unknown. Results are those of the specification; with [`InferOptions::runtime`], those in which
//! a runtime deviates are unknown.
//!
//! **Errors do not stop inference.** A contradictory node is reported, and the nodes after it are inferred as far as
//! possible. An unknown operator leaves only its dependents unknown. Nothing panics, recurses without bound or
//! allocates without limit: [`Limits`].
//!
//! # Values
//!
//! Models compute with shapes: `Shape`, `Gather`, `Mul`, `Concat`, and at last `Reshape`. So the elements of small tensors
//! are followed, as [`Content`]: numbers, expressions, fractions of them, truth values, or unknown ones. An initializer
//! counts as constant unless it is an input, too, which a caller can override.
//!
//! # Control flow and functions
//!
//! Bodies of `If`, `Loop`, `Scan` and `SequenceMap` are visited in place, with what they use from outside; results are
//! joined so that they hold for each branch and every iteration. A model-local function is visited once for each
//! combination of what is known about its arguments. Symbols of a body never get out of it: a caller sees its own.
//!
//! # Questions and numbers
//!
//! [`Inference::facts`] proves equality, `<=` and divisibility by a number between dimensions; fusion passes use it to
//! check their preconditions. [`Inference::eq`] and [`Inference::le`] also return what the answer depends on, and
//! [`Inference::justification`] returns what a result depends on: [`Justification`]. [`Inference::shapes`] compiles all
//! shapes to evaluate them for given sizes. [`Inference::solve`] is the inverse: it computes the sizes of the variables
//! from shapes of the inputs, and reports all contradictions. [`InputSizes`] are sizes for a run that contradict nothing. [`Inference::update`] infers again only what an edit can
//! have changed.
//!
//! # Own operators
//!
//! A rule is a function of a [`Cx`]: it asks for the shapes of the inputs with `?`, and sets those of the outputs.
//! [`InferPack::with_rule`] adds one for an operator that ONNX does not define, and [`InferPack::with_rule_since`] one for
//! its later versions; the standard operators are written against the same API. `docs/add-an-operator.md` walks through one.
//!
//! # What it is not
//!
//! It checks no more of a model than it needs: `onnx-check` does. It runs nothing, reads no weights but small ones, and
//! opens no file; external data it sees through [`InferOptions::data`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod apply;
mod bind;
mod content;
pub mod contrib;
mod cx;
mod dependents;
mod engine;
mod facts;
mod family;
pub mod fault;
mod findings;
mod given_shape;
mod guards;
mod identifiers;
mod input_sizes;
mod justification;
mod naming;
mod ops;
mod options;
mod part;
mod reason;
mod registry;
mod report;
mod result;
mod sequence;
mod table;
mod ty;
mod why;

pub use apply::{Applied, Contradictions, MergePolicy};
pub use bind::{Shapes, Sizes, Violation};
pub use content::{Content, Elem};
pub use cx::{Cx, Ints, Outcome, Param, Stop};
pub use facts::{Fact, FactScope, Facts, Relation, Strength};
pub use guards::{GUARD_KEY, Guard, parse_shapes};
pub use identifiers::name_sizes;
pub use input_sizes::{InitialSize, InputSizeError, InputSizeOptions, InputSizes};
pub use justification::{Answer, Justification};
pub use naming::ResultNames;
pub use onnx_types::{Execution, Limits};
pub use options::{InferOptions, Runtime};
pub use part::{infer_function, infer_node};
pub use registry::{CustomRule, InferPack, RuleFn, follows_values, uncovered};
pub use report::{AxisSet, Explanation, InferenceReport, Missing, Unknown};
pub use result::{Inference, infer};
pub use ty::{Dims, Ty};
pub use why::{Gap, Why};
