//! Tensors.

mod check;
mod element;
mod external;
mod fault;
mod make;
mod narrow;
mod packing;
mod payload;
mod proto;
mod read;
mod varints;
mod view;

#[cfg(test)]
mod tests;

pub use element::Element;
pub use external::{
    DataError, DataErrorReason, DataSource, ExternalData, ExternalFault, MemoryData, NoData, TensorMetadata,
    checked_range,
};
pub use fault::{TensorError, TensorFault};
pub use half::{bf16, f16};
pub use narrow::{
    F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, I2, I4, PowerRounding, U2, U4,
};
pub use num_complex::Complex;
pub use payload::{Payload, Splat};
pub use proto::{Tensor, TensorDims, TensorExtra, TensorLayout, TensorSegment};
pub use read::{Chunks, SPLAT_LIMIT};
pub use varints::{VarintError, VarintIter, Varints};
pub use view::{NumberIter, View, ViewIter};
