//! Runs of models and nodes.

#![forbid(unsafe_code)]

mod classical;
mod fast_paths;
mod interrupt;
mod limits;
mod memory;
mod modes;
mod narrow_floats;
mod reuse;
mod run;
mod standard;
mod threads;
