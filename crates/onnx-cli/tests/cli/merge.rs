//! `onnx merge --link`, and `onnx info --functions`.

use crate::run::{Folder, onnx};

/// A model that calls a function that it does not define, and one with a function.
pub(crate) const CALLS: &str = r#"<ir_version: 8, opset_import: ["": 13, "my": 1]>
g (float[N, M] x) => (float[N, M] y) { y = my.Scale <by = 4.0> (x) }
"#;

/// Functions of which one calls another one, and a third that nothing calls.
const LIBRARY: &str = r#"<ir_version: 10, opset_import: ["": 20, "lib": 3]> g () => () { }
<domain: "lib", opset_import: ["": 20, "lib": 3]> Outer <by: float = 2.0> (p) => (q) {
   h = lib.Inner (p)
   f = Constant <value_float: float = @by> ()
   q = Mul (h, f)
}
<domain: "lib", opset_import: ["": 20]> Inner (p) => (q) { q = Neg (p) }
<domain: "lib", opset_import: ["": 20]> Other (p) => (q) { q = Abs (p) }
"#;

#[test]
fn functions_that_are_called_are_linked() {
    let folder = Folder::with("library.onnxtxt", LIBRARY);
    let model =
        r#"<ir_version: 7, opset_import: ["": 20]> g (float[N] x) => (float[N] y) { y = lib.Outer (x) }"#;
    folder.put("in.onnxtxt", model);
    onnx(&folder, "merge in.onnxtxt --link library.onnxtxt -o out.onnxtxt")
        .exits(0)
        .says("linked 2 functions of 4 nodes\n");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    // The domain is imported in the version of the library, and defaults of attributes need IR version 9.
    assert!(text.contains("ir_version: 9") && text.contains("\"lib\": 3"), "{text}");
    assert!(!text.contains("Other"), "{text}");
    onnx(&folder, "check out.onnxtxt").exits(0);
    let run = onnx(&folder, "run out.onnxtxt --set N=2 --seed 3").exits(0);
    let flat = onnx(&folder, "inline out.onnxtxt -o flat.onnxtxt").exits(0).says("inlined 2 calls");
    assert!(flat.out.is_empty());
    assert_eq!(onnx(&folder, "run flat.onnxtxt --set N=2 --seed 3").exits(0).out, run.out);
    // Nothing is left to link.
    onnx(&folder, "merge out.onnxtxt --link library.onnxtxt")
        .exits(0)
        .says("the model calls no function that only library.onnxtxt defines")
        .says("linked 0 functions");
    let report = onnx(&folder, "merge in.onnxtxt --link library.onnxtxt --format json").exits(0).json();
    let linked = &report["result"]["models"][0]["linked"];
    assert_eq!((&linked[0]["function"], &linked[1]["function"]), (&"lib.Inner".into(), &"lib.Outer".into()));
    assert_eq!(report["inputs"][1]["name"], "library.onnxtxt");
}

#[test]
fn a_function_of_the_model_is_not_replaced() {
    let folder = Folder::with("library.onnxtxt", LIBRARY);
    let model = r#"<ir_version: 9, opset_import: ["": 20, "lib": 1]> g (float[N] x) => (float[N] y) {
           h = lib.Inner (x)
           y = lib.Outer (h)
        }
        <domain: "lib", opset_import: ["": 20]> Inner (p) => (q) { q = Exp (p) }"#;
    folder.put("in.onnxtxt", model);
    onnx(&folder, "merge in.onnxtxt --link library.onnxtxt -o out.onnxtxt")
        .exits(0)
        .says("the model has another function `lib.Inner`: that of library.onnxtxt is now `lib.Inner_2`");
    onnx(&folder, "inline out.onnxtxt -o flat.onnxtxt").exits(0);
    let text = String::from_utf8(folder.get("flat.onnxtxt")).unwrap();
    assert!(text.contains("Exp (x)") && text.contains("Neg (h)"), "{text}");
}

