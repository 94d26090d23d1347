//! Number formats: `onnx convert --float16`, `onnx quantize`, `onnx edit --type`.

use crate::run::{Folder, onnx};

/// Half precision meets everything that tools get wrong: scales of `Resize`, targets of `Cast`, branches, a mask.
const MIXED: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[1,1,4,4] x, bool c, bool[4] m) => (float[1,1,8,8] y, float[4] z)
<float[4] scales = {1, 1, 2, 2}, float low = {-3.4028235e38}, float[1,1,1,1] w = {0.3}, int64[1] four = {4}> {
   a = Conv (x, w)
   y = Resize (a, , scales)
   r = ReduceMean <keepdims = 0> (a)
   i = Cast <to = 6> (r)
   f = Cast <to = 1> (i)
   e = Expand (f, four)
   t = If (c) <
      then_branch = p () => (float[4] u) { u = Where (m, e, low) },
      else_branch = q () => (float[4] v) { v = Neg (e) }
   >
   z = Softmax (t)
}"#;

/// A model with two weights.
pub(crate) const WEIGHTS: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,4] x) => (float[N,2] y)
<float[4,2] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}, float[2,2] v = {1.5, -0.25, 0.125, 2}> {
   p = MatMul (x, w)
   y = MatMul (p, v)
}"#;

pub(crate) fn text_of(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.get(name)).unwrap()
}

#[test]
fn half_precision_is_valid_and_measured() {
    let folder = Folder::with("in.onnxtxt", MIXED);
    for format in ["float16", "bfloat16"] {
        for keep in ["", "--keep-io"] {
            onnx(&folder, &format!("convert in.onnxtxt --{format} {keep} -o out.onnxtxt"))
                .exits(0)
                .says(&format!("nodes in {format}"))
                .says("mask  low: 1 become -");
            onnx(&folder, "check out.onnxtxt --full").exits(0);
            let text = text_of(&folder, "out.onnxtxt");
            assert!(text.contains("float[4] scales"), "{text}");
            // `Conv` takes bfloat16 from version 22 on.
            let is_wide = !keep.is_empty() || format == "bfloat16";
            assert_eq!(text.contains("(float[1,1,4,4] x"), is_wide, "{text}");
        }
    }
}

#[test]
fn the_choice_can_be_restricted() {
    let folder = Folder::with("in.onnxtxt", MIXED);
    onnx(&folder, "convert in.onnxtxt --float16 --except Conv() --without-run -o out.onnxtxt")
        .exits(0)
        .says("1 stay  Conv: it is not selected")
        .says("`--without-run` is given");
    assert!(text_of(&folder, "out.onnxtxt").contains("float[1,1,1,1] w"));
    onnx(&folder, "convert in.onnxtxt --float16 --only Softmax() -o out.onnxtxt")
        .exits(0)
        .says("1 cast added");
    // Without an output, nothing is written.
    onnx(&folder, "convert in.onnxtxt --float16").exits(0).says("nodes in float16");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let folder = Folder::with("in.onnxtxt", MIXED);
    onnx(&folder, "convert in.onnxtxt --float16 --bfloat16").exits(2);
    onnx(&folder, "convert in.onnxtxt --float16 --opset 22").exits(2);
    onnx(&folder, "convert in.onnxtxt --keep-io -o out.onnxtxt").exits(2).says("--float16");
    onnx(&folder, "convert in.onnxtxt --float16 --except nothing -o out.onnxtxt").exits(2);
    folder.put(
        "old.onnxtxt",
        r#"<ir_version: 3, opset_import: ["": 7]> g (float[2] x) => (float[2] y) { y = Relu (x) }"#,
    );
    onnx(&folder, "convert old.onnxtxt --bfloat16 -o out.onnxtxt")
        .exits(2)
        .says("nothing in the model becomes bfloat16: `Relu` stays")
        .says("onnx convert MODEL --opset 13");
}

