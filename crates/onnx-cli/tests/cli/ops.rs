//! `onnx ops`, and `onnx check --ops`.

use crate::run::{Folder, onnx};

#[test]
fn operators_are_shown_with_what_changed() {
    let folder = Folder::with("empty", "");
    let shown = onnx(&folder, "ops show Softmax --version 12").exits(0).out;
    assert_eq!(
        shown,
        "\
Softmax  ai.onnx, versions 11 to 12

  output = Softmax (input)

Inputs
  input  T

Outputs
  output  T

Attributes
  axis  INT = 1

Types
  T  tensor(float), tensor(float16), tensor(double)

Facts
  equal inputs give equal outputs
  inference follows no values of it: docs/generated/operators/ai.onnx/Softmax.md

Versions
   13  type T also allows tensor(bfloat16)
       attribute axis: INT = 1 becomes INT = -1
*  11  nothing that schemas tell
    1  the first version
"
    );
}

#[test]
fn operators_are_found() {
    let folder = Folder::with("empty", "");
    onnx(&folder, "ops show Softmx")
        .exits(2)
        .says("there is no operator `Softmx`")
        .says("did you mean `Softmax`?");
    onnx(&folder, "ops show Gelu --version 19").exits(2).says("it exists since version 20");
    onnx(&folder, "ops show ai.onnx.ml.Scaler").exits(0).says("Scaler  ai.onnx.ml, versions 1 to 5");
    onnx(&folder, "ops show Scatter").exits(0).says("deprecated");
    onnx(&folder, "ops show Gather").exits(0).says("inference follows small values of it: docs/generated/");
    let found = onnx(&folder, "ops search BINAR").exits(0).out;
    assert_eq!(found, "ai.onnx.ml 5  1 operator\n  Binarizer    1\n");
    onnx(&folder, "ops search zzz").exits(2).says("no operator is like `zzz`");
    let list = onnx(&folder, "ops list --domain ai.onnx --opset 1").exits(0).out;
    assert!(list.starts_with("ai.onnx 1  95 operators\n"), "{list}");
    assert!(
        list.contains("\n  Relu                  1  of 1, 6, 13, 14  function\n") || list.contains("  Relu ")
    );
    onnx(&folder, "ops list --opset 99").exits(2).says("the newest that is known is 28");
    onnx(&folder, "ops list --domain nowhere").exits(2).says("nothing is known of domain `nowhere`");
}

#[test]
fn json_has_the_facts() {
    let folder = Folder::with("empty", "");
    let json = onnx(&folder, "ops show Squeeze --version 13 --format json").exits(0).json();
    let json = &json["result"]["operators"][0];
    assert_eq!(json["since_version"], 13);
    assert_eq!(json["until_version"], 20);
    assert_eq!(json["inputs"][1]["option"], "optional");
    assert_eq!(json["versions"][2]["changes"][0], "attribute axes becomes an input");
    let list = onnx(&folder, "ops list --domain ai.onnx.preview.training --format json").exits(0).json();
    assert_eq!(list["result"]["operators"].as_array().unwrap().len(), 4);
    onnx(&folder, "ops search zzz --format json").exits(2).json();
    // A version that does not exist has no operators.
    onnx(&folder, "ops show Conv --version 99").exits(2).says("version 99").says("versions are 1 to");
    onnx(&folder, "ops show Conv --version 0").exits(2).says("version 0");
}

/// A model whose functions are the operators of a domain.
const LIBRARY: &str = r#"
<ir_version: 10, opset_import: ["": 18, "com.acme": 1]>
library (float[N] x) => (float[N] y) {
  y = Identity (x)
}
<domain: "com.acme", opset_import: ["": 18]>
Scale <factor: float = 2.0> (x) => (y) {
  f = Constant <value_float: float = @factor> ()
  y = Mul (x, f)
}
"#;

/// A model that calls what the domain has.
fn model(node: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"com.acme\": 1]>\ng (float[N] x) => (float[N] y) {{\n  {node}\n}}\n"
    )
}