#[test]
fn what_cannot_be_linked_is_refused() {
    let folder = Folder::with("in.onnxtxt", CALLS);
    let library = |body: &str| {
        let function = "<domain: \"my\", opset_import: [\"\": 13, \"my\": 1]>";
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 13, \"my\": 1]> g () => () {{ }} {function} Scale <by> (p) => (q) {{ {body} }}"
        );
        folder.put("library.onnxtxt", text);
        onnx(&folder, "merge in.onnxtxt --link library.onnxtxt -o out.onnx").exits(2)
    };
    library("q = my.Scale <by = 1.0> (p)")
        .says("library.onnxtxt: the function `my.Scale` of the library calls itself");
    library("q = Add (p, nothing)")
        .says("library.onnxtxt: the function `my.Scale` of the library cannot be copied");
    assert!(!folder.path().join("out.onnx").exists());
    onnx(&folder, "merge in.onnxtxt --link missing.onnx").exits(2);
    onnx(&folder, "merge - --link -").exits(2).says("only one model can come from standard input");
}

#[test]
fn functions_are_listed_with_what_they_need() {
    let folder = Folder::with("library.onnxtxt", LIBRARY);
    let run = onnx(&folder, "info --functions library.onnxtxt").exits(0);
    let expected = "\
library.onnxtxt  3 functions

lib.Inner (p) => (q)
  1 call, 1 node
  opsets     ai.onnx 20

lib.Outer (p) => (q)
  0 calls, 3 nodes, 4 with those of functions that it calls
  optional   by
  opsets     ai.onnx 20, lib 3

lib.Other (p) => (q)
  0 calls, 1 node
  opsets     ai.onnx 20
";
    assert_eq!(run.out, expected);
    let report = onnx(&folder, "info library.onnxtxt --format json").exits(0).json();
    let outer = &report["result"]["models"][0]["functions"][0];
    assert_eq!((&outer["nodes"], &outer["expanded_nodes"]), (&3.into(), &4.into()));
    assert_eq!(outer["optional_attributes"][0], "by");
    let cycle = r#"<ir_version: 10, opset_import: ["": 20, "d": 1]> g (float x) => (float y) { y = d.f (x) }
        <domain: "d", opset_import: ["": 20, "d": 1]> f (x) => (y) { y = d.h (x) }
        <domain: "d", opset_import: ["": 20, "d": 1]> h (x) => (y) { y = d.h (x) }"#;
    folder.put("cycle.onnxtxt", cycle);
    let report = onnx(&folder, "info cycle.onnxtxt --format json").exits(0).json();
    for function in report["result"]["models"][0]["functions"].as_array().unwrap() {
        assert!(function["expanded_nodes"].is_null(), "{function}");
    }
    onnx(&folder, "info cycle.onnxtxt --functions").exits(0).says("calls itself");
}

#[test]
fn warnings_of_linking_have_codes_and_are_in_the_report() {
    let folder = Folder::with("library.onnxtxt", LIBRARY);
    let model = r#"<ir_version: 9, opset_import: ["": 20, "lib": 3]> g (float[N] x) => (float[N] y) {
           h = lib.Inner (x)
           i = lib.Outer (h)
           j = lib.Missing (i)
           y = lib.Missing (j)
        }
        <domain: "lib", opset_import: ["": 20]> Inner (p) => (q) { q = Exp (p) }"#;
    folder.put("in.onnxtxt", model);
    folder.put("other.onnxtxt", LIBRARY.replace("lib", "unrelated"));
    let command = "merge in.onnxtxt --link library.onnxtxt --link other.onnxtxt";
    onnx(&folder, command)
        .exits(0)
        .says("ONNX4004")
        .says("no library and no function of the model defines `lib.Missing`: 2 nodes")
        .says("the model calls no function that only other.onnxtxt defines");
    let report = onnx(&folder, &format!("{command} --format json")).exits(0).json();
    let mut codes: Vec<&str> = (report["findings"].as_array().unwrap().iter())
        .map(|found| found["code"].as_str().unwrap())
        .filter(|code| code.starts_with("ONNX40"))
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, ["ONNX4004", "ONNX4005", "ONNX4006"]);
    onnx(&folder, &format!("{command} --deny warnings -o out.onnxtxt")).exits(1);
    assert!(!folder.path().join("out.onnxtxt").exists());
}

const ENCODER: &str = r#"<ir_version: 10, opset_import: ["": 21]>
encoder (float[N, 2] x) => (float[N, 2] h, float[N, 2] z) <float[2, 2] w = {1, 2, 3, 4}> {
   t = MatMul (x, w)
   h = Relu (t)
   z = Neg (t)
}"#;

