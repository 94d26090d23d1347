//! The rule `wrong-attribute-kind`: an attribute is not of the kind that its operator declares.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::AttrKind;
use onnx_schema::SchemaRef;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2402,
    "wrong-attribute-kind",
    Severity::Error,
    "An attribute is not of the kind that its operator declares.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("wrong_attribute_kind.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let (node, attribute) = (cx.node, cx.attribute);
    let (schema, kind) = match (cx.schema, cx.formal, cx.declared) {
        (Some(schema), Some(formal), _) => (SchemaRef::Standard(schema), formal.kind),
        (None, _, Some(schema)) => {
            let formal = schema.attribute(cx.model.str(attribute.name()));
            let Some(kind) = formal.and_then(|formal| formal.kind) else { return };
            (SchemaRef::Declared(schema), kind)
        }
        _ => return,
    };
    // What declares one kind and holds another is wrong whatever the operator says.
    let declared = attribute.declared_kind();
    let holds = attribute.value().kind().map(AttrKind::code);
    if declared.is_some() && holds.is_some() && declared != holds {
        return;
    }
    if declared.unwrap_or_else(|| attribute.kind().code()) == kind.code() {
        return;
    }
    cx.report(&RULE, |places| {
        let expected = kind.text_name();
        let name = attribute.name();
        let found = match declared.map(AttrKind::from_code) {
            Some(None) => "of a kind that does not exist",
            _ => attribute.kind().text_name(),
        };
        let (op, text) = (Quoted(schema.name()), Quoted(places.str(name)));
        let message = format!("attribute {text} of {op} must be {expected}, but is {found}");
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help(format!("write it as {expected}"))
            .note(format!("the signature is that of {schema}"))
            .beyond_reference(schema.is_declared())
    });
}
