//! Number formats: the inputs of runs, models that are not valid, and what is said if nothing is done.

use crate::number_formats::{NETWORK, WEIGHTS, text_of};
use crate::run::{Folder, onnx};

/// A network with free sizes.
const FREE: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,1,h,w] x) => (float[N,2,a,b] y) <float[2,1,3,3] k = {0.5, -0.25, 1.5, 0.75, -1, 0.3, 0.2, 0.1, -0.6, 0.4, 0.8, -0.9, 0.35, 0.15, -0.45, 0.7, 0.05, -0.2}> {
   c = Conv <pads = [1, 1, 1, 1]> (x, k)
   y = Relu (c)
}"#;

#[test]
fn sizes_of_generated_inputs_are_stated_and_set() {
    let folder = Folder::with("in.onnxtxt", FREE);
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --measure")
        .exits(0)
        .says("the ranges are those of generated inputs (`x` [")
        .says("`--calibrate DIR` takes inputs of yours")
        .says("--set 'N=SIZE'");
    let run = onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --set N=2,h=24,w=32 --measure").exits(0);
    let told = run.told();
    assert!(told.contains("measured on generated inputs (`x` [2,1,24,32])"), "{told}");
    assert!(!told.contains("the ranges are those"), "{told}");
    let json = onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --set N=2,h=24,w=32 --format json")
        .exits(0)
        .out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let text = json.to_string();
    assert!(text.contains(r#""least":[2,1,24,32]"#) && text.contains(r#""greatest":[2,1,24,32]"#), "{text}");
    onnx(&folder, "convert in.onnxtxt --float16 --set N=1,h=5,w=6")
        .exits(0)
        .says("measured on generated inputs (`x` [1,1,5,6])");
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --measure --set N=1,h=5,w=6")
        .exits(0)
        .says("(`x` [1,1,5,6])");
    for (arguments, answer) in [
        (
            "quantize in.onnxtxt --to uint8 --seed 0 --set height=5",
            "no input has the dimension variable `height`",
        ),
        ("convert in.onnxtxt --float16 --set x[9]=5", "does not exist"),
        ("convert in.onnxtxt --dequantize --set h=5", "`--set` is not for `--dequantize`"),
        ("convert in.onnxtxt --float16 --without-run --set h=5", "exclude each other"),
        ("quantize in.onnxtxt --to int8 --weights-only --set h=5", "the model does not run"),
        ("quantize in.onnxtxt --to int8 --dynamic --calibrate .", "the model does not run"),
    ] {
        onnx(&folder, arguments).exits(2).says(answer);
    }
}

/// Inputs of the user show that numbers leave the range, and generated ones do not.
#[test]
fn half_precision_takes_inputs_of_the_user() {
    let model = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[1,4] x) => (float[1,4] y) <float[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, float small = {0.0001}> {
   square = Mul (x, x)
   product = MatMul (square, w)
   scaled = Mul (product, small)
   y = Relu (scaled)
}"#;
    let folder = Folder::with("in.onnxtxt", model);
    folder.put("large.onnxtxt", r#"<ir_version: 10, opset_import: ["": 20]> g () => (float[1,4] x) { x = Constant <value = float[1,4] {1000, 2, 3, 4}> () }"#);
    onnx(&folder, "run large.onnxtxt -o cal --to npy").exits(0);
    onnx(&folder, "convert in.onnxtxt --float16 -o a.onnxtxt").exits(0).says("4 nodes in float16");
    let run = onnx(&folder, "convert in.onnxtxt --float16 --calibrate cal -v -o b.onnxtxt").exits(0);
    assert!(run.err.contains("measured on the inputs of the calibration"), "{}", run.err);
    assert!(run.err.contains("out of range: square has 1e6"), "{}", run.err);
    assert!(run.err.contains("stays: Mul of `square`: numbers are out of range"), "{}", run.err);
    // Within the range, but so near its end that other inputs leave it.
    for (number, nodes) in
        [("200", "Mul of `square`: numbers are out of range or near its end"), ("150", "4 nodes")]
    {
        let inputs = format!(
            r#"<ir_version: 10, opset_import: ["": 20]> g () => (float[1,4] x) {{ x = Constant <value = float[1,4] {{{number}, 2, 3, 4}}> () }}"#
        );
        folder.put("near.onnxtxt", inputs);
        onnx(&folder, "run near.onnxtxt -o near --to npy --force").exits(0);
        onnx(&folder, "convert in.onnxtxt --float16 --calibrate near -v -o n.onnxtxt --force")
            .exits(0)
            .says(nodes);
    }
    // An excepted node keeps its users wide, too, whose operand would be a cast of it.
    let run =
        onnx(&folder, "convert in.onnxtxt --float16 --calibrate cal --except square -o c.onnxtxt").exits(0);
    assert!(!run.err.contains("finite in one model only"), "{}", run.err);
    let text = text_of(&folder, "c.onnxtxt");
    assert!(text.contains("product = MatMul (square, w)") && text.contains("float[4,4] w"), "{text}");
    onnx(&folder, "convert in.onnxtxt --float16 --calibrate cal --seed 1")
        .exits(2)
        .says("exclude each other");
    onnx(&folder, "convert in.onnxtxt --float16 --calibrate no").exits(2).says("`.npz`");
}

/// A file that does not fit is refused before anything runs, whichever of several it is: the ranges of the others would be taken for those
/// of all.
#[test]
fn inputs_that_contradict_the_model_are_refused_with_their_file() {
    let model = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }"#;
    let folder = Folder::with("in.onnxtxt", model);
    let sample = |name: &str, tensor: &str| {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20]> g () => ({} x) {{ x = Constant <value = {tensor}> () }}"#,
            tensor.split(' ').next().unwrap()
        );
        folder.put("make.onnxtxt", text);
        onnx(&folder, &format!("run make.onnxtxt -o {name} --to npy")).exits(0);
    };
    for (wrong, reason) in [
        ("double[1,2] {1, 2}", "declared as a tensor of float, given one of double"),
        ("float[1,3] {1, 2, 3}", "axis 1 is declared with size 2, given with 3"),
    ] {
        std::fs::create_dir(folder.path().join("cal")).unwrap();
        sample("cal/0", "float[1,2] {1, 2}");
        sample("cal/1", wrong);
        for command in [
            "convert in.onnxtxt --float16",
            "convert in.onnxtxt --bfloat16",
            "quantize in.onnxtxt --to uint8",
            "quantize in.onnxtxt --to int8 --weights-only --measure",
        ] {
            let run = onnx(&folder, &format!("{command} --calibrate cal -o out.onnxtxt")).exits(2);
            assert!(run.err.contains("cal/1: input `x`: ") && run.err.contains(reason), "{}", run.err);
        }
        std::fs::remove_dir_all(folder.path().join("cal")).unwrap();
    }
}

