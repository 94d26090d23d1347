//! `onnx find`, and selectors in other commands.

use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21, "com.acme": 1]>
g (float[N, 4] x, bool c) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}, float z = {0}> {
   ["/layer.0/relu"] a = Relu (x)
   ["/layer.0/add"] b = Add (w, a)
   d = Add (b, z)
   ["/layer.1/leaky"] e = LeakyRelu <alpha = 0.5> (d)
   f = com.acme.Block (e)
   ["/layer.1/if"] y = If (c) <
      then_branch = t () => (float[N, 4] then) { then = Relu (f) },
      else_branch = o () => (float[N, 4] other) { other = Exp (f) }
   >
}
<domain: "com.acme", opset_import: ["": 21]>
Block (p) => (q) { r = Relu (p) q = Neg (r) }"#;

/// The selectors that are listed.
#[track_caller]
fn check(folder: &Folder, selector: &str, expected: &[&str]) {
    let arguments = ["find", "in.onnxtxt", selector, "--format", "json"];
    let output = crate::run::command(arguments).current_dir(folder.path()).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{selector}: {}", String::from_utf8_lossy(&output.stderr)));
    let elements = report["result"]["models"][0]["elements"].as_array();
    let elements = elements.unwrap_or_else(|| panic!("{selector}: {report}"));
    let found: Vec<&str> = elements.iter().map(|element| element["selector"].as_str().unwrap()).collect();
    assert_eq!(found, expected, "{selector}");
    assert_eq!(output.status.code(), Some(i32::from(expected.is_empty())), "{selector}");
}

#[test]
fn names_patterns_and_sets() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let then = "in(body(node(5), then_branch), node(0))";
    for (selector, expected) in [
        ("x", &["x"][..]),
        ("/layer.0/relu", &["node(0)"]),
        ("/layer.*/*u", &["node(0)"]),
        ("/layer.1/**", &["node(3)", "node(5)"]),
        ("**/leaky, w", &["node(3)", "w"]),
        ("absent", &[]),
        ("then", &["in(body(node(5), then_branch), then)"]),
        ("inputs()", &["x", "c"]),
        ("outputs()", &["y"]),
        ("weights()", &["w", "z"]),
        (
            "in(body(node(5), else_branch), all())",
            &["in(body(node(5), else_branch), node(0))", "in(body(node(5), else_branch), other)"],
        ),
        ("in(function(com.acme.Block), outputs())", &["in(function(com.acme.Block), q)"]),
        ("main()", &["main()"]),
        ("Relu()", &["node(0)", then]),
        ("in(main(), Relu())", &["node(0)"]),
        ("Relu() ~ near(node(0), 0)", &[then]),
        ("(Relu() | Exp()) & in(main(), Relu())", &["node(0)"]),
    ] {
        check(&folder, selector, expected);
    }
}

#[test]
fn operators_with_attributes_and_operands() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    for (selector, expected) in [
        ("Add()", &["node(1)", "node(2)"][..]),
        ("Add(_, \"w\")", &["node(1)"]),
        ("Add(_, 0.0)", &["node(2)"]),
        ("Add(Add())", &["node(2)"]),
        ("Add(Add(Relu()), \"z\")", &["node(2)"]),
        ("Relu() -> Add() -> Add()", &["node(2)"]),
        ("\"x\" -> Relu()", &["node(0)"]),
        ("Exp() -> Add()", &[]),
        ("LeakyRelu<alpha = 0.5>()", &["node(3)"]),
        ("LeakyRelu<alpha = 0.01>()", &[]),
        ("Relu() | Abs() -> Add()", &["node(0)", "in(body(node(5), then_branch), node(0))"]),
        ("com.acme.*()", &["node(4)"]),
        ("*Relu()", &["node(0)", "node(3)", "in(body(node(5), then_branch), node(0))"]),
        ("com.acme.*() ~ com.acme.Block()", &[]),
        ("ai.onnx.Exp()", &["in(body(node(5), else_branch), node(0))"]),
    ] {
        check(&folder, selector, expected);
    }
}

