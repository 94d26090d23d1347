//! Help, explanations, completions and colours.

use crate::models;
use crate::run::{Folder, onnx};

const SUBCOMMANDS: [&str; 30] = [
    "check",
    "info",
    "cost",
    "weights",
    "infer",
    "run",
    "compare",
    "hash",
    "diff",
    "convert",
    "quantize",
    "rewrite",
    "simplify",
    "edit",
    "extract",
    "merge",
    "inline",
    "outline",
    "print",
    "draw",
    "view",
    "find",
    "reduce",
    "fmt",
    "explain",
    "smith",
    "completions",
    "man",
    "self-test",
    "scan",
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

/// All commands, with their subcommands.
fn commands() -> Vec<String> {
    let ops = ["ops", "ops list", "ops search", "ops show", "ops export", "debug verify"];
    let ops = ops.into_iter().chain([
        "weights list",
        "weights show",
        "weights stats",
        "weights export",
        "weights import",
        "weights strip",
    ]);
    SUBCOMMANDS.iter().copied().chain(ops).map(str::to_owned).collect()
}

/// The options in a help.
fn options(help: &str) -> Vec<String> {
    let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut options: Vec<String> =
        words.filter(|word| word.starts_with("--") && word.len() > 2).map(str::to_owned).collect();
    options.sort();
    options.dedup();
    options
}

/// Lines of 100 characters, one for each option that `--help` has, and at most five examples.
#[test]
fn a_short_help_has_each_option() {
    let folder = Folder::new();
    for name in commands().into_iter().chain([String::new()]) {
        let help = |flag: &str| {
            let mut command = crate::run::command(name.split_whitespace().chain([flag]));
            let output = command.current_dir(folder.path()).env("COLUMNS", "100").output().unwrap();
            assert!(output.status.success(), "{name}");
            String::from_utf8(output.stdout).unwrap()
        };
        let (short, long) = (help("-h"), help("--help"));
        let lines = short.lines().count();
        let most = if name.is_empty() { 50 } else { 80 };
        assert!(lines <= most, "{name}: {lines} lines\n{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 100), "{name}\n{short}");
        assert!(long.lines().count() > lines, "{name}");
        assert!(!long.contains("(--help explains them)"), "{name}");
        for option in ["--color WHEN", "--brief", "-q", "-v"] {
            assert!(short.contains(option), "{name}\n{short}");
        }
        // An option is at the beginning of its line, or after a short one.
        let is_option = |line: &&str| line.trim_start().starts_with('-') && line.find('-') <= Some(6);
        let of_long = long.lines().filter(is_option);
        let of_long: Vec<String> = of_long.filter_map(|line| options(line).first().cloned()).collect();
        let short_options = options(&short);
        for option in of_long.iter().filter(|option| !["--quiet", "--verbose"].contains(&option.as_str())) {
            assert!(short_options.contains(option), "{name} {option}\n{short}");
        }
        let examples =
            short.lines().filter(|line| line.starts_with("  onnx ") || line.starts_with("  for ")).count();
        assert!((1..=5).contains(&examples) || name.starts_with("ops "), "{name}\n{short}");
    }
}

/// A directory with the files that examples name.
#[cfg(unix)]
fn folder_of_examples() -> Folder {
    let mut body = String::new();
    for index in 0..12 {
        let input = if index == 0 { "x".to_owned() } else { format!("v{}", index - 1) };
        body.push_str(&format!("v{index} = Neg ({input})\n"));
    }
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 20, \"com.acme\": 1]>
        g (float[batch, sequence] x) => (float[batch, sequence] logits) {{
            {body}
            [\"/layer.0/Softmax\"] s = Softmax (v11)
            logits = com.acme.Twice (s)
        }}
        <domain: \"com.acme\", opset_import: [\"\": 20]> Twice (a) => (b) {{ b = Add (a, a) }}"
    );
    let folder = Folder::with("model.onnxtxt", text);
    let head = "<ir_version: 10, opset_import: [\"\": 20]> g";
    folder.put("whole.onnxtxt", format!("{head} (float[N] x) => (float[N] y) {{ s = Neg (x) y = Exp (s) }}"));
    folder.put("part.onnxtxt", format!("{head} (float[N] x) => (float[N] s) {{ s = Neg (x) }}"));
    for (from, to) in [
        ("model", "model.onnx"),
        ("model", "models/model.onnx"),
        ("model", "shared/model.onnx"),
        ("model", "a.onnx"),
        ("model", "b.onnx"),
        ("model", "big.onnx"),
        ("model", "out.onnx"),
        ("whole", "whole.onnx"),
        ("part", "part.onnx"),
    ] {
        folder.put(to, "");
        onnx(&folder, &format!("convert {from}.onnxtxt -o {to}")).exits(0);
    }
    let library = "<ir_version: 10, opset_import: [\"\": 20, \"com.acme\": 1]> g () => () { }
        <domain: \"com.acme\", opset_import: [\"\": 20]> Thrice (a) => (b) { b = Sum (a, a, a) }";
    folder.put("library.onnxtxt", library);
    folder.put("library.onnx", "");
    onnx(&folder, "convert library.onnxtxt -o library.onnx").exits(0);
    onnx(&folder, "print model.onnx --at node(0) -o node.onnxtxt").exits(0);
    onnx(&folder, "print model.onnx -o edited.onnxtxt").exits(0);
    onnx(&folder, "print model.onnx -o tests/model.onnxtxt").exits(2);
    folder.put("tests/model.onnxtxt", folder.get("model.onnxtxt"));
    onnx(&folder, "convert node.onnxtxt --as node -o node.pb").exits(0);
    onnx(&folder, "ops export --functions-of model.onnx --domain com.acme -o acme.onnxops").exits(0);
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    folder.put("x.npy", [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), &[0; 24]].concat());
    let rules = "rule neg-neg: exact\nfrom (x) => (y) {\n    y = Neg (Neg (x))\n}\nto (x) => (x) {}\n";
    folder.put("mine.onnxrules", rules);
    let _ = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status();
    folder.put("test_data_set_0/x.npy", folder.get("x.npy"));
    folder.put("images/0/x.npy", folder.get("x.npy"));
    folder
}

/// Every example of every help runs as printed: it succeeds, or finds something.
#[test]
#[cfg(unix)]
fn examples_of_all_commands_run() {
    let mut count = 0;
    // Examples of `weights`, `merge` and `reduce` name tensors, files and programs that the directory does not have, and `view`
    // serves until its page is closed; all examples are parsed by another test.
    let names_others =
        |name: &String| ["weights", "merge", "reduce", "view"].iter().any(|other| name.starts_with(other));
    for name in commands().into_iter().filter(|name| !names_others(name)) {
        let folder = folder_of_examples();
        let help = onnx(&folder, &format!("{name} --help")).exits(0).out;
        for example in help.lines().filter_map(|line| line.strip_prefix("  onnx ")) {
            // Other programs, and files outside of the directory, are not part of the test.
            let line = example.split("  ").next().unwrap();
            let line = line.split(" | ").next().unwrap().split(" > ~").next().unwrap();
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("'{}' {line}", env!("CARGO_BIN_EXE_onnx"))])
                .current_dir(folder.path())
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap();
            let code = output.status.code().unwrap();
            assert!(code <= 1, "{line}: {code} {}", String::from_utf8_lossy(&output.stderr));
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
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
    assert!(text.contains("not UTF-8: `w\\xff\\x1b.data`"), "{text}");
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

/// Reports of edits and `--why` print the names of rules and passes.
#[test]
fn rewrite_rules_are_explained() {
    let folder = Folder::new();
    let page = onnx(&folder, "explain mul-reciprocal").exits(0);
    page.says("mul-reciprocal (rounding)").says("rule mul-reciprocal: rounding").says("--exact");
    onnx(&folder, "explain gelu-erf").exits(0).says("onnx simplify --fuse");
    onnx(&folder, "explain pad-convs").exits(0).says("pad-convs");
    for pass in ["rewrite-rules", "fusions"] {
        onnx(&folder, &format!("explain {pass}")).exits(0).says("## ");
    }
    let list = onnx(&folder, "explain --list rewrite-rules").exits(0).out;
    assert!(list.lines().count() > 100, "{list}");
    for line in list.lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        assert!(words.next().is_some_and(|class| ["exact", "rounding"].contains(&class)), "{line}");
        assert!(words.next().is_some(), "{line}");
        if name.len() % 8 == 0 {
            onnx(&folder, &format!("explain {name}")).exits(0).says(name);
        }
    }
    onnx(&folder, "explain mul-reciprocl").exits(2).says("did you mean `mul-reciprocal`?");
    onnx(&folder, "explain no-identitys").exits(2).says("did you mean `no-identities`?");
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
    // Also the names that arguments take without being restricted to them.
    for shell in ["bash", "zsh", "fish"] {
        let script = onnx(&folder, &format!("completions {shell}")).exits(0).out;
        for name in [
            "no-identities",
            "openvino",
            "run_steps=",
            "value-defined-twice",
            "LayerNormalization",
            "float8e4m3fn",
        ] {
            assert!(script.contains(name), "{shell} {name}");
        }
    }
    // The values of a script do not limit the arguments.
    folder.put(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[N] x) => (float[N] y) { y = Relu (x) }",
    );
    onnx(&folder, "rewrite m.onnxtxt --pass no-identities,no-dead-nodes").exits(0);
}

