//! Inference of whole models.

#![forbid(unsafe_code)]

mod bodies;
mod complete;
mod contrib;
mod incremental;
mod justification;
mod nesting;
mod part;
mod reasons;
mod symbolic_cases;
mod tables;
