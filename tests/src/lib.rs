//! Tests of the workspace as a whole, and the generators of their models.

pub mod attack;
pub mod conformance;
#[cfg(feature = "documents")]
pub mod documents;
pub mod models;
#[cfg(feature = "documents")]
pub mod operators;
pub mod properties;
mod reduce;
