//! `onnx run`: values against results computed by hand, inputs that do not fit, files, limits.

use crate::run::{Folder, onnx};

/// `y = 2 * x + b`, and the sums of its rows.
const AFFINE: &str = "<ir_version: 10, opset_import: [\"\": 20]>
g (float[N, 2] x, float[N] b) => (float[N, 2] y, float[N] rows) <float two = {2}, int64[1] last = {1}> {
    t = Mul (x, two)
    u = Unsqueeze (b, last)
    y = Add (t, u)
    rows = ReduceSum <keepdims = 0> (y, last)
}";

/// A file in the format of NumPy.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A file of numbers.
pub(crate) fn floats(shape: &str, elements: &[f32]) -> Vec<u8> {
    npy("<f4", shape, &elements.iter().flat_map(|element| element.to_le_bytes()).collect::<Vec<u8>>())
}

fn folder(model: &str) -> Folder {
    let folder = Folder::with("m.onnxtxt", model);
    folder.put("x.npy", floats("2, 2", &[1.0, 2.0, 3.0, 4.0]));
    folder.put("b.npy", floats("2,", &[0.5, -1.0]));
    folder
}

#[test]
fn given_inputs_give_the_values_computed_by_hand() {
    let folder = folder(AFFINE);
    let run = onnx(&folder, "run m.onnxtxt --feed x=x.npy --feed b=b.npy --at t").exits(0);
    assert_eq!(
        run.out,
        "t  float[2,2]\n  2, 4, 6, 8\n  min 2, mean 5, max 8\n\
         y  float[2,2]\n  2.5, 4.5, 5, 7\n  min 2.5, mean 4.75, max 7\n\
         rows  float[2]\n  7, 12\n  min 7, mean 9.5, max 12\n"
    );
    assert_eq!(run.err, "");
    let report = onnx(&folder, "run m.onnxtxt --feeds . --format json").exits(0).json();
    let outputs = &report["result"]["models"][0]["outputs"];
    assert_eq!(outputs[0]["tensor"]["elements"], serde_json::json!([2.5, 4.5, 5.0, 7.0]));
    assert_eq!(outputs[1]["tensor"]["shape"], serde_json::json!([2]));
}

#[test]
fn what_is_written_can_be_given_again() {
    let folder = folder(AFFINE);
    onnx(&folder, "run m.onnxtxt --feeds . -o out --to npy").exits(0).says("wrote 2 files to out");
    let y = folder.get("out/y.npy");
    assert_eq!(y[128..], [2.5_f32, 4.5, 5.0, 7.0].map(f32::to_le_bytes).concat());
    let identity = "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[N, 2] y, float[N] rows) => (float[N, 2] p, float[N] q) { p = Identity (y) q = Neg (rows) }";
    folder.put("next.onnxtxt", identity);
    let expected = "p  float[2,2]\n  2.5, 4.5, 5, 7\n  min 2.5, mean 4.75, max 7\n\
        q  float[2]\n  -7, -12\n  min -12, mean -9.5, max -7\n";
    assert_eq!(onnx(&folder, "run next.onnxtxt --feeds out").exits(0).out, expected);
    onnx(&folder, "run m.onnxtxt --feeds . -o out.npz").exits(0);
    assert_eq!(onnx(&folder, "run next.onnxtxt --feeds out.npz").exits(0).out, expected);
    // Messages by index.
    onnx(&folder, "run m.onnxtxt --feeds . -o messages").exits(0);
    for index in ["0", "1"] {
        folder.put(&format!("given/input_{index}.pb"), folder.get(&format!("messages/output_{index}.pb")));
    }
    assert_eq!(onnx(&folder, "run next.onnxtxt --feeds given").exits(0).out, expected);
}

#[test]
fn sequences_are_written_and_read() {
    let folder = folder(
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[N, 2] x) => (seq(float[A, B]) s) { s = SequenceConstruct (x, x) }",
    );
    onnx(&folder, "run m.onnxtxt --feed x=x.npy -o out").exits(0).says("s  sequence of 2 values");
    folder.put(
        "n.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (seq(float[A, B]) s) => (int64 n) { n = SequenceLength (s) }",
    );
    assert_eq!(onnx(&folder, "run n.onnxtxt --feed s=out/output_0.pb").exits(0).out, "n  int64[]\n  2\n");
    onnx(&folder, "run m.onnxtxt --feed x=x.npy -o out2 --to npy").exits(2).says("is not a tensor");
    assert!(!folder.path().join("out2").exists());
}

