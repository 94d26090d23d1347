//! The pass `no-default-attributes`: attributes that have the default of their operator are left out.

use onnx_ir::{Cursor, Model, NodeId};
use onnx_schema::Registry;
use onnx_types::Symbol;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-default-attributes";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Leaves out attributes that have their default.", Exactness::Exact, no_default_attributes)
        .with_page(include_str!("no_default_attributes.md"))
}

/// Leaves out the attributes of standard operators that have the default of the operator's version.
pub fn no_default_attributes(cx: &mut PassCx<'_>) -> Report {
    let registry = cx.options().registry;
    cx.restructure(NAME, |model| {
        let mut removed = 0;
        let mut cursor = Cursor::all(model);
        while let Some(node) = cursor.next(model) {
            for name in defaulted(model, node, registry) {
                removed += usize::from(model.remove_attribute(node, name));
            }
        }
        removed
    })
}

fn defaulted(model: &Model, node: NodeId, registry: &Registry) -> Vec<Symbol> {
    let Some(schema) = model.callee(node, registry).standard() else { return Vec::new() };
    let is_default = |attribute: &&onnx_ir::Attribute| {
        schema.default_of(attribute.name()).is_some_and(|default| attribute.value().is_default(default))
    };
    model.node(node).attributes().iter().filter(is_default).map(onnx_ir::Attribute::name).collect()
}
