//! The part of a downward step that is common to all operators: attributes and operands that the older version does not
//! have are removed if they have no effect, and everything else must be allowed by the schema of the older version.

use onnx_ir::{AttrValue, Attribute};
use onnx_schema::{AttrDefault, AttrKind, Formal, FormalType, Schema, TypeId, TypeSet, attr, op};
use onnx_types::Symbol;

use crate::outputs;
use crate::reason::{Cause, VersionReason};
use crate::step::Step;
use crate::steps::{self, moved};
use crate::table::Down;

/// Converts a node to the version of the older schema.
pub(crate) fn take(step: &mut Step<'_>, row: Down) -> Result<(), VersionReason> {
    if let Some(adapt) = steps::find_down(step.old) {
        adapt(step)?;
    }
    if step.model.get_node(step.node).is_none_or(|record| record.op() != step.old.op()) {
        return Ok(());
    }
    match row {
        Down::Constant => moved::operands(step)?,
        Down::Axes => axes(step)?,
        Down::Check | Down::Adapted => {}
    }
    drop_neutral(step)?;
    write_defaults(step)?;
    drop_unused(step);
    outputs::required(step)?;
    fits(step)
}

/// Counts axes from the front, which older versions require.
pub(crate) fn axes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if let Some(AttrValue::Int(axis)) = step.given(attr::AXIS)?
        && axis < 0
    {
        // The result of `OneHot` has one axis more, and its last one was -1 before.
        let is_one_hot = step.old.op() == op::ONE_HOT;
        if !is_one_hot || axis < -1 {
            let axis = step.positive(axis, step.operand(0)?)?.saturating_add(i64::from(is_one_hot));
            step.set(attr::AXIS, axis)?;
        }
    }
    // Their order has no meaning, but the reference inserts and removes one after the other, which is right for ascending axes only.
    let is_unordered = matches!(step.old.op(), op::SQUEEZE | op::UNSQUEEZE);
    let is_right = |axes: &[i64]| axes.iter().all(|&axis| axis >= 0) && (!is_unordered || axes.is_sorted());
    let Some(axes) = step.given_ints(attr::AXES)?.filter(|axes| !is_right(axes)) else {
        return Ok(());
    };
    // The axes of `Unsqueeze` are those of the result.
    let value = match step.old.op() {
        op::UNSQUEEZE => step.output()?,
        _ => step.operand(0)?,
    };
    let from_front = axes.iter().map(|&axis| step.positive(axis, value));
    let mut axes = from_front.collect::<Result<Vec<i64>, VersionReason>>()?;
    if is_unordered {
        axes.sort_unstable();
    }
    step.set(attr::AXES, axes)
}

/// Removes attributes that the older version does not declare and that have the value that they have if they are omitted.
fn drop_neutral(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let given: Vec<Attribute> = step.model.node(step.node).attributes().to_vec();
    for attribute in given {
        let name = attribute.name();
        let Some(formal) = step.old.attribute(name) else { continue };
        if step.new.attribute(name).is_some() {
            continue;
        }
        let value = step.given(name)?.unwrap_or(AttrValue::None);
        let is_default = formal.default.is_some_and(|default| is_default(&value, default));
        if !is_default && !is_neutral(name, &value) {
            return Err(format!("version {} has no attribute `{}`", step.version, formal.text()).into());
        }
        step.remove(name);
    }
    Ok(())
}

/// Attributes without a default whose value has the same effect as omitting them.
fn is_neutral(name: Symbol, value: &AttrValue) -> bool {
    match (name, value) {
        (attr::DILATIONS, AttrValue::Ints(values)) => values.iter().all(|&value| value == 1),
        _ => false,
    }
}

fn is_default(value: &AttrValue, default: AttrDefault) -> bool {
    match (value, default) {
        (AttrValue::Int(value), AttrDefault::Int(default)) => *value == default,
        (AttrValue::Float(value), AttrDefault::Float(default)) => value.to_bits() == default.to_bits(),
        (AttrValue::String(text), AttrDefault::String(default)) => *text == default.as_bytes(),
        _ => false,
    }
}

/// Writes the attributes that the node omits and whose defaults were others before.
fn write_defaults(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for formal in step.old.attributes() {
        let Some(default) = formal.default.filter(|_| !step.has(formal.name)) else { continue };
        let older = step.new.attribute(formal.name);
        if older.is_some_and(|older| older.default != Some(default) && older.kind == formal.kind) {
            step.set(formal.name, crate::up::value_of(default))?;
        }
    }
    for formal in step.new.attributes() {
        // A hint for allocators: nothing is overwritten.
        if formal.is_required && formal.name == attr::CONSUMED_INPUTS && !step.has(formal.name) {
            step.set(formal.name, vec![0_i64; step.model.node(step.node).input_count()])?;
        }
    }
    Ok(())
}

