//! Typed views and builders of all ONNX operators at all versions.
//!
//! There is one type for each operator name, [`Conv`](ops::Conv) or [`Squeeze`](ops::Squeeze), generated from the
//! committed facts of `onnx-schema`. Versions are rows of its tables, so code that reads or makes a node has no version
//! branches unless the meaning of the operator changed.
//!
//! # Reading
//!
//! [`Operator::of`] returns a [`View`] of a node that calls the operator, or `None`; [`Operator::try_of`] returns the
//! reason instead. A view has a method for each operand, output and attribute. Operands and outputs are values, or `None`
//! if omitted. Attributes, and operands that were attributes in older versions, are [`Param`]s, which say how the value is
//! known: given, the default in force, absent, a reference to an attribute of the enclosing function, computed at run
//! time, not declared by the version, or of a wrong kind. [`Param::known`] and [`Param::or`] return a value only where it
//! is certain.
//!
//! ```
//! use onnx_ir::{Model, OpsetImport, Position};
//! use onnx_ops::{MakeError, Operator, Param, ops};
//! use onnx_schema::domain;
//!
//! # fn main() -> Result<(), MakeError> {
//! let mut model = Model::new();
//! model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 13));
//! let graph = model.main_graph();
//! let x = model.add_graph_input(graph, "x", None);
//!
//! // `axes` of `Squeeze` is an input since version 13: the builder adds a `Constant`.
//! let mut build = model.build_at(Position::End(graph));
//! let y = ops::squeeze(&mut build, x).axes([0]).output()?;
//! let z = ops::softmax(&mut build, y).output()?;
//!
//! let node = model.value(y).producer().unwrap();
//! let squeeze = ops::Squeeze::of(&model, node).unwrap();
//! assert_eq!(squeeze.data(), Some(x));
//! assert_eq!(squeeze.axes().known().as_deref(), Some(&[0_i64][..]));
//!
//! // The default of `axis` was 1 before version 13.
//! let softmax = ops::Softmax::of(&model, model.value(z).producer().unwrap()).unwrap();
//! assert_eq!(softmax.axis(), Param::Default(-1));
//! # Ok(())
//! # }
//! ```
//!
//! [`Call`] is the untyped core of a view, for code that handles several operators alike:
//! `call.attr::<kind::Ints>(attr::STRIDES)`, `call.param::<kind::Ints>(ops::Slice::STARTS)`.
//!
//! # Making
//!
//! The functions of [`ops`] begin a node at the place of an [`onnx_ir::Builder`]. Required operands and attributes are
//! arguments, all others are methods of [`Make`]. Operands come in the order of the newest version, also those that were
//! attributes in older ones: `slice(b, data, starts, ends)`. Required attributes follow. The specification does not number
//! attributes, so they are in the order of their names, except where several of one kind would have to be distinguished by it:
//! `if_(b, cond, then_branch, else_branch)`. The node gets the form of the version in scope; what that version cannot
//! express is a [`MakeError`], and the model is unchanged then.
//!
//! # What absence means
//!
//! The absence of an optional attribute without a default has a meaning. If that meaning is a value that depends on the
//! node, such as `perm` of `Transpose`, the view has a method that returns the given value or else this one:
//! `perm_or_default(rank)`, `strides_or_default(rank)`, `kernel_shape_or_default(weight)`. [`derived_default`] computes it
//! for an untyped [`Call`]. [`Param::or_default`] is for attributes that later versions add.
//!
//! # What this crate is not for
//!
//! It does not check nodes: operands that the schema requires are `Option`s here, as models may be invalid. It infers no
//! types and computes no values.
#![forbid(unsafe_code)]

mod call;
mod derived;
mod make;
#[path = "generated/mod.rs"]
pub mod ops;
mod param;
#[cfg(test)]
mod tests;

pub use call::{Call, Mismatch, Operator, Outputs, Place, Places, View, schema_of};
pub use derived::{absence, derived_default, is_commutative};
pub use make::{Arg, Make, MakeError, VersionedName};
pub use onnx_schema::traits::{Absence, DerivedDefault};
pub use param::{Kind, Param, Texts, kind, read_attribute};
