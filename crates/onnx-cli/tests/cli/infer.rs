//! `onnx infer`.

use crate::run::{Folder, onnx, onnx_with};

const DOUBLED: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N, 2] x) => (float[K, 2] z) {
   y = Concat <axis = 0> (x, x)
   z = Relu (y)
}
"#;

/// Two inputs of one size, declared with different ones.
const CONTRADICTION: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[2] x, float[3] w) => (float[A] y, float[B] z) {
   y = Add (x, w)
   z = Add (w, x)
}
"#;

/// A shape that only a run knows.
const OPEN: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[2, 3] x, int64[2] s) => (z) {
   y = Reshape (x, s)
   z = Relu (y)
}
"#;

fn text_of(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.get(name)).unwrap()
}

#[test]
fn types_are_written() {
    let folder = Folder::with("in.onnxtxt", DOUBLED);
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("2*N"), "{text}");
    assert!(text.contains("float[K,2] z"), "{text}");
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt --set N=3").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("float[3,2] x") && text.contains("float[6,2] z"), "{text}");
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt --set N=3 --merge keep").exits(0);
    assert!(text_of(&folder, "out.onnxtxt").contains("float[K,2] z"));
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt --merge override").exits(0);
    assert!(!text_of(&folder, "out.onnxtxt").contains("K"));
    // The binary form through streams, and back.
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    let run = onnx_with(&folder, "infer - -o -", &folder.get("in.onnx")).exits(0);
    onnx(&folder, "infer in.onnx -o out.onnx").exits(0);
    assert!(run.bytes == folder.get("out.onnx"));
    onnx(&folder, "check --full out.onnx").exits(0);
}

#[test]
fn identifiers_stand_for_expressions() {
    let folder = Folder::with("in.onnxtxt", DOUBLED);
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt --symbols identifiers").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("dim_2_N") && text.contains(r#""onnx.infer.dim.dim_2_N": "2*N""#), "{text}");
}

#[test]
fn exact_quotients_are_written_as_every_reader_knows_them() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N] x) => (float[A, B] z) <int64[2] shape = {-1, 2}> {
   y = Reshape (x, shape)
   z = Relu (y)
}
"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains(r#"float["N//2",2] y"#), "{text}");
}

#[test]
fn contradictions_are_listed() {
    let folder = Folder::with("in.onnxtxt", CONTRADICTION);
    let run = onnx(&folder, "infer in.onnxtxt -o out.onnx --strict").exits(1);
    assert_eq!(run.err.matches("ONNX3008").count(), 2, "{}", run.err);
    assert_eq!(folder.list(), ["in.onnxtxt"]);
    onnx(&folder, "infer in.onnxtxt -o out.onnx").exits(1).says("ONNX3008");
    assert_eq!(folder.list(), ["in.onnxtxt"]);
    onnx(&folder, "infer in.onnxtxt -o out.onnx --keep-going").exits(0).says("ONNX3008");
    assert_eq!(folder.list(), ["in.onnxtxt", "out.onnx"]);
    onnx(&folder, "check in.onnxtxt --fast").exits(0);
    onnx(&folder, "check in.onnxtxt").exits(1).says("ONNX3008");
    onnx(&folder, "explain ONNX3008").exits(0).says("broadcast");
}

#[test]
fn what_is_unknown_is_explained() {
    let folder = Folder::with("in.onnxtxt", OPEN);
    onnx(&folder, "infer in.onnxtxt --unknown")
        .exits(0)
        .says("`z`: the sizes of axes 0-1: the sizes of axes 0-1 of `y` = Reshape")
        .says("2 of 4 values not known completely");
    onnx(&folder, "infer in.onnxtxt --why z")
        .exits(0)
        .says("`y` = Reshape  (lost here)")
        .says("    the size depends on the elements of `s`\n")
        .says("declare `y` as float[SIZE, SIZE]");
    onnx(&folder, "infer in.onnxtxt --why x").exits(0).says("everything is known");
    onnx(&folder, "infer in.onnxtxt --why nothing").exits(2).says("no value of the model matches `nothing`");
}

#[test]
fn names_of_declared_sizes_are_trusted_on_request() {
    let model = "<ir_version: 10, opset_import: [\"\": 20, \"my\": 1]>\n\
                 g (float[n, 3, h] x) => (y) <float[n, 8, h] b> { b = my.Thing (x) y = Relu (b) }\n";
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "infer in.onnxtxt --why y")
        .exits(0)
        .says("one that an input has counts with `--trust-names`");
    onnx(&folder, "infer in.onnxtxt --trust-names -o out.onnxtxt").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("float[n,8,h] y"), "{text}");
    onnx(&folder, "infer in.onnxtxt --trust-names --guards").exits(0).says("declared(`b`)");
}

