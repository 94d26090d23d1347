//! Rows of sources: the structure of a model is enough, and bounds hold while it is read.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use onnx_codec::{EncodeOptions, encode};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{Interrupt, Limits};
use serde_json::Value;

use super::*;

/// A source that lists the ranges that it gives.
struct Listed {
    bytes: Bytes,
    ranges: Vec<(u64, u64)>,
}

impl ReadRanges for Listed {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&mut self, start: u64, end: u64) -> Result<Bytes, ReadError> {
        self.ranges.push((start, end));
        Ok(self.bytes.slice(start as usize..end as usize))
    }
}

/// A model with a branch and weights of several types.
fn model() -> Vec<u8> {
    let mut weights = String::new();
    for (index, kind) in ["float", "double", "float", "double", "int64"].iter().enumerate() {
        let elements: Vec<String> = (0..3000).map(|element| (element * 7 % 251).to_string()).collect();
        let _ = write!(weights, "{kind}[50, 60] k{index} = {{{}}}, ", elements.join(", "));
    }
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (bool c, float[2] x) => (float[2] y)
        < {weights} float[2] w = {{1, 2}}, int64[2, 1] v = {{3, 4}} > {{
            a = Add (x, w)
            y = If (c) <then_branch = t () => (float[2] b) {{ b = Neg (a) }},
                        else_branch = e () => (float[2] d) {{ d = Abs (a) }}>
        }}"
    );
    let model = parse_model(text.as_bytes(), &ParseOptions::default()).unwrap();
    encode(&model, &EncodeOptions::default()).unwrap().to_vec()
}

fn row_of(source: &mut dyn ReadRanges, blocks: Blocks, options: &RowOptions) -> Vec<(&'static str, Value)> {
    let how = (blocks, DataPlace::default(), Some(Format::Onnx));
    made("m.onnx".to_owned(), |row| fill(row, source, how, options)).columns()
}

fn column(row: &[(&'static str, Value)], name: &str) -> Value {
    row.iter().find(|(column, _)| *column == name).unwrap().1.clone()
}

#[test]
fn the_structure_gives_the_row_of_all_bytes() {
    let whole = model();
    assert!(whole.len() > 50_000);
    let mut cases = vec![whole.clone(), [&whole[..], b"\x12\x08producer"].concat()];
    cases.extend((0..whole.len()).step_by(whole.len() / 40).map(|end| whole[..end].to_vec()));
    for at in (0..400).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 0xFF;
        cases.push(changed);
    }
    // Groups, closed and not, and a field that has none.
    for tail in [&b"\xfb\x07\x08\x01\xfc\x07"[..], b"\xfb\x07\x08\x01", b"\xfc\x07", b"\x00\x00", b"\xff\x07"]
    {
        cases.push([&whole[..], tail].concat());
        cases.push([tail, &whole[..]].concat());
    }
    let options = RowOptions::default();
    for case in cases {
        let mut source = Listed { bytes: case.into(), ranges: Vec::new() };
        let all = row_of(&mut source, Blocks { whole: 1 << 30, first: 1, most: 1 }, &options);
        assert!(source.ranges.len() <= 1);
        source.ranges.clear();
        let some = row_of(&mut source, Blocks { whole: 0, first: 64, most: 256 }, &options);
        assert!(source.ranges.is_sorted(), "{:?}", source.ranges);
        let same = |row: &[(&'static str, Value)]| -> Vec<_> {
            row.iter().filter(|(name, _)| !["bytes_read", "seconds"].contains(name)).cloned().collect()
        };
        assert_eq!(same(&some), same(&all), "{} bytes", source.bytes.len());
    }
    let mut source = Listed { bytes: whole.clone().into(), ranges: Vec::new() };
    let row = row_of(&mut source, Blocks { whole: 0, first: 64, most: 256 }, &options);
    assert_eq!((column(&row, "ok"), column(&row, "parameters")), (true.into(), 15_004.into()));
    let read: u64 = source.ranges.iter().map(|(start, end)| end - start).sum();
    assert_eq!(column(&row, "bytes_read"), read);
    assert!(read < whole.len() as u64 / 4, "{read}");
}

#[test]
fn nothing_is_read_of_what_is_too_large() {
    let mut source = Listed { bytes: model().into(), ranges: Vec::new() };
    let limits = Limits::default().with_input_bytes(1000);
    let options = RowOptions::default().with_execution(limits.into());
    let row = row_of(&mut source, Blocks::OBJECT, &options);
    assert_eq!((column(&row, "stage"), column(&row, "error_code")), ("load".into(), "LimitError".into()));
    let message = column(&row, "error");
    assert!(message.as_str().unwrap().ends_with("raise the limit `input_bytes` to accept it"), "{message}");
    assert!(source.ranges.is_empty());
    // In the words of the decoder.
    let bytes = source.bytes.clone();
    let length = bytes.len() as u64;
    let options = onnx_codec::DecodeOptions::default().with_execution(limits);
    let decoded = Failure::from(onnx_codec::decode(bytes, &options).err().unwrap()).message;
    assert_eq!(decoded, require_length(length, &limits).unwrap_err().message);
}

/// Reading takes its time from that of the file.
#[test]
fn the_interrupt_ends_every_stage() {
    let bytes: Bytes = model().into();
    let mut stages = Vec::new();
    for checks_until_the_end in 0.. {
        let count = Arc::new(AtomicU32::new(0));
        let interrupt =
            Interrupt::when(move || count.fetch_add(1, Ordering::Relaxed) >= checks_until_the_end);
        let options = RowOptions::default().with_execution(Execution::default().with_interrupt(interrupt));
        let mut source = Listed { bytes: bytes.clone(), ranges: Vec::new() };
        let row = row_of(&mut source, Blocks { whole: 0, first: 64, most: 256 }, &options);
        let stage = column(&row, "stage");
        if stage == "done" {
            break;
        }
        assert_eq!(
            (column(&row, "error_code"), column(&row, "error")),
            ("Stopped".into(), "the time for the file was exceeded".into()),
            "{stage}"
        );
        stages.push(stage);
    }
    stages.dedup();
    assert_eq!(stages, ["read", "load", "check", "infer"]);
}

#[test]
fn errors_of_a_source_are_those_of_the_row() {
    struct Failing(&'static str);
    impl ReadRanges for Failing {
        fn size(&self) -> u64 {
            100
        }

        fn read(&mut self, _: u64, _: u64) -> Result<Bytes, ReadError> {
            match self.0 {
                "short" => Ok(Bytes::from_static(b"abc")),
                _ => Err(ReadError::new("ConnectionError", "closed")),
            }
        }

        fn finish(&mut self) -> Result<(), ReadError> {
            Err(ReadError::new("FileChangedError", "other contents"))
        }
    }
    let row = |kind| of_source(&mut Failing(kind), "a".to_owned(), &RowOptions::default()).columns();
    let error = |row: &[(&'static str, Value)]| {
        ["stage", "error_code", "error", "bytes"].map(|name| column(row, name).to_string()).join(" ")
    };
    assert_eq!(error(&row("closed")), r#""read" "ConnectionError" "closed" 100"#);
    let short = "it had 100 bytes, and gave 3 of the 100 from byte 0 on";
    assert_eq!(error(&row("short")), format!(r#""read" "FileChangedError" "{short}" 100"#));
}
