//! `onnx simplify`, and files of rewrite rules.

use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N,3] x) => (float[3,N] y) {
   s = Shape (x)
   r = Reshape (x, s)
   a = Transpose (r)
   b = Transpose (a)
   c = Transpose (b)
   y = Relu (c)
}"#;

const RULES: &str = "# Twice.
rule relu-relu: exact
from (x) => (y) {
    y = Relu (Relu (x))
}
to (x) => (y) {
    y = Relu (x)
}
";

fn text_of(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.get(name)).unwrap()
}

#[test]
fn simplification_states_what_changes() {
    let folder = Folder::new();
    folder.put("in.onnxtxt", MODEL);
    let run =
        onnx(&folder, "simplify in.onnxtxt").exits(0).says("6 -> 2 nodes").says("3 ->       1  Transpose");
    assert!(run.err.is_empty(), "{}", run.err);
    onnx(&folder, "simplify in.onnxtxt --prove --exact -o out.onnxtxt").exits(0);
    assert!(text_of(&folder, "out.onnxtxt").contains("Relu"));
}

/// The passes of the command that edit the model as a whole are not the user's choice.
#[test]
fn a_selection_excludes_passes_without_a_warning() {
    let model = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 2}> {
   n = Neg (x)
   m = Neg (n)
   p = Mul (m, a)
   y = Add (p, b)
}"#;
    let folder = Folder::with("in.onnxtxt", model);
    let run = onnx(&folder, "simplify in.onnxtxt --only n,m").exits(0).says("4 -> 2 nodes");
    assert!(!run.err.contains("warning"), "{}", run.err);
    onnx(&folder, "simplify in.onnxtxt --only n,m -v")
        .exits(0)
        .says("the edit `unique-constants` was refused");
    onnx(&folder, "rewrite in.onnxtxt --pass unique-constants --only m").exits(0).says("was refused");
}

#[test]
fn rule_files_are_applied_checked_and_formatted() {
    let folder = Folder::new();
    let model = MODEL.replace("c = Transpose (b)", "c = Relu (a)");
    folder.put("in.onnxtxt", &model);
    folder.put("mine.onnxrules", RULES);
    onnx(&folder, "rewrite in.onnxtxt --rules mine.onnxrules").exits(0).says("6 -> 5 nodes");
    onnx(&folder, "check mine.onnxrules --prove").exits(0);
    onnx(&folder, "fmt --check mine.onnxrules").exits(0);
    // The position in a rule file is not one of a model.
    folder.put("mistake.onnxrules", "rule a: exact\nfrom (x) => (y) { y = Nge (x) }\nto (x) => (x) {}");
    onnx(&folder, "check mistake.onnxrules").exits(1).says("--> mistake.onnxrules:2:23\n");
    let dropped = "rule a: exact, since 17
        from (x, s) => (y) { y = Neg (Neg (LayerNormalization <stash_type = @t> (x, s))) }
        to (x, s) => (y) { y = LayerNormalization (x, s) }";
    folder.put("dropped.onnxrules", dropped);
    onnx(&folder, "check dropped.onnxrules").exits(0);
    onnx(&folder, "check dropped.onnxrules --prove")
        .exits(1)
        .says("rule `a` drops what was not tested")
        .says("the attribute `stash_type` of `LayerNormalization` changed no result of a generated model");
    folder.put("wrong.onnxrules", "rule a: exact from (x) => (y) { y = Add (x, 0) } to (x) => (x) {}");
    onnx(&folder, "check wrong.onnxrules").exits(0);
    onnx(&folder, "check wrong.onnxrules --prove").exits(1).says("rule `a` is refuted by a generated model");
    folder.put("broken.onnxrules", "rule a: exact\nfrom (x) => (y) { y = Adds (x, 0) }\nto (x) => (x) {}");
    onnx(&folder, "check broken.onnxrules").exits(1).says("broken.onnxrules:2:23").says("ONNX6002");
    onnx(&folder, "rewrite in.onnxtxt --rules broken.onnxrules")
        .exits(1)
        .says("the operator `Adds` does not exist");
    onnx(&folder, "fmt wrong.onnxrules").exits(0);
    assert!(
        text_of(&folder, "wrong.onnxrules")
            .starts_with("rule a: exact\nfrom (x) => (y) {\n    y = Add (x, 0)\n}\n")
    );
}

const NORMALIZED: &str = r#"<ir_version: 10, opset_import: ["": 17]>
g (float[N,4] x) => (float[N,4] y)
   <float e = {0.00001}, float[4] s = {1, 2, 3, 4}, float[4] c = {0.5, 0, 0, 1}> {
   m = ReduceMean <axes = [-1]> (x)
   d = Sub (x, m)
   q = Mul (d, d)
   v = ReduceMean <axes = [-1]> (q)
   w = Add (v, e)
   r = Sqrt (w)
   n = Div (d, r)
   p = Mul (n, s)
   y = Add (p, c)
}"#;

