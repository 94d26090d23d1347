//! Fixed sizes of inputs become a variable.

use onnx_ir::{Def, Model, NodeId, ValueId};
use onnx_shape_infer::{InferOptions, Inference};
use onnx_types::{Dim, Symbol, Type};
use slotmap::SecondaryMap;

use super::constants::Constants;
use super::names::refuse_taken;
use super::rows::{Law, Rows};
use super::{EditOptions, FixedSize, Resized, bind, is_temporary, node_name, separate, verdict};
use crate::error::ComposeError;
use crate::interface::name;

/// Maximum number of rounds in which constants are replaced: one for each `Reshape` on a path is needed.
const MAX_ROUNDS: usize = 1000;

/// Frees sizes of inputs, which must be equal.
pub(super) fn free(
    model: &mut Model,
    axes: &[(ValueId, usize)],
    variable: &str,
    options: &EditOptions<'_>,
    done: &mut Resized,
) -> Result<(), ComposeError> {
    let old = old_size(model, axes)?;
    let variable_symbol = model.intern(variable);
    refuse_taken(model, variable_symbol)?;
    let before = options.infer(model, &[], false)?;
    let original = model.clone();
    for &(value, axis) in axes {
        if let Some(ty) = model.ty(value).cloned() {
            bind::set_dim(model, value, ty, axis, Dim::Var(variable_symbol));
        }
    }
    let dependent = dependents(model, axes.iter().map(|&(value, _)| value));
    let fed = dependents(model, model.graph(model.main_graph()).inputs().iter().copied());
    let constants = Constants::new(&before, variable_symbol, old, axes, &dependent, &fed);
    let Some(mut constants) = constants else { return Ok(()) };
    replace_constants(model, &mut constants, options)?;
    constants.finish(model)?;
    let mut after = options.infer(model, &[], false)?;
    let verdict = verdict::Freed {
        before: &before,
        after: &after,
        constants: &constants,
        dependent: &dependent,
        options,
    };
    let shown = name_in_messages(model, axes, variable);
    let conditions = verdict.check(model)?;
    done.conditions.extend(conditions.into_iter().map(|condition| condition.replace(variable, &shown)));
    let separate::NotProved { reasons: unproved, outputs } = separate::unproved(model, &verdict);
    let replaced = constants.report(model);
    done.constants.extend(
        replaced.into_iter().map(|(node, text)| (node_name(model, node), text.replace(variable, &shown))),
    );
    let (types, removed) = declare(model, &before, &mut after, variable_symbol, &dependent);
    done.types += types + axes.len();
    done.removed += removed;
    if !is_temporary(variable) {
        done.freed.push((variable.to_owned(), old));
    }
    done.fixed_axes.extend(fixed_axes(model, axes, old, &dependent));
    // Types that were declared with the old size would be contradictions now.
    let left = bind::contradictions(model, &before, &options.infer(model, &[], true)?);
    if !left.is_empty() {
        return Err(ComposeError::FixedSizes(left));
    }
    let law =
        Law { old: &original, new: model, before: &before, axes, old_size: old, outputs: &outputs, options };
    report_rows(&law, unproved, shown, done)
}

/// The name of a freed size in messages: that of an axis if the variable stands for a number.
fn name_in_messages(model: &Model, axes: &[(ValueId, usize)], variable: &str) -> String {
    match axes.first() {
        Some(&(value, axis)) if is_temporary(variable) => format!("{}[{axis}]", name(model, value)),
        _ => variable.to_owned(),
    }
}

