//! What reports say is so: counts, selectors, reasons and advice.

use crate::run::{Folder, onnx, onnx_words};

/// A cast whose output declares another type.
const DECLARED: &str = r#"<ir_version: 8, opset_import: ["": 17]>
g (float[n] x) => (float16[n] y) { y = Cast <to = 1> (x) }"#;

/// A bias that does not fit whatever the batch.
const BIAS: &str = r#"<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 8] x) => (float[batch, 4] y) <float[8, 4] w = splat {0.5}, float[5] b = splat {1}> {
   h = MatMul (x, w)
   y = Add (h, b)
}"#;

/// Operands of two types.
const TYPES: &str = r#"<ir_version: 8, opset_import: ["": 17]>
g (float16[n] x, float[n] z) => (float[n] y) { y = Add (x, z) }"#;

/// A model with this number of wrong declarations.
fn many(count: usize) -> String {
    let nodes: Vec<String> = (0..count).map(|index| format!("v{index} = Cast <to = 1> (x)")).collect();
    let outputs: Vec<String> = (0..count).map(|index| format!("float16[n] v{index}")).collect();
    format!(
        "<ir_version: 8, opset_import: [\"\": 17]>\ng (float[n] x) => ({}) {{ {} }}",
        outputs.join(", "),
        nodes.join(" ")
    )
}

/// The check of a model is everything that costs little; that of the reference is a profile.
#[test]
fn a_check_infers() {
    let folder = Folder::new();
    for (name, text) in [("declared.onnxtxt", DECLARED), ("bias.onnxtxt", BIAS), ("types.onnxtxt", TYPES)] {
        folder.put(name, text);
        onnx(&folder, &format!("check {name}")).exits(1).says("error[ONNX3");
        onnx(&folder, &format!("check {name} --target onnxruntime")).exits(1).says("error[ONNX3");
        onnx(&folder, &format!("check {name} --full")).exits(1).says("error[ONNX3");
        onnx(&folder, &format!("check {name} --fast")).exits(0).says("no findings");
        onnx(&folder, &format!("check {name} --profile reference")).exits(0).says("no findings");
        onnx(&folder, &format!("check {name} --profile reference --full")).exits(1);
    }
    onnx(&folder, "check types.onnxtxt --fast --full").exits(2);
}

#[test]
fn counts_have_no_limit() {
    let folder = Folder::with("m.onnxtxt", many(150));
    for most in ["", " --max-findings 0", " --max-findings 7"] {
        let report = onnx(&folder, &format!("check m.onnxtxt --format json{most}")).exits(1).json();
        let kept = report["findings"].as_array().unwrap().len();
        assert_eq!(report["counts"]["errors"], 150, "{most}");
        assert_eq!(report["counts"]["dropped"], 150 - kept, "{most}");
    }
    onnx(&folder, "check m.onnxtxt").exits(1).says("150 errors");
}

/// A selector by a diagnostic denotes the elements that the check reports, all of them.
#[test]
fn a_selector_finds_what_the_check_finds() {
    let folder = Folder::with("many.onnxtxt", many(150));
    folder.put("types.onnxtxt", TYPES);
    folder.put("bias.onnxtxt", BIAS);
    for name in ["many.onnxtxt", "types.onnxtxt", "bias.onnxtxt"] {
        let report = onnx(&folder, &format!("check {name} --max-findings 0 --format json")).exits(1).json();
        for (code, count) in report["counts"]["by_code"].as_object().unwrap() {
            let found = onnx(&folder, &format!("find {name} finding({code}) --count")).exits(0);
            assert_eq!(found.out.trim(), count.to_string(), "{name} {code}");
        }
    }
}

#[test]
fn not_a_number_in_a_weight_is_named() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[n, 2] x) => (float[n, 2] y) <float[2, 2] w = {1, nan, 0, 1}> {
            h = Relu (x)
            y = MatMul (h, w)
        }"#;
    let folder = Folder::with("m.onnxtxt", text);
    let run = onnx(&folder, "run m.onnxtxt --set n=2").exits(0).says("ONNX5014");
    assert!(
        run.err.contains("the elements of the weight have NaN") && run.err.contains("\"w\""),
        "{}",
        run.err
    );
    assert!(run.err.contains("MatMul"), "{}", run.err);
    // What the help says can be done.
    assert!(run.err.contains("`onnx weights show MODEL --at NAME`"), "{}", run.err);
    onnx(&folder, "weights show m.onnxtxt --at w").exits(0).says("NaN");
    onnx(&folder, "run m.onnxtxt --set n=2 --deny warnings").exits(1);
}

