//! `onnx run`: what a run shows about the model, recorded values, and inputs that conditions determine.

use serde_json::json;

use crate::run::{Folder, onnx};

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 20]>";

fn folder(graph: &str) -> Folder {
    Folder::with("m.onnxtxt", format!("{HEAD} g {graph}"))
}

#[test]
fn wrong_declarations_are_warnings_with_a_locus() {
    let folder = folder(
        "(float[N, 2] x) => (float[N, 2] y, double[N, 2] z) <float[N, 3] t> {
            t = Neg (x)
            y = Concat <axis = 0> (t, t)
            z = Identity (x)
        }",
    );
    let run = onnx(&folder, "run m.onnxtxt --set N=4").exits(0);
    for text in [
        "warning[ONNX5013]: value `t`: axis 1 is declared with size 3, computed with 2",
        "output `y`: axis 0 is declared as `N`, which is 4, computed with 8",
        "output `z`: declared as a tensor of double, computed one of float",
        "m.onnxtxt: graph \"g\" / output 0 \"y\"",
    ] {
        assert!(run.err.contains(text), "{text}\n{}", run.err);
    }
    assert!(run.out.contains("y  float[8,2]"), "{}", run.out);
    let report = onnx(&folder, "run m.onnxtxt --format json").exits(0).json();
    let places: Vec<_> = report["findings"].as_array().unwrap().iter().map(|found| &found["place"]).collect();
    let selectors: Vec<_> = places.iter().map(|place| place["selector"].as_str().unwrap()).collect();
    assert_eq!(selectors, ["node(0)", "y", "z"], "{report}");
    onnx(&folder, "run m.onnxtxt --deny warnings").exits(1).says("error[ONNX5013]");
    let run = onnx(&folder, "run m.onnxtxt --allow computed-value-differs").exits(0);
    assert!(!run.err.contains("ONNX5013"), "{}", run.err);
    // A correct model has none.
    folder.put("good.onnxtxt", format!("{HEAD} g (float[N] x) => (float[N] y) {{ y = Neg (x) }}"));
    assert!(!onnx(&folder, "run good.onnxtxt").exits(0).err.contains("warning"));
}

#[test]
fn the_first_node_with_nan_is_named() {
    let folder = folder(
        "(float[3] x) => (float[3] y, float[3] mask) <float[1] low = {-2}, float[1] hole = {-inf}> {
            masked = Add (x, hole)
            shifted = Add (x, low)
            [culprit] root = Sqrt (shifted)
            later = Exp (root)
            y = Neg (later)
            mask = Identity (masked)
        }",
    );
    let run = onnx(&folder, "run m.onnxtxt").exits(0);
    assert!(
        run.err.contains("warning[ONNX5014]: the node computes the first NaN: its operands have none"),
        "{}",
        run.err
    );
    assert!(run.err.contains("\"culprit\""), "{}", run.err);
    // Infinities of weights are not computed.
    folder.put(
        "mask.onnxtxt",
        format!("{HEAD} g (float[3] x) => (float[3] y) <float[1] hole = {{-inf}}> {{ y = Add (x, hole) }}"),
    );
    assert!(!onnx(&folder, "run mask.onnxtxt").exits(0).err.contains("ONNX5014"));
    folder.put(
        "large.onnxtxt",
        format!(
            "{HEAD} g (float[3] x) => (float[3] y) <float[1] big = {{1e38}}> {{
            z = Abs (x)
            o = Exp (big)
            y = Add (z, o)
        }}"
        ),
    );
    onnx(&folder, "run large.onnxtxt").exits(0).says("the first infinity").says("Exp");
}

#[test]
fn the_node_that_overflows_before_the_first_nan_is_named() {
    let folder = folder(
        "(float[3] x) => (float[3] y) <float k = {300}> {
            h = Cast <to = 10> (x)
            k16 = Cast <to = 10> (k)
            s = Add (h, k16)
            [overflow] m = Mul (s, s)
            [culprit] p = Softmax (m)
            y = Cast <to = 1> (p)
        }",
    );
    let run = onnx(&folder, "run m.onnxtxt").exits(0);
    for text in [
        "warning[ONNX5014]: the node computes the first NaN: its operands have infinities and no NaN\n",
        "Softmax \"culprit\"",
        "::: the infinities are computed here, from finite operands: ",
        "Mul \"overflow\"",
    ] {
        assert!(run.err.contains(text), "{text}\n{}", run.err);
    }
    let report = onnx(&folder, "run m.onnxtxt --format json").exits(0).json();
    let related = report["findings"][0]["related"].as_array().unwrap();
    assert_eq!(related.len(), 1, "{report}");
    assert!(related[0].to_string().contains("overflow"), "{report}");
}

