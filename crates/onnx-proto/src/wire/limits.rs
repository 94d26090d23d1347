//! Bounds on what reading protobuf bytes may cost.

/// Bounds that concern reading bytes, whatever the bytes mean.
///
/// The defaults accept everything that other ONNX readers accept.
/// Start from `WireLimits::default()` and change the fields that matter;
/// an error caused by a limit names the field to raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireLimits {
    /// Maximum nesting depth of messages and groups below the top-level message. Default: 100.
    ///
    /// This is the limit of upb and prost, so a file that needs more cannot be read by other tools.
    pub message_depth: u32,
    /// The greatest length of the whole input, in bytes. Default: no bound, as the input is only borrowed.
    pub input_bytes: u64,
    /// The greatest length of one `string` field, in bytes. Default: 64 MiB. `bytes` fields are not concerned.
    pub string_bytes: u64,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self { message_depth: 100, input_bytes: u64::MAX, string_bytes: 64 << 20 }
    }
}
