//! Work on large models ends soon after an interrupt, wherever it is by then.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_ir::Model;
use onnx_quantize::{Half, NarrowError, NarrowOptions, narrow};
use onnx_types::{Execution, Interrupt};

use crate::{model, text_of};

const NODES: usize = 8192;
/// Checks while it is narrowed.
const LEAST: usize = 12 * NODES / 1024;

/// A chain of nodes.
fn chain() -> Model {
    let mut text =
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] v0) => (float[N] y) {\n".to_owned();
    for node in 0..NODES {
        writeln!(text, "v{} = Neg (v{node})", node + 1).unwrap();
    }
    writeln!(text, "y = Relu (v{NODES})\n}}").unwrap();
    model(&text)
}

/// An interrupt that holds at a check, and counts the checks.
fn at_check(number: usize) -> (Execution, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let interrupt = Interrupt::when(move || counted.fetch_add(1, Ordering::Relaxed) == number);
    (Execution::default().with_interrupt(interrupt), asked)
}

#[test]
fn narrowing_ends_and_changes_nothing() {
    let model = chain();
    let before = text_of(&model);
    let work = |number: usize| {
        let (execution, asked) = at_check(number);
        let mut changed = model.clone();
        let options = NarrowOptions::default().with_run(false).with_execution(execution);
        let done = narrow(&mut changed, Half::Float16, &options);
        (done, changed, asked.load(Ordering::Relaxed))
    };
    let (done, _, checks) = work(usize::MAX);
    assert_eq!(done.unwrap().nodes, NODES + 1);
    assert!(checks >= LEAST, "{checks} checks");
    for number in (0..checks).step_by(checks.div_ceil(16)) {
        let (done, changed, _) = work(number);
        assert!(matches!(done, Err(NarrowError::Stopped(_))), "check {number} of {checks}: {done:?}");
        assert!(text_of(&changed) == before, "an interrupted change is visible");
    }
}
