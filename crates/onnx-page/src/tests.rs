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
fn details_lead_to_makers_and_users() {
    let mut session = session();
    let place = |session: &mut Session, text: &str| {
        let found = ok(session, &json!({ "call": "search", "text": text }));
        json!([found["hits"][0]["level"], found["hits"][0]["item"]])
    };
    let [matmul, identity, relu] = ["MatMul()", "Identity()", "Relu()"].map(|text| place(&mut session, text));
    let lists = |session: &mut Session, at: &Value| {
        let request = json!({ "call": "details", "level": at[0], "item": at[1] });
        let lists = ok(session, &request)["lists"].as_array().unwrap().clone();
        lists.into_iter().map(|list| (list["title"].as_str().unwrap().to_owned(), list)).collect::<Vec<_>>()
    };
    let list = |lists: &[(String, Value)], title: &str| {
        lists.iter().find(|(known, _)| known == title).map(|(_, list)| list.clone()).unwrap()
    };
    let of_identity = lists(&mut session, &identity);
    assert_eq!(list(&of_identity, "Inputs")["places"], json!([matmul]));
    let users = list(&of_identity, "Used by");
    assert_eq!((&users["rows"], &users["places"]), (&json!([["Relu  /b/relu"]]), &json!([relu])));
    // An input is a separate box, a weight is a line of the node.
    let of_matmul = lists(&mut session, &matmul);
    assert_eq!(list(&of_matmul, "Inputs")["places"], json!([[0, 2], null]));
    assert_eq!(list(&lists(&mut session, &json!([0, 2])), "Used by")["places"], json!([matmul]));
    assert_eq!(list(&lists(&mut session, &json!([0, 3])), "Made by")["places"], json!([relu]));
}

