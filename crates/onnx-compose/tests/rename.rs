//! Renaming: what follows, what collides, and that the inverse restores the model.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::HashSet;

use onnx_check::{CheckOptions, check};
use onnx_compose::{ComposeError, FunctionName, NewNames, RenameKinds, RenameRule, rename, set_names};
use onnx_ir::Model;
use onnx_smith::{SmithOptions, from_seed};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

fn renamed(text: &str, rules: &[RenameRule], kinds: RenameKinds) -> String {
    let mut model = model(text);
    rename(&mut model, rules, kinds).unwrap();
    model.verify().unwrap();
    print(&model)
}

/// The collisions, as messages; the model must be unchanged.
fn collisions(text: &str, rules: &[RenameRule]) -> Vec<String> {
    let mut model = model(text);
    let before = print(&model);
    let error = rename(&mut model, rules, RenameKinds::default()).unwrap_err();
    assert_eq!(print(&model), before);
    let ComposeError::Collisions(collisions) = &error else { panic!("{error}") };
    let names: HashSet<(&str, &str)> =
        collisions.iter().map(|collision| (collision.kind, collision.new.as_str())).collect();
    assert_eq!(error.findings(&model).diagnostics().len(), names.len());
    collisions.iter().map(ToString::to_string).collect()
}

const BRANCHES: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (bool c, float[N] x) => (float[N] y) <float[1] w = {2}> {
   ["first"] a = Relu (x)
   ["choice"] y = If (c) <
      then_branch = t () => (r) { ["inner"] n = Neg (a)  r = Mul (n, w) },
      else_branch = e () => (s) { s = Abs (x)  ["other"] n = Neg (s) }
   >
}"#;

#[test]
fn captures_follow_and_siblings_may_share_a_name() {
    let rules = [RenameRule::exact("a", "left"), RenameRule::exact("n", "negative")];
    let text = renamed(BRANCHES, &rules, RenameKinds::default());
    assert!(text.contains("left = Relu (x)") && text.contains("negative = Neg (left)"), "{text}");
    assert!(text.contains("negative = Neg (s)"), "{text}");
}

#[test]
fn names_that_would_be_hidden_or_hide_collide() {
    // An outer value would be hidden in both branches, and an inner one would hide an input.
    let found = collisions(BRANCHES, &[RenameRule::exact("a", "n"), RenameRule::exact("r", "x")]);
    assert_eq!(found.len(), 3, "{found:?}");
    // One message for each new name.
    let mut refused = model(BRANCHES);
    let error = rename(&mut refused, &[RenameRule::pattern("*", "z").unwrap()], RenameKinds::default());
    let messages: Vec<String> = error
        .unwrap_err()
        .findings(&refused)
        .diagnostics()
        .iter()
        .map(|found| found.message.to_string())
        .collect();
    assert!(messages.len() <= 2 && messages[0].contains("more values"), "{messages:?}");
    let found = collisions(BRANCHES, &[RenameRule::exact("a", "q"), RenameRule::exact("w", "q")]);
    assert_eq!(found, ["the value `a` cannot be called `q`: the value `w` would have this name, too"]);
    let found = collisions(BRANCHES, &[RenameRule::exact("first", "choice")]);
    assert_eq!(found, ["the node `first` cannot be called `choice`: another node has this name"]);
}

#[test]
fn names_can_be_exchanged() {
    let rules = [RenameRule::exact("a", "x"), RenameRule::exact("x", "a")];
    let text = renamed(BRANCHES, &rules, RenameKinds::default());
    assert!(text.contains("x = Relu (a)") && text.contains("n = Neg (x)"), "{text}");
}

#[test]
fn a_name_that_nothing_defines_is_not_taken() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2] x) => (float[2] y) { y = Add (x, missing) }"#;
    let found = collisions(text, &[RenameRule::exact("x", "missing")]);
    assert_eq!(found, ["the value `x` cannot be called `missing`: another value has this name"]);
}

