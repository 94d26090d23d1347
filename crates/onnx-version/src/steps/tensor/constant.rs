//! `Constant`: version 11 adds sparse values, version 12 adds lists and numbers.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::sparse;
use crate::step::{Step, as_double, has_floats};

/// Downwards: the value is a tensor.
pub(crate) fn dense(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.has(attr::VALUE) || step.has(attr::SPARSE_VALUE) {
        return Ok(());
    }
    let tensor = step.model.node(step.node).constant_tensor().ok_or("it has no value that is known")?;
    let names: Vec<_> = step.model.node(step.node).attributes().iter().map(|given| given.name()).collect();
    for name in names.into_iter().filter(|&name| step.old.attribute(name).is_some()) {
        step.remove(name);
    }
    step.set(attr::VALUE, tensor)
}

/// Downwards: only floats are allowed. Constants of other types become initializers, or results of a `Cast` in graphs
/// without initializers. Unused ones are removed.
pub(crate) fn only_floats(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let tensor = step.model.node(step.node).constant_tensor().ok_or("it has no value that is known")?;
    if step.used_output(0).is_none() {
        return Ok(step.model.erase_node(step.node)?);
    }
    if has_floats(&tensor) {
        return Ok(());
    }
    if step.has_initializers() {
        let made = step.constant(tensor)?;
        return step.replace(made);
    }
    let wide = as_double(&tensor)?;
    step.set(attr::VALUE, wide)?;
    let to = AttrValue::Int(tensor.elem().code().into());
    let output = step.output()?;
    step.wrap_output(output, Some(ElemType::Double), op::CAST, &[], &[(attr::TO, to)])
}

/// Downwards: a sparse value becomes a dense one, if it is small.
pub(crate) fn not_sparse(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if !step.has(attr::SPARSE_VALUE) {
        return Ok(());
    }
    let tensor = sparse::value(step.model, step.node).and_then(sparse::dense).ok_or_else(|| {
        let most = sparse::MAX_ELEMENTS;
        format!("its value is sparse, and cannot be written as a dense tensor of at most {most} elements")
    })?;
    step.remove(attr::SPARSE_VALUE);
    step.set(attr::VALUE, tensor)
}