#[test]
fn changes_can_be_undone() {
    let mut session = session();
    let done = ok(&mut session, &json!({ "call": "simplify" }));
    assert!(!done["edits"].as_array().unwrap().is_empty(), "{done}");
    assert_eq!(done["edits"][0]["nodes"], "Identity /a/id");
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
fn a_long_line_of_text_is_cut() {
    let name = format!("a{}", "\u{301}".repeat(50_000));
    let text = TEXT.replace("/b/relu", &name);
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let shown = ok(&mut session, &json!({ "call": "text", "level": 0, "item": -1 }));
    let longest = shown["text"].as_str().unwrap().lines().map(|line| line.chars().count()).max();
    assert!((1_000..2_100).contains(&longest.unwrap()), "{longest:?}");
    assert_eq!(shown["places"].as_array().unwrap().len(), 3);
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

#[test]
fn edits_have_proofs() {
    let mut session = session();
    let done = ok(&mut session, &json!({ "call": "simplify", "prove": true }));
    let proof = done["edits"][0]["proof"].as_str().unwrap();
    assert!(proof.contains("proved by") || proof.contains("tested in"), "{done}");
}

#[test]
fn the_text_has_the_place_of_each_node() {
    let mut session = session();
    let whole = ok(&mut session, &json!({ "call": "text", "level": 0, "item": -1 }));
    let lines: Vec<&str> = whole["text"].as_str().unwrap().lines().collect();
    let places = whole["places"].as_array().unwrap();
    assert_eq!(places.len(), 3, "{whole}");
    for (place, op) in places.iter().zip(["MatMul", "Identity", "Relu"]) {
        let line = usize::try_from(place[0].as_u64().unwrap()).unwrap();
        assert!(lines[line].contains(op), "{whole}");
    }
}

#[test]
fn weights_have_statistics() {
    let mut session = session();
    let found = ok(&mut session, &json!({ "call": "search", "text": "MatMul()" }));
    let (level, item) = (&found["hits"][0]["level"], &found["hits"][0]["item"]);
    let details = ok(&mut session, &json!({ "call": "details", "level": level, "item": item }));
    assert_eq!(details["weights"], json!([{ "input": 1, "name": "w", "type": "4×4" }]));
    assert!(details["documentation"]["address"].as_str().unwrap().ends_with("/onnx__MatMul.html"));
    let weight = ok(&mut session, &json!({ "call": "weight", "level": level, "item": item, "input": 1 }));
    assert_eq!(weight["rows"][0], json!(["elements", "16"]));
    assert_eq!(weight["rows"][3], json!(["greatest", "1"]));
    assert_eq!(weight["histogram"].as_array().unwrap().len(), 16);
    let request = json!({ "call": "weight", "level": level, "item": item, "input": 0 }).to_string();
    assert!(error(&mut session, &request).contains("not a weight"));
}

#[test]
fn paths_are_between_boxes() {
    let mut session = session();
    let place = |session: &mut Session, op: &str| {
        let found = ok(session, &json!({ "call": "search", "text": op }));
        json!([found["hits"][0]["level"], found["hits"][0]["item"]])
    };
    let (first, last) = (place(&mut session, "MatMul()"), place(&mut session, "Relu()"));
    for (from, to) in [(&first, &last), (&last, &first)] {
        let found = ok(&mut session, &json!({ "call": "path", "from": from, "to": to }));
        assert_eq!(found["count"], 2, "the nodes that lead from one to the other: {found}");
    }
}

#[test]
fn runs_have_values_and_the_node_that_fails() {
    let mut session = session();
    let run = ok(&mut session, &json!({ "call": "run", "sizes": "N=3" }));
    assert_eq!(run["sizes"], json!([["N", 3]]));
    assert_eq!(run["values"], 4);
    assert_eq!(run["rows"][0]["name"], "x");
    assert_eq!(run["rows"][3]["type"], "float[3,4]");
    let asked = json!({ "call": "levels", "ids": [0, 99], "labels": true });
    let found = ok(&mut session, &asked);
    assert_eq!(found["levels"][0], ok(&mut session, &json!({ "call": "level", "id": 0 })));
    assert_eq!((&found["levels"][1], &found["labels"][1]), (&Value::Null, &json!([])));
    let labels = found["labels"][0].clone();
    assert!(
        labels
            .as_array()
            .unwrap()
            .iter()
            .any(|label| label.as_str().is_some_and(|label| label.starts_with("3×4 ")))
    );
    assert!(error(&mut session, r#"{"call": "run", "sizes": "M=3"}"#).contains('M'));
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[2, 3] x) => (float[a, b] y) <int64[2] s = {4, 2}> { a = Relu (x)  ["bad"] y = Reshape (a, s) }"#;
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let run = ok(&mut session, &json!({ "call": "run" }));
    assert_eq!(run["failure"]["node"], "Reshape  bad", "{run}");
    assert!(run["failure"]["level"].is_number());
}

#[test]
fn versions_have_ends_and_conversions() {
    let mut session = session();
    let found = ok(&mut session, &json!({ "call": "versions" }));
    assert_eq!(found["current"], 21);
    let oldest = found["oldest"]["version"].as_i64().unwrap();
    assert!(oldest < 13, "{found}");
    let done = ok(&mut session, &json!({ "call": "convert", "version": 13 }));
    assert!(done["summary"].as_str().unwrap().starts_with("operator set 21 → 13"), "{done}");
    assert_eq!(ok(&mut session, &json!({ "call": "versions" }))["current"], 13);
    ok(&mut session, &json!({ "call": "undo" }));
    assert_eq!(ok(&mut session, &json!({ "call": "versions" }))["current"], 21);
    assert!(!error(&mut session, r#"{"call": "convert", "version": 1000}"#).is_empty());
}

#[test]
fn two_models_are_compared() {
    let mut session = session();
    assert!(error(&mut session, r#"{"call": "compare"}"#).contains("no other model"));
    assert!(error(&mut session, r#"{"call": "overview", "side": 1}"#).contains("no other model"));
    let older =
        Session::open("old.onnxtxt", TEXT.replace("Relu (b)", "Abs (b)").into(), Execution::default());
    session.compare_with(older.unwrap());
    assert_eq!(ok(&mut session, &json!({ "call": "overview" }))["other"], "old.onnxtxt");
    let found = ok(&mut session, &json!({ "call": "compare" }));
    assert_eq!(found["titles"], json!(["old.onnxtxt", "m.onnxtxt"]));
    assert!(found["same"].as_u64().unwrap() >= 2, "{found}");
    let level = ok(&mut session, &json!({ "call": "level", "id": 0 }));
    assert!(level["items"][1]["d"].is_string() && level["items"][0]["d"].is_null(), "{level}");
    let level = ok(&mut session, &json!({ "call": "level", "id": 0, "side": 1 }));
    assert_eq!(level["items"][1]["t"], "Abs");
    let same = ok(&mut session, &json!({ "call": "counterpart", "level": 0, "item": 0, "from": 0 }));
    assert_eq!(same["path"], json!([0]));
    let input = ok(&mut session, &json!({ "call": "counterpart", "level": 0, "item": 2, "from": 1 }));
    assert_eq!(input["path"], json!([2]));
    assert!(error(&mut session, r#"{"call": "simplify", "side": 1}"#).contains("only the newer model"));
    ok(&mut session, &json!({ "call": "single" }));
    assert!(ok(&mut session, &json!({ "call": "overview" }))["other"].is_null());
}

#[test]
fn a_change_is_compared_with_the_model_before_it() {
    let mut session = session();
    assert_eq!(error(&mut session, r#"{"call": "before"}"#), "nothing was changed");
    ok(&mut session, &json!({ "call": "simplify" }));
    let found = ok(&mut session, &json!({ "call": "before" }));
    assert_eq!(found["changes"][0]["kind"], "removed", "{found}");
}

#[test]
fn a_box_becomes_the_model() {
    let mut session = session();
    let done = ok(&mut session, &json!({ "call": "extract", "level": 0, "item": 0 }));
    assert_eq!(done["summary"], "only 2 nodes with 1 input and 1 output left");
    assert!(error(&mut session, r#"{"call": "extract", "level": 9, "item": 0}"#).contains("no nodes"));
}

#[test]
fn weights_that_nodes_without_a_box_compute_are_part_of_a_box() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}, int8[2] q = {3, 4}, float s = {0.5}> {
      ["/a/id"] v = Identity (w)
      ["/a/dequantize"] r = DequantizeLinear (q, s)
      ["/b/add"] a = Add (x, v)
      ["/b/mul"] y = Mul (a, r)
    }"#;
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let level = ok(&mut session, &json!({ "call": "level", "id": 0 }));
    let items = level["items"].as_array().unwrap();
    let add = items
        .iter()
        .position(|item| item["t"].as_str().is_some_and(|title| title.contains("Mul") || title == "b"));
    let done = ok(&mut session, &json!({ "call": "extract", "level": 0, "item": add }));
    assert!(done["summary"].as_str().unwrap().contains("with 1 input and 1 output"), "{done} {level}");
}

#[test]
fn pictures_are_svg() {
    let mut session = session();
    let found = ok(&mut session, &json!({ "call": "picture", "open": [[0]], "color": "cost" }));
    let svg = found["svg"].as_str().unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("MatMul"), "{svg}");
}

#[test]
fn other_forms_of_a_model_are_read() {
    let bytes = session().save().unwrap();
    let json = onnx_formats::to_json(&bytes).unwrap().text;
    let text = onnx_formats::to_text(&bytes).unwrap().text;
    for (name, contents) in [("m.json", &json), ("m.textproto", &text), ("m", &json), ("m.onnx", &text)] {
        let session = Session::open(name, contents.clone().into(), Execution::default());
        assert_eq!(session.unwrap().model().node_count(), 3, "{name}");
    }
}

#[test]
fn weights_behind_copies_have_statistics() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}, int8[2] q = {5, 7}, float s = {0.5}> {
  shared = Identity (w)
  again = Identity (shared)
  a = MatMul (x, again)
  z = DequantizeLinear (q, s)
  b = Add (a, z)
  c = Constant <value_floats = [8.0, 9.0]> ()
  y = Mul (b, c)
}"#;
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    for (operator, stored, greatest) in
        [("MatMul()", Some("w "), "4"), ("Add()", None, "3.5"), ("Mul()", None, "9")]
    {
        let found = ok(&mut session, &json!({ "call": "search", "text": operator }));
        let (level, item) = (&found["hits"][0]["level"], &found["hits"][0]["item"]);
        let details = ok(&mut session, &json!({ "call": "details", "level": level, "item": item }));
        assert_eq!(details["weights"][0]["input"], 1, "{details}");
        let weight = ok(&mut session, &json!({ "call": "weight", "level": level, "item": item, "input": 1 }));
        let rows = weight["rows"].as_array().unwrap();
        assert!(rows.contains(&json!(["greatest", greatest])), "{operator}: {weight}");
        let found = rows.iter().find(|row| row[0] == "stored as").map(|row| row[1].as_str().unwrap());
        assert_eq!(found.is_some(), stored.is_some(), "{operator}: {weight}");
        assert!(found.unwrap_or_default().starts_with(stored.unwrap_or_default()), "{operator}: {weight}");
        // Real values, and the integers that are stored.
        let is_quantized = operator == "Add()";
        assert_eq!(weight["stored"].is_object(), is_quantized, "{operator}: {weight}");
        if is_quantized {
            assert_eq!((&weight["name"], &weight["elements"]), (&json!("z"), &json!(["2.5", "3.5"])));
            assert_eq!(weight["stored"]["name"], "q int8 2");
            assert_eq!(weight["stored"]["elements"], json!(["5", "7"]));
        }
    }
}

#[test]
fn nodes_without_a_box_are_reached() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N, 2] x) => (float[N, 2] y) <int8[2] q = {5, 7}> {
  s = Constant <value_float = 0.5> ()
  ["dq"] z = DequantizeLinear <axis = 0> (q, s)
  ["sum"] y = Add (x, z)
}"#;
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let found = ok(&mut session, &json!({ "call": "search", "text": "DequantizeLinear()" }));
    let hit = &found["hits"][0];
    assert_eq!(hit["folded"], 0, "{found}");
    let of_box = json!({ "call": "details", "level": hit["level"], "item": hit["item"] });
    let details = ok(&mut session, &of_box);
    assert_eq!(details["title"], "Add");
    let list = details["lists"].as_array().unwrap().iter().find(|list| list["folded"] == true).unwrap();
    assert_eq!(list["rows"], json!([["DequantizeLinear  dq"], ["Constant"]]));
    let mut of_node = of_box;
    of_node["folded"] = json!(0);
    let details = ok(&mut session, &of_node);
    assert_eq!((&details["title"], &details["of"]), (&json!("DequantizeLinear"), &json!("Add  sum")));
    of_node["call"] = json!("weight");
    of_node["input"] = json!(0);
    assert_eq!(ok(&mut session, &of_node)["elements"], json!(["5", "7"]));
    of_node["folded"] = json!(9);
    assert_eq!(error(&mut session, &of_node.to_string()), "the node does not exist");
}

#[test]
fn matches_beyond_the_list_are_counted() {
    let nodes: Vec<String> = (0..700).map(|index| format!("v{index} = Relu (x)")).collect();
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] v0) <float[2] unused = {{1, 2}}> {{ {} }}"#,
        nodes.join("\n")
    );
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let found = ok(&mut session, &json!({ "call": "search", "text": "Relu()" }));
    assert_eq!((&found["count"], &found["hidden"]), (&json!(700), &json!(0)));
    assert_eq!(found["hits"].as_array().unwrap().len(), 500);
    let found = ok(&mut session, &json!({ "call": "search", "text": "unused" }));
    assert_eq!((&found["count"], &found["hidden"]), (&json!(0), &json!(1)), "{found}");
}

#[test]
fn a_model_says_what_it_is() {
    let bytes = onnx_formats::read_text(
        onnx_formats::MessageType::MODEL,
        br#"ir_version: 10 producer_name: "maker" producer_version: "2.1" domain: "org.example" model_version: 7
            doc_string: "what it is for" opset_import { version: 21 } opset_import { domain: "local" version: 1 }
            metadata_props { key: "author" value: "somebody" }
            graph { name: "main" doc_string: "of the graph"
              node { op_type: "F" domain: "local" input: "x" output: "y" doc_string: "of the node" }
              input { name: "x" doc_string: "of the input" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } } } } }
              output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } } } } } }
            functions { name: "F" domain: "local" input: "a" output: "b" doc_string: "of the function" opset_import { version: 20 }
              node { op_type: "Relu" input: "a" output: "b" } }"#,
        &Execution::default(),
    );
    let mut session = Session::open("m.onnx", bytes.unwrap(), Execution::default()).unwrap();
    let found = ok(&mut session, &json!({ "call": "model" })).to_string();
    for part in [
        r#"["producer","maker 2.1"]"#,
        r#"["domain","org.example"]"#,
        r#"["model version","7"]"#,
        r#"["operator sets","ai.onnx 21, local 1"]"#,
        r#"["documentation","what it is for"]"#,
        r#"["author","somebody"]"#,
        r#"["graph","of the graph"]"#,
        r#"["x","of the input"]"#,
        r#"["local.F","1 nodes"]"#,
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let details = ok(&mut session, &json!({ "call": "details", "level": 0, "item": 0 })).to_string();
    for part in ["of the node", "of the function", "ai.onnx 20"] {
        assert!(details.contains(part), "{part}: {details}");
    }
}

