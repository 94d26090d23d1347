//! Annotations: `@{key: value, …}` after what they belong to.

use std::fmt::Write as _;

use bytes::Bytes;
use onnx_ir::MetadataEntry;
use onnx_types::tensor::TensorMetadata;
use onnx_types::{FieldForms, Symbol, UnknownField};

use super::Printer;

/// A list in braces that is opened by its first entry.
pub(super) struct Entries {
    open: &'static str,
    any: bool,
}

impl Entries {
    /// The entries of an annotation.
    pub(super) const fn annotation() -> Self {
        Self { open: " @{", any: false }
    }

    /// The entries of a record.
    pub(super) const fn record() -> Self {
        Self { open: "{", any: false }
    }
}

impl Printer<'_> {
    /// Begins an entry of a list in braces.
    pub(super) fn key(&mut self, entries: &mut Entries, key: &str) {
        self.out.push_str(if entries.any { ", " } else { entries.open });
        entries.any = true;
        self.out.push_str(key);
        self.out.push_str(": ");
    }

    /// Ends an annotation, if there is one.
    pub(super) fn end(&mut self, entries: &Entries) {
        if entries.any {
            self.out.push('}');
        }
    }

    /// Ends a record, which is there even without entries.
    pub(super) fn end_record(&mut self, entries: &Entries) {
        if !entries.any {
            self.out.push_str(entries.open);
        }
        self.out.push('}');
    }

    /// Writes the documentation.
    pub(super) fn doc(&mut self, entries: &mut Entries, doc: Symbol) {
        if !doc.is_empty() && self.options.metadata {
            self.key(entries, "doc_string");
            self.string(self.str(doc));
        }
    }

    /// Writes a list of metadata as an entry, unless it is empty.
    pub(super) fn metadata(&mut self, entries: &mut Entries, metadata: &[MetadataEntry]) {
        if !metadata.is_empty() && self.options.metadata {
            self.key(entries, "metadata_props");
            self.metadata_list(metadata);
        }
    }

    /// Writes a list of metadata.
    pub(super) fn metadata_list(&mut self, metadata: &[MetadataEntry]) {
        self.list('[', ']', metadata, |printer, entry| {
            printer.string(printer.str(entry.key()));
            printer.out.push_str(": ");
            printer.string(entry.value());
            printer.source(entry.source());
        });
    }

    /// Writes a list of a tensor's metadata or external data.
    pub(super) fn tensor_metadata(&mut self, metadata: &[TensorMetadata]) {
        self.list('[', ']', metadata, |printer, entry| {
            printer.string(&entry.key);
            printer.out.push_str(": ");
            printer.string(&entry.value);
            printer.source(entry.source.as_ref());
        });
    }

    /// Writes the bytes that a small message was read from, if they are not the canonical encoding.
    pub(super) fn source(&mut self, source: Option<&Bytes>) {
        let Some(source) = source else { return };
        if self.compat() {
            if !holds_known_fields(source) {
                self.lost("fields of an entry that this version of the format does not know");
            }
        } else if self.exact() {
            self.out.push_str(" @{source: ");
            self.hex(source);
            self.out.push('}');
        }
    }

    /// Writes the numbers of the explicitly encoded defaults and of the packed lists.
    pub(super) fn present(&mut self, entries: &mut Entries, forms: FieldForms) {
        if forms == FieldForms::CANONICAL || !self.exact() {
            return;
        }
        self.key(entries, "present");
        let mut separator = '[';
        for number in forms.numbers() {
            self.out.push(separator);
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{number}");
            separator = ',';
        }
        self.out.push(']');
    }

    /// Writes the unknown fields.
    pub(super) fn unknown(&mut self, entries: &mut Entries, unknown: &[UnknownField]) {
        if unknown.is_empty() {
            return;
        }
        if self.compat() {
            self.lost("fields that this version of the format does not know");
        } else if self.exact() {
            self.key(entries, "unknown");
            self.list('[', ']', unknown, |printer, field| printer.hex(&field.bytes));
        }
    }

    /// Writes a list with commas between its elements.
    pub(super) fn list<T>(
        &mut self,
        open: char,
        close: char,
        items: &[T],
        mut write: impl FnMut(&mut Self, &T),
    ) {
        self.out.push(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            write(self, item);
        }
        self.out.push(close);
    }

    /// Writes a list of integers.
    pub(super) fn ints(&mut self, values: &[i64]) {
        self.list('[', ']', values, |printer, &value| printer.int(value));
    }
}

/// Returns `true` if a message contains only its fields 1 and 2, as integers or strings: known fields that are not in
/// canonical encoding.
fn holds_known_fields(mut message: &[u8]) -> bool {
    let varint = |bytes: &mut &[u8]| {
        let length = bytes.iter().take(10).position(|&byte| byte < 0x80)?.saturating_add(1);
        let (varint, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        let value = varint.iter().rev().fold(0_u64, |value, &byte| value << 7 | u64::from(byte & 0x7f));
        usize::try_from(value).ok()
    };
    while !message.is_empty() {
        let known = match varint(&mut message) {
            Some(0x08 | 0x10) => varint(&mut message).is_some(),
            Some(0x0a | 0x12) => {
                let rest = varint(&mut message).and_then(|length| message.get(length..));
                message = rest.unwrap_or_default();
                rest.is_some()
            }
            _ => false,
        };
        if !known {
            return false;
        }
    }
    true
}
