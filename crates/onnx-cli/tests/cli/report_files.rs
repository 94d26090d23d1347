//! Reports name each file that a command writes and each repair that it makes, and lead to documents that exist.

use std::collections::BTreeMap;
use std::path::Path;

use crate::models;
use crate::reports::{RESULTS, envelope};
use crate::run::{Folder, Run, onnx};

/// The files under a directory, with their contents.
fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let (mut left, mut found) = (vec![folder.path().to_owned()], BTreeMap::new());
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

fn folder() -> Folder {
    let folder = Folder::with("in.onnx", models::small());
    folder.put("twice.onnx", models::small());
    folder.put("split.onnx", models::external("w.data"));
    folder.put("w.data", [0; 4096]);
    folder.put("weights.onnxtxt", crate::number_formats::WEIGHTS);
    folder.put("layers.onnxtxt", crate::outline::layers(4));
    folder.put("ugly.onnxtxt", crate::outline::layers(2).replace(' ', "  "));
    folder.put("twice.onnxtxt", TWICE);
    for name in ["weights", "layers", "twice"] {
        onnx(&folder, &format!("convert {name}.onnxtxt -o {name}.onnx --force --keep-going"));
    }
    folder
}

/// A model that `check --fix` repairs.
const TWICE: &str = r#"<ir_version: 10, opset_import: ["": 18]>
g (float[1] x) => (float[1] y) { a = Relu (x) a = Neg (x) y = Abs (a) }"#;

#[test]
fn every_file_that_a_command_writes_is_in_its_report() {
    for command in [
        "check twice.onnx --fix",
        "check twice.onnx --fix -o fixed.onnx",
        "convert split.onnx -o out.onnx --weights external=o.data --threshold 1",
        "convert in.onnx layers.onnx --opset 19 -o new/",
        "convert weights.onnx --float16 -o out.onnx",
        "simplify layers.onnx -o out.onnx --journal j.json",
        "rewrite layers.onnx --pass no-identities -o out.onnx --journal j.json",
        "edit in.onnx --metadata a=b --in-place",
        "edit in.onnx --metadata a=b -o out.onnx",
        "extract layers.onnx --outputs h2 -o out.onnx",
        "extract layers.onnx --parts 2 -o new/",
        "extract layers.onnx in.onnx --parts 2 -o new/",
        "infer in.onnx -o out.json",
        "inline in.onnx -o out.onnx",
        "outline layers.onnx -o out.onnxtxt",
        "merge in.onnx twice.onnx -o out.onnx --keep-going",
        "quantize weights.onnx --to int8 --weights-only -o out.onnx",
        "quantize weights.onnx --to int8 --seed 0 --save-ranges r.json -o out.onnx",
        "weights export weights.onnx -o w.safetensors",
        "weights export weights.onnx -o w.safetensors --shard-size 64",
        "weights export weights.onnx -o w.npz",
        "weights export in.onnx -o w.pb",
        "weights strip weights.onnx -o out.onnx",
        "weights import in.onnx --generate -o out.onnx",
        "run in.onnx -o new --save-inputs inputs",
        "run in.onnx -o out.npz",
        "draw in.onnx -o out.svg",
        "draw in.onnx -o out.html",
        "draw in.onnx -o out.png",
        "print in.onnx -o out.onnxtxt",
        "smith -o out.onnx",
        "fmt ugly.onnxtxt",
        "ops export --domain ai.onnx.ml -o ml.onnxops",
        "reduce layers.onnx -o out.onnx -- false",
    ] {
        for format in ["json", "jsonl"] {
            let folder = folder();
            let before = files(&folder);
            let (own, other) = command.split_once(" -- ").unwrap_or((command, ""));
            let separator = if other.is_empty() { "" } else { " -- " };
            let run = onnx(&folder, &format!("{own} --format {format}{separator}{other}"));
            let after = files(&folder);
            let changed = after.iter().filter(|(name, bytes)| before.get(*name) != Some(bytes));
            let sizes: BTreeMap<String, usize> =
                changed.map(|(name, bytes)| (name.clone(), bytes.len())).collect();
            let told = outputs(&run);
            assert!(!sizes.is_empty(), "{command}: {}{}", run.out, run.err);
            assert_eq!(told, sizes, "{command} --format {format}");
        }
    }
}

