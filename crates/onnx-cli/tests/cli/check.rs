//! `onnx check` and `onnx debug verify`.

use crate::models;
use crate::run::{Folder, onnx, onnx_with};

#[test]
fn exit_codes_tell_fine_from_wrong_from_unreadable() {
    let folder = Folder::with("good.onnx", models::small());
    folder.put("wrong.onnx", models::wrong());
    folder.put("odd.onnx", models::odd());
    onnx(&folder, "check good.onnx").exits(0).says("good.onnx: no findings");
    onnx(&folder, "check odd.onnx").exits(1).says("error[ONNX1003]").says("node #0 Elu");
    onnx(&folder, "check wrong.onnx").exits(1).says("Rellu");
    onnx(&folder, "check missing.onnx")
        .exits(2)
        .says("error[ONNX8001]: missing.onnx: cannot be read: No such file");
    onnx(&folder, "check good.onnx odd.onnx missing.onnx")
        .exits(2)
        .says("3 models: 1 without errors, 1 with errors");
    onnx(&folder, "check").exits(2).says("`onnx check` needs `<FILE>...`");
}

#[test]
fn a_truncated_file_cannot_be_checked() {
    let whole = models::small();
    let folder = Folder::with("cut.onnx", &whole[..whole.len() / 2]);
    onnx(&folder, "check cut.onnx").exits(2).says("error[ONNX8002]: cut.onnx: cannot be read: at byte 16: ");
    // A graph whose only node claims to have 100 bytes.
    folder.put("node.onnx", b"\x08\x08\x3a\x04\x0a\x64\x0a\x01");
    onnx(&folder, "check node.onnx")
        .exits(2)
        .says("at byte 6 in `graph`: 100 bytes are needed and 2 are left");
    onnx(&folder, "debug verify cut.onnx").exits(2).says("at byte ");
    onnx(&folder, "info cut.onnx").exits(2).says("at byte ");
    let json = onnx(&folder, "check --format json cut.onnx").exits(2).json();
    assert_eq!(json["inputs"][0]["name"], "cut.onnx");
    assert_eq!(json["failures"][0]["input"], 0);
    assert!(json["failures"][0]["message"].as_str().unwrap().contains("at byte"));
}

#[test]
fn files_of_other_kinds_get_advice() {
    let folder = Folder::with("page.onnx", "<!DOCTYPE html><html></html>");
    folder.put("pointer.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    folder.put("json.onnx", "{\"irVersion\": \"8\"}");
    folder.put("binary.json", [0xff; 20]);
    folder.put("syntax.textproto", "<ir_version: 10> g () => () {}");
    onnx(&folder, "check binary.json").exits(2).says("binary.json: this is not text").says("--from onnx");
    onnx(&folder, "check syntax.textproto").exits(2).says("this looks like ONNX text").says("--from onnxtxt");
    onnx(&folder, "check page.onnx").exits(2).says("the download went wrong");
    onnx(&folder, "check pointer.onnx").exits(2).says("git lfs pull");
    onnx(&folder, "check json.onnx").exits(2).says("--from json");
}

#[test]
fn json_is_one_document() {
    let folder = Folder::with("odd.onnx", models::odd());
    folder.put("good.onnx", models::small());
    let json = onnx(&folder, "check --format json odd.onnx good.onnx").exits(1).json();
    let found = &json["findings"][0];
    assert_eq!(found["input"], 0);
    assert_eq!(json["inputs"][0]["name"], "odd.onnx");
    assert_eq!(found["code"], "ONNX1003");
    assert_eq!(found["name"], "attribute-with-several-values");
    assert_eq!(found["severity"], "error");
    assert!(found["place"]["text"].as_str().unwrap().starts_with("graph \"main\" / node #0 Elu"));
    assert_eq!(found["place"]["selector"], "node(0)");
    assert!(found["at"]["byte"].is_u64());
    assert!(json["counts"]["errors"].as_u64() >= Some(1));
    assert_eq!(json["inputs"][1]["name"], "good.onnx");
    assert_eq!(json["failures"].as_array().unwrap().len(), 0);
    let empty = onnx(&folder, "check --format json good.onnx").exits(0).json();
    assert_eq!(empty["findings"].as_array().unwrap().len(), 0);
    let sarif = onnx(&folder, "check --format sarif odd.onnx").exits(1).json();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "ONNX1003");
}

