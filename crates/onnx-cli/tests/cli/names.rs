//! Names that act: on a terminal, on the reading order, and on GitHub Actions, which reads commands from logs.

use onnx_diag::is_unprintable;

use crate::models;
#[cfg(unix)]
use crate::run::onnx_words;
use crate::run::{Folder, onnx};

/// Line breaks before a command of GitHub Actions, an escape sequence, a C1 control character, an override of the reading order,
/// separators of lines and paragraphs, tags, a byte order mark, and DEL.
const ACTS: &str = "\n::error::pwned\r\n  ::set-output name=a::b\n\u{1b}[31m\u{9b}31m\u{202e}\u{2028}\u{2029}\u{85}\u{e0041}\u{feff}\u{7f}";

/// The commands, each with a place for the options of reports.
const REPORTING: &[&str] = &[
    "check in.onnx --full --notes {}",
    "check wrong.onnx --full --notes {}",
    "check in.onnx --target onnxruntime {}",
    "info in.onnx --all {}",
    "info in.onnx --functions {}",
    "info in.onnx --versions {}",
    "cost in.onnx {}",
    "hash in.onnx {}",
    "find in.onnx all() {}",
    "find in.onnx ** --count {}",
    "diff in.onnx other.onnx {}",
    "compare in.onnx other.onnx {}",
    "run in.onnx {}",
    "run in.onnx --stats {}",
    "infer in.onnx --unknown {}",
    "infer in.onnx --why all() {}",
    "infer in.onnx --guards {}",
    "weights list in.onnx {}",
    "weights stats in.onnx {}",
    "weights strip in.onnx -o out.onnx --force {}",
    "weights export in.onnx -o w.npz --force {}",
    "weights export in.onnx -o w.safetensors --force {}",
    "convert in.onnx --opset 13 {}",
    "convert in.onnx --opset 13 -o out.onnx --keep-going --force {}",
    "simplify in.onnx --why ** {}",
    "simplify in.onnx --fuse -v -o out.onnx --force {}",
    "simplify in.onnx --prove -vv {}",
    "simplify in.onnx --journal journal.json --journal-metadata -o out.onnx --force {}",
    "rewrite in.onnx --pass no-identities,unique-subexpressions -vv {}",
    "rewrite in.onnx --pass no-identities --bisect {} -- true",
    "edit in.onnx --prefix p/ -vv {}",
    "edit in.onnx --rename **=q_\\1 -vv {}",
    "edit in.onnx --set nothing=1 {}",
    "edit in.onnx --metadata a=b -o out.onnx --force {}",
    "extract in.onnx --outputs 1 {}",
    "extract in.onnx --parts 2 -o parts --force {}",
    "inline in.onnx -v {}",
    "inline in.onnx --bodies -v {}",
    "outline in.onnx --min-nodes 1 -v {}",
    "merge in.onnx other.onnx --prefix a/,b/ -o out.onnx --force {}",
    "merge in.onnx other.onnx {}",
    "reduce in.onnx -o out.onnx --force {} -- false",
    "fmt in.onnxtxt --check {}",
    "print in.onnx --at all() {}",
    "debug verify in.onnx {}",
];

const FORMATS: &[&str] = &[
    "",
    "--format json",
    "--format jsonl",
    "--format sarif",
    "--format github",
    "--format csv",
    "--format table",
];

/// Output for people that has a whole model or a part of it.
const PRINTING: &[&str] = &[
    "print in.onnx",
    "print in.onnx --full",
    "print in.onnx --compat",
    "print in.onnx --no-metadata",
    "print in.onnx --at all()",
    "convert in.onnx -o - --to json",
    "convert in.onnx -o - --to textproto",
    "convert in.onnx -o - --to onnxtxt",
    "simplify in.onnx -o - --to onnxtxt",
    "diff in.onnx other.onnx",
];

/// Nothing acts: line breaks are those of the layout, and no line begins with a command unless the command writes annotations.
#[track_caller]
fn is_safe(command: &str, text: &str, is_compat: bool) {
    // Lines of tables with commas end as RFC 4180 says.
    let table = text.replace("\r\n", "\n");
    let text = if command.contains("csv") { table.as_str() } else { text };
    if !is_compat {
        let unsafe_char = text.chars().find(|&c| !matches!(c, '\n' | '\t') && is_unprintable(c));
        assert_eq!(unsafe_char, None, "{command}: {text:?}");
    }
    // The labels of diagnostics begin with three colons, and no command does.
    let is_command = |line: &&str| line.starts_with("::") && !line.starts_with("::: ");
    for line in text.split(['\n', '\r']).map(str::trim).filter(is_command) {
        let is_annotation = command.contains("--format github")
            && ["::error ", "::warning ", "::notice "].iter().any(|word| line.starts_with(word));
        assert!(is_annotation && !line.contains("::error::pwned\n"), "{command}: {line:?}");
    }
}

fn folder() -> Folder {
    let folder = Folder::with("in.onnx", models::named(ACTS));
    folder.put("other.onnx", models::named(&ACTS.replace("pwned", "other")));
    // A name that is defined twice.
    let mut wrong = models::named(ACTS);
    wrong.extend(models::named(ACTS));
    folder.put("wrong.onnx", wrong);
    onnx(&folder, "convert in.onnx -o in.onnxtxt").exits(0);
    folder
}

