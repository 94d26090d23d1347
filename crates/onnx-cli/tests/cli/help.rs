//! Help, explanations, completions and colours.

use crate::models;
use crate::run::{Folder, onnx};

const SUBCOMMANDS: [&str; 11] = [
    "check",
    "info",
    "infer",
    "run",
    "compare",
    "convert",
    "print",
    "fmt",
    "explain",
    "smith",
    "completions",
];

#[test]
fn every_help_has_an_example() {
    let folder = Folder::new();
    onnx(&folder, "--help").exits(0).says("Examples:").says("Exit status");
    for subcommand in SUBCOMMANDS {
        let example = format!("\n  onnx {subcommand} ");
        for flag in ["--help", "-h"] {
            let run =
                onnx(&folder, &format!("{subcommand} {flag}")).exits(0).says("Examples:").says(&example);
            assert!(run.err.is_empty());
        }
    }
    onnx(&folder, "--version").exits(0).says(env!("CARGO_PKG_VERSION"));
    onnx(&folder, "").exits(2).says("Usage");
    onnx(&folder, "chek").exits(2).says("check");
}

/// Descriptions are wrapped for narrow terminals.
#[test]
fn help_fits_into_narrow_terminals() {
    let folder = Folder::new();
    for subcommand in SUBCOMMANDS {
        let mut narrow = crate::run::command([subcommand, "--help"]);
        let output = narrow.current_dir(folder.path()).env("COLUMNS", "60").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let described = text.split("Examples:").next().unwrap();
        let widest = described.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 60, "{subcommand}: {widest}\n{described}");
    }
}

#[test]
#[cfg(unix)]
fn arguments_that_are_not_utf8_are_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::with("in.onnx", models::small());
    let odd = |bytes: &'static [u8]| std::ffi::OsStr::from_bytes(bytes);
    let words = ["convert", "in.onnx", "-o", "out.onnx", "--weights"].map(std::ffi::OsStr::new);
    let mut named = crate::run::command(words.into_iter().chain([odd(b"w\xff\x1b.data")]));
    let output = named.current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("not UTF-8: `w\\xff\\x1b.data`; only the names of files may be so"), "{text}");
    // Names of files may be.
    let mut file = crate::run::command([odd(b"convert"), odd(b"in.onnx"), odd(b"-o"), odd(b"out\xff.onnx")]);
    assert!(file.current_dir(folder.path()).output().unwrap().status.success());
}

#[test]
fn rules_are_explained() {
    let folder = Folder::new();
    for name in ["ONNX1003", "onnx1003", "1003", "attribute-with-several-values"] {
        onnx(&folder, &format!("explain {name}"))
            .exits(0)
            .says("ONNX1003 attribute-with-several-values (error)");
    }
    onnx(&folder, "explain external-file-unreadable").exits(0).says("\nWhy\n").says("--weights embed");
    // What keeps a text from being a model cannot be silenced, and neither can a failure.
    for (code, can_be_silenced) in
        [("ONNX0009", false), ("ONNX8002", false), ("ONNX0020", true), ("ONNX2101", true)]
    {
        let run = onnx(&folder, &format!("explain {code}")).exits(0);
        assert_eq!(run.out.contains("--allow"), can_be_silenced, "{code}");
    }
    onnx(&folder, "explain ONNX9999").exits(2).says("there is no rule `ONNX9999`").says("--list");
    let list = onnx(&folder, "explain --list rules").exits(0);
    let codes: Vec<&str> = list.out.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(codes.len() > 8 && codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    for code in codes {
        onnx(&folder, &format!("explain {code}")).exits(0).says(code);
    }
}

#[test]
fn shells_get_completions() {
    let folder = Folder::new();
    for (shell, text) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef onnx"),
        ("fish", "complete -c onnx"),
        ("powershell", "onnx"),
    ] {
        let run = onnx(&folder, &format!("completions {shell}")).exits(0).says(text);
        SUBCOMMANDS
            .iter()
            .for_each(|subcommand| assert!(run.out.contains(subcommand), "{shell} {subcommand}"));
    }
    onnx(&folder, "completions tcsh").exits(2).says("bash");
}

#[test]
fn colours_are_for_terminals() {
    let folder = Folder::with("odd.onnx", models::odd());
    assert!(!onnx(&folder, "check odd.onnx").out.contains('\u{1b}'));
    assert!(!onnx(&folder, "check odd.onnx --color never").out.contains('\u{1b}'));
    assert!(onnx(&folder, "check odd.onnx --color always").out.contains("\u{1b}["));
    assert!(!onnx(&folder, "check odd.onnx --format json --color always").out.contains('\u{1b}'));
}

#[test]
fn limits_are_listed_and_can_be_changed() {
    let folder = Folder::with("odd.onnx", models::odd());
    let run = onnx(&folder, "explain --list limits")
        .exits(0)
        .says("message_depth")
        .says("100 levels")
        .says("graphs");
    assert_eq!(run.out.lines().count(), onnx_types::LIMITS.len());
    let json = onnx(&folder, "explain --list limits --format json").exits(0).json();
    let entry = |name: &str| {
        json["result"]["limits"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(entry("nodes")["default"], 10_000_000);
    assert_eq!(entry("input_bytes")["default"], serde_json::Value::Null);
    // What an error names can be set, and nothing else.
    onnx(&folder, "info odd.onnx --limit input_bytes=3").exits(3).says("raise the limit `input_bytes`");
    onnx(&folder, "info odd.onnx --limit input_bytes=3 --limit input_bytes=300000").exits(1);
    onnx(&folder, "check odd.onnx --limit nods=3").exits(2).says("`onnx explain --list limits` lists them");
    onnx(&folder, "check odd.onnx --limit nodes=-3").exits(2).says("nodes takes a whole number");
    onnx(&folder, "convert odd.onnx -o odd.onnxtxt --keep-going").exits(1);
    onnx(&folder, "print odd.onnxtxt --limit text_bytes=3").exits(3).says("raise the limit `text_bytes`");
    onnx(&folder, "fmt odd.onnxtxt --limit text_bytes=3").exits(3).says("raise the limit `text_bytes`");
}

/// The five examples of the help run in order.
#[test]
fn examples_of_the_help_run() {
    let folder = Folder::with("model.onnx", models::small());
    let help = onnx(&folder, "-h").exits(0);
    let examples = help.out.lines().filter_map(|line| line.strip_prefix("  onnx "));
    let examples: Vec<&str> = examples.map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(examples.len(), 5, "{examples:?}");
    for example in examples {
        onnx(&folder, example).exits(0);
    }
    assert_eq!(folder.list(), ["model.json", "model.onnx"]);
}

/// A former spelling ends the command, and the corrected line is what works.
#[test]
fn former_spellings_are_corrected() {
    let folder = Folder::with("in.onnx", models::small());
    onnx(&folder, "convert in.onnx out.json --no-color")
        .exits(2)
        .says("help: write `onnx convert in.onnx -o out.json --color never`");
    assert_eq!(folder.list(), ["in.onnx"]);
    onnx(&folder, "convert in.onnx -o out.json --color never").exits(0);
    onnx(&folder, "verify in.onnx").exits(2).says("`verify` is now `debug verify`");
}