#[test]
fn rules_are_denied_and_allowed() {
    let folder = Folder::with("odd.onnx", models::odd());
    for name in ["ONNX1003", "1003", "attribute-with-several-values"] {
        let run = onnx(&folder, &format!("check odd.onnx --allow {name}"));
        assert!(!run.out.contains("ONNX1003"), "{}", run.out);
    }
    onnx(&folder, "check odd.onnx --deny warnings,notes").exits(1);
    onnx(&folder, "check odd.onnx --deny nonsense").exits(2).says("there is no rule `nonsense`");
    onnx(&folder, "check odd.onnx --allow attribute-with-many-values").exits(2).says("did you mean");
}

#[test]
fn findings_are_limited_but_counted() {
    let folder = Folder::with("wide.onnx", models::wide());
    let all = onnx(&folder, "check --format json --max-findings 0 wide.onnx").exits(1).json();
    let few = onnx(&folder, "check --format json --max-findings 3 wide.onnx").exits(1).json();
    assert_eq!(few["findings"].as_array().unwrap().len(), 3);
    assert_eq!(few["counts"]["errors"], all["counts"]["errors"]);
    assert_eq!(all["counts"]["dropped"], 0);
    onnx(&folder, "check --max-findings 3 wide.onnx").exits(1).says("more of ONNX");
    let lines = onnx(&folder, "check --max-findings 3 --concise wide.onnx").exits(1);
    assert!(
        lines.out.lines().filter(|line| line.starts_with("wide.onnx: error[")).count() == 3,
        "{}",
        lines.out
    );
}

#[test]
fn directories_are_searched() {
    let folder = Folder::with("models/a.onnx", models::small());
    folder.put("models/deep/b.ONNX", models::small());
    folder.put("models/notes.txt", "no model");
    // Hidden names are not searched, unless they are given.
    folder.put("models/.cache/c.onnx", models::small());
    folder.put("models/._a.onnx", "no model");
    folder.put("empty/.git/d.onnx", models::small());
    let json = onnx(&folder, "check --format json models").exits(0).json();
    let files: Vec<_> = json["inputs"].as_array().unwrap().iter().map(|f| &f["name"]).collect();
    assert_eq!(files, ["models/a.onnx", "models/deep/b.ONNX"]);
    onnx(&folder, "check empty").exits(2).says("no *.onnx file under `empty`");
    onnx(&folder, "debug verify models").exits(0);
    onnx(&folder, "check models/.cache empty/.git/d.onnx").exits(0).says("2 models: 2 without errors");
    onnx(&folder, "check models/.cache empty").exits(2);
}

#[test]
fn standard_input_is_a_model() {
    let folder = Folder::new();
    onnx_with(&folder, "check -", &models::small()).exits(0).says("<stdin>: no findings");
    onnx_with(&folder, "check - --from textproto", b"ir_version: 8").exits(1).says("ONNX1008");
    onnx_with(&folder, "check - --from textproto", b"ir_version: x").exits(2).says("line 1, column 13");
}

#[test]
fn texts_have_no_byte_offsets() {
    let folder = Folder::with("odd.onnx", models::odd());
    onnx(&folder, "convert odd.onnx -o odd.json --keep-going").exits(1);
    let json = onnx(&folder, "check --format json odd.json").json();
    assert_eq!(json["findings"][0]["code"], "ONNX1003");
    assert!(json["findings"][0]["at"]["byte"].is_null());
}

#[test]
fn missing_external_data_are_found() {
    let folder = Folder::with("model.onnx", models::external("w.data"));
    onnx(&folder, "check model.onnx").exits(1).says("ONNX2513").says("w.data");
    folder.put("w.data", [0; 1999]);
    onnx(&folder, "check model.onnx").exits(1).says("ONNX2514").says("1999");
    folder.put("w.data", [0; 2000]);
    onnx(&folder, "check model.onnx").exits(0);
    folder.put("escape.onnx", models::external("../w.data"));
    onnx(&folder, "check escape.onnx").exits(1).says("ONNX2511");
}

