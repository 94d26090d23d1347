//! The types that a version allows for the nodes that a conversion makes.

use onnx_ir::{Model, NodeId};
use onnx_schema::{FormalType, TypeId, TypeSet};
use onnx_types::Symbol;

use crate::reason::{Cause, VersionReason};
use crate::step::described;
use crate::types::Types;

/// Compares a node that a conversion makes with its schema in a version: the version must have the operator and allow the
/// types. Unknown types are allowed.
pub(crate) fn check(
    model: &Model,
    types: &Types,
    node: NodeId,
    (set, version): (Symbol, i64),
) -> Result<(), VersionReason> {
    // The step may have erased the node again.
    let Some(record) = model.get_node(node) else { return Ok(()) };
    if onnx_schema::normalize_domain(record.domain()) != set {
        return Ok(());
    }
    let op = model.str(record.op());
    let Some(schema) = onnx_schema::lookup(set, record.op(), version) else {
        let text = format!("version {version} does not have `{op}`, which would replace it");
        return Err(VersionReason::new(Cause::NoForm, text));
    };
    let inputs = record.inputs().enumerate().map(|(index, value)| (value, schema.input_for(index)));
    let outputs = record.outputs().iter().enumerate();
    let outputs = outputs.map(|(index, value)| (*value, schema.output_for(index)));
    let mut bound: Vec<(u8, TypeId)> = Vec::new();
    for (value, formal) in inputs.chain(outputs) {
        let (Some(value), Some(formal)) = (value, formal) else { continue };
        let ty = types.ty(value).to_type().and_then(|ty| TypeId::of(&ty));
        let Some(ty) = ty else { continue };
        let refused = |what: &str| {
            let (shown, name) = (TypeSet::of(ty), described(model, value));
            let text =
                format!("`{op}`, which would replace it, does not allow the type {shown} of {name}{what}");
            Err(VersionReason::new(Cause::TypeNotAllowed, text))
        };
        if !schema.types_of(formal).contains(ty) {
            return refused(&format!(" in version {version}"));
        }
        let FormalType::Variable(variable) = formal.ty else { continue };
        if formal.is_variadic() && !formal.is_homogeneous {
            continue;
        }
        match bound.iter().find(|(other, _)| *other == variable) {
            Some(&(_, other)) if other != ty => {
                return refused(&format!(" together with {}", TypeSet::of(other)));
            }
            Some(_) => {}
            None => bound.push((variable, ty)),
        }
    }
    Ok(())
}
