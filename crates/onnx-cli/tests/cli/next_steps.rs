//! What is wrong with an argument, an option or a file, and a next step that helps.

use crate::models;
use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> { h = Add (x, w) y = Relu (h) }"#;

fn folder() -> Folder {
    let folder = Folder::with("a.onnxtxt", MODEL);
    onnx(&folder, "convert a.onnxtxt -o a.onnx").exits(0);
    onnx(&folder, "convert a.onnxtxt -o b.onnx").exits(0);
    folder
}

#[test]
fn usages_say_that_several_models_are_possible() {
    let folder = folder();
    for command in
        ["convert", "quantize", "simplify", "rewrite", "edit", "extract", "infer", "inline", "outline"]
    {
        for help in ["--help", "-h"] {
            onnx(&folder, &format!("{command} {help}")).exits(0).says("<IN>...");
        }
        onnx(&folder, &format!("man {command}")).exits(0).says("<IN>...");
    }
    for command in ["print", "draw", "weights strip"] {
        onnx(&folder, &format!("{command} --help")).exits(0).says("<IN>").lacks("<IN>...");
    }
}

#[test]
fn values_are_named_with_their_option_their_unit_and_their_range() {
    let folder = folder();
    for (line, message, help) in [
        ("check a.onnx --timeout -5s", "`-5s` is not a value of `--timeout`", "`ms`, `s`, `m` or `h`"),
        ("check a.onnx --timeout 5q", "`5q` is not a value of `--timeout`", "`ms`, `s`, `m` or `h`"),
        ("check a.onnx --jobs 0", "`0` is not a value of `--jobs`: it is a whole number from 1", "--jobs N"),
        (
            "check a.onnx --jobs -1",
            "`-1` is not a value of `--jobs`: it is a whole number from 1",
            "--jobs N",
        ),
        ("run a.onnx --seed -1", "`--seed`: it is a whole number from 0 to 18446744073709551615", "= help: "),
        ("smith --nodes -3", "`-3` is not a value of `--nodes`: it is a whole number from 0", "= help: "),
        ("smith --nodes 1e3", "`1e3` is not a value of `--nodes`: it is a whole number from 0", "= help: "),
        (
            "quantize a.onnx --to int8 --percentile x",
            "`x` is not a value of `--percentile`: it is a number",
            "",
        ),
        ("weights export a.onnx --shard-size -5", "`-5` is not a value of `--shard-size`", "`2GiB`"),
        ("convert a.onnx --opset -1", "`-1` is not a value of `--opset`", ""),
    ] {
        let run = onnx(&folder, line).exits(2).says(message).says(help);
        assert!(!run.told().contains("describes the arguments"), "{line}: {}", run.told());
    }
}

#[test]
fn a_next_step_is_named() {
    let folder = folder();
    for (line, help) in [
        ("compare a.onnx b.onnx a.onnx", "it takes `<A> [B]`"),
        ("edit a.onnx --import 99 -o o.onnx", "write a version from 1 to "),
        ("convert a.onnx --weights external=/abs/w.data -o o.onnx", "`--weights external=NAME.data`"),
        ("merge a.onnx b.onnx --prefix a. --prefix b. --prefix c. -o o.onnx", "give one for each model"),
        ("info https://example.com/m.onnx", "nothing is downloaded"),
        ("info ~/m.onnx", "`$HOME` is the same"),
        ("simplify a.onnx ~/m.onnx -o D/", "`$HOME` is the same"),
        ("simplify a.onnx A.onx -o D/", "did you mean `a.onnx`?"),
        ("run a.onnx --feeds ~/values", "`$HOME` is the same"),
        ("infer a.onnx --data-dir ~/values", "`$HOME` is the same"),
    ] {
        let run = onnx(&folder, line).exits(2).says(help);
        assert!(
            !run.told().contains("--help` describes the arguments\n") || line.starts_with("compare"),
            "{line}"
        );
    }
    #[cfg(unix)]
    crate::run::onnx_words(&folder, ["reduce", "a.onnx", "-o", "o.onnx", "--", "nosuchcmd"].into_iter())
        .exits(2)
        .says("is its directory in `PATH`?");
}