#[test]
fn a_wrong_shape_is_refused_with_both_sizes() {
    let folder = folder(AFFINE);
    folder.put("long.npy", floats("3,", &[0.0; 3]));
    let run = onnx(&folder, "run m.onnxtxt --feed x=x.npy --feed b=long.npy -o out").exits(1);
    assert!(run.err.contains("dimension 0 of input `b` is N, which is 2, and 3 is given"), "{}", run.err);
    assert!(run.out.is_empty() && !folder.path().join("out").exists());
    onnx(&folder, "run m.onnxtxt --feed x=b.npy --feed b=b.npy")
        .exits(1)
        .says("input `x` has rank 2, and a shape of rank 1 is given")
        .says("an axis is missing at the front, mostly that of the batch: NumPy's `x[None]` adds it");
    folder.put("doubles.npy", npy("<f8", "2,", &[0; 16]));
    onnx(&folder, "run m.onnxtxt --feed x=x.npy --feed b=doubles.npy")
        .exits(1)
        .says("input `b`: declared as a tensor of float, given one of double");
}

/// The condition is reported before the operator fails.
#[test]
fn the_conditions_of_inference_are_checked() {
    let folder = folder(
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[N] x) => (float[A, 3] y) <int64[2] s = {2, 3}> { y = Reshape (x, s) }",
    );
    onnx(&folder, "run m.onnxtxt --set N=5").exits(1).says("ONNX3023").says("does not hold");
    let run = onnx(&folder, "run m.onnxtxt").exits(0);
    assert_eq!(run.err, "generated 1 input with seed 0: `x` float[6]\n");
}

#[test]
fn inputs_are_generated_on_request_only() {
    let folder = folder(AFFINE);
    let first = onnx(&folder, "run m.onnxtxt --set N=3").exits(0);
    assert_eq!(first.err, "generated 2 inputs with seed 0: `x` float[3,2], `b` float[3]\n");
    assert_eq!(first.out, onnx(&folder, "run m.onnxtxt --set N=3 --seed 0").exits(0).out);
    assert_ne!(first.out, onnx(&folder, "run m.onnxtxt --set N=3 --seed 1").exits(0).out);
    onnx(&folder, "run m.onnxtxt --feed x=x.npy").exits(2).says("no value is given for the input `b`");
    let some = onnx(&folder, "run m.onnxtxt --feed x=x.npy --seed 4").exits(0);
    assert_eq!(some.err, "generated 1 input with seed 4: `b` float[2]\n");
    onnx(&folder, "run m.onnxtxt --set x[0]=0").exits(0).says("y  float[0,2]");
    onnx(&folder, "run m.onnxtxt --set M=3").exits(2).says("there are `N`");
    onnx(&folder, "run m.onnxtxt --set N=3 --set x[0]=4").exits(2).says("cannot be both 3 and 4");
    onnx(&folder, "run m.onnxtxt --feed z=x.npy").exits(2).says("the inputs are `x`, `b`");
}

#[test]
fn what_is_not_finite_is_counted() {
    let folder = folder(
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[N] x) => (float[N] y) <float zero = {0}> { y = Div (x, zero) }",
    );
    folder.put("z.npy", floats("4,", &[0.0, 1.0, -1.0, f32::NAN]));
    let run = onnx(&folder, "run m.onnxtxt --feed x=z.npy").exits(0);
    assert_eq!(run.out, "y  float[4]\n  NaN, inf, -inf, NaN\n  2 NaN, 2 infinite\n");
    let report = onnx(&folder, "run m.onnxtxt --feed x=z.npy --format json").exits(0).json();
    let tensor = &report["result"]["models"][0]["outputs"][0]["tensor"];
    assert_eq!(tensor["elements"], serde_json::json!(["NaN", "inf", "-inf", "NaN"]));
    assert_eq!((&tensor["nans"], &tensor["min"]), (&2.into(), &serde_json::Value::Null));
}

#[test]
fn limits_and_the_timeout_end_a_run() {
    let folder = folder(AFFINE);
    for (arguments, limit) in [
        ("--set N=100 --limit run_elements=150", "run_elements"),
        ("--set N=100 --limit run_bytes=1500", "run_bytes"),
        ("--set N=100 --limit run_steps=10", "run_steps"),
    ] {
        let run = onnx(&folder, &format!("run m.onnxtxt {arguments} -o out")).exits(3).says(limit);
        assert!(run.out.is_empty() && !folder.path().join("out").exists());
        let report = onnx(&folder, &format!("run m.onnxtxt {arguments} --format json")).exits(3).json();
        assert_eq!(report["failures"][0]["limit"], limit, "{report}");
    }
    onnx(&folder, "run m.onnxtxt --timeout 0s").exits(3).says("timeout");
}

#[test]
fn a_model_that_fails_names_the_node() {
    let folder = folder(
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (int64[N] x) => (int64[N] y) <int64 zero = {0}> { y = Div (x, zero) }",
    );
    let report = onnx(&folder, "run m.onnxtxt --format json").exits(1).json();
    assert_eq!(report["findings"][0]["code"], "ONNX5004", "{report}");
    folder.put(
        "custom.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20, \"acme\": 1]>
        g (float[N] x) => (float[N] y) { y = acme.Op (x) }",
    );
    onnx(&folder, "run custom.onnxtxt").exits(2).says("error[ONNX5005]: ").says("no kernel computes `");
    onnx(&folder, "run missing.onnxtxt").exits(2).says("missing.onnxtxt");
    onnx(&folder, "run m.onnxtxt --at nothing").exits(2).says("no value of the model matches `nothing`");
    onnx(&folder, "run m.onnxtxt --feeds nowhere").exits(2).says("nowhere: cannot be read: No such file");
}