/// A failure that no size causes does not accuse sizes.
#[test]
fn sizes_are_blamed_only_if_they_can_be_the_cause() {
    let folder = Folder::with("types.onnxtxt", TYPES);
    folder.put("bias.onnxtxt", BIAS);
    for command in ["run types.onnxtxt --set n=2", "run bias.onnxtxt --set batch=2", "run bias.onnxtxt"] {
        let run = onnx(&folder, command).exits(1).says("`onnx check MODEL` shows");
        assert!(!run.err.contains("of `--set"), "{}", run.err);
    }
    let open = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[a] x, float[b] z) => (float[c] y) { y = Add (x, z) }"#;
    folder.put("open.onnxtxt", open);
    onnx(&folder, "run open.onnxtxt --set a=2 --set b=3").exits(1).says("--set");
}

#[test]
fn nothing_compared_is_not_a_difference() {
    let model = |input: &str| {
        format!(
            "<ir_version: 8, opset_import: [\"\": 17]>\ng (float[n] {input}) => (float[n] y) {{ y = Relu ({input}) }}"
        )
    };
    let folder = Folder::with("a.onnxtxt", model("x"));
    folder.put("b.onnxtxt", model("data"));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(2).says("nothing was compared");
    assert!(run.err.contains("`--map x=data` pairs them") && !run.out.contains("differ"), "{}", run.err);
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --map x=data").exits(0).says("the models agree");
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --map x=y").exits(2);
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --map q=data")
        .exits(2)
        .says("the first model has no value `q`");
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --map x").exits(2).says("is not A=B");
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --map x=data --map y=data")
        .exits(2)
        .says("names a value twice");
}

/// Two exports of one model, with other names and another constant.
#[test]
fn values_with_other_names_are_compared_by_structure() {
    let folder = Folder::with(
        "a.onnxtxt",
        r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[4] x) => (float[4] y) <float c = {2}> {
            a1 = Exp (x)
            a2 = Mul (a1, c)
            y = Tanh (a2)
        }"#,
    );
    folder.put(
        "b.onnxtxt",
        r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[4] x) => (float[4] y) <float k = {2.5}> {
            b1 = Exp (x)
            b2 = Mul (b1, k)
            y = Tanh (b2)
        }"#,
    );
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all").exits(1);
    assert!(run.err.contains("2 values with different names correspond"), "{}", run.err);
    assert!(
        run.out.contains("inner values diverge after the node Mul `b2`") || run.out.contains("Mul `a2`"),
        "{}",
        run.out
    );
    let rows: Vec<&str> = run.out.lines().skip_while(|line| !line.contains("SNR dB")).skip(1).collect();
    assert_eq!(rows.len(), 3, "{}", run.out);
    assert!(rows.iter().any(|row| row.contains("equal") && row.contains("a1")), "{}", run.out);
    let json =
        onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all --runs 1 --format json").exits(1).json();
    let values = json["result"]["runs"][0]["values"].as_array().unwrap();
    assert_eq!(values.len(), 3);
    assert_eq!((&values[0]["name"], &values[0]["name_in_b"]), (&"a1".into(), &"b1".into()));
    assert_eq!(values[0]["similarity"]["signal_to_noise"], "Infinity");
    assert!(values[1]["similarity"]["cosine"].as_f64().unwrap() > 0.99, "{values:?}");
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --all").exits(2);
}

#[test]
fn names_are_whole_in_a_pipe() {
    let name = "/model/encoder/layers.0/attention/self_attention/projection/output/dense/Relu_of_the_layer";
    let text = format!(
        "<ir_version: 8, opset_import: [\"\": 17]>\ng (float[n] x) => (float[n] y) {{ [\"{name}\"] y = Relu (x) }}"
    );
    let folder = Folder::with("m.onnxtxt", text);
    assert!(onnx(&folder, "find m.onnxtxt Relu()").exits(0).out.contains(name));
    // A name that a terminal cut is still found.
    let cut: String = name.chars().take(72).collect();
    onnx(&folder, &format!("print m.onnxtxt --at {cut}…")).exits(0).says("Relu");
    onnx(&folder, &format!("find m.onnxtxt {cut}…")).exits(0).says(name);
}

