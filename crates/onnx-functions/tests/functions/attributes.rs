//! Attributes of calls: references, defaults, graphs, and attributes that are not given.

use crate::{check, parse};
use onnx_functions::{InlineOptions, inline_all};

#[test]
fn attributes_and_defaults_take_the_place_of_references() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) {
            a = my.Scale <slope: float = 0.5> (x)
            b = my.Scale (a)
            y = Add (a, b)
        }
        <domain: "my", opset_import: ["": 20]> Scale <slope: float = 0.25, alpha> (p) => (q) {
            r = LeakyRelu <alpha: float = @slope> (p)
            q = Elu <alpha: float = @alpha> (r)
        }"#,
        &[
            "r = LeakyRelu <alpha = 0.5> (x)",
            "a = Elu (r)",
            "Scale/r = LeakyRelu <alpha = 0.25> (a)",
            "b = Elu (Scale/r)",
            "y = Add (a, b)",
        ],
        &[],
    );
}

#[test]
fn references_pass_through_calls() {
    // The default of the inner function applies where the outer one is called without the attribute.
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y, float[N] z) {
            y = my.Outer (x)
            z = my.Outer <k: float = 5.0> (x)
        }
        <domain: "my", opset_import: ["": 20, "my": 1]> Outer <k> (p) => (q) { q = my.Inner <by: float = @k> (p) }
        <domain: "my", opset_import: ["": 20]> Inner <by: float = 3.0> (p) => (q) { q = Elu <alpha: float = @by> (p) }"#,
        &["y = Elu <alpha = 3> (x)", "z = Elu <alpha = 5> (x)"],
        &[],
    );
}

#[test]
fn graphs_of_a_call_see_the_names_around_it() {
    // `u` in the branch is the caller's, and the body has another `u`.
    let (model, done) = check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (bool c, float[N] x) => (float[N] y) {
            u = Abs (x)
            y = my.Choose <yes: graph = t () => (p) { v = my.Twice (u) p = Neg (v) }> (c, x)
        }
        <domain: "my", opset_import: ["": 20, "my": 1]> Choose <yes> (c, v) => (w) {
            u = my.Twice (v)
            w = If (c) <then_branch: graph = @yes, else_branch: graph = e () => (f) { f = my.Twice (u) }>
        }
        <domain: "my", opset_import: ["": 20]> Twice (a) => (b) { b = Add (a, a) }"#,
        &[
            "u = Abs (x)",
            "Choose/u = Add (x, x)",
            "y = If (c)",
            "{",
            "v = Add (u, u)",
            "p = Neg (v)",
            "} => p",
            "{",
            "f = Add (Choose/u, Choose/u)",
            "} => f",
        ],
        &[],
    );
    assert_eq!((model.functions().len(), done.inlined(), done.removed_functions), (0, 4, 2));
}

#[test]
fn a_call_without_a_required_attribute_stays() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F <to, k> (p) => (q) {
            c = Constant <value_float: float = @k> ()
            r = Cast <to: int = @to> (c)
            q = Add (p, r)
        }"#;
    let check = |call: &str, expected: &str| {
        let mut model = parse(&text.replace("my.F (x)", &format!("my.F {call} (x)")));
        let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
        model.verify_sorted().unwrap();
        let kept: Vec<String> = done.kept().map(|(_, reason)| reason.to_string()).collect();
        assert_eq!(kept.join(", "), expected);
        assert_eq!(model.functions().len(), usize::from(!expected.is_empty()));
    };
    check("", "the call gives no attribute `k`, without which `Constant` is not valid");
    check("<k: float = 2.0>", "the call gives no attribute `to`, without which `Cast` is not valid");
    check("<k: float = 2.0, to: int = 1>", "");
}

#[test]
fn a_default_that_the_function_around_hides_stays_in_a_function_that_stays() {
    // Calls of `Outer` are not selected, so its body remains, and with it the reference that may have no value.
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.Outer (x) }
        <domain: "my", opset_import: ["": 20, "my": 1]> Outer <k> (p) => (q) { q = my.Inner <by: float = @k> (p) }
        <domain: "my", opset_import: ["": 20]> Inner <by: float = 3.0> (p) => (q) { q = Elu <alpha: float = @by> (p) }"#,
    );
    let done = onnx_functions::inline(&mut model, &InlineOptions::default(), |model, _, function| {
        model.str(model.function(function).name()) == "Inner"
    });
    let done = done.unwrap();
    let kept: Vec<String> = done.kept().map(|(_, reason)| reason.to_string()).collect();
    assert_eq!(
        kept,
        [
            "for its attribute `by` the function has a default, which counts where the function around the call is called without `k`"
        ]
    );
    assert_eq!((done.inlined(), model.functions().len()), (0, 2));
}

#[test]
fn an_attribute_of_another_kind_than_the_body_needs_stays() {
    let kept = |call: &str, body: &str| {
        let mut model = parse(&format!(
            r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
            g (float[N] x) => (float[N] y) {{ y = my.F <k = {call}> (x) }}
            <domain: "my", opset_import: ["": 20]> F <k> (p) => (q) {{ q = {body} (p) }}"#
        ));
        let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
        done.kept().map(|(_, reason)| reason.to_string()).collect::<Vec<_>>()
    };
    let reason = "the call gives attribute `k` as INT, and `Elu` in the body needs FLOAT";
    assert_eq!(kept("1", "Elu <alpha: float = @k>"), [reason]);
    let reason = "the call gives attribute `k` as STRING, and `Elu` in the body needs FLOAT";
    assert_eq!(kept("\"1\"", "Elu <alpha: float = @k>"), [reason]);
    assert_eq!(kept("1.0", "Elu <alpha: float = @k>"), Vec::<String>::new());
    // A default of the wrong kind counts where it applies.
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { a = my.F (x) y = my.F <k = 2.0> (a) }
        <domain: "my", opset_import: ["": 20]> F <k: int = 1> (p) => (q) { q = Elu <alpha: float = @k> (p) }"#,
    );
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert_eq!((done.inlined(), done.kept().count()), (1, 1));
}
