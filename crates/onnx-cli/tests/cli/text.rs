//! `onnx print`, `onnx convert` and `onnx fmt`, and text as the input of other commands.

use crate::models;
use crate::run::{Folder, onnx, onnx_with};

const TEXT: &str = r#"<
   ir_version: 8,
   opset_import: ["": 17]
>
g (float[N] x) => (float[N] y) {
   y = Relu (x)
}
"#;

/// Text for people and programs has no character that acts on a terminal or on the reading order, or is invisible.
#[track_caller]
fn assert_visible(text: &str) {
    const INVISIBLE: &str = "\u{ad}\u{61c}\u{200b}\u{202e}\u{2066}\u{feff}";
    let found = text.chars().find(|&c| (c.is_control() && c != '\n') || INVISIBLE.contains(c));
    assert_eq!(found, None, "{text}");
}

#[test]
fn models_come_back() {
    for model in [models::small(), models::wrong(), models::rich(), models::hostile(), models::external("w")]
    {
        let folder = Folder::with("in.onnx", &model);
        let printed = onnx(&folder, "print in.onnx --full").exits(0);
        assert_visible(&printed.out);
        folder.put("in.onnxtxt", &printed.bytes);
        onnx(&folder, "convert in.onnxtxt -o out.onnx").exits(0);
        assert!(folder.get("out.onnx") == model, "{}", printed.out);
        let out = onnx_with(&folder, "convert - -o - --weights keep", &printed.bytes).exits(0);
        assert!(out.bytes == model);
        // The same on other ways.
        assert_eq!(onnx_with(&folder, "print --full -", &model).exits(0).bytes, printed.bytes);
        for between in ["model.onnxtxt", "model.onnxtext"] {
            onnx(&folder, &format!("convert in.onnx -o {between}")).exits(0);
            assert_eq!(folder.get(between), printed.bytes);
            onnx(&folder, &format!("convert {between} -o back.onnx")).exits(0);
            assert!(folder.get("back.onnx") == model);
        }
        if model == models::external("w") {
            // A stream would have to hold the weights.
            onnx(&folder, "convert in.onnx -o - --to onnxtxt").exits(2).says("no such file");
            continue;
        }
        for to in ["onnxtxt", "json", "textproto"] {
            for command in ["convert in.onnx -o -", "infer in.onnx --keep-going -o -"] {
                assert_visible(&onnx(&folder, &format!("{command} --to {to}")).exits(0).out);
            }
            onnx(&folder, &format!("convert in.onnx -o in.{to}")).exits(0);
            onnx(&folder, &format!("convert in.{to} -o back.onnx")).exits(0);
            assert!(folder.get("back.onnx") == model, "{to}");
        }
        let out = onnx(&folder, "convert in.onnx -o - --to onnxtxt").exits(0);
        let out = onnx_with(&folder, "convert - -o - --from onnxtxt", &out.bytes).exits(0);
        assert!(out.bytes == model);
    }
}

#[test]
fn large_tensors_are_left_out() {
    let folder = Folder::with("in.onnx", models::small());
    let short = onnx(&folder, "print in.onnx").exits(0).says("{…500 elements}");
    // What SHA-256 gives for 2,000 zero bytes.
    onnx(&folder, "print in.onnx --digest")
        .exits(0)
        .says("{…500 elements, sha256:2da42fb1d7bd8524e83d5a1e332bad697c8769ba430770a19bec630eb8ffcaa8}");
    assert!(onnx(&folder, "print in.onnx --compat").exits(0).out.len() > 1000);
    onnx(&folder, "print in.onnx --compat --full").exits(2);
    folder.put("short.onnxtxt", short.bytes);
    // One message, whatever the number of tensors, and it names the option.
    for command in ["convert short.onnxtxt -o out.onnx", "convert short.onnxtxt -o out.onnx"] {
        let run = onnx(&folder, command).exits(2).says("--weights-from");
        assert_eq!(run.err.matches("error").count(), 1, "{}", run.err);
    }
    assert_eq!(folder.list(), ["in.onnx", "short.onnxtxt"]);
}

