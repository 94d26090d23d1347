//! Hints that name a command: pasted with the names of the files, the command does what it promises.

use crate::run::{Folder, Run, onnx, onnx_words};

/// The commands that an answer names in backquotes, with the files in the places of `MODEL` and `NEW`.
#[track_caller]
fn hinted(run: &Run, model: &str) -> Vec<String> {
    let answer = run.told();
    let code = answer.split('`').skip(1).step_by(2).filter(|code| code.starts_with("onnx "));
    let lines = code.map(|code| code.replace("MODEL", model).replace("NEW", "new.onnx --force"));
    let lines: Vec<String> = lines.filter_map(|line| Some(line.strip_prefix("onnx ")?.to_owned())).collect();
    assert!(!lines.is_empty(), "no command in: {answer}");
    lines
}

/// Runs a line as a shell does.
fn pasted(folder: &Folder, line: &str) -> Run {
    let mut words: Vec<String> = vec![String::new()];
    for (index, piece) in line.split('\'').enumerate() {
        let mut parts = if index % 2 == 0 { piece.split(' ').collect() } else { vec![piece] }.into_iter();
        words.last_mut().unwrap().push_str(parts.next().unwrap_or_default());
        words.extend(parts.map(str::to_owned));
    }
    onnx_words(folder, words.iter().map(String::as_str).filter(|word| !word.is_empty()))
}

#[test]
#[cfg(unix)]
fn versions_for_bfloat16_are_those_that_the_model_needs() {
    for (imported, operator, version) in [
        (9, "MatMul (x, x)", 13),
        (12, "Relu (x)", 13),
        (12, "Erf (x)", 13),
        (20, "Sin (x)", 22),
        (14, "Asinh (x)", 22),
    ] {
        let text = format!(
            "<ir_version: 8, opset_import: [\"\": {imported}]> g (float[2,2] x) => (float[2,2] y) {{ y = {operator} }}"
        );
        let folder = Folder::with("in.onnxtxt", text);
        let refused = onnx(&folder, "convert in.onnxtxt --bfloat16").exits(2);
        let lines = hinted(&refused, "in.onnxtxt");
        assert_eq!(lines, [format!("convert in.onnxtxt --opset {version} -o new.onnx --force")]);
        pasted(&folder, &lines[0]).exits(0);
        onnx(&folder, "convert new.onnx --bfloat16").exits(0).says("in bfloat16");
    }
    // No version takes it: then none is advised.
    for (text, reason) in [
        ("g (int64[2] x) => (int64[2] y) { y = Add (x, x) }", "nothing in the model computes with `float`"),
        (
            "g (float[2,2] x) => (float[2,2] y) { y = ai.onnx.ml.Normalizer (x) }",
            "nothing in the model becomes bfloat16: `Normalizer` stays",
        ),
    ] {
        let folder = Folder::with(
            "in.onnxtxt",
            format!("<ir_version: 8, opset_import: [\"\": 20, \"ai.onnx.ml\": 3]> {text}"),
        );
        let refused = onnx(&folder, "convert in.onnxtxt --bfloat16").exits(0).says(reason).lacks("--opset");
        hinted(&refused, "in.onnxtxt").iter().for_each(|line| _ = pasted(&folder, line).exits(0));
    }
}

#[test]
#[cfg(unix)]
fn numbers_out_of_the_range_of_float16_are_named() {
    let text = "<ir_version: 8, opset_import: [\"\": 20]>
        g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1e20, 2, 3, 4}> { y = MatMul (x, w) }";
    let folder = Folder::with("in.onnxtxt", text);
    let refused = onnx(&folder, "convert in.onnxtxt --float16")
        .exits(0)
        .says("`MatMul` stays (numbers are out of range or near its end)")
        .says("`y` has 1.00e20, and the greatest number of float16 is 6.5504e4");
    let lines = hinted(&refused, "in.onnxtxt");
    assert_eq!(lines, ["convert in.onnxtxt --bfloat16 -o new.onnx --force"]);
    pasted(&folder, &lines[0]).exits(0).says("1 node in bfloat16");
    onnx(&folder, "check new.onnx").exits(0);
}

#[test]
#[cfg(unix)]
fn a_value_that_is_an_input_and_an_output_gets_a_layout_and_a_type() {
    let text = "<ir_version: 8, opset_import: [\"\": 20]>
        g (float[N,3,4,5] x) => (float[N,3,4,5] x, float[N,3,4,5] y) { y = Relu (x) }";
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "edit in.onnxtxt --layout x=NHWC --type x=double -o out.onnxtxt").exits(0);
    onnx(&folder, "check out.onnxtxt").exits(0).says("no findings");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(text.contains("(double[N,4,5,3] x) => (double[N,4,5,3] x, float[N,3,4,5] y)"), "{text}");
    // Nothing uses it inside.
    let text = "<ir_version: 8, opset_import: [\"\": 20]> g (float[N,3,4,5] x) => (float[N,3,4,5] x) { }";
    folder.put("through.onnxtxt", text);
    onnx(&folder, "edit through.onnxtxt --layout x=NHWC -o out.onnxtxt").exits(0).says("1 layout");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(
        text.contains("(float[N,4,5,3] x) => (float[N,4,5,3] x)") && !text.contains("Transpose"),
        "{text}"
    );
}

