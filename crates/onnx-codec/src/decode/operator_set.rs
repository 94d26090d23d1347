//! `OperatorSetProto` and `OperatorProto`.

use bytes::Bytes;
use onnx_diag::Sink;
use onnx_ir::{OperatorEntry, OperatorSetDocument};
use onnx_proto::field::{operator, operator_set};
use onnx_proto::wire::{Input, Payload, Reader};
use onnx_types::Symbol;

use super::{Cx, DecodeOptions, Result, WireForm, len, varint};
use crate::error::DecodeError;

/// An operator set document that was read, and what the file said that it cannot hold exactly.
#[derive(Clone)]
pub struct DecodedOperatorSet {
    /// The document.
    pub document: OperatorSetDocument,
    /// The diagnostics of reading, in file order.
    pub findings: Sink,
}

/// Reads an `OperatorSetProto`.
///
/// ```
/// use onnx_codec::{DecodeOptions, EncodeOptions, decode_operator_set, encode_operator_set};
///
/// // Version 1 of a domain "d" with one operator, `f`.
/// let bytes = bytes::Bytes::from_static(b"\x0a\x09ONNXOPSET\x10\x0e\x22\x01d\x28\x01\x42\x07\x0a\x01f\x10\x01\x18\x01");
/// let document = decode_operator_set(bytes.clone(), &DecodeOptions::default())?.document;
/// assert_eq!(document.str(document.operators[0].name), "f");
/// assert_eq!(encode_operator_set(&document, &EncodeOptions::default())?.to_vec(), bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_operator_set(bytes: Bytes, options: &DecodeOptions) -> Result<DecodedOperatorSet, DecodeError> {
    let input = Input::new(bytes, super::wire_limits(&options.execution.limits))?;
    let mut cx = Cx::new(&input, options);
    let document = OperatorSetDocument::with_functions(onnx_ir::Model::new());
    let mut document = cx.operator_set(&input.reader(), document)?;
    document.functions = cx.model.finish();
    Ok(DecodedOperatorSet { document, findings: cx.findings })
}

impl<'a> Cx<'a> {
    fn operator_set(
        &mut self,
        whole: &Reader<'a>,
        mut document: OperatorSetDocument,
    ) -> Result<OperatorSetDocument> {
        self.start()?;
        let mut fields = whole.clone();
        let mut form = WireForm::default();
        while let Some(field) = fields.next_field()? {
            let number = field.number;
            match (number, len(field.value), varint(field.value)) {
                (operator_set::IR_VERSION, _, Some(version)) => {
                    document.ir_version = version.cast_signed();
                    form.note(operator_set::IR_VERSION, version == 0);
                }
                (operator_set::OPSET_VERSION, _, Some(version)) => {
                    document.opset_version = version.cast_signed();
                    form.note(operator_set::OPSET_VERSION, version == 0);
                }
                (
                    operator_set::MAGIC
                    | operator_set::IR_VERSION_PRERELEASE
                    | operator_set::DOMAIN
                    | operator_set::DOC_STRING
                    | operator_set::IR_BUILD_METADATA,
                    Some(text),
                    _,
                ) => {
                    let name = self.noted(&fields, text, number, &mut form)?;
                    *header(&mut document, number) = name;
                }
                (operator_set::OPERATOR, Some(operator), _) => {
                    let entry = self.operator(&fields, operator)?;
                    document.operators.push(entry);
                    let count = document.operators.len();
                    self.check("operators", count, self.options.execution.limits.entries, field.start)?;
                }
                (operator_set::FUNCTIONS, Some(function), _) => {
                    let index = self.model.functions().len();
                    self.function_message(&fields.message(function)?)
                        .map_err(|error| error.in_item("functions", index))?;
                    self.check("functions", index, self.options.execution.limits.functions, field.start)?;
                }
                _ => self.keep(&mut form.unknown, &field, operator_set::is_known(number)),
            }
        }
        document.forms = form.forms;
        document.unknown = form.unknown;
        Ok(document)
    }

    fn operator(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<OperatorEntry> {
        self.work(payload)?;
        let mut fields = reader.message(payload)?;
        let mut entry = OperatorEntry::default();
        let mut form = WireForm::default();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (operator::OP_TYPE, Some(text), _) => {
                    entry.name = self.noted(&fields, text, operator::OP_TYPE, &mut form)?
                }
                (operator::SINCE_VERSION, _, Some(version)) => {
                    entry.since_version = version.cast_signed();
                    form.note(operator::SINCE_VERSION, version == 0);
                }
                (operator::STATUS, _, Some(status)) => {
                    entry.status = status.cast_signed();
                    form.note(operator::STATUS, status == 0);
                }
                (operator::DOC_STRING, Some(text), _) => {
                    entry.doc = self.noted(&fields, text, operator::DOC_STRING, &mut form)?
                }
                (number, ..) => self.keep(&mut form.unknown, &field, operator::is_known(number)),
            }
        }
        entry.forms = form.forms;
        entry.unknown = form.unknown;
        Ok(entry)
    }
}

/// The text with the given field number.
const fn header(document: &mut OperatorSetDocument, number: u32) -> &mut Symbol {
    match number {
        operator_set::MAGIC => &mut document.magic,
        operator_set::IR_VERSION_PRERELEASE => &mut document.ir_version_prerelease,
        operator_set::DOMAIN => &mut document.domain,
        operator_set::DOC_STRING => &mut document.doc,
        _ => &mut document.ir_build_metadata,
    }
}
