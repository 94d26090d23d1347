//! The renderers against golden output, and against names that mean harm.

use super::{Role, Style, json, sarif, text};
use crate::{Caps, Diagnostic, Locus, Policy, Quoted, Reference, Rule, Severity, Sink};
use std::fmt::{self, Write};

static TWICE: Rule = Rule {
    code: 2101,
    slug: "value-defined-twice",
    severity: Severity::Error,
    summary: "Two places of one graph define the same value.",
    spec: "IR: Names Within a Graph",
    reference: Reference::Enforced,
    explain: "# What\nTwo definitions.",
};

static UNNAMED: Rule = Rule {
    code: 7,
    slug: "graph-without-name",
    severity: Severity::Note,
    summary: "A graph has no name.",
    spec: "IR: Graphs",
    reference: Reference::NotEnforced,
    explain: "",
};

fn twice() -> Diagnostic {
    let place = Locus::model().graph("main").node(12, "Conv", "c1").output(0, "x");
    Diagnostic::new(&TWICE, place.at_byte(4096), format!("value {} is defined twice", Quoted("x")))
        .label(Locus::model().graph("main").initializer("x").at_byte(99), "first defined here")
        .help("rename one of them")
        .note("names are unique within a graph")
}

fn sink(found: impl IntoIterator<Item = Diagnostic>) -> Sink {
    let mut sink = Sink::new();
    for diagnostic in found {
        sink.report(diagnostic);
    }
    sink
}

fn as_text(sink: &Sink, options: &text::Options<'_>) -> String {
    let mut out = String::new();
    text::render(&mut out, sink, options).unwrap();
    out
}

fn as_json(sink: &Sink) -> String {
    let mut out = String::new();
    json::render(&mut out, sink, "m.onnx").unwrap();
    out
}

fn as_sarif(sink: &Sink, file: &str) -> String {
    let mut out = String::new();
    sarif::render(&mut out, sarif::Tool { name: "onnx", version: "0.1.0" }, &[(file, sink)]).unwrap();
    out
}

#[test]
fn text_has_place_labels_help_and_counts() {
    let sink = sink([twice(), Diagnostic::new(&UNNAMED, Locus::model().graph(""), "the graph has no name")]);
    assert_eq!(
        as_text(&sink, &text::Options::new("m.onnx")),
        r#"error[ONNX2101]: value `x` is defined twice
  --> m.onnx: graph "main" / node #12 Conv "c1" / output 0 "x" (byte 4096)
  ::: first defined here: graph "main" / initializer "x" (byte 99)
   = help: rename one of them
   = note: names are unique within a graph

note[ONNX0007]: the graph has no name
  --> m.onnx: graph

m.onnx: 1 error, 1 note
"#
    );
    let concise = text::Options { concise: true, ..text::Options::new("m.onnx") };
    assert_eq!(
        as_text(&sink, &concise),
        r#"m.onnx: error[ONNX2101]: value `x` is defined twice (graph "main" / node #12 Conv "c1" / output 0 "x")
m.onnx: note[ONNX0007]: the graph has no name (graph)
m.onnx: 1 error, 1 note
"#
    );
    assert_eq!(as_text(&Sink::new(), &concise), "");
}

#[test]
fn text_shows_the_source_line() {
    let source = "<ir_version: 10>\n\tx = Relu(x)\n";
    let at =
        |line, column, length| Locus::model().graph("g").node(0, "Relu", "").at_text(line, column, length);
    let found = Diagnostic::new(&TWICE, at(2, 2, 1), "value `x` is defined twice")
        .label(at(2, 11, 99), "read here")
        .label(at(9, 1, 1), "not in the source");
    let options = text::Options { source: Some(source), ..text::Options::new("m.onnxtxt") };
    assert_eq!(
        as_text(&sink([found]), &options),
        r#"error[ONNX2101]: value `x` is defined twice
  --> m.onnxtxt:2:2: graph "g" / node #0 Relu
   |
 2 |  x = Relu(x)
   |  ^
  ::: read here: 2:11: graph "g" / node #0 Relu
   |
 2 |  x = Relu(x)
   |           --
  ::: not in the source: 9:1: graph "g" / node #0 Relu

m.onnxtxt: 1 error
"#
    );
}

