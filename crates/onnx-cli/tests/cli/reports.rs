//! Reports for programs: all commands write the envelope, and nothing that text shows is missing.

use serde_json::Value;

use crate::models;
use crate::run::{Folder, Run, onnx};

const SCHEMA: &str = include_str!("../../../../docs/schema/onnx-report-1.schema.json");

/// The envelope, if it follows the schema and the exit status.
#[track_caller]
pub(crate) fn envelope(text: &str, run: &Run) -> Value {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let report: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    result(&report["result"]);
    let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{61c}\u{200b}\u{feff}".contains(c);
    assert!(!run.out.contains(acts) && !run.err.contains(acts), "{}\n{}", run.out, run.err);
    report
}

/// The schemas of the results, by their kinds.
pub(crate) const RESULTS: [(&str, &str); 34] = [
    ("infer/1", include_str!("../../../../docs/schema/infer-1.schema.json")),
    ("info/1", include_str!("../../../../docs/schema/info-1.schema.json")),
    ("verify/1", include_str!("../../../../docs/schema/verify-1.schema.json")),
    ("self-test/1", include_str!("../../../../docs/schema/self-test-1.schema.json")),
    ("limits/1", include_str!("../../../../docs/schema/limits-1.schema.json")),
    ("passes/1", include_str!("../../../../docs/schema/passes-1.schema.json")),
    ("rewrite-rules/1", include_str!("../../../../docs/schema/rewrite-rules-1.schema.json")),
    ("rewrite/1", include_str!("../../../../docs/schema/rewrite-1.schema.json")),
    ("rules/1", include_str!("../../../../docs/schema/rules-1.schema.json")),
    ("operators/1", include_str!("../../../../docs/schema/operators-1.schema.json")),
    ("run/1", include_str!("../../../../docs/schema/run-1.schema.json")),
    ("compare/1", include_str!("../../../../docs/schema/compare-1.schema.json")),
    ("fmt/1", include_str!("../../../../docs/schema/fmt-1.schema.json")),
    ("inline/1", include_str!("../../../../docs/schema/inline-1.schema.json")),
    ("edit/1", include_str!("../../../../docs/schema/edit-1.schema.json")),
    ("diff/1", include_str!("../../../../docs/schema/diff-1.schema.json")),
    ("hash/1", include_str!("../../../../docs/schema/hash-1.schema.json")),
    ("extract/1", include_str!("../../../../docs/schema/extract-1.schema.json")),
    ("merge/1", include_str!("../../../../docs/schema/merge-1.schema.json")),
    ("find/1", include_str!("../../../../docs/schema/find-1.schema.json")),
    ("reduce/1", include_str!("../../../../docs/schema/reduce-1.schema.json")),
    ("targets/1", include_str!("../../../../docs/schema/targets-1.schema.json")),
    ("outline/1", include_str!("../../../../docs/schema/outline-1.schema.json")),
    ("cost/1", include_str!("../../../../docs/schema/cost-1.schema.json")),
    ("weights-list/1", include_str!("../../../../docs/schema/weights-list-1.schema.json")),
    ("weights-show/1", include_str!("../../../../docs/schema/weights-show-1.schema.json")),
    ("weights-stats/1", include_str!("../../../../docs/schema/weights-stats-1.schema.json")),
    ("weights-export/1", include_str!("../../../../docs/schema/weights-export-1.schema.json")),
    ("weights-import/1", include_str!("../../../../docs/schema/weights-import-1.schema.json")),
    ("weights-strip/1", include_str!("../../../../docs/schema/weights-strip-1.schema.json")),
    ("convert/1", include_str!("../../../../docs/schema/convert-1.schema.json")),
    ("number-format/1", include_str!("../../../../docs/schema/number-format-1.schema.json")),
    ("quantize/1", include_str!("../../../../docs/schema/quantize-1.schema.json")),
    ("check/1", include_str!("../../../../docs/schema/check-1.schema.json")),
];

