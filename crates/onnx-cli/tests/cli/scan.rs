//! `onnx scan`: a row for each file, whatever it is.

use serde_json::Value;

use crate::run::{Folder, Run, onnx};

const GOOD: &str = "<ir_version: 10, opset_import: [\"\": 21, \"com.acme\": 3], producer_name: \"p\">
    g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }";

/// Files of several kinds: models, valid and not, and what is none.
fn folder() -> Folder {
    let folder = Folder::with("good.onnxtxt", GOOD);
    let faulty = GOOD.replace("y = Mul (x, w)", "y = Mul (x)");
    folder.put("faulty.onnxtxt", faulty);
    for name in ["good", "faulty"] {
        folder.put(&format!("models/{name}.onnx"), "");
        onnx(&folder, &format!("convert {name}.onnxtxt -o models/{name}.onnx")).exits(0);
    }
    folder.put("models/empty.onnx", "");
    folder.put("models/inner/text.onnx", "Dear all,\n\nthe model is attached.\n");
    folder
}

#[track_caller]
fn rows(run: &Run) -> Vec<Value> {
    let rows = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
    rows.collect()
}

/// The path, whether all is well, the stage and the code of the error.
fn brief(rows: &[Value]) -> Vec<String> {
    let brief = |row: &Value| {
        let code = row["error_code"].as_str().unwrap_or("-");
        format!("{} {} {} {code}", row["path"].as_str().unwrap(), row["ok"], row["stage"].as_str().unwrap())
    };
    rows.iter().map(brief).collect()
}