#[test]
fn parts_are_checked_alone() {
    let folder = Folder::new();
    let part = |text: &str, what: &str| {
        folder.put("part.txt", text);
        onnx(&folder, &format!("convert part.txt --as {what} -o {what}.pb")).exits(0);
    };
    part("y = Relu (x)", "node");
    onnx(&folder, "check node.pb --as node").exits(0);
    onnx(&folder, "check node.pb --as node --opset =21 --ir-version 10").exits(0);
    onnx(&folder, "check node.pb --as node --opset my=1").exits(1).says("ONNX2301").says("node #0 Relu");
    onnx(&folder, "check node.pb --as node --opset 21").exits(2).says("`=21`");
    part("g (float[1] x) => (float[1] y) { y = Relu (z) }", "graph");
    onnx(&folder, "check graph.pb --as graph").exits(1).says("ONNX2313");
    part("<domain: \"d\", opset_import: [\"\" : 13]> f (x) => (y) { y = Relu (x) }", "function");
    onnx(&folder, "check function.pb --as function").exits(0);
    onnx(&folder, "check function.pb --as function --opset =14").exits(1).says("ONNX2650");
    // `alpha`, a float without its kind; a tensor of one float without data; a value without a type.
    folder.put("attribute.pb", b"\x0a\x05alpha\x15\0\0\x80\x3f");
    onnx(&folder, "check attribute.pb --as attribute").exits(1).says("ONNX2403").says("attribute \"alpha\"");
    onnx(&folder, "check attribute.pb --as attribute --ir-version 1").exits(0);
    folder.put("tensor.pb", b"\x08\x01\x10\x01");
    onnx(&folder, "check tensor.pb --as tensor").exits(1).says("ONNX25").says("tensor");
    folder.put("sparse.pb", b"");
    onnx(&folder, "check sparse.pb --as sparse-tensor").exits(1).says("values");
    folder.put("info.pb", b"\x0a\x01x");
    onnx(&folder, "check info.pb --as value-info").exits(1).says("ONNX2901");
    folder.put("model.onnx", models::small());
    onnx(&folder, "check model.onnx --ir-version 8").exits(2).says("states its IR version");
    onnx(&folder, "check part.txt --from onnxtxt --as tensor").exits(2).says("binary form");
    onnx(&folder, "print tensor.pb --as tensor")
        .exits(2)
        .says("the values are `model`, `graph`, `function`, `node`");
}

#[test]
fn models_are_repaired_in_place() {
    let folder = Folder::new();
    let text = "<ir_version: 10, opset_import: [\"\" : 18]> g (float[1] x) => (float[1] z) {
        [n] z = Relu (y)
        [n] y = Abs (x)
    }";
    folder.put("model.txt", text);
    onnx(&folder, "convert model.txt -o model.onnx").exits(0);
    let before = folder.get("model.onnx");
    let dry =
        onnx(&folder, "check --fix --dry-run model.onnx").exits(0).says("would be repaired").says("ONNX2312");
    assert!(dry.out.contains("+   [n_1] y = Abs (x)\n"), "{}", dry.out);
    assert!(dry.out.contains("-   [n] y = Abs (x)\n"), "{}", dry.out);
    assert_eq!(folder.get("model.onnx"), before);
    let report = onnx(&folder, "check --fix --dry-run model.onnx --format json").exits(0).json();
    let output = report["outputs"][0].clone();
    assert_eq!((&output["name"], &output["written"]), (&"model.onnx".into(), &false.into()));
    let done = onnx(&folder, "check --fix model.onnx").exits(0).says("[n_1]").says("no findings");
    // Both print the same.
    assert_eq!(done.out, dry.out.replace("would be repaired", "repaired"));
    let after = folder.get("model.onnx");
    assert_ne!(after, before);
    assert_eq!(output["bytes"], after.len());
    let again = onnx(&folder, "check --fix model.onnx").exits(0);
    assert!(!again.out.contains("repaired"), "{}", again.out);
    assert_eq!(folder.get("model.onnx"), after);
    folder.put("model.onnx", before);
    onnx(&folder, "convert model.onnx -o model.json").exits(0);
    let json = onnx(&folder, "check --fix --format json model.json").exits(0).json();
    assert_eq!(json["findings"].as_array().unwrap().len(), 0);
    onnx(&folder, "check --fix model.txt --from onnxtxt").exits(2).says("comments would be lost");
    onnx_with(&folder, "check --fix -", &after).exits(2).says("only models in files");
    onnx(&folder, "check --dry-run model.onnx").exits(2);
    assert_eq!(folder.list().len(), 3);
}

#[test]
fn inference_finds_nothing_in_a_good_model() {
    let folder = Folder::with("good.onnx", models::small());
    let json = onnx(&folder, "check --full --format json good.onnx").exits(0).json();
    assert_eq!(json["findings"].as_array().unwrap().len(), 0);
}