#[test]
fn fusions_are_a_phase_of_their_own() {
    let folder = Folder::new();
    folder.put("in.onnxtxt", NORMALIZED);
    onnx(&folder, "simplify in.onnxtxt").exits(0).says("9 -> 9 nodes");
    onnx(&folder, "simplify in.onnxtxt --fuse --prove -o out.onnxtxt")
        .exits(0)
        .says("9 -> 1 nodes")
        .says("fusions/layer-normalization-scale");
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("y = LayerNormalization <epsilon = 1e-5> (x, s, c)"), "{text}");
    onnx(&folder, "compare in.onnxtxt out.onnxtxt").exits(0);
    // The edits are not exact.
    onnx(&folder, "simplify in.onnxtxt --fuse --exact").exits(0).says("9 -> 9 nodes");
    folder.put("old.onnxtxt", NORMALIZED.replace("17]", "16]"));
    onnx(&folder, "simplify old.onnxtxt --fuse").exits(0).says("9 -> 9 nodes");
}

#[test]
fn what_is_excepted_stays() {
    let folder = Folder::new();
    folder.put("in.onnxtxt", MODEL);
    onnx(&folder, "simplify in.onnxtxt --except Transpose()").exits(0).says("6 -> 4 nodes");
    onnx(&folder, "simplify in.onnxtxt --except Reshape() -o out.onnxtxt").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("Reshape (x, s)") && text.matches("Transpose").count() == 1, "{text}");
    onnx(&folder, "simplify in.onnxtxt --except Softmax()").exits(2).says("no node of the model matches");
}

#[test]
fn a_node_that_stays_has_reasons() {
    let folder = Folder::new();
    folder.put("in.onnxtxt", MODEL);
    onnx(&folder, "simplify in.onnxtxt --why Relu()")
        .exits(0)
        .says("relu-relu")
        .says("1 node matched, then: the operator is `Transpose`, not `Relu`");
    let json = onnx(&folder, "simplify in.onnxtxt --why Relu() --format json").exits(0).json();
    let why = &json["result"]["models"][0]["why"][0];
    assert_eq!((&why["op"], &why["gone"]), (&"Relu".into(), &false.into()));
    let rules = why["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["rule"] == "relu-relu" && rule["matched"] == 1), "{why}");
    onnx(&folder, "simplify in.onnxtxt --why Reshape()").exits(0).says("Reshape r: is gone");
}

const SIZED: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N,S,3] x) => (float[M,K] y) {
   s = Shape <end = 1> (x)
   k = Constant <value_ints = [-1]> ()
   t = Concat <axis = 0> (s, k)
   y = Reshape (x, t)
}"#;

#[test]
fn sizes_are_set_first() {
    let folder = Folder::new();
    folder.put("in.onnxtxt", SIZED);
    onnx(&folder, "simplify in.onnxtxt --set N=4 --prove -o out.onnxtxt").exits(0).says("changed N = 4");
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("(float[4,S,3] x)"), "{text}");
    // The same as by `onnx edit`, then `onnx simplify`.
    onnx(&folder, "edit in.onnxtxt --set N=4 -o four.onnxtxt").exits(0);
    onnx(&folder, "simplify four.onnxtxt -o other.onnxtxt").exits(0);
    assert_eq!(text, text_of(&folder, "other.onnxtxt"));
    let json = onnx(&folder, "simplify in.onnxtxt --set N=4,S=2 --format json").exits(0).json();
    assert_eq!(json["result"]["models"][0]["sizes"]["bound"][1]["size"], 2);
    onnx(&folder, "simplify in.onnxtxt --set Q=4").exits(2).says("there are `N`, `S`");
    let fixed = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[1,3] x) => (float[3] y) <int64[1] a = {0}> { y = Squeeze (x, a) }"#;
    folder.put("fixed.onnxtxt", fixed);
    onnx(&folder, "simplify fixed.onnxtxt --set x[0]=2 -o none.onnxtxt").exits(1).says("ONNX4031");
    onnx(&folder, "simplify fixed.onnxtxt --set x[0]=2 --format json").exits(1);
    assert!(!folder.path().join("none.onnxtxt").exists());
}