#[test]
fn paths_and_texts_reach_into_nested_graphs() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[2] x, bool c) => (float[2] y, float[2] z) {
  ["first"] a = Relu (x)
  ["choice"] b = If (c) <
    then_branch = t () => (float[2] p) { ["inner"] p = Exp (a) },
    else_branch = e () => (float[2] q) { ["other"] q = Neg (a) }
  >
  ["last"] y = Abs (b)
  ["aside"] z = Sin (x)
}"#;
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let mut place = |name: &str| {
        let found = ok(&mut session, &json!({ "call": "search", "text": name }));
        json!([found["hits"][0]["level"], found["hits"][0]["item"]])
    };
    let [first, inner, other, last, aside] = ["first", "inner", "other", "last", "aside"].map(&mut place);
    let mut path =
        |from: &Value, to: &Value| ok(&mut session, &json!({ "call": "path", "from": from, "to": to }));
    assert!(path(&first, &last)["note"].is_null());
    for (from, to) in [(&first, &inner), (&inner, &last)] {
        let found = path(from, to);
        assert!(found["count"].as_u64() >= Some(1), "{found}");
        assert!(found["note"].as_str().unwrap().contains("If  choice"), "{found}");
    }
    let found = path(&inner, &other);
    assert!(found["count"] == 0 && found["note"].as_str().unwrap().contains("If  choice"), "{found}");
    let found = path(&aside, &inner);
    assert!(found["note"].as_str().unwrap().contains("no path"), "{found}");
    // The box of a graph has the text of that graph.
    let level = ok(&mut session, &json!({ "call": "search", "text": "inner" }))["hits"][0]["level"].clone();
    let level = level.as_u64().unwrap() - 1;
    let text = ok(&mut session, &json!({ "call": "text", "level": level, "item": 0 }))["text"].clone();
    let text = text.as_str().unwrap();
    assert!(text.contains("Exp") && !text.contains("Relu"), "{text}");
}

