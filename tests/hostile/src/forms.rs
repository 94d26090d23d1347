//! Texts of protobuf and JSON: to use up the stack or memory, and to be read past their end.

use super::{Case, Expect, GROWTH, STEPS};

/// The number of repetitions of cases that are long; fewer where code is not optimized.
const COUNT: usize = if cfg!(debug_assertions) { 20_000 } else { 200_000 };

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    [nesting(), lengths(), numbers(), strings()].into_iter().flatten().collect()
}

fn form(name: impl Into<String>, text: impl Into<String>, refused: Option<&str>) -> Case {
    let text = text.into();
    let is_json = text.trim_start().starts_with('{') || text.trim_start().starts_with('[');
    let expect = Expect::Form { is_json, refused: refused.map(str::to_owned) };
    Case { name: name.into(), bytes: text.into(), expect, growth: GROWTH, steps: STEPS }
}

/// Graphs in attributes of nodes, and what is open at the end.
fn nesting() -> Vec<Case> {
    let text = |depth: usize, close: &str| {
        let open = "node { attribute { g { ".repeat(depth);
        format!("graph {{ {open} {} }}", close.repeat(depth * 3))
    };
    let json = |depth: usize, close: bool| {
        let open = "\"node\":[{\"attribute\":[{\"g\":{".repeat(depth);
        let close = if close { "}}]}]".repeat(depth) } else { String::new() };
        format!("{{\"graph\":{{{open}{close}}}}}")
    };
    let too_deep = Some("messages nest more than 100 deep");
    vec![
        form("text nest30", text(30, "} "), None),
        form("text nest20000", text(20_000, "} "), too_deep),
        form("text nest20000 in angle brackets", text(20_000, "> ").replace('{', "<"), too_deep),
        form("text nest20000-open", text(20_000, ""), too_deep),
        form("text nest30-open", text(30, ""), Some("reached end of input")),
        form("JSON nest30", json(30, true), None),
        form("JSON nest20000", json(20_000, true), too_deep),
        form("JSON nest20000-open", json(20_000, false), too_deep),
        form("JSON lists in lists", format!("{{\"graph\":{}", "[".repeat(COUNT)), Some("expected an object")),
        form("JSON list", "[".repeat(COUNT), Some("expected a model as an object")),
        form(
            "JSON unknown member",
            format!("{{\"x\":{}", "{\"x\":".repeat(COUNT)),
            Some("unrecognized field"),
        ),
        form("text unknown field", "x { ".repeat(COUNT), Some("not found in")),
    ]
}

/// Long lists, and many messages.
fn lengths() -> Vec<Case> {
    let repeated = |part: &str, between: &str| vec![part; COUNT].join(between);
    vec![
        form("text dims", format!("graph {{ initializer {{ {} }} }}", repeated("dims: 1", " ")), None),
        form(
            "text list of dims",
            format!("graph {{ initializer {{ dims: [{}] }} }}", repeated("1", ",")),
            None,
        ),
        form(
            "JSON dims",
            format!("{{\"graph\":{{\"initializer\":[{{\"dims\":[{}]}}]}}}}", repeated("1", ",")),
            None,
        ),
        // Two bytes become a record of 160 and its place in the lists.
        form("text empty nodes", format!("graph {{ {} }}", repeated("node {}", " ")), None).growth(160),
        form("JSON empty nodes", format!("{{\"graph\":{{\"node\":[{}]}}}}", repeated("{}", ",")), None)
            .growth(160),
        form("text imports", repeated("opset_import {}", "\n"), None),
        form("text comments", format!("ir_version: 8 {}", repeated("#", "\n")), None),
        form(
            "text separators",
            format!("ir_version: 8{}", ";".repeat(COUNT)),
            Some("expected the name of a field"),
        ),
        form("JSON blanks", format!("{{{}}}", " ".repeat(COUNT)), None),
        form("text the same field", repeated("graph {}", " "), Some("is already set")),
        form(
            "JSON the same member",
            format!("{{{}}}", repeated("\"irVersion\":1", ",")),
            Some("is already set"),
        ),
    ]
}

/// Digits without end, and numbers that fit nothing.
fn numbers() -> Vec<Case> {
    let digits = "9".repeat(COUNT);
    let of_tensor = |field: &str, number: &str| format!("graph {{ initializer {{ {field}: {number} }} }}");
    let json =
        |field: &str, number: &str| format!("{{\"graph\":{{\"initializer\":[{{\"{field}\":[{number}]}}]}}}}");
    vec![
        form("text long integer", of_tensor("dims", &digits), Some("does not fit")),
        form("text long float", of_tensor("float_data", &format!("0.{digits}")), None),
        form("text long exponent", of_tensor("float_data", &format!("1e-{digits}")), None),
        form("text hexadecimal", of_tensor("dims", &format!("0x{digits}")), Some("expected an integer")),
        form("text signs", of_tensor("dims", &"-".repeat(COUNT)), Some("expected an integer")),
        form("JSON long integer", json("dims", &digits), Some("expected an integer")),
        form("JSON zeros", json("dims", &format!("1{}e-{COUNT}", "0".repeat(COUNT))), None),
        form("JSON long float", json("floatData", &format!("0.{digits}")), None),
        form("JSON signs", json("dims", &"-".repeat(COUNT)), Some("expected a number")),
    ]
}

/// Strings that do not end, escapes that are cut off, and base64 that is none.
fn strings() -> Vec<Case> {
    let mut cases = vec![
        form("text pieces", format!("producer_name: {}", "'a' ".repeat(COUNT)), None),
        form("text escapes", format!("producer_name: '{}'", "\\\\".repeat(COUNT)), None),
        form("text octal", format!("producer_name: '{}'", "\\101".repeat(COUNT)), None),
        form("text open string", format!("producer_name: '{}", "a".repeat(COUNT)), Some("invalid string")),
        form("JSON escapes", format!("{{\"producerName\":\"{}\"}}", "\\u0041".repeat(COUNT)), None),
        form("JSON surrogates", format!("{{\"producerName\":\"{}\"}}", "\\ud83d\\ude00".repeat(COUNT)), None),
        form("JSON half a surrogate", "{\"producerName\":\"\\ud83d\"}", Some("not a character")),
        form(
            "JSON open string",
            format!("{{\"producerName\":\"{}", "a".repeat(COUNT)),
            Some("is not closed"),
        ),
    ];
    let base64 = |text: String| format!("{{\"graph\":{{\"initializer\":[{{\"rawData\":\"{text}\"}}]}}}}");
    cases.push(form("JSON base64", base64("A".repeat(COUNT)), None));
    cases.push(form("JSON padding", base64("=".repeat(COUNT)), Some("not base64")));
    cases.push(form("JSON base64 of escapes", base64("\\u0041".repeat(COUNT / 4 * 4)), None));
    // Cut off anywhere.
    let text =
        "producer_name: '\\101\\x41\\u0041' graph { initializer { raw_data: '\\000' float_data: [1.5e3] } }";
    for end in 0..text.len() {
        if let Some(cut) = text.get(..end).filter(|cut| !cut.is_empty()) {
            let is_whole = matches!(end, 31 | 32);
            let refused = (!is_whole).then_some(":");
            cases.push(form(format!("text cut at {end}"), cut, refused));
        }
    }
    let json = "{\"producerName\":\"\\u0041\",\"graph\":{\"initializer\":[{\"rawData\":\"AAA=\",\"floatData\":[1.5e3]}]}}";
    cases.extend(
        (1..json.len())
            .filter_map(|end| Some(form(format!("JSON cut at {end}"), json.get(..end)?, Some(":")))),
    );
    cases
}