/// Tests a result against the schema of its kind. Later versions may have more keys; those of this one are all listed.
#[track_caller]
fn result(result: &Value) {
    let Some(kind) = result["kind"].as_str() else {
        assert!(result.is_null(), "{result}");
        return;
    };
    let (_, schema) = RESULTS.iter().find(|(known, _)| *known == kind).unwrap_or_else(|| panic!("{kind}"));
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(result).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{kind}: {errors:#?}\n{result}");
}

/// Forbids keys that a schema does not list.
fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && object.get("properties").is_some_and(|listed| listed.is_object())
    {
        object.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(close),
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

/// Every kind of result is written, with all that it may contain.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of commands")]
fn every_kind_of_result_has_a_schema() {
    let folder = folder();
    folder.put("split.onnx", models::external("w.data"));
    let list = |last| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 18]> g (float[N] x) => (seq(float[N]) y, float[N] t) {{
            s = {last} (x)
            t = Log (s)
            y = SequenceConstruct (x, s)
        }}"
        )
    };
    folder.put("list.onnxtxt", list("Neg"));
    folder.put("other.onnxtxt", list("Abs"));
    folder.put("weights.onnxtxt", crate::number_formats::WEIGHTS);
    folder.put("functions.onnxtxt", crate::inline::STAYS);
    folder.put("calls.onnxtxt", crate::merge::CALLS);
    folder.put("layers.onnxtxt", crate::outline::layers(4));
    let mut kinds = std::collections::BTreeSet::new();
    for arguments in [
        "info good.onnx hostile.onnx late.onnxtxt split.onnx",
        "debug verify good.onnx",
        "hash good.onnx split.onnx",
        "diff list.onnxtxt other.onnxtxt",
        "diff good.onnx split.onnx",
        "infer good.onnx --unknown",
        "infer late.onnxtxt --guards",
        "infer late.onnxtxt --why z",
        "explain --list limits",
        "explain --list passes",
        "explain no-identities",
        "explain --list rewrite-rules",
        "explain mul-reciprocal",
        "explain --list rules",
        "explain ONNX1003",
        "ops list",
        "ops search conv",
        "ops show Loop",
        "ops show Attention",
        "ops com.microsoft.FusedMatMul",
        "run good.onnx -o recorded",
        "run good.onnx --expect recorded",
        "ops show BatchNormalization --version 6",
        "ops show Upsample --version 9",
        "ops show ai.onnx.ml.TreeEnsembleRegressor",
        "run good.onnx --stats --at sum",
        "run list.onnxtxt",
        "compare good.onnx good.onnx --inner",
        "compare list.onnxtxt other.onnxtxt --inner",
        "convert list.onnxtxt --float16",
        "convert list.onnxtxt --dequantize",
        "quantize weights.onnxtxt --to int8 --weights-only --measure",
        "quantize weights.onnxtxt --to uint8 --seed 0 --measure --losses",
        "fmt list.onnxtxt --check",
        "check list.onnxtxt --fix --dry-run",
        "rewrite list.onnxtxt --pass no-identities,folded-constants --prove",
        "info functions.onnxtxt",
        "inline functions.onnxtxt",
        "merge calls.onnxtxt --link functions.onnxtxt",
        "merge list.onnxtxt list.onnxtxt",
        "outline layers.onnxtxt",
        "edit layers.onnxtxt --set N=2 --rename x=ids --metadata a=b",
        "extract layers.onnxtxt --outputs h2",
        "cost good.onnx functions.onnxtxt",
        "weights list good.onnx",
        "weights show good.onnx --at w",
        "weights stats good.onnx",
        "weights export good.onnx",
        "weights strip good.onnx",
        "weights import good.onnx --generate",
        "convert list.onnxtxt --opset 13",
        "info list.onnxtxt --versions",
        "find layers.onnxtxt all()",
        "explain --list targets",
        "self-test",
        "reduce list.onnxtxt -- false",
    ] {
        // What follows `--` is a separate command.
        let (own, command) = arguments.split_once(" -- ").unwrap_or((arguments, ""));
        let separator = if command.is_empty() { "" } else { " -- " };
        let run = onnx(&folder, &format!("{own} --format json{separator}{command}"));
        let report = envelope(&run.out, &run);
        kinds.extend(report["result"]["kind"].as_str().map(str::to_owned));
    }
    assert_eq!(kinds.len(), RESULTS.len(), "{kinds:?}");
    let listed: Value = serde_json::from_str(SCHEMA).unwrap();
    let listed = &listed["properties"]["result"]["oneOf"][1]["properties"]["kind"]["enum"];
    let known: Value = RESULTS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(listed, &known);
}