#[test]
fn many_files_are_told_of_in_their_order() {
    let folder = Folder::new();
    for index in 0..40 {
        let model = if index % 3 == 0 { models::odd() } else { models::small() };
        folder.put(&format!("models/{index:02}.onnx"), model);
    }
    folder.put("models/cut.onnx", &models::small()[..20]);
    let first = onnx(&folder, "check --concise models")
        .exits(2)
        .says("41 models: 26 without errors, 14 with errors, 1 ");
    for _ in 0..3 {
        assert_eq!(onnx(&folder, "check --concise models").out, first.out);
    }
    let json = onnx(&folder, "check --format json models missing.onnx").exits(2).json();
    let files: Vec<_> =
        json["inputs"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(files.len(), 42);
    assert!(files[..41].is_sorted() && files[41] == "missing.onnx", "{files:?}");
    assert_eq!(json["failures"].as_array().unwrap().len(), 2);
}

#[test]
fn structure_is_verified() {
    let folder = Folder::with("rich.onnx", models::rich());
    onnx(&folder, "debug verify rich.onnx").exits(0).says("rich.onnx: sound (8 nodes");
    onnx(&folder, "debug verify rich.onnx --no-map missing.onnx").exits(2).says("sound");
}

#[test]
fn nothing_acts_on_the_terminal() {
    let folder = Folder::with("hostile.onnx", models::hostile());
    for args in [
        "check hostile.onnx",
        "check --format json hostile.onnx",
        "check --format sarif hostile.onnx",
        "check --concise hostile.onnx",
        "info hostile.onnx",
        "info --all hostile.onnx",
        "info --format json hostile.onnx",
        "debug verify hostile.onnx",
        "check \u{1b}[2J.onnx",
        "check --allow \u{1b}[2J hostile.onnx",
        "explain \u{1b}[2J",
        "convert hostile.onnx -o out.\u{1b}[2J",
        "convert hostile.onnx -o out.onnx --weights external=\u{1b}[2J/x",
    ] {
        let run = onnx(&folder, args);
        for text in [run.out, run.err] {
            let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(acts), "{args}: {text:?}");
        }
    }
}

#[test]
fn the_profile_of_the_reference_has_only_its_rules() {
    let model = r#"<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[1, 4, 2, 2] x) => (float[1, 1, 4, 4] y) {
           a = DepthToSpace <blocksize = 2, mode = "other"> (x)
           y = my.Op (a)
        }"#;
    let folder = Folder::with("model.onnxtxt", model);
    onnx(&folder, "check model.onnxtxt").exits(1).says("error[ONNX2411]");
    onnx(&folder, "check --profile reference model.onnxtxt").exits(0).says("no findings");
    onnx(&folder, "check --profile reference --check-custom-domains model.onnxtxt").exits(1).says("Op");
}

/// The signatures of onnxruntime are known by default; operators that other builds of it have are accepted.
#[test]
fn calls_of_operators_of_onnxruntime_are_checked() {
    let text = r#"<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>
        g (float[2, 3] x, float[3] b) => (float[2, 3] y) {
            z = com.microsoft.BiasGelu <alpah = 1> (x)
            w = com.microsoft.NotInThisBuild (z)
            y = com.microsoft.BiasGelu (x, b)
        }"#;
    let folder = Folder::with("model.onnxtxt", text);
    onnx(&folder, "check model.onnxtxt")
        .exits(1)
        .says("`BiasGelu` takes 2 inputs, but the node has 1")
        .says("`BiasGelu` has no attribute `alpah`")
        .says("the signature is that of com.microsoft.BiasGelu-1")
        .says("model.onnxtxt: 2 errors");
}

/// Shapes that do not fit are mostly right except for the order of their axes.
#[test]
fn the_order_of_axes_is_recognized() {
    let model = r#"<ir_version: 10, opset_import: ["": 18]> g (float[N, 3, 8, 16] image) => (float[N, 3, 8, 16] y) { y = Relu (image) }"#;
    let folder = Folder::with("in.onnxtxt", model);
    let text = onnx(&folder, "check in.onnxtxt --shapes image=2x8x16x3").exits(1).out;
    assert!(text.contains("the axes seem to be NHWC: NumPy's `x.transpose(0, 3, 1, 2)`"), "{text}");
    assert!(text.contains("`onnx edit MODEL --layout 'image=NHWC' -o NEW`"), "{text}");
    // Three axes differ, and the advice is about the shape.
    assert_eq!((text.matches("error[ONNX3022]").count(), text.matches("--layout").count()), (3, 1), "{text}");
    let text = onnx(&folder, "check in.onnxtxt --shapes image=3x8x16").exits(1).out;
    assert!(text.contains("NumPy's `x[None]` adds it"), "{text}");
    let text = onnx(&folder, "check in.onnxtxt --shapes image=2x3x8x15").exits(1).out;
    assert!(text.contains("give a shape of [N, 3, 8, 16]"), "{text}");
}

