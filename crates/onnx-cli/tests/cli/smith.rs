//! `onnx smith`.

use crate::run::{Folder, onnx};

#[test]
fn generated_models_are_valid_and_repeat_themselves() {
    let folder = Folder::new();
    for seed in 0..6 {
        onnx(&folder, &format!("smith --seed {seed} --nodes 12 -o a.onnx")).exits(0);
        onnx(&folder, &format!("smith --seed {seed} --nodes 12 -o b.onnxtxt")).exits(0);
        onnx(&folder, "check --full a.onnx b.onnxtxt").exits(0);
        onnx(&folder, "convert b.onnxtxt -o b.onnx").exits(0);
        assert_eq!(folder.get("a.onnx"), folder.get("b.onnx"), "seed {seed}");
        let run = onnx(&folder, &format!("smith --seed {seed} --nodes 12 -o -")).exits(0);
        assert_eq!(run.bytes, folder.get("a.onnx"), "seed {seed}");
    }
}

#[test]
fn an_operator_and_a_version_can_be_asked_for() {
    let folder = Folder::new();
    onnx(&folder, "smith --seed 3 --op Conv --opset 11 -o conv.onnx").exits(0);
    onnx(&folder, "print conv.onnx").exits(0).says("Conv").says("\"\": 1");
    onnx(&folder, "smith --op ai.onnx.ml.Scaler -o scaler.onnxtxt").exits(0);
    onnx(&folder, "smith --op Convolution -o x.onnx").exits(2).says("no operator `Convolution`");
    onnx(&folder, "smith --opset 99 -o x.onnx").exits(2).says("the versions are 1 to");
    onnx(&folder, "smith -o model.xyz").exits(2).says("stands for no format");
}

#[test]
fn no_number_of_nodes_exhausts_the_memory() {
    let folder = Folder::new();
    for nodes in ["1000001", "9223372036854775807"] {
        onnx(&folder, &format!("smith --nodes {nodes} -o m.onnx")).exits(2).says("write at most 1000000");
    }
}