/// Bash gives `--option=value` as three words.
#[test]
#[cfg(target_os = "linux")]
fn bash_completes_attached_values() {
    let folder = Folder::new();
    folder.put("onnx.bash", onnx(&folder, "completions bash").exits(0).out);
    for (words, found) in [
        ("onnx convert m --to = j", "json"),
        ("onnx check --color = n", "never"),
        ("onnx check --limit = run_s", "run_steps="),
        ("onnx check --color n", "never"),
        ("onnx conv", "convert"),
    ] {
        let all: Vec<&str> = words.split(' ').collect();
        let (word, previous) = (all[all.len() - 1], all[all.len() - 2]);
        let index = all.len() - 1;
        let script = format!(
            "source onnx.bash; COMP_WORDS=({words}); COMP_CWORD={index}; _onnx onnx '{word}' '{previous}'; echo ${{COMPREPLY[@]}}"
        );
        let run =
            std::process::Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output();
        // Bash may not be there.
        let Ok(run) = run else { return };
        assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), found, "{words}");
    }
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
    onnx(&folder, "check odd.onnx --limit nods=3")
        .exits(2)
        .says("`onnx explain --list limits` lists the limits");
    onnx(&folder, "check odd.onnx --limit nodes=-3").exits(2).says("nodes takes a whole number");
    onnx(&folder, "convert odd.onnx -o odd.onnxtxt --keep-going").exits(1);
    onnx(&folder, "print odd.onnxtxt --limit text_bytes=3").exits(3).says("raise the limit `text_bytes`");
    onnx(&folder, "fmt odd.onnxtxt --limit text_bytes=3").exits(3).says("raise the limit `text_bytes`");
}

