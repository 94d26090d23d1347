//! Summaries: what is said to be done was done, and sizes are those of the files.

use crate::models;
use crate::run::{Folder, onnx};

const FUNCTIONS: &str = r#"<ir_version: 10, opset_import: ["": 20, "com.acme": 1]>
g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
   a = com.acme.Twice (x)
   b = Relu (a)
   c = Add (b, w)
   d = Relu (c)
   y = Add (d, w)
}
<domain: "com.acme", opset_import: ["": 20]> Twice (a) => (b) { b = Add (a, a) }
"#;

/// Nothing is said to be done by a command that then cannot write its output.
#[test]
fn nothing_is_done_before_it_is_written() {
    let folder = Folder::with("f.onnxtxt", FUNCTIONS);
    folder.put("m.onnx", models::small());
    for (arguments, word) in [
        ("merge f.onnxtxt f.onnxtxt", "merged "),
        ("extract f.onnxtxt --outputs b", "extracted "),
        ("inline f.onnxtxt", "inlined "),
        ("outline f.onnxtxt --repeated --min-nodes 2", "outlined "),
        ("simplify f.onnxtxt", " nodes"),
        ("rewrite f.onnxtxt --pass no-identities", " nodes"),
        ("edit f.onnxtxt --prefix a/", "changed "),
        ("quantize f.onnxtxt --to int8 --weights-only", "of weights"),
        ("convert f.onnxtxt --float16", "of weights"),
        ("convert f.onnxtxt --opset 21", "20 -> 21"),
        ("weights strip f.onnxtxt --min-elements 1", "stripped "),
        ("weights import f.onnxtxt --generate", "replaced "),
        ("reduce f.onnxtxt -- false", " nodes"),
    ] {
        let (before, after) = arguments.split_once(" -- ").map_or((arguments, None), |(a, b)| (a, Some(b)));
        let line = |output: &str| match after {
            Some(after) => format!("{before} -o {output} -- {after}"),
            None => format!("{before} -o {output}"),
        };
        onnx(&folder, &line("out.onnx")).exits(0).says(word).says("wrote out.onnx");
        std::fs::remove_file(folder.path().join("out.onnx")).unwrap();
        // Notes of the user are not replaced.
        folder.put("notes.onnx", "my notes");
        onnx(&folder, &line("notes.onnx")).exits(2).lacks(word).lacks("wrote");
        assert_eq!(folder.get("notes.onnx"), b"my notes");
    }
    folder.put("notes.onnx", "my notes");
    onnx(&folder, "extract f.onnxtxt --parts 2 -o parts/").exits(0).says("split into 2 parts");
    folder.put("others/part-1.onnx", "my notes");
    onnx(&folder, "extract f.onnxtxt --parts 2 -o others/").exits(2).lacks("split into");
    let text = FUNCTIONS.replace("[2] y", "[3] y");
    folder.put("declared.onnxtxt", text);
    onnx(&folder, "convert declared.onnxtxt -o declared.onnx").exits(0);
    onnx(&folder, "check declared.onnx --fix -o fixed.onnx").exits(0).says("declared.onnx: repaired");
    onnx(&folder, "check declared.onnx --fix -o notes.onnx").exits(2).lacks("repaired");
    // The models are not merged, although everything up to the check went well.
    onnx(&folder, "merge f.onnxtxt m.onnx --outputs absent -o out.onnx").exits(2).lacks("merged ");
}

/// The bytes of the summary and of the report are those of the files.
#[test]
fn sizes_are_those_of_the_files() {
    let folder = Folder::new();
    let numbers = vec!["1"; 1024].join(", ");
    folder.put(
        "in.onnxtxt",
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[32] x) => (float[32] y)
             <float[32, 32] w = {{{numbers}}}> {{ y = MatMul (x, w) }}"
        ),
    );
    onnx(&folder, "convert in.onnxtxt -o in.onnx --weights external=w.data").exits(0);
    folder.put("out/empty", "");
    for arguments in [
        "convert in.onnx -o out/m.onnx",
        "convert in.onnx --float16 --weights external=half.data -o out/h.onnx --force",
        "simplify in.onnx -o out/m.onnx",
        "infer in.onnx -o out/m.onnx",
        "edit in.onnx --prefix layer/ -o out/m.onnx",
        "quantize in.onnx --to int8 --weights-only --weights external=q.data -o out/q.onnx --force",
        "extract in.onnx --outputs y -o out/m.onnx",
        "print in.onnx --full -o out/m.onnxtxt",
    ] {
        // The second time, the files replace others.
        for _ in 0..2 {
            let run = onnx(&folder, &format!("{arguments} --report report.json")).exits(0);
            let report: serde_json::Value = serde_json::from_slice(&folder.get("report.json")).unwrap();
            let outputs = report["outputs"].as_array().unwrap();
            assert_eq!(outputs.len(), 2, "{arguments}: {report}");
            for output in outputs {
                let name = output["name"].as_str().unwrap();
                let bytes = folder.get(name).len() as u64;
                assert_eq!(output["bytes"].as_u64(), Some(bytes), "{arguments}: {name}");
                if bytes < 1000 {
                    assert!(run.err.contains(&format!(" {bytes} B")), "{arguments}: {}", run.err);
                }
            }
        }
    }
    // What is compared includes the weights, wherever they are.
    for weights in ["auto", "embed", "external=other.data"] {
        let run = onnx(&folder, &format!("simplify in.onnx --weights {weights} -o out/s.onnx --force"));
        run.exits(0).says("; 4.2 kB -> 4.").says(" kB with external data");
    }
    onnx(&folder, "convert in.onnx -o all.onnx --weights embed").exits(0);
    onnx(&folder, "simplify all.onnx -o s.onnx").exits(0).says("kB before)").lacks("with external data");
}

