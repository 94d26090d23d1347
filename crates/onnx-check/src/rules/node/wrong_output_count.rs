//! The rule `wrong-output-count`: a node has more or fewer outputs than its operator gives, or leaves out one that is
//! needed.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_schema::FormalOption;

use super::wrong_input_count::say;
use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2309,
    "wrong-output-count",
    Severity::Error,
    "A node has more or fewer outputs than its operator gives, or leaves out one that is needed.",
)
.with_spec("IR: Nodes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("wrong_output_count.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.signature() else { return };
    let arity = schema.outputs();
    let (id, count) = (cx.id, cx.node.outputs().len());
    if !arity.allows(count) {
        cx.report(&RULE, |places| {
            let message = format!(
                "{} produces {}, but the node has {count}",
                Quoted(schema.name()),
                say(arity, "output")
            );
            let help = match schema.output_for(count) {
                Some((next, _)) if count < arity.min => {
                    format!("add output {count}, {}", Quoted(next))
                }
                _ => "remove those that are too many, or import the version of the operator that has them"
                    .to_owned(),
            };
            Diagnostic::new(&RULE, places.node(id), message)
                .help(help)
                .note(format!("the signature is that of {schema}"))
                .beyond_reference(schema.is_declared())
        });
    }
    for (index, output) in cx.node.outputs().iter().enumerate() {
        if output.is_none()
            && let Some((formal, FormalOption::Single)) = schema.output_for(index)
        {
            cx.report(&RULE, |places| {
                let message = format!("{} needs its output {}", Quoted(schema.name()), Quoted(formal));
                Diagnostic::new(&RULE, places.output(id, index), message)
                    .help("give it a name")
                    .beyond_reference(schema.is_declared())
            });
        }
    }
}