#[test]
fn given_shapes_are_tested() {
    let model = r#"<ir_version: 10, opset_import: ["": 18]>
        g (float[B, S] x, float[B] w, float s) => (float[B, R] y)
        <int64[1] one = {1}, int64[1] all = {9223372036854775807}, int64[1] axis = {1}>
        { y = Slice (x, one, all, axis) }"#;
    let folder = Folder::with("in.onnxtxt", model);
    onnx(&folder, "check in.onnxtxt --shapes x=2x128,w=2,s=").exits(0);
    onnx(&folder, "check in.onnxtxt --shapes x=2x128 --shapes w=2").exits(0);
    let text = onnx(&folder, "check in.onnxtxt --shapes x=2x128,w=3").exits(1).out;
    assert!(text.contains("dimension 0 of input `w` is B, which is 2, and 3 is given"), "{text}");
    let text = onnx(&folder, "check in.onnxtxt --shapes x=2x0").exits(1).out;
    assert!(text.contains("1 <= S does not hold: the slice omits one element of the axis"), "{text}");
    assert!(text.contains("S is 0"), "{text}");
    let text = onnx(&folder, "check in.onnxtxt --shapes x=2,s=4").exits(1).out;
    assert!(text.contains("input `x` has rank 2, and a shape of rank 1 is given"), "{text}");
    assert!(text.contains("input `s` has rank 0, and a shape of rank 1 is given"), "{text}");
    assert!(text.contains("give a shape of []"), "{text}");
    let text = onnx(&folder, "check in.onnxtxt --shapes q=2").exits(2).err;
    assert!(text.contains("no input `q`"), "{text}");
    onnx(&folder, "check in.onnxtxt --shapes x=2x-1").exits(2);
    onnx(&folder, "check in.onnxtxt --shapes x").exits(2);
    onnx(&folder, "check in.onnxtxt --shapes x=1x1,x=1x1").exits(2);
}

/// The number of threads changes neither the order nor the contents of a report.
#[test]
fn jobs_do_not_change_the_report() {
    let folder = Folder::new();
    for index in 0..40 {
        let model = if index % 3 == 0 { models::odd() } else { models::small() };
        folder.put(&format!("models/{index:02}.onnx"), model);
    }
    for format in ["text", "json", "jsonl"] {
        let args = format!("check models missing.onnx models --format {format}");
        let one = onnx(&folder, &format!("{args} --jobs 1")).exits(2);
        assert!(one.out.matches("39.onnx").count() >= 2);
        for jobs in [2, 7] {
            let several = onnx(&folder, &format!("{args} --jobs {jobs}")).exits(2);
            assert_eq!((&several.out, &several.err), (&one.out, &one.err), "{format} {jobs}");
        }
    }
    onnx(&folder, "check models --jobs 0").exits(2).says("--jobs");
}

