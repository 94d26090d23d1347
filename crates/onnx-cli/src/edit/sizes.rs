//! The sizes of `--set DIM=SIZE`, for `onnx edit` and `onnx simplify`.

use onnx_compose::{NewSize, Resized, SizeChange, SizeTarget};
use onnx_diag::Clean;
use onnx_ir::{Model, ValueId};
use onnx_types::TypeKind;

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
            check(text, &size)?;
            let target = target(model, &dim)?;
            if let Some(first) = changes.iter().find(|change: &&SizeChange| change.target == target)
                && first.size != size
            {
                return Err(dimensions::conflict(&dim, first.size.clone(), size));
            }
            changes.push(SizeChange { target, size });
        }
    }
    Ok(changes)
}

/// What a size is.
const SIZES: &str =
    "a size is a whole number, which fixes it, or a name of letters, digits and `_`, which frees it: `batch`";

/// Refuses what is not a size.
fn check(text: &str, size: &NewSize) -> Result<(), Failure> {
    let is_number = |name: &str| {
        let digits = name.strip_prefix(['-', '+']).unwrap_or(name);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let reason = match size {
        NewSize::Number(number) if *number < 0 => "a size cannot be negative",
        NewSize::Name(name) if name.starts_with('-') && is_number(name) => "a size cannot be negative",
        NewSize::Name(name) if is_number(name) => "the number is too large for a size",
        // What other tools write for an axis without a size.
        NewSize::Name(name) if ["none", "null", "nil", "dynamic"].contains(&name.to_lowercase().as_str()) => {
            return Err(Failure::new(format_args!("`{}` would name a size `{}`", shown(text), shown(name)))
                .help("a size that is free has a name that says what it counts, such as `batch`"));
        }
        NewSize::Name(name) if !size.is_valid() => {
            return Err(Failure::new(format_args!("`{}` is not a size, in `{}`", shown(name), shown(text)))
                .help(SIZES));
        }
        _ => return Ok(()),
    };
    Err(Failure::new(format_args!("`{}`: {reason}", shown(text)))
        .help(format!("write a number from 0 to {}, or a name", i64::MAX)))
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
        let ty = model.ty(input);
        let is_tensor = ty.is_none_or(|ty| {
            matches!(ty.kind, TypeKind::Tensor(_) | TypeKind::SparseTensor(_) | TypeKind::Undefined)
        });
        let failure = Failure::new(format_args!("axis `{}` does not exist", shown(dim)));
        let name = shown(name);
        return Err(failure.help(match ty.and_then(|ty| ty.shape()) {
            _ if !is_tensor => format!("`{name}` is not a tensor: only tensors have axes"),
            None => format!("`{name}` has no declared rank"),
            Some(_) => format!("`{name}` has a declared rank of {rank}"),
        }));
    }
    if let Some((_, axis)) = dim.strip_suffix(']').and_then(|dim| dim.rsplit_once('['))
        && axis.strip_prefix('-').is_some_and(|axis| axis.parse::<u64>().is_ok())
    {
        return Err(Failure::new(format_args!("`{}` has a negative axis", shown(dim)))
            .help("axes count from 0: `x[0]` is the first one"));
    }
    Err(dimensions::unknown(model, dim, &variables))
}

/// Tells what changed beyond the sizes themselves, and returns these in words.
pub(crate) fn describe(sizes: &Resized, out: &Out) -> Vec<String> {
    for condition in &sizes.conditions {
        out.warning(&format!("the model runs only if {condition}"), None);
    }
    for (name, merged) in &sizes.merged {
        let all = merged.iter().map(|size| format!("`{}`", shown(size))).collect::<Vec<_>>().join(" and ");
        out.warning(
            &format!("{all} are one size now, `{}`: the model runs only if they are equal", shown(name)),
            Some("a name that no size has keeps them apart: `--set N=NEW`"),
        );
    }
    if !sizes.fixed_axes.is_empty() {
        let axes = sizes.fixed_axes.iter().map(|(axis, size)| format!("`{}` = {size}", shown(axis)));
        let axes = axes.collect::<Vec<_>>().join(", ");
        out.warning(
            &format!("other inputs keep the old size: {axes}"),
            Some("name all axes of one size together: `--set 'x[0],y[0]=batch'`"),
        );
    }
    for (variable, reason) in &sizes.dependent_rows {
        out.warning(
            &format!("the rows of `{}` are not independent: {reason}", shown(variable)),
            Some("this is right for a sequence, and wrong for a batch"),
        );
    }
    for (variable, reasons) in &sizes.unproved_rows {
        let first = reasons.first().map(String::as_str).unwrap_or_default();
        let more = match reasons.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {} more: `-v` shows all)", size::plural(more as u64, "node")),
        };
        out.summary(&format!(
            "the rows of `{}` were independent in all runs; that they are for all inputs is not proved: {}{more}",
            shown(variable),
            Clean(first)
        ));
        reasons.iter().skip(1).for_each(|reason| out.detail(1, &Clean(reason).to_string()));
    }
    for (variable, reason) in &sizes.not_run {
        // The bound of these runs is a multiple of that of proofs.
        let reason = reason
            .to_string()
            .replace("raise the limit `run_steps`", "raise the limits `proof_steps` and `run_steps`");
        let message = format!("the rows of `{}` were not compared by runs: {reason}", shown(variable));
        out.warning(&message, None);
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
