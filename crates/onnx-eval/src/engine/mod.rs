//! Planning and running.

pub(crate) mod constant;
pub(crate) mod control;
mod evaluator;
mod machine;
mod notes;
mod order;
mod plan;
mod proof;
pub(crate) mod types;
mod zeros;

pub use evaluator::{Evaluator, NodeEvaluator, run_node};
pub(crate) use proof::is_narrow;