#[test]
fn an_output_has_its_inferred_and_its_declared_shape() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[N, 4] x) => (float[unk__0, 7] y) { y = Relu (x) }"#;
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let details = ok(&mut session, &json!({ "call": "details", "level": 0, "item": 2 }));
    assert_eq!(details["rows"], json!([["y", "N×4"]]), "{details}");
    let lists = details["lists"].as_array().unwrap();
    let declared = lists.iter().find(|list| list["title"] == "Declared otherwise").unwrap();
    assert_eq!(declared["rows"], json!([["y", "unk__0×7"]]));
    let input = ok(&mut session, &json!({ "call": "details", "level": 0, "item": 1 }));
    assert!(!input.to_string().contains("Declared otherwise"), "{input}");
}

#[test]
fn work_that_is_cancelled_changes_nothing() {
    let mut session = session();
    let before = session.model().node_count();
    ok(&mut session, &json!({ "call": "simplify" }));
    assert!(session.model().node_count() < before);
    let cancelled = |session: &mut Session, request: &str| {
        let interrupt = onnx_types::Interrupt::new();
        interrupt.cancel();
        let answer = session.call_adapted(request, |execution| execution.with_interrupt(interrupt));
        assert_eq!(answer, r#"{"error":"cancelled: the model is as it was before"}"#, "{request}");
    };
    let state = |session: &mut Session| {
        let overview = ok(session, &json!({ "call": "overview" }));
        (overview, ok(session, &json!({ "call": "level", "id": 0 })), session.save().unwrap())
    };
    let now = state(&mut session);
    for request in [
        r#"{"call":"undo"}"#,
        r#"{"call":"simplify"}"#,
        r#"{"call":"simplify","prove":true}"#,
        r#"{"call":"convert","version":24}"#,
        r#"{"call":"extract","level":0,"item":0}"#,
        r#"{"call":"before"}"#,
        r#"{"call":"run"}"#,
        r#"{"call":"cost","sizes":""}"#,
        r#"{"call":"levels","ids":[0]}"#,
        r#"{"call":"search","text":"Relu()"}"#,
        r#"{"call":"versions"}"#,
    ] {
        cancelled(&mut session, request);
        assert_eq!(state(&mut session), now, "{request}");
    }
    // What comes later is not cancelled.
    ok(&mut session, &json!({ "call": "undo" }));
    assert_eq!(session.model().node_count(), before);
}

#[test]
fn progress_is_told() {
    let mut session = session();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let receive = std::sync::Arc::clone(&seen);
    let adapt =
        |execution: Execution| execution.with_progress(move |step| receive.lock().unwrap().push(step.task));
    session.call_adapted(r#"{"call":"simplify"}"#, adapt);
    assert!(["edit", "infer"].iter().all(|task| seen.lock().unwrap().contains(task)));
}

#[test]
fn a_conversion_lists_the_version_of_the_format() {
    let text = TEXT.replace("ir_version: 10", "ir_version: 8");
    let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
    let done = ok(&mut session, &json!({ "call": "convert", "version": 23 }));
    let edits: Vec<&str> =
        done["edits"].as_array().unwrap().iter().map(|edit| edit["what"].as_str().unwrap()).collect();
    let after = session.model().info().ir_version;
    assert!(after > 8);
    let expected = format!("the IR version, which operator set 23 needs: 8 → {after}");
    assert!(edits.contains(&expected.as_str()), "{edits:?}");
}
