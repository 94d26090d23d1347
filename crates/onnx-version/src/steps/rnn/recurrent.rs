//! `GRU`, `LSTM`, `RNN`: before version 7, the output of all steps is computed only if an attribute is set.

use onnx_schema::attr;

use crate::step::{Reason, Step};

/// Version 7 computes every output that has a name.
pub(crate) fn all_outputs(step: &mut Step<'_>) -> Result<(), Reason> {
    let has_sequence = step.int(attr::OUTPUT_SEQUENCE)?.unwrap_or(0) != 0;
    if !has_sequence && step.used_output(0).is_some() {
        return Err("its first output is used, but `output_sequence` is not set".into());
    }
    step.remove(attr::OUTPUT_SEQUENCE);
    Ok(())
}