/// An output of NaN before and after is not an output without error.
#[test]
fn outputs_of_which_nothing_is_finite_are_not_called_equal() {
    let model = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float zero = {0}> {
   product = MatMul (x, w)
   none = Mul (product, zero)
   y = Div (none, none)
}"#;
    let folder = Folder::with("in.onnxtxt", model);
    for command in [
        "convert in.onnxtxt --float16",
        "quantize in.onnxtxt --to int8 --weights-only --measure",
        "quantize in.onnxtxt --to uint8 --seed 0 --measure",
    ] {
        let run = onnx(&folder, &format!("{command} -o out.onnxtxt")).exits(0);
        let told = run.told();
        assert!(!told.contains("equal"), "{told}");
        assert!(told.contains("not known: no number of `y` is finite, before and after"), "{told}");
    }
    let report = json(&folder, "convert in.onnxtxt --float16 --format json");
    assert!(report.contains(r#""equal_not_finite":4"#) && report.contains(r#""integers":false"#), "{report}");
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --budget snr=20")
        .exits(2)
        .says("the error of the outputs is not known: no number of the output `y` is finite");
}

/// A newer version helps only if an operator computes there: one that moves elements between inputs and outputs that keep their types
/// does not.
#[test]
fn what_no_version_changes_is_not_an_error() {
    let model = r#"<ir_version: 8, opset_import: ["ai.onnx.ml": 1, "": 9]>
g (float[N,2] x) => (float[N,1] y) {
   t = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0], intercepts = [0.5]> (x)
   y = Cast <to = 1> (t)
}"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "convert in.onnxtxt --bfloat16 --keep-io -o out.onnxtxt")
        .exits(0)
        .says("nothing in the model becomes bfloat16");
    onnx(&folder, "convert in.onnxtxt --bfloat16 -o out.onnxtxt").exits(2).says("--opset 13");
}

/// A result of an invalid model would be invalid.
#[test]
fn invalid_models_are_refused() {
    let model = r#"<ir_version: 10, opset_import: ["": 20]>
g (float16[2,2] x) => (float16[2,2] y) <float16[2,2] w = {1, 0, 0, 1}, float16[2,2] c> {
   c = Cast <to = 1> (x)
   y = MatMul (c, w)
}"#;
    let folder = Folder::with("in.onnxtxt", model);
    for command in [
        "convert in.onnxtxt --float32",
        "convert in.onnxtxt --float16",
        "convert in.onnxtxt --bfloat16",
        "convert in.onnxtxt --dequantize",
        "quantize in.onnxtxt --to int8 --weights-only",
        "quantize in.onnxtxt --to int8 --seed 0",
    ] {
        onnx(&folder, &format!("{command} -o out.onnxtxt")).exits(1).says("ONNX3016").says("is not valid");
    }
    assert_eq!(folder.list(), ["in.onnxtxt"]);
    onnx(
        &folder,
        "edit in.onnxtxt --attribute 'Cast()&finding(ONNX3016).to=float16' -o repaired.onnxtxt"
            .replace('\'', "")
            .as_str(),
    )
    .exits(0);
    onnx(&folder, "convert repaired.onnxtxt --float32 -o out.onnxtxt").exits(0);
    onnx(&folder, "check out.onnxtxt --full").exits(0);
}

#[test]
fn nothing_quantized_is_a_warning() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --budget snr=300")
        .exits(0)
        .says("no node is quantized: the budget keeps all of them");
    onnx(&folder, "quantize in.onnxtxt --to int4 --weights-only --budget snr=300")
        .exits(0)
        .says("no weight is quantized: the budget keeps all of them");
    folder.put(
        "none.onnxtxt",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#,
    );
    onnx(&folder, "quantize none.onnxtxt --to uint8 --seed 0 -o out.onnxtxt")
        .exits(0)
        .says("no node is quantized: the model has none of an operator");
    let blocks = "--to int8 --weights-only --form operator --target onnxruntime";
    folder.put(
        "conv.onnxtxt",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[1,1,2,2] x) => (float[1,1,2,2] y)
        <float[1,1,1,1] k = {0.5}> { y = Conv (x, k) }"#,
    );
    onnx(&folder, &format!("quantize conv.onnxtxt {blocks}"))
        .exits(0)
        .says("the model has 1 `Conv` without one")
        .says("without `--form operator`");
    folder.put("gemm.onnxtxt", NETWORK.replace("y = MatMul (f, w)", "y = Gemm <alpha = 0.5> (f, w)"));
    onnx(&folder, &format!("quantize gemm.onnxtxt {blocks}"))
        .exits(0)
        .says("no weight is quantized: all of them stay")
        .says("stays  w: the operator with quantized weights has no form for its product");
}

