//! Weights as text: how many bytes of tensors become protobuf's text, JSON or ONNX text in a second, and return.

use super::Run;
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples, time};

/// Megabytes of tensors in a second, at least: about what a disk takes.
const RATE: Bar = Bar::AtLeast(100.0);

/// Writing and reading weights as raw bytes, where a gigabyte of them is common, and as numbers.
pub(super) fn forms(run: &mut Run) -> TaskResult {
    let kinds: [(&str, u64, &str); 2] = [("raw", 1 << 30, "raw_data"), ("typed", 1 << 27, "float_data")];
    for (kind, bytes, field) in kinds {
        let bytes = if run.quick { 1 << 24 } else { bytes };
        let rounds = if run.quick { "1" } else { "3" };
        let mut ours = Samples::default();
        ours.add(&run.measure(&["forms", kind, &bytes.to_string(), rounds])?)?;
        let size = ours.median("bytes")?;
        for sample in ["write-text", "read-text", "write-JSON", "read-JSON", "write-ONNX text"] {
            let took = ours.median(sample)?;
            let (what, form) = sample.split_once('-').unwrap_or_default();
            // Numbers that people read as such are made of weights here, which takes as long as it takes.
            let bar = if form == "ONNX text" { Bar::None } else { RATE };
            run.push(Outcome {
                group: "forms",
                what: format!("MB/s to {what} {} MiB of `{field}`, {form}", bytes >> 20),
                sides: time(took),
                value: size / 1e6 / (took / 1e9),
                bar,
            });
        }
        run.keep(&format!("forms {kind}"), ours, Samples::default());
    }
    Ok(())
}
