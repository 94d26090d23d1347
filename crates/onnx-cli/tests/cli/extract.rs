//! `onnx extract`.

use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 4] x, float[4] bias) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
   ["/layer.0/relu"] a = Relu (x)
   ["/layer.0/add"] b = Add (a, w)
   ["/layer.1/exp"] c = Exp (b)
   ["/layer.1/add"] y = Add (c, bias)
}"#;

#[test]
fn a_part_computes_what_the_model_does() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "extract in.onnxtxt --inputs b,bias --outputs y -o part.onnx")
        .exits(0)
        .says("extracted 2 inputs and 1 output: 4 -> 2 nodes");
    onnx(&folder, "check part.onnx").exits(0);
    let text = onnx(&folder, "print part.onnx --at main()").exits(0).out;
    assert!(text.contains("(float[N,4] b, float[4] bias) => (float[N,4] y)"), "{text}");
    // All inputs are the same, so the whole model and the part up to `c` agree.
    onnx(&folder, "extract in.onnxtxt --outputs y -o whole.onnx").exits(0);
    onnx(&folder, "compare in.onnxtxt whole.onnx --rtol 0 --atol 0").exits(0);
}

#[test]
fn paths_that_are_not_cut_are_named() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "extract in.onnxtxt --inputs b --outputs y -o part.onnx")
        .exits(1)
        .says("ONNX4008")
        .says("bias -> y");
    assert!(!folder.path().join("part.onnx").exists());
}

#[test]
fn nodes_are_selected_by_scope_pattern_operator_and_window() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    for (only, nodes) in [
        ("/layer.0/**", 2),
        ("/layer.*/add", 2),
        ("**/exp", 1),
        ("Exp()", 1),
        ("Relu(),Exp()", 2),
        ("near(c,1)", 3),
        ("node(3)", 1),
        ("b", 1),
    ] {
        let run = onnx(&folder, &format!("extract in.onnxtxt --only {only} -o part.onnx --force")).exits(0);
        assert!(run.told().contains(&format!("4 -> {nodes} node")), "{only}: {}", run.told());
        onnx(&folder, "check part.onnx").exits(0);
    }
    onnx(&folder, "extract in.onnxtxt --only Conv()").exits(2).says("matches `Conv()`");
    onnx(&folder, "extract in.onnxtxt --outputs q").exits(2).says("matches `q`");
    onnx(&folder, "extract in.onnxtxt").exits(2);
}

#[test]
fn inputs_without_effect_are_warned_about() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "extract in.onnxtxt --inputs x,bias --outputs c").exits(0).says("no output depends on");
}

const LAYERS: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 2] x) => (float[N, 2] y, float[N, 2] b)
<float[2, 2] w0 = {1, 2, 3, 4}, float[2, 2] w1 = {5, 6, 7, 8}, float[2, 2] w2 = {2, 3, 4, 5}> {
   a = MatMul (x, w0)
   b = Tanh (a)
   c = MatMul (b, w1)
   d = Tanh (c)
   e = MatMul (d, w2)
   y = Add (e, b)
}"#;

/// Programs take inputs and outputs by their position.
#[test]
fn the_command_that_joins_parts_keeps_the_order() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2] z, float[2] x) => (float[2] last, float[2] cache) { cache = Neg (x) h = Abs (cache) last = Add (h, z) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "extract in.onnxtxt --parts 3 -o parts").exits(0);
    let command = "onnx merge parts/part-*.onnx --by-name --inputs 'z,x' --outputs 'last,cache' -o MODEL";
    let said = format!("{}{}", run.out, run.err);
    assert!(said.contains(command), "{said}");
    let parts = "parts/part-1.onnx parts/part-2.onnx parts/part-3.onnx";
    onnx(&folder, &format!("merge {parts} --by-name --inputs z,x --outputs last,cache -o out.onnx")).exits(0);
    onnx(&folder, "diff in.onnxtxt out.onnx --no-metadata").exits(0);
}

