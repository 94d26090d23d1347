//! Hashes.

use std::collections::{BTreeMap, BTreeSet};

use onnx_diff::{HashError, HashOptions, ModelHash, hash_model, hash_structure, hash_weights};
use onnx_ir::Model;
use onnx_smith::{SmithOptions, from_seed};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::Execution;
use onnx_types::tensor::{DataSource, ExternalData, NoData, Tensor};
use onnx_types::{ElemType, Interrupt};

use crate::disguise::disguise;
use crate::edits::{ALL, Part};
use crate::random::Random;

pub(crate) fn generated(seed: u64) -> Model {
    from_seed(seed, &SmithOptions::default().with_nodes(3 + seed as usize % 12)).model
}

fn hash_with(model: &Model, data: &dyn DataSource) -> ModelHash {
    hash_model(model, &HashOptions::default().with_data(data)).unwrap()
}

fn hash(model: &Model) -> ModelHash {
    hash_with(model, &NoData)
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::full()).map_or_else(|error| error.to_string(), |printed| printed.text)
}

fn parse(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

#[test]
fn names_orders_and_encodings_do_not_count() {
    let mut all = BTreeSet::new();
    for seed in 0..60 {
        let model = generated(seed);
        let expected = hash(&model);
        all.insert(expected.model);
        for round in 0..3 {
            let (same, data) = disguise(&model, &mut Random(seed * 8 + round));
            let found = hash_with(&same, &data);
            assert_eq!(found, expected, "{seed}\n{}\n{}", print(&model), print(&same));
        }
    }
    assert!(all.len() > 55, "generated models differ: {}", all.len());
}

#[test]
fn every_edit_counts() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let wanted = crate::edits();
    // Most models have something for most kinds; few have functions.
    for seed in 0..wanted as u64 * 40 {
        let open: Vec<_> =
            ALL.iter().filter(|edit| counts.get(edit.name).is_none_or(|count| *count < wanted)).collect();
        if open.is_empty() {
            break;
        }
        let model = generated(seed);
        let before = hash(&model);
        for edit in open {
            let mut edited = model.clone();
            if (edit.apply)(&mut edited, &mut Random(seed)).is_none() {
                continue;
            }
            let after = hash(&edited);
            let context = || format!("{}, seed {seed}\n{}\n{}", edit.name, print(&model), print(&edited));
            assert_ne!(after.model, before.model, "{}", context());
            for part in [Part::Structure, Part::Interface, Part::Weights] {
                let is_changed = part.of(&after) != part.of(&before);
                // Other parts can change with a part, such as weights with a node that holds some.
                assert!(is_changed || !edit.changes.contains(&part), "{part:?}: {}", context());
                let is_only = edit.changes == [Part::Weights] || edit.changes == [Part::Interface];
                let is_named = edit.changes.contains(&part) || edit.name.starts_with("order");
                assert!(!is_only || is_named || !is_changed, "{part:?}: {}", context());
            }
            *counts.entry(edit.name).or_default() += 1;
        }
    }
    for edit in ALL {
        assert_eq!(counts.get(edit.name), Some(&wanted), "{}", edit.name);
    }
}

/// Two models that are the same except for what is between braces.
#[track_caller]
fn check(a: &str, b: &str, is_same: bool) {
    let text = |body: &str| {
        format!("<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) {body}")
    };
    let (one, two) = (hash(&parse(&text(a))), hash(&parse(&text(b))));
    assert_eq!(one.model == two.model, is_same, "{a}\n{b}");
    assert_eq!(one == two, is_same, "{a}\n{b}");
}

