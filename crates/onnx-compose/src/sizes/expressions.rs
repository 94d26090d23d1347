//! Sizes of inputs that are expressions get a number or a name.
//!
//! A number for `2*N` is one for `N`. Other expressions, and those that get a name, are not a condition on the inputs any more, so
//! what was declared because of them is proved again.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::{Dim, Symbol};

use super::names::{self, Variables, meaning, of_inputs};
use super::{EditOptions, NewSize, Resized, bind};
use crate::error::ComposeError;

/// An expression that gets a size.
pub(super) struct Change {
    /// The name of the size, as it is declared.
    name: String,
    expression: Dim,
    /// The axes of inputs that have the size.
    axes: Vec<(ValueId, usize)>,
    size: NewSize,
}

impl Change {
    /// The old and the new name, if it gets one.
    pub(super) fn renamed(&self) -> Option<(&str, &str)> {
        match &self.size {
            NewSize::Name(new) => Some((&self.name, new)),
            NewSize::Number(_) => None,
        }
    }

    pub(super) fn new(model: &mut Model, name: String, expression: Dim, size: NewSize) -> Self {
        let variables = of_inputs(model).into_iter().collect();
        let mut axes = Vec::new();
        for input in model.graph(model.main_graph()).inputs().to_vec() {
            let dims = model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims().to_vec());
            for (axis, dim) in dims.unwrap_or_default().into_iter().enumerate() {
                if meaning(model, &variables, dim) == expression {
                    axes.push((input, axis));
                }
            }
        }
        Self { name, expression, axes, size }
    }

    fn refuse(&self, what: &str) -> ComposeError {
        let message = format!("`{}` is an expression that is {what}", self.name.escape_debug());
        ComposeError::Refused(message, self.axes.first().map(|&(value, _)| value))
    }
}

/// Finds the numbers of variables that follow from those of expressions. Returns the other changes.
///
/// # Errors
///
/// Returns an error if an expression cannot have its size.
pub(super) fn solve(
    model: &mut Model,
    mut changes: Vec<Change>,
    numbers: &mut BTreeMap<String, i64>,
) -> Result<Vec<Change>, ComposeError> {
    loop {
        let mut open = Vec::new();
        let count = numbers.len();
        for change in changes {
            let of = numbers.iter().filter_map(|(name, &size)| Some((model.names().get(name)?, size)));
            let of: BTreeMap<Symbol, i64> = of.collect();
            let bound = |symbol: Symbol| of.get(&symbol).copied().map(Dim::Known);
            let left = model.exprs_mut().0.substitute(change.expression, &bound);
            let size = match &change.size {
                NewSize::Number(number) => Dim::Known(*number),
                NewSize::Name(name) => Dim::Var(model.intern(name)),
            };
            if left == size {
                continue;
            }
            let (exprs, _) = model.exprs_mut();
            if exprs.never_equal(left, size) {
                return Err(change.refuse(&format!("never {}", change.size)));
            }
            let affine = size.known().and_then(|size| Some((size, affine(model, left)?)));
            let Some((size, (variable, slope, base))) = affine else {
                open.push(change);
                continue;
            };
            let rest = size.checked_sub(base);
            let exact = rest.filter(|rest| rest.checked_rem(slope) == Some(0));
            let number = exact.and_then(|rest| rest.checked_div(slope)).filter(|&number| number >= 0);
            let Some(number) = number else {
                return Err(change.refuse(&format!("never {}", change.size)));
            };
            numbers.insert(model.str(variable).to_owned(), number);
        }
        if numbers.len() == count || open.is_empty() {
            return Ok(open);
        }
        changes = open;
    }
}

/// The variable, the slope and the value at 0 of an expression `a*N + b`.
fn affine(model: &mut Model, dim: Dim) -> Option<(Symbol, i64, i64)> {
    let (exprs, _) = model.exprs_mut();
    let symbols = exprs.symbols(dim);
    let &[variable] = symbols.as_slice() else { return None };
    let at = |size: Dim| move |symbol: Symbol| (symbol == variable).then_some(size);
    let next = exprs.add(Dim::Var(variable), Dim::Known(1));
    let next = exprs.substitute(dim, &at(next));
    let slope = exprs.sub(next, dim).known()?;
    let base = exprs.substitute(dim, &at(Dim::Known(0))).known()?;
    Some((variable, slope, base))
}