#[test]
fn a_custom_domain_is_checked_with_no_code() {
    let folder = Folder::with("library.onnxtxt", LIBRARY);
    onnx(&folder, "ops export --functions-of library.onnxtxt --domain com.acme -o acme.onnxops")
        .exits(0)
        .says("wrote acme.onnxops: 1 operator\n");
    folder.put("good.onnxtxt", model("y = com.acme.Scale <factor = 3.0> (x)"));
    folder.put("arity.onnxtxt", model("y = com.acme.Scale (x, x)"));
    folder.put("kind.onnxtxt", model("y = com.acme.Scale <factor = 3> (x)"));
    folder.put("name.onnxtxt", model("y = com.acme.Scal (x)"));
    // Without the document nothing is known of the domain.
    for name in ["good", "arity", "kind", "name"] {
        onnx(&folder, &format!("check {name}.onnxtxt")).exits(0);
    }
    onnx(&folder, "check good.onnxtxt --ops acme.onnxops --check-custom-domains")
        .exits(0)
        .says("no findings");
    onnx(&folder, "check arity.onnxtxt --ops acme.onnxops")
        .exits(1)
        .says("error[ONNX2308]: `Scale` takes 0 to 1 inputs, but the node has 2")
        .says("the signature is that of com.acme.Scale-1");
    onnx(&folder, "check kind.onnxtxt --ops acme.onnxops").exits(1).says("error[ONNX2402]");
    onnx(&folder, "check name.onnxtxt --ops acme.onnxops").exits(1).says("did you mean `Scale`?");
    onnx(&folder, "check name.onnxtxt --ops acme.onnxops --profile reference").exits(0);
    onnx(&folder, "ops show Scale --ops acme.onnxops")
        .exits(0)
        .says("is a function, with a body for version 1");
    onnx(&folder, "check good.onnxtxt --ops good.onnxtxt").exits(2).says("good.onnxtxt");
}

#[test]
fn exported_sets_are_read_again() {
    let folder = Folder::with("empty", "");
    onnx(&folder, "ops export --domain ai.onnx.ml --opset 3 -o ml.onnxops")
        .exits(0)
        .says("wrote ml.onnxops and ml.signatures.json: 18 operators\n");
    let listed = onnx(&folder, "ops list --domain ai.onnx.ml --ops ml.onnxops").exits(0).out;
    assert_eq!(listed, onnx(&folder, "ops list --domain ai.onnx.ml").exits(0).out);
    onnx(&folder, "ops export --domain ai.onnx.ml --opset 3 -o ml.textproto").exits(0);
    onnx(&folder, "ops list --ops ml.textproto").exits(0);
    onnx(&folder, "ops export --functions-of none.onnx -o x").exits(2).says("none.onnx: cannot be read");
}

#[test]
fn documents_are_checked() {
    let header = "magic: \"ONNXOPSET\" ir_version: 10 domain: \"com.acme\" opset_version: 2 ";
    let body = |op: &str| {
        format!(
            "{header} operator {{ op_type: \"F\" since_version: 2 status: STABLE }} functions {{ \
             name: \"F\" domain: \"com.acme\" input: \"x\" output: \"y\" opset_import {{ version: 18 }} \
             node {{ op_type: \"{op}\" input: \"x\" output: \"y\" }} }}"
        )
    };
    let folder = Folder::with("good.textproto", body("Relu"));
    folder.put("body.textproto", body("Rellu"));
    folder.put(
        "new.textproto",
        format!("{header} operator {{ op_type: \"F\" since_version: 3 status: STABLE }}"),
    );
    folder.put("odd.textproto", "magic: 7");
    onnx(&folder, "check good.textproto").exits(0).says("good.textproto: no findings");
    onnx(&folder, "check body.textproto")
        .exits(1)
        .says("error[ONNX2303]: ONNX has no operator `Rellu`")
        .says("function \"F\" of domain \"com.acme\" / node #0 Rellu");
    onnx(&folder, "check new.textproto").exits(1).says("error[ONNX2046]").says("the set is version 2");
    let json = onnx(&folder, "check new.textproto --format json").exits(1).json();
    assert_eq!(json["findings"][0]["beyond_reference"], true);
    onnx(&folder, "check odd.textproto").exits(2).says("line 1, column 8");
    onnx(&folder, "ops list --ops new.textproto").exits(2).says("is newer than its operator set");
    // Signatures of another set.
    folder.put(
        "good.signatures.json",
        "{\"format\": \"onnx-signatures-1\", \"domain\": \"d\", \"opset_version\": 1, \"operators\": []}",
    );
    onnx(&folder, "check good.textproto").exits(2).says("the signatures are those of version 1 of `d`");
}

#[test]
fn a_document_does_not_take_the_place_of_a_model() {
    let folder = Folder::with("library.onnxtxt", LIBRARY);
    onnx(&folder, "convert library.onnxtxt -o m.onnx").exits(0);
    let model = folder.get("m.onnx");
    onnx(&folder, "ops export --functions-of m.onnx --domain com.acme -o m.onnx").exits(2);
    assert!(folder.get("m.onnx") == model);
    for _ in 0..2 {
        onnx(&folder, "ops export --functions-of m.onnx --domain com.acme -o acme.onnxops").exits(0);
    }
}