/// A contradiction is an error for every command, and a model with one is not written unless that is asked for.
#[test]
fn inference_refuses_contradictions() {
    let folder = Folder::with("m.onnxtxt", many(30));
    let run = onnx(&folder, "infer m.onnxtxt -o out.onnx").exits(1).says("error[ONNX3016]");
    assert_eq!(run.err.matches("error[ONNX3016]").count(), 10, "{}", run.err);
    assert!(run.err.contains("30 errors") && run.err.contains("--merge override"), "{}", run.err);
    assert_eq!(folder.list(), ["m.onnxtxt"]);
    onnx(&folder, "infer m.onnxtxt -o out.onnx --merge override").exits(0);
    onnx(&folder, "check out.onnx").exits(0);
    onnx(&folder, "infer m.onnxtxt -o kept.onnx --keep-going").exits(0);
    onnx(&folder, "infer m.onnxtxt --unknown").exits(0);
}

/// What `--merge override` cannot repair is still an error: where a declared type is right and a node wrong, inferred types only
/// move the contradiction.
#[test]
fn inferred_types_do_not_repair_a_wrong_node() {
    let cast = "<ir_version: 10, opset_import: [\"\": 20]>\ng (float[2] x, float16[2] h) => (float16[2] y)\n<float16[2] c>\n\
                { c = Cast <to = 1> (x)  y = Add (c, h) }";
    let folder = Folder::with("m.onnxtxt", cast);
    onnx(&folder, "infer m.onnxtxt -o out.onnx --merge override").exits(1).says("error[ONNX3002]");
    assert_eq!(folder.list(), ["m.onnxtxt"]);
    onnx(&folder, "check m.onnxtxt").exits(1).says("finding(ONNX3016).to=float16");
    let repair =
        ["edit", "m.onnxtxt", "--attribute", "Cast() & finding(ONNX3016).to=float16", "-o", "out.onnx"];
    onnx_words(&folder, repair.into_iter()).exits(0);
    onnx(&folder, "check out.onnx").exits(0);
}

/// The report of a command that writes nothing is its result.
#[test]
fn what_would_be_done_is_on_standard_output() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[n] x) => (float[n] y) { h = Identity (x) k = Relu (h) y = Identity (k) }"#;
    let folder = Folder::with("m.onnxtxt", text);
    for command in
        ["simplify", "infer", "edit --rename h=j", "rewrite --pass no-identities", "extract --outputs k"]
    {
        let dry = onnx(&folder, &format!("{command} m.onnxtxt")).exits(0);
        assert!(dry.err.is_empty() && dry.out.contains("would write"), "{command}\n{}\n{}", dry.out, dry.err);
        let dry = onnx(&folder, &format!("{command} m.onnxtxt -o out.onnx --dry-run")).exits(0);
        assert!(dry.err.is_empty() && dry.out.contains("would write out.onnx"), "{command}");
        let done = onnx(&folder, &format!("{command} m.onnxtxt -o out.onnx")).exits(0);
        assert!(done.out.is_empty() && done.err.contains("wrote out.onnx"), "{command}");
        let quiet = onnx(&folder, &format!("{command} m.onnxtxt -q")).exits(0);
        assert!(quiet.out.is_empty() && quiet.err.is_empty(), "{command}\n{}", quiet.out);
    }
    // Between everything and nothing.
    let all = onnx(&folder, "simplify m.onnxtxt -o out.onnx").exits(0).err;
    let brief = onnx(&folder, "simplify m.onnxtxt -o out.onnx --brief").exits(0).err;
    assert!(all.contains("->       0  Identity") && !brief.contains("  Identity"), "{brief}");
    assert_eq!(brief.lines().count(), 2, "{brief}");
    let piped = onnx(&folder, "simplify m.onnxtxt -o -").exits(0).err;
    assert!(!piped.contains("  Identity"), "{piped}");
    // Only errors.
    let quiet = onnx(&folder, "check m.onnxtxt -q").exits(0);
    assert!(quiet.out.is_empty() && quiet.err.is_empty(), "{}", quiet.out);
    folder.put("wrong.onnxtxt", TYPES);
    let quiet = onnx(&folder, "check m.onnxtxt wrong.onnxtxt -q").exits(1);
    assert!(!quiet.out.contains("m.onnxtxt: no findings") && quiet.out.contains("ONNX3002"), "{}", quiet.out);
}

