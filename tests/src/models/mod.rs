//! Models of any size, made from a few numbers: the same numbers give the same bytes, always.
//!
//! The bytes are written with [`onnx_proto::wire::Writer`] directly, so that what is measured or tested with them has no
//! part in making them. Fields are in the order of their numbers and in their shortest form, as canonical writers emit
//! them. All models are valid for the reference; names look like those of real exporters.
//!
//! | Model | What there is much of |
//! |---|---|
//! | [`chain`] | nodes, one after the other |
//! | [`Transformer`] | layers as exporters write them: small nodes that compute shapes, constants, weights |
//! | [`redundant`] | nodes and constants that passes remove or change |
//! | [`fan_out`] | uses of one value |
//! | [`subgraphs`] | nested graphs that capture outer values |
//! | [`functions`] | functions and calls of them |
//! | [`inline_weights`], [`external_weights`] | bytes of tensors |
//!
//! ```
//! use onnx_codec::{DecodeOptions, decode};
//!
//! let decoded = decode(onnx_tests::models::chain(1000), &DecodeOptions::default())?;
//! assert_eq!(decoded.model.node_count(), 1000);
//! # Ok::<(), onnx_codec::DecodeError>(())
//! ```

mod chain;
mod nested;
mod redundant;
mod transformer;
mod weights;
mod write;

pub use chain::{chain, fan_out};
pub use nested::{functions, subgraphs};
pub use redundant::{NODES_PER_BLOCK, redundant};
pub use transformer::{NODES_PER_LAYER, Transformer};
pub use weights::{external_weights, inline_weights};
