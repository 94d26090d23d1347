//! `onnx draw` and `onnx view`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use crate::run::{Folder, command, onnx};

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

/// Sends a request, and returns the status and the body of the answer.
fn ask(address: &str, method: &str, path: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

#[test]
fn a_page_is_served_until_it_is_closed() {
    let folder = folder();
    let mut child = command(["view", "m.onnxtxt", "--no-browser"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, token) = line.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let path = format!("/{token}");
    assert!(address.starts_with("127.0.0.1:") && token.len() == 33, "{line}");
    assert!(ask(address, "GET", &path, "").1.contains("viewer.js"));
    assert!(ask(address, "GET", &format!("{path}viewer.js"), "").1.contains("use strict"));
    let (status, answer) = ask(address, "POST", &format!("{path}call"), r#"{"call":"overview"}"#);
    assert_eq!(status, "200");
    assert!(answer.contains("m.onnxtxt"), "{answer}");
    for (method, wrong) in
        [("GET", "/"), ("GET", "/m.onnxtxt"), ("POST", path.as_str()), ("GET", "/../../etc/passwd")]
    {
        assert_eq!(ask(address, method, wrong, "").0, "404", "{wrong}");
    }
    assert_eq!(ask(address, "POST", &format!("{path}bye"), "").0, "200");
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_served_is_refused() {
    let folder = folder();
    onnx(&folder, "view absent.onnx --no-browser").exits(2);
    std::fs::write(folder.path().join("page.onnx"), "<html></html>").unwrap();
    onnx(&folder, "view page.onnx --no-browser").exits(2);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    onnx(&folder, &format!("view m.onnxtxt --no-browser --port {port}")).exits(2).says("cannot be used");
}