#[test]
fn types_of_inputs_and_outputs_change() {
    let model = r#"<ir_version: 10, opset_import: ["": 20]>
g (int64[N] ids, float[8,2] t) => (float[N,2] scores, int64[2] s) {
   scores = Gather (t, ids)
   s = Shape (scores)
}"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "edit in.onnxtxt --type ids=int32 --type scores=float16 -o out.onnxtxt")
        .exits(0)
        .says("the type of `ids` to int32, with a cast");
    onnx(&folder, "check out.onnxtxt --full").exits(0);
    let text = text_of(&folder, "out.onnxtxt");
    assert!(text.contains("int32[N] ids") && text.contains("float16[N,2] scores"), "{text}");
    assert!(text.contains("s = Shape (scores_float)"), "{text}");
    onnx(&folder, "edit in.onnxtxt --type nope=int32 -o out.onnxtxt")
        .exits(2)
        .says("is not an input or output");
    onnx(&folder, "edit in.onnxtxt --type ids=fp16 -o out.onnxtxt").exits(2).says("float16");
    onnx(&folder, "edit in.onnxtxt --type ids -o out.onnxtxt").exits(2).says("is not SEL=TYPE");
    onnx(&folder, "edit in.onnxtxt --type ids=complex64 -o out.onnxtxt").exits(2).says("does not convert");
}

#[test]
fn weights_are_quantized_and_come_back() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    for (arguments, wanted) in [
        ("--to int8", "int8[4,2] w_quantized"),
        ("--to uint8 --per-channel", "uint8[2] w_zero_point"),
        ("--to int4 --block 2", "float[2,2] w_scale"),
        ("--to float8e4m3fn", "float8e4m3fn[4,2] w_quantized"),
    ] {
        onnx(&folder, &format!("quantize in.onnxtxt {arguments} --weights-only --measure -o out.onnxtxt"))
            .exits(0)
            .says("2 weights in")
            .says("dB");
        onnx(&folder, "check out.onnxtxt --full").exits(0);
        let text = text_of(&folder, "out.onnxtxt");
        assert!(text.contains(wanted) && text.contains("DequantizeLinear"), "{wanted}: {text}");
        onnx(&folder, "convert out.onnxtxt --dequantize -o back.onnxtxt")
            .exits(0)
            .says("2 weights made floats");
        assert!(!text_of(&folder, "back.onnxtxt").contains("DequantizeLinear"));
        onnx(&folder, "compare out.onnxtxt back.onnxtxt").exits(0);
    }
}

#[test]
fn a_budget_keeps_weights() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    onnx(&folder, "quantize in.onnxtxt --to int4 --weights-only --budget snr=200 -o out.onnxtxt")
        .exits(0)
        .says("0 weights in int4")
        .says("2 of 2 weights kept for the budget");
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --budget snr=20 -o out.onnxtxt")
        .exits(0)
        .says("0 of 2 weights kept for the budget, found in 1 run");
}

#[test]
fn quantizations_that_are_impossible_name_the_way_out() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    onnx(&folder, "quantize in.onnxtxt --to float16 --weights-only")
        .exits(2)
        .says("onnx convert MODEL --float16");
    onnx(&folder, "quantize in.onnxtxt --to int9 --weights-only").exits(2).says("int4");
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --budget high").exits(2).says("snr=30");
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --block 0")
        .exits(2)
        .says("at least one element");
    folder.put("old.onnxtxt", WEIGHTS.replace("21", "13"));
    onnx(&folder, "quantize old.onnxtxt --to int4 --weights-only -o out.onnxtxt")
        .exits(2)
        .says("does not take int4")
        .says("onnx convert MODEL --opset 21");
    onnx(&folder, "quantize old.onnxtxt --to int8 --block 2 --weights-only -o out.onnxtxt")
        .exits(2)
        .says("has no scales for blocks");
    onnx(&folder, "quantize old.onnxtxt --to int8 --per-channel --weights-only -o out.onnxtxt").exits(0);
    folder.put("older.onnxtxt", WEIGHTS.replace("21", "9"));
    onnx(&folder, "quantize older.onnxtxt --to int8 --weights-only -o out.onnxtxt")
        .exits(2)
        .says("onnx convert MODEL --opset 10");
}

