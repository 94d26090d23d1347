//! The recorded cases of the reference: what it was given and what it answered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

use super::archive;

/// One call of the reference.
#[derive(Clone, Debug)]
pub struct Record {
    /// The identifier of the case.
    pub id: String,
    /// The collection it comes from.
    pub suite: String,
    /// The function that was called.
    pub call: String,
    /// What went in.
    pub inputs: Vec<Blob>,
    /// The options of the call.
    pub options: Value,
    /// Whether the call succeeded.
    pub ok: bool,
    /// The class of the error, where there was one.
    pub error: Option<String>,
    /// What the error said.
    pub message: Option<String>,
    /// What came out.
    pub outputs: Vec<Blob>,
}

/// A piece of data of a case.
#[derive(Clone, Debug)]
pub struct Blob {
    /// What it is in the call.
    pub name: String,
    /// Its message type, or `text` and the like.
    pub kind: String,
    /// The name of its file in `blobs`, without the suffix.
    pub hash: String,
}

/// Reads the cases of a corpus: the lines of `manifest*.jsonl`.
///
/// # Errors
///
/// Returns an error if the manifest is missing or cannot be parsed.
pub fn read(corpus: &Path) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut found = false;
    archive::visit(corpus, &mut |mut entry| {
        if !(entry.name.starts_with("manifest") && entry.name.ends_with(".jsonl")) {
            return Ok(ControlFlow::Continue(()));
        }
        found = true;
        let name = entry.name.to_owned();
        let text = entry.read()?;
        for (index, line) in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
            let record = record(line).map_err(|error| format!("{name}:{}: {error}", index + 1))?;
            records.push(record);
        }
        Ok(ControlFlow::Break(()))
    })?;
    if found { Ok(records) } else { Err(format!("`{}` holds no `manifest*.jsonl`", corpus.display())) }
}

/// The contents of blobs, by the names of their files.
pub type Blobs = BTreeMap<String, Bytes>;

/// Reads the cases of a corpus that `wanted` picks, with everything that went in and came out.
///
/// # Errors
///
/// Returns an error if the manifest is missing or cannot be parsed, or a blob cannot be read.
pub fn read_with_blobs(
    corpus: &Path,
    wanted: impl Fn(&Record) -> bool,
) -> Result<(Vec<Record>, Blobs), String> {
    let mut records = read(corpus)?;
    records.retain(wanted);
    // The same model may have come from two tests of the reference.
    let mut met = BTreeSet::new();
    records.retain(|record| met.insert((record.call.clone(), record.id.clone())));
    let mut blobs = Blobs::new();
    for blob in records.iter().flat_map(|record| record.inputs.iter().chain(&record.outputs)) {
        blobs.insert(blob.hash.clone(), Bytes::new());
    }
    archive::visit(corpus, &mut |mut entry| {
        let hash = entry.name.strip_prefix("blobs/").and_then(|name| name.strip_suffix(".bin"));
        if let Some(slot) = hash.and_then(|hash| blobs.get_mut(hash)) {
            *slot = entry.read()?.into();
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((records, blobs))
}

/// The kind of every blob that some case names.
#[must_use]
pub fn kinds(records: &[Record]) -> BTreeMap<String, String> {
    let blobs = records.iter().flat_map(|record| record.inputs.iter().chain(&record.outputs));
    blobs.map(|blob| (blob.hash.clone(), blob.kind.clone())).collect()
}

fn record(line: &[u8]) -> Result<Record, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    Ok(Record {
        id: text(&value, "id")?,
        suite: text(&value, "suite")?,
        call: text(&value, "call")?,
        inputs: blobs(&value, "inputs")?,
        options: value.get("options").cloned().unwrap_or(Value::Null),
        ok: text(&value, "outcome")? == "ok",
        error: text(&value, "error_type").ok(),
        message: text(&value, "error_message").ok(),
        outputs: blobs(&value, "outputs")?,
    })
}

fn text(value: &Value, key: &str) -> Result<String, String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("`{key}` is missing"))
}

fn blobs(value: &Value, key: &str) -> Result<Vec<Blob>, String> {
    let list = value.get(key).and_then(Value::as_array).ok_or_else(|| format!("`{key}` is missing"))?;
    let blob = |value| {
        Ok(Blob { name: text(value, "name")?, kind: text(value, "kind")?, hash: text(value, "blob")? })
    };
    list.iter().map(blob).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_record() {
        let line = br#"{"id": "7f", "suite": "cpp", "call": "checker.check_model", "outcome": "ok", "options": {"x": 1},
            "inputs": [{"name": "model", "kind": "ModelProto", "blob": "2a"}], "outputs": []}"#;
        let record = record(line).unwrap();
        assert!(record.ok);
        assert_eq!(kinds(&[record]), BTreeMap::from([("2a".to_owned(), "ModelProto".to_owned())]));
        assert!(super::record(b"{}").is_err());
    }
}