#[test]
fn every_file_has_a_row() {
    let folder = folder();
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", folder.path().join("missing.onnx")).unwrap();
    let run = onnx(&folder, "scan models missing.onnx models/good.onnx good.onnxtxt --in-order").exits(0);
    let found = rows(&run);
    assert_eq!(
        brief(&found),
        [
            "models/empty.onnx false load LoadError",
            "models/faulty.onnx false done -",
            "models/good.onnx true done -",
            "models/inner/text.onnx false load LoadError",
            "missing.onnx false read FileNotFoundError",
            "models/good.onnx true done -",
            "good.onnxtxt true done -",
        ]
    );
    assert_eq!(run.err, "7 rows: 3 without errors, 1 with errors, 3 that ended early\n");
    let mut good = found[2].clone();
    assert!(good["seconds"].as_f64().unwrap() >= 0.0);
    good["seconds"] = Value::Null;
    let bytes = folder.get("models/good.onnx").len();
    let expected = format!(
        r#"{{"path":"models/good.onnx","ok":true,"stage":"done","error_code":null,"error":null,"bytes":{bytes},"bytes_read":{bytes},
        "ir_version":10,"opsets":"ai.onnx=21,com.acme=3","producer":"p","nodes":1,"functions":0,"parameters":2,"weight_bytes":8,
        "external_files":0,"errors":0,"warnings":0,"finding_code":null,"finding":null,"unknown_shapes":0,"seconds":null,"version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(good, serde_json::from_str::<Value>(&expected).unwrap());
    assert_eq!((&found[1]["errors"], &found[1]["finding_code"]), (&1.into(), &"ONNX2308".into()));
    assert!(found[1]["finding"].as_str().unwrap().contains("Mul"), "{}", found[1]);
    assert_eq!(found[0]["error"], "the file is empty");
    assert_eq!(found[4]["error"], "No such file or directory");
}

#[test]
fn rows_do_not_depend_on_the_number_of_processes() {
    let folder = folder();
    for index in 0..20 {
        folder.put(&format!("models/{index}.onnx"), folder.get("models/good.onnx"));
    }
    let without_times = |jobs: &str| {
        let mut rows = rows(&onnx(&folder, &format!("scan models --jobs {jobs} --in-order")).exits(0));
        rows.iter_mut().for_each(|row| row["seconds"] = Value::Null);
        rows
    };
    let one = without_times("1");
    assert_eq!(one.len(), 24);
    assert_eq!(without_times("3"), one);
}

#[test]
fn tables_have_the_same_rows() {
    let folder = folder();
    let run = onnx(&folder, "scan models --to csv --in-order").exits(0);
    let lines: Vec<&str> = run.out.split_terminator("\r\n").collect();
    let head = "path,ok,stage,error_code,error,bytes,bytes_read,ir_version,opsets,producer,nodes,functions,parameters,\
                weight_bytes,external_files,errors,warnings,finding_code,finding,unknown_shapes,seconds,version";
    assert_eq!(lines[0], head);
    assert_eq!(lines.len(), 5);
    assert!(lines[3].starts_with("models/good.onnx,true,done,,,"), "{}", lines[3]);
    assert!(lines[3].contains(",10,\"ai.onnx=21,com.acme=3\",p,1,0,2,8,0,0,0,,,0,"), "{}", lines[3]);
}

#[test]
fn a_scan_that_was_killed_is_continued() {
    let folder = folder();
    for (form, file) in [("jsonl", "rows.jsonl"), ("csv", "rows.csv")] {
        let scan = format!("scan models --to {form} -o {file} --in-order");
        onnx(&folder, &scan).exits(0);
        let whole = String::from_utf8(folder.get(file)).unwrap();
        let lines = if form == "csv" { 5 } else { 4 };
        assert_eq!(whole.lines().count(), lines);
        onnx(&folder, &scan).exits(2).says("the file exists").says("--resume");
        assert_eq!(folder.get(file), whole.as_bytes());
        // Two rows are complete, and one is not.
        let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
        folder.put(file, &whole[..ends[lines - 3] + 9]);
        let run = onnx(&folder, &format!("{scan} --resume")).exits(0);
        assert!(run.err.ends_with("; 2 rows present before\n"), "{}", run.err);
        let again = String::from_utf8(folder.get(file)).unwrap();
        let paths = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split(",").next().unwrap().to_owned()).collect()
        };
        assert_eq!(paths(&again), paths(&whole));
        assert!(again.starts_with(&whole[..ends[lines - 3]]));
        // Nothing is left.
        onnx(&folder, &format!("{scan} --resume")).exits(0).says("0 rows");
        assert_eq!(folder.get(file), again.as_bytes());
        // The first line is incomplete.
        folder.put(file, &whole[..8]);
        onnx(&folder, &format!("{scan} --resume")).exits(0);
        assert_eq!(paths(&String::from_utf8(folder.get(file)).unwrap()), paths(&whole));
        // A file that is none of ours is kept.
        for other in ["name,size\na,1\n", "{\"a\": 1}\n", "notes", "\u{fe}\n", "{\"path\":\"a\",\"size\":1}"]
        {
            folder.put(file, other);
            onnx(&folder, &format!("{scan} --resume")).exits(2).says("is not a row of this command");
            assert_eq!(folder.get(file), other.as_bytes());
        }
        // `--force` replaces rows, and nothing else.
        onnx(&folder, &format!("{scan} --force")).exits(2).says("is not replaced");
        folder.put(file, &whole[..8]);
        onnx(&folder, &format!("{scan} --force")).exits(0);
        assert_eq!(paths(&String::from_utf8(folder.get(file)).unwrap()), paths(&whole));
    }
}

/// Different files can have the same name in a row.
#[test]
fn a_row_is_that_of_one_file() {
    let folder = folder();
    let model = folder.get("models/good.onnx");
    #[cfg(unix)]
    for name in [&b"z\xff"[..], b"z\\xff", b"z\n", b"z\\n"] {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::write(folder.path().join("models").join(name).with_extension("onnx"), &model).unwrap();
    }
    for (form, head) in [("jsonl", 0), ("csv", 1)] {
        let scan = format!("scan models models/good.onnx models/good.onnx --jobs 1 -o rows.{form}");
        onnx(&folder, &scan).exits(0);
        let whole = String::from_utf8(folder.get(&format!("rows.{form}"))).unwrap();
        let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
        let paths = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split(",").next().unwrap().to_owned()).collect()
        };
        for end in &ends[head..] {
            folder.put(&format!("rows.{form}"), &whole[..*end]);
            onnx(&folder, &format!("{scan} --resume")).exits(0);
            let again = String::from_utf8(folder.get(&format!("rows.{form}"))).unwrap();
            assert_eq!(paths(&again), paths(&whole));
        }
    }
}