#[test]
fn a_model_that_is_cut_off_is_copied_again() {
    let folder = folder();
    let whole = std::fs::read(folder.path().join("a.onnx")).unwrap();
    folder.put("cut.onnx", &whole[..whole.len() - 20]);
    folder.put("noise.onnx", [0xff; 64]);
    for command in ["info", "convert -o n.onnx", "weights list", "simplify"] {
        onnx(&folder, &format!("{command} cut.onnx"))
            .exits(2)
            .says("= help: write or get the file again")
            .lacks("--from");
    }
    onnx(&folder, "info noise.onnx").exits(2).lacks("ended early");
}

#[test]
#[cfg(unix)]
fn files_that_cannot_be_written_have_their_own_help() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    folder.put("d/keep", "");
    let long = "n".repeat(300);
    for (output, help) in [
        ("no/where/o.onnx", "make the directory first: `mkdir -p no/where`"),
        ("a.onnx/o.onnx", "`a.onnx` is a file, not a directory"),
        ("/dev/full", "the disk is full"),
        (&*format!("{long}.onnx"), "the name is too long"),
    ] {
        onnx(&folder, &format!("convert a.onnx -o {output}")).exits(2).says(help);
        onnx(&folder, &format!("simplify b.onnx -o {output}")).exits(2).says(help);
        if output != "/dev/full" {
            onnx(&folder, &format!("simplify b.onnx -o n.onnx --force --report {output}"))
                .exits(2)
                .says(help);
        }
    }
    for line in [
        "print a.onnx -o no/where/o.onnxtxt",
        "draw a.onnx -o no/where/o.svg",
        "weights export a.onnx -o no/where/w.npz",
        "scan a.onnx -o no/where/rows.csv",
        "ops export --domain ai.onnx.ml -o no/where/ml.onnxops",
    ] {
        onnx(&folder, line).exits(2).says("make the directory first: `mkdir -p no/where`");
    }
    for line in [
        "man -o a.onnx/pages",
        "extract a.onnx --parts 2 -o a.onnx/parts",
        "convert a.onnx b.onnx -o a.onnx/D/",
    ] {
        onnx(&folder, line).exits(2).says("`a.onnx` is a file, not a directory");
    }
    // Root may write everywhere.
    let closed = folder.path().join("d");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(closed.join("probe"), "").is_err() {
        onnx(&folder, "convert a.onnx -o d/o.onnx").exits(2).says("`ls -ld d` shows who may write there");
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_report_of_each_of_several_models_begins_with_its_name() {
    let folder = folder();
    folder.put("c.onnxtxt", MODEL.replace("y = Relu (h)", "k = Relu (h) y = Identity (k)"));
    onnx(&folder, "convert c.onnxtxt -o c.onnx").exits(0);
    let told = onnx(&folder, "simplify a.onnx c.onnx -o D/").exits(0).told();
    for name in ["a.onnx", "c.onnx"] {
        let (at, written) = (told.find(&format!("{name}:\n")), told.find(&format!("wrote D/{name}")));
        assert!(at.is_some() && at < written, "{name}: {told}");
    }
    assert!(told.find("wrote D/a.onnx") < told.find("c.onnx:\n"), "{told}");
    // A line that has the name needs no other one.
    let told = onnx(&folder, "convert a.onnx c.onnx -o E/").exits(0).told();
    assert!(told.starts_with("wrote E/a.onnx"), "{told}");
    assert!(!told.contains("c.onnx:\n"), "{told}");
    // One model has its name in its messages.
    let told = onnx(&folder, "simplify a.onnx -o F/").exits(0).told();
    assert!(!told.contains("a.onnx:\n"), "{told}");
    let told = onnx(&folder, "simplify a.onnx c.onnx --dry-run --format text").exits(0).told();
    assert!(told.find("a.onnx:\n") < told.find("c.onnx:\n") && told.contains("a.onnx:\n"), "{told}");
    onnx(&folder, "-q simplify a.onnx c.onnx -o G/").exits(0).lacks(".onnx:");
}

#[test]
fn formulas_are_complete_in_a_pipe() {
    let nodes: Vec<String> = (0..9).map(|i| format!("h{} = MatMul (h{i}, w{i})", i + 1)).collect();
    let inputs: Vec<String> =
        (0..9).map(|i| format!("float[long_name_of_size_{i}, long_name_of_size_{}] w{i}", i + 1)).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[batch, long_name_of_size_0] h0, {}) => (float[batch, long_name_of_size_9] h9) {{ {} }}",
        inputs.join(", "),
        nodes.join(" ")
    );
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "cost in.onnxtxt").exits(0);
    assert!(!run.out.contains('…'), "{}", run.out);
    assert!(run.out.contains("batch*long_name_of_size_0*long_name_of_size_1"), "{}", run.out);
}

