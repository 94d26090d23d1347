//! The rule `quantization-annotation-dangling`: a quantization annotation names a value that does not exist.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{Def, Model, ValueRef};
use onnx_types::Symbol;

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2212,
    "quantization-annotation-dangling",
    Severity::Warning,
    "A quantization annotation names a value that does not exist.",
)
.with_spec("IR: TensorAnnotation")
.with_explain(include_str!("quantization_annotation_dangling.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    for annotation in &cx.graph.quantization {
        let tensor = annotation.tensor;
        if let Some(name) = missing(cx.model, tensor) {
            report(cx, tensor, name, "is annotated");
        }
        for parameter in &annotation.parameters {
            if let Some(name) = missing(cx.model, parameter.value) {
                report(cx, tensor, name, "is named by the annotation");
            }
        }
    }
}

/// The name that a reference gives, if it is not that of a value. A reference to a value that an edit removed is left out
/// when the model is written.
fn missing(model: &Model, reference: ValueRef) -> Option<Symbol> {
    match reference {
        ValueRef::Name(name) => Some(name),
        ValueRef::Value(value) => {
            let record = model.get_value(value)?;
            matches!(record.def(), Def::Unresolved(_)).then_some(record.name())
        }
    }
}

#[cold]
fn report(cx: &mut GraphCx<'_, '_>, tensor: ValueRef, name: Symbol, what: &str) {
    let id = cx.id;
    cx.report(&RULE, |places| {
        let name = places.str(name);
        let message = if name.is_empty() {
            "the annotation leaves out the name of a value".to_owned()
        } else {
            format!("nothing defines {}, which {what}", Quoted(name))
        };
        Diagnostic::new(&RULE, places.annotation(id, tensor), message)
            .help("name a value of the graph, or remove the annotation")
    });
}