/// A file that takes long holds back no other row, unless the order is wanted.
#[test]
fn rows_are_written_when_they_are_made() {
    let folder = folder();
    let mut text = GOOD.split('{').next().unwrap().replace("<float[2] w = ", "{ v0 = Neg (x) ");
    for index in 0..100_000 {
        text.push_str(&format!("v{} = Neg (v{index}) ", index + 1));
    }
    text.push_str("y = Neg (v100000) }");
    folder.put("slow.onnxtxt", text);
    let paths = |args: &str| -> Vec<String> {
        let run = onnx(&folder, &format!("scan slow.onnxtxt models {args}")).exits(0);
        rows(&run).iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths("--jobs 2").last().unwrap(), "slow.onnxtxt");
    assert_eq!(paths("--jobs 2 --in-order")[0], "slow.onnxtxt");
}

/// A row has what `onnx check` finds, for every model of the tests.
#[test]
fn rows_agree_with_check() {
    let folder = folder();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models");
    let elided = GOOD.replace("{1, 2}", "{...}");
    folder.put("models/elided.onnxtxt", elided);
    // A missing file of weights is found, too.
    let external = "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y)
        <float[2] w = [\"location\": \"none.bin\"]> { y = Mul (x, w) }";
    folder.put("models/external.onnxtxt", external);
    folder.put(
        "models/contradiction.onnxtxt",
        GOOD.replace("float[2] w", "float[3] w = {1, 2, 3}, float[2] v"),
    );
    let mut files: Vec<_> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    files.extend(
        ["elided", "external", "contradiction"]
            .map(|name| folder.path().join(format!("models/{name}.onnxtxt"))),
    );
    assert!(files.len() > 50);
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let found = rows(&onnx(&folder, &format!("scan --in-order {}", names.join(" "))).exits(0));
    for (name, row) in names.iter().zip(&found) {
        let run = onnx(&folder, &format!("check --format json {name}"));
        assert_eq!(row["ok"] == true, run.code == 0, "{row}\n{}", run.err);
        if row["stage"] != "done" {
            continue;
        }
        let report = run.json();
        let counts = &report["counts"];
        for (column, key) in [("errors", "errors"), ("warnings", "warnings")] {
            assert_eq!(row[column], counts[key], "{row}\n{counts}");
        }
    }
}

/// The extension of the output is the form, unless another one is given.
#[test]
fn the_extension_is_the_form() {
    let folder = folder();
    let start = |args: &str, file: &str| {
        onnx(&folder, &format!("scan models/good.onnx -o {file} {args}")).exits(0);
        String::from_utf8(folder.get(file)).unwrap().chars().take(8).collect::<String>()
    };
    assert_eq!(start("", "rows.CSV"), "path,ok,");
    assert_eq!(start("--to jsonl", "rows.csv"), "{\"path\":");
    assert_eq!(start("--to csv", "rows.jsonl"), "path,ok,");
    assert_eq!(start("", "rows"), "{\"path\":");
    assert_eq!(start("--to jsonl", "rows.json"), "{\"path\":");
    assert_eq!(start("--to csv", "rows.xyz"), "path,ok,");
    for file in ["rows.xlsx", "rows.json", "rows.", "rows.jsonl.gz"] {
        let run = onnx(&folder, &format!("scan models/good.onnx -o {file}")).exits(2);
        for form in ["`--to jsonl`", "`--to csv`", "`--to parquet`", "*.jsonl", file] {
            assert!(run.err.contains(form), "{form}: {}", run.err);
        }
    }
    assert!(!folder.path().join("rows.xlsx").exists());
}

/// Two scans that write one file would overwrite rows of each other.
#[test]
fn a_file_has_one_writer() {
    let folder = folder();
    onnx(&folder, "scan models -o rows.jsonl").exits(0);
    let rows = folder.get("rows.jsonl");
    let other = std::fs::File::open(folder.path().join("rows.jsonl")).unwrap();
    other.lock().unwrap();
    for flag in ["--resume", "--force"] {
        let scan = format!("scan models -o rows.jsonl {flag}");
        onnx(&folder, &scan).exits(2).says("rows.jsonl: another process writes the file");
    }
    other.unlock().unwrap();
    assert_eq!(folder.get("rows.jsonl"), rows);
    onnx(&folder, "scan models -o rows.jsonl --force").exits(0);
    // A device has any number of writers.
    #[cfg(unix)]
    onnx(&folder, "scan models -o /dev/null --force").exits(0);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let folder = folder();
    let message = "this program was built without the cargo feature `parquet`";
    for args in
        ["--to parquet", "-o rows.parquet", "--to parquet -o rows --resume", "-o rows.parquet --force"]
    {
        onnx(&folder, &format!("scan models {args}")).exits(2).says(message).says("`--to jsonl`");
    }
    assert_eq!(folder.list(), ["faulty.onnxtxt", "good.onnxtxt", "models"]);
    onnx(&folder, "scan models --to jsonl -o rows.parquet").exits(0);
}

#[test]
fn other_files_are_never_replaced() {
    let folder = folder();
    let model = folder.get("models/good.onnx");
    for flag in ["", " --force", " --resume"] {
        onnx(&folder, &format!("scan models -o models/good.onnx{flag}")).exits(2);
        assert_eq!(folder.get("models/good.onnx"), model);
    }
    // The form of an output may change.
    onnx(&folder, "scan models -o rows").exits(0);
    onnx(&folder, "scan models -o rows --to csv --force").exits(0);
    assert!(folder.get("rows").starts_with(b"path,ok,"));
    onnx(&folder, "scan models -o rows --resume")
        .exits(2)
        .says("is not a row of this command with `--to jsonl`");
    #[cfg(unix)]
    onnx(&folder, "scan models -o /dev/null").exits(0);
    #[cfg(unix)]
    onnx(&folder, "scan models -o /dev/null --resume").exits(2).says("only a regular file");
}

/// A limit that inference or external data exceed is not a defect of the model, and nothing that was found.
#[test]
fn limits_end_the_stage_in_which_they_are_exceeded() {
    let folder = folder();
    let steps = "<ir_version: 10, opset_import: [\"\": 18]> g (float[a, b, c, d] x) => (int64[N] z)
        { s = Shape (x) t = ReduceSum (s) r = Add (s, t) z = Mul (r, r) }";
    folder.put("steps.onnxtxt", steps);
    let faulty = steps.replace("z = Mul (r, r)", "z = Mul (r, r) q = Mul (r)");
    folder.put("faulty-steps.onnxtxt", faulty);
    let external = |name: &str| format!("float[2] {name} = [\"location\": \"{name}.bin\"]");
    let head = "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y)";
    folder.put(
        "external.onnxtxt",
        format!("{head} <{}, {}> {{ y = Add (a, b) }}", external("a"), external("b")),
    );
    let shape = "int64[1] s = [\"location\": \"s.bin\"]";
    folder.put("shape.onnxtxt", format!("{head} <{shape}> {{ y = Reshape (x, s) }}"));
    ["a", "b", "s"].iter().for_each(|name| drop(folder.put(&format!("{name}.bin"), 2_u64.to_le_bytes())));
    for (file, limit, stage, errors, name) in [
        ("steps", "expression_steps=1", "infer", Some(0), "expression_steps"),
        ("faulty-steps", "expression_steps=1", "infer", Some(1), "expression_steps"),
        ("external", "external_files=1", "check", None, "external_files"),
        ("shape", "external_bytes=1", "infer", Some(0), "external_bytes"),
        ("steps", "nodes=1", "load", None, "nodes"),
    ] {
        let found = rows(&onnx(&folder, &format!("scan {file}.onnxtxt --limit {limit}")).exits(0));
        let row = &found[0];
        assert_eq!(brief(&found), [format!("{file}.onnxtxt false {stage} LimitError")], "{row}");
        assert!(row["error"].as_str().unwrap().contains(&format!("raise the limit `{name}`")), "{row}");
        assert_eq!(row["errors"].as_u64(), errors, "{row}");
        assert_eq!(row["finding_code"] == Value::Null, errors != Some(1), "{row}");
        assert_eq!(row["unknown_shapes"], Value::Null, "{row}");
        if errors != Some(1) {
            let found = rows(&onnx(&folder, &format!("scan {file}.onnxtxt")).exits(0));
            assert_eq!(brief(&found), [format!("{file}.onnxtxt true done -")], "{}", found[0]);
        }
    }
}

#[test]
fn limits_and_times_are_of_a_file() {
    let folder = folder();
    let run = onnx(&folder, "scan models --in-order --limit nodes=0").exits(0);
    assert_eq!(rows(&run)[2]["error_code"], "LimitError");
    let run = onnx(&folder, "scan models --in-order --file-timeout 0s").exits(0);
    assert_eq!(brief(&rows(&run))[2], "models/good.onnx false read Stopped");
    let run = onnx(&folder, "scan models good.onnxtxt --in-order --limit input_bytes=1").exits(0);
    for row in [&rows(&run)[2], &rows(&run)[4]] {
        assert_eq!((&row["error_code"], &row["bytes_read"]), (&"LimitError".into(), &Value::Null), "{row}");
    }
    let run = onnx(&folder, "scan models --in-order --no-checks").exits(0);
    let row = &rows(&run)[1];
    assert_eq!(
        (&row["ok"], &row["errors"], &row["unknown_shapes"]),
        (&true.into(), &Value::Null, &Value::Null)
    );
}

#[test]
fn arguments_that_have_no_meaning_are_refused() {
    let folder = folder();
    onnx(&folder, "scan").exits(2).says("<FILE>");
    onnx(&folder, "scan -").exits(2).says("standard input");
    onnx(&folder, "scan models --resume").exits(2).says("--output");
    onnx(&folder, "scan models -o - --resume").exits(2).says("standard output");
    onnx(&folder, "scan models --to arrow").exits(2).says("jsonl").says("csv").says("parquet");
    onnx(&folder, "scan models -o missing/rows.jsonl").exits(2).says("cannot be written");
    folder.put("none/notes.txt", "");
    let run = onnx(&folder, "scan none models/good.onnx").exits(2).says("there is no *.onnx file");
    assert_eq!(brief(&rows(&run)), ["models/good.onnx true done -"]);
}

/// A file that takes more memory than there is ends the process that reads it, and still has a row.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_ends_its_process_has_a_row() {
    use crate::run::limited;

    let folder = folder();
    let mut text = GOOD.split('{').next().unwrap().to_owned();
    text = text.replace("<float[2] w = ", "{ v0 = Neg (x) ");
    for index in 0..800_000 {
        text.push_str(&format!("v{} = Neg (v{index}) ", index + 1));
    }
    text.push_str("y = Neg (v800000) }");
    folder.put("models/killer.onnxtxt", text);
    let scan = "scan --no-checks --jobs 1 models/good.onnx models/killer.onnxtxt models/faulty.onnx";
    let found = rows(&limited(&folder, scan, 300_000).exits(0));
    let [good, killer, faulty] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&good["stage"], &faulty["stage"]), (&"done".into(), &"done".into()));
    assert_eq!(
        (&killer["stage"], &killer["error_code"]),
        (&"process".into(), &"ProcessError".into()),
        "{killer}"
    );
    let error = killer["error"].as_str().unwrap();
    assert!(error.starts_with("the process ended with status 3: memory allocation of "), "{error}");
}

