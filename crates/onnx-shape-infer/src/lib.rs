//! Types, shapes and shape values of every ONNX operator, with dimension algebra.
#![forbid(unsafe_code)]

mod apply;
mod content;
mod cx;
mod engine;
mod facts;
mod family;
pub mod fault;
mod ops;
mod options;
mod part;
mod registry;
mod result;
mod table;
mod ty;

pub use apply::{Applied, Contradictions, MergePolicy};
pub use content::{Content, Elem};
pub use cx::{Cx, Ints, Outcome, Param, Stop};
pub use engine::Changed;
pub use facts::{Fact, Facts, Relation, Strength};
pub use options::{InferLimits, Options};
pub use part::{infer_function, infer_node};
pub use registry::{CustomRule, InferRegistry, RuleFn, uncovered};
pub use result::{Inference, infer};
pub use ty::{Dims, Ty};