#[test]
fn statistics_list_nodes() {
    let folder = folder(AFFINE);
    let run = onnx(&folder, "run m.onnxtxt --set N=4 --stats").exits(0);
    assert!(run.out.contains("longest run time") && run.out.contains("ReduceSum  rows"), "{}", run.out);
    let report = onnx(&folder, "run m.onnxtxt --set N=4 --stats --format json").exits(0).json();
    let stats = &report["result"]["models"][0]["stats"];
    assert_eq!(stats["time"].as_array().unwrap().len(), 4);
    // While y is computed, t and u are kept, as `x` and `b` are dropped after their last use: 32 + 16 bytes and 128 for the
    // record of each, and the 32 of y.
    let add = stats["memory"].as_array().unwrap().iter().find(|node| node["op"] == "Add").unwrap();
    assert_eq!((&add["live_bytes"], &add["output_bytes"]), (&336.into(), &32.into()));
}

/// The index exceeds the axis of small inputs.
const LONG: &str = "<ir_version: 10, opset_import: [\"\": 20]>
g (float[batch, samples] x) => (float[A] y) <int64 five = {5}> {
    s = Identity (x)
    y = Gather <axis = 1> (s, five)
}";

#[test]
fn generated_inputs_grow_if_an_operator_fails() {
    let folder = folder(LONG);
    let run = onnx(&folder, "run m.onnxtxt").exits(0);
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines.len(), 4, "{}", run.err);
    assert!(lines[2].ends_with("--set samples=12` chooses these sizes"), "{}", run.err);
    assert!(
        lines[1].starts_with("warning: retried, because the model fails on small inputs: "),
        "{}",
        run.err
    );
    assert!(lines[1].contains("Gather"), "{}", run.err);
    let report = onnx(&folder, "run m.onnxtxt --format json").exits(0).json();
    let model = &report["result"]["models"][0];
    let size = |list: &serde_json::Value, dim: &str| {
        let found = list.as_array().unwrap().iter().find(|entry| entry["dim"] == dim).unwrap();
        found["size"].as_i64().unwrap()
    };
    let (small, large) = (&model["retried"]["sizes"], &model["sizes"]);
    assert_eq!(size(small, "samples") * 4, size(large, "samples"));
    assert_eq!(size(small, "batch"), size(large, "batch"));
    // Sizes that the user sets stay.
    onnx(&folder, "run m.onnxtxt --set samples=3")
        .exits(1)
        .says("ONNX5004")
        .says("= help: the model does not run with the sizes of `--set samples=3`: give others");
    let report = onnx(&folder, "run m.onnxtxt --set samples=20 --format json").exits(0).json();
    assert!(report["result"]["models"][0]["retried"].is_null());
    // Given inputs are not replaced, and a model that always fails fails with its small sizes.
    folder.put("short.npy", floats("1, 3", &[0.0; 3]));
    onnx(&folder, "run m.onnxtxt --feed x=short.npy").exits(1).says("ONNX5004");
    folder.put("never.onnxtxt", LONG.replace("Identity (x)", "Concat <axis = 7> (x)"));
    let run = onnx(&folder, "run never.onnxtxt").exits(1);
    assert!(!run.err.contains("--set"), "{}", run.err);
    assert!(!run.err.contains("retried"), "{}", run.err);
}

#[test]
fn maps_are_generated_or_given() {
    let model = |keys: &str, op: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 20, \"ai.onnx.ml\": 3]>
            g (map({keys}, float) x) => (float[1, C] y) {{ y = ai.onnx.ml.{op} (x) }}"
        )
    };
    let words = model("string", "DictVectorizer <string_vocabulary = [\"p\", \"q\"]>");
    let folder = folder(&words);
    onnx(&folder, "run m.onnxtxt").exits(0).says("`x` map of 2 entries").says("y  float[1,2]");
    folder.put("opaque.onnxtxt", model("string", "DictVectorizer").replace("float)", "seq(float))"));
    onnx(&folder, "run opaque.onnxtxt").exits(2).says("maps and optionals are messages in a file `.pb`");
}

/// The bar counts nodes.
#[test]
#[cfg(target_os = "linux")]
fn long_runs_show_the_nodes_that_have_run() {
    let folder = folder(
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (float x) => (float z) <int64 many = {1000000000}, bool yes = {1}> {
            y = Loop <body = b (int64 i, bool c, float a) => (bool d, float e) { d = Identity (c) e = Neg (a) }> (many, yes, x)
            z = Neg (y)
        }",
    );
    let shown = crate::run::on_terminal(&folder, "run m.onnxtxt --timeout 3s", 100);
    assert!(shown.contains("0/2 nodes"), "{shown}");
}