/// A program that asks for JSON gets JSON, whatever is wrong with its arguments.
#[test]
fn wrong_arguments_are_reported_in_the_format_that_was_asked_for() {
    let folder = folder();
    for arguments in [
        "check good.onnx --limit nope=1 --format json",
        "check good.onnx --limit nodes=many --format=json",
        "info --format json",
        "infer good.onnx --set N --format json",
        "convert --format json",
        "frobnicate --json",
    ] {
        let run = onnx(&folder, arguments);
        assert_eq!(run.code, 2, "{arguments}");
        let report = envelope(&run.out, &run);
        assert_eq!(report["exit"], 2, "{arguments}: {}", run.out);
    }
    let run = onnx(&folder, "check good.onnx --limit nope=1");
    assert!(run.out.is_empty() && run.err.contains("is not a value of `--limit`"), "{}", run.err);
}

/// A folder with models of all kinds.
fn folder() -> Folder {
    let folder = Folder::with("good.onnx", models::small());
    folder.put("odd.onnx", models::odd());
    folder.put("wrong.onnx", models::wrong());
    folder.put("hostile.onnx", models::hostile());
    folder.put("page.onnx", "<html>");
    folder.put("bad.onnxtxt", "<ir_version: 8> g (float[N x) => (float y) {}");
    let late = "<ir_version: 10, opset_import: [\"\": 18]> g (float[1] x) => (float[1] z) {
        z = Relu (late)
        late = Abs (x)
    }";
    folder.put("late.onnxtxt", late);
    folder
}

const FILES: &str =
    "good.onnx odd.onnx wrong.onnx hostile.onnx page.onnx bad.onnxtxt late.onnxtxt missing.onnx";

#[test]
fn every_command_that_reports_writes_the_envelope() {
    let folder = folder();
    let mut runs: Vec<String> = Vec::new();
    for command in ["check", "check --full --data", "info", "debug verify"] {
        runs.push(format!("{command} {FILES}"));
    }
    for file in FILES.split(' ') {
        runs.push(format!("infer {file}"));
        runs.push(format!("infer {file} --unknown --strict"));
    }
    for command in [
        "explain --list limits",
        "ops list",
        "ops search soft",
        "ops show Conv",
        "ops show Absent",
        "ops search zzz",
    ] {
        runs.push(command.to_owned());
    }
    for arguments in runs {
        let run = onnx(&folder, &format!("{arguments} --format json"));
        let report = envelope(&run.out, &run);
        assert_eq!(report["exit"], run.code, "{arguments}");
        // The same exit status, whatever the format.
        for format in ["text", "sarif", "github", "jsonl"] {
            let other = onnx(&folder, &format!("{arguments} --format {format}"));
            assert_eq!(other.code, run.code, "{arguments} --format {format}: {}", other.err);
            if format == "jsonl" {
                other.out.lines().for_each(|line| drop(envelope(line, &other)));
                let last = envelope(other.out.lines().last().unwrap(), &other);
                assert_eq!(last["command"], "summary");
                assert_eq!(last["counts"], report["counts"], "{arguments}");
                assert_eq!(last["exit"], report["exit"]);
            }
            if format == "sarif" {
                sarif(&other.json(), &report);
            }
        }
    }
}

