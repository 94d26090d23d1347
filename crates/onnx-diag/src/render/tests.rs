//! The renderers against golden output, and against hostile names.

use super::{Role, Style, github, json, sarif, text};
use crate::{
    Caps, CommandFailure, CommandReport, Diagnostic, Locus, Policy, Quoted, Reference, Rule, Severity, Sink,
    Status, Tool,
};
use std::fmt::{self, Write};

static TWICE: Rule =
    Rule::new(2101, "value-defined-twice", Severity::Error, "Two places of one graph define the same value.")
        .with_spec("IR: Names Within a Graph")
        .with_reference(Reference::Enforced)
        .with_explain("# What\nTwo definitions.");

static UNNAMED: Rule =
    Rule::new(7, "graph-without-name", Severity::Note, "A graph has no name.").with_spec("IR: Graphs");

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

fn report(sink: &Sink, file: &str) -> CommandReport {
    let tool = Tool { name: "onnx", version: "0.1.0", rules_url: "https://example.com/rules" };
    let mut report = CommandReport::new(tool, "check");
    report.input(file, Some("onnx"), Some(7), sink.clone());
    report
}

fn as_json(sink: &Sink) -> String {
    let mut out = String::new();
    json::render(&mut out, &report(sink, "m.onnx")).unwrap();
    out
}

fn as_sarif(sink: &Sink, file: &str) -> String {
    let mut out = String::new();
    sarif::render(&mut out, &report(sink, file)).unwrap();
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
    let concise = text::Options::new("m.onnx").with_concise(true);
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
    let options = text::Options::new("m.onnxtxt").with_source(source);
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

/// The text may be one of rules or settings, so it has no path of a model.
#[test]
fn a_position_without_an_element_is_all_there_is() {
    let found = || sink([Diagnostic::new(&TWICE, Locus::model().at_text(3, 5, 1), "bad")]);
    let options = text::Options::new("a.onnxrules");
    assert!(as_text(&found(), &options).contains("--> a.onnxrules:3:5\n"));
    let shown = as_text(&found(), &options.with_concise(true));
    assert!(shown.starts_with("a.onnxrules:3:5: error[ONNX2101]: bad\n"), "{shown}");
}

#[test]
fn long_and_hostile_source_lines_are_windowed() {
    let source = format!("{}\x1b[2J=bad{}", "é".repeat(1_000_000), "z".repeat(1_000_000));
    let column = 1_000_000 + 6;
    let show = |column, length| {
        let options = text::Options::new("m").with_source(&*source);
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
    let options = text::Options::new(&hostile[..20]).with_source(&*hostile);
    for rendered in [as_text(&sink, &options), as_json(&sink), as_sarif(&sink, &hostile[..20])] {
        assert!(rendered.len() < 40_000, "{}", rendered.len());
        assert!(!rendered.chars().any(|c| c != '\n' && crate::escape::is_unprintable(c)), "{rendered}");
    }
    // A line break in a name does not begin a line.
    assert!(as_text(&sink, &options).lines().all(|line| !line.starts_with('"')));
}

/// A diagnostic with a selector, and two without.
fn three() -> Sink {
    let mut sink = sink([
        twice(),
        Diagnostic::new(&UNNAMED, Locus::model().graph("a\"\x1b").at_text(3, 5, 2), "tab\there \u{e0041}"),
        Diagnostic::new(&UNNAMED, Locus::model(), "no place"),
    ]);
    sink.set_selectors(|locus| (locus.steps().len() == 3).then(|| "node(12)".to_owned()));
    sink
}

#[test]
fn json_has_everything_that_text_has() {
    let at = r#""length":null,"line":null,"column":null,"end_line":null,"end_column":null"#;
    let origin = r#""origin":{"pass":null,"rule":null,"from":[]}"#;
    let want = format!(
        r##"{{"schema":"onnx-report/1","tool":{{"name":"onnx","version":"0.1.0"}},"command":"check","status":"findings","exit":1,"inputs":[
{{"name":"m.onnx","format":"onnx","bytes":7,"hash":null}}],"outputs":[],"counts":{{"errors":1,"warnings":0,"notes":2,"dropped":0,"hidden":0,"by_code":{{"ONNX0007":2,"ONNX2101":1}}}},"findings":[
{{"code":"ONNX2101","name":"value-defined-twice","severity":"error","message":"value `x` is defined twice","input":0,"file":"m.onnx","place":{{"selector":"node(12)","text":"graph \"main\" / node #12 Conv \"c1\" / output 0 \"x\"","steps":[{{"kind":"graph","name":"main"}},{{"kind":"node","index":12,"domain":"","op":"Conv","name":"c1"}},{{"kind":"output","index":0,"name":"x"}}]}},"at":{{"byte":4096,{at}}},"related":[{{"message":"first defined here","place":{{"selector":null,"text":"graph \"main\" / initializer \"x\"","steps":[{{"kind":"graph","name":"main"}},{{"kind":"initializer","name":"x"}}]}},"at":{{"byte":99,{at}}}}}],"notes":["names are unique within a graph"],"help":"rename one of them","fix":null,{origin},"fingerprint":"1:FIRST","url":"https://example.com/rules#ONNX2101","beyond_reference":false}},
{{"code":"ONNX0007","name":"graph-without-name","severity":"note","message":"tab\there \udb40\udc41","input":0,"file":"m.onnx","place":{{"selector":null,"text":"graph \"a\\\"\\u{{1b}}\"","steps":[{{"kind":"graph","name":"a\"\u001b"}}]}},"at":{{"byte":null,"length":2,"line":3,"column":5,"end_line":3,"end_column":7}},"related":[],"notes":[],"help":null,"fix":null,{origin},"fingerprint":"1:SECOND","url":"https://example.com/rules#ONNX0007","beyond_reference":true}},
{{"code":"ONNX0007","name":"graph-without-name","severity":"note","message":"no place","input":0,"file":"m.onnx","place":{{"selector":null,"text":"model","steps":[]}},"at":{{"byte":null,{at}}},"related":[],"notes":[],"help":null,"fix":null,{origin},"fingerprint":"1:THIRD","url":"https://example.com/rules#ONNX0007","beyond_reference":true}}
],"failures":[
],"result":
null}}
"##
    );
    let sink = three();
    let fingerprint = |index: usize| crate::fingerprint::fingerprint(&sink.diagnostics()[index]);
    let want = ["1:FIRST", "1:SECOND", "1:THIRD"]
        .iter()
        .enumerate()
        .fold(want, |want, (index, mark)| want.replace(mark, &fingerprint(index)));
    assert_eq!(as_json(&sink), want);
    let mut line = String::new();
    json::line(&mut line, &report(&sink, "m.onnx")).unwrap();
    assert_eq!(line.replace('\n', ""), want.replace('\n', ""));
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn fingerprints_survive_reordering_and_tell_places_apart() {
    let of = |locus: Locus| crate::fingerprint::fingerprint(&Diagnostic::new(&TWICE, locus, "m"));
    let node = |index, name| Locus::model().graph("g").node(index, "Conv", name);
    assert_eq!(of(node(1, "c").at_byte(7)), of(node(2, "c").at_byte(99)));
    assert_ne!(of(node(1, "c")), of(node(1, "d")));
    assert_ne!(of(Locus::model().graph("ab").value("c")), of(Locus::model().graph("a").value("bc")));
    // A committed value: baselines depend on it.
    assert_eq!(of(Locus::model()), "1:98c0742d3a2b7cb9");
}