#[test]
fn models_that_cannot_be_compared_as_a_whole_are_named() {
    let doubled: String =
        (0..60).map(|at| format!("s{} = Concat <axis = 0> (s{at}, s{at}) ", at + 1)).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[1] x) => (float[N] y) {{ s0 = Identity (x) {doubled} y = Neg (s60) }}"
    );
    let folder = Folder::with("in.onnxtxt", text);
    for command in ["simplify", "rewrite --pass no-identities"] {
        onnx(&folder, &format!("{command} in.onnxtxt --prove --limit proof_bytes=1M -o out.onnx --force"))
            .exits(0)
            .says("were not compared as a whole: ")
            .says("the limit `proof_bytes`");
    }
}

/// A runtime that lacks the operator would execute its body: more nodes than before.
#[test]
fn nothing_is_fused_into_an_operator_that_the_target_lacks() {
    let model = r#"<ir_version: 11, opset_import: ["": 24]>
g (float[N] x) => (float[N] y) { s = Sigmoid (x) y = Mul (x, s) }"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "simplify in.onnxtxt --fuse --target none").exits(0).says("1 node").says("Swish");
    let run = onnx(&folder, "simplify in.onnxtxt --fuse").exits(0);
    assert!(!run.err.contains("Swish"), "{}", run.err);
}

#[test]
fn weights_without_elements_are_named() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 4] x) => (float[N, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {
   h = Identity (x)
   y = MatMul (h, w)
}"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "convert in.onnxtxt --weights external=w.data --threshold 0 -o m.onnx").exits(0);
    for command in ["simplify", "rewrite --pass no-identities"] {
        let run = onnx(&folder, &format!("{command} m.onnx -o out.onnx --force")).exits(0);
        assert!(!run.err.contains("w.data"), "{}", run.err);
    }
    std::fs::write(folder.path().join("w.data"), [0; 8]).unwrap();
    onnx(&folder, "simplify m.onnx -o out.onnx")
        .exits(0)
        .says("`w.data` cannot be read to the end, which has the elements of 1 weight");
    std::fs::remove_file(folder.path().join("w.data")).unwrap();
    for command in ["simplify", "rewrite --pass no-identities"] {
        onnx(&folder, &format!("{command} m.onnx -o out.onnx")).exits(0).says(
            "`w.data` is missing, which has the elements of 1 weight: edits that need them are not made",
        );
    }
}

/// A model whose nodes fail is changed in spite of that, and not without a word.
#[test]
fn type_errors_of_a_model_are_named() {
    let folder = Folder::new();
    let text = "<ir_version: 8, opset_import: [\"\": 17]> g (float16[N] x, float[N] z) => (float16[N] y) {
        s = Identity (x) t = Add (s, z) u = Add (t, z) y = Relu (s) }";
    folder.put("in.onnxtxt", text);
    folder.put("models/empty", "");
    onnx(&folder, "convert in.onnxtxt -o models/a.onnx").exits(0);
    for command in [
        "simplify models/a.onnx -o o.onnx",
        "rewrite models/a.onnx --pass no-identities -o o.onnx",
        "convert models/a.onnx --opset 18 -o o.onnx",
    ] {
        let run = onnx(&folder, command).exits(0);
        run.says("inference finds errors in the types of the model").says("`onnx check models/a.onnx` lists");
    }
    let check = onnx(&folder, "check models/a.onnx").exits(1);
    check.says("1 error");
    // Warnings are errors by request, of several models, too.
    for command in [
        "simplify models/a.onnx -o denied.onnx",
        "-q simplify models/a.onnx -o denied.onnx",
        "rewrite models/a.onnx --pass no-identities -o denied.onnx",
        "convert models/a.onnx --opset 18 -o denied.onnx",
        "simplify models -o denied/",
    ] {
        let run = onnx(&folder, &format!("{command} --deny warnings")).exits(1);
        run.says("error: inference finds errors in the types of the model").says("nothing is written");
    }
    for file in ["denied.onnx", "denied/a.onnx"] {
        assert!(!folder.path().join(file).exists(), "{file}");
    }
    let table = onnx(&folder, "simplify models --deny warnings").exits(1);
    assert!(table.out.contains("errors in its types: `onnx check` lists them"), "{}", table.out);
    let report = onnx(&folder, "simplify models/a.onnx --deny warnings --format json").exits(1).json();
    assert_eq!((&report["status"], &report["exit"]), (&"findings".into(), &1.into()), "{report}");
    let table = onnx(&folder, "simplify models").exits(0);
    assert!(table.out.contains("errors in its types: `onnx check` lists them"), "{}", table.out);
    let report = onnx(&folder, "simplify models/a.onnx --format json").exits(0).json();
    assert_eq!(report["result"]["models"][0]["has_type_errors"], true, "{report}");
    folder.put("in.onnxtxt", text.replace("float[N] z", "float16[N] z"));
    onnx(&folder, "simplify in.onnxtxt -o o.onnx").exits(0).lacks("inference finds");
}
