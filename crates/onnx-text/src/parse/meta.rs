//! Annotations, and lists that several places have.

use bytes::Bytes;
use onnx_ir::{Extras, Metadata, MetadataEntry, OpsetImport};
use onnx_types::raw_text::from_bytes;
use onnx_types::tensor::TensorMetadata;
use onnx_types::{FieldForms, Symbol, Text, UnknownField, UnknownFields};

use super::{Parser, Result};
use crate::lexer::hex_digit;
use crate::rules;

/// The keys of models and functions, and those that most annotations know.
const KEYS: [&str; 11] = [
    "ir_version",
    "opset_import",
    "producer_name",
    "producer_version",
    "domain",
    "model_version",
    "doc_string",
    "metadata_props",
    "overload",
    "denotation",
    "configuration",
];

/// The entries that most annotations can have.
#[derive(Default)]
pub(super) struct Form {
    pub(super) doc: Symbol,
    pub(super) metadata: Metadata,
    pub(super) forms: FieldForms,
    pub(super) unknown: UnknownFields,
}

impl Form {
    /// The same, boxed only when there is anything.
    pub(super) fn into_extras(self) -> Option<Box<Extras>> {
        let Self { doc, metadata, forms, unknown } = self;
        let extras = Extras::new(doc, metadata, forms, unknown);
        (!extras.is_empty()).then(|| Box::new(extras))
    }
}

impl<'a> Parser<'a> {
    /// Whether an annotation comes next.
    #[inline]
    pub(super) fn is_annotation(&mut self) -> bool {
        self.lex.peek() == Some(b'@') && self.lex.second() == Some(b'{')
    }