/// Weights and nodes of other types are named, and counted if they are many.
#[test]
fn what_stays_for_its_type_is_named() {
    for (count, weights) in
        [(2, "stays  h1: its type is not `float`"), (6, "6 stay  h0 and 5 others: its type is not `float`")]
    {
        let (mut constants, mut nodes, mut last) = (String::new(), String::new(), "h".to_owned());
        for index in 0..count {
            constants.push_str(&format!(", float16[2,2] h{index} = {{0.5, -0.7, 0.3, 0.9}}"));
            nodes.push_str(&format!("p{index} = MatMul ({last}, h{index}) "));
            last = format!("p{index}");
        }
        let model = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,2] x, float16[2,2] h) => (float[2,2] y, float16[2,2] {last})
            <float[2,2] w = {{0.5, -0.7, 0.3, 0.9}}{constants}> {{ y = MatMul (x, w) {nodes} }}"#
        );
        let folder = Folder::with("in.onnxtxt", &model);
        for arguments in
            ["--weights-only", "--weights-only --form operator --target onnxruntime", "--dynamic"]
        {
            onnx(&folder, &format!("quantize in.onnxtxt --to int8 {arguments}"))
                .exits(0)
                .says("1 weight in int8")
                .says(weights);
        }
        onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0")
            .exits(0)
            .says(&format!("{count} stay  MatMul: it computes in another type than float"));
    }
}

#[test]
fn outputs_without_elements_are_not_called_equal() {
    let model = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[2,4] x) => (float[0,4] y) <int64[1] zero = {0}, float[4,4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
   p = MatMul (x, w)
   y = Slice (p, zero, zero, zero)
}"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "convert in.onnxtxt --float16 -o out.onnxtxt")
        .exits(0)
        .says("the outputs have no elements");
    onnx(&folder, "compare in.onnxtxt in.onnxtxt").exits(0).says("equal: no elements");
}

