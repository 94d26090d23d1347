//! Independent stress tests: random models held against a runtime.
//!
//! `cargo xtask attack infer` generates models by a separate grammar ([`generate`]), runs them with onnxruntime for
//! several bindings of their dimension variables and several sets of data, and compares every value with the inferred
//! result, symbolically and with the sizes set ([`judge`]). [`deviations`] lists where the runtime deviates from the
//! specification.

pub mod deviations;
pub mod generate;
pub mod judge;
pub mod observation;
pub mod runner;
mod unknown;
