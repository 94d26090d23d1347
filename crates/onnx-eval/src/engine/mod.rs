//! Planning and running.

pub(crate) mod constant;
pub(crate) mod control;
mod evaluator;
mod machine;
mod notes;
mod order;
mod plan;
mod proof;
mod shared;
pub(crate) mod types;
mod zeros;

pub use evaluator::{Evaluator, NodeEvaluator, run_node};
pub(crate) use proof::is_narrow;
pub(crate) use shared::Shared;
