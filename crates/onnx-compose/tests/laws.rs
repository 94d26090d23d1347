//! Laws of extraction on generated models.
#![allow(clippy::unwrap_used, reason = "a test")]

use onnx_check::{CheckOptions, check};
use onnx_compose::{ComposeError, ExtractOptions, extract};
use onnx_ir::{GraphOutput, Model, ValueId};
use onnx_smith::{SmithOptions, from_seed};
use onnx_text::{PrintOptions, print_model};

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

#[test]
fn what_a_value_needs_is_a_valid_model_and_a_refusal_changes_nothing() {
    let (mut extracted, mut refused) = (0, 0);
    for seed in 0..60 {
        let whole = from_seed(seed, &SmithOptions::default().with_nodes(10)).model;
        for node in whole.nodes(whole.main_graph()) {
            for &value in whole.node(node).outputs().iter().flatten() {
                let mut part = whole.clone();
                match extract(&mut part, None, &[value], &ExtractOptions::default()) {
                    Ok(_) => {
                        part.verify().unwrap();
                        let found = check(&part, &CheckOptions::default());
                        assert!(!found.has_errors(), "{seed}: {:?}\n{}", found.diagnostics(), print(&part));
                        extracted += 1;
                    }
                    Err(ComposeError::UnknownType(..)) => {
                        assert_eq!(print(&part), print(&whole), "{seed}");
                        refused += 1;
                    }
                    Err(error) => panic!("{seed}: {error}"),
                }
            }
        }
    }
    assert!(extracted > 200 && refused * 10 < extracted, "{extracted} {refused}");
}

#[test]
fn everything_is_the_model_and_extracting_it_again_changes_nothing() {
    for seed in 0..60 {
        let whole = from_seed(seed, &SmithOptions::default().with_nodes(10)).model;
        let graph = whole.graph(whole.main_graph());
        let inputs = graph.inputs().to_vec();
        let outputs: Vec<ValueId> = graph.outputs().iter().map(GraphOutput::value).collect();
        if outputs.is_empty() {
            continue;
        }
        let mut once = whole.clone();
        extract(&mut once, Some(&inputs), &outputs, &ExtractOptions::default()).unwrap();
        let names = |model: &Model| {
            let graph = model.graph(model.main_graph());
            let outputs = graph.outputs().iter().map(GraphOutput::value);
            let values = graph.inputs().iter().copied().chain(outputs);
            values.map(|value| model.str(model.value(value).name()).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&once), names(&whole), "{seed}");
        let mut twice = once.clone();
        extract(&mut twice, Some(&inputs), &outputs, &ExtractOptions::default()).unwrap();
        assert_eq!(print(&twice), print(&once), "{seed}");
    }
}