#[test]
fn operators_with_quantized_numbers_become_those_of_floats() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    for arguments in [
        "--to uint8 --seed 0 --form operator --target onnxruntime --per-channel",
        "--to int8 --dynamic",
        "--to uint4 --weights-only --form operator --target onnxruntime --block 16",
        "--to int8 --weights-only --form operator --target onnxruntime --block 32 --symmetric",
    ] {
        onnx(&folder, &format!("quantize in.onnxtxt {arguments} -o q.onnxtxt")).exits(0);
        let run = onnx(&folder, "convert q.onnxtxt --dequantize -o back.onnxtxt").exits(0);
        let text = text_of(&folder, "back.onnxtxt");
        assert!(!text.contains("QLinear") && !text.contains("Integer"), "{text}");
        assert!(
            !text.contains("NBits") && run.err.contains("became  operators of floats"),
            "{text}{}",
            run.err
        );
        onnx(&folder, "check back.onnxtxt --full").exits(0);
        onnx(&folder, "compare q.onnxtxt back.onnxtxt --atol 0.2 --rtol 0.1").exits(0);
    }
    folder.put(
        "left.onnxtxt",
        r#"<ir_version: 10, opset_import: ["": 21]>
g (uint8[2,2] a, uint8[2,2] b) => (int32[2,2] y) { y = MatMulInteger (a, b) }"#,
    );
    onnx(&folder, "convert left.onnxtxt --dequantize -v -o out.onnxtxt")
        .exits(0)
        .says("1 node stays with quantized numbers: MatMulInteger")
        .says("stays: MatMulInteger of `y`");
}

/// The report of a command, in one line.
fn json(folder: &Folder, command: &str) -> String {
    let json: serde_json::Value = serde_json::from_str(&onnx(folder, command).exits(0).out).unwrap();
    json.to_string()
}

/// The only product of a model in half precision, with a weight.
const HALF: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float16[N,4] x) => (float16[N,2] y) <float16[4,2] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}> { y = MatMul (x, w) }"#;

#[test]
fn models_of_other_floats_are_called_that() {
    let folder = Folder::with("half.onnxtxt", HALF);
    folder.put("double.onnxtxt", HALF.replace("float16", "double"));
    for arguments in [
        "--to int8 --seed 0",
        "--to int8 --weights-only",
        "--to int8 --dynamic",
        "--to uint4 --weights-only --form operator --target onnxruntime",
    ] {
        onnx(&folder, &format!("quantize half.onnxtxt {arguments} -o out.onnxtxt --force"))
            .exits(0)
            .says("the model computes in float16, and only numbers of `float` are quantized")
            .says("onnx convert MODEL --float32 -o NEW");
        onnx(&folder, &format!("quantize double.onnxtxt {arguments} -o out.onnxtxt --force"))
            .exits(0)
            .says("the model computes in double")
            .lacks("--float32");
    }
    onnx(&folder, "convert half.onnxtxt --float32 -o float.onnxtxt").exits(0);
    onnx(&folder, "quantize float.onnxtxt --to int8 --weights-only").exits(0).says("1 weight in int8");
}

/// A request that changes nothing succeeds, with a warning, and the output is the model.
#[test]
fn nothing_to_do_is_one_warning() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    for (command, text) in [
        ("convert in.onnx --float32", "warning: nothing in the model is `float16` or `bfloat16`"),
        ("convert in.onnx --dequantize", "warning: nothing in the model is quantized"),
        ("convert in.onnx --float16 --except all()", "warning: nothing in the model becomes float16"),
        ("quantize in.onnx --to int8 --weights-only --except all()", "warning: no weight is quantized"),
        ("quantize in.onnx --to int8 --seed 0 --except all()", "warning: no node is quantized"),
        ("edit in.onnx --type x=float", "warning: nothing changes"),
    ] {
        onnx(&folder, &format!("{command} -o out.onnx --force")).exits(0).says(text);
        onnx(&folder, "compare in.onnx out.onnx").exits(0);
    }
    onnx(&folder, "convert in.onnx --float16 -o half.onnx").exits(0);
    onnx(&folder, "convert half.onnx --float16 -o out.onnx --force")
        .exits(0)
        .says("warning: nothing in the model computes with `float`");
    assert_eq!(folder.get("half.onnx"), folder.get("out.onnx"));
    let report = json(&folder, "convert half.onnx --float16 -o out.onnx --force --format json");
    assert!(report.contains("\"unchanged\":\"nothing in the model computes with"), "{report}");
}