/// Pipes and directories are not read.
#[cfg(unix)]
#[test]
fn files_of_other_kinds_are_not_read() {
    let folder = folder();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.onnx")).status().unwrap();
    assert!(made.success());
    let run = onnx(&folder, "scan pipe.onnx").exits(0);
    assert_eq!(brief(&rows(&run)), ["pipe.onnx false read NotAFileError"]);
}

/// The bar shows the files that are done and one that is read, on a terminal only.
#[cfg(target_os = "linux")]
#[test]
fn long_scans_show_the_files_that_are_done() {
    let folder = folder();
    let mut text = GOOD.split('{').next().unwrap().replace("<float[2] w = ", "{ v0 = Neg (x) ");
    for index in 0..800_000 {
        text.push_str(&format!("v{} = Neg (v{index}) ", index + 1));
    }
    text.push_str("y = Neg (v800000) }");
    folder.put("slow.onnxtxt", text);
    let scan = "scan --jobs 1 --file-timeout 3s good.onnxtxt slow.onnxtxt -o rows.jsonl --force";
    let shown = crate::run::on_terminal(&folder, scan, 100);
    assert!(shown.contains("scanning 1/2 ["), "{shown}");
    assert!(shown.contains("slow.onnxtxt"), "{shown}");
    let run = onnx(&folder, scan).exits(0);
    assert!(run.err.starts_with("2 rows: ") && run.err.lines().count() == 1, "{}", run.err);
}
