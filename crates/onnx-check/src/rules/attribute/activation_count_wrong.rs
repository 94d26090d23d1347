//! The rule `activation-count-wrong`: a recurrent operator has more or fewer activation functions than gates.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::Symbol;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2419,
    "activation-count-wrong",
    Severity::Error,
    "A recurrent operator has more or fewer activation functions than it needs.",
)
.with_spec("Operators")
.with_explain(include_str!("activation_count_wrong.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    let each = match schema.op() {
        op::RNN => 1,
        op::GRU => 2,
        op::LSTM => 3,
        _ => return,
    };
    let (id, node) = (cx.id, cx.node);
    let value = |name: Symbol| {
        node.attributes().iter().find(|given| given.name() == name).map(onnx_ir::Attribute::value)
    };
    let directions = match value(attr::DIRECTION) {
        None => 1,
        Some(AttrValue::String(direction)) => match direction.as_ref() {
            b"bidirectional" => 2,
            b"forward" | b"reverse" => 1,
            // Another rule reports an invalid direction.
            _ => return,
        },
        Some(_) => return,
    };
    let Some(AttrValue::Strings(given)) = value(attr::ACTIVATIONS) else { return };
    let (expected, found) = (usize::saturating_mul(each, directions), given.len());
    // The default of an RNN has two whatever the direction, so two are fine; none are as good as no list.
    if found == expected || found == 0 || schema.op() == op::RNN && found == 2 {
        return;
    }
    cx.report(&RULE, |places| {
        let op = Quoted(schema.name());
        let way = if directions == 2 { "in two directions" } else { "in one direction" };
        let s = if expected == 1 { "" } else { "s" };
        let message = format!("{op} needs {expected} activation function{s} {way}, but has {found}");
        Diagnostic::new(&RULE, places.attribute(id, attr::ACTIVATIONS), message)
            .help("name one for each gate and direction, or leave out `activations`")
    });
}