/// A convolution with an activation, and a product.
pub(crate) const NETWORK: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,1,4,4] x) => (float[N,2] y)
<float[2,1,3,3] k = {0.5, -0.25, 1.5, 0.75, -1, 0.3, 0.2, 0.1, -0.6, 0.4, 0.8, -0.9, 0.35, 0.15, -0.45, 0.7, 0.05, -0.2},
 float[2] b = {0.5, -0.25}, float[8,2] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, 1.5, -0.25, 0.125, 2, 0.3, 0.6, -1, 0.8}> {
   c = Conv (x, k, b)
   r = Relu (c)
   f = Flatten (r)
   y = MatMul (f, w)
}"#;

#[test]
fn activations_are_quantized_with_a_calibration() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    for (arguments, wanted) in [
        ("--to uint8", "uint8 x_zero_point"),
        ("--to int8 --target tensorrt --per-channel", "float[2] k_scale"),
        ("--to int16 --weight-type int8 --method mse", "int16 x_zero_point"),
        ("--to float8e4m3fn --method entropy", "float8e4m3fn x_zero_point"),
        ("--to uint8 --symmetric --method percentile --percentile 99", "uint8 x_zero_point = raw {128}"),
    ] {
        onnx(&folder, &format!("quantize in.onnxtxt {arguments} --seed 0 --measure --losses -o out.onnxtxt"))
            .exits(0)
            .says("nodes that could compute with")
            .says("SNR dB")
            .says("measured on generated inputs");
        onnx(&folder, "check out.onnxtxt --full").exits(0);
        let text = text_of(&folder, "out.onnxtxt");
        assert!(
            text.contains(wanted) && text.contains("(float[N,1,4,4] x) => (float[N,2] y)"),
            "{wanted}: {text}"
        );
    }
    onnx(&folder, "convert out.onnxtxt --dequantize -o back.onnxtxt").exits(0).says("pairs removed");
    assert!(!text_of(&folder, "back.onnxtxt").contains("QuantizeLinear"));
}

#[test]
fn ranges_are_kept_in_a_file() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --keep-biases --save-ranges r.json -o a.onnxtxt")
        .exits(0)
        .says("wrote the ranges to r.json");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --ranges r.json -o b.onnxtxt").exits(0);
    assert_eq!(text_of(&folder, "a.onnxtxt"), text_of(&folder, "b.onnxtxt"));
    let ranges = text_of(&folder, "r.json");
    let line = ranges.lines().find(|line| line.trim_start().starts_with("\"x\":")).unwrap();
    folder.put(
        "wide.json",
        ranges
            .replace(line, "    \"unused\": [0, 1],\n    \"x\": [-100.0, 100.0],")
            .replace(",\n  }", "\n  }"),
    );
    onnx(&folder, "quantize in.onnxtxt --to uint8 --ranges wide.json -o c.onnxtxt")
        .exits(0)
        .says("wide.json: the model has no values `unused`: their ranges are not used");
    assert!(
        text_of(&folder, "c.onnxtxt").contains("x_scale = raw {0.784"),
        "{}",
        text_of(&folder, "c.onnxtxt")
    );
    folder.put("bad.json", "{\"schema\": \"onnx-ranges/1\", \"ranges\": {\"x\": [2, 1]}}");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --ranges bad.json -o c.onnxtxt")
        .exits(2)
        .says("the range of `x` is not two finite numbers")
        .says("write two numbers such as");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --ranges no.json").exits(2).says("no.json");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --ranges r.json --measure").exits(2).says("--seed 0");
    folder.put(
        "other.json",
        "{\"schema\": \"onnx-ranges/1\", \"ranges\": {\"left\": [0, 1], \"right\": [0, 1]}}",
    );
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --ranges other.json")
        .exits(2)
        .says("other.json: the model has none of the values, such as `left`")
        .says("--save-ranges FILE");
    // The ranges do not take the place of another output, and nothing is written.
    for arguments in [
        "--save-ranges d.onnxtxt -o d.onnxtxt",
        "--save-ranges ./d.onnxtxt -o d.onnxtxt",
        "--save-ranges d.json --report d.json -o d.onnxtxt",
    ] {
        onnx(&folder, &format!("quantize in.onnxtxt --to uint8 --seed 0 {arguments}"))
            .exits(2)
            .says("`--save-ranges` takes the name of a file that is not the input, the output, the report or a stream");
        assert!(!folder.path().join("d.onnxtxt").exists());
    }
    // The model is not replaced by ranges.
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --save-ranges in.onnxtxt -o c.onnxtxt").exits(2);
    assert_eq!(text_of(&folder, "in.onnxtxt"), NETWORK);
}

