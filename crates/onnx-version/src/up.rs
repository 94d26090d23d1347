//! The part of an upward step that is common to all operators.

use onnx_ir::AttrValue;
use onnx_schema::{AttrDefault, Schema, attr};

use crate::reason::VersionReason;
use crate::step::Step;
use crate::steps;
use crate::table::VersionChange;

/// Takes a node to the version of the newer schema.
pub(crate) fn take(step: &mut Step<'_>, row: VersionChange) -> Result<(), VersionReason> {
    match row {
        VersionChange::Adapted => {
            keep_defaults(step)?;
            let adapt = steps::find(step.new).ok_or_else(|| no_conversion(step))?;
            adapt(step)?;
        }
        VersionChange::Moved => {
            steps::moved::attributes(step)?;
            keep_defaults(step)?;
        }
        VersionChange::Same | VersionChange::Added | VersionChange::Values => keep_defaults(step)?,
    }
    remove_meaningless(step);
    refuse_undeclared(step)?;
    refuse_missing(step)
}

/// The reason why no function adapts a node.
fn no_conversion(step: &Step<'_>) -> VersionReason {
    let version = step.version;
    VersionReason::from(match step.new.is_deprecated() {
        true => {
            format!("version {version} deprecates the operator, and no conversion to its replacement exists")
        }
        false => format!("no conversion to the form of version {version} exists"),
    })
}

/// Removes `consumed_inputs`, a hint for allocators.
fn remove_meaningless(step: &mut Step<'_>) {
    if step.new.attribute(attr::CONSUMED_INPUTS).is_none() {
        step.remove(attr::CONSUMED_INPUTS);
    }
}

/// Attributes that the old version declares and the new one does not have an effect that no step keeps.
fn refuse_undeclared(step: &Step<'_>) -> Result<(), VersionReason> {
    let Some(record) = step.model.get_node(step.node).filter(|record| record.op() == step.new.op()) else {
        return Ok(());
    };
    let declares = |schema: &Schema, name| schema.attribute(name).is_some();
    let lost = record.attributes().iter().map(onnx_ir::Attribute::name);
    let lost = lost.into_iter().find(|&name| declares(step.old, name) && !declares(step.new, name));
    match lost {
        Some(name) => Err(format!("the new version has no attribute `{}`", step.model.str(name)).into()),
        None => Ok(()),
    }
}

/// Attributes and operands that the new version requires, and the old one does not, have no meaning that they could get.
fn refuse_missing(step: &Step<'_>) -> Result<(), VersionReason> {
    let Some(record) = step.model.get_node(step.node).filter(|record| record.op() == step.new.op()) else {
        return Ok(());
    };
    for formal in step.new.attributes().iter().filter(|formal| formal.is_required && !step.has(formal.name)) {
        if step.old.attribute(formal.name).is_none_or(|old| !old.is_required) {
            let (version, name) = (step.version, formal.text());
            return Err(format!("version {version} requires the attribute `{name}`, which it omits").into());
        }
    }
    for (index, formal) in step.new.inputs().iter().enumerate() {
        let was_required = step.old.inputs().get(index).is_some_and(|old| !old.is_optional());
        if !formal.is_optional() && !formal.is_variadic() && !was_required && record.input(index).is_none() {
            let (version, name) = (step.version, formal.name);
            return Err(format!("version {version} requires input {index}, `{name}`, which it omits").into());
        }
    }
    Ok(())
}

/// Writes the attributes that the node omits and whose defaults the new version changes.
fn keep_defaults(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for formal in step.old.attributes() {
        let Some(default) = formal.default.filter(|_| !step.has(formal.name)) else { continue };
        // The schema of `GRU-1` misspells the default, which means `forward`.
        if default == AttrDefault::String("foward") {
            continue;
        }
        let stays = step.new.attribute(formal.name);
        if stays.is_some_and(|stays| stays.default != Some(default)) {
            step.set(formal.name, value_of(default))?;
        }
    }
    Ok(())
}

/// The value of a default.
pub(crate) fn value_of(default: AttrDefault) -> AttrValue {
    match default {
        AttrDefault::Float(value) => AttrValue::Float(value),
        AttrDefault::Int(value) => AttrValue::Int(value),
        AttrDefault::String(text) => AttrValue::String(text.as_bytes().to_vec().into()),
        AttrDefault::Floats(values) => AttrValue::Floats(values.to_vec()),
        AttrDefault::Ints(values) => AttrValue::Ints(values.to_vec()),
        AttrDefault::Strings(texts) => {
            AttrValue::Strings(texts.iter().map(|text| text.as_bytes().to_vec().into()).collect())
        }
        _ => AttrValue::None,
    }
}
