//! The contradictions of a run, as diagnostics: the locus, the values involved, and the suggested fix.

use onnx_diag::{Caps, Clean, Diagnostic, Locus, Policy, Quoted, Sink};
use onnx_ir::{Def, Model, Places, ValueId};
use onnx_types::{Dim, TypeKind};

use crate::fault;
use crate::result::Inference;
use crate::ty::Ty;

/// Maximum number of inputs of a node that are named.
const MAX_NAMED: usize = 8;

/// Looks up the places of what was found, in time linear in the model and in what is kept.
pub(crate) fn findings(model: &Model, inference: &Inference, caps: Caps) -> Sink {
    let failures = &inference.failures;
    // Who infers again after each edit must not pay for the whole model.
    if failures.is_empty() {
        return Sink::with(Policy::new(), caps);
    }
    let places = Places::new(model);
    let mut sink = Sink::with(Policy::new(), caps);
    for failure in failures {
        let rule = if failure.is_conditional { &fault::CONDITIONAL } else { failure.rule };
        if let Some(limit) = failure.limit {
            sink.exceed(rule, limit);
        }
        sink.report_with(rule, || {
            // The node is to blame, and more precisely its output where the value is one.
            let made = |value| matches!(model.value(value).def(), Def::Output { .. });
            let place = match (failure.value, failure.node) {
                (Some(value), node) if node.is_none() || made(value) => places.definition(value),
                (_, Some(node)) => places.node(node),
                _ => Locus::model(),
            };
            let message = if failure.is_conditional {
                format!("if this is executed: {} ({})", failure.message, failure.rule.id())
            } else {
                failure.message.clone()
            };
            let found = Diagnostic::new(rule, place, message)
                .help(fault::help(failure.rule))
                .because_of_limit(failure.limit);
            match failure.node.and_then(|node| operands(model, inference, node)) {
                Some(operands) => found.note(operands),
                None => found,
            }
        });
    }
    sink
}

/// The inputs of a node by name, with what is known about them.
fn operands(model: &Model, inference: &Inference, node: onnx_ir::NodeId) -> Option<String> {
    let mut named: Vec<String> = model
        .node(node)
        .inputs()
        .flatten()
        .take(MAX_NAMED + 1)
        .map(|value| spell(model, inference, value))
        .collect();
    if named.len() > MAX_NAMED {
        named.pop();
        named.push("more".to_owned());
    }
    match named.as_slice() {
        [] => None,
        [only] => Some(format!("the input is {only}")),
        [rest @ .., last] => Some(format!("the inputs are {} and {last}", rest.join(", "))),
    }
}

/// The name of a value and what is known about it: `x` float[N, 4].
fn spell(model: &Model, inference: &Inference, value: ValueId) -> String {
    let name = Quoted(model.str(model.value(value).name()));
    match inference.ty(value) {
        Ty::Unknown => name.to_string(),
        Ty::Tensor(elem, None) => format!("{name} {}", elem.name()),
        Ty::Tensor(elem, Some(dims)) => {
            let sizes: Vec<String> = dims.iter().map(|&dim| size(model, inference, dim)).collect();
            format!("{name} {}[{}]", elem.name(), sizes.join(", "))
        }
        Ty::Other(ty) => format!("{name}, {}", kind(&ty.kind)),
    }
}

fn size(model: &Model, inference: &Inference, dim: Dim) -> String {
    let text = inference.text(model, dim);
    // A dimension variable of a file may have any name.
    text.map_or_else(|| "?".to_owned(), |text| Clean(&text).to_string())
}

const fn kind(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Sequence(_) => "a sequence",
        TypeKind::Optional(_) => "an optional value",
        TypeKind::Map { .. } => "a map",
        TypeKind::SparseTensor(_) => "a sparse tensor",
        TypeKind::Opaque { .. } => "an opaque value",
        TypeKind::Tensor(_) => "a tensor",
        TypeKind::Undefined => "of unknown type",
    }
}
