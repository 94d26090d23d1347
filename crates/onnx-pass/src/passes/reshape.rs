//! Removal of reshapes that change nothing.

use onnx_ir::Cursor;
use onnx_ops::{Operator, ops};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;

/// Removes `Reshape` nodes whose result has the sizes of their operand in every run.
pub fn remove_reshapes(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    let mut cursor = Cursor::all(cx.model());
    while let Some(node) = cursor.next(cx.model()) {
        let Some(reshape) = ops::Reshape::of(cx.model(), node) else { continue };
        let (Some(data), Some(reshaped)) = (reshape.data(), reshape.out_reshaped()) else { continue };
        let mut patch = cx.patch("remove-reshape", Exactness::Exact);
        patch.source(node);
        patch.tap(data);
        if patch.same_type(data, reshaped) {
            patch.replace(reshaped, data);
            report.commit(patch);
        }
    }
    report
}
