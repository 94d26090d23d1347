//! Repairs: what each one changes in a text, and that it takes away the findings of its rule and nothing else.
#![allow(clippy::expect_used, reason = "a step that fails fails the test")]

use onnx_check::{CheckOptions, check, fix};
use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_ir::Model;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::full()).expect("a model has a text").text
}

fn rules(model: &Model) -> Vec<&'static str> {
    check(model, &CheckOptions::default()).into_diagnostics().iter().map(|found| found.rule.slug).collect()
}

/// Repairs the model that `text` describes: only `slug` is repaired, the rule is silent then, all others say the same, and
/// the lines that went and came are these. A second repair finds nothing to do, also after writing and reading.
#[track_caller]
fn check_fix(text: &str, slug: &str, gone: &[&str], new: &[&str]) {
    let parsed = parse_model(text, &ParseOptions::default()).expect("the text is a model");
    let read = |model: &Model| {
        let bytes = encode(model, &EncodeOptions::default()).expect("it can be written").into_bytes();
        decode(bytes, &DecodeOptions::default()).expect("it can be read").model
    };
    let mut model = read(&parsed);
    let (before, found) = (print(&model), rules(&model));
    assert!(found.contains(&slug), "{found:?}");
    let done = fix(&mut model);
    assert_eq!(done.iter().map(|fix| fix.rule.slug).collect::<Vec<_>>(), [slug]);
    assert_eq!(model.verify(), Ok(()));
    let others: Vec<_> = found.into_iter().filter(|&other| other != slug).collect();
    assert_eq!(rules(&model), others);
    let after = print(&model);
    let missing = |from: &str, in_other: &str| -> Vec<String> {
        let mut left: Vec<&str> = in_other.lines().map(str::trim).collect();
        let lines =
            from.lines().map(str::trim).filter(|line| match left.iter().position(|other| other == line) {
                Some(at) => {
                    left.swap_remove(at);
                    false
                }
                None => true,
            });
        lines.map(str::to_owned).collect()
    };
    assert_eq!(missing(&before, &after), gone, "{before}\n{after}");
    assert_eq!(missing(&after, &before), new, "{before}\n{after}");
    let mut again = read(&model);
    assert_eq!(print(&again), after);
    assert!(fix(&mut again).is_empty());
}

#[test]
fn nodes_are_sorted() {
    let text = "<ir_version: 10, opset_import: [\"\": 18]>
        g (float[1] x) => (float[1] z) { z = Relu (y)  y = Abs (x) }";
    check_fix(text, "node-not-sorted", &[], &[]);
    let mut model = parse_model(text, &ParseOptions::default()).expect("the text is a model");
    fix(&mut model);
    let ops: Vec<_> = model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op())).collect();
    assert_eq!(ops, ["Abs", "Relu"]);
    // A circle stays.
    let circle = text.replace("Abs (x)", "Abs (z)");
    let mut model = parse_model(&circle, &ParseOptions::default()).expect("the text is a model");
    assert!(fix(&mut model).is_empty());
}

#[test]
fn entries_about_nothing_go() {
    let text = "<ir_version: 10, opset_import: [\"\": 18]>
        g (float[1] x) => (float[1] z) <float[1] lost> { y = Abs (x)  z = Relu (y) }";
    let head = "g (float[1] x) => (float[1] z)";
    let new = format!("{head} {{");
    check_fix(text, "value-info-without-value", &[head, "<", "float[1] lost", "> {"], &[&new]);
}

#[test]
fn node_names_become_unique() {
    let text = "<ir_version: 10, opset_import: [\"\": 18]>
        g (float[1] x) => (float[1] z) {
            [a] u = Abs (x)
            [a_1] v = Abs (u)
            [a] y = Abs (v)
            [a] z = Relu (y)
        }";
    let (gone, new) = (["[a] y = Abs (v)", "[a] z = Relu (y)"], ["[a_2] y = Abs (v)", "[a_3] z = Relu (y)"]);
    check_fix(text, "node-name-twice", &gone, &new);
}

