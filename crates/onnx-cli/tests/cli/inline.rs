//! `onnx inline`.

use std::fmt::Write as _;

use crate::run::{Folder, onnx, onnx_with};

/// A model with a call that is inlined and one that stays: `Softmax` changed between the versions.
pub(crate) const STAYS: &str = r#"<ir_version: 10, opset_import: ["": 13, "my": 1]>
g (float[N, M] x) => (float[N, M] y) {
   h = my.Scale (x)
   ["last"] y = my.Normal (h)
}
<domain: "my", opset_import: ["": 13]> Scale <by: float = 2.0> (p) => (q) {
   f = Constant <value_float: float = @by> ()
   q = Mul (p, f)
}
<domain: "my", opset_import: ["": 17]> Normal (p) => (q) { q = DFT (p) }
"#;

/// Functions that call each other in two levels.
const NESTED: &str = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
g (float[N] x) => (float[N] y) {
   a = my.Twice (x)
   ["once"] y = my.Scale (a)
}
<domain: "my", opset_import: ["": 20]> Scale (p) => (q) { q = Neg (p) }
<domain: "my", opset_import: ["": 20, "my": 1]> Twice (p) => (q) {
   h = my.Scale (p)
   q = my.Scale (h)
}
"#;

/// The nodes of the main graph as text.
#[track_caller]
fn nodes(folder: &Folder, file: &str) -> Vec<String> {
    let text = onnx(folder, &format!("print {file} --at main()")).exits(0).out;
    let nodes = text.lines().filter(|line| line.contains(" = "));
    nodes.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn calls_become_bodies() {
    let folder = Folder::with("in.onnxtxt", NESTED);
    let check = |arguments: &str, summary: &str, expected: &[&str]| {
        let run = onnx(&folder, &format!("inline in.onnxtxt {arguments} -o out.onnxtxt")).exits(0);
        let first = run.err.lines().next().unwrap();
        assert_eq!((first, run.out.as_str()), (summary, ""), "{arguments}");
        assert_eq!(nodes(&folder, "out.onnxtxt"), expected, "{arguments}");
        onnx(&folder, "check out.onnxtxt").exits(0);
    };
    let all = ["h = Neg (x)", "a = Neg (h)", "y = Neg (a)"];
    check("", "inlined 4 calls, removed 2 functions: 5 -> 3 nodes", &all);
    check(
        "--names path",
        "inlined 4 calls, removed 2 functions: 5 -> 3 nodes",
        &["\"Twice/h\" = Neg (x)", "a = Neg (\"Twice/h\")", "y = Neg (a)"],
    );
    let scales = ["a = my.Twice (x)", "y = Neg (a)"];
    check("--only my.Scale", "inlined 3 calls, removed 1 function: 5 -> 4 nodes", &scales);
    check("--only my.*()~my.Twice", "inlined 3 calls, removed 1 function: 5 -> 4 nodes", &scales);
    check("--except my.Twice", "inlined 3 calls, removed 1 function: 5 -> 4 nodes", &scales);
    let once = ["a = my.Twice (x)", "y = Neg (a)"];
    check("--only once", "inlined 1 call, removed 0 functions: 5 -> 5 nodes", &once);
    check("--only node(1)", "inlined 1 call, removed 0 functions: 5 -> 5 nodes", &once);
    let others = ["h = Neg (x)", "a = Neg (h)", "[once] y = my.Scale (a)"];
    check("--except once", "inlined 3 calls, removed 1 function: 5 -> 4 nodes", &others);
    onnx(&folder, "inline in.onnxtxt --only my.Sclae").exits(2).says("no function and no call");
    let run = onnx(&folder, "inline in.onnxtxt --only my.Twice,my.Sclae").exits(2);
    run.says("no function of the model matches `my.Sclae`").says("did you mean `my.Scale`?");
    onnx(&folder, "inline in.onnxtxt --except my.*|my.No").exits(2).says("matches `my.No`");
}

#[test]
fn calls_that_stay_are_warnings_with_a_reason() {
    let folder = Folder::with("in.onnxtxt", STAYS);
    let message = "a call of `my.Normal` stays: `DFT` cannot be converted to version 16, on the way to version 13: version 17 introduced the operator";
    let run = onnx(&folder, "inline in.onnxtxt -o out.onnxtxt").exits(0).says(message).says("ONNX4001");
    assert!(run.err.contains("inlined 1 call, removed 1 function: 5 -> 4 nodes"), "{}", run.err);
    assert_eq!(nodes(&folder, "out.onnxtxt").len(), 3);
    onnx(&folder, "inline in.onnxtxt --allow call-not-inlined -q").exits(0);
    // What is denied is not written.
    onnx(&folder, "inline in.onnxtxt --deny warnings -o denied.onnx").exits(1).says(message);
    assert!(!folder.path().join("denied.onnx").exists());
    onnx(&folder, "inline in.onnxtxt --deny warnings --keep-going -o kept.onnx").exits(1);
    assert!(folder.path().join("kept.onnx").exists());
    let report = onnx(&folder, "inline in.onnxtxt --format json").exits(0).json();
    let model = &report["result"]["models"][0];
    assert_eq!((&model["nodes_before"], &model["nodes_after"]), (&5.into(), &4.into()));
    assert_eq!(model["functions"][0]["function"], "my.Scale");
    assert_eq!(model["functions"][0]["inlined"], 1);
    assert_eq!(model["functions"][0]["nodes"], 2);
    let kept = &model["functions"][1]["kept"][0];
    assert_eq!((&kept["path"], &kept["selector"]), (&"`my.Normal` (`last`)".into(), &"node(2)".into()));
    assert_eq!(report["findings"][0]["code"], "ONNX4001");
    assert_eq!(report["findings"][0]["place"]["selector"], "node(2)");
    onnx(&folder, "inline in.onnxtxt -v").exits(0).says("my.Scale: 1 call inlined, 2 nodes");
}

#[test]
fn functions_that_call_themselves_are_an_error() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g (float[N] x) => (float[N] y) { y = d.f (x) }
        <domain: "d", opset_import: ["": 20, "d": 1]> f (x) => (y) { y = d.h (x) }
        <domain: "d", opset_import: ["": 20, "d": 1]> h (x) => (y) { y = d.f (x) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "inline in.onnxtxt -o out.onnx").exits(1);
    assert!(run.err.contains("functions form a cycle of length 2: `d.f` -> `d.h`"), "{}", run.err);
    assert!(!folder.path().join("out.onnx").exists());
    let report = onnx(&folder, "inline in.onnxtxt --format json").exits(1).json();
    assert_eq!(report["findings"][0]["code"], "ONNX4002");
    onnx(&folder, "inline in.onnxtxt --except d.h").exits(0).says("inlined 2 calls");
}

