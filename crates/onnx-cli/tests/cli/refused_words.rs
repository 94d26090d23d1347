//! Words that are refused, with help that applies to them.

use crate::run::{Folder, onnx, onnx_words};

const MODEL: &str =
    "<ir_version: 8, opset_import: [\"\": 17]> g (float[N, 3, 8, 8] image) => (float[N, 2, 7, 7] logits)
    <float[2, 3, 2, 2] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6}> { logits = Conv (image, w) }";

#[test]
fn sizes_that_are_not_sizes() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    for size in ["?", "1.5", "a b", "2*seq", "-"] {
        let set = format!("image[0]={size}");
        let run = onnx_words(&folder, ["edit", "m.onnxtxt", "--set", &set, "-o", "o.onnx"].into_iter());
        run.exits(2).says("is not a size").says("a size is a whole number, which fixes it, or a name");
    }
    for size in ["None", "null"] {
        let run = onnx(&folder, &format!("edit m.onnxtxt --set image[0]={size} -o o.onnx")).exits(2);
        run.says(&format!("would name a size `{size}`")).says("such as `batch`");
    }
    for command in ["edit", "simplify"] {
        onnx(&folder, &format!("{command} m.onnxtxt --set image[0]=1.5 -o o.onnx")).exits(2);
        onnx(&folder, &format!("{command} m.onnxtxt --set batch=1 -o o.onnx")).exits(2).lacks("x[0]");
    }
}

#[test]
fn dimensions_that_no_input_has() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    for command in ["edit m.onnxtxt -o o.onnx", "cost m.onnxtxt", "infer m.onnxtxt", "run m.onnxtxt"] {
        onnx(&folder, &format!("{command} --set batch=1")).exits(2).says("an axis is written `image[0]`");
    }
    for command in ["edit m.onnxtxt -o o.onnx", "cost m.onnxtxt", "infer m.onnxtxt"] {
        let run = onnx(&folder, &format!("{command} --set logits[0]=4")).exits(2);
        run.says("`logits` is an output, and its sizes follow").says("such as `image[0]`");
    }
}

#[test]
fn numbers_out_of_range_name_the_range() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    onnx(&folder, "compare m.onnxtxt m.onnxtxt --runs 0")
        .exits(2)
        .says("it is a whole number from 1 to 100000")
        .lacks("..=");
}

#[test]
fn versions_with_the_type_are_named() {
    let folder = Folder::with(
        "m.onnxtxt",
        MODEL.replace("logits = Conv (image, w)", "c = Conv (image, w) logits = Softplus (c)"),
    );
    let text =
        MODEL.replace("logits = Conv (image, w)", "c = Relu (image) d = Conv (c, w) logits = Tanh (d)");
    folder.put("m.onnxtxt", text);
    onnx(&folder, "convert m.onnxtxt --bfloat16 --keep-io -o o.onnx")
        .exits(0)
        .says("Conv: its version does not take the type there, version 22 does");
}

#[test]
fn sizes_of_values_are_listed() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    let run = onnx(&folder, "find m.onnxtxt weights()").exits(0);
    assert!(run.out.contains("float[2, 3, 2, 2]  96 B"), "{}", run.out);
    let run = onnx(&folder, "find m.onnxtxt inputs()").exits(0);
    assert!(run.out.trim_end().ends_with(']'), "{}", run.out);
    let report = onnx(&folder, "find m.onnxtxt weights() --format json").exits(0).json();
    assert_eq!(report["result"]["models"][0]["elements"][0]["bytes"], 96, "{report}");
}

#[cfg(unix)]
#[test]
fn an_interpreter_without_a_message_is_named() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    onnx(&folder, "compare m.onnxtxt --with onnxruntime --python /bin/false")
        .exits(2)
        .says("the interpreter `/bin/false` ended without a message")
        .says("`--python PATH` names a Python")
        .lacks("give other sizes");
}

#[test]
fn operators_of_other_domains_are_suggested_with_their_domain() {
    let text = "<ir_version: 8, opset_import: [\"\": 17, \"com.microsoft\": 1, \"ai.onnx.ml\": 3]>
        g (float[2, 2] x) => (float[2, 2] y) {
            s = com.microsoft.FusedMatMul <alpha = 2.0> (x, x)
            y = ai.onnx.ml.SVMRegressor (s)
        }";
    let folder = Folder::with("m.onnxtxt", text);
    let meant = "did you mean `com.microsoft.FusedMatMul()`?";
    for words in ["FusedMatMul()", "FusedMatMull()", "com.microsoft::FusedMatMul()"] {
        onnx(&folder, &format!("find m.onnxtxt {words}")).exits(1).says(meant);
        for command in ["rewrite m.onnxtxt --pass no-identities --except", "print m.onnxtxt --at"] {
            onnx(&folder, &format!("{command} {words}")).says(meant);
        }
    }
    onnx(&folder, "find m.onnxtxt SVM()").exits(1).says("did you mean `ai.onnx.ml.SVMRegressor()`?");
    onnx(&folder, "find m.onnxtxt com.microsoft.FusedMatMul()").exits(0);
    onnx(&folder, "ops show com.microsoft::FusedMatMul").exits(0).says("com.microsoft, version 1");
    onnx(&folder, "ops show ai.onnx.ml::SVMRegressor").exits(0);
}
