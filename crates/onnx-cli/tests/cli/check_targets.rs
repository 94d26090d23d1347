//! `onnx check --target`: the verdict is that of loading.

use crate::run::{Folder, onnx};

/// A target that infers all graphs refuses what contradicts itself in a graph that no run may execute, and nothing that only a run
/// would know.
#[test]
fn targets_that_infer_all_graphs_see_those_that_are_not_executed() {
    let header = r#"<ir_version: 8, opset_import: ["": 17, "f": 1]>"#;
    let branch = |condition: &str, nodes: &str, rest: &str| {
        format!(
            "{header} g (bool b, float[4] d) => (float[N] y) <bool no = {{0}}, int64[4] four = {{0, 0, 0, 0}}, float[3] k = {{0, 0, 0}}, int64 m = {{0}}> {{
            y = If ({condition}) <then_branch = t () => (float[N] p) {{ {nodes} }}, else_branch = e () => (float[4] q) {{ q = Identity (d) }}>
            }} {rest}"
        )
    };
    let looped = |body: &str| {
        let nodes = format!(
            "none = Constant <value = bool {{1}}> () p = Loop (m, none, d) <body = l (int64 i, bool go, float[{body}] s) => (bool again, float[N] t) {{
            again = Identity (go) t = Add (s, k) }}>"
        );
        branch("b", &nodes, "")
    };
    let function = r#"<domain: "f", opset_import: ["": 17]> F (a, k) => (r) { r = Add (a, k) }"#;
    let folder = Folder::new();
    for (text, code) in [
        (branch("b", "p = Add (d, k)", ""), Some("ONNX3008")),
        (branch("no", "p = Add (d, k)", ""), Some("ONNX3008")),
        (branch("no", "p = Pad (d, four)", ""), Some("ONNX30")),
        (branch("no", "p = f.F (d, k)", function), Some("ONNX3008")),
        (looped("4"), Some("ONNX3008")),
        // The shape of a carried value is not known, and neither is what nodes compute.
        (looped("N"), None),
        (branch("b", "two = Identity (four) p = Pad (d, two)", ""), None),
    ] {
        folder.put("in.onnxtxt", &text);
        let run = onnx(&folder, "check in.onnxtxt --target onnxruntime --concise");
        assert_eq!(run.code, i32::from(code.is_some()), "{text}\n{}", run.out);
        assert!(run.out.contains(code.map_or("", |_| "error[")), "{text}\n{}", run.out);
        assert!(run.out.contains(code.unwrap_or_default()), "{text}\n{}", run.out);
        assert!(code.is_none() || !run.out.contains("ONNX3021"), "{}", run.out);
        // Without the target, the model is valid if the branch is not executed.
        onnx(&folder, "check in.onnxtxt").exits(0);
    }
}

/// Before version 11, the branches of `If` give the same shape; the body of `MeanVarianceNormalization` has constants of `float`.
#[test]
fn old_branches_and_bodies_of_one_type_are_those_of_the_target() {
    let header = r#"<ir_version: 8, opset_import: ["": 17]>"#;
    let branches = |version: i64| {
        format!(
            r#"<ir_version: 8, opset_import: ["": {version}]> g (float[2,3] x, bool c) => (float[n,m] o) {{
            o = If (c) <then_branch = t () => (float[2,3] p) {{ p = Relu (x) }}, else_branch = e () => (float[3,2] q) {{ q = Transpose (x) }}>
            }}"#
        )
    };
    let folder = Folder::new();
    for (version, code) in [(10, 1), (11, 0)] {
        folder.put("in.onnxtxt", branches(version));
        onnx(&folder, "check in.onnxtxt --target onnxruntime").exits(code);
    }
    let mean = |elem: &str| {
        format!(
            "{header} g ({elem}[1,2,3,3] x) => ({elem}[1,2,3,3] y) {{ y = MeanVarianceNormalization (x) }}"
        )
    };
    for (elem, code) in [("float", 0), ("double", 1), ("float16", 1)] {
        folder.put("in.onnxtxt", mean(elem));
        onnx(&folder, "check in.onnxtxt --target onnxruntime").exits(code);
    }
}
