//! What a version does not allow is refused also if the conversion makes it: types of new nodes, and fields of the format.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_check::{CheckOptions, check};
use onnx_ir::Model;
use onnx_schema::domain;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_version::{Cause, ConvertOptions, VersionError, convert, nearest, set_ir_version};

fn parsed(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn shown(model: &Model) -> String {
    let found = check(model, &CheckOptions::default());
    let text = print_model(model, &PrintOptions::default()).unwrap().text;
    assert!(!found.has_errors(), "{text}: {:?}", found.diagnostics());
    text
}

#[test]
fn new_nodes_have_types_that_the_version_allows() {
    let model = |elem: &str| {
        parsed(&format!(
            "<ir_version: 8, opset_import: [\"\": 14]>
            g ({elem}[2, 3] x) => ({elem}[2, 3] y) {{ y = Trilu (x) }}"
        ))
    };
    for to in [13, 12] {
        // `Where` allows `bfloat16` from version 16 on.
        let mut brain = model("bfloat16");
        let Err(VersionError::Refused(refusals)) = convert(&mut brain, to, &ConvertOptions::default()) else {
            panic!("it is not refused");
        };
        let refusal = refusals.first().unwrap();
        assert_eq!((refusal.op.as_str(), refusal.to, refusal.target), ("Trilu", 13, to));
        assert_eq!(refusal.reason.cause(), Cause::TypeNotAllowed);
        let text = refusal.reason.to_string();
        assert!(text.contains("`Where`") && text.contains("bfloat16"), "{text}");
        assert_eq!(nearest(&brain, to, &ConvertOptions::default()).unwrap().version, 14);
        let mut half = model("float16");
        convert(&mut half, to, &ConvertOptions::default()).unwrap();
        assert!(shown(&half).contains("Where"));
    }
}

#[test]
fn bodies_have_types_that_the_version_allows() {
    let text = "<ir_version: 8, opset_import: [\"\": 17]>
        g (float[2, 3] x, float[3] scale) => (float[2, 3] y) { y = LayerNormalization (x, scale) }";
    for (elem, is_possible) in [("float", true), ("double", true), ("float16", true), ("bfloat16", true)] {
        let mut model = parsed(&text.replace("float", elem));
        let done = convert(&mut model, 16, &ConvertOptions::default());
        assert_eq!(done.is_ok(), is_possible, "{elem}: {:?}", done.err());
        shown(&model);
    }
}

#[test]
fn inserted_axes_ascend() {
    let mut model = parsed(
        "<ir_version: 6, opset_import: [\"\": 11]>
        g (float[2, 3] x) => (float[1, 1, 2, 3] y) { y = Unsqueeze <axes = [-3, 0]> (x) }",
    );
    convert(&mut model, 10, &ConvertOptions::default()).unwrap();
    assert!(shown(&model).contains("Unsqueeze <axes = [0, 1]> (x)"));
}

/// The codes that prevent a version of the format.
fn prevents(model: &Model, version: i64) -> Vec<u16> {
    let mut after = model.clone();
    let found = set_ir_version(&mut after, version).err();
    assert_eq!(after.info().ir_version, if found.is_some() { model.info().ir_version } else { version });
    found.iter().flat_map(|found| found.diagnostics()).map(|found| found.rule.code).collect()
}

#[test]
fn versions_of_the_format_before_imports_have_none() {
    let model =
        parsed("<ir_version: 8, opset_import: [\"\": 8]> g (float[2] x) => (float[2] y) { y = Neg (x) }");
    assert_eq!(
        [-1, 0, 1, 2, 3].map(|version| prevents(&model, version)),
        [vec![2002], vec![2001], vec![2004], vec![2004], vec![]]
    );
}

#[test]
fn an_input_of_a_nested_graph_with_a_default_keeps_its_version_of_the_format() {
    let model = parsed(
        "<ir_version: 3, opset_import: [\"\": 8]>
        g (int64 n, bool c, float s) => (float y) {
            y = Loop (n, c, s) <body = b (int64 i, bool keep, float state, float w = {1.0}) => (bool again, float next) {
                again = Identity (keep)
                next = Add (state, w)
            }>
        }",
    );
    assert_eq!([2, 3, 4].map(|version| prevents(&model, version)), [vec![2004], vec![], vec![2105]]);
    // A model that has it already keeps it.
    let mut newer = model;
    newer.info_mut().ir_version = 8;
    assert_eq!([3, 9].map(|version| prevents(&newer, version)), [vec![], vec![]]);
}

/// A model with a constant in a nested graph.
fn nested(elem: &str, op: &str, elements: &str) -> Model {
    parsed(&format!(
        "<ir_version: 8, opset_import: [\"\": 8]>
        g ({elem}[2] x, bool c) => ({elem}[2] y) {{
            y = If (c) <
                then_branch = a () => ({elem}[2] q) {{ q = Identity (x) }},
                else_branch = b () => ({elem}[2] r) <{elem}[2] k = {{{elements}}}> {{ r = {op} }}
            >
        }}"
    ))
}

#[test]
fn constants_of_nested_graphs_have_types_that_the_version_allows() {
    let mut model = nested("int64", "Add (x, k)", "1, 2");
    set_ir_version(&mut model, 3).unwrap_or_else(|found| panic!("{:?}", found.diagnostics()));
    let text = shown(&model);
    assert!(text.contains("Constant <value = double[2] {1, 2}> ()"), "{text}");
    assert!(text.contains("Cast <to = 7>"), "{text}");
    // No `Cast` of version 6 makes strings, and no `double` is this number.
    assert_eq!(prevents(&nested("string", "Identity (k)", "\"a\", \"b\""), 3), [2103]);
    assert_eq!(prevents(&nested("int64", "Add (x, k)", "1, 9007199254740993"), 3), [2103]);
}

#[test]
fn strings_that_are_repeated_have_no_index() {
    let options = ConvertOptions::default().with_domain(domain::ML);
    let model = |classes: &str, (from, to): (&str, &str)| {
        parsed(&format!(
            "<ir_version: 7, opset_import: [\"\": 13, \"ai.onnx.ml\": 1]>
            g ({from}[3] x) => ({to}[3] y) {{ y = ai.onnx.ml.LabelEncoder <classes_strings = [{classes}]> (x) }}"
        ))
    };
    let mut repeated = model(r#""a", "b", "a""#, ("string", "int64"));
    let error = convert(&mut repeated, 2, &options).unwrap_err();
    assert!(error.to_string().contains("repeats a string"), "{error}");
    convert(&mut model(r#""a", "b""#, ("string", "int64")), 2, &options).unwrap();
    // Each index has one string.
    convert(&mut model(r#""a", "b", "a""#, ("int64", "string")), 2, &options).unwrap();
}
