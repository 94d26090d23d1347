//! Values in files that `onnx run` reads and writes: replaced outputs, messages of another type, archives that expand.

use std::io::Write as _;

#[cfg(target_os = "linux")]
use crate::run::limited;
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

/// An archive with entries of these names and contents.
fn packed(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let deflated =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, contents) in entries {
        archive.start_file(*name, deflated).unwrap();
        archive.write_all(contents).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A file `.npy` of floats, with bytes after the array.
fn npy(shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[test]
fn arrays_of_archives_are_inflated_as_far_as_they_are_needed() {
    let folder = folder("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }");
    let (array, zeros) = (npy("(2,)", &[0; 8]), vec![0; 4 << 20]);
    let within = "--limit run_bytes=1M";
    // Another array is not inflated, nor is what follows the array.
    folder.put("a.npz", packed(&[("x.npy", &array), ("other.npy", &zeros)]));
    folder.put("b.npz", packed(&[("x.npy", &[array.as_slice(), &zeros].concat())]));
    for file in ["a.npz", "b.npz"] {
        onnx(&folder, &format!("run m.onnxtxt --feed x={file} {within}")).exits(0).says("1, 2");
    }
    onnx(&folder, &format!("run m.onnxtxt --feeds b.npz {within}")).exits(0).says("1, 2");
    onnx(&folder, &format!("run m.onnxtxt --feeds a.npz {within}")).exits(2).says("has no input `other`");
    let import = "weights import m.onnxtxt -o o.onnxtxt --force";
    onnx(&folder, &format!("{import} a.npz {within}")).exits(2).says("no weight `x`");
    folder.put("w.npz", packed(&[("w.npy", &[array.as_slice(), &zeros].concat())]));
    onnx(&folder, &format!("{import} w.npz {within}")).exits(0);
    onnx(&folder, &format!("{import} --replace w=w.npz {within}")).exits(0);
    // A size that the header claims is refused before anything is inflated.
    folder.put("huge.npz", packed(&[("x.npy", &npy("(1000000000,)", &[0; 8]))]));
    onnx(&folder, &format!("run m.onnxtxt --feed x=huge.npz {within}")).exits(3).says("`run_bytes`");
    folder.put("short.npz", packed(&[("x.npy", &npy("(3,)", &[0; 8]))]));
    onnx(&folder, "run m.onnxtxt --feed x=short.npz").exits(2).says("shorter than its header says");
}

#[test]
fn arrays_of_one_name_are_refused_by_all_readers() {
    let folder = folder("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }");
    let array = npy("(2,)", &[0; 8]);
    for (name, other) in [("x", "x.npy"), ("x.npy", "z.npy")] {
        let mut bytes = packed(&[(name, &array), (other, &array)]);
        // The writer refuses equal names.
        let places: Vec<usize> = (0..bytes.len() - 5).filter(|&at| &bytes[at..at + 5] == b"z.npy").collect();
        places.into_iter().for_each(|at| bytes[at] = b'x');
        folder.put("x.npz", bytes);
        for args in [
            "run m.onnxtxt --feed x=x.npz",
            "run m.onnxtxt --feeds x.npz",
            "run m.onnxtxt --expect x.npz",
            "weights import m.onnxtxt x.npz -o o.onnxtxt",
            "weights import m.onnxtxt --replace w=x.npz -o o.onnxtxt",
        ] {
            onnx(&folder, args).exits(2).says("two entries have the");
        }
    }
}

#[test]
fn strings_without_bytes_are_counted() {
    let folder = folder("(string[N] x) => (string[N] y) { y = Identity (x) }");
    let header = "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }\n";
    let length = (header.len() as u16).to_le_bytes();
    folder.put("x.npy", [b"\x93NUMPY\x01\0", &length[..], header.as_bytes()].concat());
    onnx(&folder, "run m.onnxtxt --feed x=x.npy").exits(3).says("`run_bytes`");
}

#[cfg(target_os = "linux")]
#[test]
fn runs_stay_within_the_address_space() {
    let doubled = |ty: &str, node: &str| -> String {
        let nodes = (0..40).map(|at| format!("s{} = {node} (s{at}, s{at}) ", at + 1));
        format!(
            "() => ({ty} s40) <{ty} s0 = {{{}}}> {{ {} }}",
            if ty.starts_with('s') { "\"ab\"" } else { "1" },
            nodes.collect::<String>()
        )
    };
    // Kernels may convert an operand to elements of 16 bytes, for which the system has no memory before the limit is reached.
    for (graph, code, says) in [
        (doubled("string[1]", "StringConcat"), 3, "`run_bytes`"),
        (
            doubled("float[1]", "Concat <axis = 0>").replace("float[1] s40", "float[N] s40"),
            3,
            "node #27 Concat: the system has no memory for 2147483648 bytes",
        ),
        (
            "() => (string[N] y) <string[1] a = {\"a\"}, int64[1] n = {300000000}> { y = Expand (a, n) }"
                .to_owned(),
            3,
            "`run_bytes`",
        ),
    ] {
        let folder = folder(&graph);
        for args in ["run m.onnxtxt", "compare m.onnxtxt m.onnxtxt"] {
            let run = limited(&folder, args, 2_000_000);
            run.exits(code).says(says);
        }
    }
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
    onnx(&folder, "run two.onnxtxt -o x.npy").exits(2).says("one file cannot hold 2 values");
    onnx(&folder, "run two.onnxtxt -o out --to npy").exits(2).says("two values have the name `y`");
    onnx(&folder, "run two.onnxtxt -o out.npz").exits(2).says("two values have the name `y`");
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

/// The option that selects inner values decides what is written, too, in each form; names in archives are those of NumPy.
#[test]
fn selected_values_are_written_under_their_names() {
    let folder = Folder::with(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[2] x) => (float[2] y) {
            \"/layer1/layer1.0/Conv_output_0\" = Neg (x)
            \"100%\" = Relu (\"/layer1/layer1.0/Conv_output_0\")
            y = Exp (\"100%\")
         }",
    );
    let args = "run m.onnxtxt --at /layer1/** --at 100% --at y";
    onnx(&folder, &format!("{args} -o all.npz")).exits(0).says("wrote 1 file");
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(folder.get("all.npz"))).unwrap();
    let names: Vec<String> = (0..archive.len())
        .map(|index| archive.by_index(index).unwrap().name().unwrap().into_owned())
        .collect();
    assert_eq!(names, ["y.npy", "/layer1/layer1.0/Conv_output_0.npy", "100%.npy"]);
    onnx(&folder, &format!("{args} -o npy --to npy")).exits(0).says("wrote 3 files");
    onnx(&folder, &format!("{args} -o pb")).exits(0).says("wrote 3 files");
    let path = |name: &str| folder.path().join(name);
    assert!(path("npy/%2Flayer1%2Flayer1.0%2FConv_output_0.npy").is_file());
    assert!(path("pb/output_0.pb").is_file() && path("pb/100%25.pb").is_file());
    onnx(&folder, &format!("{args} -o one.npy")).exits(2).says("one file cannot hold 3 values");
    // The recorded outputs of a run are outputs.
    onnx(&folder, "run m.onnxtxt --expect all.npz").exits(2).says("the model has no output `/layer1");
    onnx(&folder, "run m.onnxtxt --expect pb").exits(0);
}

/// Archives with names as earlier versions escaped them, and as NumPy writes them, are read.
#[test]
fn names_of_archives_are_read_in_both_forms() {
    let folder = Folder::with(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[1] \"/x\", float[1] \"a%\") => (float[1] y) { y = Add (\"/x\", \"a%\") }",
    );
    let array = npy("(1,)", &1.5_f32.to_le_bytes());
    let expected = "  3\n";
    for (x, a) in [("/x.npy", "a%.npy"), ("%2Fx.npy", "a%25.npy")] {
        folder.put("in.npz", packed(&[(x, &array), (a, &array)]));
        let run = onnx(&folder, "run m.onnxtxt --feeds in.npz").exits(0);
        assert!(run.out.contains(expected), "{}", run.out);
    }
}
