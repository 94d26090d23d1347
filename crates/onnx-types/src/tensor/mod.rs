//! Tensors.

mod external;
mod payload;
mod proto;
mod varints;

pub use external::{ExternalData, TensorMetadata};
pub use payload::{Payload, Splat};
pub use proto::{Tensor, TensorDims, TensorExtra, TensorLayout, TensorSegment};
pub use varints::{VarintError, VarintIter, Varints};