/// Everything that a runtime lacks is listed at once.
#[test]
fn what_a_target_tolerates_is_a_warning() {
    let model = |outputs: &str, body: &str| {
        format!("<ir_version: 10, opset_import: [\"\": 21]> g (float[2,3] x) => ({outputs} y) {{ {body} }}")
    };
    let folder = Folder::with("in.onnxtxt", model("float[2,4]", "y = Neg (x)"));
    folder.put("unsorted.onnxtxt", model("float[2,3]", "y = Neg (t) t = Abs (x)"));
    let device = r#"<ir_version: 11, opset_import: ["": 21], configuration: [{name: "d"}]>"#;
    folder.put("device.onnxtxt", format!("{device} g (float[2] x) => (float[2] y) {{ y = Neg (x) }}"));
    for (file, rule) in
        [("in.onnxtxt", "ONNX3025"), ("unsorted.onnxtxt", "ONNX2312"), ("device.onnxtxt", "ONNX2803")]
    {
        onnx(&folder, &format!("check {file}")).exits(1).says(&format!("error[{rule}]"));
        let for_target = format!("check {file} --target onnxruntime");
        onnx(&folder, &for_target).exits(0).says(&format!("warning[{rule}]"));
        onnx(&folder, &format!("{for_target} --deny warnings")).exits(1);
        onnx(&folder, &format!("{for_target} --deny {rule}")).exits(1).says("1 error");
    }
    let cycle = model("float[2,3]", "t = Add (x, t) y = Neg (t)");
    folder.put("cycle.onnxtxt", cycle);
    onnx(&folder, "check cycle.onnxtxt --target onnxruntime").exits(1).says("loads no graph with a cycle");
    let target = r#"{"schema": "onnx-target/1", "name": "npu", "version": "2", "tolerates": ["ONNX9999"],
        "operators": [{"name": "Neg", "kernels": [{"since": 6}]}, {"name": "Abs", "kernels": [{"since": 6}]}]}"#;
    folder.put("npu.json", target);
    onnx(&folder, "check in.onnxtxt --target npu.json").exits(2).says("no rule `ONNX9999`");
}

/// A rule that is tolerated in places is one if all of its errors are there.
#[test]
fn what_a_target_tolerates_in_places() {
    let text = |main: &str, nested: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (bool c, float[2] x) => (float[2] y) {{
                h = {main} (x)
                y = If (c) <then_branch = t () => (float[2] p) {{ p = {nested} (h) }},
                            else_branch = e () => (float[2] q) {{ q = Abs (h) }}> }}"#
        )
    };
    let folder = Folder::with("main.onnxtxt", text("ai.onnx.Neg", "Neg"));
    folder.put("nested.onnxtxt", text("Neg", "ai.onnx.Neg"));
    folder.put("both.onnxtxt", text("ai.onnx.Neg", "ai.onnx.Neg"));
    onnx(&folder, "check main.onnxtxt").exits(1).says("error[ONNX2302]");
    let target = "--target onnxruntime";
    onnx(&folder, &format!("check main.onnxtxt {target}")).exits(0).says("warning[ONNX2302]");
    onnx(&folder, &format!("check main.onnxtxt {target} --deny ONNX2302")).exits(1).says("error[ONNX2302]");
    onnx(&folder, &format!("check main.onnxtxt {target} --deny warnings")).exits(1);
    onnx(&folder, &format!("check main.onnxtxt {target} --allow ONNX2302")).exits(0).says("no findings");
    onnx(&folder, &format!("check nested.onnxtxt {target}")).exits(1).says("error[ONNX2302]");
    onnx(&folder, &format!("check both.onnxtxt {target}")).exits(1).says("2 errors");
}

/// Constants of the main graph are initializers before anything is checked; what inference finds is tolerated in places, too.
#[test]
fn what_a_target_tolerates_at_operators() {
    let (main, nested) = ("h = Constant <value_float = 1.0, other = 1> ()", "p = Abs (x)");
    let text = |main: &str, nested: &str, declared: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 16]> g (bool c, float[2] x) => (float[2] y) <{declared}> {{
                {main}
                y = If (c) <then_branch = t () => (float[2] p) {{ {nested} }},
                            else_branch = e () => (float[2] q) {{ q = Abs (x) }}> }}"#
        )
    };
    let constant = "h = Constant <value_float = 1.0> ()";
    let cases = [
        (text(main, nested, ""), Some("ONNX2401")),
        (text("h = Constant <value_float = 1.0, value_float = 1.0> ()", nested, ""), Some("ONNX2311")),
        (text(constant, nested, "int64 h"), Some("ONNX3016")),
        (text("h = LayerNormalization (x, x)", nested, ""), Some("ONNX2303")),
        (text(constant, "p = Constant <value_floats = [1.0, 2.0], other = 1> ()", ""), None),
        (text(&format!("{constant} i = Neg (h)"), nested, "int64 h, int64 i"), None),
        (text("h = Gelu (x)", nested, ""), None),
    ];
    for (text, tolerated) in cases {
        let folder = Folder::with("in.onnxtxt", text);
        onnx(&folder, "check in.onnxtxt").exits(1).says("error[");
        let run = onnx(&folder, "check in.onnxtxt --target onnxruntime");
        match tolerated {
            Some(rule) => run.exits(0).says(&format!("warning[{rule}]")),
            None => run.exits(1).says("error["),
        };
    }
}