#[test]
fn what_was_left_out_comes_from_the_original() {
    let folder = Folder::with("in.onnx", models::small());
    for print in ["print in.onnx", "print in.onnx --digest"] {
        let text = onnx(&folder, print).exits(0).out;
        folder.put("short.onnxtxt", &text);
        onnx(&folder, "convert short.onnxtxt -o out.onnx --weights-from in.onnx").exits(0);
        assert_eq!(onnx(&folder, "print out.onnx --digest").out, onnx(&folder, "print in.onnx --digest").out);
        // What is edited stays so; what is another tensor is refused.
        folder.put("wrong.onnxtxt", text.replace("500", "501"));
        let run = onnx(&folder, "convert wrong.onnxtxt -o wrong.onnx --weights-from in.onnx").exits(1);
        run.says("no such tensor of this type and these dimensions");
    }
    let text = onnx(&folder, "print in.onnx --digest").exits(0).out;
    folder.put("other.onnxtxt", text.replace("sha256:2da4", "sha256:2da5"));
    let run = onnx(&folder, "convert other.onnxtxt -o other.onnx --weights-from in.onnx").exits(1);
    run.says("the tensor of the original model has another digest");
    assert_eq!(folder.list().iter().filter(|name| name.ends_with(".onnx")).count(), 2);
}

/// A text without weights can be inspected and formatted; no command writes it as a binary model.
#[test]
fn text_without_weights_is_usable() {
    let folder = Folder::with("in.onnx", models::small());
    for print in ["print in.onnx", "print in.onnx --digest"] {
        let text = onnx(&folder, &format!("{print} -o short.onnxtxt")).exits(0);
        assert_eq!(text.out, "");
        onnx(&folder, "check short.onnxtxt").exits(0).says("ONNX0022").says("--weights-from");
        onnx(&folder, "check --full --data short.onnxtxt").exits(0);
        onnx(&folder, "check --allow elements-left-out --deny notes short.onnxtxt").exits(0);
        onnx(&folder, "info short.onnxtxt").exits(0).says("500");
        onnx(&folder, "infer short.onnxtxt --unknown").exits(0);
        onnx(&folder, "fmt --check short.onnxtxt").exits(0);
        // What is printed again still has no weights, and the same digest.
        for again in
            ["print short.onnxtxt", "print --full short.onnxtxt", "infer short.onnxtxt -o - --to onnxtxt"]
        {
            let run = onnx(&folder, again).exits(0).says("{…500 elements");
            assert_eq!(run.out.contains("sha256:2da4"), print.ends_with("digest"), "{}", run.out);
        }
        for format in ["onnx", "json", "textproto"] {
            onnx(&folder, &format!("convert short.onnxtxt -o - --to {format}"))
                .exits(2)
                .says("--weights-from");
            onnx(&folder, &format!("infer short.onnxtxt -o - --to {format}")).exits(2).says("--weights-from");
        }
        onnx(&folder, "convert short.onnxtxt -o e.onnx --weights external=e.data --threshold 1").exits(2);
        // Formatting keeps comments and needs no weights.
        let untidy =
            format!("# weights elsewhere\n{}", String::from_utf8(folder.get("short.onnxtxt")).unwrap());
        folder.put("untidy.onnxtxt", untidy.replace("   ", " "));
        onnx(&folder, "fmt untidy.onnxtxt").exits(0);
        assert_eq!(String::from_utf8(folder.get("untidy.onnxtxt")).unwrap(), untidy);
    }
    assert_eq!(folder.list(), ["in.onnx", "short.onnxtxt", "untidy.onnxtxt"]);
    let text = String::from_utf8(folder.get("short.onnxtxt")).unwrap();
    folder.put("wrong.onnxtxt", text.replace("…500", "…499"));
    onnx(&folder, "check wrong.onnxtxt").exits(1).says("ONNX0006");
    let page = onnx(&folder, "explain ONNX0009").exits(0).says("--weights-from").says("To repair it");
    assert!(!page.out.contains("--allow"), "{}", page.out);
}

