//! Commands about the program: `man` and `self-test`.

use crate::reports::envelope;
use crate::run::{Folder, onnx};

#[test]
fn the_program_answers_as_the_reference_did() {
    let folder = Folder::new();
    let run = onnx(&folder, "self-test").exits(0);
    assert!(run.err.is_empty(), "{}", run.err);
    assert!(run.out.starts_with(concat!("onnx ", env!("CARGO_PKG_VERSION"), " on ")), "{}", run.out);
    assert!(run.out.contains(", compared with what onnx 1.23.2 answered\n"), "{}", run.out);
    assert!(run.out.ends_with(" cases are as recorded\n"), "{}", run.out);
    let run = onnx(&folder, "self-test --format json").exits(0);
    let report = envelope(&run.out, &run);
    let areas = report["result"]["areas"].as_array().unwrap();
    let names: Vec<&str> = areas.iter().map(|area| area["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["codec", "evaluator", "checker", "inference", "parser", "simplifier"]);
    onnx(&folder, "self-test model.onnx").exits(2);
}

#[test]
fn pages_are_written_and_printed() {
    let folder = Folder::new();
    let page = onnx(&folder, "man weights list").exits(0).out;
    assert!(page.starts_with(".TH ONNX\\-WEIGHTS\\-LIST 1 "), "{page}");
    assert!(page.contains(".SH NAME\nonnx\\-weights\\-list \\- "), "{page}");
    onnx(&folder, "man -o pages/man1").exits(0).says(" pages: pages/man1");
    assert_eq!(folder.get("pages/man1/onnx-weights-list.1"), page.as_bytes());
    assert_eq!(folder.get("pages/man1/onnx.1"), onnx(&folder, "man").exits(0).bytes);
    // Pages are replaced; other files are not.
    onnx(&folder, "man -o pages/man1").exits(0);
    folder.put("pages/man1/onnx-check.1", "mine");
    onnx(&folder, "man -o pages/man1").exits(2).says("is not a manual page of onnx");
    assert_eq!(folder.get("pages/man1/onnx-check.1"), b"mine");
    onnx(&folder, "man -o pages/man1/onnx.1").exits(2).says("cannot be written");
    onnx(&folder, "man chek").exits(2).says("there is no command `chek`");
    onnx(&folder, "man weights help").exits(2);
    onnx(&folder, "man check -o pages").exits(2);
}