#[test]
fn sharing_and_dead_nodes_count() {
    // The same tree, computed once or twice.
    check("{ a = Exp (x) y = Add (a, a) }", "{ a = Exp (x) b = Exp (x) y = Add (a, b) }", false);
    // Which of two random values is used twice.
    check(
        "{ a = RandomNormalLike (x) b = RandomNormalLike (x) c = Sub (a, b) y = Add (c, a) }",
        "{ a = RandomNormalLike (x) b = RandomNormalLike (x) c = Sub (a, b) y = Add (c, b) }",
        false,
    );
    check("{ y = Exp (x) }", "{ y = Exp (x) z = Log (x) }", false);
    check("{ y = Exp (x) z = Log (x) w = Log (x) }", "{ y = Exp (x) z = Log (x) }", false);
    check("{ y = Exp (x) z = Log (x) w = Abs (z) }", "{ y = Exp (x) z = Log (x) w = Abs (y) }", false);
    check("{ y = Exp (x) z = Log (x) w = Abs (z) }", "{ q = Log (x) y = Exp (x) p = Abs (q) }", true);
    // Two dead nodes use one value, or one each.
    check(
        "{ y = Exp (x) a = Log (x) b = Log (x) c = Abs (a) d = Neg (a) }",
        "{ y = Exp (x) a = Log (x) b = Log (x) c = Abs (a) d = Neg (b) }",
        false,
    );
}

#[test]
fn the_assignment_of_weights_counts() {
    let a = "<float[2] v = {1, 2}, float[2] w = {3, 4}> { a = Mul (x, v) y = Add (a, w) }";
    let b = "<float[2] v = {3, 4}, float[2] w = {1, 2}> { a = Mul (x, v) y = Add (a, w) }";
    let text = |body: &str| {
        format!("<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) {body}")
    };
    let (one, two) = (hash(&parse(&text(a))), hash(&parse(&text(b))));
    assert_ne!(one.model, two.model);
    assert_eq!((one.structure, one.weights, one.interface), (two.structure, two.weights, two.interface));
    // Bits count: 0.0 and -0.0, and NaNs.
    check("<float[1] v = {0}> { y = Mul (x, v) }", "<float[1] v = {-0.0}> { y = Mul (x, v) }", false);
}