#[test]
#[cfg(unix)]
fn layouts_and_casts_that_are_advised_can_be_pasted() {
    let text = "<ir_version: 8, opset_import: [\"\": 18]>
        g (float[N,3,8,16] \"it's\") => (float[N,3,8,16] y) { y = Relu (\"it's\") }";
    let folder = Folder::with("in.onnxtxt", text);
    let refused = onnx(&folder, "check in.onnxtxt --shapes it's=2x8x16x3");
    let lines = hinted(&refused, "in.onnxtxt");
    let script = format!("'{}' {}", env!("CARGO_BIN_EXE_onnx"), lines[0]);
    let status = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path()).status();
    assert!(status.unwrap().success(), "{script}");
    onnx(&folder, "check new.onnx --shapes it's=2x8x16x3").exits(0);
    // `Cast` came to types later.
    let text = "<ir_version: 8, opset_import: [\"\": 9]> g (float[2] x) => (float[2] y) { y = Relu (x) }";
    folder.put("old.onnxtxt", text);
    let refused = onnx(&folder, "edit old.onnxtxt --type x=bfloat16").exits(2);
    let lines = hinted(&refused, "old.onnxtxt");
    assert_eq!(lines, ["convert old.onnxtxt --opset 13 -o new.onnx --force"]);
    pasted(&folder, &lines[0]).exits(0);
    onnx(&folder, "edit new.onnx --type x=bfloat16").exits(0);
}

/// What a version of the format does not have is refused, and the version that has it can be asked for.
#[test]
fn edits_that_need_a_newer_format_say_which() {
    let text = "<ir_version: 8, opset_import: [\"\": 20, \"com.acme\": 1]>
        g (float[2] x) => (float[2] y) { y = Relu (x) }";
    let folder = Folder::with("in.onnxtxt", text);
    for (edit, version) in [
        ("--operator Relu()=com.acme.Op:fast", 10),
        ("--add-input u=float8e4m3fn[3]", 9),
        ("--add-input u=int4[3]", 10),
    ] {
        onnx(&folder, &format!("edit in.onnxtxt {edit} -o out.onnx"))
            .exits(1)
            .says("IR version 8 of the model does not have what the edit adds")
            .says(&format!("add `--ir-version {version}`"));
        assert_eq!(folder.list(), ["in.onnxtxt"], "{edit}");
        let run = onnx(&folder, &format!("edit in.onnxtxt {edit} --ir-version {version} --dry-run"));
        run.exits(0).says(&format!("the IR version to {version}"));
    }
}

/// Hints about names that the model, the folder or the command does not have.
#[test]
fn names_that_do_not_exist_have_the_nearest() {
    let text = "<ir_version: 10, opset_import: [\"\": 20, \"acme\": 1]>
        g (float[2,3] x, float[1,3,4,4] image) => (float[2,3] y, float[1,3,4,4] z) {
           [\"/m/net/encoder/layer.3/attention/Relu\"] a = Relu (x)
           [\"/m/net/encoder/layer.4/attention/Relu\"] b = acme.Block (a)
           y = Identity (b)
           z = Identity (image)
        }
        <domain: \"acme\", opset_import: [\"\": 20]> Block (a) => (b) { b = Add (a, a) }";
    let folder = Folder::with("in.onnxtxt", text);
    for command in ["edit in.onnxtxt --attribute", "find in.onnxtxt"] {
        let end = if command.starts_with("edit") { ".alpha=1" } else { "" };
        onnx(&folder, &format!("{command} /m/encoder/layer.3/attention/Relu{end}"))
            .told()
            .contains("/m/net/encoder/layer.3/attention/Relu")
            .then_some(())
            .expect(command);
    }
    onnx(&folder, "find in.onnxtxt /other/Relu").lacks("did you mean");
    onnx(&folder, "print in.onnxtxt --at function(acme.Blocks)").exits(2).says("it has `acme.Block`");
    // Only the extension is similar.
    folder.put("f9b.onnx", "");
    onnx(&folder, "info rob.onnx").exits(2).lacks("did you mean");
    folder.put("model.onnx", "");
    onnx(&folder, "info modle.onnx").exits(2).says("did you mean `model.onnx`?");
    onnx(&folder, "info model.onx").exits(2).says("did you mean `model.onnx`?");
    onnx(&folder, "weights list in.onnxtxt --sort-by=-bytes").exits(2).says("with `--sort`");
    onnx(&folder, "edit in.onnxtxt --layout image=NHCW")
        .exits(2)
        .says("`NHCW` is not a layout")
        .says("`NHWC`");
    onnx(&folder, "edit in.onnxtxt --type image=foo").exits(2).says("`uint8`");
    let run = onnx(&folder, "edit in.onnxtxt --type image=uint8").exits(0);
    run.says("with a cast").lacks("cuts off fractions");
    for command in ["info", "check", "hash", "simplify"] {
        crate::run::onnx_with(&folder, command, b"data").exits(2).says(&format!("`onnx {command} -`"));
    }
}