/// What SARIF requires, and that it has what JSON has.
#[track_caller]
fn sarif(log: &Value, report: &Value) {
    let run = &log["runs"][0];
    assert_eq!(log["version"], "2.1.0");
    let found = report["findings"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), found.len());
    for (result, found) in results.iter().zip(found) {
        assert_eq!(result["ruleId"], found["code"]);
        assert_eq!(result["level"], found["severity"]);
        assert_eq!(result["partialFingerprints"]["onnx/v1"], found["fingerprint"]);
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], found["code"]);
        assert!(run["tool"]["driver"]["rules"][index]["helpUri"].is_string());
        let message = result["message"]["text"].as_str().unwrap();
        assert!(message.starts_with(found["message"].as_str().unwrap()));
        let has_place = !found["place"]["steps"].as_array().unwrap().is_empty();
        assert_eq!(message.lines().next().unwrap().ends_with(')'), has_place, "{message}");
        let location = &result["locations"][0]["physicalLocation"];
        // A binary file has no lines, so it has no region: services read no other one.
        assert_eq!(
            (&location["region"]["startLine"], &location["properties"]["byteOffset"]),
            (&found["at"]["line"], &found["at"]["byte"])
        );
        assert_eq!(location["region"].is_object(), found["at"]["line"].is_number());
        found["notes"]
            .as_array()
            .unwrap()
            .iter()
            .for_each(|note| assert!(message.contains(note.as_str().unwrap())));
        let related = found["related"].as_array().unwrap().len();
        assert_eq!(result["relatedLocations"].as_array().map_or(0, Vec::len), related);
        let name = &result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"];
        let place = &found["place"];
        assert_eq!(name, if place["selector"].is_null() { &place["text"] } else { &place["selector"] });
    }
    let failures = report["failures"].as_array().unwrap();
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], failures.is_empty());
    assert_eq!(invocation["exitCode"], report["exit"]);
    let notifications = invocation["toolExecutionNotifications"].as_array().unwrap();
    let errors = notifications.iter().filter(|notification| notification["level"] == "error");
    assert_eq!(errors.count(), failures.len());
}

#[test]
fn labels_notes_and_unreadable_files_are_in_every_format() {
    let folder = folder();
    let text = onnx(&folder, "check late.onnxtxt page.onnx").exits(2);
    assert!(text.out.contains("::: made here"), "{}", text.out);
    let json = onnx(&folder, "check late.onnxtxt page.onnx --format json").exits(2).json();
    let late = json["findings"].as_array().unwrap().iter().find(|found| found["code"] == "ONNX2312").unwrap();
    assert_eq!(late["related"][0]["message"], "made here");
    assert_eq!(late["related"][0]["place"]["selector"], "node(1)");
    assert_eq!(late["place"]["selector"], "node(0)");
    assert_eq!(late["fix"]["safe"], true);
    assert_eq!(json["failures"][0]["code"], "ONNX8002");
    assert_eq!(json["failures"][0]["input"], 1);
    let sarif = onnx(&folder, "check late.onnxtxt page.onnx --format sarif").exits(2).json();
    let notification = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(notification["descriptor"]["id"], "ONNX8002");
    assert_eq!(notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "page.onnx");
    onnx(&folder, "check late.onnxtxt page.onnx --format github")
        .exits(2)
        .says("::error file=late.onnxtxt,line=2,col=")
        .says("%0Amade here: ")
        .says("::error file=page.onnx,title=ONNX8002 not-a-model::page.onnx: this is a web page");
    onnx(&folder, "explain ONNX8002").exits(0).says("not-a-model").says("Repair");
}

#[test]
fn notes_that_nearly_every_model_has_are_counted() {
    let text = "<ir_version: 10, opset_import: [\"\": 18], producer_name: \"p\"> g (float[1] \"a/b\") => (float[1] y) { y = Relu (\"a/b\") }";
    let folder = Folder::with("m.onnxtxt", text);
    let run = onnx(&folder, "check m.onnxtxt").exits(0);
    assert_eq!(run.out, "m.onnxtxt: no findings (1 note not shown: --notes shows all)\n");
    onnx(&folder, "check m.onnxtxt --notes").exits(0).says("note[ONNX2207]").says("m.onnxtxt: 1 note\n");
    onnx(&folder, "check m.onnxtxt --deny notes").exits(1).says("error[ONNX2207]");
    onnx(&folder, "check m.onnxtxt --deny ONNX2207").exits(1).says("error[ONNX2207]");
    let counts = onnx(&folder, "check m.onnxtxt --format json").exits(0).json()["counts"].clone();
    assert_eq!(counts["hidden"], 1);
    assert_eq!(counts["by_code"]["ONNX2207"], 1);
    onnx(&folder, "check m.onnxtxt m.onnxtxt").exits(0).says("2 more notes not shown (--notes shows all)");
}

