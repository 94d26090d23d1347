//! `OperatorSetProto` and `OperatorProto`.

use onnx_ir::{OperatorEntry, OperatorSetDocument};
use onnx_proto::wire::{Segments, Writer};

use super::{Cx, EncodeOptions, Result, Window, alone, int, merged};

/// Writes an operator set document as `OperatorSetProto`.
///
/// # Errors
///
/// When graphs or types are nested too deeply for any reader, or a repeated element would fill too much.
pub fn encode_operator_set(document: &OperatorSetDocument, options: &EncodeOptions) -> Result<Segments> {
    alone::alone(&document.functions, options, |cx, writer| {
        merged(writer, &document.unknown, |writer, window| cx.operator_set(writer, document, window))
    })
}

impl Cx<'_> {
    fn operator_set(&self, writer: &mut Writer, document: &OperatorSetDocument, window: Window) -> Result {
        let mask = document.mask;
        if window.has(1) {
            self.text(writer, 1, document.magic, mask);
        }
        if window.has(2) {
            int(writer, 2, document.ir_version, mask);
        }
        if window.has(3) {
            self.text(writer, 3, document.ir_version_prerelease, mask);
        }
        if window.has(4) {
            self.text(writer, 4, document.domain, mask);
        }
        if window.has(5) {
            int(writer, 5, document.opset_version, mask);
        }
        if window.has(6) {
            self.text(writer, 6, document.doc, mask);
        }
        if window.has(7) {
            self.text(writer, 7, document.ir_build_metadata, mask);
        }
        if window.has(8) {
            for entry in &document.operators {
                writer.message(8, |writer| {
                    merged(writer, &entry.unknown, |writer, window| {
                        self.operator(writer, entry, window);
                        Ok(())
                    })
                })?;
            }
        }
        if window.has(9) {
            for &function in self.model.functions() {
                writer.message(9, |writer| self.function(writer, function))?;
            }
        }
        Ok(())
    }

    fn operator(&self, writer: &mut Writer, entry: &OperatorEntry, window: Window) {
        if window.has(1) {
            self.text(writer, 1, entry.name, entry.mask);
        }
        if window.has(2) {
            int(writer, 2, entry.since_version, entry.mask);
        }
        if window.has(3) {
            int(writer, 3, entry.status, entry.mask);
        }
        if window.has(10) {
            self.text(writer, 10, entry.doc, entry.mask);
        }
    }
}