/// Weights of the main graph, of a branch and of a function, and a constant.
const WEIGHTS: &str = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]>
g (float[4, 4] x, bool c) => (float[4, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {
   k = Constant <value = float[16] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1}> ()
   a = MatMul (x, w)
   b = If (c) <then_branch = t () => (float[4, 4] r) <float[4, 4] v = {2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> { r = Add (a, v) },
               else_branch = e () => (float[4, 4] r) { r = my.f (a) }>
   s = Constant <value_ints = [4, 4]> ()
   m = Reshape (k, s)
   y = Add (b, m)
}
<domain: "my", opset_import: ["": 21]> f (i) => (o) {
   q = Constant <value = float[4, 4] {3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> ()
   o = Mul (i, q)
}"#;

#[test]
fn weights_come_back_from_another_model() {
    let folder = Folder::with("m.onnxtxt", WEIGHTS);
    folder.put("sub/readme", "");
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    onnx(&folder, "convert m.onnxtxt -o m.json").exits(0);
    onnx(&folder, "convert m.onnxtxt -o sub/m.onnx --weights external=m.data --threshold 1 --all-tensors")
        .exits(0);
    onnx(&folder, "weights strip m.onnx -o st.onnx").exits(0).says("stripped 4 tensors");
    for source in ["m.onnx", "m.onnxtxt", "m.json", "sub/m.onnx"] {
        onnx(&folder, &format!("weights import st.onnx {source} -o back.onnx --force"))
            .exits(0)
            .says("replaced 4 tensors")
            .lacks("warning");
        onnx(&folder, "diff m.onnx back.onnx --weights").exits(0);
        onnx(&folder, "compare m.onnx back.onnx --rtol 0 --atol 0").exits(0);
    }
    let model = std::fs::read(folder.path().join("m.onnx")).unwrap();
    crate::run::onnx_with(&folder, "weights import st.onnx - -o back.onnx --force", &model).exits(0);
    onnx(&folder, "diff m.onnx back.onnx --weights").exits(0);
    onnx(&folder, "weights import st.onnx --replace w=m.onnx -o w.onnx").exits(0).says("replaced 1 tensor");
    let report = onnx(&folder, "weights import st.onnx --replace w=m.onnx --format json").exits(0).json();
    assert_eq!(report["result"]["models"][0]["stripped"], 3);
}

#[test]
fn weights_of_another_model_fit_or_are_named() {
    let folder = Folder::with("m.onnxtxt", WEIGHTS);
    folder.put("sub/readme", "");
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    onnx(&folder, "convert m.onnxtxt -o sub/m.onnx --weights external=m.data --threshold 1 --all-tensors")
        .exits(0);
    onnx(&folder, "weights strip m.onnx -o st.onnx").exits(0);
    folder.put(
        "part.onnxtxt",
        WEIGHTS
            .replace(" <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>", "")
            .replace("MatMul (x, w)", "MatMul (x, x)"),
    );
    onnx(&folder, "weights import st.onnx part.onnxtxt -o p.onnx")
        .exits(0)
        .says("1 stripped tensor stays without elements: `w`");
    folder.put(
        "none.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[4] x) => (float[4] y) { y = Neg (x) }",
    );
    // What was changed meanwhile stays, and what only the other model has is not needed.
    onnx(&folder, "weights strip m.onnx --min-elements 16 -o few.onnx").exits(0);
    onnx(&folder, "simplify few.onnx -o changed.onnx").exits(0);
    onnx(&folder, "weights import changed.onnx m.onnx -o filled.onnx").exits(0).lacks("warning");
    onnx(&folder, "compare m.onnx filled.onnx --rtol 0 --atol 0").exits(0);
    onnx(&folder, "weights export m.onnx --at w -o w.safetensors").exits(0);
    onnx(&folder, "weights import part.onnxtxt m.onnx -o n.onnx")
        .exits(2)
        .says("the model has no weight `w`");
    // Names, types and sizes are those of the weights, and a model that is read is not replaced.
    for (line, message) in [
        ("weights import st.onnx st.onnx -o n.onnx", "st.onnx: the elements of `w` were stripped"),
        ("weights import m.onnx --replace w=part.onnxtxt -o n.onnx", "part.onnxtxt: has no tensor `w`"),
        ("weights import part.onnxtxt m.onnx -o n.onnx", "the model has no weight `w`"),
        (
            "weights import few.onnx none.onnxtxt -o n.onnx",
            "none.onnxtxt: it has none of the stripped weights",
        ),
        ("weights import - - -o n.onnx", "only one model can come from standard input"),
    ] {
        onnx(&folder, line).exits(2).says(message);
    }
    folder.put(
        "other.onnxtxt",
        WEIGHTS.replace(
            "float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}",
            "float[4] w = {1, 2, 3, 4}",
        ),
    );
    onnx(&folder, "weights import st.onnx other.onnxtxt -o n.onnx")
        .exits(2)
        .says("has the type float[4, 4], but its replacement float[4]");
    std::fs::write(folder.path().join("sub/m.data"), "short").unwrap();
    onnx(&folder, "weights import st.onnx sub/m.onnx -o n.onnx").exits(2).says("sub/m.onnx").says("m.data");
    assert!(!folder.path().join("n.onnx").exists());
    folder.put("cut.onnx", models::external("w.data"));
    onnx(&folder, "weights import st.onnx cut.onnx -o n.onnx").exits(2).says("w.data");
}

#[test]
#[cfg(target_os = "linux")]
fn refused_memory_is_an_error() {
    let port = |name: &str, size: i64| {
        format!(
            "{{ name: \"{name}\" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 1 }} dim {{ dim_value: {size} }} }} }} }} }}"
        )
    };
    let text = format!(
        r#"ir_version: 10 graph {{ node {{ input: "x" input: "w" output: "y" op_type: "MatMul" }} name: "g"
        initializer {{ dims: 8192 dims: 4096 data_type: 1 name: "w" data_location: EXTERNAL
          external_data {{ key: "location" value: "w.data" }} }}
        input {} output {} }} opset_import {{ version: 21 }}"#,
        port("x", 8192),
        port("y", 4096)
    );
    let folder = Folder::with("m.textproto", text);
    std::fs::File::create(folder.path().join("w.data")).unwrap().set_len(128 << 20).unwrap();
    for (line, spaces) in [
        ("quantize m.textproto --to int8 --weights-only", [80_000, 90_000]),
        ("convert m.textproto --float16 --without-run", [220_000, 240_000]),
    ] {
        for space in spaces {
            let run = crate::run::limited(&folder, line, space);
            run.exits(3)
                .says("ONNX8003")
                .says("`w`")
                .says("allow the process more memory")
                .lacks("memory allocation of");
        }
    }
}