#[test]
fn arguments_are_repeated_without_characters_that_act() {
    let folder = folder();
    for hostile in ["\u{1b}[2J", "\u{1b}]0;x\u{7}", "\u{202e}", "\u{200b}x", "\u{9b}1m", "\r"] {
        for arguments in [
            hostile.to_owned(),
            format!("check --{hostile}"),
            format!("check --format {hostile} good.onnx"),
            format!("check {hostile} --format json"),
            format!("check {hostile} --format sarif"),
            format!("check {hostile} --format github"),
            format!("check --allow {hostile} good.onnx --format json"),
            format!("ops show {hostile}"),
            format!("explain {hostile}"),
            format!("infer good.onnx --set {hostile}=x -o o.onnx"),
            format!("infer good.onnx --why {hostile}"),
            format!("smith --op {hostile} -o o.onnx"),
            format!("convert good.onnx -o o.{hostile}"),
            format!("check good.onnx --limit {hostile}=3"),
        ] {
            let run = onnx(&folder, &arguments);
            let acts = |c: char| {
                (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{200b}' | '\u{61c}' | '\u{9b}')
            };
            assert!(
                !run.out.contains(acts) && !run.err.contains(acts),
                "{arguments:?}: {:?} {:?}",
                run.out,
                run.err
            );
            assert!(run.code != 0 || hostile == "\r", "{arguments:?}");
        }
    }
}

#[test]
fn help_has_no_colors_when_the_user_wants_none() {
    let folder = folder();
    let plain = [
        "--color never --help",
        "check --help --color never",
        "--color never --help",
        "--color=never --nonsense",
    ];
    let colored = ["--help", "check --help", "--nonsense", "--color always --help"];
    let forced = |arguments: &str| {
        let mut command = crate::run::command(arguments.split(' '));
        let output = command.current_dir(folder.path()).env("CLICOLOR_FORCE", "1").output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    for (arguments, is_colored) in
        plain.map(|text| (text, false)).into_iter().chain(colored.map(|text| (text, true)))
    {
        assert_eq!(forced(arguments).contains("\u{1b}["), is_colored, "{arguments}");
        #[cfg(target_os = "linux")]
        {
            let shown = crate::run::on_terminal(&folder, arguments, 80);
            assert_eq!(shown.contains("\u{1b}["), is_colored, "{arguments}: {shown}");
        }
        // A pipe gets colors only if they are requested.
        let run = onnx(&folder, arguments);
        let has_colors = run.out.contains('\u{1b}') || run.err.contains('\u{1b}');
        assert_eq!(has_colors, arguments.contains("always"), "{arguments}");
    }
}

/// No command has `--json`.
#[test]
fn an_unknown_json_option_is_answered_with_the_format() {
    let folder = folder();
    for arguments in [
        "check good.onnx --json",
        "check --json",
        "infer good.onnx --json",
        "ops list --json",
        "explain --list limits --json",
    ] {
        let run = onnx(&folder, arguments).exits(2);
        let report = envelope(&run.out, &run);
        assert_eq!(report["failures"][0]["message"], "`--json` is `--format json` here", "{arguments}");
        let corrected = format!("write `onnx {}`", arguments.replace("--json", "--format json"));
        assert_eq!(report["failures"][0]["help"], corrected.as_str(), "{arguments}");
    }
    let run = onnx(&folder, "check good.onnx --jsn --format json").exits(2);
    assert!(!run.out.contains("write `onnx"), "{}", run.out);
}

/// The report of a command whose standard output is a model goes to a file.
#[test]
fn reports_of_written_models_are_files() {
    let folder = folder();
    let run = onnx(&folder, "convert good.onnx -o - --to json --report r.json").exits(0);
    assert!(run.json().is_object());
    let report = String::from_utf8(folder.get("r.json")).unwrap();
    let report = envelope(&report, &run);
    assert_eq!((&report["command"], &report["inputs"][0]["name"]), (&"convert".into(), &"good.onnx".into()));
    let args = "convert good.onnx -o o.onnx --weights external=o.data --threshold 1 --report r.json";
    let run = onnx(&folder, args).exits(0);
    assert_eq!(run.out, "");
    let report = envelope(&String::from_utf8(folder.get("r.json")).unwrap(), &run);
    let names: Vec<_> =
        report["outputs"].as_array().unwrap().iter().map(|file| file["name"].clone()).collect();
    assert_eq!(names, ["o.onnx", "o.data"]);
    assert_eq!(report["outputs"][1]["bytes"], folder.get("o.data").len());
    onnx(&folder, "smith --nodes 3 -o s.onnx --report s.sarif").exits(0);
    assert!(String::from_utf8(folder.get("s.sarif")).unwrap().contains("2.1.0"));
    let run = onnx(&folder, "infer good.onnx --unknown --report i.json").exits(0);
    let report = envelope(&String::from_utf8(folder.get("i.json")).unwrap(), &run);
    assert_eq!(report["result"]["kind"], "infer/1");
    folder.put("other.onnx", models::small());
    // A model is not replaced by a report, and both need different places.
    onnx(&folder, "convert good.onnx -o - --to json --report other.onnx").exits(2).says("exists and is not");
    onnx(&folder, "convert good.onnx -o x.onnx --report x.onnx").exits(2).says("is not the input");
    onnx(&folder, "convert good.onnx -o in.json").exits(0);
    let model = folder.get("in.json");
    onnx(&folder, "infer in.json --unknown --report ./in.json").exits(2).says("is not the input");
    assert!(folder.get("in.json") == model && !folder.list().contains(&"x.onnx".to_owned()));
    onnx(&folder, "convert good.onnx -o - --format json").exits(2).says("`--report FILE`");
    let run = onnx(&folder, "convert good.onnx -o x.onnx --format json").exits(0);
    assert_eq!(envelope(&run.out, &run)["outputs"][0]["name"], "x.onnx");
}

/// Severities are chosen in the same way for every command that reads a model.
#[test]
fn findings_of_reading_can_be_denied_and_allowed() {
    let folder = Folder::with("odd.onnx", models::odd());
    let report = onnx(&folder, "info odd.onnx --format json").exits(1).json();
    let codes: Vec<String> =
        report["counts"]["by_code"].as_object().unwrap().keys().map(ToOwned::to_owned).collect();
    assert!(!codes.is_empty());
    let allow = codes.join(",");
    for command in ["info odd.onnx", "debug verify odd.onnx", "print odd.onnx", "convert odd.onnx -o o.onnx"]
    {
        onnx(&folder, command).exits(1);
        onnx(&folder, &format!("{command} --allow {allow}")).exits(0);
        onnx(&folder, &format!("{command} --deny nothing")).exits(2).says("there is no rule `nothing`");
    }
    let few = onnx(&folder, "info odd.onnx --format json --max-findings 1").exits(1).json();
    assert_eq!(few["findings"].as_array().unwrap().len(), 1);
    assert_eq!(few["counts"]["errors"], report["counts"]["errors"]);
}

/// What a command changes is as it was if its report, or its journal, cannot be written.
#[test]
fn nothing_is_changed_if_the_report_cannot_be_written() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[2] x) => (float[2] y) { a = Identity (x) y = Relu (a) }"#;
    let folder = Folder::with("a.onnxtxt", text);
    folder.put("other.json", "no report");
    onnx(&folder, "convert a.onnxtxt -o m.onnx").exits(0);
    let before = folder.get("m.onnx");
    let commands = [
        "convert m.onnx --opset 21",
        "convert m.onnx --float16",
        "simplify m.onnx",
        "rewrite m.onnx --pass no-identities",
        "edit m.onnx --rename a=b",
        "infer m.onnx",
        "quantize m.onnx --to int8 --seed 0",
    ];
    for command in commands {
        for file in ["none/r.json", "other.json"] {
            for output in ["--in-place", "-o out.onnx"] {
                onnx(&folder, &format!("{command} {output} --report {file}")).exits(2).says(file);
                assert!(folder.get("m.onnx") == before, "{command}");
                assert!(!folder.path().join("out.onnx").exists(), "{command}");
            }
        }
    }
    onnx(&folder, "rewrite m.onnx --pass no-identities --in-place --journal none/j.json")
        .exits(2)
        .says("none/j.json");
    assert!(folder.get("m.onnx") == before);
    assert_eq!(folder.get("other.json"), b"no report");
}