#[test]
fn calibrations_that_are_impossible_name_the_way_out() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    onnx(&folder, "quantize in.onnxtxt --to int8")
        .exits(2)
        .says("activations need ranges from a calibration")
        .says("--calibrate DIR")
        .says("--weights-only");
    onnx(&folder, "quantize in.onnxtxt --to int4 --seed 0").exits(2).says("not quantized to int4");
    onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0 --target nowhere").exits(2).says("`onnxruntime`");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --target tensorrt")
        .exits(2)
        .says("the target has no activations of type uint8")
        .says("`--to int8`");
    onnx(&folder, "quantize in.onnxtxt --to int8 --calibrate none")
        .exits(2)
        .says("none: cannot be read: No such file");
    onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0 --samples 0").exits(2).says("--samples 8");
    onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0 --percentile 0 --method percentile")
        .exits(2)
        .says("above 0 and at most 100");
    folder.put(
        "target.json",
        "{\"schema\": \"onnx-target/1\", \"name\": \"t\", \"version\": \"1\", \"operators\": []}",
    );
    onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0 --target target.json")
        .exits(2)
        .says("has no `quantization`");
    let table = "\"quantization\": {\"activations\": [\"int8\"], \"weights\": [\"int8\"], \"operators\": [{\"name\": \"Matmul\"}]}";
    let text = format!(
        "{{\"schema\": \"onnx-target/1\", \"name\": \"t\", \"version\": \"1\", {table}, \"operators\": []}}"
    );
    folder.put("target.json", &text);
    onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0 --target target.json")
        .exits(2)
        .says("did you mean `MatMul`?");
    folder.put("target.json", text.replace("Matmul", "MatMul"));
    onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0 --target target.json -o out.onnxtxt")
        .exits(0)
        .says("1 of 1 node that could compute with int8");
    folder.put("old.onnxtxt", NETWORK.replace("\"\": 21", "\"\": 9"));
    onnx(&folder, "quantize old.onnxtxt --to int8 --seed 0").exits(2).says("onnx convert MODEL --opset 10");
}

#[test]
fn weights_that_are_missing_are_named_by_every_command() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    onnx(&folder, "convert in.onnxtxt --weights external --threshold 0 -o m.onnx").exits(0);
    std::fs::remove_file(folder.path().join("m.onnx.data")).unwrap();
    for arguments in [
        "quantize m.onnx --to int8 --weights-only",
        "quantize m.onnx --to int8 --weights-only --budget snr=20",
        "quantize m.onnx --to int4 --weights-only --form operator --target onnxruntime",
        "quantize m.onnx --to int8 --dynamic",
        "quantize m.onnx --to int8 --seed 0",
        "convert m.onnx --float16",
        "convert m.onnx --bfloat16 --without-run",
    ] {
        onnx(&folder, &format!("{arguments} -o out.onnx"))
            .exits(2)
            .says("m.onnx.data")
            .says("--data-dir DIR");
        assert!(!folder.path().join("out.onnx").exists(), "{arguments}");
    }
}

#[test]
fn what_has_no_effect_is_said() {
    let folder = Folder::with("in.onnxtxt", WEIGHTS);
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --except MatMul() -o out.onnxtxt")
        .exits(0)
        .says("no weight is quantized");
    onnx(&folder, "quantize in.onnxtxt --to int8 --weights-only --block 1 -o out.onnxtxt")
        .exits(0)
        .says("the weights have not become smaller: their scales are for blocks of 1");
    folder.put("r.json", "{\"schema\": \"onnx-ranges/1\", \"ranges\": {\"x\": [0, 1], \"x\": [0, 2]}}");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --ranges r.json")
        .exits(2)
        .says("`x` has more than one range");
}

