//! Rows as columns of a file of Apache Parquet.

use std::mem::take;
use std::sync::Arc;

use onnx_codec::file::FileKind;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

use crate::exit::Failure;
use crate::rows::{COLUMNS, Kind};

/// The most rows of a row group.
const MOST_ROWS: usize = 8192;
/// The most bytes of the JSON of the rows of a row group, of which a long one can be more.
const MOST_BYTES: usize = 16 << 20;

/// Writes rows. Nothing is known about a group of rows until it is complete, so that few calls return bytes.
pub(super) struct Columns {
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

impl Columns {
    pub(super) fn new() -> Result<Self, Failure> {
        let schema = parse_message_type(&schema()).map_err(Failure::defect)?;
        let program = format!("{}{}", FileKind::ROWS_MARK, env!("CARGO_PKG_VERSION"));
        let properties = WriterProperties::builder().set_created_by(program).build();
        let file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties));
        let columns = COLUMNS.iter().map(|&(_, kind)| Column::new(kind)).collect();
        Ok(Self { file: file.map_err(Failure::defect)?, columns, rows: 0, bytes: 0 })
    }

    /// Adds a row, which is an object of JSON, and returns the next bytes of the file.
    pub(super) fn add(&mut self, json: &str) -> Result<Vec<u8>, Failure> {
        let row: Value = serde_json::from_str(json).map_err(Failure::defect)?;
        for ((name, _), column) in COLUMNS.iter().zip(&mut self.columns) {
            let value = row.get(name).unwrap_or(&Value::Null);
            let other = || Failure::defect(format_args!("a row has another value for `{name}`: {value}"));
            column.add(value).ok_or_else(other)?;
        }
        self.rows += 1;
        self.bytes += json.len();
        if self.rows == MOST_ROWS || self.bytes >= MOST_BYTES {
            self.end_group().map_err(Failure::defect)?;
        }
        Ok(self.written())
    }

    /// Ends the file, and returns its last bytes.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, Failure> {
        self.end_group().and_then(|()| self.file.finish()).map_err(Failure::defect)?;
        Ok(self.written())
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if take(&mut self.rows) == 0 {
            return Ok(());
        }
        self.bytes = 0;
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.file.flush()?;
        Ok(())
    }

    fn written(&mut self) -> Vec<u8> {
        take(self.file.inner_mut())
    }
}

/// The schema of the file. Every column may be absent, as in the tables that engines make of `SCAN_SCHEMA`.
fn schema() -> String {
    let field = |&(name, kind): &(&str, Kind)| match kind {
        Kind::Text => format!("optional binary {name} (string);"),
        Kind::Flag => format!("optional boolean {name};"),
        Kind::Integer => format!("optional int64 {name};"),
        Kind::Number => format!("optional double {name};"),
    };
    format!("message scan {{ {} }}", COLUMNS.iter().map(field).collect::<String>())
}

/// The values of a column in a group of rows that are present, and for each row 1 if its value is, or 0.
struct Column {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    Flag(Vec<bool>),
    Integer(Vec<i64>),
    Number(Vec<f64>),
}

impl Column {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Flag => Values::Flag(Vec::new()),
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Number => Values::Number(Vec::new()),
        };
        Self { values, levels: Vec::new() }
    }

    /// Adds a value; `None` if it is of another type.
    fn add(&mut self, value: &Value) -> Option<()> {
        self.levels.push(i16::from(!value.is_null()));
        if value.is_null() {
            return Some(());
        }
        match &mut self.values {
            Values::Text(values) => values.push(value.as_str()?.into()),
            Values::Flag(values) => values.push(value.as_bool()?),
            Values::Integer(values) => values.push(value.as_i64()?),
            Values::Number(values) => values.push(value.as_f64()?),
        }
        Some(())
    }

    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        let levels = take(&mut self.levels);
        match &mut self.values {
            Values::Text(values) => write::<ByteArrayType>(group, &take(values), &levels),
            Values::Flag(values) => write::<BoolType>(group, &take(values), &levels),
            Values::Integer(values) => write::<Int64Type>(group, &take(values), &levels),
            Values::Number(values) => write::<DoubleType>(group, &take(values), &levels),
        }
    }
}