#[test]
fn imports_are_normalized() {
    let of = |imports: &str| {
        hash(&parse(&format!(
            "<ir_version: 10, opset_import: [{imports}]>\ng (float[2] x) => (float[2] y) {{ y = Exp (x) }}"
        )))
    };
    assert_eq!(of(r#""": 21"#), of(r#""ai.onnx": 21"#));
    assert_eq!(of(r#""": 21, "a": 1"#), of(r#""a": 1, "": 21"#));
    assert_ne!(of(r#""": 21"#).structure, of(r#""": 20"#).structure);
    assert_ne!(of(r#""": 21"#).structure, of(r#""": 21, "a": 1"#).structure);
}

#[test]
fn nested_graphs_and_captures_count() {
    let of = |branches: &str| {
        hash(&parse(&format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng (bool c, float[2] x) => (float[2] y) {{
               a = Exp (x) b = Log (x) y = If (c) <{branches}> }}"
        )))
    };
    let then = "then_branch = t () => (float[2] p) { p = Neg (a) }";
    let one = of(&format!("{then}, else_branch = e () => (float[2] q) {{ q = Abs (b) }}"));
    assert_eq!(one, of(&format!("else_branch = f () => (float[2] r) {{ r = Abs (b) }}, {then}")));
    assert_ne!(one.model, of(&format!("{then}, else_branch = e () => (float[2] q) {{ q = Abs (a) }}")).model);
    assert_ne!(
        one.model,
        of(&format!("{then}, else_branch = e () => (float[2] q) {{ q = Abs (b) z = Neg (a) }}")).model
    );
    assert_ne!(one.model, of(&format!("{then}, else_branch = e () => (float[3] q) {{ q = Abs (b) }}")).model);
    // The branches are exchanged.
    assert_ne!(
        one.model,
        of("then_branch = t () => (float[2] q) { q = Abs (b) }, else_branch = e () => (float[2] p) { p = Neg (a) }").model
    );
}

#[test]
fn digests_are_stable() {
    let model = parse(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { y = Mul (x, w) }",
    );
    let found = hash(&model);
    let text = format!("{}\n{}\n{}\n{}", found.model, found.structure, found.interface, found.weights);
    assert_eq!(text, EXPECTED);
    assert_eq!(found.weights, hash_weights(&model, &HashOptions::default()).unwrap());
    assert_eq!(found.structure, hash_structure(&model, &Execution::default()).unwrap());
}

/// A change of these is a new version of the scheme.
const EXPECTED: &str = "\
d1f95761bea5b16f4f8885a04b0bc74bf009a6f9b426153526f31ced856a4a91
0750ce6a13604caacf5da4b50d9d7560ee3f44d0e335a1eea1b1979dc393414b
94b91234fd3775c1988e4af5943d74efdd628a47f1f6f446b38c3211527d967a
697c2a4fed932f0fb78a0a4126f1311b3c0d7c6d573d01b5f6b7829db3da4d6c";

#[test]
fn what_cannot_be_read_has_no_hash_except_its_structure() {
    let mut model = parse(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }",
    );
    let complete = hash(&model);
    model.replace_tensors(|_, _| Tensor::external(ElemType::Float, [2], ExternalData::new("gone")).ok());
    let error = hash_model(&model, &HashOptions::default()).unwrap_err();
    assert!(error.to_string().contains("initializer \"w\"") && error.to_string().contains("gone"), "{error}");
    assert_eq!(hash_structure(&model, &Execution::default()).unwrap(), complete.structure);
    let cancelled = Interrupt::new();
    cancelled.cancel();
    let execution = Execution::default().with_interrupt(cancelled);
    let options = HashOptions::default().with_execution(execution);
    assert!(matches!(
        hash_model(
            &parse("<ir_version: 10, opset_import: [\"\": 21]>\ng (float x) => (float y) { y = Exp (x) }"),
            &options
        ),
        Err(HashError::Stopped(_))
    ));
}

#[test]
fn cycles_and_unresolved_names_have_a_hash() {
    let cycle = |first: &str, second: &str| {
        let mut model = parse(&format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) {{ a = {first} (x) b = {second} (a) y = Add (a, b) }}"
        ));
        let graph = model.main_graph();
        let [a, b] = ["a", "b"].map(|name| model.find_value(graph, name).unwrap());
        let node = model.value(a).producer().unwrap();
        model.set_input(node, 0, Some(b));
        hash(&model).model
    };
    assert_eq!(cycle("Exp", "Log"), cycle("Exp", "Log"));
    assert_ne!(cycle("Exp", "Log"), cycle("Log", "Exp"));
    let of = |name: &str| {
        let mut model =
            parse("<ir_version: 10, opset_import: [\"\": 21]>\ng (float x) => (float y) { y = Exp (x) }");
        let name = model.intern(name);
        let value = model.new_value(name);
        let node = model.nodes(model.main_graph()).next().unwrap();
        model.set_input(node, 0, Some(value));
        hash(&model).model
    };
    assert_eq!(of("u"), of("u"));
    assert_ne!(of("u"), of("v"));
}

#[test]
fn omitted_operands_and_results_at_the_end_do_not_count() {
    let with = |node: &str| {
        hash(&parse(&format!(
            r#"<ir_version: 10, opset_import: ["": 21, "f": 1, "my": 1]> g (float[2] x) => (float[2] y) {{ {node} }}
               <domain: "f", opset_import: ["": 21]> Own (a, b) => (c, d) {{ c = Relu (a) d = Neg (a) }}"#
        )))
    };
    for (one, same) in [
        ("y = Clip (x)", r#"y = Clip (x, "", "")"#),
        ("y = Dropout (x)", r#"y, "" = Dropout (x)"#),
        ("y = f.Own (x)", r#"y, "" = f.Own (x, "")"#),
    ] {
        assert_eq!(with(one), with(same), "{same}");
    }
    for (one, other) in [
        ("y = Clip (x, x)", r#"y = Clip (x, "", x)"#),
        // The number of parts.
        ("y = Split <num_outputs = 2> (x)", r#"y, "" = Split <num_outputs = 2> (x)"#),
        // Nothing is known about the operator.
        ("y = my.Other (x)", r#"y = my.Other (x, "")"#),
    ] {
        assert_ne!(with(one).model, with(other).model, "{other}");
    }
}