    /// Parses an annotation, if one comes next. `entry` parses the value of a key, and returns `true` if the key is
    /// valid.
    pub(super) fn annotation(&mut self, entry: impl FnMut(&mut Self, &'a [u8]) -> Result<bool>) -> Result {
        if !self.is_annotation() {
            return Ok(());
        }
        self.lex.bump();
        self.record(entry)
    }

    /// Parses `{key: value, …}`.
    pub(super) fn record(&mut self, mut entry: impl FnMut(&mut Self, &'a [u8]) -> Result<bool>) -> Result {
        self.expect(b'{')?;
        if self.lex.eat(b'}') {
            return Ok(());
        }
        loop {
            self.work()?;
            self.lex.peek();
            let mark = self.lex.mark();
            let key = self.word("a key")?;
            self.expect(b':')?;
            if !entry(self, key)? {
                return Err(self.unknown_key(mark, key));
            }
            if !self.lex.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    #[cold]
    pub(super) fn unknown_key(&mut self, mark: crate::lexer::Mark, key: &[u8]) -> onnx_diag::Reported {
        let text = String::from_utf8_lossy(key);
        let near = onnx_schema::nearest(&text, KEYS.iter().copied());
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        let message = format!("unknown key {}{near}", onnx_diag::Quoted(&text));
        self.error_at(&rules::UNKNOWN_KEY, mark, key.len(), message)
    }

    /// Parses the value of a key that most annotations know.
    pub(super) fn form_entry(&mut self, key: &[u8], form: &mut Form) -> Result<bool> {
        match key {
            b"doc_string" => form.doc = self.text("a string")?,
            b"metadata_props" => self.metadata(&mut form.metadata)?,
            b"present" => self.present(&mut form.forms)?,
            b"unknown" => self.unknown(&mut form.unknown)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Parses a list in brackets.
    pub(super) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result) -> Result {
        self.expect(b'[')?;
        if self.lex.eat(b']') {
            return Ok(());
        }
        loop {
            self.work()?;
            item(self)?;
            if !self.lex.eat(b',') {
                return self.expect(b']');
            }
        }
    }

    /// Parses a list of integers.
    pub(super) fn ints(&mut self, mut push: impl FnMut(i64)) -> Result {
        self.list(|parser| parser.int().map(&mut push))
    }

    /// Parses the numbers of fields that are explicitly encoded defaults or packed lists.
    pub(super) fn present(&mut self, forms: &mut FieldForms) -> Result {
        self.list(|parser| {
            parser.lex.peek();
            let mark = parser.lex.mark();
            let number = parser.int()?;
            match u32::try_from(number) {
                Ok(number) if number < 32 => *forms = *forms | FieldForms::from_iter([number]),
                _ => {
                    return Err(parser.out_of_range(
                        mark,
                        &number.to_string(),
                        "a field number from 0 to 31",
                    ));
                }
            }
            Ok(())
        })
    }

    /// Parses unknown fields, each with tag and contents.
    pub(super) fn unknown(&mut self, unknown: &mut UnknownFields) -> Result {
        self.list(|parser| {
            parser.lex.peek();
            let mark = parser.lex.mark();
            let bytes = parser.hex()?;
            match field_number(&bytes) {
                Some(number) => unknown.push(UnknownField { number, bytes }),
                None => return Err(parser.wrong_literal(mark, "a field with its tag, in hexadecimal digits")),
            }
            Ok(())
        })
    }

    /// Parses bytes as a string of hexadecimal digits.
    pub(super) fn hex(&mut self) -> Result<Bytes> {
        self.lex.peek();
        let mark = self.lex.mark();
        let digits = self.string("a string of hexadecimal digits")?;
        let (pairs, rest) = digits.as_chunks::<2>();
        let byte = |&[high, low]: &[u8; 2]| Some(hex_digit(high)? << 4 | hex_digit(low)?);
        match pairs.iter().map(byte).collect::<Option<Vec<u8>>>() {
            Some(bytes) if rest.is_empty() => Ok(bytes.into()),
            _ => Err(self.wrong_literal(mark, "an even number of hexadecimal digits")),
        }
    }

    /// Parses the bytes that a small message was read from, if an annotation gives them.
    pub(super) fn source(&mut self) -> Result<Option<Bytes>> {
        let mut source = None;
        self.annotation(|parser, key| match key {
            b"source" => {
                source = Some(parser.hex()?);
                Ok(true)
            }
            _ => Ok(false),
        })?;
        Ok(source)
    }

    /// Parses a list of metadata.
    pub(super) fn metadata(&mut self, metadata: &mut Metadata) -> Result {
        self.list(|parser| {
            let key = parser.text("a string")?;
            parser.expect(b':')?;
            let value = parser.owned_text()?;
            let source = parser.source()?.map(Box::new);
            metadata.push(MetadataEntry::with_source(key, value, source));
            Ok(())
        })
    }

    /// Parses a list of a tensor's metadata or external data.
    pub(super) fn tensor_metadata(&mut self, metadata: &mut Vec<TensorMetadata>) -> Result {
        self.list(|parser| {
            let key = parser.owned_text()?;
            parser.expect(b':')?;
            let value = parser.owned_text()?;
            let source = parser.source()?;
            metadata.push(TensorMetadata { key, value, source });
            Ok(())
        })
    }

    /// Parses a string as separate text, outside the interner.
    pub(super) fn owned_text(&mut self) -> Result<Text> {
        let bytes = self.string("a string")?;
        Ok(Text::from(from_bytes(&bytes).into_owned()))
    }

    /// Parses a list of imported operator sets.
    pub(super) fn opsets(&mut self, imports: &mut Vec<OpsetImport>) -> Result {
        self.list(|parser| {
            let domain = parser.text("a domain in quotes")?;
            parser.expect(b':')?;
            let version = parser.int()?;
            let source = parser.source()?.map(Box::new);
            imports.push(OpsetImport::with_source(domain, version, source));
            Ok(())
        })
    }
}

/// The number of a field, which its tag begins with.
fn field_number(record: &[u8]) -> Option<u32> {
    let mut tag = 0_u64;
    for (index, &byte) in record.iter().take(10).enumerate() {
        tag |= u64::from(byte & 0x7f).checked_shl((index as u32).saturating_mul(7))?;
        if byte & 0x80 == 0 {
            return u32::try_from(tag >> 3).ok();
        }
    }
    None
}