/// Compares rows by runs, and reports that and what is not proved.
fn report_rows(
    law: &Law<'_>,
    unproved: Vec<String>,
    shown: String,
    done: &mut Resized,
) -> Result<(), ComposeError> {
    // With one row, every operator along the axis of a batch combines one row.
    let is_batch = law.old_size == 1 && law.axes.iter().any(|&(_, axis)| axis == 0);
    match law.check() {
        Rows::Independent if unproved.is_empty() => {}
        Rows::Independent => done.unproved_rows.push((shown, unproved)),
        Rows::Failing(reason) => return Err(ComposeError::FixedSizes(vec![FixedSize::of_result(reason)])),
        Rows::Dependent(reason) if is_batch => {
            let reason = format!("combines rows: {reason}");
            return Err(ComposeError::FixedSizes(vec![FixedSize::of_result(reason)]));
        }
        Rows::Without(_) if unproved.is_empty() => {}
        // The number of results for each row can depend on its elements, and be the same for all rows of the runs.
        Rows::Without(reason) if is_batch => done.not_run.push((shown, reason)),
        Rows::Without(reason) | Rows::Dependent(reason) => done.dependent_rows.push((shown, reason)),
        Rows::Unknown(reason) => done.not_run.push((shown, reason)),
    }
    Ok(())
}

/// The axes of other inputs with the old size at the same position, if a result depends on them and on a freed one.
fn fixed_axes(
    model: &Model,
    axes: &[(ValueId, usize)],
    old: i64,
    dependent: &SecondaryMap<ValueId, ()>,
) -> Vec<(String, i64)> {
    let mut positions: Vec<usize> = axes.iter().map(|&(_, axis)| axis).collect();
    positions.sort_unstable();
    positions.dedup();
    let freed: SecondaryMap<ValueId, ()> = axes.iter().map(|&(value, _)| (value, ())).collect();
    // Replaced constants that nothing uses any more are erased.
    let joined = sources(model, dependent.keys().filter(|&value| model.get_value(value).is_some()));
    let mut fixed = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        if model.value(input).initializer().is_some()
            || freed.contains_key(input)
            || !joined.contains_key(input)
        {
            continue;
        }
        let dims = model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims()).unwrap_or_default();
        let same = positions.iter().filter(|&&axis| dims.get(axis) == Some(&Dim::Known(old)));
        fixed.extend(same.map(|axis| (format!("{}[{axis}]", name(model, input)), old)));
    }
    fixed
}

/// The values that values depend on: the reverse of [`dependents`].
fn sources(model: &Model, values: impl Iterator<Item = ValueId>) -> SecondaryMap<ValueId, ()> {
    let mut open: Vec<ValueId> = values.collect();
    let mut found: SecondaryMap<ValueId, ()> = open.iter().map(|&value| (value, ())).collect();
    let mut seen: SecondaryMap<NodeId, ()> = SecondaryMap::new();
    while let Some(value) = open.pop() {
        let node = match model.value(value).def() {
            Def::Input { graph, .. } => model.owner_node(graph),
            _ => model.value(value).producer(),
        };
        let Some(node) = node.filter(|&node| seen.insert(node, ()).is_none()) else { continue };
        let nested = model.node(node).nested_graphs().flat_map(|graph| model.nodes_in(graph));
        for operand in
            std::iter::once(node).chain(nested).flat_map(|node| model.node(node).inputs().flatten())
        {
            if found.insert(operand, ()).is_none() {
                open.push(operand);
            }
        }
    }
    found
}

/// The number that all of the axes have.
fn old_size(model: &Model, axes: &[(ValueId, usize)]) -> Result<i64, ComposeError> {
    let mut old = None;
    for &(value, axis) in axes {
        let dim = model.ty(value).and_then(|ty| ty.shape()?.dim(axis)).and_then(Dim::known);
        let Some(size) = dim.filter(|&size| size > 0) else {
            let message =
                format!("`{}[{axis}]` has no size that could become a variable", name(model, value));
            return Err(ComposeError::Refused(message, Some(value)));
        };
        if old.is_some_and(|old| old != size) {
            let message =
                format!("`{}[{axis}]` is {size}, and others of the new variable are not", name(model, value));
            return Err(ComposeError::Refused(message, Some(value)));
        }
        old = Some(size);
    }
    old.ok_or_else(|| ComposeError::refused("no size is given"))
}

