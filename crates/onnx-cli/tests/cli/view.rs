//! `onnx view`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Folder, command, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> { a = Relu (x)  y = Add (a, w) }"#;

/// The statistics of the weights of the first node.
const WEIGHT: &str = r#"{"call":"weight","level":0,"item":0,"input":1}"#;

fn folder() -> Folder {
    Folder::with("m.onnxtxt", MODEL)
}

/// `onnx view` while a test runs.
struct Served {
    child: Child,
    /// The host and the port.
    address: String,
    /// The path of the page, with the token.
    path: String,
    /// The path of the first tab.
    tab: String,
}

impl Served {
    fn new(folder: &Folder, model: &str) -> Self {
        let mut child = command(["view", model, "--no-browser"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        assert!(address.starts_with("127.0.0.1:") && token.len() == 33, "{line}");
        let (address, path) = (address.to_owned(), format!("/{token}"));
        let mut served = Self { child, address, path, tab: String::new() };
        served.tab = served.open("");
        served
    }

    /// Opens a tab that had a path before, and returns its path.
    fn open(&self, previous: &str) -> String {
        let previous = previous.rsplit('/').nth(1).unwrap_or_default();
        let (status, tab) = self.ask("POST", &format!("{}open", self.path), previous);
        assert_eq!(status, "200", "{tab}");
        format!("{}{tab}/", self.path)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes, and returns the status and the body of the answer.
    fn send(&self, request: &str) -> (String, String) {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let (host, length) = (&self.address, body.len());
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    fn call(&self, request: &str) -> String {
        self.call_of(&self.tab, request)
    }

    fn call_of(&self, tab: &str, request: &str) -> String {
        let (status, answer) = self.ask("POST", &format!("{tab}call"), request);
        assert_eq!(status, "200", "{answer}");
        answer
    }

    fn close(&self, tab: &str) {
        assert_eq!(self.ask("POST", &format!("{tab}bye"), "").0, "200");
    }

    fn ends(mut self) {
        self.close(&self.tab);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_page_is_served_until_it_is_closed() {
    let folder = folder();
    let served = Served::new(&folder, "m.onnxtxt");
    let path = served.path.as_str();
    assert!(served.ask("GET", path, "").1.contains("viewer.js"));
    assert!(served.ask("GET", &format!("{path}viewer.js"), "").1.contains("use strict"));
    assert!(served.call(r#"{"call":"overview"}"#).contains("m.onnxtxt"));
    for (method, wrong) in [("GET", "/"), ("GET", "/m.onnxtxt"), ("POST", path), ("GET", "/../../etc/passwd")]
    {
        assert_eq!(served.ask(method, wrong, "").0, "404", "{wrong}");
    }
    served.ends();
}

#[test]
fn tabs_do_not_change_each_other() {
    let folder = Folder::with("m.onnxtxt", MODEL.replace("a = Relu (x)", "i = Identity (x)  a = Relu (i)"));
    let mut served = Served::new(&folder, "m.onnxtxt");
    let nodes = |served: &Served, tab: &str| {
        let overview = served.call_of(tab, r#"{"call":"overview"}"#);
        let (_, rest) = overview.split_once(r#"["nodes",""#).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let (one, two) = (served.tab.clone(), served.open(""));
    assert!(served.call_of(&two, r#"{"call":"simplify"}"#).contains("edits"));
    assert_eq!((nodes(&served, &one), nodes(&served, &two)), ("3".to_owned(), "2".to_owned()));
    // One is closed, and the other one works longer than the page may be loaded again.
    served.close(&one);
    std::thread::sleep(Duration::from_secs(6));
    assert!(served.child.try_wait().unwrap().is_none());
    let (status, message) = served.ask("POST", &format!("{one}call"), r#"{"call":"overview"}"#);
    assert_eq!(status, "500");
    assert!(message.contains("this tab was closed"), "{message}");
    // A tab that is loaded again has its changes.
    served.close(&two);
    let again = served.open(&two);
    assert_eq!(nodes(&served, &again), "2");
    served.close(&again);
    assert!(served.child.wait().unwrap().success());
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

#[test]
fn requests_that_can_be_read_in_two_ways_are_refused() {
    let folder = folder();
    let served = Served::new(&folder, "m.onnxtxt");
    let (path, host) = (&served.path, &served.address);
    for (headers, status) in [
        (format!("Host: {host}\r\n"), "200"),
        (String::new(), "400"),
        (format!("Host: {host}\r\nHost: {host}\r\n"), "400"),
        (format!("Host: {host}\r\nHost: evil.example\r\n"), "400"),
        (format!("Host: evil.example\r\nhost: {host}\r\n"), "400"),
        (format!("Host : {host}\r\n"), "400"),
        (format!("Host: {host}\r\nOrigin: http://{host}\r\nOrigin: http://evil.example\r\n"), "400"),
        ("Host: evil.example\r\n".to_owned(), "403"),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\n{headers}\r\n");
        assert_eq!(served.send(&request).0, status, "{headers}");
    }
}

#[test]
fn slow_connections_delay_no_other() {
    let folder = folder();
    let served = Served::new(&folder, "m.onnxtxt");
    // More than are served at once: of these, the oldest end.
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = served.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    let start = Instant::now();
    assert!(served.call(r#"{"call":"overview"}"#).contains("m.onnxtxt"));
    // The time for a request is 10 s.
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    let mut oldest = &slow[0];
    assert!(matches!(oldest.read(&mut [0]), Ok(0) | Err(_)));
    // One that sends a byte from time to time ends as well.
    let mut last = &slow[99];
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(500));
        if last.write_all(b"x").is_err() {
            break;
        }
    }
    assert!(start.elapsed() < Duration::from_secs(30));
    served.ends();
}

/// A model with weights of 64 KB in it, and one with them next to it.
fn weights(folder: &Folder) {
    let numbers: Vec<String> = (0..16_384).map(|number| number.to_string()).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[N, 128] x) => (float[N, 128] y) <float[128, 128] w = {{{}}}> {{ y = MatMul (x, w) }}",
        numbers.join(", ")
    );
    std::fs::write(folder.path().join("w.onnxtxt"), text).unwrap();
    onnx(folder, "convert w.onnxtxt -o inside.onnx").exits(0);
    onnx(folder, "convert w.onnxtxt -o outside.onnx --weights external=outside.data").exits(0);
}

#[test]
fn files_that_become_shorter_are_errors() {
    let folder = folder();
    weights(&folder);
    let cut = |name: &str| {
        let file = std::fs::OpenOptions::new().write(true).open(folder.path().join(name)).unwrap();
        file.set_len(100).unwrap();
    };
    // What was read stays.
    let served = Served::new(&folder, "inside.onnx");
    cut("inside.onnx");
    assert!(served.call(WEIGHT).contains("16383"));
    assert_eq!(served.ask("GET", &format!("{}model", served.tab), "").0, "200");
    served.ends();
    // What is read where it is needed is missing.
    let served = Served::new(&folder, "outside.onnx");
    assert!(served.call(WEIGHT).contains("16383"));
    cut("outside.data");
    let answer = served.call(WEIGHT);
    assert!(
        answer.contains("error") && answer.contains("outside.data") && answer.contains("became shorter"),
        "{answer}"
    );
    // The rest still works.
    assert!(served.call(r#"{"call":"overview"}"#).contains("outside.onnx"));
    served.ends();
}
