//! Weights from external data back into the model.

use onnx_ir::Model;
use onnx_types::tensor::{DataSource, Payload, Tensor, TensorError};

use super::walk::{Place, for_each_tensor, replace_tensors};
use super::{ExternalizeError, forget_old_place};

/// Options for moving external data into the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InlineDataOptions {
    /// The most bytes of elements that may come into the model, copied or mapped. Default: that of
    /// [`Limits::external_bytes`](onnx_types::Limits::external_bytes), 64 GiB.
    pub max_total_bytes: u64,
}

impl Default for InlineDataOptions {
    fn default() -> Self {
        Self { max_total_bytes: onnx_types::Limits::DEFAULT.external_bytes }
    }
}

onnx_types::option_setters! {
    InlineDataOptions {
        with_max_total_bytes => max_total_bytes: u64,
    }
}

/// Gives every external tensor of a model its elements as `raw_data`, and returns how many there were. Nothing is copied
/// where the source maps its files.
///
/// # Errors
///
/// Returns an error if the entries of a tensor are wrong, the source cannot read its file, the range is not of the size
/// that the tensor implies, or the limit is exceeded. The model is as it was.
pub fn inline(
    model: &mut Model,
    options: &InlineDataOptions,
    source: &dyn DataSource,
) -> Result<u64, ExternalizeError> {
    let mut left = options.max_total_bytes;
    let mut replacements = Vec::new();
    let mut failure = None;
    for_each_tensor(model, |place, tensor| {
        if failure.is_some() || !tensor.is_external() {
            return;
        }
        // The size is known before a byte is read.
        let Some(rest) = left.checked_sub(tensor.byte_len().unwrap_or(0)) else {
            failure = Some(ExternalizeError::TooLarge { limit: options.max_total_bytes });
            return;
        };
        left = rest;
        match read(tensor, source) {
            Ok(tensor) => replacements.push((place, tensor)),
            Err(source) => failure = Some(error_at(model, place, source)),
        }
    });
    match failure {
        Some(error) => Err(error),
        None => {
            let count = replacements.len() as u64;
            replace_tensors(model, replacements)?;
            Ok(count)
        }
    }
}

fn error_at(model: &Model, place: Place, source: TensorError) -> ExternalizeError {
    ExternalizeError::Tensor { place: place.describe(model), source }
}

fn read(tensor: &Tensor, source: &dyn DataSource) -> Result<Tensor, TensorError> {
    let bytes = tensor.bytes(source)?;
    let mut tensor = tensor.clone();
    tensor.set_payload(Payload::Raw(bytes));
    forget_old_place(&mut tensor);
    Ok(tensor)
}
