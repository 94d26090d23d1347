//! What is wrong with a text, and where.

use onnx_diag::render::text;
use onnx_text::{ParseError, ParseOptions, parse_function, parse_graph, parse_model, parse_node};
use onnx_types::Limits;

/// The diagnostics as `slug line:column`.
fn found<T>(result: Result<T, ParseError>) -> Vec<String> {
    let Err(error) = result else { return Vec::new() };
    let findings = error.into_findings().into_diagnostics();
    findings
        .iter()
        .map(|finding| {
            let position = finding.locus.position().map(|position| position.to_string());
            format!("{} {}", finding.rule.slug, position.unwrap_or_default())
        })
        .collect()
}

#[test]
fn nodes() {
    for (text, want) in [
        ("y = Relu (x", "unexpected-token 1:12"),
        ("y = Relu x)", "unexpected-token 1:10"),
        ("y Relu (x)", "unexpected-token 1:3"),
        ("y = Relu (x) z", "trailing-text 1:14"),
        ("y = Op <> (x)", "unexpected-token 1:9"),
        ("y = Op <a = 1,> (x)", "unexpected-token 1:15"),
        ("y = Op <a = [1, 2.5]> (x)", "attribute-kind-mismatch 1:17"),
        ("y = Op <a: float = \"x\"> (x)", "attribute-kind-mismatch 1:20"),
        ("y = Op <a: ints = 3> (x)", "attribute-kind-mismatch 1:19"),
        ("y = Op <a = []> (x)", "attribute-kind-mismatch 1:13"),
        ("y = Op <a: number = 1> (x)", "unexpected-token 1:12"),
        ("y = Op <a = -> (x)", "malformed-number 1:13"),
        ("y = Op <a = 1e> (x)", "malformed-number 1:13"),
        ("y = Op <a = 1e39> (x)", "number-out-of-range 1:13"),
        ("y = Op <a = 9223372036854775808> (x)", "number-out-of-range 1:13"),
        ("y = Op <a = \"x> (x)", "malformed-string 1:13"),
        ("y = Op <a = \"\\x{1}\"> (x)", "malformed-string 1:13"),
        ("y = Op <a = float[N] {1}> (x)", "wrong-literal 1:13"),
        ("y = Op <a = seq(float) {1}> (x)", "wrong-literal 1:13"),
        ("y = Op <a = int8[1] {1.5}> (x)", "wrong-literal 1:22"),
        ("y = Op <a = int8[1] {128}> (x)", "number-out-of-range 1:22"),
        ("y = Op <a = uint64[1] {-1}> (x)", "number-out-of-range 1:24"),
        ("y = Op <a = float16[1] {1e6}> (x)", "number-out-of-range 1:25"),
        ("y = Op <a = float[1] {1e39}> (x)", "number-out-of-range 1:23"),
        ("y = Op <a = float[3] {1, 2}> (x)", "wrong-element-count 1:22"),
        ("y = Op <a = float[1] {1, 2}> (x)", "wrong-element-count 1:22"),
        ("y = Op <a = string[1] {1}> (x)", "unexpected-token 1:24"),
        ("y = Op <a = float[2] {…2 elements}> (x)", "elided-tensor 1:23"),
        ("y = Op <a = ?99> (x)", "number-out-of-range 1:13"),
        ("y = Op (x) @{colour: 1}", "unknown-key 1:14"),
        ("y = Op (x) @{unknown: [\"8\"]}", "wrong-literal 1:24"),
        ("y = Op (x) @{present: [32]}", "number-out-of-range 1:24"),
    ] {
        assert_eq!(found(parse_node(text, &ParseOptions::default())), [want], "{text}");
    }
}

#[test]
fn models() {
    for (text, want) in [
        ("", "unexpected-token 1:1"),
        ("<ir_version: 3,> g (x) => (y) {}", "unexpected-token 1:16"),
        ("<colour: 3> g (x) => (y) {}", "unknown-key 1:2"),
        ("g (x) = > (y) {}", "unexpected-token 1:7"),
        ("g (x) => (y) {\n", "unexpected-token 2:1"),
        ("g (x = {1}) => (y) {}", "wrong-literal 1:4"),
        ("g (float) => (y) {}", "unexpected-token 1:9"),
        ("g (x) => (y) {} }", "unexpected-token 1:17"),
        ("g (x) => (y) {} f (x) => (y) <float w = {1}> {}", "unexpected-token 1:44"),
    ] {
        assert_eq!(found(parse_model(text, &ParseOptions::default())), [want], "{text}");
    }
    assert_eq!(found(parse_function("f (x) => (y) {} g", &ParseOptions::default())), ["trailing-text 1:17"]);
}

#[test]
fn parsing_goes_on() {
    let text = "g (x) => (y) {
   a = Add (x, 1)
   b = Op <p = [1, x], q = 3, r = 1e99> (a)
   c = If (b) <
      then_branch = t () => (d) {
         d = = Relu (b)
         e = Relu (d)
      }
   >
   f = Relu (x)
   , = = y
}
f (x) = (y) { y = Relu (x) }
h (x) => (y) { y = Relu x }
";
    let want = [
        "unexpected-token 2:16",
        "unexpected-token 3:21",
        "number-out-of-range 3:35",
        "unexpected-token 6:14",
        "unexpected-token 11:8",
        "unexpected-token 13:7",
        "unexpected-token 14:25",
    ];
    assert_eq!(found(parse_model(text, &ParseOptions::default())), want);
}

#[test]
fn errors_are_limited() {
    let text = format!("g (x) => (y) {{\n{}}}", "y = Relu <a = > (x)\n".repeat(10_000));
    assert_eq!(found(parse_graph(&text, &ParseOptions::default())).len(), 100);
}