/// Files of external data count with all of their bytes, also with those that no tensor uses.
#[test]
fn external_data_that_is_not_used_is_counted() {
    let folder = Folder::new();
    let [numbers, others] = ["1", "2"].map(|number| vec![number; 4096].join(", "));
    folder.put(
        "in.onnxtxt",
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[64] x) => (float[64] y)
             <float[64,64] v = {{{others}}}, float[64,64] w = {{{numbers}}}> {{ d = MatMul (x, v) y = MatMul (x, w) }}"
        ),
    );
    onnx(&folder, "convert in.onnxtxt -o in.onnx --weights external=w.data").exits(0);
    for name in ["out", "part", "text"] {
        folder.put(&format!("{name}/empty"), "");
    }
    let unused = "16.4 kB of the external data is not used by the model";
    for arguments in [
        "simplify in.onnx -o out/m.onnx",
        "simplify in.onnx -o near.onnx",
        "simplify in.onnx --dry-run",
        "extract in.onnx --outputs y -o part/m.onnx",
        "infer out/m.onnx -o out/i.onnx",
        "print out/m.onnx --full -o text/full.onnxtxt",
    ] {
        let run = onnx(&folder, arguments).exits(0);
        if arguments.starts_with("infer") {
            // The data stays where it is, so that no number is given.
            run.lacks("external data");
            continue;
        }
        if arguments.starts_with("extract") {
            // A part is written with the data that it uses.
            run.says("16.4 kB in m.onnx.data").lacks("not used");
            continue;
        }
        let run = run.says(unused).says("--weights external=NAME");
        if arguments.starts_with("simplify") {
            run.says("33.").lacks("-> 16.");
        }
    }
    let run = onnx(&folder, "simplify in.onnx -o out/s.onnx --weights external=small.data").exits(0);
    run.says("-> 16.").lacks("not used");
}

/// A text without elements takes no place of a model, and what cannot be written says what to do.
#[test]
fn what_would_be_lost_is_not_written() {
    let folder = Folder::new();
    let numbers = vec!["1"; 1024].join(", ");
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[32] x) => (float[32] y) <float[32,32] w = {{{numbers}}}> {{ y = MatMul (x, w) }}"
    );
    folder.put("in.onnxtxt", &text);
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    onnx(&folder, "convert in.onnxtxt -o other.onnx").exits(0);
    let (model, other) = (folder.get("in.onnx"), folder.get("other.onnx"));
    for line in [
        "print in.onnx -o in.onnx",
        "print in.onnx -o in.onnx --force",
        "print in.onnx -o other.onnx --force",
    ] {
        let run = onnx(&folder, line).exits(2).lacks("`--force` replaces");
        run.says("has the extension of the format `onnx`")
            .says("write `-o ")
            .says(".onnxtxt`, or `onnx convert");
    }
    let run = onnx(&folder, "print in.onnxtxt -o in.onnxtxt --force").exits(2);
    run.says("leaves elements out").says("`--full`").lacks("`--force` replaces");
    assert_eq!((folder.get("in.onnx"), folder.get("other.onnx")), (model, other));
    assert_eq!(folder.get("in.onnxtxt"), text.as_bytes());
    onnx(&folder, "print in.onnx -o short.onnxtxt").exits(0);
    onnx(&folder, "print in.onnx -o short.onnxtxt").exits(0);
    onnx(&folder, "convert in.onnx --weights external=in.onnx --threshold 1 -o e.onnx")
        .exits(2)
        .says("it is the input model")
        .lacks("free space");
}

/// A directory of models is shown as a table by every command that changes one, and a failure names its file.
#[test]
fn directories_are_tables_for_all_changes() {
    let folder = Folder::with("dir/a.onnx", models::small());
    folder.put("dir/b.onnx", models::wrong());
    for command in ["edit dir --prefix p/", "extract dir --outputs y", "inline dir", "outline dir --repeated"]
    {
        for option in ["", " --dry-run", " --sort-by file"] {
            let run = onnx(&folder, &format!("{command}{option}"));
            assert!(run.out.starts_with("file "), "{command}{option}: {}{}", run.out, run.err);
            assert!(run.out.contains("dir/a.onnx") && run.out.contains("dir/b.onnx"), "{}", run.out);
        }
    }
    let run = onnx(&folder, "extract dir --outputs absent -o out/").exits(2);
    assert!(run.err.contains("dir/a.onnx: ") && run.err.contains("dir/b.onnx: "), "{}", run.err);
    onnx(&folder, "infer dir/a.onnx --set =1").exits(2).says("write the name of a dimension variable");
    onnx(&folder, "infer dir/a.onnx --set N=99999999999999999999").exits(2).says("is too large");
}