const AFFINE: &str =
    "(float[N, 2] x, float[N] b) => (float[N, 2] y, float[N] rows) <float two = {2}, int64[1] last = {1}> {
    t = Mul (x, two)
    u = Unsqueeze (b, last)
    y = Add (t, u)
    rows = ReduceSum <keepdims = 0> (y, last)
}";

#[test]
fn a_recorded_run_is_repeated() {
    let folder = folder(AFFINE);
    let first = onnx(&folder, "run m.onnxtxt --set N=3 --seed 7 --save-inputs case -o case").exits(0);
    assert!(first.err.contains("wrote 2 files to case"), "{}", first.err);
    let again = onnx(&folder, "run m.onnxtxt --feeds case --expect case").exits(0);
    assert_eq!(again.out, first.out);
    assert_eq!(again.err, "2 outputs compared with case: equal\n");
    let report = onnx(&folder, "run m.onnxtxt --feeds case --expect case --format json").exits(0).json();
    let expected = &report["result"]["models"][0]["expected"];
    assert_eq!((&expected[0]["name"], &expected[1]["agrees"]), (&json!("y"), &json!(true)));
    // The report lists what was written.
    let report = onnx(&folder, "run m.onnxtxt --save-inputs other --format json").exits(0).json();
    let names: Vec<_> = report["outputs"].as_array().unwrap().iter().map(|file| &file["name"]).collect();
    assert_eq!(names, ["other/input_0.pb", "other/input_1.pb"]);
}

#[test]
fn a_difference_from_recorded_outputs_is_a_finding() {
    let folder = folder(AFFINE);
    onnx(&folder, "run m.onnxtxt --set N=3 --save-inputs case -o case").exits(0);
    folder.put("n.onnxtxt", format!("{HEAD} g {}", AFFINE.replace("{2}", "{2.001}")));
    let run = onnx(&folder, "run n.onnxtxt --feeds case --expect case").exits(1);
    assert!(
        run.err.contains(
            "error[ONNX5015]: output `y` is not as expected: 5 of 6 elements differ: at most 0.000992"
        ),
        "{}",
        run.err
    );
    assert!(run.err.contains("2 outputs compared with case: 2 not as expected"), "{}", run.err);
    assert!(run.out.contains("y  float[3,2]"), "{}", run.out);
    onnx(&folder, "run n.onnxtxt --feeds case --expect case --rtol 0.1 --atol 0.1")
        .exits(0)
        .says("equal within the tolerance");
    let report = onnx(&folder, "run n.onnxtxt --feeds case --expect case --format json").exits(1).json();
    assert_eq!(report["findings"][0]["place"]["selector"], "y", "{report}");
    assert_eq!(report["result"]["models"][0]["expected"][0]["exceeding"], 5);
    // Another shape.
    let run = onnx(&folder, "run m.onnxtxt --set N=2 --expect case").exits(1);
    assert!(run.err.contains("it is float[2,2], and float[3,2] is expected"), "{}", run.err);
    onnx(&folder, "run m.onnxtxt --feeds case --rtol 1").exits(2).says("`--expect DIR`");
    onnx(&folder, "run m.onnxtxt --feeds case --expect m.onnxtxt")
        .exits(2)
        .says("not a directory or an archive");
}

#[test]
fn files_that_would_be_read_instead_are_refused() {
    let folder = folder(AFFINE);
    folder.put("case/x.npy", "");
    onnx(&folder, "run m.onnxtxt --save-inputs case").exits(2).says("`--feeds` would read it instead");
    folder.put("outputs/output_2.pb", "");
    onnx(&folder, "run m.onnxtxt --expect outputs").exits(2).says("the model has 2 outputs");
    // One of the outputs is recorded.
    onnx(&folder, "run m.onnxtxt --set N=3 -o part").exits(0);
    std::fs::remove_file(folder.path().join("part/output_0.pb")).unwrap();
    onnx(&folder, "run m.onnxtxt --set N=3 --expect part")
        .exits(0)
        .says("no value is recorded for the output `y`")
        .says("1 output compared with part: equal");
}

