//! Variations that other protobuf writers may produce, and invalid ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use onnx_formats::{
    ConvertError, Execution, Limits, LossKind, MessageType, from_json, from_text, read_json, read_text,
    to_json, to_text, write_json, write_text,
};

/// Checks that two texts are the same model.
#[track_caller]
fn same(text: &str, other: &str) {
    let read = |text: &str| from_text(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(read(text), read(other), "{text}");
}

#[track_caller]
fn same_json(json: &str, text: &str) {
    let read = from_json(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(read, from_text(text).unwrap(), "{json}");
}

#[test]
fn variations_of_text() {
    same("graph: { name: 'g' };", "graph { name: \"g\" }");
    same("\u{feff}graph < name: 'g', doc_string: '' >", "graph { name: \"g\" doc_string: \"\" }");
    same(
        "graph { node: [{ name: 'a' }, < name: 'b' >]; node [] }",
        "graph { node { name: 'a' } node { name: 'b' } }",
    );
    same(
        "graph{node{input:['a','b'],input:[]output:'c'}}#x",
        "graph { node { input: 'a' input: 'b' output: 'c' } }",
    );
    same("# first\ngraph { # {{{\n name : # x\n 'a' # y\n \"b\" 'c' }", "graph { name: 'abc' }");
    same(
        r#"graph { name: "\a\b\f\n\r\t\v\?\\\'\"\1\12\101\x4a\X4A\u00e9\U0001F600\ud83d\ude00" }"#,
        "graph { name: '\\007\\010\\014\\012\\015\\011\\013?\\134\\047\\042\\001\\nAJJé😀😀' }",
    );
    let tensor = |fields: &str| format!("graph {{ initializer {{ {fields} }} }}");
    same(&tensor("dims: 0x1F dims: 017 dims: - 5 dims: -0"), &tensor("dims: [31, 15, -5, 0]"));
    same(&tensor("data_location: EXTERNAL"), &tensor("data_location: 1"));
    same(
        &tensor("float_data: [1, 1.5f, 1.F, .5, 1e2, 1E+2f, inf, -Infinity, INF, -0.0, 1e40]"),
        &tensor("float_data: [1.0, 1.5, 1.0, 0.5, 100, 100, inf, -inf, inf, -0, inf]"),
    );
    same("graph { node { attribute { type: 7 } } }", "graph { node { attribute { type: INTS } } }");
}

#[test]
fn variations_of_json() {
    same_json("{\"irVersion\": 10, \"producer_name\": \"x\"}", "ir_version: 10 producer_name: 'x'");
    same_json(" {\"ir_version\":\"10\",\"graph\":null,\"opset_import\":null}\n", "ir_version: 10");
    same_json("{\"ir_version\": 1.0e1, \"model_version\": \"-1e1\"}", "ir_version: 10 model_version: -10");
    let tensor = |fields: &str| format!("{{\"graph\": {{\"initializer\": [{{{fields}}}]}}}}");
    let text = |fields: &str| format!("graph {{ initializer {{ {fields} }} }}");
    same_json(&tensor("\"rawData\": \"-_8\""), &text("raw_data: '\\373\\377'"));
    same_json(&tensor("\"rawData\": \"+\\/8=\""), &text("raw_data: '\\373\\377'"));
    same_json(&tensor("\"raw_data\": \"\\u002b_8=\""), &text("raw_data: '\\373\\377'"));
    same_json(
        &tensor(
            "\"float_data\": [1, -1.5, \"2.5\", \"NaN\", \"Infinity\", \"-Infinity\", 3.4028234663852886e38]",
        ),
        &text("float_data: [1, -1.5, 2.5, nan, inf, -inf, 3.4028235e38]"),
    );
    same_json(&tensor("\"data_location\": 1, \"dims\": []"), &text("data_location: EXTERNAL"));
    same_json(&tensor("\"data_location\": \"1\""), &text("data_location: EXTERNAL"));
    same_json(&tensor("\"name\": \"\\ud83d\\ude00\\n\\/é\""), &text("name: '😀\\n/é'"));
}

#[test]
fn errors_of_text() {
    for (text, message) in [
        ("graph: 1", "expected `{` after `graph`, but found `1`"),
        ("graph [{}]", "expected `{`"),
        ("ir_version 1", "expected `:`"),
        ("ir_version: [1]", "expected an integer"),
        ("graph { node { input: ['a' 'b', ] } }", "expected a string"),
        ("graph { node { input: ['a'; 'b'] } }", "expected `,` or `]`"),
        ("graph { node [{}; {}] }", "expected `,` or `]`"),
        ("graph { name: 'a\n' }", "invalid string"),
        ("graph { name: '\\400' }", "octal escape exceeds"),
        ("graph { name: '\\ud800' }", "not a character"),
        ("graph { name: '\\uD800\\u0041' }", "not a character"),
        ("graph { name: '\\U00110000' }", "not a character"),
        ("graph { name: '\\x' }", "unknown escape"),
        ("graph { }}", "expected the name of a field"),
        ("graph { >", "expected the name of a field"),
        (
            "graph { node { attribute { type: BOGUS } } }",
            "`AttributeProto.AttributeType` has no value `BOGUS`",
        ),
        ("graph { input { type { tensor_type {} sequence_type {} } } }", "`tensor_type` is set"),
        ("graph {} graph {}", "already set"),
        ("[onnx.x]: 1", "extension"),
        ("ir_version: 1,, model_version: 2", "expected the name of a field"),
    ] {
        let error = from_text(text).unwrap_err().to_string();
        assert!(error.contains(message) && error.starts_with("line "), "{text}: {error}");
    }
    let not_utf8 = from_text(b"graph { name: '\xff' }").unwrap_err().to_string();
    assert_eq!(not_utf8, "line 1, column 16: invalid string: the text is not UTF-8");
    let long = from_text(format!("\n\n  é{}", "x".repeat(10_000))).unwrap_err().to_string();
    assert!(long.len() < 200 && long.starts_with("line 3, column 3: "), "{long}");
}

#[test]
fn errors_of_json() {
    for (json, message) in [
        ("{\"ir_version\": 1, \"irVersion\": 1}", "already set"),
        ("{\"opset_import\": [], \"opset_import\": []}", "already set"),
        ("{\"graph\": null, \"graph\": {}}", "already set"),
        ("{\"graph\": []}", "expected an object"),
        ("{\"opset_import\": {}}", "expected a list"),
        ("{\"opset_import\": [null]}", "expected an object"),
        ("{\"opset_import\": [{}, ]}", "expected an object"),
        ("{\"ir_version\": 1,}", "expected the name of a field"),
        ("{\"ir_version\": true}", "expected a number"),
        ("{\"ir_version\": 1e}", "expected a number"),
        ("{\"producer_name\": 1}", "expected a string"),
        ("{\"producer_name\": \"\\ud83d\"}", "surrogate"),
        ("{\"producer_name\": \"a\nb\"}", "control character"),
        ("{\"producer_name\": \"\\x\"}", "unknown escape"),
        ("{\"producer_name\": \"", "not closed"),
        ("{\"nodes\": 1}", "unrecognized field name `nodes` in `ModelProto`"),
        ("{\"graph\": {\"initializer\": [{\"raw_data\": \"Zm9v*\"}]}}", "not base64"),
        ("{\"graph\": {\"initializer\": [{\"raw_data\": \"Z\"}]}}", "incomplete"),
        (
            "{\"graph\": {\"input\": [{\"type\": {\"tensor_type\": {}, \"mapType\": {}}}]}}",
            "`tensor_type` is set",
        ),
        ("{} x", "trailing"),
        ("{\"graph\": {}", "expected `,` or `}`"),
    ] {
        let error = from_json(json).unwrap_err().to_string();
        assert!(error.contains(message) && error.starts_with("line 1, column "), "{json}: {error}");
    }
    assert!(
        from_json(b"{\"producer_name\": \"\xff\"}")
            .unwrap_err()
            .to_string()
            .contains("column 20: the text is not UTF-8")
    );
}

/// Encoded fields: a varint, or bytes.
fn varint(number: u32, value: u8) -> Vec<u8> {
    vec![(number << 3) as u8, value]
}

fn len(number: u32, content: &[u8]) -> Vec<u8> {
    let mut field = vec![(number << 3 | 2) as u8, u8::try_from(content.len()).unwrap()];
    field.extend_from_slice(content);
    field
}

#[test]
fn fields_in_any_order_and_several_times() {
    // The name of the model counts last, two parts of the graph are one, and packed and single numbers mix.
    let tensor = [len(1, &[1, 2]), varint(1, 3), varint(2, 1), varint(1, 4), varint(2, 7)].concat();
    let model = [
        len(7, &len(2, b"first")),
        len(2, b"old"),
        varint(1, 9),
        len(7, &[len(5, &tensor), len(2, b"second")].concat()),
        len(2, b"new"),
    ]
    .concat();
    let expected = "ir_version: 9\nproducer_name: \"new\"\ngraph {\n  name: \"second\"\n  initializer {\n    dims: 1\n    dims: 2\n    dims: 3\n    dims: 4\n    data_type: 7\n  }\n}\n";
    assert_eq!(to_text(&model).unwrap().text, expected);
    let json = to_json(&model).unwrap().text;
    assert_eq!(from_json(&json).unwrap(), from_text(expected).unwrap(), "{json}");
    // Of a `oneof` the last member counts, without what it had before another one was set.
    let tensor_type = |ty: u8| len(1, &varint(1, ty));
    let ty = [tensor_type(1), len(4, b""), tensor_type(2), len(1, &len(2, b""))].concat();
    let model = len(7, &len(11, &len(2, &ty)));
    let text = to_text(&model).unwrap().text;
    same(&text, "graph { input { type { tensor_type { elem_type: 2 shape {} } } } }");
    let ty = [tensor_type(1), len(4, b"")].concat();
    same(
        &to_text(len(7, &len(11, &len(2, &ty)))).unwrap().text,
        "graph { input { type { sequence_type {} } } }",
    );
}

#[test]
fn wire_types_other_than_those_of_the_schema_are_unknown_fields() {
    let model = [len(1, b"x"), varint(7, 1), vec![0x0b, 0x08, 0x01, 0x0c]].concat();
    let text = to_text(&model).unwrap();
    assert_eq!(text.text, "");
    let numbers: Vec<_> = text.losses.iter().map(|loss| loss.kind).collect();
    assert_eq!(numbers, [1, 7, 1].map(|number| LossKind::UnknownField { number }));
}

#[test]
fn strings_that_are_not_utf8_come_back_through_text() {
    let model = len(7, &len(2, b"a\xff\xc3\xa9\xe2\x82"));
    let text = to_text(&model).unwrap().text;
    assert_eq!(text, "graph {\n  name: \"a\\377é\\342\\202\"\n}\n");
    assert_eq!(from_text(&text).unwrap(), model);
    let error = to_json(&model).unwrap_err();
    assert!(matches!(&error, ConvertError::NotUtf8 { path } if path == "graph.name"), "{error}");
}

/// Writes a message that is cut into pieces of some bytes each.
fn in_pieces(bytes: &[u8], size: usize) -> (String, String) {
    let (mut text, mut json) = (Vec::new(), Vec::new());
    write_text(MessageType::MODEL, bytes.chunks(size), &Execution::DEFAULT, &mut text).unwrap();
    write_json(MessageType::MODEL, bytes.chunks(size), &Execution::DEFAULT, &mut json).unwrap();
    (String::from_utf8(text).unwrap(), String::from_utf8(json).unwrap())
}

#[test]
fn pieces_may_end_anywhere() {
    let bytes = from_text(
        "ir_version: 300 graph { name: 'é😀' initializer { dims: [1, 300] float_data: [0.1, 1e30, -inf] raw_data: '\\377\\000abcdefg' double_data: [0.1, 3] } } metadata_props { key: 'k' } metadata_props {}",
    )
    .unwrap();
    let whole = in_pieces(&bytes, bytes.len());
    assert_eq!(whole, (to_text(&bytes).unwrap().text, to_json(&bytes).unwrap().text));
    for size in 1..bytes.len() {
        assert_eq!(in_pieces(&bytes, size), whole, "{size}");
    }
    // Truncation is found wherever it is.
    for end in 1..bytes.len() {
        let pieces = bytes[..end].chunks(3);
        let mut out = Vec::new();
        if let Ok(losses) = write_text(MessageType::MODEL, pieces, &Execution::DEFAULT, &mut out) {
            assert!(losses.is_empty() && from_text(&out).is_ok(), "{end}");
        }
    }
}

#[test]
fn limits_hold() {
    let text = "graph { name: 'four' node { attribute { g { } } } }";
    let bytes = from_text(text).unwrap();
    let json = to_json(&bytes).unwrap().text;
    for (name, too_low, enough) in
        [("message_depth", 3, 4), ("string_bytes", 3, 4), ("input_bytes", 10, 1000)]
    {
        for (value, fits) in [(too_low, false), (enough, true)] {
            let mut limits = Limits::DEFAULT;
            limits.set(name, value).unwrap();
            let execution = Execution::from(limits);
            let results = [
                read_text(MessageType::MODEL, text.as_bytes(), &execution).map(|_| ()),
                read_json(MessageType::MODEL, json.as_bytes(), &execution).map(|_| ()),
                write_text(MessageType::MODEL, [&bytes[..]], &execution, &mut Vec::new()).map(|_| ()),
                write_json(MessageType::MODEL, [&bytes[..]], &execution, &mut Vec::new()).map(|_| ()),
            ];
            for result in results {
                assert_eq!(result.is_ok(), fits, "{name} {value}: {result:?}");
                if let Err(error) = result {
                    assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
                }
            }
        }
    }
}

#[test]
fn other_messages() {
    let tensor = MessageType::named("TensorProto").unwrap();
    assert_eq!(tensor.name(), "TensorProto");
    assert!(MessageType::named("Tensor").is_none());
    assert_eq!(read_text(tensor, b"dims: 3", &Execution::DEFAULT).unwrap(), b"\x08\x03".as_slice());
}

/// Keeps what is written, and the length of the longest write.
#[derive(Default)]
struct Writes {
    bytes: Vec<u8>,
    longest: usize,
}

impl std::io::Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.longest = self.longest.max(bytes.len());
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A model with this `doc_string`, in bytes that may not be UTF-8.
fn with_doc_string(doc_string: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x32];
    let mut length = doc_string.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    [&bytes, doc_string].concat()
}

#[test]
fn long_strings_are_written_in_parts() {
    let characters: [&[u8]; 8] =
        [b"a", "é".as_bytes(), "€".as_bytes(), "😀".as_bytes(), b"\x01", b"\xc2\x80", b"\x80", b"\xf0\x9f"];
    for character in characters {
        for offset in 0..4 {
            let mut string = vec![b'"'; offset];
            string.extend(std::iter::repeat_n(character, 60_000).flatten());
            let bytes = with_doc_string(&string);
            let execution = Execution::default();
            let mut text = Writes::default();
            write_text(MessageType::MODEL, [&bytes[..]], &execution, &mut text).unwrap();
            assert_eq!(read_text(MessageType::MODEL, &text.bytes, &execution).unwrap(), bytes);
            let mut json = Writes::default();
            // The pieces of a model end anywhere.
            let (first, second) = bytes.split_at(50_001);
            let written = write_json(MessageType::MODEL, [first, second], &execution, &mut json);
            match std::str::from_utf8(&string) {
                Ok(_) => {
                    written.unwrap();
                    assert_eq!(read_json(MessageType::MODEL, &json.bytes, &execution).unwrap(), bytes);
                }
                Err(_) => {
                    assert!(matches!(written, Err(ConvertError::NotUtf8 { path }) if path == "doc_string"))
                }
            }
            assert!(text.longest.max(json.longest) < 512 << 10, "{} {}", text.longest, json.longest);
        }
    }
}