const DECODER: &str = r#"<ir_version: 10, opset_import: ["": 21]>
decoder (float[M, 2] x) => (float[M, 2] y) { t = Exp (x)  y = Neg (t) }"#;

#[test]
fn models_are_joined() {
    let folder = Folder::with("a.onnxtxt", ENCODER);
    folder.put("b.onnxtxt", DECODER);
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --connect h=x -o out.onnxtxt")
        .exits(0)
        .says("merged 2 models with 1 connection: 5 nodes");
    let text = String::from_utf8(folder.get("out.onnxtxt")).unwrap();
    assert!(text.contains("(float[N,2] x) => (float[N,2] z, float[N,2] y)"), "{text}");
    onnx(&folder, "check out.onnxtxt").exits(0);
    let run = onnx(
        &folder,
        "merge a.onnxtxt b.onnxtxt a.onnxtxt --connect in(2,y)=in(3,x) h=x --outputs y --format json",
    );
    let report = run.exits(0).json();
    let joined = &report["result"]["models"][0]["joined"];
    assert_eq!((&joined["inputs"][0], &joined["outputs"][0]), (&"x".into(), &"y".into()));
    assert_eq!(joined["connections"], 2);
    assert_eq!(report["inputs"][2]["name"], "a.onnxtxt");
    // By name, the input `x` is the same.
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --by-name -o shared.onnxtxt").exits(0);
    let text = String::from_utf8(folder.get("shared.onnxtxt")).unwrap();
    assert!(text.contains("(float[N,2] x) => (float[N,2] h, float[N,2] z, float[N,2] y)"), "{text}");
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --prefix a. --prefix b. -o both.onnxtxt")
        .exits(0)
        .says("nothing connects the models");
    let text = String::from_utf8(folder.get("both.onnxtxt")).unwrap();
    assert!(text.contains(r#"(float[N,2] "a.x", float[M,2] "b.x")"#), "{text}");
}

#[test]
fn outputs_that_are_connected_inputs_are_reported() {
    let folder = Folder::with(
        "a.onnxtxt",
        r#"<ir_version: 9, opset_import: ["": 18]>
        a (float[N] x) => (float[N] y) { y = Relu (x) }"#,
    );
    folder
        .put("same.onnxtxt", r#"<ir_version: 9, opset_import: ["": 18]> s (float[N] p) => (float[N] p) { }"#);
    let run = onnx(&folder, "merge a.onnxtxt same.onnxtxt --connect y=p -o out.onnxtxt").exits(0);
    let run = run.says("same.onnxtxt: p is now y");
    let run = run.says("the output is the value that is connected to the input p");
    assert_eq!(run.err.matches("is now").count(), 1, "{}", run.err);
    let outputs = |name: &str| {
        let text = String::from_utf8(folder.get(name)).unwrap();
        text.lines().find(|line| line.contains("=>")).unwrap().split_once("=>").unwrap().1.to_owned()
    };
    assert_eq!(outputs("out.onnxtxt"), " (float[N] y) {");
    let report =
        onnx(&folder, "merge a.onnxtxt same.onnxtxt --connect y=p --prefix a. --prefix s. --format json");
    let report = report.exits(0).json();
    let renamed = report["result"]["models"][0]["joined"]["renamed"].as_array().unwrap().clone();
    let interface = renamed.iter().filter(|renamed| renamed["kind"] == "interface");
    let names: Vec<_> = interface.map(|renamed| (renamed["from"].clone(), renamed["to"].clone())).collect();
    assert_eq!(names, [("s.p".into(), "a.y".into())]);
    // A connected input stays an output of its model, and other outputs keep their names.
    let run = onnx(&folder, "merge same.onnxtxt a.onnxtxt --connect p=x -o out.onnxtxt").exits(0);
    assert!(!run.err.contains("is now"), "{}", run.err);
    assert_eq!(outputs("out.onnxtxt"), " (float[N] p, float[N] y) {");
    folder.put(
        "other.onnxtxt",
        r#"<ir_version: 9, opset_import: ["": 18]> s (float[N] y) => (float[N] y) { }"#,
    );
    let run = onnx(&folder, "merge a.onnxtxt other.onnxtxt --connect y=y -o out.onnxtxt").exits(0);
    assert!(!run.err.contains("is now"), "{}", run.err);
}

#[test]
fn models_in_the_wrong_order_are_reported() {
    let folder = Folder::with("a.onnxtxt", ENCODER);
    folder.put("b.onnxtxt", DECODER.replace("x)", "h)"));
    let run = onnx(&folder, "merge b.onnxtxt a.onnxtxt --by-name -o out.onnx");
    run.exits(0)
        .says("the input `h` of b.onnxtxt is not connected: a.onnxtxt, which has it as output, comes later")
        .says("name a.onnxtxt before b.onnxtxt, or use `--connect 'in(2, h)=in(1, h)'`");
    let warns = |arguments: &str| onnx(&folder, arguments).exits(0).err.contains("comes later");
    assert!(!warns("merge a.onnxtxt b.onnxtxt --by-name -o right.onnx"));
    assert!(!warns("merge b.onnxtxt a.onnxtxt --by-name --connect in(2,h)=in(1,h) -o named.onnx"));
    // Each model uses the other one.
    folder.put("c.onnxtxt", DECODER.replace("x)", "h)").replace(" y", " x"));
    assert!(!warns("merge a.onnxtxt c.onnxtxt --by-name -o loop.onnx"));
}

#[test]
fn dimension_variables_that_no_model_has_are_reported() {
    let folder = Folder::with("a.onnxtxt", ENCODER);
    folder.put("b.onnxtxt", DECODER);
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --connect h=x --same-dims K -o out.onnx")
        .exits(1)
        .says("no model has the dimension variable `K`, only `N`, `M`");
}

#[test]
fn models_that_do_not_fit_are_not_joined() {
    let folder = Folder::with("a.onnxtxt", ENCODER);
    folder.put("b.onnxtxt", DECODER.replace("float[M, 2]", "float[M, 3]"));
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --connect h=x -o out.onnx")
        .exits(1)
        .says("b.onnxtxt: error[ONNX4010]: `h` of model 1 does not fit `x` of model 2: axis 1 is 2 and 3")
        .says("model 1 is a.onnxtxt, model 2 is b.onnxtxt");
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --connect h=q -o out.onnx")
        .exits(2)
        .says("`h=q` connects nothing")
        .says("model 2: (x) => (y)");
    onnx(&folder, "merge a.onnxtxt -o out.onnx").exits(2).says("there is only one model");
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --in-place").exits(2);
    onnx(&folder, "merge a.onnxtxt b.onnxtxt --limit nodes=4 -o out.onnx").exits(3);
    assert!(!folder.list().iter().any(|name| name == "out.onnx"));
}

#[test]
fn external_data_of_several_directories_is_next_to_the_output() {
    let folder = Folder::with("a/m.onnxtxt", ENCODER.replace("{1, 2, 3, 4}", "{5, 6, 7, 8}"));
    folder.put("b/m.onnxtxt", ENCODER);
    for directory in ["a", "b"] {
        let arguments = format!(
            "convert {directory}/m.onnxtxt -o {directory}/m.onnx --weights external=w.data --threshold 1"
        );
        onnx(&folder, &arguments).exits(0);
    }
    onnx(&folder, "merge a/m.onnxtxt b/m.onnxtxt --connect h=x -o joined.onnx").exits(0);
    let expected = onnx(&folder, "run joined.onnx --set N=2 --seed 3").exits(0).out;
    for (output, options) in [
        ("out.onnx", ""),
        ("a/out.onnx", ""),
        ("embedded.onnx", "--weights embed"),
        ("moved.onnx", "--weights external"),
    ] {
        onnx(&folder, &format!("merge a/m.onnx b/m.onnx --connect h=x -o {output} {options}")).exits(0);
        assert_eq!(
            onnx(&folder, &format!("run {output} --set N=2 --seed 3")).exits(0).out,
            expected,
            "{output}"
        );
    }
    assert!(folder.list().contains(&"w_2.data".to_owned()), "{:?}", folder.list());
    // The data that the first model reads is not replaced.
    assert_eq!(
        onnx(&folder, "run a/m.onnx --set N=2").exits(0).out,
        onnx(&folder, "run a/m.onnxtxt --set N=2").exits(0).out
    );
    onnx(&folder, "merge a/m.onnx b/m.onnx --connect h=x --weights keep -o kept.onnx")
        .exits(2)
        .says("in different directories");
}