#[test]
fn long_and_hostile_source_lines_are_windowed() {
    let source = format!("{}\x1b[2J=bad{}", "é".repeat(1_000_000), "z".repeat(1_000_000));
    let column = 1_000_000 + 6;
    let show = |column, length| {
        let options = text::Options { source: Some(&source), ..text::Options::new("m") };
        as_text(&sink([Diagnostic::new(&TWICE, Locus::model().at_text(1, column, length), "bad")]), &options)
    };
    let shown = show(column, 3);
    assert!(shown.len() < 1000, "{}", shown.len());
    assert!(!shown.contains('\x1b'), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    let marked: String = lines[3]
        .chars()
        .zip(lines[4].chars())
        .filter_map(|(source, mark)| (mark == '^').then_some(source))
        .collect();
    assert_eq!(marked, "bad");
    // Spans that lie about themselves are not drawn, or drawn within the line.
    for (column, length) in [(0, 1), (u32::MAX, u32::MAX), (2_000_020, 1), (1, u32::MAX), (2_000_009, 5)] {
        assert!(show(column, length).len() < 1000);
    }
}

#[test]
fn hostile_names_do_nothing_in_any_format() {
    let hostile = format!("\x1b]0;pwn\x07\u{202e}\n\"`\\{}", "A".repeat(1_000_000));
    let place = || Locus::model().graph(&hostile).node(0, &hostile, &hostile).attribute(&hostile);
    let found = Diagnostic::new(&TWICE, place(), format!("value {} is bad: {hostile}", Quoted(&hostile)))
        .label(place(), &hostile)
        .help(&hostile)
        .note(&hostile);
    let sink = sink([found]);
    let options = text::Options { source: Some(&hostile), ..text::Options::new(&hostile[..20]) };
    for rendered in [as_text(&sink, &options), as_json(&sink), as_sarif(&sink, &hostile[..20])] {
        assert!(rendered.len() < 40_000, "{}", rendered.len());
        assert!(!rendered.chars().any(|c| c != '\n' && crate::escape::is_unprintable(c)), "{rendered}");
    }
    // A line break in a name does not begin a line.
    assert!(as_text(&sink, &options).lines().all(|line| !line.starts_with('"')));
}

#[test]
fn json_keeps_the_contract() {
    let found = [
        twice(),
        Diagnostic::new(&UNNAMED, Locus::model().graph("a\"\x1b").at_text(3, 5, 2), "tab\there \u{e0041}"),
        Diagnostic::new(&UNNAMED, Locus::model(), "no place"),
    ];
    assert_eq!(
        as_json(&sink(found)),
        r#"{"diagnostics":[
{"code":"ONNX2101","rule":"value-defined-twice","severity":"error","message":"value `x` is defined twice","path":"graph \"main\" / node #12 Conv \"c1\" / output 0 \"x\"","offset":4096,"line":null,"column":null,"help":"rename one of them","beyond_reference":false},
{"code":"ONNX0007","rule":"graph-without-name","severity":"note","message":"tab\there \udb40\udc41","path":"graph \"a\\\"\\u{1b}\"","offset":null,"line":3,"column":5,"help":null,"beyond_reference":true},
{"code":"ONNX0007","rule":"graph-without-name","severity":"note","message":"no place","path":"model","offset":null,"line":null,"column":null,"help":null,"beyond_reference":true}
],"summary":{"file":"m.onnx","errors":1,"warnings":0,"notes":2,"dropped":0}}
"#
    );
    assert_eq!(
        as_json(&Sink::new()),
        "{\"diagnostics\":[\n],\"summary\":{\"file\":\"m.onnx\",\"errors\":0,\"warnings\":0,\"notes\":0,\"dropped\":0}}\n"
    );
}