#[test]
fn sarif_has_everything_that_text_has() {
    let mut whole = report(&three(), "dir/my model.onnx");
    let failure = |input, limit: Option<&str>| CommandFailure {
        rule: &UNNAMED,
        message: "cannot read".to_owned(),
        help: Some("try again".to_owned()),
        input,
        limit: limit.map(str::to_owned),
    };
    whole.failures.extend([failure(Some(0), None), failure(None, Some("nodes"))]);
    let mut out = String::new();
    sarif::render(&mut out, &whole).unwrap();
    for part in [
        r#""name":"onnx","version":"0.1.0","rules":["#,
        r#""helpUri":"https://example.com/rules#ONNX2101""#,
        r#""invocations":[{"executionSuccessful":false,"exitCode":2,"toolExecutionNotifications":["#,
        r#"{"descriptor":{"id":"ONNX0007","index":0},"level":"error","message":{"text":"cannot read\nhelp: try again"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"dir/my%20model.onnx"}}}],"properties":{"limit":null}}"#,
        r#""locations":[],"properties":{"limit":"nodes"}}"#,
        r#""artifacts":[
{"location":{"uri":"dir/my%20model.onnx"},"length":7}"#,
        r#""message":{"text":"value `x` is defined twice (graph \"main\" / node #12 Conv \"c1\" / output 0 \"x\")\nhelp: rename one of them\nnote: names are unique within a graph"}"#,
        r#""properties":{"byteOffset":4096}},"logicalLocations":[{"fullyQualifiedName":"node(12)","kind":"value","decoratedName":"graph \"main\" / node #12 Conv \"c1\" / output 0 \"x\""}]"#,
        r#""relatedLocations":[{"physicalLocation":{"artifactLocation":{"uri":"dir/my%20model.onnx"},"properties":{"byteOffset":99}},"logicalLocations":[{"fullyQualifiedName":"graph \"main\" / initializer \"x\"","kind":"value""#,
        r#""region":{"startLine":3,"startColumn":5,"endColumn":7}"#,
        r#""partialFingerprints":{"onnx/v1":"1:"#,
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(as_sarif(&sink([twice()]), "/tmp/m.onnx").contains("\"uri\":\"file:///tmp/m.onnx\""));
    for (path, uri) in [
        ("./models//a/./b.onnx", "models/a/b.onnx"),
        ("././m.onnx", "m.onnx"),
        ("../m.onnx", "../m.onnx"),
        ("a/../m.onnx", "a/../m.onnx"),
        ("//tmp//m.onnx", "file:///tmp/m.onnx"),
        ("./", "./"),
    ] {
        let found = as_sarif(&sink([twice()]), path);
        assert_eq!(found.matches(&format!("\"uri\":\"{uri}\"")).count(), 3, "{path}: {found}");
    }
    assert!(as_sarif(&Sink::new(), "m").contains("\"executionSuccessful\":true,\"exitCode\":0"));
}

#[test]
fn annotations_are_escaped() {
    let mut whole = report(&sink([twice()]), "./a,b:c%.onnx");
    whole.input(
        "t.onnxtxt",
        None,
        None,
        sink([Diagnostic::new(&UNNAMED, Locus::model().at_text(3, 5, 2), "a\nb")]),
    );
    let mut out = String::new();
    github::render(&mut out, &whole).unwrap();
    assert_eq!(
        out,
        "::error file=a%2Cb%3Ac%25.onnx,title=ONNX2101 value-defined-twice::value `x` is defined twice (graph \"main\" / node #12 Conv \"c1\" / output 0 \"x\")%0Ahelp: rename one of them%0Anote: names are unique within a graph%0Afirst defined here: graph \"main\" / initializer \"x\"\n\
         ::notice file=t.onnxtxt,line=3,col=5,title=ONNX0007 graph-without-name::a\\nb\n"
    );
}

#[test]
fn the_status_follows_from_the_report() {
    let failure = |limit: Option<&str>| CommandFailure {
        rule: &UNNAMED,
        message: String::new(),
        help: None,
        input: None,
        limit: limit.map(str::to_owned),
    };
    let status = |findings: Sink, failures: &[Option<&str>]| {
        let mut report = report(&findings, "m");
        report.failures.extend(failures.iter().map(|limit| failure(*limit)));
        (report.status(), report.status().exit())
    };
    let note = || sink([Diagnostic::new(&UNNAMED, Locus::model(), "m")]);
    assert_eq!(status(note(), &[]), (Status::Ok, 0));
    assert_eq!(status(sink([twice()]), &[]), (Status::Findings, 1));
    assert_eq!(status(sink([twice()]), &[Some("nodes")]), (Status::Limit, 3));
    assert_eq!(status(sink([twice()]), &[Some("nodes"), None]), (Status::Failed, 2));
}

#[test]
fn rules_on_request_are_counted() {
    let mut sink = Sink::with(Policy::new().count(&UNNAMED), Caps::DEFAULT);
    sink.report(twice());
    sink.report(Diagnostic::new(&UNNAMED, Locus::model(), "m"));
    assert_eq!((sink.diagnostics().len(), sink.hidden(), sink.dropped()), (1, 1, 0));
    let mut merged = Sink::with(Policy::new().count(&UNNAMED), Caps::DEFAULT);
    merged.merge(sink.clone());
    assert_eq!((merged.hidden(), merged.dropped(), merged.counts()), (1, 0, sink.counts()));
    let options = text::Options::new("m").with_reveal(" (--notes)").with_concise(true);
    assert!(as_text(&sink, &options).ends_with("m: 1 error, 1 more note not shown (--notes)\n"));
    assert!(as_json(&sink).contains("\"notes\":1,\"dropped\":0,\"hidden\":1"));
    let mut denied = Sink::with(Policy::new().count(&UNNAMED).deny(&UNNAMED), Caps::DEFAULT);
    denied.report(Diagnostic::new(&UNNAMED, Locus::model(), "m"));
    assert_eq!((denied.has_errors(), denied.hidden()), (true, 0));
}

#[test]
fn what_is_dropped_is_counted() {
    let mut sink = Sink::with(Policy::new(), Caps { per_rule: 2, total: 3 });
    for _ in 0..5 {
        sink.report(twice());
        sink.report_with(&UNNAMED, || Diagnostic::new(&UNNAMED, Locus::model(), "no name"));
    }
    let shown = as_text(&sink, &text::Options::new("m").with_concise(true));
    assert_eq!(shown.lines().count(), 6);
    assert!(
        shown.ends_with(
            "… and 4 more of ONNX0007 (graph-without-name)\n… and 3 more of ONNX2101 (value-defined-twice)\nm: 5 errors, 5 notes\n"
        ),
        "{shown}"
    );
    assert!(as_json(&sink).contains("\"errors\":5,\"warnings\":0,\"notes\":5,\"dropped\":7,"));
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
        as_text(&sink, &text::Options::new("m").with_style(&Tags)),
        "<Severity(Note)>note[ONNX0007]</><Message>: no name</>\n<Gutter>  --> </>m: model\n\
         <Gutter>   = </><Help>help</>: name it\n\nm: <Severity(Note)>1 note</>\n"
    );
}

/// The result of a JSON parser for the string literal `json`.
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