/// The five examples of the help run in order.
#[test]
fn examples_of_the_help_run() {
    let folder = Folder::with("model.onnx", models::small());
    let help = onnx(&folder, "--help").exits(0);
    let examples = help.out.lines().filter_map(|line| line.strip_prefix("  onnx "));
    let examples: Vec<&str> = examples.map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(examples.len(), 5, "{examples:?}");
    for example in examples {
        onnx(&folder, example).exits(0);
    }
    assert_eq!(folder.list(), ["model.json", "model.onnx"]);
}

/// A spelling of another tool ends the command, and the corrected line is what works.
#[test]
fn spellings_of_other_tools_are_corrected() {
    let folder = Folder::with("in.onnx", models::small());
    onnx(&folder, "convert in.onnx out.json --no-color")
        .exits(2)
        .says("help: write `onnx convert in.onnx -o out.json --color never`");
    assert_eq!(folder.list(), ["in.onnx"]);
    onnx(&folder, "convert in.onnx -o out.json --color never").exits(0);
}

/// The advice is that of the family of a rule.
#[test]
fn rules_say_who_reports_them_and_how_to_silence_them() {
    let folder = Folder::new();
    for (rule, reported, silenced) in [
        ("value-defined-twice", "onnx check", Some("onnx check --allow value-defined-twice FILE")),
        ("ONNX5004", "onnx run, onnx compare", None),
        ("ONNX5013", "onnx run, onnx compare", Some("onnx run --allow computed-value-differs MODEL")),
        ("ONNX5012", "onnx compare", Some("onnx compare A B, with a greater --rtol, --atol or --ulps")),
        ("ONNX8000", "all commands", None),
        ("ONNX0011", "commands that read ONNX text", None),
        ("ONNX4001", "onnx inline", Some("onnx inline --allow call-not-inlined MODEL -o OUT")),
        ("ONNX4043", "onnx convert --opset, and onnx merge if the versions of the models differ", None),
        (
            "ONNX5101",
            "onnx check --target",
            Some("onnx check --target TARGET --allow target-lacks-feature FILE"),
        ),
    ] {
        let page = onnx(&folder, &format!("explain {rule}")).exits(0).out;
        let line = |start: &str| page.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
        assert_eq!(line("reported by:"), Some(reported), "{page}");
        assert_eq!(line("to silence it:"), silenced, "{page}");
        let is_about_models = rule == "value-defined-twice" || rule == "ONNX0011";
        assert_eq!(line("reference checker:").is_some(), is_about_models, "{page}");
    }
    onnx(&folder, "explain ONNX3001").exits(0).says("onnx check --allow ");
}