#[test]
fn what_a_target_refuses_is_an_error() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2] x) => (float[2] y) { [same] a = Neg (x) [same] y = Abs (a) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "check in.onnxtxt").exits(0).says("warning[ONNX2205]");
    onnx(&folder, "check in.onnxtxt --target onnxruntime").exits(1).says("error[ONNX2205]");
    onnx(&folder, "check in.onnxtxt --target onnxruntime --allow ONNX2205").exits(0);
    let target = r#"{"schema": "onnx-target/1", "name": "npu", "version": "2", "refuses": ["ONNX9999"],
        "operators": [{"name": "Neg", "kernels": [{"since": 6}]}]}"#;
    folder.put("npu.json", target);
    onnx(&folder, "check in.onnxtxt --target npu.json").exits(2).says("no rule `ONNX9999`");
}

#[test]
fn what_a_target_lacks() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "com.acme": 1, "ai.onnx.ml": 3]>
g (bfloat16[2] x, float16[2] h) => (bfloat16[2] y, float16[2] z) {
   a = Acos (x)
   y = com.acme.Custom (a)
   z = Relu (h)
}"#;
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "check in.onnxtxt --target onnxruntime --concise").exits(1);
    assert!(run.out.contains("no `Acos` (version 7) for `T` = tensor(bfloat16)"), "{}", run.out);
    assert!(run.out.contains("no operator `com.acme.Custom`"), "{}", run.out);
    assert!(!run.out.contains("Relu"), "{}", run.out);
    let target = r#"{"schema": "onnx-target/1", "name": "npu", "version": "2", "ir_version": 8, "opset": {"": 20},
        "operators": [{"name": "Relu", "kernels": [{"since": 6, "until": 13}]}]}"#;
    folder.put("npu.json", target);
    let run = onnx(&folder, "check in.onnxtxt --target npu.json --concise").exits(1);
    for says in [
        "IR versions up to 8, not 10",
        "`ai.onnx` up to version 20, not 21",
        "no version 14 of `Relu`",
        "no operator `Acos`",
    ] {
        assert!(run.out.contains(says), "{says}: {}", run.out);
    }
    folder
        .put("wrong.json", r#"{"schema": "onnx-target/2", "name": "npu", "version": "2", "operators": []}"#);
    onnx(&folder, "check in.onnxtxt --target wrong.json").exits(2).says("onnx-target/1");
    let target = "{\"schema\": \"onnx-target/1\", \"name\": \"npu\", \"version\": \"2\", \"operators\": [\n\
        {\"name\": \"Relu\", \"kernels\": [{\"since\": 6, \"types\": [{\"T\": [\"tensor(float)\"]}]}]},\n\
        {\"name\": \"Exp\", \"kernels\": [{\"since\": 6, \"types\": [{\"U\": [\"tensor(float)\"]}]}]}\n]}";
    folder.put("variable.json", target);
    onnx(&folder, "check in.onnxtxt --target variable.json")
        .exits(2)
        .says("`Exp` has no type variable `U`, but `T`, from version 6 on at line 3 column");
    onnx(&folder, "check in.onnxtxt --target absent").exits(2).says("no target is named `absent`");
    onnx(&folder, "explain --list targets").exits(0).says("onnxruntime");
}

#[test]
fn repaired_models_are_written_to_another_file() {
    let text = r#"<ir_version: 10, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu (h) h = Exp (x) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "convert in.onnxtxt --keep-going -o in.onnx");
    let before = folder.get("in.onnx");
    let run = onnx(&folder, "check --fix in.onnx -o out.onnx").exits(0).says("wrote out.onnx");
    assert!(
        run.out.contains("ONNX2312 node-not-sorted") && run.out.contains("out.onnx: no findings"),
        "{}",
        run.out
    );
    assert_eq!(folder.get("in.onnx"), before);
    onnx(&folder, "check out.onnx").exits(0);
    // A text keeps its comments, as it is not replaced.
    onnx(&folder, "check --fix in.onnxtxt -o text.onnx").exits(0);
    onnx(&folder, "check --fix in.onnx -o none.onnx --dry-run").exits(0).says("would be repaired");
    onnx(&folder, "check in.onnx -o none.onnx").exits(2).says("--fix");
    onnx(&folder, "check --fix in.onnx out.onnx -o none.onnx").exits(2).says("several models");
    assert!(!folder.path().join("none.onnx").exists());
}
