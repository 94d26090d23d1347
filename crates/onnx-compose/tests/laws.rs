//! Laws of extraction, splitting and merging on generated models.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use onnx_check::{CheckOptions, check};
use onnx_compose::{
    ComposeError, ExtractOptions, MergeOptions, Parts, SplitOptions, SplitPart, connections_by_name, extract,
    merge, split,
};
use onnx_eval::compare::{CompareOptions, Side, Tolerances, compare, compare_values};
use onnx_eval::generate::Generator;
use onnx_eval::{EvalOptions, Evaluator, Limits, Value};
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

/// The names of the outputs of a model.
fn outputs(model: &Model) -> Vec<String> {
    let outputs = model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value);
    outputs.map(|value| model.str(model.value(value).name()).to_owned()).collect()
}

/// Generated values for the inputs of a model.
fn inputs(model: &Model, seed: u64) -> Option<Vec<(String, Value)>> {
    let sizes = |value: ValueId| {
        let shape = model.ty(value)?.shape()?;
        Some(shape.dims().iter().map(|dim| dim.known().or(Some(2))).collect())
    };
    let generator = Generator::new(model, seed, &sizes);
    let main = model.graph(model.main_graph());
    let values = main.inputs().iter().map(|&input| {
        let value = generator.value(input, &Limits::default()).ok()?;
        Some((model.str(model.value(input).name()).to_owned(), value))
    });
    values.collect()
}

fn borrowed(values: &[(String, Value)]) -> Vec<(&str, Value)> {
    values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
}

/// Parts of a model joined again, with its outputs.
fn joined(parts: &[SplitPart], wanted: &[String]) -> Model {
    let models: Vec<&Model> = parts.iter().map(|part| &part.model).collect();
    let find = |name: &String| {
        let of = |(index, model): (usize, &&Model)| {
            let graph = model.graph(model.main_graph());
            let mut outputs = graph.outputs().iter().map(GraphOutput::value);
            outputs.find(|&value| model.str(model.value(value).name()) == name).map(|value| (index, value))
        };
        models.iter().enumerate().find_map(of).unwrap()
    };
    let options = MergeOptions::default().with_outputs(wanted.iter().map(find).collect());
    merge(&models, &connections_by_name(&models), &options).unwrap().model
}

#[test]
fn a_model_that_is_split_and_merged_computes_the_same() {
    let (mut compared, mut cut) = (0, 0);
    for seed in 0..80 {
        let smith = SmithOptions::default().with_nodes(12);
        let whole = from_seed(seed, &smith).model;
        for count in [2, 3, 5] {
            let Ok(parts) = split(&whole, Parts::CountByNodes(count), &SplitOptions::default()) else {
                continue;
            };
            assert_eq!(parts.len(), count, "{seed}");
            cut += 1;
            let again = joined(&parts, &outputs(&whole));
            again.verify().unwrap();
            let found = check(&again, &CheckOptions::default());
            assert!(!found.has_errors(), "{seed}: {:?}\n{}", found.diagnostics(), print(&again));
            let of = |model: &Model| {
                let inputs = model.graph(model.main_graph()).inputs().iter();
                inputs.map(|&input| model.str(model.value(input).name()).to_owned()).collect::<BTreeSet<_>>()
            };
            assert_eq!(of(&again), of(&whole), "{seed}");
            let Some(inputs) = inputs(&whole, seed) else { continue };
            let options = EvalOptions::default();
            let sides = ((&whole, &options), (&again, &options));
            match compare(sides.0, sides.1, &borrowed(&inputs), &CompareOptions::default()) {
                Err(failure) if failure.side == Side::A => {}
                Err(failure) => panic!("{seed}: {}\n{}\n{}", failure.failure, print(&whole), print(&again)),
                Ok(result) => {
                    assert!(result.agrees() && result.only_in_a.is_empty(), "{seed}: {}", print(&again));
                    compared += 1;
                }
            }
        }
    }
    assert!(cut > 100 && compared > 60, "{cut} {compared}");
}

#[test]
fn the_parts_of_a_model_run_one_after_the_other() {
    let mut compared = 0;
    for seed in 0..60 {
        let whole = from_seed(seed, &SmithOptions::default().with_nodes(12)).model;
        let Ok(parts) = split(&whole, Parts::CountByNodes(3), &SplitOptions::default()) else { continue };
        let Some(mut values) = inputs(&whole, seed) else { continue };
        let run = |model: &Model, values: &[(String, Value)]| {
            let graph = model.graph(model.main_graph());
            let inputs: Vec<(&str, Value)> = graph
                .inputs()
                .iter()
                .map(|&input| model.str(model.value(input).name()))
                .map(|name| (name, values.iter().find(|(other, _)| other == name).unwrap().1.clone()))
                .collect();
            let evaluator = Evaluator::new(model, &EvalOptions::default()).ok()?;
            let found = evaluator.run(&inputs).ok()?;
            Some(outputs(model).into_iter().zip(found).collect::<Vec<_>>())
        };
        let Some(expected) = run(&whole, &values) else { continue };
        for part in &parts {
            let made = run(&part.model, &values).unwrap_or_else(|| panic!("{seed}: {}", print(&part.model)));
            values.extend(made);
        }
        for (name, expected) in &expected {
            let found = values.iter().rfind(|(other, _)| other == name).unwrap();
            let difference = compare_values(expected, &found.1, &Tolerances::default());
            assert!(difference.agrees(), "{seed} {name}");
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}
