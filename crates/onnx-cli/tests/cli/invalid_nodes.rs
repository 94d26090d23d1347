//! Nodes that are not valid in the imported version: no command that depends on their meaning changes the model.

use crate::run::{Folder, onnx};

/// Models with nodes of another version than they import, each with the finding and the version for which they were written.
const MODELS: [(&str, &str, i64); 6] = [
    (
        r#"<ir_version: 8, opset_import: ["": 11]>
        g (float[N, 6] x) => (float[N, 2] a, float[N, 4] b) <int64[2] s = {2, 4}> { a, b = Split <axis = 1> (x, s) }"#,
        "`Split` takes 1 input, but the node has 2",
        13,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 10]>
        g (float[N] x) => (float[N] y) <float lo = {0}, float hi = {6}> { y = Clip (x, lo, hi) }"#,
        "`Clip` takes 1 input, but the node has 3",
        11,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 11]>
        g (float[N] x) => (float[N] y, bool[N] m) <float r = {0.25}, bool t = {1}> { y, m = Dropout (x, r, t) }"#,
        "`Dropout` takes 1 input, but the node has 3",
        12,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[N, 4] x) => (float[N, 1] y) <int64[1] a = {1}> { y = ReduceMean (x, a) }"#,
        "`ReduceMean` takes 1 input, but the node has 2",
        18,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 9]>
        g (float[N, 4] x) => (float[N, 4] y) { y = Softmax <axis = 1, alpha = 1.0> (x) }"#,
        "`Softmax` has no attribute `alpha`",
        0,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 19]>
        g (float[N] x) => (float[N] y) { y = Gelu (x) }"#,
        "version 19 of the ONNX operators has no `Gelu`",
        20,
    ),
];

#[test]
fn commands_that_depend_on_the_meaning_of_nodes_refuse() {
    for (text, finding, version) in MODELS {
        let folder = Folder::with("in.onnxtxt", text);
        folder.put(
            "newer.onnxtxt",
            r#"<ir_version: 8, opset_import: ["": 21]> h (float[M] p) => (float[M] q) { q = Relu (p) }"#,
        );
        let converted = [
            "convert in.onnxtxt --opset 21 -o out.onnx",
            "convert in.onnxtxt --opset 8 -o out.onnx",
            "convert in.onnxtxt --float16 -o out.onnx",
            "convert in.onnxtxt --bfloat16 -o out.onnx",
            "convert in.onnxtxt --dequantize -o out.onnx",
            "quantize in.onnxtxt --to int8 --weights-only -o out.onnx",
            "quantize in.onnxtxt --to int8 --dynamic -o out.onnx",
            "quantize in.onnxtxt --to int8 --seed 0 -o out.onnx",
            "merge in.onnxtxt newer.onnxtxt --prefix a/,b/ -o out.onnx",
        ];
        let edited = [
            "simplify in.onnxtxt -o out.onnx",
            "simplify in.onnxtxt --prove -o out.onnx",
            "rewrite in.onnxtxt --pass no-identities -o out.onnx",
            "inline in.onnxtxt --bodies -o out.onnx",
            "infer in.onnxtxt -o out.onnx",
            "edit in.onnxtxt --set N=3 -o out.onnx",
        ];
        for command in converted.iter().chain(&edited) {
            let run = onnx(&folder, command).exits(1).says(finding).says("onnx edit --import");
            assert!(!folder.path().join("out.onnx").exists(), "{command}: {}", run.err);
        }
        // The report has the finding, too.
        let report = onnx(&folder, "simplify in.onnxtxt --format json").exits(1);
        assert!(report.out.contains(&finding.replace('"', "\\\"")), "{}", report.out);
        // Those that continue do so.
        for command in edited {
            onnx(&folder, &format!("{command} --keep-going --force")).exits(0);
        }
        // What the nodes mean does not matter for these.
        for command in [
            "edit in.onnxtxt --producer-name me -o other.onnx --force",
            "edit in.onnxtxt --prefix p/ -o other.onnx --force",
            "convert in.onnxtxt -o other.onnx --force",
            "inline in.onnxtxt -o other.onnx --force",
        ] {
            onnx(&folder, command).exits(0);
        }
        if version > 0 {
            onnx(&folder, &format!("edit in.onnxtxt --import {version} -o right.onnx"))
                .exits(0)
                .says("changed the import of ai.onnx");
            onnx(&folder, "check right.onnx").exits(0);
            onnx(&folder, "simplify right.onnx").exits(0);
            onnx(&folder, "convert right.onnx --opset 21 -o newest.onnx").exits(0);
            // An import with which the nodes stay invalid is refused.
            onnx(&folder, &format!("edit right.onnx --import {} -o wrong.onnx", version - 1))
                .exits(1)
                .says(finding);
            assert!(!folder.path().join("wrong.onnx").exists());
            // The version is found.
            onnx(&folder, "convert in.onnxtxt -o fixed.onnx").exits(0);
            onnx(&folder, "check fixed.onnx --fix")
                .exits(0)
                .says(&format!("imported version {version} of `ai.onnx`"));
            onnx(&folder, "diff fixed.onnx right.onnx").exits(0);
        }
    }
}

