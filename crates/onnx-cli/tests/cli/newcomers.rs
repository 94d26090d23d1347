//! What newcomers try: each answer says what was wrong with the attempt, and what to write instead.

use crate::run::{Folder, Run, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[batch, 4] x, float[batch, 4] z) => (float[batch, 4] logits)
<float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>
{
   h = MatMul (x, w)
   k = Relu (h)
   logits = Add (k, z)
}
"#;

const CYCLE: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                     g (float[4] x) => (float[4] y) { y = Relu (a) a = Neg (y) }";

/// A folder with the model as a file and as text.
fn folder() -> Folder {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "convert in.onnxtxt -o m.onnx").exits(0);
    folder
}

/// Runs lines that fail, each with a part of its answer.
#[track_caller]
fn refused(folder: &Folder, lines: &[(&str, &str)]) {
    for (line, answer) in lines {
        let run: Run = onnx(folder, line).exits(2);
        assert!(run.told().contains(answer), "{line}: {answer}\n{}", run.told());
    }
}

#[test]
fn an_output_that_is_not_named_is_a_file_or_a_directory() {
    let folder = folder();
    onnx(&folder, "extract m.onnx --parts 3").exits(0).says("(`-o DIR/` writes it)").lacks("-o OUT");
    onnx(&folder, "weights export m.onnx").exits(0).says("(`-o FILE` writes it)");
    onnx(&folder, "weights export m.onnx -o w.npz --dry-run").exits(0).says("would write").lacks("writes it");
    onnx(&folder, "simplify m.onnx").exits(0).says("(`-o OUT` writes it)");
}

#[test]
fn an_existing_directory_needs_no_slash() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("out")).unwrap();
    onnx(&folder, "edit m.onnx --set batch=1 -o out").exits(0).says("wrote out/m.onnx");
    onnx(&folder, "extract m.onnx --parts 2 -o out").exits(0).says("wrote out/part-1.onnx");
    onnx(&folder, "quantize m.onnx --to int8 --weights-only -o new/").exits(0).says("wrote new/m.onnx");
    let quoted = "to join them again: onnx merge 'di r'/part-*.onnx";
    let words = ["extract", "m.onnx", "--parts", "2", "-o", "di r/"];
    #[cfg(unix)]
    crate::run::onnx_words(&folder, words.into_iter()).exits(0).says(quoted);
    refused(
        &folder,
        &[
            ("merge m.onnx m.onnx -o out", "`out` is a directory"),
            ("smith -o out", "name the file in it: `-o DIR/NAME.onnx`"),
            ("extract m.onnx --parts 2 -o p.onnx", "the output of `--parts` is a directory, not a file"),
            ("run m.onnx -o out.np", "did you mean `.npz`?"),
            ("run m.onnx -o out.json", "end the name of a directory with a slash: `out.json/`"),
        ],
    );
    onnx(&folder, "run m.onnx -o run.1").exits(0);
    onnx(&folder, "run m.onnx -o out.np/").exits(0);
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let folder = folder();
    let inputs = "the inputs are `x`, `z`";
    refused(
        &folder,
        &[
            ("edit m.onnx --remove-input foo", inputs),
            ("edit m.onnx --remove-input foo=x.npy", inputs),
            ("edit m.onnx --layout foo=NHWC", "the inputs and outputs are `x`, `z`, `logits`"),
            ("edit m.onnx --type logit=int32", "did you mean `logits`?"),
            ("edit m.onnx --add-output logit", "did you mean `logits`?"),
            ("run m.onnx --feed foo=x.npy", inputs),
            ("check m.onnx --shapes foo=1", inputs),
            ("print m.onnx --at node(999)", "did you mean `node(2)`?"),
        ],
    );
    onnx(&folder, "find m.onnx node(999)").exits(1).says("did you mean `node(2)`?");
    for command in ["run m.onnx", "cost m.onnx", "infer m.onnx", "edit m.onnx", "simplify m.onnx"] {
        let axis = onnx(&folder, &format!("{command} --set tok[0]=1")).exits(2);
        axis.says("no input is called `tok`").says(inputs);
        let variable = onnx(&folder, &format!("{command} --set seq=1")).exits(2);
        variable.says("no input has the dimension variable `seq`").says("there are `batch`");
        let near = onnx(&folder, &format!("{command} --set bach=1")).exits(2);
        near.says("did you mean `batch`?");
        let twice = onnx(&folder, &format!("{command} --set batch=1 --set batch=2")).exits(2);
        twice.says("`batch` cannot be both 1 and 2").says("set it once: `--set batch=1`");
    }
}

