//! Commands in a pipe: the bytes are those through files, wherever the weights are.

use std::path::Path;

use crate::models;
use crate::run::{Folder, command, onnx};

/// Two products and functions of elements; the weights have 4,000 bytes each, so that they can be external.
fn model() -> String {
    let list = |seed: i64| {
        let numbers = (0..1000_i64).map(|index| (((index * 7 + seed) % 17) as f64 / 16.0 - 0.5).to_string());
        numbers.collect::<Vec<_>>().join(", ")
    };
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[N, 20] x) => (float[N, 20] y) <float[20, 50] v = {{{}}}, float[50, 20] w = {{{}}}> {{
           a = MatMul (x, v)
           i = Identity (a)
           b = Relu (i)
           c = MatMul (b, w)
           y = Tanh (c)
        }}",
        list(1),
        list(5)
    )
}

/// The stages of a pipe; each reads standard input and writes standard output, except that the first one reads the model.
const STAGES: [&str; 4] = [
    "extract {} --inputs a --outputs y -o -",
    "simplify {} -o -",
    "weights import {} extra.safetensors -o -",
    "convert {} --opset 22 -o -",
];

/// Runs the stages from a directory, each with the bytes that the one before wrote.
fn piped(folder: &Folder, from: &Path, model: &str, through_files: bool) -> Vec<u8> {
    let mut bytes: Option<Vec<u8>> = None;
    for stage in STAGES {
        let extra = folder.path().join("extra.safetensors").to_string_lossy().into_owned();
        let mut run = match (&bytes, through_files) {
            (None, _) => command(stage.replace("{}", model).split_whitespace()),
            (Some(_), false) => {
                command(stage.replace("{}", "-").replace("extra.safetensors", &extra).split_whitespace())
            }
            (Some(bytes), true) => {
                let path = folder.put("stage.onnx", bytes);
                let path = path.to_string_lossy().into_owned();
                command(stage.replace("{}", &path).replace("extra.safetensors", &extra).split_whitespace())
            }
        };
        run.current_dir(from).stdin(std::process::Stdio::piped());
        run.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = run.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = bytes.take().filter(|_| !through_files).unwrap_or_default();
        std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{stage}\n{}", String::from_utf8_lossy(&output.stderr));
        bytes = Some(output.stdout);
    }
    bytes.unwrap()
}

#[test]
fn a_pipe_gives_the_bytes_that_files_give() {
    let folder = Folder::with("in.onnxtxt", model());
    onnx(&folder, "weights export in.onnxtxt --at w -o extra.safetensors").exits(0);
    folder.put("here/empty", "");
    for form in ["embed", "external", "shards"] {
        folder.put(&format!("{form}/empty"), "");
        let options = match form {
            "embed" => "--weights embed".to_owned(),
            "external" => "--weights external=w.data".to_owned(),
            _ => "--weights external=w.data --shard-size 4KiB".to_owned(),
        };
        onnx(&folder, &format!("convert in.onnxtxt -o {form}/m.onnx {options}")).exits(0);
    }
    assert_eq!(std::fs::read_dir(folder.path().join("shards")).unwrap().count(), 4);
    let elsewhere = folder.path().join("here");
    let expected = piped(&folder, &elsewhere, "../embed/m.onnx", true);
    for form in ["embed", "external", "shards"] {
        for from in [folder.path(), &elsewhere] {
            let to_model = if from == folder.path() { "" } else { "../" };
            let model = format!("{to_model}{form}/m.onnx");
            assert_eq!(piped(&folder, from, &model, false), expected, "{form} in a pipe");
            assert_eq!(piped(&folder, from, &model, true), expected, "{form} through files");
        }
    }
    // The last stage is a part of the original, which is compared with its values.
    std::fs::write(folder.path().join("part.onnx"), &expected).unwrap();
    onnx(&folder, "compare external/m.onnx part.onnx --set N=3").exits(0);
}

#[test]
fn an_extract_is_compared_with_its_original() {
    let folder = Folder::with("in.onnxtxt", model());
    let part = onnx(&folder, "extract in.onnxtxt --inputs a --outputs c -o -").exits(0);
    // The input of the part is a value of the original, and so is its output; `y` is an output of the original only.
    crate::run::onnx_with(&folder, "compare in.onnxtxt - --common --set N=3 --rtol 0 --atol 0", &part.bytes)
        .exits(0);
    let other = onnx(&folder, "extract in.onnxtxt --inputs a --outputs b -o part.onnx").exits(0);
    assert!(other.out.is_empty());
    onnx(&folder, "compare in.onnxtxt part.onnx --common --set N=2").exits(0);
    // A part that computes something else differs.
    let wrong =
        String::from_utf8(onnx(&folder, "convert part.onnx -o - --to onnxtxt").exits(0).bytes).unwrap();
    folder.put("wrong.onnxtxt", wrong.replace("Relu", "Abs"));
    onnx(&folder, "compare in.onnxtxt wrong.onnxtxt --common --set N=2").exits(1);
}

/// Weights that are elsewhere are embedded in a stream, or named explicitly; a stream has no directory.
#[test]
fn a_stream_has_no_directory() {
    let folder = Folder::with("m.onnx", models::external("w.data"));
    folder.put("w.data", [1; 2000]);
    let kept = onnx(&folder, "convert m.onnx --weights keep -o -").exits(0);
    crate::run::onnx_with(&folder, "weights list -", &kept.bytes).exits(0).says("in w.data");
    crate::run::onnx_with(&folder, "weights stats -", &kept.bytes).exits(2).says("came from a stream");
    crate::run::onnx_with(&folder, "weights stats - --data-dir .", &kept.bytes).exits(0);
    crate::run::onnx_with(&folder, "weights strip - -o bare.onnx", &kept.bytes).exits(0);
    crate::run::onnx_with(&folder, "cost -", &kept.bytes).exits(0);
    crate::run::onnx_with(&folder, "simplify - -o -", b"").exits(2).says("<stdin>");
}
