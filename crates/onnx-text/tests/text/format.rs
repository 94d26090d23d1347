//! Laying out texts with their comments.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_text::{FormatError, ParseOptions, TokenKind, format_model, tokens};
use onnx_types::{Execution, Interrupt};

const TEXT: &str = r#"<ir_version: 10, opset_import: ["": 21, "com.x": 1], doc_string: "d # no comment">
main (float[N, 3] x, bool c) => (float[N, 3] y)
<float[3] w = {1e0, 0.5e1, -2}, int64[1] i = {7}>
{
  [one] a = Add (x, w)
  b = com.x.Op:v <alpha = 1.0, s = "text \" # 1", l = [1, 2]> (a, , "a b")
  y = If (c) <then_branch = t () => (float[N, 3] r) { r = Relu (b) }, else_branch = e () => (s) { s = Neg (b) }>
}
<domain: "com.x", opset_import: ["": 21]>
Op <alpha> (p, q, r) => (o) { o = Add (p, r) }
"#;

fn formatted(text: &str) -> String {
    match format_model(text, &ParseOptions::default()) {
        Ok(formatted) => formatted.text,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn comments(text: &str) -> Vec<&str> {
    let comments = tokens(text).filter(|token| token.kind == TokenKind::Comment);
    comments.map(|token| text[token.range].trim_end()).collect()
}

/// The text with a comment after every `step`th token, with a line break and white space around it.
fn commented(step: usize, before: &str, after: &str) -> String {
    let mut text = String::new();
    let mut end = 0;
    for (index, token) in tokens(TEXT).enumerate() {
        text.push_str(&TEXT[end..token.range.end]);
        end = token.range.end;
        // An arrow is one token to the parser.
        if index % step == 0 && !TEXT[end..].starts_with('>') {
            text.push_str(&format!("{before}# comment {index}{after}"));
        }
    }
    text + &TEXT[end..]
}

#[test]
fn no_comment_is_lost() {
    for step in 1..12 {
        for (before, after) in [(" ", "\n"), ("\n", "\n"), ("\n\n", "\n\n"), (" ", "\t \r\n   ")] {
            let text = commented(step, before, after);
            let result = formatted(&text);
            let (mut kept, mut given) = (comments(&result), comments(&text));
            kept.sort_unstable();
            given.sort_unstable();
            assert_eq!(kept, given, "{result}");
            assert_eq!(formatted(&result), result, "formatting again changes something");
        }
    }
}

#[test]
fn without_comments_it_is_what_is_printed() {
    let parsed = format_model(TEXT, &ParseOptions::default()).expect("this is a model");
    let printed =
        onnx_text::print_model(&parsed.before, &onnx_text::PrintOptions::full()).expect("it has a text");
    assert_eq!(parsed.text, printed.text);
    assert_eq!(parsed.before.node_count(), parsed.after.node_count());
}

#[test]
fn a_text_with_errors_is_refused_with_all_of_them() {
    let text = "<ir_version: 10>\n# here\ng (x) => (y) {\n y = (x)\n z = Relu <a = > (x)\n}";
    match format_model(text, &ParseOptions::default()) {
        Err(FormatError::Parse(error)) => assert!(error.findings().counts().errors >= 1),
        other => panic!("{other:?}"),
    }
}

/// Options with which the work is stopped at the check of this number, and the number of checks.
fn stopped_at(check: usize) -> (ParseOptions<'static>, Arc<AtomicUsize>) {
    let checks = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&checks);
    let interrupt = Interrupt::when(move || counter.fetch_add(1, Ordering::Relaxed) >= check);
    let execution = Execution::default().with_interrupt(interrupt);
    (ParseOptions::default().with_execution(execution), checks)
}

#[test]
fn work_that_is_stopped_at_any_check_reports_that() {
    let (options, checks) = stopped_at(usize::MAX);
    format_model(TEXT, &options).expect("this is a model");
    let checks = checks.load(Ordering::Relaxed);
    assert!(checks >= 2, "both parsers check");
    for check in 0..checks {
        match format_model(TEXT, &stopped_at(check).0) {
            Err(FormatError::Parse(error)) => assert!(error.stopped().is_some()),
            other => panic!("{check}: {other:?}"),
        }
    }
}

#[test]
fn a_layout_may_be_longer_than_the_limit_of_texts() {
    let text = "<ir_version:10,opset_import:[\"\":21]>g(float[2]x)=>(float[2]y){y=Relu(x)}";
    let mut options = ParseOptions::default();
    options.execution.limits.text_bytes = text.len() as u64;
    options.execution.limits.input_bytes = text.len() as u64;
    let formatted = format_model(text, &options).expect("this is a model").text;
    assert!(formatted.len() > text.len());
    match format_model(&formatted, &options) {
        Err(FormatError::Parse(error)) => assert_eq!(error.findings().counts().errors, 1),
        other => panic!("{other:?}"),
    }
}
