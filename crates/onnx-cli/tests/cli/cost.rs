//! `onnx cost`.

use crate::models;
use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]>
g (float[N, 4] x) => (float[N, 5] y) <float[4, 5] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}> {
   h = MatMul (x, w)
   y = Relu (h)
}"#;

#[test]
fn amounts_are_expressions_of_free_sizes() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    let run = onnx(&folder, "cost in.onnxtxt").exits(0);
    for text in ["45*N", "20*N", "56*N", "MatMul", "88.9 %"] {
        assert!(run.out.contains(text), "{text}\n{}", run.out);
    }
    let report = onnx(&folder, "cost in.onnxtxt --set N=3 --format json").exits(0).json();
    let model = &report["result"]["models"][0];
    assert_eq!(
        (&model["macs"], &model["operations"], &model["parameters"]),
        (&60.into(), &135.into(), &20.into())
    );
    // The input and both values: 3 rows of 14 numbers.
    assert_eq!(model["peak_bytes"], 168);
    assert_eq!(model["sizes"]["N"], 3);
    let axis = onnx(&folder, "cost in.onnxtxt --set x[0]=3 --format json").exits(0).json();
    assert_eq!(axis["result"]["models"][0]["operations"], 135);
    onnx(&folder, "cost in.onnxtxt --set M=3").exits(2).says("no input has the dimension variable `M`");
    onnx(&folder, "cost in.onnxtxt --set x[1]=3").exits(2).says("has another size");
}

#[test]
fn what_is_not_known_is_reported() {
    let folder = Folder::with("in.onnxtxt", MODEL.replace("y = Relu (h)", "k = my.Magic (h) y = Relu (k)"));
    onnx(&folder, "cost in.onnxtxt")
        .exits(0)
        .says("operations of 1 node; sizes of 1 value")
        .says("my.Magic")
        .says("the operator is not defined by ONNX");
}

#[test]
fn sizes_with_which_the_model_does_not_run_are_reported() {
    let text = MODEL.replace("float[N, 4] x", "float[N, 4] x, float[8, 5] table").replace(
        "y = Relu (h)",
        "size = Shape <start = 0, end = 1> (x)  start = Constant <value = int64[1] {0}> ()
         rows = Slice (table, start, size)  y = Add (h, rows)",
    );
    let folder = Folder::with("in.onnxtxt", text);
    let fits = onnx(&folder, "cost in.onnxtxt --set N=8").exits(0).out;
    assert!(!fits.contains("not valid"), "{fits}");
    let fails = onnx(&folder, "cost in.onnxtxt --set N=9").exits(0).says("sizes 9 and 8 do not broadcast");
    assert_eq!(fails.out.lines().count(), 2, "{}", fails.out);
    let report = onnx(&folder, "cost in.onnxtxt --set N=9 --format json").exits(0).json();
    assert!(report["result"]["models"][0]["contradiction"].as_str().unwrap().contains("Add"));
}

#[test]
fn several_models_are_measured() {
    let folder = Folder::with("a.onnx", models::small());
    folder.put("b.onnx", models::rich());
    folder.put("c.onnx", "not a model");
    let run = onnx(&folder, "cost a.onnx b.onnx --format json").exits(0).json();
    assert_eq!(run["result"]["models"].as_array().map(Vec::len), Some(2));
    // An addition and a maximum for each of 500 elements.
    assert_eq!(run["result"]["models"][0]["operations"], "1000*batch");
    onnx(&folder, "cost a.onnx c.onnx").exits(2).says("a.onnx");
}

/// External weights are not opened.
#[test]
fn weights_that_are_missing_do_not_matter() {
    let folder = Folder::with("m.onnx", models::external("missing.data"));
    let report = onnx(&folder, "cost m.onnx --format json").exits(0).json();
    assert_eq!(report["result"]["models"][0]["weight_bytes"], 2000);
}
