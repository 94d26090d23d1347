//! The rule `wrong-input-count`: a node has more or fewer inputs than its operator takes, or leaves out one that is
//! needed.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_schema::{Arity, FormalOption};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2308,
    "wrong-input-count",
    Severity::Error,
    "A node has more or fewer inputs than its operator takes, or leaves out one that is needed.",
)
.with_spec("IR: Nodes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("wrong_input_count.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.signature() else { return };
    let arity = schema.inputs();
    let (id, count) = (cx.id, cx.node.input_count());
    if !arity.allows(count) {
        cx.report(&RULE, |places| {
            let message =
                format!("{} takes {}, but the node has {count}", Quoted(schema.name()), say(arity, "input"));
            let help = match schema.input_for(count) {
                Some((next, _)) if count < arity.min => {
                    format!("add input {count}, {}", Quoted(next))
                }
                _ => "remove those that are too many, or import the version of the operator that takes them"
                    .to_owned(),
            };
            Diagnostic::new(&RULE, places.node(id), message)
                .help(help)
                .note(format!("the signature is that of {schema}"))
                .beyond_reference(schema.is_declared())
        });
    }
    for (index, input) in cx.node.inputs().enumerate() {
        if input.is_none()
            && let Some((formal, FormalOption::Single)) = schema.input_for(index)
        {
            cx.report(&RULE, |places| {
                let message = format!("{} needs its input {}", Quoted(schema.name()), Quoted(formal));
                Diagnostic::new(&RULE, places.input(id, index), message)
                    .help("name the value that goes there")
                    .beyond_reference(schema.is_declared())
            });
        }
    }
}

/// Describes the number of operands that an operator allows; `noun` is the singular of what is counted.
pub(super) fn say(arity: Arity<'_>, noun: &str) -> String {
    let s = |count: usize| if count == 1 { "" } else { "s" };
    if !arity.only.is_empty() {
        let counts: Vec<String> = arity.only.iter().map(ToString::to_string).collect();
        return format!("{} {noun}s", counts.join(" or "));
    }
    match (arity.min, arity.max) {
        (min, Some(max)) if min == max => format!("{min} {noun}{}", s(min)),
        (min, Some(max)) => format!("{min} to {max} {noun}s"),
        (min, None) => format!("{min} {noun}{} or more", s(min)),
    }
}
