//! The rule `element-type-not-allowed`: an attribute names an element type that its operator cannot make.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::{Schema, attr, op};
use onnx_types::ElemType;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2415,
    "element-type-not-allowed",
    Severity::Error,
    "An attribute names an element type that its operator cannot make.",
)
.with_spec("Operators")
.with_explain(include_str!("element_type_not_allowed.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let (node, name) = (cx.node, cx.attribute.name());
    let code = match cx.attribute.value() {
        AttrValue::Int(code) => *code,
        AttrValue::Tensor(tensor) => return check_elements(cx, tensor.elem()),
        _ => return,
    };
    let Some(schema) = cx.schema.filter(|schema| schema.names_element_type(name)) else { return };
    // Where there is a default of 0, that stands for a type that other inputs give.
    if code == 0 && matches!(name, attr::OUTPUT_DTYPE) {
        return;
    }
    let elem =
        i32::try_from(code).ok().and_then(ElemType::from_code).filter(|&elem| elem != ElemType::Undefined);
    if elem.is_some_and(|elem| makes(schema, elem)) {
        return;
    }
    cx.report(&RULE, |places| {
        let text = Quoted(places.str(name));
        let message = match elem {
            Some(elem) => format!("attribute {text} is {code} ({elem}), which {schema} cannot make"),
            None => format!("attribute {text} is {code}, which is the number of no element type"),
        };
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help("write the number of a type that the operator makes; newer versions may make more")
    });
}

/// A tensor whose element type is that of the result. A missing element type has a separate rule.
fn check_elements(cx: &mut AttributeCx<'_, '_>, elem: ElemType) {
    let (node, name) = (cx.node, cx.attribute.name());
    let gives_type = |schema: &Schema| [op::CONSTANT, op::CONSTANT_OF_SHAPE].contains(&schema.op());
    let Some(schema) = cx.schema.filter(|schema| name == attr::VALUE && gives_type(schema)) else { return };
    if elem == ElemType::Undefined || makes(schema, elem) {
        return;
    }
    cx.report(&RULE, |places| {
        let text = Quoted(places.str(name));
        let message = format!("attribute {text} has elements of {elem}, which {schema} cannot make");
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help("give elements of a type that the operator makes; newer versions may make more")
    });
}

/// Whether the first output can have such elements. Sequences hold what tensors hold.
fn makes(schema: &Schema, elem: ElemType) -> bool {
    let is_sequence = schema.op() == op::SEQUENCE_EMPTY;
    schema.outputs().first().is_none_or(|formal| is_sequence || schema.types_of(formal).contains_tensor(elem))
}
