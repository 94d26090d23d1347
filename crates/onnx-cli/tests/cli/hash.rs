//! `onnx hash`.

use crate::run::{Folder, onnx};

const HEAD: &str =
    "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) <float[2] w = {1, 2}>";

#[test]
fn names_and_orders_do_not_count() {
    let folder = Folder::with(
        "a.onnxtxt",
        format!("{HEAD} {{ a = Exp (x) b = Log (x) c = Mul (a, w) y = Sub (b, c) }}"),
    );
    folder.put("b.onnxtxt", format!("{HEAD} {{ q = Log (x) p = Exp (x) r = Mul (p, w) y = Sub (q, r) }}"));
    folder.put("c.onnxtxt", format!("{HEAD} {{ q = Log (x) p = Exp (x) r = Mul (p, w) y = Sub (r, q) }}"));
    let out = onnx(&folder, "hash a.onnxtxt b.onnxtxt c.onnxtxt").exits(0).out;
    let lines: Vec<(&str, &str)> = out.lines().map(|line| line.split_once("  ").unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line.1).collect::<Vec<_>>(), ["a.onnxtxt", "b.onnxtxt", "c.onnxtxt"]);
    assert!(lines.iter().all(|line| line.0.starts_with("1:") && line.0.len() == 66), "{out}");
    assert_eq!(lines[0].0, lines[1].0);
    assert_ne!(lines[0].0, lines[2].0);
    for (option, is_same) in [("--structure", false), ("--weights", true), ("--interface", true)] {
        let out = onnx(&folder, &format!("hash a.onnxtxt c.onnxtxt {option}")).exits(0).out;
        let digests: Vec<&str> = out.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(digests[0] == digests[1], is_same, "{option}");
        assert_ne!(digests[0], lines[0].0, "{option}");
    }
    onnx(&folder, "hash a.onnxtxt --structure --weights").exits(2);
}

#[test]
fn the_location_of_weights_does_not_count() {
    let folder = Folder::with("a.onnxtxt", format!("{HEAD} {{ y = Mul (x, w) }}"));
    onnx(&folder, "convert a.onnxtxt -o a.onnx").exits(0);
    onnx(&folder, "convert a.onnxtxt -o b.onnx --weights external=b.data --threshold 0").exits(0);
    let digest = |arguments: &str| {
        let out = onnx(&folder, arguments).exits(0).out;
        out.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(digest("hash a.onnx"), digest("hash b.onnx"));
    assert_eq!(digest("hash a.onnx"), digest("hash b.onnx --no-map"));
    std::fs::remove_file(folder.path().join("b.data")).unwrap();
    onnx(&folder, "hash b.onnx").exits(2).says("b.data");
    assert_eq!(digest("hash a.onnx --structure"), digest("hash b.onnx --structure"));
}