#[test]
fn reports_for_programs_hold_what_is_unknown() {
    let folder = Folder::with("in.onnxtxt", OPEN);
    let run = onnx(&folder, "infer in.onnxtxt --unknown --why z --format json").exits(0);
    let model = &run.json()["result"]["models"][0];
    let report = &model["report"];
    assert_eq!(
        (&report["values"], &report["incomplete"], &report["dropped"]),
        (&4.into(), &2.into(), &0.into())
    );
    let z = &report["unknown"][1];
    assert_eq!((z["value"].as_str(), z["missing"].as_str()), (Some("z"), Some("sizes")));
    assert_eq!(z["axes"], serde_json::json!([[0, 1]]));
    assert_eq!((z["origin"]["value"].as_str(), z["operator"].as_str()), (Some("y"), Some("Reshape")));
    assert_eq!(z["origin"]["selector"].as_str(), Some("y"));
    assert_eq!(model["explain"][0]["chain"], serde_json::json!(["z", "y"]));
    assert!(model["guards"].is_array());
    assert_eq!(run.err, "");
    onnx(&folder, "infer in.onnxtxt --why nothing --format json")
        .exits(2)
        .says("no value of the model matches `nothing`");
}

#[test]
fn what_cannot_be_done_exits_with_two() {
    let folder = Folder::with("in.onnxtxt", DOUBLED);
    folder.put("bad.onnx", [255, 255, 255]);
    folder.put("bad.onnxtxt", "g (");
    onnx(&folder, "infer bad.onnx -o out.onnx").exits(2);
    onnx(&folder, "infer bad.onnxtxt -o out.onnx").exits(1);
    onnx(&folder, "infer none.onnx -o out.onnx").exits(2);
    onnx(&folder, "infer in.onnxtxt -o out.onnx --set M=3").exits(2).says("there are `N`");
    onnx(&folder, "infer in.onnxtxt -o out.onnx --set N=-3").exits(2).says("`N=-3` is not DIM=N");
    onnx(&folder, "infer in.onnxtxt --set N=3,N=4").exits(2).says("cannot be both 3 and 4");
    onnx(&folder, "infer in.onnxtxt -o nowhere/out.onnx").exits(2);
    assert_eq!(folder.list(), ["bad.onnx", "bad.onnxtxt", "in.onnxtxt"]);
}

/// A slice that omits one element, in the main graph and in a branch.
const GUARDED: &str = r#"<ir_version: 10, opset_import: ["": 18]>
g (float[S, T] x, bool c) => (z)
<int64[1] one = {1}, int64[1] all = {9223372036854775807}, int64[1] axis = {1}>
{
   [first] y = Slice (x, one, all)
   z = If (c) <then_branch = t () => (p) { p = Slice (x, one, all, axis) }, else_branch = e () => (q) { q = Neg (x) }>
}
"#;