#[test]
fn small_edits_are_judged_before_they_are_written() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[1, 3, 4, 4] x) => (float16[1, 3, 4, 4] y) { ["a.b"] h = LeakyRelu (x) y = Cast <to = 1> (h) }"#;
    let folder = Folder::with("m.onnxtxt", text);
    onnx(&folder, "check m.onnxtxt").exits(1);
    onnx(&folder, "edit m.onnxtxt --attribute Cast().to=float16 -o out.onnx")
        .exits(0)
        .says("changed 1 attribute");
    onnx(&folder, "check out.onnx").exits(0);
    onnx(&folder, "edit out.onnx --attribute a.b.alpha=1 -o b.onnxtxt").exits(0);
    assert!(String::from_utf8(folder.get("b.onnxtxt")).unwrap().contains("alpha = 1.0"));
    onnx(&folder, "edit b.onnxtxt --attribute a.b.alpha= -o c.onnxtxt").exits(0);
    assert!(!String::from_utf8(folder.get("c.onnxtxt")).unwrap().contains("alpha"));
    onnx(&folder, "edit out.onnx --attribute Cast().to=nothing").exits(2).says("is not int");
    // The verdict: a type that contradicts the declared one.
    onnx(&folder, "edit out.onnx --attribute Cast().to=double -o d.onnx").exits(1).says("ONNX3016");
    assert!(!folder.path().join("d.onnx").exists());
    onnx(&folder, "edit out.onnx --declare h=float16[1,3,4,4] -o d.onnx").exits(1).says("ONNX3016");
    onnx(&folder, "edit out.onnx --declare h=float[1,3,4,4] -o d.onnx").exits(0).says("1 declared type");
    // The axes of an input and of an output.
    onnx(&folder, "edit out.onnx --layout x=NHWC --layout y=nhwc -o e.onnx").exits(0).says("2 layouts");
    onnx(&folder, "check e.onnx").exits(0);
    let text = onnx(&folder, "print e.onnx").exits(0).out;
    assert!(text.contains("(float[1,4,4,3] x) => (float16[1,4,4,3] y)"), "{text}");
    assert_eq!(text.matches("Transpose <perm = ").count(), 2, "{text}");
    onnx(&folder, "edit e.onnx --layout x=NCHW --layout y=NCHW -o f.onnx").exits(0);
    onnx(&folder, "compare out.onnx f.onnx --rtol 0 --atol 0").exits(0);
    onnx(&folder, "edit out.onnx --layout h=NHWC").exits(2).says("is not an input or output");
    onnx(&folder, "edit out.onnx --layout x=NCL").exits(2).says("has 4 axes");
}

/// The second one may be meant as an output.
#[test]
fn two_models_are_reported_as_three_are() {
    let text = "<ir_version: 8, opset_import: [\"\": 17]> g (float[n] x) => (float[n] y) { y = Relu (x) }";
    let folder = Folder::with("in.onnxtxt", text);
    for name in ["a", "b", "c"] {
        onnx(&folder, &format!("convert in.onnxtxt -o {name}.onnx")).exits(0);
    }
    for command in [
        "simplify",
        "convert --opset 18",
        "edit --set n=2",
        "infer",
        "inline",
        "outline",
        "quantize --to int8 --weights-only",
    ] {
        let run = onnx(&folder, &format!("{command} a.onnx b.onnx")).exits(0);
        assert!(run.out.starts_with("file") && run.out.lines().count() == 3, "{command}\n{}", run.out);
        run.says("nothing is written: `-o DIR/`").says("`b.onnx` is taken for a model").lacks("-o b.onnx");
        let run = onnx(&folder, &format!("{command} a.onnx b.onnx c.onnx")).exits(0);
        assert!(run.out.starts_with("file") && run.out.lines().count() == 4, "{command}\n{}", run.out);
        run.lacks("nothing is written");
    }
    onnx(&folder, "quantize --to int8 --weights-only a.onnx b.onnx -o quantized/").exits(0);
    assert!(folder.path().join("quantized/b.onnx").exists());
    for command in [
        "simplify --journal j.json",
        "simplify --report j.json -o d/",
        "quantize --to int8 --seed 0 --save-ranges=r.json",
    ] {
        onnx(&folder, &format!("{command} a.onnx b.onnx"))
            .exits(2)
            .says("is one file, and there are several models");
    }
}

