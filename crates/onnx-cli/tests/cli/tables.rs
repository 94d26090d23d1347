//! Tables of several models: their order, and sizes that not all models have.

use crate::run::{Folder, onnx};

/// A model that multiplies by a matrix of ones with these sizes.
fn product(input: &str, rows: usize) -> String {
    let ones = vec!["1"; rows * 4].join(", ");
    format!(
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[{input}, {rows}] x) => (float[{input}, 4] y) <float[{rows}, 4] w = {{{ones}}}> {{ y = MatMul (x, w) }}"
    )
}

fn files(csv: &str) -> Vec<&str> {
    csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect()
}

#[test]
fn formulas_are_sorted_as_numbers_with_sizes_of_one() {
    let folder = Folder::new();
    for (name, text) in [
        ("a", product("batch", 16)),
        ("b", product("9", 8)),
        ("c", product("batch", 128)),
        ("d", product("9", 16)),
    ] {
        folder.put("m.onnxtxt", text);
        folder.put("models/empty", "");
        onnx(&folder, &format!("convert m.onnxtxt -o models/{name}.onnx")).exits(0);
    }
    let order =
        |sort: &str| onnx(&folder, &format!("cost models --format csv --sort-by {sort}")).exits(0).out;
    let names = ["models/a.onnx", "models/b.onnx", "models/c.onnx", "models/d.onnx"];
    assert_eq!(files(&order("macs")), [names[0], names[1], names[2], names[3]]);
    assert_eq!(files(&order("-macs")), [names[3], names[2], names[1], names[0]]);
    // A size that not all models have is set where it exists.
    for command in ["cost", "infer"] {
        let table = onnx(&folder, &format!("{command} models --set batch=1 --format csv")).exits(0);
        assert_eq!(files(&table.out), names, "{}", table.err);
        assert!(table.err.is_empty() && !table.out.contains("batch"), "{}{}", table.out, table.err);
        onnx(&folder, &format!("{command} models --set bach=1")).exits(2).says("any of the models");
        onnx(&folder, &format!("{command} models/b.onnx --set batch=1")).exits(2).says("no input has");
    }
}

#[test]
fn sorting_asks_for_a_table() {
    let folder = Folder::new();
    folder.put("m.onnxtxt", product("N", 4));
    folder.put("models/empty", "");
    onnx(&folder, "convert m.onnxtxt -o models/a.onnx").exits(0);
    folder.put("models/broken.onnx", [0x1f, 0x8b, 8, 0, 1, 2, 3, 4]);
    let run = onnx(&folder, "check models --sort-by=-bytes");
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines[0].starts_with("file ") && lines[1].starts_with("models/a.onnx"), "{}", run.out);
    // The name is in the first column only, and what cannot be read has an error.
    let line: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(line[..3], ["models/broken.onnx", "-", "1"], "{}", run.out);
    assert_eq!(run.out.matches("broken.onnx").count(), 1, "{}", run.out);
    for format in ["json", "jsonl", "sarif", "github"] {
        onnx(&folder, &format!("check models --sort-by bytes --format {format}"))
            .exits(2)
            .says("`--sort-by` sorts the lines of a table");
    }
}

/// Where a table or JSON is the report, warnings are in it, also those that the user denies.
#[test]
fn reports_for_programs_have_the_warnings() {
    let text = "<ir_version: 8, opset_import: [\"\": 17]> g (float[batch,seq] x) => (float[batch,seq] y) { y = Relu (x) }";
    let folder = Folder::with("in.onnxtxt", text);
    for name in ["a", "b"] {
        onnx(&folder, &format!("convert in.onnxtxt -o {name}.onnx")).exits(0);
    }
    let message = "`batch` and `seq` are one size now";
    let table = onnx(&folder, "edit a.onnx b.onnx --set batch=seq").exits(0);
    assert_eq!(table.out.matches(&format!("warning: {message}")).count(), 2, "{}", table.out);
    let denied = onnx(&folder, "edit a.onnx b.onnx --set batch=seq --deny warnings").exits(1);
    assert_eq!(denied.out.matches(&format!("error: {message}")).count(), 2, "{}", denied.out);
    let csv = onnx(&folder, "edit a.onnx --set batch=seq --format csv -o c.onnx").exits(0);
    assert!(csv.out.contains(&format!("warning: {message}")), "{}", csv.out);
    for (words, severity, exit) in [("", "warning", 0), (" --deny warnings", "error", 1)] {
        let command = format!("edit a.onnx --set batch=seq --dry-run --format json{words}");
        let report = onnx(&folder, &command).exits(exit).json();
        let found = &report["findings"][0];
        assert_eq!((&found["code"], &found["severity"]), (&"ONNX8006".into(), &severity.into()), "{report}");
    }
    let github =
        onnx(&folder, "edit a.onnx --set batch=seq --dry-run --format github --deny warnings").exits(1);
    assert!(github.out.contains("::error") && github.out.contains(message), "{}", github.out);
    let line = onnx(&folder, "edit a.onnx --set batch=seq --dry-run --format jsonl --deny warnings").exits(1);
    assert!(line.out.contains("ONNX8006"), "{}", line.out);
    // As for other diagnostics, the code or the name of the rule decides, in every format.
    for format in ["text", "json", "csv"] {
        let command = format!("edit a.onnx --set batch=seq --format {format} -o denied.onnx");
        for words in ["--deny ONNX8006", "--deny command-warned"] {
            onnx(&folder, &format!("{command} {words}")).exits(1);
            assert!(!folder.path().join("denied.onnx").exists(), "{format} {words}");
        }
        let allowed =
            onnx(&folder, &format!("{command} --dry-run --deny warnings --allow ONNX8006")).exits(0);
        assert!(
            !allowed.out.contains(message) && !allowed.err.contains(message),
            "{}{}",
            allowed.out,
            allowed.err
        );
    }
}
