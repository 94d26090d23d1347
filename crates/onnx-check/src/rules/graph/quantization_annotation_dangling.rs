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
    if !cx.graph.quantization.is_empty() {
        // Nothing leads from a value to its annotations.
        cx.revisit();
    }
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

#[cfg(test)]
mod tests {
    use onnx_ir::{QuantAnnotation, QuantParameter};

    use super::*;
    use crate::testing::{Builder, check_model, scalar};

    fn model(m: &mut Builder, tensor: &str, scale: &str) {
        m.inputs(["x"]);
        m.initializer("s", scalar());
        m.node("y = Mul (x, s)");
        m.outputs(["y"]);
        let graph = m.graph();
        let mut reference = |name: &str| match name {
            "s" | "x" => ValueRef::Value(m.value(name)),
            _ => ValueRef::Name(m.model.intern(name)),
        };
        let (tensor, value) = (reference(tensor), reference(scale));
        let key = m.model.intern("SCALE_TENSOR");
        let parameters = vec![QuantParameter::new(key, value)];
        m.model.graph_mut(graph).quantization.push(QuantAnnotation::new(tensor, parameters));
    }

    #[test]
    fn annotations_name_values() {
        let place = |name: &str| format!(r#"graph "g" / quantization annotation "{name}""#);
        check_model(|m| model(m, "q", "s"), &[("ONNX2212", &place("q"))]);
        check_model(|m| model(m, "x", "t"), &[("ONNX2212", &place("x"))]);
        check_model(|m| model(m, "", "s"), &[("ONNX2212", &place(""))]);
        check_model(|m| model(m, "x", "s"), &[]);
    }
}
