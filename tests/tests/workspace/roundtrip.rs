//! Files come back as they were: the bundled models, and whatever bytes `proptest` thinks of.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helper functions too"
)]

use bytes::Bytes;
use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_tests::conformance::data::{Data, bundled};
use onnx_tests::conformance::generate::{Choices, Style, message};
use onnx_tests::conformance::rewrite::Rewrite;
use onnx_tests::conformance::runner::{Options, Suite, run};
use onnx_tests::conformance::suites::roundtrip::{RoundTrip, Verdict};
use onnx_tests::conformance::survey::Survey;
use onnx_tests::conformance::tree::Tree;
use onnx_tests::conformance::wire::put_len;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A stack that servers give their threads; the limits on nesting must hold in it.
const STACK: usize = 512 << 10;

fn in_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(test).unwrap().join().unwrap();
}

fn check(suite: &RoundTrip, bytes: Vec<u8>) -> Result<Verdict, TestCaseError> {
    suite
        .file(&Bytes::from(bytes), &mut Vec::new())
        .map_err(|failure| TestCaseError::fail(format!("{failure:?}")))
}

fn property(cases: u32, strategy: impl Strategy<Value = Vec<u8>>) {
    let suite = RoundTrip::new().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&strategy, |bytes| check(&suite, bytes).map(drop)).unwrap();
}

/// Messages of fields that ONNX knows, in the given style.
fn messages(style: Style) -> impl Strategy<Value = Vec<u8>> {
    let suite = RoundTrip::new().unwrap();
    proptest::collection::vec(any::<u8>(), 0..400).prop_map(move |choices| {
        message(suite.schema(), suite.model(), &mut Choices::new(&choices), style, 12)
    })
}

/// As [`messages`], with one byte changed or the end cut off.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let damage = (any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    (messages(Style::Odd), damage).prop_map(|(mut bytes, (index, byte, cut))| {
        if !bytes.is_empty() {
            let index = index.index(bytes.len());
            if cut {
                bytes.truncate(index);
            } else {
                bytes[index] = byte;
            }
        }
        bytes
    })
}

#[test]
fn bundled_and_generated_models() {
    let suite = RoundTrip::new().unwrap();
    let options = Options { jobs: 2, only: None };
    let report = run(&suite, &Data::default(), &options).unwrap();
    println!("{}", suite.summary(&report));
    report.compare(std::env::var_os("BLESS").is_some()).unwrap();
    assert!(report.count("models") > 10, "no models in `{}`", bundled().display());
}

#[test]
fn canonical_messages() {
    in_small_stack(|| property(400, messages(Style::Canonical)));
}

#[test]
fn odd_messages() {
    in_small_stack(|| property(400, messages(Style::Odd)));
}

#[test]
fn broken_messages() {
    in_small_stack(|| property(800, messages(Style::Broken)));
}

#[test]
fn damaged_messages() {
    in_small_stack(|| property(800, damaged()));
}

#[test]
fn arbitrary_bytes() {
    in_small_stack(|| property(1000, proptest::collection::vec(any::<u8>(), 0..60)));
}

/// A message inside a message inside …: the fields with the given numbers, the last ones over and over.
fn ladder(entry: &[u32], steps: &[u32], levels: usize) -> Vec<u8> {
    let numbers: Vec<u32> = entry.iter().chain(steps.iter().cycle()).copied().take(levels).collect();
    numbers.iter().rev().fold(Vec::new(), |content, &number| {
        let mut outer = Vec::new();
        put_len(&mut outer, number, &content);
        outer
    })
}

/// The deepest nesting that is read, and more, of everything that can hold itself; in a small stack.
#[test]
fn nesting() {
    // Graphs in attributes, types in sequences, types in attributes of nested graphs.
    let ladders: [(&[u32], &[u32]); 3] =
        [(&[7], &[1, 5, 6]), (&[7, 13, 2], &[4, 1]), (&[7, 1, 5, 6, 1, 5, 14], &[9, 1])];
    for (entry, steps) in ladders {
        for levels in [99, 100, 101, 5000] {
            let bytes = Bytes::from(ladder(entry, steps, levels));
            let file = bytes.clone();
            in_small_stack(move || match decode(file.clone(), &DecodeOptions::default()) {
                Ok(decoded) => {
                    assert!(levels <= 100);
                    assert_eq!(decoded.model.verify(), Ok(()));
                    let written = encode(&decoded.model, &EncodeOptions::default()).unwrap();
                    assert_eq!(written.into_bytes(), file);
                }
                Err(_) => assert!(levels > 100, "{levels} levels of {steps:?}"),
            });
            // The witnesses and prost need more.
            let verdict = check(&RoundTrip::new().unwrap(), bytes.to_vec()).unwrap();
            assert_eq!(verdict == Verdict::Refused, levels > 100, "{levels} levels of {steps:?}");
        }
    }
}

/// The witnesses agree with each other: forms that say the same give the same tree.
#[test]
fn rewriting_keeps_the_fields() {
    let suite = RoundTrip::new().unwrap();
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&messages(Style::Canonical), |bytes| {
        let (schema, model) = (suite.schema(), suite.model());
        let tree = Tree::read(schema, model, &bytes).unwrap();
        let survey = Survey::of(schema, model, &bytes).unwrap();
        prop_assert!(survey.is_canonical(), "{:?}", survey.departure);
        for rewrite in [Rewrite::FlipPacked, Rewrite::Descending, Rewrite::Padded, Rewrite::Split] {
            let rewritten = rewrite.apply(schema, model, &bytes).unwrap();
            let other = Tree::read(schema, model, &rewritten).unwrap();
            prop_assert_eq!(tree.difference(&other, schema, model), None, "{}", rewrite.name());
        }
        let more = Rewrite::UnknownLast.apply(schema, model, &bytes).unwrap();
        prop_assert!(tree.difference(&Tree::read(schema, model, &more).unwrap(), schema, model).is_some());
        prop_assert!(Survey::of(schema, model, &more).unwrap().is_canonical());
        Ok(())
    });
    result.unwrap();
}
