//! `Constant`: sparse values came with version 11, lists and numbers with version 12.

use onnx_ir::OpsetScope;
use onnx_schema::attr;
use onnx_types::ElemType;

use crate::reason::Reason;
use crate::step::Step;

/// Downwards: the value is a tensor.
pub(crate) fn dense(step: &mut Step<'_>) -> Result<(), Reason> {
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

/// Downwards: only floats are allowed. Others become initializers, and those that nothing uses go.
pub(crate) fn only_floats(step: &mut Step<'_>) -> Result<(), Reason> {
    let tensor = step.model.node(step.node).constant_tensor().ok_or("it has no value that is known")?;
    if [ElemType::Float, ElemType::Double, ElemType::Float16].contains(&tensor.elem()) {
        return Ok(());
    }
    if step.used_output(0).is_none() {
        return Ok(step.model.erase_node(step.node)?);
    }
    let output = step.output()?;
    let is_in_function = !matches!(step.model.scope(step.model.node(step.node).graph()), OpsetScope::Model);
    if is_in_function || step.model.info().ir_version < 4 || step.model.is_graph_output(output) {
        // The comparison of types tells what is not allowed.
        return Ok(());
    }
    let made = step.constant(tensor)?;
    step.replace(made)
}

/// Downwards: the value is not sparse.
pub(crate) fn not_sparse(step: &mut Step<'_>) -> Result<(), Reason> {
    match step.has(attr::SPARSE_VALUE) {
        true => Err("its value is sparse".into()),
        false => Ok(()),
    }
}
