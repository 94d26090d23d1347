//! `Slice`: bounds are attributes before version 10, and axes count from the front before version 11.

use onnx_schema::attr;
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: constant bounds are attributes; every element between them is taken.
pub(crate) fn attributes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if let Some(steps) = step.input(4)
        && step.ints(steps, "`steps`")?.iter().any(|&by| by != 1)
    {
        let version = step.version;
        return Err(format!("a step is not 1, and version {version} has no `steps`").into());
    }
    for (index, name, what) in
        [(1, attr::STARTS, "`starts`"), (2, attr::ENDS, "`ends`"), (3, attr::AXES, "`axes`")]
    {
        if let Some(value) = step.input(index) {
            let values = step.ints(value, what)?;
            step.set(name, values)?;
        }
    }
    step.cut_inputs(1);
    Ok(())
}

/// Downwards: axes count from the front.
pub(crate) fn axes_from_front(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let Some(axes) = step.input(3) else { return Ok(()) };
    let values = step.ints(axes, "`axes`")?;
    if values.iter().all(|&axis| axis >= 0) {
        return Ok(());
    }
    let x = step.operand(0)?;
    let values: Result<Vec<i64>, VersionReason> = values.iter().map(|&axis| step.positive(axis, x)).collect();
    let tensor = match step.elem(axes)? {
        ElemType::Int32 => Tensor::vector(&values?.iter().map(|&axis| axis as i32).collect::<Vec<i32>>()),
        _ => Tensor::vector(&values?),
    };
    let axes = step.constant(tensor)?;
    step.set_input(3, Some(axes));
    Ok(())
}
