//! Options that would have no effect next to another one, and an option that is given twice with one meaning: refused with the reason.

use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20, "com.acme": 1], metadata_props: ["k": "v"]>
g (float[N,4] x) => (float[N,4] y) <float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> {
   ["/m"] a = MatMul (x, w)
   ["/t"] b = com.acme.Twice (a)
   ["/s"] y = Softmax <axis = 1> (b)
}
<domain: "com.acme", opset_import: ["": 20]> Twice (a) => (b) { b = Add (a, a) }
"#;

#[test]
fn options_without_effect_are_refused() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    onnx(&folder, "run m.onnxtxt --save-inputs feeds").exits(0);
    onnx(&folder, "print m.onnxtxt --at node(0) -o node.onnxtxt").exits(0);
    onnx(&folder, "convert node.onnxtxt --as node -o node.pb").exits(0);
    onnx(&folder, "quantize m.onnxtxt --to int8 --seed 0 --save-ranges r.json").exits(0);
    for (arguments, reason) in [
        ("quantize m.onnxtxt --to int8 --dynamic --block 2", "`--dynamic` and `--block` exclude each other"),
        ("quantize m.onnxtxt --to int8 --seed 0 --block 2", "needs `--weights-only`"),
        ("quantize m.onnxtxt --to int8 --ranges r.json --block 2", "exclude each other"),
        ("quantize m.onnxtxt --to int8 --calibrate feeds --seed 3", "no inputs are generated"),
        ("convert m.onnxtxt --float16 --assume positive-sizes", "exclude each other"),
        ("convert m.onnxtxt --dequantize --assume positive-sizes", "exclude each other"),
        ("convert m.onnxtxt --float16 --prove", "exclude each other"),
        ("convert node.pb --as node --weights external -o out.pb", "`--weights` is for whole models"),
        ("convert node.pb --as node --ir-version 9 -o out.pb", "`--ir-version` is for whole models"),
        ("convert node.pb --as node --opset 21 -o out.pb", "`--opset` is for whole models"),
        ("check m.onnxtxt --profile reference --notes", "`--notes` is not for `--profile reference`"),
        ("check m.onnxtxt --profile reference --recommendations", "`--recommendations` is not for"),
        ("edit m.onnxtxt --names-of inputs --graph-name h", "`--names-of` is for `--rename`"),
        ("edit m.onnxtxt --inputs x --add-input u=float[2]", "exclude each other"),
        ("edit m.onnxtxt --inputs x --remove-input x", "`--inputs` removes all inputs that it does not list"),
        ("edit m.onnxtxt --remove-metadata k --remove-all-metadata", "exclude each other"),
        ("outline m.onnxtxt --function a.B --repeated", "exclude each other"),
        ("outline m.onnxtxt --function a.B --min-nodes 3", "exclude each other"),
        ("outline m.onnxtxt --function a.B --domain c", "exclude each other"),
        ("outline m.onnxtxt --function a.B", "needs `--only"),
        ("print m.onnxtxt --digest --full", "exclude each other"),
        ("print m.onnxtxt --to dot --no-metadata", "exclude each other"),
        ("rewrite m.onnxtxt --pass no-identities --fold-quantized", "`--fold-quantized` is for"),
        ("compare m.onnxtxt m.onnxtxt --feeds feeds --runs 2", "all inputs are given"),
    ] {
        onnx(&folder, arguments).exits(2).says(reason);
    }
    // A plan does what is asked for, too.
    onnx(&folder, "convert m.onnxtxt --opset 21 --prove").exits(0).says("proved");
    onnx(&folder, "convert m.onnxtxt --opset 21 --ir-version 99").exits(1).says("cannot have IR version 99");
}

#[test]
fn an_aspect_has_one_value() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    for (edit, reason) in [
        ("--import 13 --import 14", "`--import` gives the operator set `ai.onnx` two versions"),
        ("--import =13 --import ai.onnx=13", "give 13 once"),
        ("--declare a=float[N,4] --declare a=float[2,4]", "`a` is given two types"),
        ("--operator /m=Add --operator MatMul()=Sub", "gives the node `/m` a second value"),
        ("--attribute /s.axis=0 --attribute Softmax().axis=-1", "gives the node `/s` a second value"),
        ("--metadata a=b --metadata a=c", "`a` is given two values"),
        ("--metadata a=b --remove-metadata a", "`a` is set and removed"),
    ] {
        onnx(&folder, &format!("edit m.onnxtxt {edit} -o out.onnx")).exits(2).says(reason);
    }
    assert_eq!(folder.list(), ["m.onnxtxt"]);
}

