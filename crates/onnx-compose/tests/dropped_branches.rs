//! Targets that drop branches before they look for kernels.

#![allow(clippy::unwrap_used, reason = "a test")]

use onnx_compose::{Target, unsupported, unsupported_in_bodies};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Execution;

/// Nodes of a branch that a constant condition excludes need no kernel; those of others do.
#[test]
fn branches_that_are_dropped_need_no_kernels() {
    let target = Target::named("onnxruntime").unwrap();
    let found = |text: &str| -> Vec<String> {
        let model = parse_model(text, &ParseOptions::default()).unwrap();
        let types = infer(&model, &InferOptions::default());
        let mut found = unsupported(&model, target, &types, Registry::STANDARD);
        found.merge(unsupported_in_bodies(&model, target, Registry::STANDARD, &Execution::DEFAULT).unwrap());
        found.diagnostics().iter().map(|found| found.message.clone()).collect()
    };
    let branches = |condition: &str| {
        format!(
            "y = If ({condition}) <then_branch = t () => (double[4] p) {{ p = Hardmax (d) }}, else_branch = e () => (double[4] q) {{ q = Identity (d) }}>"
        )
    };
    let model = |before: &str, condition: &str| {
        format!(
            r#"<ir_version: 8, opset_import: ["": 17]> g (bool b, double[4] d, float[N] n) => (double[4] y) <bool no = {{0}}, bool yes = {{1}}> {{ {before} {} }}"#,
            branches(condition)
        )
    };
    let dropped = [
        model("", "no"),
        model("c = Not (yes)", "c"),
        model("c = Constant <value = bool {0}> ()", "c"),
        model("s = Shape (d) three = Constant <value = int64[1] {3}> () c = Equal (s, three)", "c"),
    ];
    for text in &dropped {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
    let kept = [
        model("", "b"),
        model("", "yes"),
        model("c = And (b, no)", "c"),
        // A size is never negative, but is not a number either.
        model("s = Shape (n) less = Constant <value = int64[1] {-1}> () c = Equal (s, less)", "c"),
    ];
    for text in &kept {
        assert_eq!(
            found(text),
            ["onnxruntime 1.32.0 has no `Hardmax` (version 13) for `T` = tensor(double)"],
            "{text}"
        );
    }
    // In a function, the call decides.
    let call = |condition: &str| {
        format!(
            r#"<ir_version: 8, opset_import: ["": 17, "f": 1]> g (double[4] d) => (double[4] y) <bool c = {{{condition}}}> {{ y = f.F (c, d) }}
            <domain: "f", opset_import: ["": 17]> F (c, d) => (y) {{ {} }}"#,
            branches("c")
        )
    };
    assert_eq!(found(&call("0")), Vec::<String>::new());
    assert_eq!(
        found(&call("1")),
        ["onnxruntime 1.32.0 has no `Hardmax` (version 13) for `T` = tensor(double); a body needs it"]
    );
}