/// An unedited text with the weights of its model gives the same file, and after an edit the other tensors keep their storage.
#[test]
fn the_original_gives_back_its_storage() {
    for model in [models::small(), models::rich(), models::hostile(), models::external("w")] {
        let folder = Folder::with("in.onnx", &model);
        onnx(&folder, "print in.onnx -o short.onnxtxt").exits(0);
        onnx(&folder, "convert short.onnxtxt -o out.onnx --weights-from in.onnx").exits(0);
        onnx(&folder, "convert in.onnx -o canonical.onnx").exits(0);
        assert!(folder.get("out.onnx") == folder.get("canonical.onnx"));
        onnx(&folder, "convert short.onnxtxt -o out.onnx --weights-from in.onnx").exits(0);
        assert!(folder.get("out.onnx") == folder.get("canonical.onnx"));
    }
    // Both tensors are raw data in the file; one is edited.
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
g () => (y) <float[2] a = raw {1, 2}, int64[3] b = raw {1, 2, 3}> { y = Strange (a, b) }"#;
    let folder = Folder::with("in.onnxtxt", text);
    onnx(&folder, "convert in.onnxtxt -o in.onnx").exits(0);
    let short = onnx(&folder, "print in.onnx").exits(0).out;
    folder.put("short.onnxtxt", short.replace("{1, 2}", "{1, 4}"));
    onnx(&folder, "convert short.onnxtxt -o out.onnx --weights-from in.onnx").exits(0);
    let run = onnx(&folder, "print --full out.onnx").exits(0).says("int64[3] b = raw {1, 2, 3}");
    assert!(run.out.contains("float[2] a = {1, 4}"), "{}", run.out);
    onnx(&folder, "convert in.onnx -o out.onnx --weights-from in.onnx").exits(2).says("ONNX text");
}

/// Parts of a model, and the model without metadata.
#[test]
fn parts_are_printed() {
    let text = r#"<ir_version: 10, opset_import: ["": 21], doc_string: "of the model", metadata_props: ["k": "v"]>
g (float[N] x) => (float[N] z) @{doc_string: "of the graph"} {
   [first] a = Relu (x) @{doc_string: "of a node", metadata_props: ["secret": "value"]}
   b = Neg (a)
   c = Abs (b)
   z = Exp (c)
}
"#;
    let folder = Folder::with("in.onnxtxt", text);
    let run = onnx(&folder, "print in.onnxtxt --no-metadata").exits(0).says("a = Relu (x)");
    assert!(
        !["of the", "secret", "metadata", "doc_string"].iter().any(|word| run.out.contains(word)),
        "{}",
        run.out
    );
    folder.put("without.onnxtxt", run.bytes);
    onnx(&folder, "check without.onnxtxt").exits(0);
    for (selector, printed) in [
        ("first", "[first] a = Relu (x)\n"),
        ("a", "[first] a = Relu (x)\n"),
        ("node(3)", "z = Exp (c)\n"),
        ("near(node(3),1)", "c = Abs (b)\nz = Exp (c)\n"),
        ("near(b,1)", "[first] a = Relu (x)\nb = Neg (a)\nc = Abs (b)\n"),
    ] {
        let run = onnx(&folder, &format!("print in.onnxtxt --no-metadata --at {selector}")).exits(0);
        assert_eq!(run.out, printed, "{selector}");
    }
    assert_eq!(onnx(&folder, "print in.onnxtxt --at main() --no-metadata").exits(0).out.lines().count(), 6);
    onnx(&folder, "print in.onnxtxt --at nothing").exits(2).says("no node of the model matches");
    onnx(&folder, "print in.onnxtxt --at node(").exits(2).says("is not a selector");
    onnx(&folder, "print in.onnxtxt --at x").exits(2).says("no node produces `x`");
}

