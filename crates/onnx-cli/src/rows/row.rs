//! A row: what is known about one file, with the columns of `SCAN_SCHEMA` of the Python package.

use serde::Serialize;
use serde_json::Value;

use crate::exit::Failure;
use crate::json::JsonText;
use crate::table::csv_field;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Flag,
    Integer,
    Number,
}

/// The columns in their order, with their types.
pub(crate) const COLUMNS: [(&str, Kind); 22] = [
    ("path", Kind::Text),
    ("ok", Kind::Flag),
    ("stage", Kind::Text),
    ("error_code", Kind::Text),
    ("error", Kind::Text),
    ("bytes", Kind::Integer),
    ("bytes_read", Kind::Integer),
    ("ir_version", Kind::Integer),
    ("opsets", Kind::Text),
    ("producer", Kind::Text),
    ("nodes", Kind::Integer),
    ("functions", Kind::Integer),
    ("parameters", Kind::Integer),
    ("weight_bytes", Kind::Integer),
    ("external_files", Kind::Integer),
    ("errors", Kind::Integer),
    ("warnings", Kind::Integer),
    ("finding_code", Kind::Text),
    ("finding", Kind::Text),
    ("unknown_shapes", Kind::Integer),
    ("seconds", Kind::Number),
    ("version", Kind::Text),
];

/// Facts about a file. What is not known is absent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    pub(crate) path: String,
    /// Everything was done, and no error was found.
    pub(crate) ok: bool,
    /// `done`, or where it ended.
    pub(crate) stage: &'static str,
    pub(crate) error_code: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) bytes: Option<u64>,
    /// How much of the file was read.
    pub(crate) bytes_read: Option<u64>,
    pub(crate) ir_version: Option<i64>,
    pub(crate) opsets: Option<String>,
    pub(crate) producer: Option<String>,
    pub(crate) nodes: Option<u64>,
    pub(crate) functions: Option<u64>,
    pub(crate) parameters: Option<u64>,
    pub(crate) weight_bytes: Option<u64>,
    pub(crate) external_files: Option<u64>,
    pub(crate) errors: Option<u64>,
    pub(crate) warnings: Option<u64>,
    /// The first error, or the first warning of a model without errors: its rule, and where and what it is.
    pub(crate) finding_code: Option<String>,
    pub(crate) finding: Option<String>,
    pub(crate) unknown_shapes: Option<u64>,
    pub(crate) seconds: f64,
    pub(crate) version: &'static str,
}

impl Row {
    /// A row about a file that nothing is known about.
    pub(crate) fn new(path: String) -> Self {
        Self { path, stage: "read", version: env!("CARGO_PKG_VERSION"), ..Self::default() }
    }

    /// The same where something ended the work.
    pub(crate) fn failed(mut self, code: &str, error: String) -> Self {
        (self.error_code, self.error) = (Some(code.to_owned()), Some(error));
        self
    }

    /// The columns in their order, with their names.
    #[must_use]
    pub fn columns(&self) -> Vec<(&'static str, Value)> {
        let mut row = serde_json::to_value(self.bounded()).unwrap_or_default();
        COLUMNS
            .iter()
            .map(|(name, _)| (*name, row.get_mut(name).map(Value::take).unwrap_or_default()))
            .collect()
    }

    /// The row as a line of JSON, without its end.
    pub(crate) fn json(&self) -> Result<String, Failure> {
        Ok(JsonText::of(&self.bounded())?.as_str().to_owned())
    }

    /// The row with values that every engine can write.
    fn bounded(&self) -> Self {
        let most = |number: Option<u64>| number.map(|number| number.min(i64::MAX as u64));
        Self {
            error: self.error.as_deref().map(cut),
            finding: self.finding.as_deref().map(cut),
            opsets: self.opsets.as_deref().map(cut),
            producer: self.producer.as_deref().map(cut),
            bytes: most(self.bytes),
            parameters: most(self.parameters),
            weight_bytes: most(self.weight_bytes),
            ..self.clone()
        }
    }
}

/// Text that comes from a file, which ends after 1,000 characters.
fn cut(text: &str) -> String {
    const MOST: usize = 1000;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some(_) => text.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

/// The headings of a table.
pub(crate) fn csv_head() -> String {
    COLUMNS.map(|(name, _)| name).join(",")
}

/// A row of JSON as a line of a table. Control characters are escaped, so that each row is one line.
pub(crate) fn csv(json: &str) -> Result<String, Failure> {
    let row: Value = serde_json::from_str(json).map_err(Failure::defect)?;
    let cell = |(name, _): &(&str, Kind)| match row.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => csv_field(text),
        Some(value) => value.to_string(),
    };
    Ok(COLUMNS.iter().map(cell).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON: &str = include_str!("../../../../python/onnxkit/_scan.py");

    #[test]
    fn the_columns_are_those_of_python() {
        let schema = PYTHON.split("SCAN_SCHEMA: ").nth(1).unwrap().split("\n}").next().unwrap();
        let of_arrow = |kind| match kind {
            Kind::Text => "string",
            Kind::Flag => "bool",
            Kind::Integer => "int64",
            Kind::Number => "float64",
        };
        let line = |line: &str| line.trim().strip_suffix(',').map(str::to_owned);
        let columns: Vec<String> = schema.lines().filter_map(line).collect();
        assert_eq!(columns, COLUMNS.map(|(name, kind)| format!("\"{name}\": \"{}\"", of_arrow(kind))));
        let json = Row::new("a".to_owned()).json().unwrap();
        let names = COLUMNS.map(|(name, _)| name);
        let keys: Vec<&str> = json.split('"').filter(|word| names.contains(word)).collect();
        assert_eq!(keys, names);
    }

    #[test]
    fn a_row_is_one_line_whatever_the_texts_are() {
        let mut row = Row::new("a,\"b\"\n\u{1b}[31m".to_owned()).failed("LoadError", "x".repeat(2000));
        (row.parameters, row.producer) = (Some(u64::MAX), Some("p\r\nq".to_owned()));
        let json = row.json().unwrap();
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["path"], "a,\"b\"\n\u{1b}[31m");
        assert_eq!(read["parameters"], i64::MAX);
        assert_eq!(read["error"].as_str().unwrap(), format!("{}…", "x".repeat(999)));
        assert!(!json.contains(['\n', '\u{1b}']), "{json}");
        let line = csv(&json).unwrap();
        let start = r#""a,""b""\n\u{1b}[31m",false,read,LoadError,xxx"#;
        assert!(line.starts_with(start), "{line}");
        assert!(line.contains(r",p\r\nq,,,9223372036854775807,,,,,,,,0.0,"), "{line}");
    }
}
