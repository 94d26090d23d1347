//! The rule `unknown-attribute`: a node has an attribute that its operator does not have.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_schema::{DeclaredSchema, Schema};
use onnx_types::Symbol;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2401,
    "unknown-attribute",
    Severity::Error,
    "A node has an attribute that its operator does not have.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("unknown_attribute.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    if let Some(schema) = cx.declared {
        return check_declared(cx, schema);
    }
    let Some(schema) = cx.schema else { return };
    if cx.formal.is_some() || schema.allows_unchecked_attributes() {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    if is_note(cx.model.str(name)) {
        return;
    }
    cx.report(&RULE, |places| {
        let text = places.str(name);
        let message = format!("{} has no attribute {}", Quoted(schema.name()), Quoted(text));
        let help = match (versions_with(schema, name), onnx_schema::suggest_attribute(schema, text)) {
            (Some(versions), _) => {
                format!("it has one in {versions}: import such a version, or say it the current way")
            }
            (None, Some(near)) => format!("did you mean {}?", Quoted(near)),
            (None, None) => "remove it; tools store their own data in metadata".to_owned(),
        };
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help(help)
            .note(format!("the signature is that of {schema}"))
    });
}

/// Names with two underscores are reserved for the data of tools. A missing name is another defect.
fn is_note(name: &str) -> bool {
    name.is_empty() || name.starts_with("__")
}

fn check_declared<'a>(cx: &mut AttributeCx<'_, 'a>, schema: &'a DeclaredSchema) {
    let (node, name) = (cx.node, cx.attribute.name());
    let text = cx.model.str(name);
    if schema.attribute(text).is_some() || schema.allows_unchecked_attributes || is_note(text) {
        return;
    }
    cx.report(&RULE, |places| {
        let message = format!("{} has no attribute {}", Quoted(schema.name()), Quoted(text));
        let known = schema.attributes.iter().map(|formal| formal.name.as_str());
        let help = match onnx_schema::nearest(text, known) {
            Some(near) => format!("did you mean {}?", Quoted(near)),
            None => "remove it; tools store their own data in metadata".to_owned(),
        };
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help(help)
            .note(format!("the signature is that of {schema}"))
            .beyond_reference(true)
    });
}

/// The versions in which the operator has an attribute of this name: the newest run of them.
fn versions_with(schema: &Schema, name: Symbol) -> Option<String> {
    let mut runs = schema.versions().iter().rev().skip_while(|version| version.attribute(name).is_none());
    let newest = runs.next()?;
    let oldest = runs.take_while(|version| version.attribute(name).is_some()).last().unwrap_or(newest);
    let first = oldest.since_version();
    Some(match newest.until_version() {
        Some(last) => format!("versions {first} to {last}"),
        None => format!("version {first} and newer"),
    })
}
