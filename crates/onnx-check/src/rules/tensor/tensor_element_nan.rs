//! The rule `tensor-element-nan`: a float of a tensor is not a number.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_types::ElemClass;
use onnx_types::tensor::{DataSource, NoData, Payload};

use crate::cx::TensorCx;
use crate::external::ExternalFiles;

pub(crate) static RULE: Rule =
    Rule::new(2519, "tensor-element-nan", Severity::Warning, "A float of a tensor is not a number.")
        .with_spec("IR: Tensor Element Types")
        .with_explain(include_str!("tensor_element_nan.md"));

/// Elements between two checks of the interrupt.
const WATCHED_ELEMENTS: usize = 1 << 16;

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    if !cx.options.elements || cx.tensor.elem().class() != ElemClass::Float || !cx.faults.is_empty() {
        return;
    }
    let files = cx.options.external.as_ref();
    let source = files.map_or(&NoData as &dyn DataSource, ExternalFiles::source);
    let elements = cx.tensor.iter_f64(source);
    let Some(elements) = cx.read(elements) else { return };
    // All elements of a splat are the same.
    let most = if matches!(cx.tensor.payload(), Payload::Splat(_)) { 1 } else { usize::MAX };
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