#[test]
fn paths_and_facts() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    for (selector, expected) in [
        ("up(b)", &["node(0)", "node(1)"][..]),
        ("up(d, 1)", &["node(1)", "node(2)"]),
        ("down(f, 0)", &["node(4)"]),
        // The branches use `f`.
        ("down(e, 1)", &["node(3)", "node(4)"]),
        ("down(e)", &["node(3)", "node(4)", "node(5)"]),
        // A value that no node produces stands for its consumers.
        ("down(x, 0)", &["node(0)"]),
        ("down(x, 1)", &["node(0)", "node(1)"]),
        ("near(w, 1)", &["node(0)", "node(1)", "node(2)"]),
        ("down(w | e)", &["node(1)", "node(2)", "node(3)", "node(4)", "node(5)"]),
        ("down(inputs() & type(bool))", &["node(5)"]),
        ("down(c)", &["node(5)"]),
        ("down(weights(), 0)", &["node(1)", "node(2)"]),
        ("down(?, 0) & Relu() & in(main(), all())", &["node(0)"]),
        ("up(x)", &[]),
        ("up(x | b)", &["node(0)", "node(1)"]),
        ("between(a, d)", &["node(1)", "node(2)"]),
        ("between(x, b)", &["node(0)", "node(1)"]),
        ("between(d, b)", &[]),
        ("type(bool)", &["c"]),
        ("rank(1)", &["w"]),
        ("rank(<1) & weights()", &["z"]),
        ("bytes(>=16B)", &["w"]),
        ("bytes(4)", &["z"]),
        ("constant()", &["w", "z"]),
        ("type(bool, int64) | Exp()", &["c", "in(body(node(5), else_branch), node(0))"]),
    ] {
        check(&folder, selector, expected);
    }
}

#[test]
fn metadata_and_diagnostics() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2] x) => (float[2] y) {
   a = Relu (x) # n
   y = Nonsense (a)
}"#;
    let folder = Folder::with("in.onnxtxt", text);
    check(&folder, "finding(unknown-operator)", &["node(1)"]);
    check(&folder, "up(finding(unknown-operator), 1)", &["node(0)", "node(1)"]);
    check(&folder, "metadata(absent = *)", &[]);
    onnx(&folder, "find in.onnxtxt finding(ONNX2999)").exits(2).says("has the code `ONNX2999`");
}

#[test]
fn counts_and_lists_for_people() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "find in.onnxtxt Add() --count").exits(0);
    assert_eq!(run.out, "2\n");
    let run = onnx(&folder, "find in.onnxtxt Add(),x").exits(0).says("2 nodes, 1 value");
    assert_eq!(
        run.out,
        "node(1)  b = Add (w, a)  # /layer.0/add\nnode(2)  d = Add (b, z)\nx        float[N, 4]\n"
    );
    onnx(&folder, "find in.onnxtxt /layer.0").exits(1).says("did you mean `/layer.0/**`?");
    onnx(&folder, "find in.onnxtxt /layer.1/leeky").exits(1).says("did you mean `/layer.1/leaky`?");
    // A name that is misspelled is not left out of a union.
    onnx(&folder, "find in.onnxtxt x,/layer.1/leeky")
        .exits(2)
        .says("no node or value of the model matches `/layer.1/leeky`")
        .says("did you mean `/layer.1/leaky`?");
    onnx(&folder, "find in.onnxtxt x,Nonsense()").exits(0).says("1 value");
    onnx(&folder, "find in.onnxtxt Add(").exits(2).says("is not a selector");
    onnx(&folder, "find in.onnxtxt nod(1)").exits(2).says("no selector function has this name");
    onnx(&folder, "find in.onnxtxt nod(1)").exits(2).says("did you mean `node(…)`?");
    onnx(&folder, "find in.onnxtxt softmax()").exits(2).says("did you mean the operator, `Softmax()`?");
    onnx(&folder, "find in.onnxtxt nearby(x,2)").exits(2).says("did you mean `near(…)`?");
    onnx(&folder, "find in.onnxtxt frobnicate()").exits(2).says("the functions are all, between");
    for (text, meant) in [("ADD()", "Add()"), ("Add(_,weights())", "Add() & down(weights(), 0)")] {
        let run = onnx(&folder, &format!("find in.onnxtxt {text}")).exits(1);
        run.says(&format!("did you mean `{meant}`?"));
    }
    onnx(&folder, "find in.onnxtxt all() --limit selector_steps=3").exits(3).says("selector_steps");
}

/// All commands take the same language.
#[test]
fn other_commands_take_selectors() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "print in.onnxtxt --at Add(_,\"z\")").exits(0);
    assert_eq!(run.out, "d = Add (b, z)\n");
    onnx(&folder, "infer in.onnxtxt --why outputs()").exits(0).says("`y` is float[N, 4]");
    onnx(&folder, "extract in.onnxtxt --only between(x,d) -o part.onnx").exits(0).says("-> 3 nodes");
    onnx(&folder, "rewrite in.onnxtxt --pass no-identities --except Relu()").exits(0);
    onnx(&folder, "rewrite in.onnxtxt --pass no-identities --except absent")
        .exits(2)
        .says("matches `absent`");
    onnx(&folder, "extract in.onnxtxt --outputs d,absent -o part.onnx --force")
        .exits(2)
        .says("matches `absent`");
}
