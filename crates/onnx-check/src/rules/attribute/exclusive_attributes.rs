//! The rule `exclusive-attributes`: a node has several of attributes that exclude each other, or none of those of which it
//! needs one.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{AttrValue, Node};
use onnx_schema::{ExclusivePart, Schema, op};
use onnx_types::Symbol;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2416,
    "exclusive-attributes",
    Severity::Error,
    "A node has several of attributes that exclude each other, or none where it needs one.",
)
.with_spec("Operators")
.with_explain(include_str!("exclusive_attributes.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    let (id, node) = (cx.id, cx.node);
    for set in schema.exclusions() {
        let mut given = set.parts.iter().copied().filter(|&part| is_given(schema, node, part));
        let (first, second) = (given.next(), given.next());
        if second.is_none() && (first.is_some() || !set.is_needed) {
            continue;
        }
        cx.report(&RULE, |places| {
            let op = Quoted(schema.name());
            let name = |part: &ExclusivePart| match *part {
                ExclusivePart::Input(index) => {
                    let formal = schema.input_for(index).map_or("", |formal| formal.name);
                    format!("input {}", Quoted(formal))
                }
                part => Quoted(part.attribute().map_or("", |name| places.str(name))).to_string(),
            };
            let names: Vec<String> = set.parts.iter().map(&name).collect();
            let at_least = if set.is_needed { "exactly" } else { "at most" };
            let help = format!("give {at_least} one of {}", names.join(", "));
            let message = match (first, second) {
                (Some(first), Some(second)) => {
                    format!("{op} has both {} and {}", name(&first), name(&second))
                }
                _ => format!("{op} has no {}", what(schema)),
            };
            let found = Diagnostic::new(&RULE, places.node(id), message);
            found.help(help).note(format!("the signature is that of {schema}"))
        });
    }
}

/// Whether a node has a part that its operator may exclude.
fn is_given(schema: &Schema, node: &Node, part: ExclusivePart) -> bool {
    let value = |name: Symbol| {
        node.attributes().iter().find(|given| given.name() == name).map(onnx_ir::Attribute::value)
    };
    match part {
        ExclusivePart::Input(index) => node.input(index).is_some(),
        ExclusivePart::Attribute(name) => {
            value(name).is_some_and(|value| schema.op() == op::CONSTANT || !is_empty(value))
        }
        ExclusivePart::AttributeOtherThan(name, texts) => {
            let is_other = |text: &[u8]| texts.iter().all(|other| other.as_bytes() != text);
            value(name).is_some_and(|value| matches!(value, AttrValue::String(text) if is_other(text)))
        }
        _ => false,
    }
}

/// What the missing attribute would be.
fn what(schema: &Schema) -> &'static str {
    match schema.op() {
        op::CONSTANT => "value",
        op::LABEL_ENCODER => "keys or no values",
        op::IMPUTER => "values to put in",
        _ => "list of words or numbers",
    }
}

/// Whether a list has no entries, which some writers give for those that they do not mean.
const fn is_empty(value: &AttrValue) -> bool {
    match value {
        AttrValue::Floats(list) => list.is_empty(),
        AttrValue::Ints(list) => list.is_empty(),
        AttrValue::Strings(list) => list.is_empty(),
        AttrValue::None => true,
        _ => false,
    }
}
