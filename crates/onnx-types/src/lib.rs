//! ONNX element types, shapes, dimension expressions and tensors.
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
mod symbol;
mod text;
mod ty;
mod unknown;
mod unnamed;

pub use dim::{Dim, Shape};
pub use elem::{ElemClass, ElemType, Storage, UnknownElemType};
pub use execution::{Execution, Interrupt, Progress, Step, Stopped, Watch};
pub use expr::ExprId;
pub use limits::{LIMITS, Limit, Limits, UnknownLimit};
pub use lineage::InternerId;
pub use symbol::{Interner, NameHash, NameHasher, Symbol};
pub use text::Text;
pub use ty::{TensorType, Type, TypeKind};
pub use unknown::{FieldForms, UnknownField, UnknownFields};
pub use unnamed::SymbolNames;