#[test]
fn imports_that_do_not_count_go() {
    let text = "<ir_version: 10, opset_import: [\"\": 17, \"\": 18, \"ai.onnx\": 18]>
        g (float[1] x) => (float[1] z) { z = Relu (x) }";
    let gone = ["opset_import: [\"\": 17, \"\": 18, \"ai.onnx\": 18]"];
    check_fix(text, "opset-imported-twice", &gone, &["opset_import: [\"\": 18]"]);
}

#[test]
fn the_onnx_operators_are_imported() {
    let text = "<ir_version: 8, opset_import: [\"my\": 1]>
        g (float[1] x) => (float[1] z) { z = Relu (x) }";
    let (gone, new) = (["opset_import: [\"my\": 1]"], ["opset_import: [\"my\": 1, \"\": 15]"]);
    check_fix(text, "domain-not-imported", &gone, &new);
    // An operator that no such version has is not changed.
    let text = text.replace("Relu", "Rellu");
    let mut model = parse_model(&text, &ParseOptions::default()).expect("the text is a model");
    assert!(fix(&mut model).is_empty());
}

#[test]
fn functions_import_what_the_model_imports() {
    let text = "<ir_version: 10, opset_import: [\"\": 18, \"d\": 1]>
        g (float[1] x) => (float[1] z) { z = d.f (x) }
        <domain: \"d\", opset_import: [\"d\": 1]> f (x) => (y) { y = Relu (x) }";
    let (gone, new) = (["opset_import: [\"d\": 1]"], ["opset_import: [\"d\": 1, \"\": 18]"]);
    check_fix(text, "domain-not-imported", &gone, &new);
}

#[test]
fn the_ir_version_is_raised() {
    let text = "<ir_version: 7, opset_import: [\"\": 13, \"d\": 1]>
        g (float[1] x) => (float[1] z) { z = d.f (x) }
        <domain: \"d\", opset_import: [\"\": 13]> f (x) => (y) { y = Relu (x) }";
    check_fix(text, "feature-newer-than-ir-version", &["ir_version: 7,"], &["ir_version: 8,"]);
}

#[test]
fn metadata_that_repeat_go() {
    let text = "<ir_version: 10, opset_import: [\"\": 18], metadata_props: [\"k\": \"v\", \"k\": \"v\"]>
        g (float[1] x) => (float[1] z) { z = Relu (x) }";
    let gone = ["metadata_props: [\"k\": \"v\", \"k\": \"v\"]"];
    check_fix(text, "model-metadata-key-repeated", &gone, &["metadata_props: [\"k\": \"v\"]"]);
    // Which of two values counts is not clear.
    let text = text.replace("\"k\": \"v\"]", "\"k\": \"w\"]");
    let mut model = parse_model(&text, &ParseOptions::default()).expect("the text is a model");
    assert!(fix(&mut model).is_empty());
}

#[test]
fn entries_that_repeat_go() {
    // ONNX text has no place for an entry about an input, nor for a second one, so these are made of bytes.
    let text = "<ir_version: 10, opset_import: [\"\": 18]>
        g (float[1] x) => (float[1] z) <float[1] y> { y = Abs (x)  z = Relu (y) }";
    let model = parse_model(text, &ParseOptions::default()).expect("the text is a model");
    let main = model.main_graph();
    let [y, x] =
        [model.value_info(main).next().expect("there is one").value(), model.graph(main).inputs()[0]];
    for (value, slug) in [(y, "value-info-twice"), (x, "value-info-of-interface")] {
        let mut twice = model.clone();
        twice.push_value_info(main, value, None);
        let bytes = encode(&twice, &EncodeOptions::default()).expect("it can be written").into_bytes();
        let mut twice = decode(bytes, &DecodeOptions::default()).expect("it can be read").model;
        assert_eq!(rules(&twice), [slug]);
        assert_eq!(fix(&mut twice).iter().map(|fix| fix.rule.slug).collect::<Vec<_>>(), [slug]);
        assert_eq!(rules(&twice), [""; 0]);
        assert_eq!(print(&twice), print(&model));
    }
}
