//! Values in files that `onnx run` reads and writes: replaced outputs, messages of another type, archives that expand.

use std::io::Write as _;

use crate::run::{Folder, onnx};

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 20]>";

fn folder(graph: &str) -> Folder {
    Folder::with("m.onnxtxt", format!("{HEAD} g {graph}"))
}

#[test]
fn outputs_replace_those_of_an_earlier_run() {
    let folder = folder(
        "(float[N, 2] x, string[2] s) => (float[N, 2] y, float z, string[2] t, seq(float[A, 2]) q) {
            y = Neg (x) z = ReduceSum <keepdims = 0> (x) t = Identity (s) q = SequenceConstruct (x, x)
        }",
    );
    for _ in 0..2 {
        onnx(&folder, "run m.onnxtxt --set N=2 -o out").exits(0).says("wrote 4 files");
    }
    let first = folder.get("out/output_0.pb");
    onnx(&folder, "run m.onnxtxt --set N=2 --seed 1 -o out").exits(0);
    assert_ne!(first, folder.get("out/output_0.pb"));
    folder.put("out/output_1.pb", folder.get("m.onnxtxt"));
    onnx(&folder, "run m.onnxtxt -o out").exits(2).says("is not a protobuf message");
}

#[test]
fn messages_of_another_type_are_refused() {
    let folder = folder("(seq(float[A]) s) => (int64 n) { n = SequenceLength (s) }");
    let make = |name: &str, graph: &str| {
        folder.put("make.onnxtxt", format!("{HEAD} g {graph}"));
        onnx(&folder, &format!("run make.onnxtxt -o {name}")).exits(0);
    };
    make("floats", "(float[2] x) => (seq(float[2]) s) { s = SequenceConstruct (x, x) }");
    make("ints", "(int64[2] x) => (seq(int64[2]) s) { s = SequenceConstruct (x) }");
    make("tensor", "(float[2] x) => (float[2] y) { y = Neg (x) }");
    make("absent", "() => (optional(float[2]) y) { y = Optional <type = optional(float[2])> () }");
    folder.put("empty.pb", "");
    onnx(&folder, "run m.onnxtxt --feed s=floats/output_0.pb").exits(0).says("n  int64[]\n  2");
    onnx(&folder, "run m.onnxtxt --feed s=ints/output_0.pb")
        .exits(1)
        .says("input `s`: declared with tensors of float, given one of int64");
    onnx(&folder, "run m.onnxtxt --feed s=tensor/output_0.pb").exits(2).says("a message of another type");
    onnx(&folder, "run m.onnxtxt --feed s=absent/output_0.pb").exits(2).says("cannot be decided");
    onnx(&folder, "run m.onnxtxt --feed s=empty.pb").exits(2).says("it holds no value");
    folder.put(
        "m.onnxtxt",
        format!("{HEAD} g (optional(float[2]) s) => (bool n) {{ n = OptionalHasElement (s) }}"),
    );
    onnx(&folder, "run m.onnxtxt --feed s=absent/output_0.pb").exits(0).says("false");
    onnx(&folder, "run m.onnxtxt --feed s=tensor/output_0.pb").exits(2).says("a message of another type");
    onnx(&folder, "run m.onnxtxt --feed s=empty.pb").exits(2).says("it holds no value");
}

/// An archive with zeros: a kilobyte for each megabyte.
fn archive(elements: usize) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let deflated =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("x.npy", deflated).unwrap();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({elements},), }}\n");
    let start = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    archive.write_all(&start).unwrap();
    archive.write_all(&vec![0; 4 * elements]).unwrap();
    archive.finish().unwrap().into_inner()
}

#[test]
fn limits_and_the_timeout_apply_to_archives() {
    let folder = folder("(float[N] x) => (float n) { n = ReduceSum <keepdims = 0> (x) }");
    folder.put("x.npz", archive(1 << 22));
    onnx(&folder, "run m.onnxtxt --feed x=x.npz").exits(0);
    for feed in ["--feed x=x.npz", "--feeds x.npz"] {
        onnx(&folder, &format!("run m.onnxtxt {feed} --limit run_bytes=1M")).exits(3).says("`run_bytes`");
    }
    let report =
        onnx(&folder, "run m.onnxtxt --feeds x.npz --limit run_bytes=1M --format json").exits(3).json();
    assert_eq!(report["failures"][0]["limit"], "run_bytes", "{report}");
}

#[test]
fn the_place_of_outputs_is_decided_before_the_run() {
    let long = "y".repeat(300);
    let folder = folder("(float[2] x) => (float[2] y) { y = Neg (x) }");
    folder.put("two.onnxtxt", format!("{HEAD} g (float[2] x) => (float[2] y, float[2] y) {{ y = Neg (x) }}"));
    folder.put(
        "long.onnxtxt",
        format!(
            "{HEAD} g (float[2] x) => (float[2] x1, float[2] {long}) {{ x1 = Neg (x) {long} = Abs (x) }}"
        ),
    );
    let before = folder.list();
    onnx(&folder, "run m.onnxtxt -o -").exits(2).says("not written to a stream");
    onnx(&folder, "run m.onnxtxt -o x.npz --to pb").exits(2).says("`--to` is for directories");
    onnx(&folder, "run m.onnxtxt -o x.npy --to pb").exits(2).says("different formats");
    onnx(&folder, "run two.onnxtxt -o x.npy").exits(2).says("one file cannot hold 2 outputs");
    onnx(&folder, "run two.onnxtxt -o out --to npy").exits(2).says("two outputs have the name `y`");
    onnx(&folder, "run two.onnxtxt -o out.npz").exits(2).says("two outputs have the name `y`");
    onnx(&folder, "run long.onnxtxt -o out --to npy").exits(2).says("too long for the name of a file");
    assert_eq!(folder.list(), before);
    onnx(&folder, "run m.onnxtxt -o y.npy").exits(0).says("wrote 1 file");
    onnx(&folder, "run m.onnxtxt -o y.pb").exits(0);
    assert!(folder.get("y.npy").starts_with(b"\x93NUMPY"));
    for file in ["y.npy", "y.pb"] {
        onnx(&folder, &format!("run m.onnxtxt --feed x={file}")).exits(0);
    }
    onnx(&folder, "run two.onnxtxt -o out").exits(0).says("wrote 2 files");
}

#[test]
fn sizes_and_feeds_are_read_as_they_are_written() {
    let folder = folder("(float[N, S] x) => (float[N, S] y) { y = Neg (x) }");
    onnx(&folder, "run m.onnxtxt --set N=4,S=2").exits(0).says("y  float[4,2]");
    onnx(&folder, "run m.onnxtxt --set N,S=3").exits(0).says("y  float[3,3]");
    onnx(&folder, "compare m.onnxtxt m.onnxtxt --set N=1,2 --set S=3").exits(0).says("N=2, S=3");
    for wrong in ["N", "N=4,S", "N=,S=2", "=2", "N=4,,S=2"] {
        onnx(&folder, &format!("run m.onnxtxt --set {wrong}")).exits(2).says("is not DIM=N");
    }
    onnx(&folder, "run m.onnxtxt --set N=4,S=2 -o x.npy").exits(0);
    onnx(&folder, "run m.onnxtxt --feed x=x.npy --feed x=x.npy")
        .exits(2)
        .says("two values are given for the input `x`");
    onnx(&folder, "run m.onnxtxt --feed x=").exits(2).says("`--feed x=` names no file");
}
