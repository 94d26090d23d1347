//! A session answers what a page asks.

use onnx_types::Execution;
use serde_json::{Value, json};

use crate::Session;

const TEXT: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 4] x) => (float[N, 4] y) <float[4, 4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
  ["/a/mul"] a = MatMul (x, w)
  ["/a/id"] b = Identity (a)
  ["/b/relu"] y = Relu (b)
}"#;

fn session() -> Session {
    Session::open("m.onnxtxt", TEXT.into(), Execution::default()).unwrap()
}

/// The result of a request that succeeds.
fn ok(session: &mut Session, request: &Value) -> Value {
    let answer: Value = serde_json::from_str(&session.call(&request.to_string())).unwrap();
    assert!(answer["error"].is_null(), "{answer}");
    answer["ok"].clone()
}

fn error(session: &mut Session, request: &str) -> String {
    let answer: Value = serde_json::from_str(&session.call(request)).unwrap();
    answer["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_level_has_boxes_and_edges() {
    let mut session = session();
    let overview = ok(&mut session, &json!({ "call": "overview" }));
    assert_eq!(overview["title"], "m.onnxtxt");
    assert_eq!(overview["facts"][0], json!(["nodes", "3"]));
    let level = ok(&mut session, &json!({ "call": "level", "id": 0 }));
    let titles: Vec<&str> =
        level["items"].as_array().unwrap().iter().map(|item| item["t"].as_str().unwrap()).collect();
    assert_eq!(titles, ["a", "Relu", "x", "y"]);
    assert_eq!(ok(&mut session, &json!({ "call": "level", "id": 99 })), Value::Null);
}

#[test]
fn searches_take_selectors_and_words() {
    let mut session = session();
    for (text, count) in [("MatMul()", 1), ("relu", 1), ("/a/**", 2), ("x", 1), ("nothing such", 0)] {
        let found = ok(&mut session, &json!({ "call": "search", "text": text }));
        assert_eq!(found["count"], count, "{text}: {found}");
    }
}

#[test]
fn details_have_defaults_and_types() {
    let mut session = session();
    let found = ok(&mut session, &json!({ "call": "search", "text": "MatMul()" }));
    let hit = &found["hits"][0];
    let details = ok(&mut session, &json!({ "call": "details", "level": hit["level"], "item": hit["item"] }));
    assert_eq!(details["title"], "MatMul");
    assert_eq!(details["lists"][0]["rows"], json!([["A", "x", "N×4"], ["B", "w", "4×4"]]));
    assert!(error(&mut session, r#"{"call": "details", "level": 0, "item": 77}"#).contains("does not exist"));
}

#[test]
fn changes_can_be_undone() {
    let mut session = session();
    let done = ok(&mut session, &json!({ "call": "simplify" }));
    assert!(!done["edits"].as_array().unwrap().is_empty(), "{done}");
    assert_eq!(session.model().node_count(), 2);
    assert_eq!(ok(&mut session, &json!({ "call": "overview" }))["undo"], 1);
    let saved = session.save().unwrap();
    let again = Session::open("m.onnx", saved.into(), Execution::default()).unwrap();
    assert_eq!(again.model().node_count(), 2);
    ok(&mut session, &json!({ "call": "undo" }));
    assert_eq!(session.model().node_count(), 3);
    assert_eq!(error(&mut session, r#"{"call": "undo"}"#), "nothing was changed");
}

#[test]
fn costs_take_sizes() {
    let mut session = session();
    let free = ok(&mut session, &json!({ "call": "cost", "sizes": "" }));
    assert_eq!(free["variables"], json!(["N"]));
    let bound = ok(&mut session, &json!({ "call": "cost", "sizes": "N=2" }));
    assert_eq!((&bound["rows"][0]["op"], &bound["rows"][0]["operations"]), (&json!("MatMul"), &json!("64")));
    for (sizes, message) in
        [("N", "NAME=SIZE"), ("N=x", "not a size"), ("M=2", "no variable"), ("N=-1", "negative")]
    {
        let request = json!({ "call": "cost", "sizes": sizes }).to_string();
        assert!(error(&mut session, &request).contains(message), "{sizes}");
    }
}

#[test]
fn findings_have_places_and_repairs() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[2] x) => (float[2] y) { y = Relu (a) a = Abs (x) }"#;
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let found = ok(&mut session, &json!({ "call": "findings" }));
    assert!(found["counts"][0].as_u64().unwrap() > 0, "{found}");
    assert!(found["findings"][0]["level"].is_number(), "{found}");
    assert!(found["repairable"].as_u64().unwrap() > 0);
    ok(&mut session, &json!({ "call": "repair" }));
    assert_eq!(ok(&mut session, &json!({ "call": "findings" }))["counts"][0], 0);
}

#[test]
fn texts_are_those_of_boxes() {
    let mut session = session();
    let whole = ok(&mut session, &json!({ "call": "text", "level": 0, "item": -1 }));
    assert!(whole["text"].as_str().unwrap().contains("MatMul"));
    let part = ok(&mut session, &json!({ "call": "text", "level": 0, "item": 1 }));
    let part = part["text"].as_str().unwrap();
    assert!(part.contains("Relu") && !part.contains("MatMul"));
}

#[test]
fn requests_and_files_that_are_not_valid_are_refused() {
    let mut session = session();
    for request in
        ["", "{", "[]", r#"{"call": "delete"}"#, r#"{"call": "level"}"#, r#"{"call": "level", "id": -1}"#]
    {
        assert!(error(&mut session, request).contains("not valid"), "{request}");
    }
    for (name, bytes) in [("m.onnxtxt", "nonsense"), ("m.onnx", "<html>"), ("m.onnx", "\u{0}\u{1}\u{2}")] {
        assert!(Session::open(name, bytes.into(), Execution::default()).is_err(), "{bytes:?}");
    }
}
