//! The rule `attribute-given-twice`: a node has two attributes of the same name.

use std::collections::BTreeSet;

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::{Attribute, Callee};
use onnx_types::Symbol;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule =
    Rule::new(2311, "attribute-given-twice", Severity::Error, "A node has two attributes of the same name.")
        .with_spec("IR: Attributes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("attribute_given_twice.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let attributes = cx.node.attributes();
    let repeated =
        if attributes.len() <= FEW { repeated_of_few(attributes) } else { repeated_of_many(attributes) };
    for name in repeated {
        let (id, is_experimental) = (cx.id, matches!(cx.callee, Callee::Experimental));
        cx.report(&RULE, |places| {
            let message = format!("attribute {} is given twice", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.attribute(id, name), message)
                .help("remove one of them; readers disagree on which one counts")
                .beyond_reference(is_experimental)
        });
    }
}

/// Up to this many attributes, comparing each with each is quickest.
const FEW: usize = 16;

/// The repeated names, once for each repetition. Does not allocate if there are none.
fn repeated_of_few(attributes: &[Attribute]) -> Vec<Symbol> {
    let mut repeated = Vec::new();
    for (index, attribute) in attributes.iter().enumerate() {
        if attributes.iter().take(index).any(|earlier| earlier.name() == attribute.name()) {
            repeated.push(attribute.name());
        }
    }
    repeated
}

/// Like [`repeated_of_few`], but in linear time.
fn repeated_of_many(attributes: &[Attribute]) -> Vec<Symbol> {
    let mut seen = BTreeSet::new();
    attributes.iter().map(Attribute::name).filter(|&name| !seen.insert(name)).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, names: &[&str]) {
        m.import("d", 1);
        m.inputs(["x"]);
        let attributes: Vec<_> = names.iter().map(|name| m.attribute(name, 1)).collect();
        m.node_with("y = d.Frob (x)", attributes);
        m.outputs(["y"]);
    }

    #[test]
    fn attributes_are_given_once() {
        let place = r#"graph "g" / node #0 d::Frob / attribute "a""#;
        check_model(|m| model(m, &["a", "b", "a"]), &[("ONNX2311", place)]);
        check_model(|m| model(m, &["a", "b"]), &[]);
    }

    #[test]
    fn many_attributes_are_compared_as_few_are() {
        let place = r#"graph "g" / node #0 d::Frob / attribute "a3""#;
        let mut names: Vec<String> = (0..100).map(|number| format!("a{number}")).collect();
        names.extend(["a3".to_owned(), "a3".to_owned()]);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        check_model(|m| model(m, &names), &[("ONNX2311", place), ("ONNX2311", place)]);
        check_model(|m| model(m, &names[..100]), &[]);
    }
}
