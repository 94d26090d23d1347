//! The rule `missing-required-attribute`: a node lacks an attribute that its operator requires.

use std::collections::BTreeSet;

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Callee;
use onnx_schema::{AttrKind, DeclaredSchema, SchemaRef};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2310,
    "missing-required-attribute",
    Severity::Error,
    "A node lacks an attribute that its operator requires.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("missing_required_attribute.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    if let Callee::Custom(schema) = cx.callee {
        return check_declared(cx, schema);
    }
    let Some(schema) = cx.schema() else { return };
    for formal in schema.attributes() {
        if formal.is_required && cx.node.attribute(formal.name).is_none() {
            report(cx, SchemaRef::Standard(schema), formal.text(), Some(formal.kind));
        }
    }
}

/// Names of declared attributes are texts, not symbols of the model.
fn check_declared<'a>(cx: &mut NodeCx<'_, 'a>, schema: &'a DeclaredSchema) {
    if schema.is_deprecated || schema.attributes.iter().all(|formal| !formal.is_required) {
        return;
    }
    let model = cx.model;
    let given: BTreeSet<&str> =
        cx.node.attributes().iter().map(|attribute| model.str(attribute.name())).collect();
    for formal in schema.attributes.iter().filter(|formal| formal.is_required) {
        if !given.contains(formal.name.as_str()) {
            report(cx, SchemaRef::Declared(schema), &formal.name, formal.kind);
        }
    }
}

fn report(cx: &mut NodeCx<'_, '_>, schema: SchemaRef<'_>, name: &str, kind: Option<AttrKind>) {
    let id = cx.id;
    cx.report(&RULE, |places| {
        let message = format!("{} needs the attribute {}", Quoted(schema.name()), Quoted(name));
        let help =
            kind.map_or_else(|| "add it".to_owned(), |kind| format!("add it, with a value of kind {kind}"));
        Diagnostic::new(&RULE, places.node(id), message)
            .help(help)
            .note(format!("the signature is that of {schema}"))
            .beyond_reference(schema.is_declared())
    });
}
