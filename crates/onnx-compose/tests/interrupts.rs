//! Work on large models ends soon after an interrupt, wherever it is by then.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_compose::{
    ComposeError, ExtractOptions, MergeError, MergeOptions, Parts, RenameKinds, RenameRule, SplitOptions,
    connections_by_name, extract, merge, rename_until, split,
};
use onnx_ir::{EditError, Importer, Model, Position};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::{Execution, Interrupt};

const NODES: usize = 8192;

/// A chain of nodes, of which every fourth one uses the input of the model.
fn chain() -> Model {
    let mut text =
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] v0) => (float[N] y) {\n".to_owned();
    for node in 0..NODES {
        let (op, other) = [("Relu", ""), ("Identity", ""), ("Add", ", v0"), ("Neg", "")][node % 4];
        writeln!(text, "[n{node}] v{} = {op} (v{node}{other})", node + 1).unwrap();
    }
    writeln!(text, "y = Relu (v{NODES})\n}}").unwrap();
    parse_model(&text, &ParseOptions::default()).unwrap()
}

fn printed(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

/// An interrupt that holds at a check, and counts the checks.
fn at_check(number: usize) -> (Execution, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let interrupt = Interrupt::when(move || counted.fetch_add(1, Ordering::Relaxed) == number);
    (Execution::default().with_interrupt(interrupt), asked)
}

/// Does work to its end, which has to check the interrupt this often, and then until some of the checks.
fn ends_at_each_check(least: usize, mut work: impl FnMut(&Execution) -> bool) {
    let (execution, asked) = at_check(usize::MAX);
    assert!(!work(&execution), "nothing ends the work");
    let checks = asked.load(Ordering::Relaxed);
    assert!(checks >= least, "{checks} checks");
    for number in (0..checks).step_by(checks.div_ceil(16)) {
        let (execution, _) = at_check(number);
        assert!(work(&execution), "check {number} of {checks}");
    }
}

#[test]
fn split_ends() {
    let model = chain();
    ends_at_each_check(6 * NODES / 1024, |execution| {
        let options = SplitOptions::default().with_execution(execution.clone());
        matches!(split(&model, Parts::Count(3), &options), Err(ComposeError::Stopped(_)))
    });
}

#[test]
fn extract_ends() {
    let model = chain();
    let middle = model.find_value(model.main_graph(), &format!("v{}", NODES / 2)).unwrap();
    ends_at_each_check(NODES / 1024, |execution| {
        let options = ExtractOptions::default().with_execution(execution.clone());
        let mut part = model.clone();
        matches!(extract(&mut part, None, &[middle], &options), Err(ComposeError::Stopped(_)))
    });
}

#[test]
fn rename_ends_and_changes_nothing() {
    let model = chain();
    let before = printed(&model);
    let rules = [RenameRule::add_prefix("p_")];
    ends_at_each_check(6 * NODES / 1024, |execution| {
        let mut renamed = model.clone();
        let done = rename_until(&mut renamed, &rules, RenameKinds::default(), &execution.interrupt);
        match done {
            Ok(done) => assert_eq!(done.nodes.len(), NODES),
            Err(ComposeError::Stopped(_)) => {
                assert!(printed(&renamed) == before, "an interrupted change is visible");
                return true;
            }
            Err(error) => panic!("{error}"),
        }
        false
    });
}

#[test]
fn imports_end() {
    let model = chain();
    let main = model.main_graph();
    ends_at_each_check(2 * NODES / 1024, |execution| {
        let (mut into, mut importer) = (Model::new(), Importer::new(&model));
        importer.set_interrupt(&execution.interrupt);
        model.graph(main).inputs().iter().for_each(|&input| importer.map(input, None));
        let end = Position::End(into.main_graph());
        importer.nodes(&mut into, main, end) == Err(EditError::Stopped)
    });
}

#[test]
fn merge_ends() {
    let model = chain();
    let models = [&model, &model];
    ends_at_each_check(4 * NODES / 1024, |execution| {
        let prefixes = vec!["a_".to_owned(), "b_".to_owned()];
        let options = MergeOptions::default().with_execution(execution.clone()).with_prefixes(prefixes);
        matches!(merge(&models, &connections_by_name(&models), &options), Err(MergeError::Stopped(_)))
    });
}