#[test]
fn expansion_beyond_a_limit_is_refused_at_once() {
    let mut text = "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\n\
        g (float[N] x) => (float[N] y) { y = d.f63 (x) }\n\
        <domain: \"d\", opset_import: [\"\": 20]> f0 (x) => (y) { y = Neg (x) }\n"
        .to_owned();
    for level in 1..=63 {
        let below = level - 1;
        let _ = writeln!(
            text,
            "<domain: \"d\", opset_import: [\"\": 20, \"d\": 1]> f{level} (x) => (y) {{ t = d.f{below} (x) y = d.f{below} (t) }}"
        );
    }
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "inline in.onnxtxt -o out.onnx").exits(3);
    assert!(
        run.err.contains(
            "can take at least 18446744073709551615 nodes at a time; the limit `nodes` is 10000000"
        ),
        "{}",
        run.err
    );
    let report = onnx(&folder, "inline in.onnxtxt --limit nodes=1000 --format json").exits(3).json();
    assert_eq!(report["failures"][0]["limit"], "nodes");
    // One level less is not much less.
    onnx(&folder, "inline in.onnxtxt --only d.f0 --limit nodes=1000").exits(0).says("inlined 2 calls");
}

#[test]
fn what_is_repeated_for_each_call_is_limited() {
    let calls = |count: usize| -> String { (0..count).map(|n| format!("y{n} = d.f (x)\n")).collect() };
    let outputs = |count: usize| (0..count).map(|n| format!("float[N] y{n}")).collect::<Vec<_>>().join(", ");
    let name = "n".repeat(10_000);
    for body in [
        format!("[{name}] y = Neg (x)"),
        format!("{name} = Neg (x) y = Neg ({name})"),
        format!("c = Constant <value_string = \"{name}\"> () y = Neg (x)"),
    ] {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\n\
             g (float[N] x) => ({}) {{ {} }}\n\
             <domain: \"d\", opset_import: [\"\": 20]> f (x) => (y) {{ {body} }}\n",
            outputs(9),
            calls(9)
        );
        let folder = Folder::with("in.onnxtxt", text);
        onnx(&folder, "inline in.onnxtxt --limit splat_bytes=50k")
            .exits(3)
            .says("bytes of names, documentation and constants at a time; the limit `splat_bytes` is");
        onnx(&folder, "inline in.onnxtxt --limit splat_bytes=200k").exits(0).says("inlined 9 calls");
    }
}