#[test]
fn folders_are_tables() {
    let text = |nodes: &str| {
        format!("<ir_version: 8, opset_import: [\"\": 17]>\ng (float[n] x) => (float[n] y) {{ {nodes} }}")
    };
    let folder = Folder::new();
    for (name, nodes) in [("a", "y = Relu (x)"), ("b", "h = Identity (x) y = Relu (h)")] {
        folder.put("in.onnxtxt", text(nodes));
        std::fs::create_dir_all(folder.path().join("models/sub")).unwrap();
        let path = if name == "b" { "models/sub/b.onnx" } else { "models/a.onnx" };
        onnx(&folder, &format!("convert in.onnxtxt -o {path}")).exits(0);
    }
    for command in ["info", "cost", "infer", "simplify", "convert --opset 18", "check --format table"] {
        let run = onnx(&folder, &format!("{command} models/")).exits(0);
        let lines: Vec<&str> = run.out.lines().collect();
        assert_eq!(lines.len(), 3, "{command}\n{}{}", run.out, run.err);
        assert!(
            lines[0].starts_with("file ") && lines[1].starts_with("models/a.onnx"),
            "{command}\n{}",
            run.out
        );
        assert!(run.err.is_empty(), "{command}\n{}", run.err);
        let command = command.replace("--format table", "");
        let csv = onnx(&folder, &format!("{command} models/ --format csv --sort-by -file")).exits(0).out;
        assert!(csv.lines().nth(1).unwrap().starts_with("models/sub/b.onnx,"), "{csv}");
    }
    let table = onnx(&folder, "simplify models/ --format csv --sort-by -before").exits(0).out;
    assert!(table.starts_with("file,bytes,before,after,edits,verdict\r\nmodels/sub/b.onnx,"), "{table}");
    assert!(table.contains(",2,1,1,ok\r\n"), "{table}");
    let lines = onnx(&folder, "simplify models/ --format jsonl").exits(0).out;
    assert_eq!(lines.lines().count(), 3, "{lines}");
    // Into a directory, which is made.
    onnx(&folder, "simplify models/ -o out/")
        .exits(0)
        .says("wrote out/a.onnx")
        .says("wrote out/sub/b.onnx")
        .says("2 models: all done");
    onnx(&folder, "simplify models/a.onnx models/sub/b.onnx -o flat/").exits(0);
    assert!(folder.path().join("flat/b.onnx").exists());
    onnx(&folder, "simplify models/a.onnx out/a.onnx -o twice/").exits(2).says("two models would be written");
    onnx(&folder, "simplify models/ -o file.onnx").exits(2).says("-o DIR/");
    // What a pattern stands for can be one file, or one that is gone.
    onnx(&folder, "convert models/a.onnx -o one/").exits(0);
    assert!(folder.path().join("one/a.onnx").exists());
    onnx(&folder, "convert models/a.onnx models/gone.onnx -o two/")
        .exits(2)
        .says("models/gone.onnx: cannot be read: No such file");
    assert!(!folder.path().join("two").exists());
    // One that fails does not end the others.
    folder.put("models/broken.onnx", "");
    let run = onnx(&folder, "simplify models/ --dry-run").exits(2);
    assert!(run.out.contains("the file is empty") && run.out.contains("models/sub/b.onnx"), "{}", run.out);
    onnx(&folder, "simplify models/ -o some/")
        .exits(2)
        .says("3 models: 2 done, 1 failed: models/broken.onnx");
}