/// Sets the sizes of the axes, and proves what was declared because of the expressions.
pub(super) fn set(
    model: &mut Model,
    changes: &[Change],
    options: &EditOptions<'_>,
    done: &mut Resized,
) -> Result<(), ComposeError> {
    if changes.is_empty() {
        return Ok(());
    }
    let before = options.infer(model, &[], true)?;
    let proved = proved(model, options)?;
    let mut affected: Variables = of_inputs(model).into_iter().collect();
    let old = affected.clone();
    let mut kept = HashSet::<Symbol, RandomState>::default();
    for change in changes {
        if let NewSize::Name(name) = &change.size {
            let name = model.intern(name);
            names::refuse_taken(model, name)?;
            kept.insert(name);
        }
        for &(value, axis) in &change.axes {
            let dim = model.ty(value).and_then(|ty| ty.shape()?.dim(axis)).unwrap_or_default();
            let dim = meaning(model, &old, dim);
            kept.extend(model.exprs().symbols(dim));
            names::set(model, value, axis, &change.size);
            done.types += 1;
        }
        if let NewSize::Name(name) = &change.size {
            done.renamed.push((change.name.clone(), name.clone()));
        }
    }
    affected.retain(|symbol| kept.contains(symbol));
    declare(model, (&old, &affected, &proved), options, done)?;
    let left = bind::contradictions(model, &before, &options.infer(model, &[], true)?);
    if left.is_empty() { Ok(()) } else { Err(ComposeError::FixedSizes(left)) }
}

/// Axes of values.
type Axes = HashSet<(ValueId, usize), RandomState>;

/// The declared sizes of the main graph and of those nested in it, without those of its inputs.
fn declared(model: &Model) -> Vec<(ValueId, usize, Dim)> {
    let values = model.graphs_in(model.main_graph()).flat_map(|graph| model.definitions(graph));
    let values = values.filter(|&value| !bind::is_input(model, value));
    let dims = values.filter_map(|value| Some((value, model.ty(value)?.shape()?.dims())));
    dims.flat_map(|(value, dims)| dims.iter().enumerate().map(move |(axis, &dim)| (value, axis, dim)))
        .collect()
}

/// The size of an axis that inference concludes, in the expressions of the model; `None` if it has a variable that inference made.
fn of_model(model: &mut Model, inference: &mut Inference, value: ValueId, axis: usize) -> Option<Dim> {
    let dim = inference.shape(value).and_then(|dims| dims.get(axis)).copied().unwrap_or_default();
    let is_of_model = inference.exprs().symbols(dim).iter().all(|symbol| symbol.number().is_none());
    is_of_model.then(|| inference.intern(model, dim))
}

/// The declared sizes that inference proves.
fn proved(model: &mut Model, options: &EditOptions<'_>) -> Result<Axes, ComposeError> {
    let mut inference = options.prove(model)?;
    let variables = of_inputs(model).into_iter().collect();
    let mut proved = Axes::default();
    for (value, axis, dim) in declared(model) {
        if of_model(model, &mut inference, value, axis) == Some(meaning(model, &variables, dim)) {
            proved.insert((value, axis));
        }
    }
    Ok(proved)
}

/// Declares what inference proves, where it does not prove what is declared any more.
fn declare(
    model: &mut Model,
    (old, affected, proved): (&Variables, &Variables, &Axes),
    options: &EditOptions<'_>,
    done: &mut Resized,
) -> Result<(), ComposeError> {
    let mut inference = options.prove(model)?;
    let variables = of_inputs(model).into_iter().collect();
    for (value, axis, dim) in declared(model) {
        let was = meaning(model, old, dim);
        let is_affected = proved.contains(&(value, axis))
            || model.exprs().symbols(was).iter().any(|symbol| affected.contains(symbol));
        if dim.is_unknown() || !is_affected {
            continue;
        }
        let new = of_model(model, &mut inference, value, axis).unwrap_or_default();
        if meaning(model, &variables, dim) == new {
            continue;
        }
        let Some(ty) = model.ty(value).cloned() else { continue };
        bind::set_dim(model, value, ty, axis, new);
        done.types += 1;
        done.removed += usize::from(new.is_unknown());
    }
    Ok(())
}
