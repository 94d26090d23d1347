//! Recorded runs of random models: what inference claims of them holds for what was observed.
//!
//! `tests/attack/recorded.jsonl.zst` is a small part of `cargo xtask attack infer`, which says how it is made.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use onnx_tests::attack::runner::replay;
use ruzstd::decoding::StreamingDecoder;

#[test]
fn recorded_runs_agree_with_inference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("attack/recorded.jsonl.zst");
    let file = StreamingDecoder::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut failures = Vec::new();
    for line in BufReader::new(file).lines() {
        let verdict = replay(&line.unwrap()).unwrap();
        failures.extend(
            verdict.failures.iter().map(|failure| format!("{}: {}", failure.class(), failure.detail)),
        );
        for (name, count) in verdict.counts {
            *counts.entry(name).or_default() += count;
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    // An archive that is cut short, or names that no longer match, would compare nothing.
    assert!(counts["models"] >= 100, "{counts:?}");
    assert!(counts["values compared"] >= 50_000, "{counts:?}");
    assert!(counts["elements compared"] >= 50_000, "{counts:?}");
    let (all, unknown) =
        (counts["values that sizes determine"], counts["values that sizes determine, unknown"]);
    assert!(unknown * 100 <= all * MOST_UNKNOWN, "{unknown} of {all} determined values are unknown");
}

/// The most values in percent that may be unknown although sizes determine them.
const MOST_UNKNOWN: u64 = 8;