/// What is mechanical is repaired, and the report says so before.
#[test]
fn mechanical_defects_are_repaired() {
    let models = [
        // A name of an outer graph in a branch.
        (
            "ONNX2101",
            r#"<ir_version: 8, opset_import: ["": 17]>
            g (float[N] x, bool c) => (float[N] y) {
                t = Relu (x)
                y = If (c) <
                    then_branch = a () => (float[N] p) { t = Neg (x) p = Abs (t) },
                    else_branch = b () => (float[N] q) { q = Neg (t) }
                >
            }"#,
        ),
        // A branch that returns an outer value.
        (
            "ONNX2202",
            r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N] x, bool c) => (float[N] y) {
                t = Relu (x)
                y = If (c) <
                    then_branch = a () => (float[N] t) { },
                    else_branch = b () => (float[N] q) { q = Neg (t) }
                >
            }"#,
        ),
        // An output without a type.
        (
            "ONNX2901",
            r#"<ir_version: 8, opset_import: ["": 18]> g (float[4] x) => (y) { y = OptionalGetElement (x) }"#,
        ),
        // A declared shape that an edit made wrong.
        (
            "ONNX3025",
            r#"<ir_version: 8, opset_import: ["": 17]>
            g (float[1,3,32,32] x, float[8,3,3,3] w) => (float[1,8,15,15] y) {
                y = Conv <kernel_shape = [3, 3]> (x, w)
            }"#,
        ),
    ];
    for (code, text) in models {
        let folder = Folder::with("in.onnxtxt", text);
        onnx(&folder, "convert in.onnxtxt -o m.onnx").exits(0);
        onnx(&folder, "check m.onnx")
            .exits(1)
            .says(code)
            .says("`onnx check --fix` repairs what is mechanical");
        onnx(&folder, "check m.onnx --fix").exits(0).says(code);
        onnx(&folder, "check m.onnx").exits(0);
    }
    // The node may be wrong, not the declaration.
    let folder = Folder::with("in.onnxtxt", "<ir_version: 8, opset_import: [\"\": 17]>\ng (float[n] x) => (float16[n] y) { h = Cast <to = 1> (x) y = Add (h, z) }".replace("Add (h, z)", "Relu (h)"));
    onnx(&folder, "convert in.onnxtxt -o m.onnx").exits(0);
    onnx(&folder, "check m.onnx").exits(1);
}

/// A repair is advised if there is one: another defect of the same rule can be beyond repair.
#[test]
fn repairs_are_advised_where_they_repair() {
    let cases = [
        // The version that has the operands of `Clip` is certain.
        (
            r#"<ir_version: 8, opset_import: ["": 9]> g (float[4] x, float lo) => (float[4] y) { y = Clip (x, lo) }"#,
            true,
        ),
        // The node or the declaration may be wrong.
        (
            r#"<ir_version: 8, opset_import: ["": 17]> g (float[n] x, float16[n] z) => (float16[n] y) { h = Cast <to = 1> (x) y = Add (h, z) }"#,
            false,
        ),
    ];
    for (text, is_repaired) in cases {
        let folder = Folder::with("in.onnxtxt", text);
        onnx(&folder, "convert in.onnxtxt -o m.onnx --keep-going").exits(0);
        let run = onnx(&folder, "check m.onnx");
        assert_eq!(run.exits(1).told().contains("`onnx check --fix`"), is_repaired, "{text}");
        assert_eq!(onnx(&folder, "check m.onnx --fix").told().contains("repaired"), is_repaired, "{text}");
    }
}

/// Sizes that are assumed to be positive are recorded.
#[test]
fn a_conversion_under_an_assumption_records_it() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[batch, seq, 6] x) => (float[a, b, 2, 3] y) <int64[1] i = {0}, int64[1] j = {1}, int64[2] t = {2, 3}> {
            s = Shape (x)
            n = Gather (s, i)
            m = Gather (s, j)
            k = Concat <axis = 0> (m, n, t)
            y = Reshape <allowzero = 1> (x, k)
        }"#;
    let folder = Folder::with("m.onnxtxt", text);
    onnx(&folder, "convert m.onnxtxt --opset 13 -o out.onnx").exits(1).says("--assume positive-sizes");
    onnx(&folder, "convert m.onnxtxt --opset 13 --assume positive-sizes -o out.onnx").exits(0);
    let text = onnx(&folder, "print out.onnx").exits(0).out;
    assert!(
        text.contains("1 <= batch") && text.contains("1 <= seq") && !text.contains("allowzero"),
        "{text}"
    );
    onnx(&folder, "compare m.onnxtxt out.onnx --set batch=2 --set seq=3").exits(0);
    onnx(&folder, "convert m.onnxtxt --opset 13 --assume positive-sizes --prove").exits(2);
    onnx(&folder, "convert m.onnxtxt --assume positive-sizes").exits(2);
}