/// The outputs of the envelopes of a run, with their sizes.
fn outputs(run: &Run) -> BTreeMap<String, usize> {
    let lines: Vec<&str> =
        if run.out.lines().any(|line| line.ends_with('}') && line.starts_with(r#"{"schema""#)) {
            run.out.lines().collect()
        } else {
            vec![run.out.as_str()]
        };
    let mut found = BTreeMap::new();
    for line in lines {
        for output in envelope(line, run)["outputs"].as_array().unwrap() {
            assert_eq!(output["written"], true);
            let bytes = usize::try_from(output["bytes"].as_u64().unwrap()).unwrap();
            found.insert(output["name"].as_str().unwrap().to_owned(), bytes);
        }
    }
    found
}

#[test]
fn repairs_are_in_the_report() {
    for (command, name) in [
        ("check twice.onnx --fix", "twice.onnx"),
        ("check twice.onnx --fix --dry-run", "twice.onnx"),
        ("check twice.onnx --fix -o fixed.onnx", "fixed.onnx"),
    ] {
        let folder = folder();
        let run = onnx(&folder, &format!("{command} --format json")).exits(0);
        let report = envelope(&run.out, &run);
        let item = &report["result"]["models"][0];
        assert_eq!(
            (&item["name"], &item["repairs"][0]["code"]),
            (&name.into(), &"ONNX2101".into()),
            "{command}"
        );
        let what = item["repairs"][0]["what"].as_str().unwrap();
        assert!(run.err.contains(what), "{}", run.err);
        let again = onnx(&folder, "check in.onnx --fix --format json");
        let again = envelope(&again.out, &again);
        assert_eq!(again["result"]["models"][0]["repairs"].as_array().unwrap().len(), 0);
    }
}

/// Parts have the names of their files.
#[test]
fn parts_are_named_in_the_report() {
    let folder = folder();
    for (line, written) in [("-o new/", true), ("-o new/ --dry-run", false)] {
        let run = onnx(&folder, &format!("extract layers.onnx --parts 2 {line} --format json")).exits(0);
        let report = envelope(&run.out, &run);
        let names = |list: &serde_json::Value| -> Vec<String> {
            let list = list.as_array().unwrap().iter();
            list.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&report["result"]["models"]), ["new/part-1.onnx", "new/part-2.onnx"]);
        assert_eq!(names(&report["outputs"]), names(&report["result"]["models"]));
        assert_eq!(report["outputs"][0]["written"], written);
    }
}

fn document(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_kind_of_result_is_documented() {
    let text = document("docs/reports.md");
    for (kind, _) in RESULTS {
        let file = kind.replace('/', "-");
        assert!(text.contains(&format!("[`{kind}`](schema/{file}.schema.json)")), "{kind}");
        document(&format!("docs/schema/{file}.schema.json"));
    }
}

/// The URL of a finding leads to a row of a document of this repository.
#[test]
fn every_rule_has_a_page_and_an_anchor() {
    let folder = folder();
    let run = onnx(&folder, "check twice.onnxtxt --format json").exits(1);
    let url = run.json()["findings"][0]["url"].as_str().unwrap().to_owned();
    let (page, anchor) = url.split_once('#').unwrap();
    let (_, path) = page.split_once("/blob/main/").unwrap();
    assert_eq!(anchor, "ONNX2101");
    let text = document(path);
    let rules = onnx(&folder, "explain --list rules --format json").exits(0).json();
    let rules = rules["result"]["rules"].as_array().unwrap();
    assert!(rules.len() > 200);
    for rule in rules {
        let anchor = format!("<a id=\"{}\"></a>", rule["code"].as_str().unwrap());
        assert_eq!(text.matches(&anchor).count(), 1, "{anchor}");
    }
}

/// A model with warnings is not `ok`.
#[test]
fn tables_tell_warnings() {
    let folder = Folder::with(
        "warned.onnxtxt",
        r#"<ir_version: 10, opset_import: ["": 20]>
g (bool c, float[2] x, float[3] z) => (float[N] y) {
    y = If <then_branch = t () => (float[N] p) { p = Add (x, z) }, else_branch = e () => (float[N] q) { q = Relu (x) }> (c)
}"#,
    );
    folder.put("good.onnx", models::small());
    folder.put("bad.onnxtxt", TWICE);
    let table = onnx(&folder, "check warned.onnxtxt good.onnx bad.onnxtxt --format csv").exits(1).out;
    let verdicts: Vec<(&str, &str)> = table
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.splitn(5, ',').collect();
            (cells[3], cells[4])
        })
        .collect();
    assert_eq!(
        verdicts,
        [
            ("1", "warning: ONNX3021: if this is executed: sizes 2 and 3 do not broadcast (ONNX3008)"),
            ("0", "ok"),
            ("0", "ONNX2101: value `a` is defined twice"),
        ]
    );
    let csv = onnx(&folder, "check warned.onnxtxt good.onnx --format csv --max-findings 1").exits(0).out;
    assert!(csv.lines().nth(1).unwrap().contains(",1,warning: ONNX3021: "), "{csv}");
}

/// Commands on several models that fail before the first one.
#[test]
fn refusals_of_several_models_have_the_format_of_the_report() {
    let folder = Folder::with("a.onnx", models::small());
    folder.put("b.onnx", models::small());
    std::fs::create_dir(folder.path().join("none")).unwrap();
    for words in [
        "simplify a.onnx b.onnx -o c.onnx",
        "simplify none -o out/",
        "simplify a.onnx b.onnx -o out/ --journal j.json",
        "simplify c.onnx d.onnx -o out/",
        "simplify c.onnx -o none",
    ] {
        let report = onnx(&folder, &format!("{words} --format json")).exits(2).json();
        assert_eq!(report["command"].as_str(), Some("simplify"), "{words}: {report}");
        assert!(report["failures"].as_array().is_some_and(|found| found.len() == 1), "{words}: {report}");
    }
    onnx(&folder, "simplify c.onnx -o none").exits(2).says("c.onnx: cannot be read");
}
