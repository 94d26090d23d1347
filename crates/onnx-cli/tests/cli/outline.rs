//! `onnx outline`.

use std::fmt::Write as _;

use crate::run::{Folder, onnx};

/// A chain of equal layers with separate weights, after nodes that occur once.
pub(crate) fn layers(count: usize) -> String {
    let mut body = String::from("h0 = Exp (x)\n");
    let mut weights = String::from("float[2] s = {1, 2}");
    for layer in 0..count {
        let next = layer + 1;
        let _ = writeln!(
            body,
            "[\"/layer.{layer}/neg\"] \"/layer.{layer}/n\" = Neg (h{layer})
            [\"/layer.{layer}/mul\"] \"/layer.{layer}/m\" = Mul (\"/layer.{layer}/n\", w{layer})
            [\"/layer.{layer}/abs\"] \"/layer.{layer}/a\" = Abs (\"/layer.{layer}/m\")
            [\"/layer.{layer}/scale\"] \"/layer.{layer}/c\" = Mul (\"/layer.{layer}/a\", s)
            [\"/layer.{layer}/add\"] h{next} = Add (h{layer}, \"/layer.{layer}/c\")"
        );
        let _ = write!(weights, ", float[2] w{layer} = {{{layer}, 2}}");
    }
    format!(
        "<ir_version: 7, opset_import: [\"\": 20]> g (float[N, 2] x) => (float[N, 2] y) <{weights}> {{
            {body}
            y = Log (h{count})
        }}"
    )
}

#[test]
fn layers_become_calls_and_come_back() {
    let folder = Folder::with("in.onnxtxt", layers(8));
    let run = onnx(&folder, "outline in.onnxtxt -o short.onnxtxt").exits(0);
    let summary = "outlined 1 function with 8 calls: 42 -> 10 nodes of the main graph\n";
    assert!(run.err.starts_with(summary), "{}", run.err);
    let text = onnx(&folder, "print short.onnxtxt --at main()").exits(0).out;
    assert!(text.contains("[\"/layer.3\"] h4 = outlined.layer (h3, w3, s)"), "{text}");
    onnx(&folder, "check short.onnxtxt").exits(0);
    let body = onnx(&folder, "print short.onnxtxt --at function(outlined.layer)").exits(0).out;
    assert!(body.contains("[neg] n = Neg (h0)"), "{body}");
    onnx(&folder, "compare in.onnxtxt short.onnxtxt --rtol 0 --atol 0").exits(0);
    // The names come back as well.
    onnx(&folder, "inline short.onnxtxt --names path -o back.onnxtxt").exits(0).says("inlined 8 calls");
    let nodes = |file: &str| onnx(&folder, &format!("print {file} --at main()")).exits(0).out;
    assert_eq!(nodes("back.onnxtxt"), nodes("in.onnxtxt"));
    let report = onnx(&folder, "outline in.onnxtxt --format json").exits(0).json();
    let function = &report["result"]["models"][0]["functions"][0];
    assert_eq!((&function["function"], &function["nodes"]), (&"outlined.layer".into(), &5.into()));
    assert_eq!(function["calls"][7]["name"], "/layer.7");
}

#[test]
fn blocks_can_be_too_small() {
    let folder = Folder::with("in.onnxtxt", layers(3));
    onnx(&folder, "outline in.onnxtxt --repeated --min-nodes 6")
        .exits(0)
        .says("outlined 0 functions with 0 calls");
    onnx(&folder, "outline in.onnxtxt --domain acme -v").exits(0).says("acme.layer: 3 calls, 5 nodes");
    onnx(&folder, "outline in.onnxtxt --domain ai.onnx.ml")
        .exits(1)
        .says("need a domain that has no operators");
}

#[test]
fn selected_nodes_become_one_function() {
    let folder = Folder::with("in.onnxtxt", layers(2));
    onnx(&folder, "outline in.onnxtxt --only near(/layer.0/mul,1) --function my.Part -o out.onnxtxt")
        .exits(0)
        .says("outlined 1 function with 1 call: 12 -> 10 nodes");
    onnx(&folder, "compare in.onnxtxt out.onnxtxt --rtol 0 --atol 0").exits(0);
    let run = onnx(&folder, "outline in.onnxtxt --only near(h0,1) -o no.onnxtxt").exits(1);
    assert!(run.err.contains("the nodes are not convex"), "{}", run.err);
    assert!(run.err.contains("ONNX4003") && !folder.path().join("no.onnxtxt").exists(), "{}", run.err);
    onnx(&folder, "outline in.onnxtxt --only nothing").exits(2).says("no node of the model matches");
    onnx(&folder, "outline in.onnxtxt --only h0 --function Part").exits(2).says("has no domain");
}

#[test]
fn lists_patterns_and_several_selectors_denote_nodes() {
    let folder = Folder::with("in.onnxtxt", layers(2));
    for only in [
        "--only /layer.0/**",
        "--only /layer.0/*",
        "--only /layer.0/neg,/layer.0/mul|/layer.0/abs,near(/layer.0/scale,1),/layer.0/add",
        "--only /layer.0/neg,/layer.0/mul --only /layer.0/abs --only /layer.0/scale,/layer.0/add",
    ] {
        onnx(&folder, &format!("outline in.onnxtxt {only} --function my.Layer:v2 -o out.onnxtxt"))
            .exits(0)
            .says("outlined 1 function with 1 call: 12 -> 8 nodes");
        onnx(&folder, "info --functions out.onnxtxt").exits(0).says("my.Layer:v2");
        onnx(&folder, "compare in.onnxtxt out.onnxtxt --rtol 0 --atol 0").exits(0);
    }
    onnx(&folder, "outline in.onnxtxt --only /layer.0/neg,nothing")
        .exits(2)
        .says("no node of the model matches `nothing`");
    let run = onnx(&folder, "outline in.onnxtxt --only /layer.0/neg --only /layer.0/abs").exits(1);
    assert!(run.err.contains("ONNX4003") && run.err.contains("not convex"), "{}", run.err);
}