#[test]
fn the_largest_weights_are_first() {
    let long = "a_name_that_is_longer_than_the_columns_of_other_names/weight";
    let text = format!(
        "<ir_version: 8, opset_import: [\"\": 17]>\ng (float[2] x) => (float[2] y) <float[2] small = {{1, 2}}, float[8, 2] \"{long}\" = splat {{0.5}}> {{ h = Add (x, small) k = MatMul (\"{long}\", h) y = ReduceSum (k) }}"
    );
    let folder = Folder::with("m.onnxtxt", text);
    let of = |order: &str| {
        let run = onnx(&folder, &format!("weights list m.onnxtxt --sort {order}")).exits(0);
        run.out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(of("model")[0].contains("small") && of("size")[0].contains(long) && of("name")[0].contains(long));
    // The columns are aligned.
    let ends: Vec<Option<usize>> = of("size").iter().map(|line| line.find(" B")).collect();
    assert_eq!(ends[0], ends[1], "{:?}", of("size"));
}

#[test]
fn a_picture_has_each_node() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[n] x) => (float[n] y) <float c = {2}> { ["a\"b"] h = Mul (x, c) y = Relu (h) }"#;
    let folder = Folder::with("m.onnxtxt", text);
    let dot = onnx(&folder, "print m.onnxtxt --to dot").exits(0).out;
    assert!(dot.starts_with("digraph onnx {") && dot.ends_with("}\n"), "{dot}");
    assert!(dot.contains("[label=\"Mul\\na\\\"b\"]") && dot.contains("label=\"Relu\""), "{dot}");
    assert_eq!(dot.matches(" -> ").count(), 3, "{dot}");
    assert!(!dot.contains("\"c\""), "{dot}");
    let part = onnx(&folder, "print m.onnxtxt --to dot --at y").exits(0).out;
    assert!(!part.contains("Mul"), "{part}");
    onnx(&folder, "print m.onnxtxt --to dot --full").exits(2);
}

/// A table counts the contradictions for which the command without it fails, and with `-q`, only errors are listed.
#[test]
fn what_is_listed_is_what_is_counted() {
    let text = "<ir_version: 10, opset_import: [\"\": 20]> g (float[2,3] x) => (float[9] y, int64[2,3] z) {
        a = Relu (x) y = Relu (a) z = Identity (a) }";
    let folder = Folder::with("m.onnxtxt", text);
    onnx(&folder, "infer m.onnxtxt").exits(1);
    let run = onnx(&folder, "infer m.onnxtxt --format csv").exits(0);
    let row = run.out.lines().nth(1).unwrap();
    assert!(row.contains(",2,") && row.contains("ONNX30"), "{}", run.out);
    // An error and warnings: only the error is listed.
    let run = onnx(&folder, "infer m.onnxtxt --deny ONNX3016 --keep-going -q -o out.onnx").exits(1);
    assert_eq!(run.err.matches("warning").count(), 0, "{}", run.err);
    let check =
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
        y = Relu (q) }";
    folder.put("c.onnxtxt", check);
    let run = onnx(&folder, "check c.onnxtxt -q").exits(1).says("error[");
    assert_eq!(run.out.matches("warning").count(), 0, "{}", run.out);
    // The place of another node is the object of a sentence.
    let nan =
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[2] x) => (float[2] y) <float[2] w = {nan, 2}> {
        y = Add (x, w) }";
    folder.put("n.onnxtxt", nan);
    onnx(&folder, "run n.onnxtxt").says("::: first used here: ");
}

/// A size has one value, and weights that were stripped are not moved without a word.
#[test]
fn what_cannot_be_done_is_said() {
    let text = "<ir_version: 10, opset_import: [\"\": 20]> g (float[batch,16] x) => (float[batch,16] y)
        <float[16] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> { y = Add (x, w) }";
    let folder = Folder::with("m.onnxtxt", text);
    for command in ["cost m.onnxtxt", "infer m.onnxtxt", "run m.onnxtxt"] {
        let run = onnx(&folder, &format!("{command} --set batch=1 --set batch=2")).exits(2);
        run.says("`batch` cannot be both 1 and 2");
        onnx(&folder, &format!("{command} --set batch=2 --set batch=2")).exits(0);
        onnx(&folder, &format!("{command} --set x[0]=2")).exits(0);
        onnx(&folder, &format!("{command} --set x[0]=2 --set batch=3")).exits(2);
    }
    onnx(&folder, "infer m.onnxtxt --set x[0]=2 -o typed.onnxtxt").exits(0);
    onnx(&folder, "weights strip m.onnxtxt -o bare.onnx").exits(0);
    for weights in ["embed", "external"] {
        let run = onnx(&folder, &format!("convert bare.onnx --weights {weights} -o {weights}.onnx")).exits(0);
        run.says("1 tensor stays without elements").says("`onnx weights import");
    }
    folder.put(
        "no.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]> g (x) => (float[n] y) { y = Relu (x) }",
    );
    onnx(&folder, "check no.onnxtxt").exits(1).says("`onnx edit MODEL --declare 'NAME=float[N]' -o NEW`");
}
