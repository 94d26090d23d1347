//! Numbers for dimension variables.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;
use onnx_diag::Severity;
use onnx_ir::{Def, Model, ValueId};
use onnx_shape_infer::fault::{self, DECLARED_SHAPE_DIFFERS};
use onnx_shape_infer::{FactScope, Inference, Relation, Strength};
use onnx_types::expr::Dialect;
use onnx_types::{Dim, Symbol, Type};

use super::types::change_dims;
use super::{EditOptions, FixedSize, Resized, is_temporary, names, outputs};
use crate::error::ComposeError;

/// Puts numbers for variables of the inputs.
pub(super) fn bind(
    model: &mut Model,
    sizes: &BTreeMap<String, i64>,
    options: &EditOptions<'_>,
    done: &mut Resized,
) -> Result<(), ComposeError> {
    if sizes.is_empty() {
        return Ok(());
    }
    let numbers: Vec<(Symbol, i64)> = sizes.iter().map(|(name, &size)| (model.intern(name), size)).collect();
    let before = options.infer(model, &[], true)?;
    let mut fixed = violated(model, &before, &numbers);
    let after = options.infer(model, &numbers, true)?;
    let is_declared = |found: &FixedSize| found.rule == Some(DECLARED_SHAPE_DIFFERS.code);
    // Declared types that are wrong for the numbers are corrected.
    fixed.extend(contradictions(model, &before, &after).into_iter().filter(|found| !is_declared(found)));
    if !fixed.is_empty() {
        return Err(ComposeError::FixedSizes(fixed));
    }
    let of =
        |symbol: Symbol| numbers.iter().find(|(name, _)| *name == symbol).map(|&(_, size)| Dim::Known(size));
    let variables: names::Variables = names::of_inputs(model).into_iter().collect();
    let mut impossible = None;
    // The sizes of values that rest on variables with numbers.
    let mut touched: Vec<(ValueId, usize)> = Vec::new();
    done.types += change_dims(model, &mut |model, value, axis, dim| {
        let expression = match dim {
            Dim::Var(symbol) => {
                of(symbol).map_or_else(|| names::read(model, &variables, symbol), |_| Some(dim))
            }
            Dim::Expr(_) => Some(dim),
            Dim::Known(_) | Dim::Unknown => None,
        };
        let Some(expression) = expression else { return dim };
        let new = model.exprs_mut().0.substitute(expression, &of);
        if new == expression {
            return dim;
        }
        let is_size = new.known().map_or(!new.is_unknown(), |size| size >= 0);
        if !is_size && is_input(model, value) {
            impossible.get_or_insert((value, axis, expression));
        }
        touched.push((value, axis));
        new
    });
    if let Some((value, axis, expression)) = impossible {
        let text = model.exprs().text(expression, model.names(), Dialect::Python).unwrap_or_default();
        let reason =
            format!("has the size `{text}` on axis {axis}, which cannot be computed or is negative then");
        return Err(ComposeError::FixedSizes(vec![FixedSize::of_value(model, value, reason)]));
    }
    let mut proved = options.infer(model, &[], false)?;
    done.removed += reconcile(model, &proved, &touched);
    done.types += outputs::refine(model, &mut proved, &[]);
    let visible = sizes.iter().filter(|(name, _)| !is_temporary(name));
    done.bound.extend(visible.map(|(name, &size)| (name.clone(), size)));
    // Types that were declared wrongly are corrected by now.
    let left = contradictions(model, &before, &options.infer(model, &[], true)?);
    if left.is_empty() { Ok(()) } else { Err(ComposeError::FixedSizes(left)) }
}

/// The proved conditions of a model that do not hold for some sizes.
fn violated(model: &Model, inference: &Inference, sizes: &[(Symbol, i64)]) -> Vec<FixedSize> {
    let of = |symbol: Symbol| sizes.iter().find(|(name, _)| *name == symbol).map(|&(_, size)| size);
    let fails = |relation: Relation| relation.fails(|dim| inference.exprs().eval(dim, &of));
    let facts = inference.facts().all().iter();
    let proved = facts.filter(|fact| fact.strength == Strength::Proved && fact.scope == FactScope::Model);
    proved
        .filter(|fact| fails(fact.relation))
        .map(|fact| {
            let condition = onnx_shape_infer::Guard::new(model, inference, *fact).condition;
            let reason = format!("requires {condition}");
            match fact.node {
                Some(node) => FixedSize::at(model, node, reason),
                None => FixedSize::of_model(reason),
            }
        })
        .collect()
}

/// The errors of inference that it did not find before, those in graphs that need not be executed included: runtimes infer the shapes
/// of all graphs, and refuse the model.
pub(super) fn contradictions(model: &Model, before: &Inference, after: &Inference) -> Vec<FixedSize> {
    let is_error = |found: &&onnx_diag::Diagnostic| {
        found.severity == Severity::Error || found.rule == &fault::CONDITIONAL
    };
    let known: HashSet<(u16, String), RandomState> = before
        .findings()
        .diagnostics()
        .iter()
        .filter(is_error)
        .map(|found| (found.rule.code, format!("{:?}", found.locus.steps())))
        .collect();
    let errors = after.findings().diagnostics().iter().filter(is_error);
    errors
        .filter(|found| !known.contains(&(found.rule.code, format!("{:?}", found.locus.steps()))))
        .map(|found| FixedSize::of_finding(model, found))
        .collect()
}

/// Corrects declared sizes that inference contradicts, and removes those that it does not prove. Returns their number.
fn reconcile(model: &mut Model, proved: &Inference, touched: &[(ValueId, usize)]) -> usize {
    let mut removed = 0;
    for &(value, axis) in touched {
        if is_input(model, value) {
            continue;
        }
        let Some(ty) = model.ty(value).cloned() else { continue };
        let Some(declared) = ty.shape().and_then(|shape| shape.dim(axis)) else { continue };
        let rank = ty.shape().map(onnx_types::Shape::rank);
        let found = proved.shape(value);
        if found.is_some_and(|dims| Some(dims.len()) != rank) {
            model.set_type(value, None::<Type>);
            removed += 1;
            continue;
        }
        let found = found.and_then(|dims| dims.get(axis)).copied().unwrap_or(Dim::Unknown);
        if found.known().is_some() && found == declared {
            continue;
        }
        // An expression of other variables that inference proves as well.
        if found.known().is_none() && declared.known().is_none() {
            continue;
        }
        let new = if found.known().is_some() { found } else { Dim::Unknown };
        removed += usize::from(new.is_unknown());
        set_dim(model, value, ty, axis, new);
    }
    removed
}

/// Whether a value is an input of the main graph.
pub(super) fn is_input(model: &Model, value: ValueId) -> bool {
    matches!(model.value(value).def(), Def::Input { graph, .. } if graph == model.main_graph())
}

/// Sets one dimension of a tensor type.
pub(super) fn set_dim(model: &mut Model, value: ValueId, mut ty: Type, axis: usize, dim: Dim) {
    if let onnx_types::TypeKind::Tensor(tensor) = &mut ty.kind
        && let Some(slot) = tensor.shape.as_mut().and_then(|shape| shape.dims_mut().get_mut(axis))
    {
        *slot = dim;
        ty.source = None;
        model.set_type(value, Some(ty));
    }
}
