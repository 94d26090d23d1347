//! Commands whose work is stopped at each of its checks: they fail with the timeout, whatever they were doing.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_codec::{EncodeOptions, ReadMode, WriteOptions, encode};
use onnx_text::ParseOptions;
use onnx_types::{Execution, Interrupt};

use crate::args::Color;
use crate::elided;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{Loaded, load_part, load_text};
use crate::output::Out;
use crate::part::Part;
use crate::progress::Progress;
use crate::report::ReportFormat;
use crate::store::{self, Destination, Effect};

pub(crate) const TEXT: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                               g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {y = Add (x, w)}\n";

/// An execution that is stopped at the check of this number, and the number of checks.
fn stopped_at(check: usize) -> (Execution, Arc<AtomicUsize>) {
    let checks = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&checks);
    let interrupt = Interrupt::when(move || counter.fetch_add(1, Ordering::Relaxed) >= check);
    (Execution::default().with_interrupt(interrupt), checks)
}

/// Asserts that work fails with the timeout if it is stopped at any of its checks, which are at least `least`.
#[track_caller]
pub(crate) fn check_stops<T: Debug>(least: usize, work: impl Fn(Execution) -> Result<T, Failure>) {
    let (execution, checks) = stopped_at(usize::MAX);
    work(execution).expect("it is not stopped");
    let checks = checks.load(Ordering::Relaxed);
    assert!(checks >= least, "there are {checks} checks");
    for check in 0..checks {
        match work(stopped_at(check).0) {
            Err(failure) => assert_eq!(failure.outcome(), Outcome::Limit, "{check}: {}", failure.message),
            Ok(result) => panic!("stopped at {check}: {result:?}"),
        }
    }
}

/// Reads a model with a context that never stops.
pub(crate) fn loaded(path: &Path) -> Loaded {
    let format = Format::of(path);
    load_part(path, format, ReadMode::Memory, Part::Model, &ParseOptions::default()).expect("it is a model")
}

#[test]
fn writing_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("in.onnxtxt");
    fs::write(&text, TEXT).unwrap();
    let loaded = loaded(&text);
    let file = folder.path().join("out");
    let paths = [file.as_path(), Path::new("/dev/null")];
    for path in paths.into_iter().take(if cfg!(unix) { 2 } else { 1 }) {
        for (format, least) in
            [(Format::Onnx, 1), (Format::Onnxtxt, 1), (Format::Textproto, 2), (Format::Json, 2)]
        {
            check_stops(least, |execution| {
                let options = WriteOptions::default().with_force(true);
                let to =
                    Destination { path, format, effect: Effect::Write, execution, options, before: None };
                let mut out = Out::new(Color::Never, "convert", ReportFormat::Text).with_verbosity(true, 0);
                store::write(&loaded.model, &to, &[], Progress::start("converting", 1), &mut out)
            });
        }
    }
}

#[test]
fn reading_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("in.onnxtxt");
    fs::write(&text, TEXT).unwrap();
    let load = |path: &Path, execution| {
        let options = ParseOptions::default().with_execution(execution);
        load_text(path, Part::Model, &options).map(|loaded| loaded.bytes)
    };
    check_stops(2, |execution| load(&text, execution));
    // After the timeout, files are not read.
    let failure = load(&folder.path().join("missing.onnxtxt"), stopped_at(0).0).unwrap_err();
    assert_eq!(failure.outcome(), Outcome::Limit);
}

/// What was edited is not decided by the time that parsing takes.
#[test]
fn reading_an_edited_text() {
    let folder = tempfile::tempdir().unwrap();
    let (text, original) = (folder.path().join("in.onnxtxt"), folder.path().join("original.onnx"));
    fs::write(&text, TEXT).unwrap();
    let encoded = encode(&loaded(&text).model, &EncodeOptions::default()).unwrap();
    fs::write(&original, encoded.to_vec()).unwrap();
    check_stops(4, |execution| {
        elided::load_with(&text, &original, Part::Model, execution).map(|loaded| loaded.bytes)
    });
}
