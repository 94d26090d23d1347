//! The rule `tensor-element-nan`: a float of a tensor is not a number.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_types::ElemClass;
use onnx_types::tensor::{DataSource, NoData, Payload, any_nan};

use crate::cx::TensorCx;
use crate::external::ExternalFiles;

pub(crate) static RULE: Rule =
    Rule::new(2519, "tensor-element-nan", Severity::Warning, "A float of a tensor is not a number.")
        .with_spec("IR: Tensor Element Types")
        .with_explain(include_str!("tensor_element_nan.md"));

/// Elements between two checks of the interrupt.
const WATCHED_ELEMENTS: usize = 1 << 16;
/// Bytes between two checks; whole elements of any type.
const WATCHED_BYTES: usize = 1 << 20;

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    if !cx.options.elements || cx.tensor.elem().class() != ElemClass::Float || !cx.faults.is_empty() {
        return;
    }
    let files = cx.options.external.as_ref();
    let source = files.map_or(&NoData as &dyn DataSource, ExternalFiles::source);
    let is_splat = matches!(cx.tensor.payload(), Payload::Splat(_));
    if !is_splat && has_none(cx, source) {
        return;
    }
    let elements = cx.tensor.iter_f64(source);
    let Some(elements) = cx.read(elements) else { return };
    // All elements of a splat are the same.
    let most = if is_splat { 1 } else { usize::MAX };
    // A run that is stopped has no findings, so that the rest of the elements do not matter.
    let interrupt = &cx.options.execution.interrupt;
    let is_wanted = |&(index, _): &(usize, f64)| index % WATCHED_ELEMENTS != 0 || interrupt.check().is_ok();
    let elements = elements.take(most).enumerate().take_while(is_wanted);
    let mut nans = elements.filter(|(_, element)| element.is_nan());
    let Some((first, _)) = nans.next() else { return };
    let others = nans.count();
    let place = cx.place;
    cx.report(&RULE, |places| {
        let more = if others > 0 { format!(", and {others} others") } else { String::new() };
        Diagnostic::new(&RULE, place.locate(places).element(first), format!("element {first} is NaN{more}"))
            .help("results that depend on it are NaN, too; `onnx weights stats --sort anomaly` compares with other tensors")
    });
}

/// Returns `true` if a scan of the bytes finds no NaN, and also if the elements cannot be read, which is reported here.
fn has_none(cx: &mut TensorCx<'_, '_>, source: &dyn DataSource) -> bool {
    let elem = cx.tensor.elem();
    if any_nan(elem, &[]).is_none() {
        return false;
    }
    let bytes = cx.tensor.bytes(source);
    let Some(bytes) = cx.read(bytes) else { return true };
    let interrupt = &cx.options.execution.interrupt;
    let mut parts = bytes.chunks(WATCHED_BYTES).take_while(|_| interrupt.check().is_ok());
    parts.all(|part| any_nan(elem, part) == Some(false))
}
