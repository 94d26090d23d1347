//! The tables that `cargo xtask codegen` writes.

pub(crate) mod bodies;