#[test]
fn what_the_reference_cannot_say_is_told() {
    let folder = Folder::with("in.onnx", models::rich());
    onnx(&folder, "print in.onnx --compat").exits(0);
    let text = TEXT.replace("Relu (x)", r#"Relu (x) @{doc_string: "a node"}"#);
    let run = onnx_with(&folder, "print --compat --from onnxtxt -", text.as_bytes()).exits(0);
    assert_eq!(run.out, TEXT);
    run.says("warning[ONNX0020]").says("Relu");
}

#[test]
fn parts_stand_alone() {
    for (part, text) in [
        ("graph", "g (float[N] x) => (float[N] y) {\n   y = Relu (x)\n}\n"),
        (
            "function",
            "<\n   domain: \"d\"\n>\nf <alpha> (a) => (b) {\n   b = Op <alpha: float = @alpha> (a)\n}\n",
        ),
        ("node", "[n] y = d.Op <alpha = 1.0> (x)\n"),
        ("model", TEXT),
    ] {
        let folder = Folder::with("in.onnxtxt", text);
        onnx(&folder, &format!("convert in.onnxtxt --as {part} -o out.pb")).exits(0);
        let printed = onnx(&folder, &format!("print out.pb --as {part} --full")).exits(0);
        assert_eq!(printed.out, text, "{part}");
        assert_eq!(onnx(&folder, &format!("print in.onnxtxt --as {part}")).exits(0).out, text);
    }
    let folder = Folder::with("in.json", "{}");
    onnx(&folder, "print in.json --as node").exits(2).says("JSON is read as a model only");
}

#[test]
fn printed_text_has_colours_where_they_are_wanted() {
    let folder = Folder::with("in.onnxtxt", TEXT);
    assert_eq!(onnx(&folder, "print in.onnxtxt").exits(0).out, TEXT);
    let coloured = onnx(&folder, "print in.onnxtxt --color always").exits(0);
    assert!(coloured.out.contains("\u{1b}[1mRelu\u{1b}[0m"), "{}", coloured.out);
}

#[test]
fn what_is_no_text_is_told_what_it_looks_like() {
    let folder = Folder::with("model.onnx", models::small());
    folder.put("model.onnxtxt", models::small());
    folder.put("model.json", models::small());
    // A single field, which is also valid UTF-8.
    folder.put("short.onnxtxt", b"\x08\x0a");
    folder.put("packed.onnxtxt", b"\x1f\x8b\x08\x00");
    folder.put("wide.onnxtxt", TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    folder.put("wide.onnxtxt", [b"\xff\xfe".to_vec(), folder.get("wide.onnxtxt")].concat());
    let binary = ["model.onnx", "model.onnxtxt", "short.onnxtxt"];
    for name in binary {
        for command in [format!("fmt {name}"), format!("fmt --check {name}")] {
            let run =
                onnx(&folder, &command).exits(2).says(&format!("{name}: this looks like a binary model"));
            run.says("`onnx print --from onnx` shows it as text")
                .says("`onnx convert --from onnx` converts it");
        }
    }
    for name in ["model.onnxtxt", "short.onnxtxt", "model.json"] {
        for command in [format!("print {name}"), format!("check {name}"), format!("convert {name} -o out.pb")]
        {
            onnx(&folder, &command).exits(2).says("binary").says("add `--from onnx`");
        }
    }
    let bytes = models::small();
    onnx_with(&folder, "fmt -", &bytes).exits(2).says("<stdin>: this looks like a binary model");
    for command in ["convert packed.onnxtxt -o out.pb", "fmt packed.onnxtxt", "print packed.onnxtxt"] {
        onnx(&folder, command).exits(2).says("this is compressed with gzip");
    }
    for command in ["convert wide.onnxtxt -o out.pb", "fmt wide.onnxtxt", "print wide.onnxtxt"] {
        onnx(&folder, command).exits(2).says("this is UTF-16").says("store the text as UTF-8");
    }
    // Texts with errors are texts, and texts on standard input are recognized behind comments, too.
    onnx_with(&folder, "convert - -o -", b"").exits(2).says("the file is empty");
    onnx_with(&folder, "convert - -o - --from onnxtxt", TEXT.replace("Relu", "Relu \u{7f}").as_bytes())
        .exits(1)
        .says("ONNX0001");
    let text = format!("# a comment\n\n  # and another\n{TEXT}");
    folder.put("text.onnx", &text);
    for command in ["print", "check"] {
        onnx_with(&folder, &format!("{command} -"), text.as_bytes()).exits(0);
        onnx(&folder, &format!("{command} text.onnx"))
            .exits(2)
            .says("this looks like ONNX text")
            .says("add `--from onnxtxt`");
    }
    assert!(!folder.list().contains(&"out.pb".to_owned()));
}

#[test]
fn findings_of_texts_show_the_line() {
    let folder = Folder::with("in.onnxtxt", TEXT.replace("Relu", "Rellu"));
    let run = onnx(&folder, "check in.onnxtxt").exits(1).says("error[ONNX2303]");
    assert!(run.out.contains("--> in.onnxtxt:6:4: "), "{}", run.out);
    assert!(run.out.contains("\n 6 |    y = Rellu (x)\n   |    ^"), "{}", run.out);
    onnx(&folder, "check in.onnxtxt --concise").exits(1).says("in.onnxtxt:6:4: error[ONNX2303]");
    let json = onnx(&folder, "check in.onnxtxt --format json").exits(1).json();
    assert_eq!(
        (json["findings"][0]["at"]["line"].as_u64(), json["findings"][0]["at"]["column"].as_u64()),
        (Some(6), Some(4))
    );
    onnx(&folder, "info in.onnxtxt").exits(0).says("ONNX text").says("Rellu");
    onnx(&folder, "debug verify in.onnxtxt").exits(0).says("sound");
    onnx_with(&folder, "check --from onnxtxt -", TEXT.as_bytes()).exits(0);
    onnx_with(&folder, "check -", TEXT.as_bytes()).exits(0);
    onnx_with(&folder, "check - --from onnx", TEXT.as_bytes()).exits(2).says("--from onnxtxt");
    onnx_with(&folder, "info --from textproto -", TEXT.as_bytes()).exits(2).says("--from onnxtxt");
}

#[test]
fn faults_of_texts_are_findings() {
    let text = TEXT.replace("y = Relu (x)", "a = Relu <\n   b = Relu )x)").replace("float[N] x", "float[N y");
    let folder = Folder::with("in.onnxtxt", text);
    for command in [
        "check in.onnxtxt",
        "info in.onnxtxt",
        "debug verify in.onnxtxt",
        "convert in.onnxtxt -o out.onnx",
        "convert in.onnxtxt -o out.onnx",
        "fmt in.onnxtxt",
        "check in.onnxtxt --allow ONNX0001",
    ] {
        let run = onnx(&folder, command).exits(1);
        let shown = format!("{}{}", run.out, run.err);
        assert!(shown.contains("error[ONNX0001]: expected `]`, found `y`"), "{command}: {shown}");
        assert!(
            shown.contains("\n 5 | g (float[N y) => (float[N] y) {\n   |            ^"),
            "{command}: {shown}"
        );
    }
    let json = onnx(&folder, "check in.onnxtxt --format json").exits(1).json();
    assert_eq!(json["findings"][0]["at"]["line"].as_u64(), Some(5));
    assert_eq!(folder.list(), ["in.onnxtxt"]);
    onnx(&folder, "explain ONNX0001").exits(0).says("unexpected-token");
}

const UNTIDY: &str = r#"# The first line.

<ir_version: 8, opset_import: ["": 17]> # the header
g (float[N] x # an input
) => (float[N] y)
{
  # About the node.
y=Relu(x)# behind it
      # the end
}
# the last line"#;

const TIDY: &str = r#"# The first line.

<
   ir_version: 8,
   opset_import: ["": 17]
>  # the header
g (float[N] x) => (float[N] y) {  # an input
   # About the node.
   y = Relu (x)  # behind it
   # the end
}
# the last line
"#;

#[test]
fn formatting_keeps_comments() {
    let folder = Folder::with("sub/in.onnxtxt", UNTIDY);
    folder.put("sub/other.onnx", models::small());
    onnx(&folder, "fmt --check sub").exits(1).says("in.onnxtxt");
    assert_eq!(folder.get("sub/in.onnxtxt"), UNTIDY.as_bytes());
    assert!(onnx(&folder, "fmt sub").exits(0).out.is_empty());
    assert_eq!(String::from_utf8(folder.get("sub/in.onnxtxt")).unwrap(), TIDY);
    assert!(onnx(&folder, "fmt --check sub/in.onnxtxt").exits(0).out.is_empty());
    assert_eq!(onnx_with(&folder, "fmt -", UNTIDY.as_bytes()).exits(0).out, TIDY);
    onnx(&folder, "fmt missing.onnxtxt").exits(2).says("missing.onnxtxt");
    // One file that cannot be formatted does not keep the others from it.
    folder.put("sub/bad.onnxtxt", "g (");
    folder.put("sub/in.onnxtxt", UNTIDY);
    onnx(&folder, "fmt sub").exits(1).says("bad.onnxtxt:1:4");
    assert_eq!(folder.get("sub/in.onnxtxt"), TIDY.as_bytes());
}

#[test]
fn formatting_loses_no_comment_where_words_change() {
    let text = r#"<ir_version: 8, # a
opset_import: ["": # b
17], doc_string: "x # no comment
y" # c
>
"g" (float[N # d
] x) => # e
(float[N] y) # f
<float[1] w = {1.0 # g
} # h
> # i
{ # j
 y = Op <k: int = 1, # k
 body = b () => () { # l
 }> (x) # m
} # n
"#;
    let folder = Folder::new();
    let run = onnx_with(&folder, "fmt -", text.as_bytes()).exits(0);
    for name in 'a'..='n' {
        assert_eq!(run.out.matches(&format!("# {name}\n")).count(), 1, "{name}\n{}", run.out);
    }
    assert_eq!(onnx_with(&folder, "fmt -", run.out.as_bytes()).exits(0).out, run.out);
}

#[test]
fn the_report_of_printing_is_a_file() {
    let folder = Folder::with("in.onnx", models::small());
    let printed = onnx(&folder, "print in.onnx").exits(0).out;
    assert_eq!(onnx(&folder, "print in.onnx --report r.json").exits(0).out, printed);
    let report: serde_json::Value = serde_json::from_slice(&folder.get("r.json")).unwrap();
    assert_eq!((&report["command"], &report["inputs"][0]["name"]), (&"print".into(), &"in.onnx".into()));
    onnx(&folder, "print in.onnx --format json").exits(2).says("cannot both be written to standard output");
    let report = onnx(&folder, "print in.onnx -o out.onnxtxt --format json").exits(0).json();
    assert_eq!(report["outputs"][0]["name"], "out.onnxtxt");
}

/// An abridged text is not a model: its elements would be lost.
#[test]
fn an_abridged_text_replaces_no_model() {
    let elements = vec!["1"; 100].join(", ");
    let model = |elements: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 20]> g (float[100] x) => (float[100] y) <float[100] w = {{{elements}}}> {{ y = Add (x, w) }}"
        )
    };
    let folder = Folder::new();
    folder.put("m.onnxtxt", model(&elements));
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    let texts = "leaves elements out";
    for (name, reason) in [("m.onnx", "the format `onnx`"), ("m.onnxtxt", texts)] {
        let before = folder.get(name);
        onnx(&folder, &format!("print m.onnx -o {name}")).exits(2).says(reason);
        assert_eq!(folder.get(name), before);
    }
    // Nor does another text, whether the name is new or not.
    for (name, format) in [("new.onnx", "onnx"), ("new.json", "json"), ("new.pbtxt", "textproto")] {
        let run = onnx(&folder, &format!("print m.onnx --full -o {name}")).exits(2);
        run.says(&format!("has the extension of the format `{format}`")).says("write `-o new.onnxtxt`");
        assert!(!folder.path().join(name).exists());
    }
    onnx(&folder, "print m.onnx -o short.onnxtxt").exits(0);
    onnx(&folder, "print m.onnx -o short.onnxtxt").exits(0);
    onnx(&folder, "print m.onnx --full -o m.onnxtxt").exits(0);
    onnx(&folder, "print m.onnx -o m.onnxtxt --force").exits(2).says("leaves elements out");
}
