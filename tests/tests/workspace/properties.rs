//! What fuzzers try for hours, for about a second each: every seed, every finding of the past, and mutations of both that
//! are the same in every run, on a thread with half a megabyte of stack.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use onnx_hostile::gauntlet::{STACK, on_thread};
use onnx_tests::properties::mutate::{Numbers, mutate};
use onnx_tests::properties::{find, regressions};

/// Longer inputs are only slower, not harder.
const LONGEST: usize = 16 << 10;

/// What the independent readers need, which recurse as they like.
const ROOMY: usize = 64 << 20;

#[track_caller]
fn holds(name: &str) {
    let property = find(name).unwrap();
    // `ONNX_PROPERTY_ROUNDS=N` tries N times as many mutations.
    let rounds =
        std::env::var("ONNX_PROPERTY_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_u64);
    let seeds = (property.seeds)();
    assert!(!seeds.is_empty(), "no seeds of {name}");
    let found = regressions::all(name).unwrap();
    let stack = if name == "decode_prost" || name == "text_roundtrip" { ROOMY } else { STACK };
    let work = move || {
        let mut numbers = Numbers::new(1);
        let known = found.iter().map(|(name, bytes)| (name.clone(), bytes.clone()));
        let step = seeds.len() / 200 + 1;
        let given = seeds
            .iter()
            .step_by(step)
            .enumerate()
            .map(|(index, seed)| (format!("seed {index}"), seed.clone()));
        for (what, bytes) in known.chain(given) {
            (property.check)(&bytes).map_err(|failure| format!("{what}: {failure}"))?;
        }
        for round in 0..property.smoke * rounds {
            let bytes = mutate(&seeds, &mut numbers, LONGEST);
            (property.check)(&bytes)
                .map_err(|failure| format!("mutation {round}: {failure}\n{}", bytes.escape_ascii()))?;
        }
        Ok(())
    };
    on_thread(stack, work).unwrap();
}

#[test]
fn decode() {
    holds("decode");
}

#[test]
fn decode_encode() {
    holds("decode_encode");
}

#[test]
fn decode_prost() {
    holds("decode_prost");
}

#[test]
fn text_parse() {
    holds("text_parse");
}

#[test]
fn text_roundtrip() {
    holds("text_roundtrip");
}

#[test]
fn check() {
    holds("check");
}

#[test]
fn infer() {
    holds("infer");
}

#[test]
fn eval() {
    holds("eval");
}

#[test]
fn edit_scripts() {
    holds("edit_scripts");
}

#[test]
fn external_data() {
    holds("external_data");
}

#[test]
fn smith() {
    holds("smith");
}

#[test]
fn rules() {
    holds("rules");
}

#[test]
fn forms() {
    holds("forms");
}