/// Removes omitted inputs at the end, and unused outputs that the older version does not have.
fn drop_unused(step: &mut Step<'_>) {
    let record = step.model.node(step.node);
    let (inputs, outputs) = (record.input_count(), record.outputs().len());
    for index in (0..inputs).rev() {
        if step.input(index).is_some() || step.new.input_for(index).is_some_and(Formal::is_variadic) {
            break;
        }
        step.cut_inputs(index);
    }
    for index in (0..outputs).rev() {
        if step.new.output_for(index).is_some() || step.used_output(index).is_some() {
            break;
        }
        if step.model.node(step.node).output(index).is_some()
            && step.model.clear_output(step.node, index).is_err()
        {
            break;
        }
    }
}

/// Compares the node with the older schema.
fn fits(step: &Step<'_>) -> Result<(), VersionReason> {
    let (record, version) = (step.model.node(step.node), step.version);
    let (inputs, outputs) = (record.input_count(), record.outputs());
    if !step.new.allows_inputs(inputs) {
        return Err(format!("version {version} does not have it with {inputs} inputs").into());
    }
    let is_there = |index: usize| record.input(index).is_some();
    for (index, formal) in step.new.inputs().iter().enumerate() {
        if !is_there(index) && !formal.is_optional() && !formal.is_variadic() {
            return Err(format!("version {version} requires input {index}, `{}`", formal.name).into());
        }
    }
    if let Some(index) = (0..outputs.len()).find(|&index| step.new.output_for(index).is_none())
        && record.output(index).is_some()
    {
        return Err(format!("version {version} does not have output {index}").into());
    }
    for formal in step.new.attributes() {
        match record.attribute(formal.name) {
            None if formal.is_required => {
                return Err(format!("version {version} requires the attribute `{}`", formal.text()).into());
            }
            Some(given) if !is_of_kind(given, formal.kind) => {
                return Err(format!("`{}` has another kind in version {version}", formal.text()).into());
            }
            _ => {}
        }
    }
    fits_types(step)
}

fn is_of_kind(given: &Attribute, kind: AttrKind) -> bool {
    // Attributes that the newer version declares with another kind are handled by the function of the step; references
    // have the kind of the attribute that they refer to.
    given.kind() == kind || matches!(given.value(), AttrValue::None | AttrValue::Ref(_))
}

/// Compares the types of operands and results with the older schema, where it allows fewer.
fn fits_types(step: &Step<'_>) -> Result<(), VersionReason> {
    let record = step.model.node(step.node);
    let mut bound: Vec<(u8, TypeId, String)> = Vec::new();
    let inputs = record
        .inputs()
        .enumerate()
        .filter_map(|(index, value)| Some((value?, step.new.input_for(index)?, step.old.input_for(index))));
    let outputs = record.outputs().iter().enumerate().filter_map(|(index, value)| {
        Some(((*value)?, step.new.output_for(index)?, step.old.output_for(index)))
    });
    let version = step.version;
    for (value, formal, before) in inputs.chain(outputs) {
        let allowed = step.new.types_of(formal);
        let is_wider = before.is_some_and(|before| step.old.types_of(before).is_subset(allowed));
        if is_wider && !is_tied(step, formal, before) {
            continue;
        }
        let name = || step.described(value);
        let ty = step.types.ty(value).to_type().and_then(|ty| TypeId::of(&ty));
        let ty = ty.ok_or_else(|| {
            let text = format!("the type of {} is unknown, and version {version} allows fewer", name());
            VersionReason::new(Cause::TypeUnknown, text)
        })?;
        let refused = |text: String| Err(VersionReason::new(Cause::TypeNotAllowed, text));
        if !allowed.contains(ty) {
            let shown = TypeSet::of(ty);
            return refused(format!("version {version} does not allow the type {shown} of {}", name()));
        }
        let FormalType::Variable(variable) = formal.ty else { continue };
        if formal.is_variadic() && !formal.is_homogeneous {
            continue;
        }
        match bound.iter().find(|(other, ..)| *other == variable) {
            Some(&(_, other, ref first)) if other != ty => {
                return refused(format!("version {version} requires one type for {first} and {}", name()));
            }
            Some(_) => {}
            None => bound.push((variable, ty, name())),
        }
    }
    Ok(())
}

/// Whether an operand must have the type of another one in the older version only.
fn is_tied(step: &Step<'_>, formal: &Formal, before: Option<&Formal>) -> bool {
    let FormalType::Variable(variable) = formal.ty else { return false };
    let others = |schema: &Schema, variable: u8| -> Vec<&'static str> {
        let formals = schema.inputs().iter().chain(schema.outputs());
        let of = formals.filter(|formal| formal.ty == FormalType::Variable(variable));
        of.map(|formal| formal.name).collect()
    };
    match before.map(|before| before.ty) {
        Some(FormalType::Variable(old)) => others(step.new, variable).len() > others(step.old, old).len(),
        _ => others(step.new, variable).len() > 1,
    }
}