#[test]
fn operators_of_onnxruntime_are_known() {
    let folder = Folder::with("empty", "");
    let shown = onnx(&folder, "ops com.microsoft.FusedMatMul").exits(0).out;
    for text in [
        "FusedMatMul  com.microsoft, version 1",
        "  transA       INT = 0\n",
        "an operator of onnxruntime ",
        "inference has a rule: docs/generated/onnxruntime.md",
        "`onnx run` has a kernel",
    ] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    assert_eq!(onnx(&folder, "ops show FusedMatMul").exits(0).out, shown);
    assert_eq!(onnx(&folder, "--color never ops FusedMatMul").exits(0).out, shown);
    // The operator of ONNX is meant, unless the domain says otherwise.
    onnx(&folder, "ops Attention").exits(0).says("Attention  ai.onnx, ");
    onnx(&folder, "ops com.microsoft.Attention").exits(0).says("Attention  com.microsoft, ");
    onnx(&folder, "ops list --domain com.microsoft").exits(0).says("  QuickGelu ");
    onnx(&folder, "ops lst").exits(2).says("`onnx ops` has no command `lst`");
    let json = onnx(&folder, "ops com.microsoft.FusedMatMul --format json").exits(0).json();
    let json = &json["result"]["operators"][0];
    assert_eq!((&json["source"], &json["kernel"]), (&"onnxruntime".into(), &true.into()));
    folder.put(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20, \"com.microsoft\": 1]>
        g (float[2, 2] x) => (float[2, 2] y) { t = com.microsoft.FusedMatMul (x, x) y = com.microsoft.Odd (t) }",
    );
    let info = onnx(&folder, "info m.onnxtxt").exits(0).out;
    assert!(info.contains("com.microsoft 1 (onnxruntime)"), "{info}");
    assert!(
        info.contains("FusedMatMul  1  onnxruntime") && info.contains("Odd          1  custom"),
        "{info}"
    );
}

#[test]
fn documents_are_printed_without_an_output() {
    let folder = Folder::with("empty", "");
    let text = onnx(&folder, "ops export --domain ai.onnx.preview.training").exits(0).out;
    assert!(text.contains("magic: \"ONNXOPSET\"") && text.contains("op_type: \"Adam\""), "{text}");
    onnx(&folder, "ops export --domain ai.onnx.ml --opset 3 -o ml.onnxops --dry-run")
        .exits(0)
        .says("would write ml.onnxops and ml.signatures.json: ");
    assert_eq!(folder.list(), ["empty"]);
}

#[test]
fn bodies_of_documents_are_inferred_and_run() {
    const LIBRARY: &str = "
<ir_version: 10, opset_import: [\"\": 20, \"com.acme\": 1]>
g () => (float[2] y) <float[2] x = {2.0, -1.0}> { y = com.acme.Swish (x) }
<domain: \"com.acme\", opset_import: [\"\": 20]>
Swish (x) => (y) { s = Sigmoid (x)
 y = Mul (x, s) }";
    const CALL: &str = "
<ir_version: 7, opset_import: [\"\": 20, \"com.acme\": 1]>
g () => (y) <float[2] x = {2.0, -1.0}> { y = com.acme.Swish (x) }";
    let folder = Folder::with("library.onnxtxt", LIBRARY);
    folder.put("call.onnxtxt", CALL);
    folder.put("newer.onnxtxt", CALL.replace("acme\": 1", "acme\": 2"));
    onnx(&folder, "ops export --functions-of library.onnxtxt --domain com.acme -o acme.onnxops").exits(0);
    onnx(&folder, "run call.onnxtxt").exits(2).says("no kernel computes `com.acme.Swish`");
    onnx(&folder, "run call.onnxtxt --ops acme.onnxops").exits(0).says("1.76159, -0.268941");
    onnx(&folder, "compare call.onnxtxt library.onnxtxt --ops acme.onnxops")
        .exits(0)
        .says("y  float[2]  equal");
    // The document says nothing about later versions.
    onnx(&folder, "run newer.onnxtxt --ops acme.onnxops").exits(2).says("no kernel computes");
    onnx(&folder, "infer call.onnxtxt --ops acme.onnxops -o typed.onnxtxt").exits(0);
    let typed = onnx(&folder, "print typed.onnxtxt").exits(0).out;
    assert!(typed.contains("ir_version: 7") && typed.contains("=> (float[2] y)"), "{typed}");
    assert!(!typed.contains("Sigmoid"), "{typed}");
}