#[test]
fn the_place_is_shown() {
    let text = "g (x) => (y) {\n   y = LeakyRelu <alpha = > (x)\n}\n";
    let error = parse_graph(text, &ParseOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "2:27: expected a value, found `>`");
    let mut out = String::new();
    let options = text::Options::new("g.onnxtxt").with_source(text);
    text::render(&mut out, error.findings(), &options).unwrap();
    assert!(out.contains("2 |    y = LeakyRelu <alpha = > (x)\n"), "{out}");
}

#[test]
fn findings_name_graph_and_node() {
    let text = "<ir_version: 10>
main (x) => (y) <float[2] w = {1}> {
   [one] a = Relu <p = 1e99> (x)
   c = If (a) <then_branch = inner () => (d) {
      e = Neg (a)
      [two] d = com.x.Op <q = [1, \"z\"]> (e)
   }>
   f = = Relu (x)
}
<domain: \"com.x\", overload: \"v\">
Op (p) => (q) { q = Relu <r = > (p) }
";
    let error = parse_model(text, &ParseOptions::default()).err().unwrap();
    let findings = error.findings().diagnostics().iter();
    let found: Vec<String> = findings.map(|finding| finding.locus.to_string()).collect();
    let want = [
        "graph \"main\"",
        "graph \"main\" / node #0 Relu \"one\"",
        "graph \"main\" / node #1 If / graph \"inner\" / node #1 Op \"two\"",
        "graph \"main\" / node #2",
        "function \"Op\" of domain \"com.x\" overload \"v\" / node #0 Relu",
    ];
    assert_eq!(found, want);
}

#[test]
fn parsing_goes_on_behind_an_item_that_does_not_end() {
    let text = "g (floot[N] x, float[N] z w, float u) => (float[N] y)\n<float[1] a = {1} {2}, float[1] b = {1, 2}> {\n  y = Op <k = 1 2, l = 1e> (x)\n}";
    let want = [
        "unexpected-token 1:4",
        "unexpected-token 1:27",
        "unexpected-token 2:19",
        "wrong-element-count 2:37",
        "unexpected-token 3:17",
        "malformed-number 3:24",
    ];
    assert_eq!(found(parse_graph(text, &ParseOptions::default())), want);
}

#[test]
fn parsing_goes_on_at_the_next_node_where_a_list_of_attributes_has_no_end() {
    let text = "g (x) => (y) {\n  a = Op < (x)\n  b = Op < (x)\n  c = Op (x\n}";
    let want = ["unexpected-token 2:12", "unexpected-token 3:12", "unexpected-token 5:1"];
    assert_eq!(found(parse_graph(text, &ParseOptions::default())), want);
}

#[test]
fn a_byte_order_mark_is_read_over() {
    assert_eq!(found(parse_graph("\u{feff}g (x) => (y) { }", &ParseOptions::default())), [""; 0]);
    assert_eq!(
        found(parse_graph("\u{feff}g (x) (y) { }", &ParseOptions::default())),
        ["unexpected-token 1:7"]
    );
}

#[test]
fn numbers_that_do_not_fit_are_named() {
    for (text, want) in [
        ("float16[1] {70000.0}", "`70000.0` does not fit float16"),
        ("float8e4m3fn[1] {-inf}", "`-inf` does not fit float8e4m3fn"),
        ("float16[1] {nan(0x10000)}", "`nan(0x10000)` does not fit float16"),
        ("double[1] {nan(0x1)}", "`nan(0x1)` does not fit a 64-bit float"),
        (
            "int4[4] {1, 2, -3, 4}",
            "`-3` does not fit an entry of int4, which is a byte with several elements, from 0 to 255; `raw {...}` takes the \
             elements",
        ),
    ] {
        let error = parse_node(format!("y = Op <a = {text}> ()"), &ParseOptions::default()).err().unwrap();
        let messages: Vec<_> = error.findings().diagnostics().iter().map(|found| &found.message).collect();
        assert_eq!(messages, [want]);
    }
}

#[test]
fn missing_and_wrong_quotes_are_explained() {
    let help = |result: Result<onnx_ir::Model, ParseError>| {
        let found = result.unwrap_err().into_findings().into_diagnostics();
        found.first().and_then(|first| first.help.clone())
    };
    let model = |text: &str| help(parse_model(text, &ParseOptions::default()));
    let double = Some("strings are written in double quotes: `\"text\"`".into());
    assert_eq!(model("<ir_version: 10, opset_import: ['': 21]> g () => () {}"), double);
    let header = "<ir_version: 10, opset_import: [\"\": 21]>";
    let quoted =
        "a name with other characters than letters, digits and `_` is written in quotes: `\"a-name\"`";
    for graph in ["a-b () => () {}", "g (float[1] x.1) => () {}", "g (float[1] a/b) => () {}"] {
        assert_eq!(model(&format!("{header} {graph}")), Some(quoted.into()), "{graph}");
    }
    for graph in ["g (float[1] x] => () {}", "g - () => () {}"] {
        assert_eq!(model(&format!("{header} {graph}")), None, "{graph}");
    }
}

#[test]
fn a_text_is_an_input() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }";
    for (limits, name) in [
        (Limits::default().with_input_bytes(50), "input_bytes"),
        (Limits::default().with_text_bytes(50), "text_bytes"),
        (Limits::default().with_text_bytes(50).with_input_bytes(40), "input_bytes"),
    ] {
        let options = ParseOptions::default().with_execution(limits);
        let error = parse_model(text, &options).expect_err("it is too long");
        let [found] = error.findings().diagnostics() else { panic!("{error}") };
        assert_eq!(*found.rule, onnx_text::rules::TEXT_LIMIT);
        assert!(found.message.ends_with(&format!("raise the limit `{name}`")), "{}", found.message);
    }
}
