//! `Constant`: sparse values came with version 11, lists and numbers with version 12.

use onnx_schema::attr;

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

/// Downwards: the value is not sparse.
pub(crate) fn not_sparse(step: &mut Step<'_>) -> Result<(), Reason> {
    match step.has(attr::SPARSE_VALUE) {
        true => Err("its value is sparse".into()),
        false => Ok(()),
    }
}
