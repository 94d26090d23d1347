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
    assert!(run.out.is_empty());
    onnx(&folder, "simplify in.onnxtxt --prove --exact -o out.onnxtxt").exits(0);
    assert!(text_of(&folder, "out.onnxtxt").contains("Relu"));
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