/// The values that depend on inputs.
fn dependents(model: &Model, inputs: impl Iterator<Item = ValueId>) -> SecondaryMap<ValueId, ()> {
    let mut open: Vec<ValueId> = inputs.collect();
    let mut found: SecondaryMap<ValueId, ()> = open.iter().map(|&value| (value, ())).collect();
    while let Some(value) = open.pop() {
        for node in model.consumers(value) {
            // A use in a nested graph is one of all nodes around it.
            let owners = |graph| model.owner_node(graph);
            let nodes = std::iter::successors(Some(node), |&node| owners(model.node(node).graph()));
            for node in nodes {
                let record = model.node(node);
                let nested = record.attributes().iter().flat_map(|attribute| attribute.value().graphs());
                let inputs = nested.flat_map(|&graph| model.graph(graph).inputs()).copied();
                let outputs = record.outputs().iter().flatten().copied();
                for value in outputs.chain(inputs) {
                    if found.insert(value, ()).is_none() {
                        open.push(value);
                    }
                }
            }
        }
    }
    found
}

/// Replaces constants until inference finds no further one.
fn replace_constants(
    model: &mut Model,
    constants: &mut Constants<'_>,
    options: &EditOptions<'_>,
) -> Result<(), ComposeError> {
    let infer_options = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_declared(false)
        .with_execution(options.execution.clone());
    let mut revision = model.revision();
    let mut after = options.infer(model, &[], false)?;
    for _ in 0..MAX_ROUNDS {
        options.execution.interrupt.check().map_err(ComposeError::Stopped)?;
        if !constants.round(model, &after)? {
            break;
        }
        let changes = model.changes_since(&revision);
        after = after.update(model, &infer_options, &changes);
        revision = model.revision();
    }
    Ok(())
}

/// Declares the new types of values that depend on the freed size. Returns the number of changed types, and of sizes that are
/// not declared any more.
fn declare(
    model: &mut Model,
    before: &Inference,
    after: &mut Inference,
    variable: Symbol,
    dependent: &SecondaryMap<ValueId, ()>,
) -> (usize, usize) {
    let main = model.main_graph();
    let (mut types, mut removed) = (0, 0);
    let graphs: Vec<_> = model.graphs_in(main).collect();
    let values: Vec<ValueId> = graphs.iter().flat_map(|&graph| model.definitions(graph)).collect();
    for value in values.into_iter().filter(|&value| dependent.contains_key(value)) {
        if matches!(model.value(value).def(), Def::Input { graph, .. } if graph == main) {
            continue;
        }
        let Some(declared) = model.ty(value).cloned() else { continue };
        let found = after.shape(value).map(<[Dim]>::to_vec);
        let Some(dims) = declared.shape().map(|shape| shape.dims().to_vec()) else {
            // Elements of sequences and others.
            if let Some(ty) = after.intern_type(model, value).filter(|_| !is_tensor(&declared)) {
                model.set_type(value, Some(ty));
                types += 1;
            }
            continue;
        };
        if found.as_ref().is_some_and(|found| found.len() != dims.len()) {
            model.set_type(value, None::<Type>);
            removed += 1;
            continue;
        }
        for (axis, &old) in dims.iter().enumerate() {
            let dim = found.as_ref().and_then(|found| found.get(axis)).copied().unwrap_or(Dim::Unknown);
            let was = before.shape(value).and_then(|dims| dims.get(axis)).copied().unwrap_or(Dim::Unknown);
            let new = if after.exprs().symbols(dim).contains(&variable) {
                after.intern(model, dim)
            } else {
                match (dim, old) {
                    (Dim::Known(_), Dim::Known(_)) => dim,
                    (Dim::Known(_), _) => old,
                    // The declared number is not proved for other sizes, or was never proved.
                    (_, Dim::Known(_)) => Dim::Unknown,
                    (_, _) => old,
                }
            };
            if new != old {
                removed += usize::from(new.is_unknown() && was.known().is_some());
                types += 1;
                if let Some(ty) = model.ty(value).cloned() {
                    bind::set_dim(model, value, ty, axis, new);
                }
            }
        }
    }
    (types, removed)
}

const fn is_tensor(ty: &Type) -> bool {
    matches!(ty.kind, onnx_types::TypeKind::Tensor(_) | onnx_types::TypeKind::SparseTensor(_))
}
