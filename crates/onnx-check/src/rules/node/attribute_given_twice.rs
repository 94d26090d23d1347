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