#[test]
fn a_model_in_the_place_of_another_document_is_recognized() {
    let folder = folder();
    onnx(&folder, "convert m.onnx -o m.json").exits(0);
    onnx(&folder, "ops export --domain ai.onnx.ml -o ml.onnxops").exits(0);
    std::fs::copy(folder.path().join("ml.onnxops"), folder.path().join("ml.onnx")).unwrap();
    let document = "and an operator set document is needed";
    refused(
        &folder,
        &[
            ("check m.onnx --ops m.onnx", "this looks like a binary model, and an operator set"),
            ("infer m.onnx --ops in.onnxtxt", document),
            ("ops list --ops m.json", document),
            ("check m.onnx --target m.onnx", "this looks like a binary model, and a target is needed"),
            ("check m.onnx --target in.onnxtxt", "this looks like ONNX text, and a target is needed"),
            ("check m.onnx --target m.json", "this looks like a model as JSON, and a target is needed"),
            ("rewrite m.onnx --rules m.onnx", "this looks like a binary model, and a file of rewrite rules"),
            ("simplify m.onnx --rules in.onnxtxt", "this looks like ONNX text, and a file of rewrite rules"),
            ("quantize m.onnx --to int8 --ranges m.onnx", "a binary model, and a file of ranges is needed"),
            ("quantize m.onnx --to int8 --ranges m.json", "a model as JSON, and a file of ranges is needed"),
            (
                "quantize m.onnx --to int8 --calibrate m.onnx",
                "is a model, not a directory or an archive `.npz`",
            ),
            ("run m.onnx --feeds m.onnx", "is a model, not a directory or an archive `.npz`"),
            ("run m.onnx --expect m.onnx", "is a model, not a directory or an archive `.npz`"),
            ("run m.onnx --feed x=m.onnx", "is a model, not a file of a value"),
            ("info ml.onnx", "this is an operator set document"),
            ("run ml.onnx", "`--ops FILE` loads it"),
        ],
    );
    // A document is one whatever its name.
    onnx(&folder, "check m.onnx --ops ml.onnx").exits(0);
    onnx(&folder, "check ml.onnxops").exits(0);
}

#[test]
fn a_hyphen_is_standard_input_for_models_only() {
    let folder = folder();
    let only = "only a model is read from standard input";
    refused(
        &folder,
        &[
            ("check m.onnx --ops -", only),
            ("simplify m.onnx --rules -", only),
            ("quantize m.onnx --to int8 --ranges -", only),
            (
                "quantize m.onnx --to int8 --seed 0 --save-ranges - -o y.onnx",
                "`--save-ranges` takes the name of a file",
            ),
            ("simplify m.onnx --journal - -o y.onnx", "`--journal` takes the name of a file"),
            ("simplify m.onnx --report - -o y.onnx", "`--report` takes the name of a file"),
            ("man -o -", "several files cannot be written to standard output"),
            ("run m.onnx -o -", "outputs are not written to a stream"),
        ],
    );
    assert!(!folder.list().contains(&"-".to_owned()));
    onnx(&folder, "ops export --domain ai.onnx.ml -o -")
        .exits(0)
        .says("the signatures of the operators are not written");
}

#[test]
fn lines_that_are_nearly_right_are_corrected() {
    let folder = folder();
    folder.put("x.onnx", "old");
    refused(
        &folder,
        &[
            ("m.onnx check", "write `onnx check m.onnx`"),
            ("m.onnx --full check", "write `onnx check m.onnx --full`"),
            ("simplify m.onnx --skip-fuse-bn", "help: leave it out: `--except SELECTOR` keeps nodes"),
            ("simplify m.onnx -out x.onnx", "write `onnx simplify m.onnx --output x.onnx`"),
            ("simplify m.onnx -output new.onnx", "write `onnx simplify m.onnx --output new.onnx`"),
            ("convert m.onnx -opset 18", "write `onnx convert m.onnx --opset 18`"),
            ("run m.onnx -set batch=1", "write `onnx run m.onnx --set batch=1`"),
            ("simplify --input m.onnx --output n.onnx", "write `onnx simplify m.onnx --output n.onnx`"),
            ("check --model=m.onnx", "the model is an argument, not an option `--model`"),
            ("extract m.onnx --input x", "did you mean `--inputs`?"),
            ("find LSTM() m.onnx", "the model is before the selector: `onnx find m.onnx 'LSTM()'`"),
            ("check ~/m.onnx", "`$HOME` is the same"),
            ("convert m.onnx -o ~/m.onnx", "`$HOME` is the same"),
            ("check https://host/m.onnx", "nothing is downloaded"),
            ("check m.onnx --data-dir nowhere", "nowhere: cannot be read"),
        ],
    );
    assert_eq!(folder.get("x.onnx"), b"old");
}

