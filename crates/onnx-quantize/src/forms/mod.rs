//! Forms of quantized models other than pairs of `QuantizeLinear` and `DequantizeLinear`.

mod blocks;
mod dynamic;
mod operators;

pub use self::blocks::{BlockOptions, quantize_blocks};
pub use self::dynamic::{DynamicOptions, DynamicReport, quantize_dynamic};
pub use self::operators::{OperatorForm, use_operators};
