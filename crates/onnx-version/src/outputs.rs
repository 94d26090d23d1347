//! Outputs that a node omits and an older version requires.

use onnx_ir::{Attribute, NewNode, Position, ValueId};
use onnx_schema::FormalType;
use onnx_types::{ElemType, Symbol};

use crate::reason::VersionReason;
use crate::step::Step;

/// Names the outputs that the older version requires. A node without any is not completed: no version allows it.
pub(crate) fn required(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.new.min_outputs() > 0 && step.model.node(step.node).outputs().iter().flatten().next().is_none() {
        return Err("it has no outputs, of which the older version requires some".into());
    }
    let is_required = |&index: &usize| {
        let formal = step.new.output_for(index);
        formal.is_some_and(|formal| !formal.is_optional() && !formal.is_variadic())
            || index >= step.output_count()
    };
    let required: Vec<usize> = (0..step.new.min_outputs()).filter(is_required).collect();
    name(step, &required)
}

/// Names some outputs. Outputs can be added only after the last one, so a node that omits others is made again.
pub(crate) fn name(step: &mut Step<'_>, wanted: &[usize]) -> Result<(), VersionReason> {
    let is_missing = |step: &Step<'_>, index: usize| step.model.node(step.node).output(index).is_none();
    let missing: Vec<usize> = wanted.iter().copied().filter(|&index| is_missing(step, index)).collect();
    if missing.iter().any(|&index| index < step.output_count()) {
        again(step, &missing)?;
    }
    for &index in &missing {
        while step.output_count() <= index {
            step.model.push_output(step.node, Symbol::EMPTY);
        }
        let made = step.model.node(step.node).output(index);
        if let (Some(made), Some(elem)) = (made, elem(step, index)) {
            step.types.set_elem(made, elem);
        }
    }
    Ok(())
}

/// The element type that the older version gives an output because an input has it.
fn elem(step: &Step<'_>, index: usize) -> Option<ElemType> {
    let formal = step.new.output_for(index)?;
    let is_bound = matches!(formal.ty, FormalType::Variable(_));
    let input = step.new.inputs().iter().position(|input| is_bound && input.ty == formal.ty)?;
    step.types.elem(step.input(input)?)
}

/// Replaces the node by one with more outputs.
fn again(step: &mut Step<'_>, missing: &[usize]) -> Result<(), VersionReason> {
    let record = step.model.node(step.node);
    let attributes: Vec<Attribute> = record.attributes().to_vec();
    if attributes.iter().any(|attribute| !attribute.value().graphs().is_empty()) {
        return Err("it omits an output that the older version requires".into());
    }
    let kept: Vec<bool> = record.outputs().iter().map(Option::is_some).collect();
    let mut new = NewNode::new(record.op()).domain(record.written_domain()).name(record.name());
    new.overload = record.overload();
    new.inputs = record.inputs().collect();
    new.attributes = attributes;
    new.forms = record.forms();
    new.extras = record.extras().cloned().map(Box::new);
    for (index, is_there) in kept.into_iter().enumerate() {
        let is_there = is_there || missing.contains(&index);
        new.outputs.push(is_there.then(|| step.model.new_value(Symbol::EMPTY)));
    }
    let node = step.model.add_node(Position::Before(step.node), new)?;
    let new: Vec<Option<ValueId>> = step.model.node(node).outputs().to_vec();
    step.made.push(node);
    step.replace_all(&new)?;
    step.node = node;
    Ok(())
}