#[test]
fn conditions_on_products_are_factored() {
    let folder = folder("(float[N, M, K] x) => (float[A] y) <int64[1] s = {1001}> { y = Reshape (x, s) }");
    let run = onnx(&folder, "run m.onnxtxt").exits(0);
    assert!(run.err.starts_with("generated 1 input with seed 0: `x` float["), "{}", run.err);
    assert!(run.out.starts_with("y  float[1001]"), "{}", run.out);
    onnx(&folder, "run m.onnxtxt --set M=13").exits(0).says("y  float[1001]");
    onnx(&folder, "run m.onnxtxt --set M=12 --set K=11")
        .exits(1)
        .says("the sizes that `--set` gives contradict the conditions of the model")
        .says("--set M=");
}

#[test]
fn messages_about_missing_kernels_name_domain_and_version() {
    let folder = Folder::with(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20, \"com.acme\": 3]>
        g (float[N] x) => (float[N] y) { y = com.acme.FastFoo (x) }",
    );
    let run = onnx(&folder, "run m.onnxtxt").exits(2);
    for text in [
        "error[ONNX5005]: m.onnxtxt: ",
        "no kernel computes `com.acme.FastFoo` (version 3 of the operator set)",
        "= help: make the operator a function of the model, or give its body in a document (`--ops`)",
    ] {
        assert!(run.err.contains(text), "{text}\n{}", run.err);
    }
}

#[test]
fn reports_of_failures_list_the_inputs() {
    let folder = folder(AFFINE);
    for (arguments, names, input) in [
        ("run m.onnxtxt --set nonsense", vec!["m.onnxtxt"], json!(null)),
        ("run missing.onnx", vec!["missing.onnx"], json!(0)),
        ("compare m.onnxtxt missing.onnx", vec!["m.onnxtxt", "missing.onnx"], json!(1)),
        ("infer missing.onnx", vec!["missing.onnx"], json!(0)),
        ("check missing.onnx m.onnxtxt", vec!["missing.onnx", "m.onnxtxt"], json!(0)),
    ] {
        let report = onnx(&folder, &format!("{arguments} --format json")).exits(2).json();
        let inputs: Vec<_> =
            report["inputs"].as_array().unwrap().iter().map(|input| &input["name"]).collect();
        assert_eq!(inputs, names, "{report}");
        let failure = &report["failures"][0];
        assert_eq!(failure["input"], input, "{report}");
        assert!(failure["help"].is_string(), "{report}");
    }
}

/// What a run reads is not replaced by what it computes.
#[test]
fn recorded_values_that_are_read_are_not_replaced() {
    let model = "<ir_version: 10, opset_import: [\"\": 20]> g (float[2] x) => (float[2] y) { y = Neg (x) }";
    let folder = Folder::with("m.onnxtxt", model);
    onnx(&folder, "run m.onnxtxt --save-inputs case -o case").exits(0);
    let before = [folder.get("case/input_0.pb"), folder.get("case/output_0.pb")];
    for command in [
        "run m.onnxtxt --feeds case --save-inputs case",
        "run m.onnxtxt --feed x=case/input_0.pb -o case/input_0.pb",
        "run m.onnxtxt --feeds case --expect case -o case",
        "run m.onnxtxt --feeds case --expect case -o case --force",
    ] {
        onnx(&folder, command).exits(2).says("it is a file that the command reads");
    }
    assert_eq!([folder.get("case/input_0.pb"), folder.get("case/output_0.pb")], before);
    onnx(&folder, "run m.onnxtxt --feeds case -o case").exits(0);
}

/// A pipe in a directory of values would be waited for without end.
#[cfg(unix)]
#[test]
fn pipes_in_directories_of_values_are_refused() {
    let model = "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[2] x) => (float[2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }";
    let folder = Folder::with("m.onnxtxt", model);
    std::fs::create_dir(folder.path().join("case")).unwrap();
    let pipe = folder.path().join("case/input_0.pb");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in [
        "run m.onnxtxt --feeds case",
        "compare m.onnxtxt m.onnxtxt --feeds case",
        "quantize m.onnxtxt --to int8 --calibrate case",
    ] {
        onnx(&folder, command).exits(2).says("is not a file");
    }
}