#[test]
fn models_come_and_go_as_for_other_commands() {
    let folder = Folder::with("in.onnxtxt", NESTED);
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    let bytes = folder.get("in.onnx");
    let run = onnx(&folder, "inline in.onnx").exits(0).says("would write 3 nodes");
    assert!(run.out.ends_with("(`-o OUT` writes it)\n"), "{}", run.out);
    onnx(&folder, "inline in.onnx -o out.onnx --dry-run").exits(0).says("would write out.onnx: 3 nodes");
    assert!(!folder.path().join("out.onnx").exists());
    let run = onnx_with(&folder, "inline - -o - --report report.json", &bytes).exits(0);
    folder.put("piped.onnx", &run.bytes);
    assert_eq!(nodes(&folder, "piped.onnx").len(), 3);
    let report: serde_json::Value = serde_json::from_slice(&folder.get("report.json")).unwrap();
    assert_eq!(report["command"], "inline");
    onnx(&folder, "inline in.onnx --in-place").exits(0).says("wrote in.onnx: 3 nodes");
    assert_eq!(nodes(&folder, "in.onnx").len(), 3);
    onnx(&folder, "inline in.onnx").exits(0).says("inlined 0 calls, removed 0 functions: 3 -> 3 nodes");
}

#[test]
fn operators_with_bodies_are_replaced_on_request() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) {
           a = my.Both (x)
           b = Selu (a)
           y = Relu (b)
        }
        <domain: "my", opset_import: ["": 20]> Both (p) => (q) { h = Softsign (p) q = Relu (h) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    let operators = |arguments: &str| {
        onnx(&folder, &format!("inline in.onnxtxt --bodies {arguments} -o out.onnxtxt")).exits(0);
        onnx(&folder, "compare in.onnxtxt out.onnxtxt").exits(0);
        let report = onnx(&folder, "info out.onnxtxt --format json").exits(0).json();
        let operators = report["result"]["models"][0]["operators"].as_array().unwrap().clone();
        operators.iter().map(|operator| operator["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = operators("");
    for name in ["Both", "Softsign", "Selu", "Relu"] {
        assert!(!all.iter().any(|other| other == name), "{name}: {all:?}");
    }
    let some = operators("--only Selu");
    assert!(some.iter().any(|name| name == "Both") && !some.iter().any(|name| name == "Selu"), "{some:?}");
    let others = operators("--except ai.onnx.Relu");
    assert!(
        others.iter().any(|name| name == "Relu") && !others.iter().any(|name| name == "Selu"),
        "{others:?}"
    );
    onnx(&folder, "inline in.onnxtxt --only Selu").exits(2).says("no function and no call");
    onnx(&folder, "inline in.onnxtxt --bodies --only MatMul").exits(2).says("no function and no call");
}

#[test]
fn the_derivatives_in_a_function_are_those_in_its_place() {
    let model = r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1, "l": 1]>
    g (float a, float b) => (float p, float q, float r) {
       p = l.of_mul (a, b)
       q = l.of_sub (a, b)
       r = l.of_mul (a, a)
    }
    <domain: "l", opset_import: ["": 14, "ai.onnx.preview.training": 1]>
    of_mul (a, b) => (d) {
       m = Mul (a, b)
       d = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "m"> (a, b)
    }
    <domain: "l", opset_import: ["": 14, "ai.onnx.preview.training": 1]>
    of_sub (a, b) => (d) {
       m = Sub (a, b)
       d = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "m"> (a, b)
    }"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "inline in.onnxtxt -o out.onnx").exits(0);
    onnx(&folder, "check out.onnx").exits(0);
    onnx(&folder, "compare in.onnxtxt out.onnx --rtol 0 --atol 0").exits(0);
    let text = onnx(&folder, "print out.onnx --at main()").exits(0).out;
    assert!(!text.contains("l.of_") && text.matches("Gradient").count() == 3, "{text}");
}

/// A body would move the contradiction of a node into nodes that are not in the file.
#[test]
fn nodes_that_fail_for_their_operands_have_no_body() {
    let text = "<ir_version: 8, opset_import: [\"\": 18]>\ng (float[2,4,3] x, float[4] s, float[4] b) => (float[2,4,3] y)\n\
                { y = GroupNormalization <num_groups = 2> (x, s, b) }";
    let folder = Folder::with("m.onnxtxt", text);
    onnx(&folder, "inline --bodies m.onnxtxt -o o.onnxtxt")
        .exits(1)
        .says("error[ONNX3007]")
        .says("fail for their operands");
    assert_eq!(folder.list(), ["m.onnxtxt"]);
    onnx(&folder, "inline --bodies m.onnxtxt -o o.onnxtxt --keep-going").exits(0);
    // One for each group is what this version takes.
    let folder = Folder::with("m.onnxtxt", text.replace("float[4]", "float[2]"));
    onnx(&folder, "inline --bodies m.onnxtxt -o o.onnxtxt").exits(0);
}