#[test]
fn a_model_is_cut_into_parts_that_can_be_joined_again() {
    let folder = Folder::with("in.onnxtxt", LAYERS);
    onnx(&folder, "extract in.onnxtxt --parts 3").exits(0).says("split into 3 parts").says("would write");
    onnx(&folder, "extract in.onnxtxt --parts 3 -o parts/")
        .exits(0)
        .says("wrote parts/part-1.onnx")
        .says("to join them again: onnx merge parts/part-*.onnx --by-name --outputs 'y,b' -o MODEL");
    let expected = onnx(&folder, "run in.onnxtxt --set N=2 --seed 3").exits(0).out;
    let merge =
        "merge parts/part-1.onnx parts/part-2.onnx parts/part-3.onnx --by-name --outputs y,b -o out.onnx";
    onnx(&folder, merge).exits(0).says("merged 3 models with 3 connections: 6 nodes");
    assert_eq!(onnx(&folder, "run out.onnx --set N=2 --seed 3").exits(0).out, expected);
    onnx(&folder, "extract in.onnxtxt --parts 3 -o parts").exits(0);
    for force in ["", " --force"] {
        onnx(&folder, &format!("extract in.onnxtxt --parts 2 -o parts{force}"))
            .exits(2)
            .says("1 file of another split");
    }
    onnx(&folder, "extract in.onnxtxt --parts 32B -o two").exits(0).says("split into 2 parts");
    // External data goes to the parts that use it.
    onnx(&folder, "convert in.onnxtxt -o in.onnx --weights external --threshold 1").exits(0);
    onnx(&folder, "extract in.onnx --parts 3 -o far").exits(0);
    let merge = merge.replace("parts/", "far/");
    onnx(&folder, &merge).exits(0);
    assert_eq!(onnx(&folder, "run out.onnx --set N=2 --seed 3").exits(0).out, expected);
    let report = onnx(&folder, "extract in.onnxtxt --parts 3 --format json").exits(0).json();
    assert_eq!(report["result"]["models"][1]["name"], "part-2.onnx");
    onnx(&folder, "extract in.onnxtxt --parts 9")
        .exits(1)
        .says("the model can be cut into at most 6 parts, not into 9");
    onnx(&folder, "extract in.onnxtxt --parts 2 -o -").exits(2);
    onnx(&folder, "extract in.onnxtxt --parts few").exits(2).says("neither a number of parts nor a size");
}

#[test]
fn parts_are_replaced_together_or_not_at_all() {
    let folder = Folder::with("in.onnxtxt", MODEL);
    onnx(&folder, "extract in.onnxtxt --parts 3 -o parts").exits(0);
    let read = || std::fs::read(folder.path().join("parts/part-1.onnx")).unwrap();
    let before = read();
    let second = folder.path().join("parts/part-2.onnx");
    std::fs::remove_file(&second).unwrap();
    std::fs::create_dir(&second).unwrap();
    folder.put("other.onnxtxt", MODEL.replace("Relu", "Neg"));
    onnx(&folder, "extract other.onnxtxt --parts 3 -o parts --force").exits(2).says("directory");
    assert_eq!(read(), before);
    assert_eq!(std::fs::read_dir(folder.path().join("parts")).unwrap().count(), 3);
    std::fs::remove_dir(&second).unwrap();
    onnx(&folder, "extract other.onnxtxt --parts 3 -o parts --force").exits(0);
    assert_ne!(read(), before);
    // External data that is missing: no directory remains.
    folder.put("far/in.onnx", crate::models::external("missing.data"));
    onnx(&folder, "extract far/in.onnx --parts 1 -o new/deep");
    assert!(!folder.path().join("new").exists());
    let one = r#"<ir_version: 10, opset_import: ["": 21]> g (float[4] x) => (float[4] y) { y = Relu (x) }"#;
    folder.put("one.onnxtxt", one);
    onnx(&folder, "extract one.onnxtxt --parts 2")
        .exits(1)
        .says("the model cannot be cut: its outputs need only one node");
}

#[test]
fn a_part_has_no_training_information_and_one_warning_says_so() {
    // The algorithm uses a value that is not in the part.
    let model = r#"<ir_version: 8, opset_import: ["": 14]>
    g (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, 2}> {
       h = MatMul (x, w)
       y = Relu (h)
    }
    @training {
       algorithm: step (float[N,1] t) => (float loss) {
          e = Sub (y, t)
          loss = ReduceSum <keepdims = 0> (e)
       }
    }"#;
    let folder = Folder::with("in.onnxtxt", model);
    for arguments in ["--outputs h -o part.onnx", "--only node(0) -o part.onnx --force", "--parts 2 -o parts"]
    {
        let run = onnx(&folder, &format!("extract in.onnxtxt {arguments}")).exits(0);
        assert_eq!(run.err.matches("training information was removed").count(), 1, "{}", run.err);
    }
    for part in ["part.onnx", "parts/part-1.onnx", "parts/part-2.onnx"] {
        onnx(&folder, &format!("check {part}")).exits(0);
    }
}

