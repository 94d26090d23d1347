//! The rule `exclusive-attributes`: a node has none or several of attributes of which it needs exactly one.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::{Schema, op};
use onnx_types::Symbol;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2416,
    "exclusive-attributes",
    Severity::Error,
    "A node has none or several of attributes of which it needs exactly one.",
)
.with_spec("Operators")
.with_explain(include_str!("exclusive_attributes.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    let (id, node) = (cx.id, cx.node);
    for &group in schema.exclusive_attributes() {
        let counts = |name: Symbol, value: &AttrValue| {
            group.contains(&name) && (schema.op() == op::CONSTANT || !is_empty(value))
        };
        let mut given = node.attributes().iter().filter(|given| counts(given.name(), given.value()));
        let first = given.next();
        // The same one twice is another matter.
        let second = given.find(|given| first.is_some_and(|first| first.name() != given.name()));
        if first.is_some() && second.is_none() {
            continue;
        }
        cx.report(&RULE, |places| {
            let op = Quoted(schema.name());
            let names: Vec<_> = group.iter().map(|&name| Quoted(places.str(name)).to_string()).collect();
            let help = format!("give exactly one of {}", names.join(", "));
            let found = match (first, second) {
                (Some(first), Some(second)) => {
                    let [first, second] = [first, second].map(|given| Quoted(places.str(given.name())));
                    let message = format!("{op} has both {first} and {second}");
                    Diagnostic::new(&RULE, places.node(id), message)
                }
                _ => Diagnostic::new(&RULE, places.node(id), format!("{op} has no {}", what(schema))),
            };
            found.help(help).note(format!("the signature is that of {schema}"))
        });
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

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    #[test]
    fn exactly_one_is_given() {
        let model = |m: &mut Builder, names: &[&str]| {
            let attributes: Vec<_> = names.iter().map(|name| m.attribute(name, 1)).collect();
            m.node_with("y = Constant ()", attributes);
            m.outputs(["y"]);
        };
        let place = r#"graph "g" / node #0 Constant"#;
        check_model(|m| model(m, &[]), &[("ONNX2416", place)]);
        check_model(|m| model(m, &["value_int"]), &[]);
        let two = |m: &mut Builder| {
            let attributes = [m.attribute("value_int", 1), m.attribute("value_ints", [1])];
            m.node_with("y = Constant ()", attributes);
            m.outputs(["y"]);
        };
        check_model(two, &[("ONNX2416", place)]);
    }
}