/// Names of files act, too.
#[cfg(unix)]
#[test]
fn names_of_files_act_in_no_report() {
    let folder = Folder::with("in.onnx", models::named(ACTS));
    let name = "f\n::error::pwned\r\u{9b}31m\u{202e}.onnx";
    folder.put(name, models::named("plain"));
    for command in ["info", "check", "cost", "hash", "infer", "simplify", "compare", "diff", "print"] {
        for format in FORMATS {
            let words = [command, "in.onnx", name].into_iter().chain(format.split_whitespace());
            let run = onnx_words(&folder, words);
            let command = format!("{command} {format}");
            is_safe(&command, &run.out, false);
            is_safe(&command, &run.err, false);
        }
    }
}

#[test]
fn names_act_in_no_report() {
    let folder = folder();
    for command in REPORTING {
        for format in FORMATS {
            let command = command.replace("{}", format);
            let run = onnx(&folder, command.trim());
            let is_known = run.code != 2 || !run.err.contains("has no option");
            assert!(is_known, "{command}: {}", run.err);
            is_safe(&command, &run.out, false);
            is_safe(&command, &run.err, false);
        }
    }
    let file = "journal.json";
    is_safe(file, &String::from_utf8(folder.get(file)).unwrap(), false);
}

#[test]
fn names_act_in_no_text() {
    let folder = folder();
    for command in PRINTING {
        let run = onnx(&folder, command);
        assert!(run.code < 2, "{command}: {}", run.err);
        is_safe(command, &run.out, command.contains("--compat"));
        is_safe(command, &run.err, false);
    }
    // Nothing is lost.
    onnx(&folder, "diff in.onnx in.onnxtxt").exits(0);
    onnx(&folder, "print in.onnx --full -o again.onnxtxt").exits(0);
    onnx(&folder, "diff in.onnx again.onnxtxt").exits(0);
}

#[test]
fn names_act_in_no_file_of_json() {
    let folder = folder();
    for (command, files) in [
        ("simplify in.onnx --report report.json -o out.onnx", &["report.json"][..]),
        ("simplify in.onnx --report report.jsonl -o out.onnx --force", &["report.jsonl"]),
        ("simplify in.onnx --report report.sarif -o out.onnx --force", &["report.sarif"]),
        ("rewrite in.onnx --pass no-identities --journal edits.json", &["edits.json"]),
        ("weights export in.onnx -o w.safetensors --shard-size 1", &["w.safetensors"]),
        ("convert in.onnx -o model.json", &["model.json"]),
    ] {
        onnx(&folder, command).exits(0);
        for file in files.iter().filter(|file| file.contains("json") || file.contains("sarif")) {
            let text = String::from_utf8(folder.get(file)).unwrap();
            is_safe(file, &text, false);
        }
    }
}

/// GitHub Actions trims blanks before it looks for commands.
#[test]
fn no_name_begins_a_line_with_a_command() {
    let model = r#"<ir_version: 10, opset_import: ["": 20, "l": 1]>
g (float[2] "::error::x") => (float[2] "::error::y") <float[2] "::error::w" = {1, 2}> {
   "::error::n" = l.F ("::error::x")
   "::error::y" = Add ("::error::n", "::error::w")
}
<domain: "l", opset_import: ["": 20]>
F ("::error::a") => ("::error::b") { "::error::b" = Neg ("::error::a") }"#;
    let folder = Folder::with("m.onnxtxt", model);
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    for command in [
        "info m.onnx --all --functions",
        "weights list m.onnx --all",
        "run m.onnx",
        "compare m.onnx m.onnx",
        "simplify m.onnx --why **",
        "inline m.onnx -v -v -o o.onnx --force",
        "cost m.onnx --all",
        "find m.onnx **",
        "infer m.onnx --why **",
        "diff m.onnx m.onnx",
        "check m.onnx --full",
    ] {
        let run = onnx(&folder, command);
        let lines = run.out.lines().chain(run.err.lines());
        for line in lines {
            assert!(!line.trim_start().starts_with("::"), "{command}\n{line}");
        }
    }
}

/// Names of files that are not UTF-8 are those of files, or are refused where only text can have them.
#[test]
#[cfg(target_os = "linux")]
fn names_that_are_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let folder = folder();
    let odd = OsStr::from_bytes(b"caf\xe9.onnx");
    std::fs::copy(folder.path().join("in.onnx"), folder.path().join(odd)).unwrap();
    let run = |words: &[&OsStr]| {
        let mut command = crate::run::command(words);
        command.current_dir(folder.path()).stdin(std::process::Stdio::null()).output().unwrap()
    };
    let word = OsStr::new;
    // What is in the place of the interpreter fails.
    for engine in ["/bin/false", "/bin/true"] {
        let words = ["--with", "onnxruntime", "--python", engine].map(OsStr::new);
        let output = run(&[&[word("compare"), odd], &words[..]].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(!text.contains("panicked"), "{text}");
    }
    let shards = OsStr::from_bytes(b"k\xff.safetensors");
    let before = folder.list_os();
    let export = ["weights", "export", "in.onnx", "--shard-size", "1kB", "-o"].map(OsStr::new);
    let output = run(&[&export[..], &[shards]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    let is_single = output.status.code() == Some(0) && folder.path().join(shards).exists();
    assert!(is_single || (output.status.code() == Some(2) && text.contains("which is text")), "{text}");
    let mut after = folder.list_os();
    after.retain(|name| name != shards);
    assert_eq!(after, before);
}
