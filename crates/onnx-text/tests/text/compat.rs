//! What the reference's syntax cannot say is left out and reported.

use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

/// The text for the reference, and what it leaves out.
fn compat(text: &str) -> (String, Vec<String>) {
    let model = parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let printed = print_model(&model, &PrintOptions::compat()).unwrap();
    let left_out = printed.left_out.diagnostics().iter();
    (printed.text, left_out.map(|finding| format!("{}: {}", finding.locus, finding.message)).collect())
}

#[test]
fn plain_text_is_kept() {
    let text = "g (float[N] x) => (float[N] y)\n<\n   float16[2] w = {15360, 0}\n> {\n   y = Add (x, w)\n}\n";
    assert_eq!(compat(text), (text.to_owned(), Vec::new()));
}

#[test]
fn everything_else_is_reported() {
    for (extra, want) in [
        ("y = Op (x) @{doc_string: \"d\"}", "graph \"g\" / node #0 Op: the documentation of a node"),
        ("y = Op (x) @{metadata_props: [\"a\": \"b\"]}", "graph \"g\" / node #0 Op: the metadata of a node"),
        ("y = \"a b\" (x)", "graph \"g\" / node #0 a b: the name of an operator or of its domain"),
        (
            "y = Op <a = [float[1] {1}]> (x)",
            "graph \"g\" / node #0 Op / attribute \"a\": an attribute whose value has no spelling",
        ),
        (
            "y = Op <a = float[1] = raw {1}> (x)",
            "graph \"g\" / node #0 Op / attribute \"a\": raw data are printed as typed data",
        ),
        (
            "y = Op <a = nan(0x7f800001)> (x)",
            "graph \"g\" / node #0 Op / attribute \"a\": the payload of a NaN",
        ),
        ("y = Op <a = \"b\\x{00}c\"> (x)", "graph \"g\" / node #0 Op / attribute \"a\": a NUL in a string"),
    ] {
        let (text, left_out) = compat(&format!("g (x) => (y) {{ {extra} }}"));
        assert_eq!(left_out, [want], "{text}");
        assert!(!text.contains('@'), "{text}");
    }
}

#[test]
fn unknown_fields_of_small_entries_are_reported() {
    let text = "<opset_import: [\"\": 17 @{source: \"1011a00601\"}], metadata_props: [\"a\": \"b\" @{source: \"0a01611201622001\"}]>\n\
                g () => () {}\n";
    let (text, left_out) = compat(text);
    let want = "model: fields of an entry that this version of the format does not know";
    assert_eq!(left_out, [want, want], "{text}");
    assert!(!text.contains("source"), "{text}");
    // Omitting an explicitly encoded empty domain is not a loss.
    let text = "<opset_import: [\"\": 17 @{source: \"0a001011\"}]>\ng () => () {}\n";
    assert_eq!(compat(text).1, [""; 0]);
}