#[test]
fn sarif_is_complete_and_minimal() {
    let found = [Diagnostic::new(&UNNAMED, Locus::model().graph("").at_text(3, 5, 2), "no name"), twice()];
    assert_eq!(
        as_sarif(&sink(found), "dir/my model.onnx"),
        r##"{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":{"name":"onnx","version":"0.1.0","rules":[
{"id":"ONNX0007","name":"graph-without-name","shortDescription":{"text":"A graph has no name."},"defaultConfiguration":{"level":"note"},"properties":{"spec":"IR: Graphs","reference":"not-enforced"}},
{"id":"ONNX2101","name":"value-defined-twice","shortDescription":{"text":"Two places of one graph define the same value."},"help":{"text":"# What\nTwo definitions.","markdown":"# What\nTwo definitions."},"defaultConfiguration":{"level":"error"},"properties":{"spec":"IR: Names Within a Graph","reference":"enforced"}}
]}},"columnKind":"unicodeCodePoints","results":[
{"ruleId":"ONNX0007","ruleIndex":0,"level":"note","message":{"text":"no name"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"dir/my%20model.onnx"},"region":{"startLine":3,"startColumn":5,"endColumn":7}},"logicalLocations":[{"fullyQualifiedName":"graph"}]}],"properties":{"beyondReference":true}},
{"ruleId":"ONNX2101","ruleIndex":1,"level":"error","message":{"text":"value `x` is defined twice\nhelp: rename one of them\nnote: names are unique within a graph"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"dir/my%20model.onnx"},"region":{"byteOffset":4096}},"logicalLocations":[{"fullyQualifiedName":"graph \"main\" / node #12 Conv \"c1\" / output 0 \"x\""}]}],"relatedLocations":[{"physicalLocation":{"artifactLocation":{"uri":"dir/my%20model.onnx"},"region":{"byteOffset":99}},"logicalLocations":[{"fullyQualifiedName":"graph \"main\" / initializer \"x\""}],"message":{"text":"first defined here"}}],"properties":{"beyondReference":false}}
]}]}
"##
    );
    assert!(as_sarif(&sink([twice()]), "/tmp/m.onnx").contains("\"uri\":\"file:///tmp/m.onnx\""));
}

#[test]
fn what_is_dropped_is_counted() {
    let mut sink = Sink::with(Policy::new(), Caps { per_rule: 2, total: 3 });
    for _ in 0..5 {
        sink.report(twice());
        sink.report_with(&UNNAMED, || Diagnostic::new(&UNNAMED, Locus::model(), "no name"));
    }
    let shown = as_text(&sink, &text::Options { concise: true, ..text::Options::new("m") });
    assert_eq!(shown.lines().count(), 6);
    assert!(
        shown.ends_with(
            "… and 4 more of ONNX0007 (graph-without-name)\n… and 3 more of ONNX2101 (value-defined-twice)\nm: 5 errors, 5 notes\n"
        ),
        "{shown}"
    );
    assert!(as_json(&sink).ends_with("\"errors\":5,\"warnings\":0,\"notes\":5,\"dropped\":7}}\n"));
}

#[test]
fn styles_wrap_what_they_colour() {
    struct Tags;
    impl Style for Tags {
        fn begin(&self, role: Role, out: &mut dyn Write) -> fmt::Result {
            write!(out, "<{role:?}>")
        }
        fn end(&self, _: Role, out: &mut dyn Write) -> fmt::Result {
            out.write_str("</>")
        }
    }
    let sink = sink([Diagnostic::new(&UNNAMED, Locus::model(), "no name").help("name it")]);
    assert_eq!(
        as_text(&sink, &text::Options { style: &Tags, ..text::Options::new("m") }),
        "<Severity(Note)>note[ONNX0007]</><Message>: no name</>\n<Gutter>  --> </>m: model\n\
         <Gutter>   = </><Help>help</>: name it\n\nm: <Severity(Note)>1 note</>\n"
    );
}

/// What a JSON parser makes of the string literal `json`.
fn parsed(json: &str) -> String {
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap();
    let mut units = Vec::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        assert!(c >= ' ' && c != '"', "{c:?} must be escaped");
        let plain = match c {
            '\\' => match chars.next().unwrap() {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).unwrap());
                    continue;
                }
                c => {
                    assert!(matches!(c, '"' | '\\'));
                    c
                }
            },
            c => c,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16(&units).unwrap()
}

#[test]
fn json_strings_survive_for_every_character() {
    let text: String = (char::MIN..=char::MAX).collect();
    let mut json = String::new();
    super::json_string(&mut json, &text).unwrap();
    assert!(parsed(&json) == text);
    assert!(!json.chars().any(crate::escape::is_unprintable));
}