#[test]
fn options_without_an_effect_are_refused() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    for (arguments, option, help) in [
        ("quantize in.onnxtxt --to int8 --weights-only --target nowhere", "--target", "leave it out"),
        ("quantize in.onnxtxt --to int8 --weights-only --target tensorrt", "--target", "--form operator"),
        ("quantize in.onnxtxt --to int8 --dynamic --target nowhere", "--target", "--dynamic"),
        ("quantize in.onnxtxt --to int8 --weights-only --method mse", "--method", "--weights-only"),
        ("quantize in.onnxtxt --to int8 --dynamic --method mse", "--method", "--dynamic"),
        ("quantize in.onnxtxt --to int8 --weights-only --seed 3", "--seed", "--measure"),
        ("quantize in.onnxtxt --to int8 --dynamic --seed 3", "--seed", "--measure"),
        ("quantize in.onnxtxt --to int8 --dynamic --measure --seed 3 --samples 2", "--samples", "--dynamic"),
        ("quantize in.onnxtxt --to int8 --seed 0 --percentile 99", "--method", "--percentile"),
        (
            "quantize in.onnxtxt --to int8 --seed 0 --percentile 99 --method mse",
            "--percentile",
            "--method percentile",
        ),
        ("quantize in.onnxtxt --to int8 --ranges r.json --method mse", "--method", "--calibrate DIR"),
        ("quantize in.onnxtxt --to int8 --ranges r.json --keep-biases", "--keep-biases", "leave it out"),
        ("quantize in.onnxtxt --to int8 --weights-only --keep-biases", "--keep-biases", "--weights-only"),
        ("convert in.onnxtxt --float16 --without-run --seed 1", "--seed", "--without-run"),
        ("convert in.onnxtxt --dequantize --seed 1", "--seed", "--dequantize"),
        ("convert in.onnxtxt --dequantize --keep-io", "--keep-io", "--float16"),
        ("convert in.onnxtxt --dequantize --except Conv()", "--except", "--float16"),
    ] {
        onnx(&folder, arguments).exits(2).says(option).says(help);
    }
    for arguments in [
        "--weights-only --seed 3 --measure",
        "--weights-only --seed 3 --budget snr=10",
        "--dynamic --seed 3 --measure",
    ] {
        onnx(&folder, &format!("quantize in.onnxtxt --to int8 {arguments}")).exits(0);
    }
}

/// The types that an error lists are those of what was requested.
#[test]
fn types_are_those_of_the_kind_of_quantization() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    for arguments in ["--to int4 --seed 0", "--to uint2 --ranges r.json"] {
        onnx(&folder, &format!("quantize in.onnxtxt {arguments}"))
            .exits(2)
            .says("activations are not quantized to")
            .says("types: uint8, int8, uint16, int16, ")
            .says("only `--weights-only`");
    }
    onnx(&folder, "quantize in.onnxtxt --to int16 --dynamic").exits(2).says("types: int8, uint8;");
    onnx(&folder, "quantize in.onnxtxt --to int16 --weights-only --form operator --target onnxruntime")
        .exits(2)
        .says("types: int4, uint4, int8, uint8;");
}

#[test]
fn biases_are_corrected() {
    let network = NETWORK.replace("x, k, b", "a, k, b").replace("   c = Conv", "   a = Abs (x)\n   c = Conv");
    let folder = Folder::with("in.onnxtxt", &network);
    let arguments = "quantize in.onnxtxt --to int16 --weight-type int4 --seed 0 --except MatMul()";
    onnx(&folder, &format!("{arguments} -o out.onnxtxt")).exits(0).says("1 bias corrected: ").says(" dB");
    assert!(text_of(&folder, "out.onnxtxt").contains("b_corrected"));
    onnx(&folder, &format!("{arguments} --format json"))
        .exits(0)
        .says("\"correction\":{")
        .says("\"applied\":true");
    onnx(&folder, &format!("{arguments} --keep-biases -o out.onnxtxt")).exits(0).lacks("corrected");
    assert!(!text_of(&folder, "out.onnxtxt").contains("b_corrected"));
}