/// Writes the next column.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: &[i16],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has too few columns".to_owned()));
    };
    column.typed::<T>().write_batch(values, Some(levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::{Field, Row};
    use serde_json::json;

    use super::*;
    use crate::rows::Row as OfFile;

    /// The rows of a file as objects of JSON.
    fn read(file: Vec<u8>) -> (usize, Vec<Value>) {
        let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
        let value = |field: &Field| match field {
            Field::Null => Value::Null,
            Field::Str(text) => json!(text),
            Field::Bool(flag) => json!(flag),
            Field::Long(number) => json!(number),
            Field::Double(number) => json!(number),
            other => panic!("{other:?}"),
        };
        let row =
            |row: Row| row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect();
        let rows = reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect();
        (reader.num_row_groups(), rows)
    }

    fn written(rows: &[String]) -> Vec<u8> {
        let mut columns = Columns::new().unwrap();
        let mut file: Vec<u8> = rows.iter().flat_map(|row| columns.add(row).unwrap()).collect();
        file.extend(columns.finish().unwrap());
        file
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut row = OfFile::new("=1+1,\"é\u{202e}\"\n".to_owned());
        (row.ok, row.seconds) = (true, 0.1 + 0.2);
        (row.bytes, row.parameters, row.ir_version) = (Some(u64::MAX), Some(0), Some(i64::MIN));
        (row.opsets, row.producer) = (Some(String::new()), Some("p\0".to_owned()));
        let rows = [
            row.json().unwrap(),
            OfFile::new(String::new()).failed("LoadError", "x".to_owned()).json().unwrap(),
        ];
        let (groups, found) = read(written(&rows));
        assert_eq!(groups, 1);
        assert_eq!(found, rows.map(|row| serde_json::from_str::<Value>(&row).unwrap()));
        assert_eq!(
            (&found[0]["bytes"], &found[0]["path"]),
            (&json!(i64::MAX), &json!("=1+1,\"é\u{202e}\"\n"))
        );
    }

    #[test]
    fn groups_are_bounded_and_no_row_is_lost() {
        let row = |index: usize| OfFile::new(format!("{index}.onnx")).json().unwrap();
        for (count, groups) in [(0, 0), (1, 1), (MOST_ROWS, 1), (MOST_ROWS + 1, 2), (3 * MOST_ROWS, 3)] {
            let rows: Vec<String> = (0..count).map(row).collect();
            let found = read(written(&rows));
            assert_eq!((found.0, found.1.len()), (groups, count));
            assert!(found.1.iter().enumerate().all(|(index, row)| row["path"] == format!("{index}.onnx")));
        }
        let long = OfFile::new("x".repeat(MOST_BYTES / 4)).json().unwrap();
        assert_eq!(read(written(&vec![long; 9])).0, 3);
    }

    #[test]
    fn the_schema_is_that_of_the_columns() {
        let mut columns = Columns::new().unwrap();
        assert!(columns.add("{\"path\":1}").is_err());
        let reader = SerializedFileReader::new(Bytes::from(written(&[]))).unwrap();
        let file = reader.metadata().file_metadata();
        let found: Vec<(String, String)> = file
            .schema_descr()
            .columns()
            .iter()
            .map(|column| {
                (
                    column.name().to_owned(),
                    format!("{} {:?}", column.physical_type(), column.logical_type_ref()),
                )
            })
            .collect();
        let kind = |kind| match kind {
            Kind::Text => "BYTE_ARRAY Some(String)",
            Kind::Flag => "BOOLEAN None",
            Kind::Integer => "INT64 None",
            Kind::Number => "DOUBLE None",
        };
        assert_eq!(found, COLUMNS.map(|(name, of)| (name.to_owned(), kind(of).to_owned())));
        assert_eq!(file.created_by(), Some(concat!("onnx scan version ", env!("CARGO_PKG_VERSION"))));
    }
}
