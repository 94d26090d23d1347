//! Independent stress tests: random models held against a runtime.
//!
//! `cargo xtask attack infer` generates models by a grammar of its own ([`generate`]), runs them with onnxruntime for
//! several bindings of their dimension variables and several sets of data, and compares every value with what inference
//! claims, symbolically and with the sizes set ([`judge`]). What the runtime does otherwise than the specification is listed
//! in [`deviations`].

pub mod deviations;
pub mod generate;
pub mod judge;
pub mod observation;
pub mod runner;
mod unknown;
