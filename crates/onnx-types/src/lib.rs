//! ONNX element types, shapes, dimension expressions and tensors.
//!
//! # Names
//!
//! An [`Interner`] maps names to [`Symbol`]s, which are small, `Copy` and compared as integers. The names that ONNX defines
//! are constants of `onnx-schema` and have the same symbol in every interner.
//!
//! # Types and shapes
//!
//! A [`Type`] is a tensor, sparse tensor, sequence, optional or map. A [`TensorType`] has an [`ElemType`] and, if its rank is
//! known, a [`Shape`]: a list of [`Dim`]s. A dimension is a number, a variable (a symbol that stands for one number in the
//! whole model), an expression of variables, or unknown. Expressions are entries of an [`ExprTable`](expr::ExprTable), which
//! brings them into a canonical form, so that equal sizes compare equal.
//!
//! ```
//! use onnx_types::expr::ExprTable;
//! use onnx_types::{Dim, ElemType, Interner, Shape, Type};
//!
//! let (mut names, mut table) = (Interner::new(), ExprTable::new());
//! let batch = Dim::Var(names.intern("batch"));
//! let pairs = table.parse(&mut names, "2*batch");
//! // float[batch, 128]
//! let features = Type::tensor(ElemType::Float, Some(Shape::new([batch, Dim::Known(128)])));
//! // float[2*batch, 128]
//! let doubled = Type::tensor(ElemType::Float, Some(Shape::new([pairs, Dim::Known(128)])));
//! assert_ne!(features, doubled);
//! assert_eq!(table.add(batch, batch), pairs);
//! assert_eq!(table.eval(pairs, &|_| Some(8)), Some(16));
//! ```
//!
//! # Tensors
//!
//! A [`Tensor`](tensor::Tensor) has dimensions, an element type, and a payload: bytes that are shared with the file that they
//! were read from, elements in typed fields, one repeated element, or a reference to external data. Elements of external
//! data are read through a [`DataSource`](tensor::DataSource).
//!
//! # Work and its limits
//!
//! [`Limits`] bound what an operation may cost, and are listed by name in [`LIMITS`]. An [`Execution`] is the context of an
//! operation: its limits, an [`Interrupt`] that ends it early, a function that receives its progress, and the seed of its random numbers.
//! Work that is stopped has no result.
//!
//! # What a file contains that a graph does not
//!
//! [`FieldForms`] records which fields are encoded in a non-canonical form (explicit defaults, unpacked numbers), and
//! [`UnknownFields`] retains fields of later releases, so that a file that is read and written again is unchanged.
#![forbid(unsafe_code)]
// What comes from outside is neither indexed nor added up unchecked.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub mod expr;
#[path = "generated/field.rs"]
pub mod field;
pub mod raw_text;
pub mod tensor;

mod dim;
mod elem;
mod execution;
mod limits;
mod lineage;
mod name_index;
mod options;
mod symbol;
mod text;
mod ty;
mod unknown;
mod unnamed;

pub use dim::{Dim, Shape};
pub use elem::{ElemClass, ElemType, Storage, UnknownElemTypeError};
pub use execution::{Execution, Interrupt, Progress, Step, Stopped, Watch};
pub use expr::ExprId;
pub use limits::{LIMITS, Limit, Limits, UnknownLimitError};
pub use lineage::InternerId;
pub use symbol::{Interner, NameHash, NameRef, Symbol};
pub use text::Text;
pub use ty::{TensorType, Type, TypeKind};
pub use unknown::{FieldForms, UnknownField, UnknownFields};
pub use unnamed::SymbolNames;