#[test]
fn patterns_have_wildcards_and_the_first_rule_counts() {
    let rules = [
        RenameRule::pattern("?", r"v_\1").unwrap(),
        RenameRule::exact("x", "never"),
        RenameRule::pattern("*st", r"\1.st").unwrap(),
    ];
    let mut model = model(BRANCHES);
    let done = rename(&mut model, &rules, RenameKinds::default()).unwrap();
    assert_eq!(done.unmatched, [1]);
    let text = print(&model);
    assert!(text.contains(r#"["fir.st"] v_a = Relu (v_x)"#), "{text}");
    assert!(RenameRule::pattern("a", r"\1").is_err());
}

#[test]
fn kinds_limit_what_is_renamed() {
    let prefix = [RenameRule::add_prefix("p_")];
    let text = renamed(BRANCHES, &prefix, RenameKinds::NONE.with_inputs(true).with_outputs(true));
    assert!(text.contains("(bool p_c, float[N] p_x) => (float[N] p_y)"), "{text}");
    assert!(text.contains("a = Relu (p_x)") && text.contains("Mul (n, w)"), "{text}");
    let text = renamed(BRANCHES, &prefix, RenameKinds::NONE.with_initializers(true));
    assert!(text.contains("Mul (n, p_w)") && text.contains("Relu (x)"), "{text}");
    let text = renamed(BRANCHES, &prefix, RenameKinds::NONE.with_nodes(true));
    assert!(text.contains("[p_inner] n"), "{text}");
}

const FUNCTIONS: &str = r#"<ir_version: 10, opset_import: ["": 21, "my": 3]>
g (float[N] x) => (float[N] y) { a = my.F (x)  b = my.G (a)  y = other.H (b) }
<domain: "my", opset_import: ["": 21]> F (p) => (q) { q = Neg (p) }
<domain: "my", opset_import: ["": 21, "my": 3]> G (p) => (q) { q = my.F (p) }"#;

#[test]
fn calls_and_imports_follow_functions() {
    let text = renamed(FUNCTIONS, &[RenameRule::exact("my.F", "acme.F2")], RenameKinds::default());
    assert!(text.contains("a = acme.F2 (x)") && text.contains("q = acme.F2 (p)"), "{text}");
    assert!(text.contains(r#""my": 3, "acme": 3"#), "{text}");
    let text = renamed(FUNCTIONS, &[RenameRule::add_prefix("p_")], RenameKinds::NONE.with_functions(true));
    assert!(text.contains("a = my.p_F (x)") && text.contains("b = my.p_G (a)"), "{text}");
    let found =
        collisions(FUNCTIONS, &[RenameRule::exact("my.F", "my.G"), RenameRule::exact("my.G", "other.H")]);
    // The call of an operator of another domain would become a call of the function.
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        collisions(FUNCTIONS, &[RenameRule::exact("my.F", "Relu")]),
        ["the function `my.F` cannot be called `Relu`: an operator has this name"]
    );
}

#[test]
fn the_model_imports_the_domains_of_all_nodes_and_functions() {
    let text = |calls: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 3]>
            g (float[N] x) => (float[N] y) {{ {calls} }}
            <domain: "my", opset_import: ["": 21]> F (p) => (q) {{ q = Neg (p) }}
            <domain: "my", opset_import: ["my": 3]> G (p) => (q) {{ q = my.F (p) }}"#
        )
    };
    let (calls_g, kinds) = (text("y = my.G (x)"), RenameKinds::default());
    // The body of `G` calls a function of the old domain, and the body of `G` calls one of the new domain.
    for (old, new, imports) in [
        ("my.G", "other.H", vec![r#"["": 21, "my": 3, "other": 3]"#, r#"["my": 3]"#]),
        ("my.F", "other.F", vec![r#"["": 21, "my": 3, "other": 3]"#, r#"["other": 3]"#]),
    ] {
        let found = renamed(&calls_g, &[RenameRule::exact(old, new)], kinds);
        assert!(imports.iter().all(|import| found.contains(import)), "{found}");
        let back = renamed(&found, &[RenameRule::exact(new, old)], kinds);
        assert_eq!(back, print(&model(&calls_g)));
    }
    let both = [RenameRule::exact("my.F", "one.F"), RenameRule::exact("my.G", "two.G")];
    let found = renamed(&text("a = my.F (x)  y = my.G (a)"), &both, kinds);
    assert!(found.contains(r#"["": 21, "one": 3, "two": 3]"#), "{found}");
}

#[test]
fn annotations_and_bindings_follow() {
    let mut model = model(BRANCHES);
    let graph = model.main_graph();
    let [a, w] = ["a", "w"].map(|name| model.find_value(graph, name).unwrap());
    let key = model.intern("SCALE_TENSOR");
    model.graph_mut(graph).quantization.push(onnx_ir::QuantAnnotation::new(
        onnx_ir::ValueRef::Value(a),
        vec![onnx_ir::QuantParameter::new(key, onnx_ir::ValueRef::Value(w))],
    ));
    rename(&mut model, &[RenameRule::add_prefix("p.")], RenameKinds::default()).unwrap();
    let plan = model.name_plan();
    let annotation = &model.graph(graph).quantization[0];
    assert_eq!(plan.reference(annotation.tensor, &model), Some("p.a"));
    assert_eq!(plan.reference(annotation.parameters[0].value, &model), Some("p.w"));
}

#[test]
fn a_prefix_and_its_removal_restore_the_model() {
    for seed in 0..200 {
        let whole = from_seed(seed, &SmithOptions::default().with_nodes(12)).model;
        let before = print(&whole);
        let mut model = whole.clone();
        let done = rename(&mut model, &[RenameRule::add_prefix("p_")], RenameKinds::default()).unwrap();
        model.verify().unwrap();
        let found = check(&model, &CheckOptions::default());
        assert!(!found.has_errors(), "{seed}: {:?}", found.diagnostics());
        if !done.values.is_empty() {
            assert_ne!(print(&model), before);
        }
        rename(&mut model, &[RenameRule::remove_prefix("p_")], RenameKinds::default()).unwrap();
        assert_eq!(print(&model), before, "{seed}");
    }
}

#[test]
fn new_names_and_the_old_ones_restore_the_model() {
    for seed in 0..200 {
        let whole = from_seed(seed, &SmithOptions::default().with_nodes(12)).model;
        let before = print(&whole);
        let mut model = whole.clone();
        let (mut names, mut back) = (NewNames::default(), NewNames::default());
        for graph in whole.graphs_in(whole.main_graph()) {
            for value in whole.definitions(graph) {
                let old = whole.str(whole.value(value).name()).to_owned();
                names.values.push((value, format!("{}!{}", old.len(), names.values.len())));
                back.values.push((value, old));
            }
        }
        for &function in whole.functions() {
            let record = whole.function(function);
            let [domain, name, overload] =
                [record.domain(), record.name(), record.overload()].map(|part| whole.str(part).to_owned());
            let mut new = FunctionName { domain, name, overload };
            back.functions.push((function, new.clone()));
            new.name.push_str("_new");
            names.functions.push((function, new));
        }
        set_names(&mut model, &names).unwrap();
        model.verify().unwrap();
        set_names(&mut model, &back).unwrap();
        assert_eq!(print(&model), before, "{seed}");
    }
}