#[test]
fn guards_are_reported_and_written() {
    let folder = Folder::with("in.onnxtxt", GUARDED);
    let text = onnx(&folder, "infer in.onnxtxt --guards").exits(0).out;
    assert!(text.contains("1 <= S  # Slice `first`: the slice omits one element of the axis"), "{text}");
    assert!(text.contains("1 <= T  # Slice `p`, if graph `t` runs: the slice omits"), "{text}");
    assert!(text.ends_with("2 guards\n"), "{text}");
    let report = onnx(&folder, "infer in.onnxtxt --unknown").exits(0).out;
    assert!(report.contains("1 <= S"), "{report}");
    // What a value does not depend on is not among its guards.
    let explained = onnx(&folder, "infer in.onnxtxt --why y").exits(0).out;
    assert!(explained.contains("1 <= S") && !explained.contains("1 <= T"), "{explained}");
    let json = onnx(&folder, "infer in.onnxtxt --guards=json").exits(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["guards"][0]["condition"], "1 <= S");
    assert_eq!(json["guards"][0]["strength"], "assumed");
    assert_eq!(json["guards"][0]["scope"], "model");
    assert_eq!(json["guards"][1]["graph"], "graph `t`");
    // In the metadata only on request, and once.
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt").exits(0);
    assert!(!text_of(&folder, "out.onnxtxt").contains("onnx.infer.guard"));
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt --write-guards").exits(0);
    onnx(&folder, "infer out.onnxtxt -o again.onnxtxt --write-guards").exits(0);
    let text = text_of(&folder, "again.onnxtxt");
    assert!(text.contains(r#""onnx.infer.guard.0": "1 <= S  # Slice `first`: the slice"#), "{text}");
    assert!(text.contains("onnx.infer.guard.1") && !text.contains("onnx.infer.guard.2"), "{text}");
}

#[test]
fn a_runtime_can_be_named() {
    let model = r#"<ir_version: 10, opset_import: ["": 18]> g (float x) => (y) { y = NonZero (x) }"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt").exits(0);
    assert!(text_of(&folder, "out.onnxtxt").contains("int64[0,"));
    onnx(&folder, "infer in.onnxtxt -o out.onnxtxt --runtime onnxruntime").exits(0);
    assert!(!text_of(&folder, "out.onnxtxt").contains("int64[0,"));
}

/// A contradiction in a branch that need not be executed.
const CONDITIONAL: &str = r#"<ir_version: 10, opset_import: ["": 18]>
g (float[4, 5] x, bool c) => (z) <int64[1] axis = {0}>
{
   z = If (c) <then_branch = t () => (p) { p = Squeeze (x, axis) }, else_branch = e () => (q) { q = Identity (x) }>
}
"#;

#[test]
fn a_contradiction_in_a_branch_is_a_warning() {
    let folder = Folder::with("in.onnxtxt", CONDITIONAL);
    let run = onnx(&folder, "infer in.onnxtxt -o out.onnxtxt --strict").exits(0);
    assert!(run.err.contains("warning[ONNX3021]"), "{}", run.err);
}

/// Twelve values are unknown for two reasons.
#[test]
fn many_unknown_values_are_grouped_by_cause() {
    let chain = |name: &str| -> String {
        (0..6).map(|index| format!("{name}{} = Relu ({name}{index})\n", index + 1)).collect()
    };
    let (a, b) = (chain("a"), chain("b"));
    let model = format!(
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[2, 3] x, int64[2] s, int64[2] n) => (a6, b6) {{
            a0 = Reshape (x, s)
            {a}b0 = Reshape (x, n)
            {b}
        }}"
    );
    let folder = Folder::with("m.onnxtxt", model);
    let run = onnx(&folder, "infer m.onnxtxt --unknown").exits(0);
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(
        lines.first(),
        Some(
            &"the sizes of axes 0-1 of `a0` = Reshape  (lost here): 7 values: `a0`, `a1`, `a2`, `a3`, `a4`, `a5`, 1 more"
        ),
        "{}",
        run.out
    );
    assert!(lines[1].contains("of `b0` = Reshape") && lines[1].contains(": 7 values: `b0`, "), "{}", run.out);
    assert_eq!(lines.iter().filter(|line| line.contains("lost here")).count(), 2, "{}", run.out);
    let report = onnx(&folder, "infer m.onnxtxt --unknown --format json").exits(0).json();
    assert_eq!(
        report["result"]["models"][0]["report"]["unknown"].as_array().map(Vec::len),
        Some(14),
        "{report}"
    );
}

/// One wrong declaration is one finding, and what follows from it none: as `onnx check` counts.
#[test]
fn causes_are_reported_without_their_consequences() {
    let nodes: String = (2..9).map(|at| format!("v{at} = Neg (v{})\n", at - 1)).collect();
    let declared: Vec<String> = (0..9).map(|at| format!("float16[2] v{at}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 20]> g (float16[2] x) => (float16[2] y) <{}> {{
            v0 = Cast <to = 1> (x)\nv1 = Add (v0, x)\n{nodes} y = Neg (v8) }}",
        declared.join(", ")
    );
    let folder = Folder::with("in.onnxtxt", text);
    let count = |command: &str| onnx(&folder, command).exits(1).told().matches("error[ONNX3016]").count();
    let (inferred, checked) = (count("infer in.onnxtxt"), count("check in.onnxtxt"));
    assert_eq!((inferred, checked), (checked, 1));
}

/// Operands whose types differ have no result: nothing is written about what follows from one of them.
#[test]
fn operands_that_differ_have_no_result() {
    let folder = Folder::with(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 21]>
         g (float[2,3] x, int64[2,3] i, double[2,3] d, bool[2,3] c) => (a, b, e, f, h, k) {
           a = Add (x, i)
           b = Concat <axis = 0> (x, i)
           e = Where (c, x, d)
           f = Max (x, d)
           h = Relu (a)
           k = Relu (x)
         }",
    );
    let run = onnx(&folder, "infer m.onnxtxt -o out.onnxtxt").exits(0);
    assert_eq!(run.err.matches("warning[ONNX3002]").count(), 4, "{}", run.err);
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(text.contains("float[2,3] k") && text.contains("=> (\n   a,"), "{text}");
    for name in ["a", "b", "e", "f", "h"] {
        assert!(!text.contains(&format!("] {name},")) && !text.contains(&format!("] {name}\n")), "{text}");
    }
    let report = onnx(&folder, "infer m.onnxtxt --format json").exits(0).json();
    assert_eq!(report["counts"]["by_code"]["ONNX3002"], 4, "{report}");
    onnx(&folder, "infer m.onnxtxt --unknown").exits(0).says("warning[ONNX3002]").says("`a`");
    for option in ["--check-types", "--strict", "--deny warnings", "--deny ONNX3002"] {
        onnx(&folder, &format!("infer m.onnxtxt {option}")).exits(1).says("error[ONNX3002]");
    }
    // What contradicts itself otherwise, too, is not written, and what is written in spite of it has no such types.
    folder.put(
        "n.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 21]>
         g (float[2,3] x, int64[2,3] i) => (a, y) { a = Add (x, i) y = MatMul (x, x) }",
    );
    onnx(&folder, "infer n.onnxtxt -o n.onnx").exits(1).says("error[ONNX3002]").says("error[ONNX3007]");
    onnx(&folder, "infer n.onnxtxt -o n-out.onnxtxt --keep-going").exits(0).says("warning[ONNX3002]");
    assert!(!String::from_utf8(folder.get("n-out.onnxtxt")).unwrap().contains("] a"));
}
