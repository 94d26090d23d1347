//! The rule `tensor-element-invalid`: an element of a tensor is not a value of the element type.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_types::tensor::{DataSource, NoData, TensorFault};

use super::six_bit_float_invalid::is_six_bits;
use crate::cx::TensorCx;
use crate::external::ExternalFiles;

pub(crate) static RULE: Rule = Rule::new(
    2507,
    "tensor-element-invalid",
    Severity::Warning,
    "An element of a tensor is not a value of the element type.",
)
.with_spec("IR: Tensor Element Types")
.with_explain(include_str!("tensor_element_invalid.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let is_external = cx.tensor.is_external();
    let is_done = is_six_bits(cx.tensor.elem()) && !is_external;
    if !cx.options.elements || is_done || !cx.faults.is_empty() {
        return;
    }
    let files = cx.options.external.as_ref();
    let source = files.map_or(&NoData as &dyn DataSource, ExternalFiles::source);
    let place = cx.place;
    let found = cx.tensor.content_faults(source, MOST);
    for fault in cx.read(found).unwrap_or_default() {
        cx.report(&RULE, |places| {
            let place = place.locate(places);
            let place = match index_of(&fault) {
                Some(index) => place.element(index),
                None => place,
            };
            Diagnostic::new(&RULE, place, fault.to_string())
                .help("write the tensor again with a tool that checks its values")
        });
    }
}

/// Maximum number of invalid elements of one tensor that are reported.
pub(super) const MOST: usize = 10;

pub(super) fn index_of(fault: &TensorFault) -> Option<usize> {
    match *fault {
        TensorFault::OutOfRange { index, .. }
        | TensorFault::NotBool { index, .. }
        | TensorFault::NotUtf8 { index, .. } => usize::try_from(index).ok(),
        _ => None,
    }
}