/// The summary counts what is other than before.
#[test]
fn edits_without_a_change_are_not_counted() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    for edit in [
        "--operator MatMul()=MatMul",
        "--attribute Softmax().axis=1",
        "--declare x=float[N,4]",
        "--type x=float",
        "--ir-version 10",
        "--import 20",
        "--metadata k=v",
        "--rename x=x",
    ] {
        onnx(&folder, &format!("edit m.onnxtxt {edit}")).exits(0).says("nothing changes");
    }
    // An import is that of the functions, too.
    let run = onnx(&folder, "edit m.onnxtxt --import 21 -o out.onnxtxt").exits(0);
    run.says("the import of ai.onnx");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert_eq!(text.matches("\"\": 21").count(), 2, "{text}");
}

/// Initializers of old versions are inputs.
#[test]
fn initializers_that_become_inputs_are_a_note() {
    let text = "<ir_version: 8, opset_import: [\"\": 8]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }";
    let folder = Folder::with("m.onnxtxt", text);
    for command in ["edit", "convert"] {
        onnx(&folder, &format!("{command} m.onnxtxt --ir-version 3"))
            .exits(0)
            .says("note: 1 initializer is an input with a default now, as IR version 3 requires");
        onnx(&folder, &format!("{command} m.onnxtxt --ir-version 4")).exits(0).lacks("note: 1 initializer");
    }
}

/// Options of `check` that are about other files than the given one.
#[test]
fn options_for_other_contents_are_refused() {
    const RULES: &str =
        "rule r: exact\nfrom (x) => (y) { y = Sub (Relu (x), Relu (Neg (x))) }\nto (x) => (x) {}\n";
    let folder = Folder::with("m.onnxtxt", MODEL);
    onnx(&folder, "print m.onnxtxt --at node(0) -o node.onnxtxt").exits(0);
    onnx(&folder, "convert node.onnxtxt --as node -o node.pb").exits(0);
    onnx(&folder, "ops export --functions-of m.onnxtxt --domain com.acme -o acme.onnxops").exits(0);
    folder.put("r.onnxrules", RULES);
    let whole = ["--shapes x=2x4", "--fast", "--full"];
    let models = [
        "--target onnxruntime",
        "--data",
        "--data-dir .",
        "--check-custom-domains",
        "--skip-opset-compatibility",
        "--recommendations",
    ];
    for option in whole.into_iter().chain(models).chain(["--profile reference"]) {
        for file in ["r.onnxrules", "acme.onnxops"] {
            let name = option.split(' ').next().unwrap();
            let reason = format!("{file}: `{name}");
            onnx(&folder, &format!("check {file} {option}")).exits(2).says(&reason).says("is for");
            onnx(&folder, &format!("check acme.onnxops r.onnxrules {option}")).exits(2).says("is for");
            // Of several files, an option is for those that have a use for it, as a hook passes them.
            let both = onnx(&folder, &format!("check m.onnxtxt {file} {option}")).says("2 models: ");
            assert!(!both.err.contains("is for"), "{option}: {}", both.err);
        }
    }
    onnx(&folder, "check acme.onnxops --prove").exits(2).says("`--prove` is for rule files and claims");
    for option in whole.into_iter().chain(["--prove"]) {
        onnx(&folder, &format!("check node.pb --as node {option}"))
            .exits(2)
            .says("and this is a part of a model");
    }
    // In a directory, an option is for the files that have a use for it.
    folder.put("rules/r.onnxrules", RULES);
    onnx(&folder, "check rules --data").exits(2).says("`--data` is for models");
    onnx(&folder, "convert m.onnxtxt -o rules/m.onnx").exits(0);
    onnx(&folder, "check rules --data").exits(0);
    onnx(&folder, "check r.onnxrules").exits(0);
    onnx(&folder, "check acme.onnxops node.pb --notes --jobs 2").exits(2);
    onnx(&folder, "check acme.onnxops r.onnxrules --notes --jobs 2 --concise").exits(0);
}
