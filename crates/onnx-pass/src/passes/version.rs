//! A step between two versions of an operator set, for one operator.

use onnx_ir::{Cursor, NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_schema::{domain, op};
use onnx_types::tensor::Tensor;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;

/// Converts a model of version 12 to version 13, if `Squeeze` is the only operator in it whose meaning changed: its attribute
/// `axes` becomes an operand. All nodes change in one patch, because the import applies to all of them.
pub fn squeeze_to_13(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    if cx.model().opset_version(domain::ONNX) != Some(12) {
        return report;
    }
    let mut found: Vec<(NodeId, ValueId, ValueId, Option<Vec<i64>>)> = Vec::new();
    let mut cursor = Cursor::nested(cx.model(), cx.model().main_graph());
    while let Some(node) = cursor.next(cx.model()) {
        let Some(squeeze) = ops::Squeeze::of(cx.model(), node) else { continue };
        let (Some(data), Some(squeezed)) = (squeeze.data(), squeeze.out_squeezed()) else { return report };
        let axes = squeeze.axes().known().map(|axes| axes.to_vec());
        if axes.is_none() && !squeeze.axes().is_omitted() {
            return report;
        }
        found.push((node, data, squeezed, axes));
    }
    let mut patch = cx.patch("squeeze-13", Exactness::Exact);
    patch.set_version(domain::ONNX, 13);
    for (node, data, squeezed, axes) in found {
        patch.source(node);
        patch.tap(data);
        let at = Position::Before(node);
        let axes = axes.map(|axes| patch.new_constant(at, Tensor::vector(&axes))).transpose();
        let Ok(axes) = axes else { return report };
        // The builders of `onnx-ops` make the form of the version that is in force so far.
        let made = patch.build(at, |build| build.op(op::SQUEEZE, [data]).input(axes).output());
        let Ok(new) = made else { return report };
        patch.replace(squeezed, new);
    }
    report.commit(patch);
    report
}
