//! `onnx info`.

use crate::models;
use crate::run::{Folder, onnx, onnx_with};

#[test]
fn a_small_model_fits_on_a_page() {
    let folder = Folder::with("small.onnx", models::small());
    let run = onnx(&folder, "info small.onnx").exits(0);
    let size = models::small().len();
    let size = format!("{}.{} kB", size / 1000, size % 1000 / 100);
    assert_eq!(
        run.out,
        format!(
            "\
small.onnx  {size} ONNX
  IR version     8 (ONNX 1.10.0 to 1.13.1)
  opsets         ai.onnx 17 (ONNX 1.12.0)
  producer       test 1.0
  graph          main, 2 nodes

Inputs  1
  x  float[batch, 500]

Outputs  1
  y  float[batch, 500]

Operators  2 nodes of 2 kinds
  Add   1
  Relu  1

Parameters  500 in 1 initializer, 2.0 kB, all in this file
  float  500  2.0 kB  1 tensor
"
        )
    );
}

#[test]
fn everything_has_its_line() {
    let folder = Folder::with("rich.onnx", models::rich());
    let mut run = onnx(&folder, "info rich.onnx").exits(0);
    for text in [
        "com.vendor 2 (custom)",
        "local 1 (functions of the model)",
        "com.example",
        "model version  3",
        "A model. …",
        "task = testing",
        "main, 5 nodes (8 with those of other graphs)",
        "2, nested 1 deep",
        "x  float[2*n + 1, ?, 4]",
        "y  seq(int64[…])",
        "com.vendor::Fancy  1  custom",
        "local::Twice       2  function of the model",
        "Gelu               1  not in the imported version",
        "local::Twice     2 calls      1 node",
        "float16  3  6 B  1 tensor",
        "1 tensor of these in attributes, 1 B",
    ] {
        run = run.says(text);
    }
}

#[test]
fn json_has_the_same_facts() {
    let folder = Folder::with("rich.onnx", models::rich());
    let json = onnx(&folder, "info --format json rich.onnx").exits(0).json();
    let json = &json["result"]["models"][0];
    assert_eq!(json["ir_version"], 8);
    assert_eq!(json["opsets"][0]["release"], "1.12.0");
    assert_eq!(json["inputs"][0]["shape"], serde_json::json!(["2*n + 1", null, 4]));
    assert_eq!(json["outputs"][0]["shape"], serde_json::Value::Null);
    assert_eq!(json["functions"][0]["calls"], 2);
    assert_eq!(json["weights"]["initializers"]["bytes"], 6);
    assert_eq!(json["weights"]["by_type"][0]["element_type"], "float16");
    let operators = json["operators"].as_array().unwrap();
    let gelu = operators.iter().find(|op| op["name"] == "Gelu").unwrap();
    assert_eq!(gelu["status"], "version");
    let several = onnx(&folder, "info --format json rich.onnx rich.onnx").exits(0).json();
    assert_eq!(several["result"]["models"].as_array().unwrap().len(), 2);
}

#[test]
fn long_lists_are_cut() {
    let folder = Folder::with("wide.onnx", models::wide());
    let run = onnx(&folder, "info wide.onnx").exits(0).says("… and 88 more (--all shows them)");
    assert!(!run.out.contains("x50"));
    let run = onnx(&folder, "info --all wide.onnx").exits(0).says("x50").says("Op50");
    assert!(!run.out.contains("more"));
}

#[test]
fn external_files_are_listed() {
    let folder = Folder::with("model.onnx", models::external("w.data"));
    onnx(&folder, "info model.onnx").exits(0).says("`w.data` is missing");
    folder.put("w.data", [0; 3000]);
    onnx(&folder, "info model.onnx").exits(0).says("w.data  500  2.0 kB  1 tensor  of 3.0 kB");
}

/// A directory stands for the models under it.
#[test]
fn directories_are_searched() {
    let folder = Folder::with("models/a.onnx", models::small());
    folder.put("models/deep/b.ONNX", models::rich());
    folder.put("models/notes.txt", "no model");
    folder.put("models/.cache/c.onnx", models::small());
    let table = onnx(&folder, "info models").exits(0).out;
    assert!(table.starts_with("file ") && table.lines().count() == 3, "{table}");
    let run = onnx(&folder, "info models --all").exits(0);
    let heads: Vec<_> = run.out.lines().filter(|line| line.starts_with("models/")).collect();
    let [a, b] = heads[..] else { panic!("{}", run.out) };
    assert!(a.starts_with("models/a.onnx  2.") && a.ends_with(" kB ONNX"), "{a}");
    assert!(b.starts_with("models/deep/b.ONNX  "), "{b}");
    // The pages are those of the files.
    let pages = onnx(&folder, "info models/a.onnx models/deep/b.ONNX --all").exits(0);
    assert_eq!(run.out, pages.out);
    let json = onnx(&folder, "info models --format json").exits(0).json();
    let names: Vec<_> = json["inputs"].as_array().unwrap().iter().map(|input| &input["name"]).collect();
    assert_eq!(names, ["models/a.onnx", "models/deep/b.ONNX"]);
    assert_eq!(json["result"]["models"].as_array().unwrap().len(), 2);
    // Nothing to find is a failure, and other inputs are still shown.
    folder.put("none/notes.txt", "no model");
    let run = onnx(&folder, "info none models/a.onnx").exits(2).says(" *.onnx file under `none`");
    assert!(run.out.contains("\nmodels/a.onnx  "), "{}", run.out);
}

/// Long lines are wrapped between words for terminals, and for nothing else.
#[test]
#[cfg(target_os = "linux")]
fn pages_fit_into_narrow_terminals() {
    let folder = Folder::with("rich.onnx", models::rich());
    let whole = onnx(&folder, "info rich.onnx").exits(0).out;
    assert!(whole.lines().any(|line| line.chars().count() > 44), "{whole}");
    let narrow = crate::run::on_terminal(&folder, "info rich.onnx --color never", 44);
    let widest = narrow.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 44, "{widest}\n{narrow}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&narrow), words(&whole));
    assert_eq!(crate::run::on_terminal(&folder, "info rich.onnx --color never", 200), whole);
}

#[test]
fn findings_of_reading_are_mentioned() {
    let folder = Folder::with("odd.onnx", models::odd());
    onnx(&folder, "info odd.onnx").exits(1).says("reading the file gave 1 finding");
    onnx_with(&folder, "info -", b"").exits(2).says("the file is empty");
}