/// Models with a type that the imported version of an operator does not take, each with the finding and the version that takes it.
const TYPES: [(&str, &str, i64); 5] = [
    (
        r#"<ir_version: 8, opset_import: ["": 6]> g (int32[3] x) => (int32[3] y) { y = Relu (x) }"#,
        "input 0 `X` of Relu-6 takes tensor(float), tensor(float16), tensor(double)",
        14,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 11]>
        g (bfloat16[3] x) => (bfloat16[3] y) { y = Neg (x) }"#,
        "of Neg-6 takes",
        13,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 7]>
        g (int64[3] x, int64[3] z) => (bool[3] y) { a = Identity (x)  y = Greater (a, z) }"#,
        "of Greater-7 takes",
        9,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 12]>
        g (bfloat16[2, 2] x, bool c) => (bfloat16[2, 2] y) {
          y = If (c) <then_branch = t () => (bfloat16[2, 2] p) { p = Abs (x) },
                      else_branch = e () => (bfloat16[2, 2] q) { q = Identity (x) }> }"#,
        "of Abs-6 takes",
        13,
    ),
    (
        r#"<ir_version: 8, opset_import: ["": 11]>
        g (float[3] x) => (int32[3] y) <int32[3] w = {1, 2, 3}> { b = Cast <to = 6> (x)  y = Max (w, b) }"#,
        "of Max-8 takes",
        12,
    ),
];

#[test]
fn commands_refuse_types_that_the_imported_version_lacks() {
    for (text, finding, version) in TYPES {
        let folder = Folder::with("in.onnxtxt", text);
        for command in [
            "convert in.onnxtxt --opset 21 -o out.onnx",
            "convert in.onnxtxt --float16 -o out.onnx",
            "quantize in.onnxtxt --to int8 --weights-only -o out.onnx",
            "simplify in.onnxtxt -o out.onnx",
            "rewrite in.onnxtxt --pass no-identities -o out.onnx",
            "inline in.onnxtxt --bodies -o out.onnx",
            "infer in.onnxtxt -o out.onnx",
        ] {
            let run = onnx(&folder, command).exits(1).says(finding).says("onnx edit --import");
            assert!(!folder.path().join("out.onnx").exists(), "{command}: {}", run.err);
        }
        onnx(&folder, "simplify in.onnxtxt --keep-going -o kept.onnx").exits(0);
        // What the help says repairs it.
        onnx(&folder, &format!("edit in.onnxtxt --import {version} -o right.onnx")).exits(0);
        onnx(&folder, "convert right.onnx --opset 21 -o newest.onnx").exits(0);
        onnx(&folder, "simplify newest.onnx").exits(0);
    }
}

#[test]
fn imports_of_other_operator_sets_are_set_and_checked() {
    let folder = Folder::with(
        "in.onnxtxt",
        r#"<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1, "my": 1]>
        g (float[N] x) => (float[N] y) { a = my.Frob (x) y = ai.onnx.ml.Scaler (a) }"#,
    );
    onnx(&folder, "edit in.onnxtxt --import ai.onnx.ml=3 --import my=7 -o out.onnx")
        .exits(0)
        .says("the import of ai.onnx.ml, the import of my");
    onnx(&folder, "edit in.onnxtxt --import 17").exits(0).says("nothing changes");
    onnx(&folder, "edit in.onnxtxt --import ai.onnx.ml=99").exits(2).says("no version 99");
    onnx(&folder, "edit in.onnxtxt --import x").exits(2).says("not a version");
}

#[test]
fn an_ambiguous_import_is_left_alone() {
    // `Softmax` means something else from version 13 on.
    let folder = Folder::with(
        "in.onnxtxt",
        r#"<ir_version: 8, opset_import: ["": 10]>
        g (float[N, 4] x, float low) => (float[N, 4] y) { a = Softmax (x) y = Clip (a, low) }"#,
    );
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    let before = folder.get("in.onnx");
    onnx(&folder, "check in.onnx --fix").exits(1).says("`Clip` takes 1 input");
    assert_eq!(folder.get("in.onnx"), before);
}

#[test]
fn commands_refuse_nodes_that_need_their_own_results() {
    let cycle = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[2] x) => (float[2] y) { y = Relu (a) a = Neg (y) z = Abs (x) }"#;
    let folder = Folder::with("in.onnxtxt", cycle);
    for command in [
        "simplify in.onnxtxt -o out.onnx",
        "rewrite in.onnxtxt --pass no-identities -o out.onnx",
        "convert in.onnxtxt --opset 20 -o out.onnx",
        "quantize in.onnxtxt --to int8 --dynamic -o out.onnx",
        "edit in.onnxtxt --set N=3 -o out.onnx",
    ] {
        onnx(&folder, command).exits(1).says("used before it is made").says("need their own results");
        assert!(!folder.path().join("out.onnx").exists(), "{command}");
    }
    // Nodes that are only in a wrong order do not prevent it.
    folder.put("in.onnxtxt", cycle.replace("y = Relu (a) a = Neg (y)", "y = Relu (a) a = Neg (x)"));
    onnx(&folder, "simplify in.onnxtxt -o out.onnx").exits(0);
}
