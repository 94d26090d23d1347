//! `onnx draw`.

use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21, "d": 1]>
g (float[N, 4] x, bool c) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  ["/block.0/relu"] a = Relu (x)
  ["/block.0/add"] b = Add (a, w)
  ["/block.1/if"] d = If (c) <
    then_branch = t () => (float[N, 4] p) { p = Exp (b) },
    else_branch = e () => (float[N, 4] q) { q = Neg (b) }
  >
  ["/block.1/call"] y = d.Twice (d)
}
<domain: "d", opset_import: ["": 21]> Twice (p) => (q) { q = Add (p, p) }"#;

fn folder() -> Folder {
    Folder::with("m.onnxtxt", MODEL)
}

/// The titles of boxes and the labels of edges of a picture.
fn texts(svg: &str) -> Vec<&str> {
    svg.lines()
        .filter_map(|line| line.strip_prefix("<text ")?.split_once('>')?.1.strip_suffix("</text>"))
        .collect()
}

#[test]
fn a_picture_has_boxes_with_types() {
    let folder = folder();
    let svg = onnx(&folder, "draw m.onnxtxt").exits(0).out;
    let found = texts(&svg);
    for text in [
        "block.0",
        "block.1",
        "Relu",
        "Add",
        "B [1, 2, 3, 4]",
        "If",
        "then_branch",
        "d.Twice",
        "N×4",
        "x",
        "y",
    ] {
        assert!(found.contains(&text), "{text}: {found:?}");
    }
    let closed = onnx(&folder, "draw m.onnxtxt --depth 0").exits(0).out;
    assert!(texts(&closed).contains(&"▸ block.0") && !texts(&closed).contains(&"Relu"));
    onnx(&folder, "draw m.onnxtxt -o m.svg").exits(0).says("picture");
    assert_eq!(std::fs::read_to_string(folder.path().join("m.svg")).unwrap(), svg);
}

#[test]
fn parts_are_drawn() {
    let folder = folder();
    let part = onnx(&folder, "draw m.onnxtxt --at near(a,0)").exits(0).out;
    assert_eq!(texts(&part), ["Relu", "x", "N×4", "a", "N×4", "N×4"]);
    let body = onnx(&folder, "draw m.onnxtxt --at function(d.Twice)").exits(0).out;
    assert!(texts(&body).contains(&"Add") && !texts(&body).contains(&"Relu"));
    onnx(&folder, "draw m.onnxtxt --at nothing").exits(2);
    onnx(&folder, "draw m.onnxtxt --at Exp(),Relu()").exits(2).says("several graphs");
}

#[test]
fn colors_have_meanings() {
    let folder = folder();
    for color in ["type", "cost", "scope", "findings"] {
        onnx(&folder, &format!("draw m.onnxtxt --color-by {color} --depth 9")).exits(0).says("<svg");
    }
    let broken = MODEL.replace("Relu (x)", "Relu (x, x)");
    let folder = Folder::with("m.onnxtxt", &broken);
    let svg = onnx(&folder, "draw m.onnxtxt --color-by findings").exits(0).out;
    assert!(svg.contains("<title>error</title>"), "{svg}");
    onnx(&folder, "draw m.onnxtxt --color-by mood").exits(2);
}

#[test]
fn a_page_is_one_file() {
    let folder = folder();
    onnx(&folder, "draw m.onnxtxt -o m.html").exits(0);
    let page = std::fs::read_to_string(folder.path().join("m.html")).unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("id=\"scene\""));
    assert!(!page.contains("src=\"") && !page.contains("href=\""));
    onnx(&folder, "draw m.onnxtxt -o m.html --depth 2").exits(2).says("leave `--depth` away");
}

#[test]
fn a_picture_of_pixels_is_equal_on_every_machine() {
    let folder = folder();
    onnx(&folder, "draw m.onnxtxt -o m.png").exits(0).says("picture");
    let first = std::fs::read(folder.path().join("m.png")).unwrap();
    assert!(first.starts_with(b"\x89PNG") && first.len() > 1000, "{}", first.len());
    // Its own pictures are replaced, those of others are not.
    onnx(&folder, "draw m.onnxtxt -o m.png").exits(0);
    assert_eq!(std::fs::read(folder.path().join("m.png")).unwrap(), first);
    std::fs::write(folder.path().join("m.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    onnx(&folder, "draw m.onnxtxt -o m.png").exits(2).says("--force");
}

#[test]
fn other_outputs_are_refused() {
    let folder = folder();
    onnx(&folder, "draw m.onnxtxt -o m.pdf").exits(2).says(".svg, .png or .html");
    onnx(&folder, "draw m.onnxtxt -o m").exits(2);
    onnx(&folder, "draw absent.onnx").exits(2);
    onnx(&folder, "draw m.onnxtxt -o m.onnxtxt").exits(2);
    assert_eq!(std::fs::read_to_string(folder.path().join("m.onnxtxt")).unwrap(), MODEL);
    // Pictures of others are not replaced, its own are.
    std::fs::write(folder.path().join("m.svg"), "<svg></svg>").unwrap();
    onnx(&folder, "draw m.onnxtxt -o m.svg").exits(2).says("--force");
    onnx(&folder, "draw m.onnxtxt -o m.svg --force").exits(0);
    onnx(&folder, "draw m.onnxtxt -o m.svg").exits(0);
}

#[test]
fn letters_that_a_picture_cannot_show_are_named() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] "größe") => (float[2] y) { y = Relu ("größe") }"#;
    let folder = Folder::with("m.onnxtxt", text);
    onnx(&folder, "draw m.onnxtxt -o m.png").exits(0).lacks("warning");
    std::fs::write(folder.path().join("n.onnxtxt"), text.replace("größe", "入力")).unwrap();
    onnx(&folder, "draw n.onnxtxt -o n.png").exits(0).says("shows as boxes: 入力").says(".svg");
    onnx(&folder, "draw n.onnxtxt -o n.svg").exits(0).lacks("warning");
}
