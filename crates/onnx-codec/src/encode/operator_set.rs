//! `OperatorSetProto` and `OperatorProto`.

use onnx_ir::{OperatorEntry, OperatorSetDocument};
use onnx_proto::field::{operator, operator_set};
use onnx_proto::wire::{Segments, Writer};

use super::{Cx, EncodeOptions, Result, Window, int, merged, parts};

/// Writes an operator set document as `OperatorSetProto`.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply for any reader, or a repeated element would fill too much.
pub fn encode_operator_set(document: &OperatorSetDocument, options: &EncodeOptions) -> Result<Segments> {
    parts::part(&document.functions, options, |cx, writer| {
        merged(writer, &document.unknown, |writer, window| cx.operator_set(writer, document, window))
    })
}

impl Cx<'_> {
    fn operator_set(&self, writer: &mut Writer, document: &OperatorSetDocument, window: Window) -> Result {
        let forms = document.forms;
        if window.has(operator_set::MAGIC) {
            self.text(writer, operator_set::MAGIC, document.magic, forms);
        }
        if window.has(operator_set::IR_VERSION) {
            int(writer, operator_set::IR_VERSION, document.ir_version, forms);
        }
        if window.has(operator_set::IR_VERSION_PRERELEASE) {
            self.text(writer, operator_set::IR_VERSION_PRERELEASE, document.ir_version_prerelease, forms);
        }
        if window.has(operator_set::DOMAIN) {
            self.text(writer, operator_set::DOMAIN, document.domain, forms);
        }
        if window.has(operator_set::OPSET_VERSION) {
            int(writer, operator_set::OPSET_VERSION, document.opset_version, forms);
        }
        if window.has(operator_set::DOC_STRING) {
            self.text(writer, operator_set::DOC_STRING, document.doc, forms);
        }
        if window.has(operator_set::IR_BUILD_METADATA) {
            self.text(writer, operator_set::IR_BUILD_METADATA, document.ir_build_metadata, forms);
        }
        if window.has(operator_set::OPERATOR) {
            for entry in &document.operators {
                writer.message(operator_set::OPERATOR, |writer| {
                    merged(writer, &entry.unknown, |writer, window| {
                        self.operator(writer, entry, window);
                        Ok(())
                    })
                })?;
            }
        }
        if window.has(operator_set::FUNCTIONS) {
            for &function in self.model.functions() {
                writer.message(operator_set::FUNCTIONS, |writer| self.function(writer, function))?;
            }
        }
        Ok(())
    }

    fn operator(&self, writer: &mut Writer, entry: &OperatorEntry, window: Window) {
        if window.has(operator::OP_TYPE) {
            self.text(writer, operator::OP_TYPE, entry.name, entry.forms);
        }
        if window.has(operator::SINCE_VERSION) {
            int(writer, operator::SINCE_VERSION, entry.since_version, entry.forms);
        }
        if window.has(operator::STATUS) {
            int(writer, operator::STATUS, entry.status, entry.forms);
        }
        if window.has(operator::DOC_STRING) {
            self.text(writer, operator::DOC_STRING, entry.doc, entry.forms);
        }
    }
}
