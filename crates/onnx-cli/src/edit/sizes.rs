//! The sizes of `--set DIM=SIZE`, for `onnx edit` and `onnx simplify`.

use onnx_compose::{NewSize, Resized, SizeChange, SizeTarget};
use onnx_ir::{Model, ValueId};

use crate::exit::Failure;
use crate::output::{Out, shown};
use crate::{dimensions, size};

/// Reads the sizes to change.
pub(crate) fn changes(model: &Model, texts: &[String]) -> Result<Vec<SizeChange>, Failure> {
    let size = |text: &str| match text.parse::<i64>() {
        Ok(number) => Some(NewSize::Number(number)),
        Err(_) => (!text.is_empty()).then(|| NewSize::Name(text.to_owned())),
    };
    let mut changes = Vec::new();
    for text in texts {
        for (dim, size) in dimensions::parse(text, size, "SIZE")? {
            changes.push(SizeChange { target: target(model, &dim)?, size });
        }
    }
    Ok(changes)
}

fn target(model: &Model, dim: &str) -> Result<SizeTarget, Failure> {
    let inputs = model.graph(model.main_graph()).inputs();
    let dims = |input: ValueId| {
        model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims()).unwrap_or_default()
    };
    let mut variables = Vec::new();
    for dim in inputs.iter().flat_map(|&input| dims(input)) {
        if let onnx_types::Dim::Var(symbol) = dim {
            variables.push(model.str(*symbol));
        }
    }
    if variables.contains(&dim) {
        return Ok(SizeTarget::Variable(dim.to_owned()));
    }
    if let Some((name, axis)) = dimensions::axis(dim)
        && let Some(&input) = inputs.iter().find(|&&input| model.str(model.value(input).name()) == name)
    {
        let rank = dims(input).len();
        if axis < rank {
            return Ok(SizeTarget::Axis(input, axis));
        }
        return Err(Failure::new(format_args!("axis `{}` does not exist", shown(dim)))
            .help(format!("`{}` has a declared rank of {rank}", shown(name))));
    }
    variables.dedup();
    let known: Vec<String> = variables.iter().take(20).map(|name| format!("`{}`", shown(name))).collect();
    let failure = Failure::new(format_args!("no input has the dimension variable or axis `{}`", shown(dim)));
    Err(failure.help(match known.as_slice() {
        [] => "the inputs have no dimension variables; an axis is written `x[0]`".to_owned(),
        known => format!("there are {}; an axis is written `x[0]`", known.join(", ")),
    }))
}

/// Tells what changed beyond the sizes themselves, and returns these in words.
pub(crate) fn describe(sizes: &Resized, out: &Out) -> Vec<String> {
    for condition in &sizes.conditions {
        out.warning(&format!("the model runs only if {condition}"), None);
    }
    if !sizes.fixed_axes.is_empty() {
        let axes = sizes.fixed_axes.iter().map(|(axis, size)| format!("`{}` = {size}", shown(axis)));
        let axes = axes.collect::<Vec<_>>().join(", ");
        out.warning(
            &format!("other inputs keep the old size: {axes}"),
            Some("name all axes of one size together: `--set 'x[0],y[0]=batch'`"),
        );
    }
    if sizes.removed > 0 {
        let removed = size::plural(sizes.removed as u64, "declared size");
        out.detail(1, &format!("removed {removed} that nothing proves"));
    }
    for (node, text) in &sizes.constants {
        out.detail(1, &format!("{node}: {text}"));
    }
    let bound = sizes.bound.iter().map(|(name, number)| format!("{} = {number}", shown(name)));
    let freed = sizes.freed.iter().map(|(name, old)| format!("{old} -> {}", shown(name)));
    let renamed = sizes.renamed.iter().map(|(old, new)| format!("{} -> {}", shown(old), shown(new)));
    bound.chain(freed).chain(renamed).collect()
}