#[test]
fn integers_are_reported_apart() {
    let model = WEIGHTS.replace("\n}", "\n   best = ArgMax <axis = 1> (y)\n}");
    let model = model.replace("(float[N,2] y)", "(float[N,2] y, int64[N,1] best)");
    let folder = Folder::with("in.onnxtxt", model);
    let report = json(&folder, "quantize in.onnxtxt --to int8 --weights-only --measure --format json");
    let parts = ["\"integers\":true", "\"snr\":null", "\"differing\":"];
    assert!(parts.iter().all(|part| report.contains(part)), "{report}");
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --measure")
        .exits(0)
        .lacks("`best` has the least");
}

/// Files of weights that are cut are found, also if nothing would read them.
#[test]
fn cut_weights_are_refused_in_any_case() {
    let folder = Folder::with("in.onnxtxt", HALF);
    onnx(&folder, "convert in.onnxtxt --weights external --threshold 0 -o m.onnx").exits(0);
    let data = folder.list().into_iter().find(|name| name.contains("data")).unwrap();
    folder.put(&data, &[0_u8; 5][..]);
    for command in ["quantize m.onnx --to int8 --weights-only", "convert m.onnx --dequantize"] {
        onnx(&folder, &format!("{command} -o out.onnx")).exits(1).says("ONNX2514");
        assert!(!folder.path().join("out.onnx").exists(), "{command}");
    }
}

/// What is advised for a budget is not what was given.
#[test]
fn advice_for_budgets_is_new() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    let request = "quantize in.onnxtxt --to int4 --weights-only --budget snr=300";
    onnx(&folder, request).exits(0).says("`--block 32`").says("`--to int8`");
    onnx(&folder, &format!("{request} --block 32"))
        .exits(0)
        .lacks("`--block 32`")
        .says("`--block`, such as 16");
    onnx(&folder, &format!("{request} --per-channel")).exits(0).lacks("`--per-channel`");
    folder.put("zero.onnxtxt", ZERO);
    onnx(&folder, "quantize zero.onnxtxt --to int8 --weights-only")
        .exits(0)
        .lacks("inf")
        .says("no weight loses");
    folder.put("small.onnxtxt", ZERO.replace("0, 0, 0, 0", "1e-42, 0, 0, 1e-43"));
    onnx(&folder, "quantize small.onnxtxt --to int8 --weights-only -o out.onnxtxt")
        .exits(0)
        .says("they get no scale")
        .says("w: its numbers are too small for a scale");
}

const ZERO: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {0, 0, 0, 0}> { y = MatMul (x, w) }"#;

/// A change in place that embeds the weights names the file that has none any more.
#[test]
fn files_that_are_left_are_named() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    onnx(&folder, "convert in.onnxtxt --weights external --threshold 0 -o m.onnx").exits(0);
    onnx(&folder, "quantize m.onnx --to int8 --weights-only --in-place")
        .exits(0)
        .says("has no weight of the model any more");
}

/// A type that the version of the format does not have raises it.
#[test]
fn types_of_inputs_raise_the_version_of_the_format() {
    let model = r#"<ir_version: 7, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "edit in.onnxtxt --type x=float8e4m3fn -o out.onnxtxt")
        .exits(0)
        .says("the IR version to 9");
    onnx(&folder, "check out.onnxtxt --full").exits(0);
    onnx(&folder, "edit in.onnxtxt --type x=float8e4m3fn --ir-version 8").exits(1);
    folder.put("old.onnxtxt", model.replace("21", "12"));
    onnx(&folder, "edit old.onnxtxt --type x=bfloat16").exits(2).says("onnx convert MODEL --opset 13");
}

/// Weights that are results of nodes with constant operands are constants.
#[test]
fn weights_that_nodes_compute_are_quantized() {
    let ones = vec!["0.5"; 64].join(", ");
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[2,8] x) => (float[2,8] y) <float[8,8] v = {{{ones}}}, float[8,8] w = {{{ones}}}> {{
            a = MatMul (x, v) t = Transpose (w) y = MatMul (a, t) }}"#
    );
    let folder = Folder::with("in.onnxtxt", text);
    for words in ["--weights-only", "--dynamic", "--seed 0"] {
        onnx(&folder, &format!("quantize in.onnxtxt --to int8 {words} -o out.onnx --force"))
            .exits(0)
            .says("2 weights");
        onnx(&folder, "check out.onnx --full").exits(0);
    }
}
