//! Tests of the workspace as a whole, and the generators of their models.

pub mod attack;
pub mod conformance;
pub mod documents;
pub mod models;
pub mod operators;
pub mod properties;
mod reduce;
