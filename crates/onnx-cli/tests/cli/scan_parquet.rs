//! `onnx scan --to parquet`: the rows as a file of columns, which is complete or not there.

use bytes::Bytes;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};

use crate::run::{Folder, onnx};

const GOOD: &str = "<ir_version: 10, opset_import: [\"\": 21], producer_name: \"p\">
    g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }";

fn folder() -> Folder {
    let folder = Folder::with("good.onnxtxt", GOOD);
    folder.put("faulty.onnxtxt", GOOD.replace("y = Mul (x, w)", "y = Mul (x)"));
    folder.put("empty.onnx", "");
    folder
}

const FILES: &str = "--in-order good.onnxtxt faulty.onnxtxt empty.onnx none.onnx";

/// The rows of a file as objects of JSON, without their times.
#[track_caller]
fn rows(file: Vec<u8>) -> Vec<Value> {
    let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let value = |(name, field): (&String, &Field)| match (name.as_str(), field) {
        ("seconds", Field::Double(seconds)) if *seconds >= 0.0 => Value::Null,
        (_, Field::Null) => Value::Null,
        (_, Field::Str(text)) => json!(text),
        (_, Field::Bool(flag)) => json!(flag),
        (_, Field::Long(number)) => json!(number),
        other => panic!("{other:?}"),
    };
    let row =
        |row: Row| row.get_column_iter().map(|(name, field)| (name.clone(), value((name, field)))).collect();
    reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect()
}

#[test]
fn the_rows_are_those_of_other_forms() {
    let folder = folder();
    let lines = onnx(&folder, &format!("scan {FILES}")).exits(0).out;
    let mut expected: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    expected.iter_mut().for_each(|row| row["seconds"] = Value::Null);
    assert_eq!(expected.len(), 4);
    let run = onnx(&folder, &format!("scan {FILES} -o rows.parquet")).exits(0);
    assert_eq!(run.err, "4 rows: 1 without errors, 1 with errors, 2 that ended early\n");
    assert_eq!(rows(folder.get("rows.parquet")), expected);
    // Standard output, and a stream.
    assert_eq!(rows(onnx(&folder, &format!("scan {FILES} --to parquet")).exits(0).bytes), expected);
    #[cfg(unix)]
    onnx(&folder, &format!("scan {FILES} --to parquet -o /dev/null")).exits(0);
    // A folder without models has no row, and the file has the columns.
    folder.put("none/notes.txt", "");
    onnx(&folder, "scan none -o none.parquet").exits(2).says("*.onnx file under `none`");
    assert!(rows(folder.get("none.parquet")).is_empty());
}

#[test]
fn only_rows_are_replaced() {
    let folder = folder();
    let scan = format!("scan {FILES} -o rows.parquet");
    onnx(&folder, &scan).exits(0);
    let file = folder.get("rows.parquet");
    onnx(&folder, &scan).exits(2).says("rows.parquet: the file exists").says("`--force` replaces it");
    onnx(&folder, &format!("{scan} --resume")).exits(2).says("cannot be continued").says("`--to jsonl`");
    assert_eq!(folder.get("rows.parquet"), file);
    folder.put("good.onnxtxt", "");
    onnx(&folder, &format!("{scan} --force")).exits(0);
    assert_eq!(rows(folder.get("rows.parquet"))[0]["ok"], false);
    // Of another program, cut off, or with another name.
    let other = [&b"PAR1"[..], &[0; 9000], b"PAR1"].concat();
    for contents in [&other[..], &file[..file.len() - 1], b"notes"] {
        folder.put("rows.parquet", contents);
        onnx(&folder, &format!("{scan} --force")).exits(2).says("name another file");
        assert_eq!(folder.get("rows.parquet"), contents);
    }
    folder.put("rows.onnx", &file);
    onnx(&folder, &format!("scan {FILES} --to parquet -o rows.onnx --force")).exits(2);
    assert_eq!(folder.get("rows.onnx"), file);
    onnx(&folder, &format!("scan {FILES} --to csv -o rows.onnx --force")).exits(2).says("is not replaced");
}

/// A write that fails leaves no file.
#[cfg(unix)]
#[test]
fn half_a_file_has_no_name() {
    let folder = folder();
    let before = folder.list();
    onnx(&folder, &format!("scan {FILES} -o missing/rows.parquet")).exits(2).says("cannot be written");
    let mut shell = std::process::Command::new("sh");
    let script = format!("ulimit -f 0; exec \"$0\" scan {FILES} -o rows.parquet");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_onnx")]).current_dir(folder.path());
    let output = shell.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("rows.parquet: cannot be written"), "{errors}");
    assert_eq!(folder.list(), before);
}
