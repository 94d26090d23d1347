//! Numbers narrower than Rust's own: 2- and 4-bit integers, 4-, 6- and 8-bit floats.
//!
//! Each type wraps its code (the bit pattern ONNX stores) and converts to and from `f32` and `f64` with the rules of
//! `Cast`: round to nearest, ties to even, with the attribute `saturate` where it means something. `f16` and `bf16` come
//! from the crate `half`.

mod e8m0;
mod float;
mod format;
mod int;

#[cfg(test)]
mod tests;

pub use e8m0::{F8E8M0, PowerRounding};
pub use float::{F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
pub use int::{I2, I4, U2, U4};