#[test]
fn stripped_weights_are_answered_with_their_import() {
    let folder = folder();
    onnx(&folder, "weights strip m.onnx -o st.onnx").exits(0);
    for line in [
        "hash st.onnx",
        "hash --weights st.onnx",
        "quantize st.onnx --to int8 --weights-only",
        "quantize st.onnx --to int8 --seed 0",
        "convert st.onnx --float16",
        "convert st.onnx --bfloat16 --without-run",
        "weights stats st.onnx",
        "weights show st.onnx --at w",
        "weights export st.onnx -o w.safetensors",
        "compare st.onnx --with onnxruntime",
    ] {
        let run = onnx(&folder, line).exits(2);
        run.says("the elements of 1 tensor were stripped")
            .says("`onnx weights import MODEL WEIGHTS`")
            .lacks("--data-dir");
    }
    onnx(&folder, "hash --structure st.onnx").exits(0);
    onnx(&folder, "check st.onnx").exits(1).says("`onnx weights import`");
}

#[test]
fn nodes_that_need_their_own_results_are_refused() {
    let folder = Folder::with("c.onnxtxt", CYCLE);
    for command in
        ["infer", "simplify", "convert --opset 20", "convert --float16", "quantize --to int8 --weights-only"]
    {
        let run = onnx(&folder, &format!("{command} c.onnxtxt -o new.onnx")).exits(1);
        run.says("nodes need their own results");
    }
    assert_eq!(folder.list(), ["c.onnxtxt"]);
    // A report says what can be known.
    onnx(&folder, "infer c.onnxtxt --unknown").exits(0);
    onnx(&folder, "infer c.onnxtxt --keep-going -o new.onnx").exits(0);
}

#[test]
fn the_cause_of_sizes_that_are_lost_may_be_an_operand() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"acme\": 1]>\n\
                g (float[n, 3, h, w] x, float[8, 3, 3, 3] f) => (float[n, c, hh, ww] y) {\n\
                a = Conv (x, f) b = acme.Magic (a) d = Relu (b) y = MaxPool <kernel_shape = [2, 2]> (d) }";
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "infer in.onnxtxt --why y").exits(0);
    run.says("its operand `d` is not known either, which begins at `b` = Magic");
}

#[test]
#[cfg(unix)]
fn data_of_a_replaced_model_has_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = folder();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path().join("m.onnx"), private).unwrap();
    onnx(&folder, "convert m.onnx -o m.onnx --weights external=m.data --threshold 1 --force").exits(0);
    assert_eq!((mode("m.onnx"), mode("m.data")), (0o600, 0o600));
    onnx(&folder, "quantize m.onnx --to int8 --weights-only --in-place").exits(0);
    assert_eq!(mode("m.onnx"), 0o600);
}

#[test]
#[cfg(target_os = "linux")]
fn too_many_open_files_are_called_that() {
    let folder = folder();
    let mut shell = std::process::Command::new("sh");
    let script = "ulimit -n 5; exec \"$0\" check m.onnx";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_onnx")]).current_dir(folder.path());
    let output = shell.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("Too many open files") && text.contains("`ulimit -n`"), "{text}");
}

/// Files whose names differ in bytes that are not UTF-8 have different names in reports.
#[test]
#[cfg(target_os = "linux")]
fn names_in_reports_are_those_of_files() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let folder = folder();
    let odd = OsStr::from_bytes(b"caf\xe9.onnx");
    std::fs::copy(folder.path().join("m.onnx"), folder.path().join(odd)).unwrap();
    let told = |words: &[&OsStr]| {
        let output = crate::run::command(words).current_dir(folder.path()).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).expect("reports are UTF-8")
    };
    let word = OsStr::new;
    assert!(told(&[word("check"), odd]).contains("caf\\xe9.onnx: no findings"));
    let report = told(&[word("info"), odd, word("--format"), word("json")]);
    assert!(report.contains("\"name\":\"caf\\\\xe9.onnx\""), "{report}");
    let copy = OsStr::from_bytes(b"w\xff.onnx");
    assert!(told(&[word("convert"), odd, word("-o"), copy]).contains("wrote w\\xff.onnx"));
    let missing = OsStr::from_bytes(b"m\xff.onnx");
    assert!(told(&[word("check"), missing]).contains("m\\xff.onnx: cannot be read"));
    // Only the argument that has to be text is named.
    let feed = OsStr::from_bytes(b"x=ids\xff.npy");
    let text = told(&[word("run"), odd, word("--feed"), feed]);
    assert!(text.contains("not UTF-8: `x=ids\\xff.npy`\n") && text.contains("`ln -s`"), "{text}");
}