#[test]
fn calibrations_that_fail_name_the_way_out() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    onnx(&folder, "quantize in.onnxtxt --to int8 --seed 0 --limit run_steps=5")
        .exits(3)
        .says("`--limit run_steps=10T`");
    folder.put("inputs.txt", "1 2 3");
    onnx(&folder, "quantize in.onnxtxt --to int8 --calibrate inputs.txt")
        .exits(2)
        .says("is not a directory or an archive `.npz`")
        .says("NAME.npy")
        .lacks("--feed");
    folder.put("folder/x.npy/inside", "");
    onnx(&folder, "quantize in.onnxtxt --to int8 --calibrate folder")
        .exits(2)
        .says("NAME.npy")
        .lacks("--feed");
    folder
        .put("nan.onnxtxt", NETWORK.replace("c = Conv (x", "z = Sub (x, x)\n n = Div (z, z)\n c = Conv (n"));
    onnx(&folder, "quantize nan.onnxtxt --to int8 --seed 0 --target onnxruntime")
        .exits(2)
        .says("the numbers of all values are not finite");
}

#[test]
fn inputs_for_the_calibration_are_read_from_files() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    for sample in ["one", "two"] {
        onnx(&folder, &format!("run in.onnxtxt --seed 3 --save-inputs samples/{sample}")).exits(0);
    }
    onnx(
        &folder,
        "quantize in.onnxtxt --to uint8 --calibrate samples --measure --format json -o out.onnxtxt",
    )
    .exits(0)
    .says("\"samples\":2");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --calibrate samples/one -o out.onnxtxt").exits(0);
    folder.put("samples/three/other.npy", "x");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --calibrate samples -o out.onnxtxt")
        .exits(2)
        .says("samples/three");
}

#[test]
fn a_budget_keeps_nodes() {
    let folder = Folder::with("in.onnxtxt", NETWORK);
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --budget snr=200 -o out.onnxtxt")
        .exits(0)
        .says("0 of 3 nodes")
        .says("the outputs would not be within the budget");
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --budget snr=10 -o out.onnxtxt")
        .exits(0)
        .says("0 of 3 nodes kept for the budget, found in 1 run");
}

/// Images of two to four pixels are smaller than the windows.
#[test]
fn generated_inputs_are_as_large_as_the_model_needs() {
    let network = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,1,H,W] x) => (float[N,1,P,Q] y) <float[1,1,3,3] k = {0.5, -0.25, 1.5, 0.75, -1, 0.3, 0.2, 0.1, -0.6}> {
   c = Conv <strides = [4, 4]> (x, k)
   d = Conv <kernel_shape = [3, 3]> (c, k)
   y = Relu (d)
}"#;
    let folder = Folder::with("in.onnxtxt", network);
    onnx(&folder, "quantize in.onnxtxt --to uint8 --seed 0 --samples 2 -o out.onnxtxt")
        .exits(0)
        .says("2 of 2 nodes that could compute with uint8");
    onnx(&folder, "convert in.onnxtxt --float16 -o half.onnxtxt").exits(0);
}

#[test]
fn narrow_models_become_float_again() {
    let folder = Folder::with("in.onnxtxt", MIXED);
    for format in ["float16", "bfloat16"] {
        for keep in ["", "--keep-io"] {
            onnx(&folder, &format!("convert in.onnxtxt --{format} {keep} -o half.onnxtxt")).exits(0);
            let run = onnx(&folder, "convert half.onnxtxt --float32 -o wide.onnxtxt")
                .exits(0)
                .says("nodes in float, 0 casts added");
            assert!(!run.err.contains("stay"), "{}", run.err);
            // The casts of inputs and outputs have no effect any more.
            assert!(run.err.contains(" removed, ") || keep.is_empty(), "{}", run.err);
            onnx(&folder, "check wide.onnxtxt").exits(0);
            let text = text_of(&folder, "wide.onnxtxt");
            assert!(!text.contains("float16") && !text.contains("_float"), "{text}");
            assert!(text.contains("(float[1,1,4,4] x"), "{text}");
        }
    }
    onnx(&folder, "convert in.onnxtxt --float32")
        .exits(0)
        .says("`onnx find MODEL 'type(float16, bfloat16)'`");
    onnx(&folder, "convert half.onnxtxt --float32 --float16").exits(2).says("exclude each other");
    let report = onnx(&folder, "convert half.onnxtxt --float32 --format json").exits(0).json();
    assert_eq!(report["result"]["models"][0]["format"], "float");
}