/// Exporters give a shared weight other names by `Identity`: what is selected behind it keeps the weight.
#[test]
fn weights_behind_identities_that_are_not_selected_stay_weights() {
    let folder = Folder::with(
        "in.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]>
         g (float[N,2] x, bool c) => (float[N,2] y, float[2] z) <float[2] b = {1, 2}, float[2] k = {3, 4}>
         { bias = Identity (b) again = Identity (bias) h = Add (x, again) m = Mul (h, k)
           y = If (c) <then_branch = t () => (float[N,2] a) { a = Add (m, bias) },
                       else_branch = e () => (float[N,2] s) { s = Sub (m, bias) }>
           z = Neg (again) }",
    );
    onnx(&folder, "extract in.onnxtxt --only Add(),Mul(),If() -o out.onnxtxt")
        .exits(0)
        .says("extracted 2 inputs and 1 output");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(text.contains("float[2] b = ") && text.contains("h = Add (x, b)"), "{text}");
    assert!(text.contains("a = Add (m, b)") && !text.contains("Identity"), "{text}");
    onnx(&folder, "compare in.onnxtxt out.onnxtxt --common --set N=3 --rtol 0 --atol 0").exits(0);
}

/// A part in another directory has the weights that it uses.
#[test]
fn a_part_takes_the_weights_that_it_uses() {
    let numbers = vec!["1"; 1024].join(", ");
    let weights: Vec<String> = (0..3).map(|index| format!("float[32,32] w{index} = {{{numbers}}}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[32] x) => (float[32] y) < {} > {{
            a = MatMul (x, w0) b = MatMul (a, w1) y = MatMul (b, w2) }}",
        weights.join(", ")
    );
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "convert in.onnxtxt -o in.onnx --weights external=w.data").exits(0);
    folder.put("far/empty", "");
    let expected = onnx(&folder, "run in.onnxtxt --seed 3 --at a").exits(0);
    for part in ["--outputs a", "--only node(0)"] {
        let report = onnx(&folder, &format!("extract in.onnx {part} -o far/part.onnx --format json --force"));
        let report = report.exits(0).json();
        let outputs: Vec<(&str, u64)> = report["outputs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|output| (output["name"].as_str().unwrap(), output["bytes"].as_u64().unwrap()))
            .collect();
        assert_eq!(outputs[1], ("far/part.onnx.data", 4096), "{part}: {outputs:?}");
        let run = onnx(&folder, "run far/part.onnx --seed 3").exits(0);
        let line = run.out.lines().find(|line| line.starts_with("  ")).unwrap().to_owned();
        assert!(expected.out.contains(&line), "{line}");
    }
    // Next to the model, the file is shared.
    onnx(&folder, "extract in.onnx --outputs a -o near.onnx").exits(0);
    assert!(!folder.list().contains(&"near.onnx.data".to_owned()));
}

/// Parts of several models have the same names, so that each model has a directory.
#[test]
fn parts_of_several_models_are_in_directories() {
    let text = "<ir_version: 8, opset_import: [\"\": 17]> g (float[2] x) => (float[2] y) { h = Relu (x) y = Exp (h) }";
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "convert in.onnxtxt -o a.onnx").exits(0);
    std::fs::create_dir(folder.path().join("in")).unwrap();
    onnx(&folder, "convert in.onnxtxt -o in/b.onnx").exits(0);
    onnx(&folder, "extract a.onnx in/b.onnx --parts 2 -o parts/").exits(0);
    for name in ["parts/a/part-1.onnx", "parts/a/part-2.onnx", "parts/b/part-1.onnx", "parts/b/part-2.onnx"] {
        onnx(&folder, &format!("check {name}")).exits(0);
    }
    onnx(&folder, "extract in --parts 2 -o others/").exits(0);
    assert!(folder.path().join("others/b/part-2.onnx").exists());
    onnx(&folder, "extract a.onnx a.onnx --parts 2 -o twice/").exits(2).says("two models would be written");
}
