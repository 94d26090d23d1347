//! Sizes that the user sets.

use onnx_ir::{Model, ValueId};
use onnx_types::{Dim, Symbol, Type, TypeKind};

use crate::dimensions;
use crate::exit::Failure;
use crate::infer::{is_variable, require_consistent, variable_sizes};
use crate::output::shown;
use crate::run::{Set, name};

/// The sizes of variables that the user sets. An axis without a variable gets its size in the type of the input.
pub(crate) fn bind(model: &mut Model, set: &[Set]) -> Result<Vec<(Symbol, i64)>, Failure> {
    let mut named = Vec::new();
    let mut sizes = Vec::new();
    for (dim, size) in set {
        match axis(model, dim) {
            None => named.push((dim.clone(), *size)),
            Some((input, axis)) => sizes.extend(bind_axis(model, (input, axis), dim, *size)?),
        }
    }
    sizes.extend(variable_sizes(model, &named)?);
    require_consistent(model, &sizes)?;
    Ok(sizes)
}

/// The input and the axis of `x[0]`, unless a variable has this name.
fn axis(model: &Model, dim: &str) -> Option<(ValueId, usize)> {
    let (of, axis) = dimensions::axis(dim)?;
    let inputs = model.graph(model.main_graph()).inputs();
    let input = inputs.iter().find(|&&input| name(model, input) == of)?;
    Some((*input, axis))
}

/// The size of the variable of an axis; an axis without one is set in the model.
fn bind_axis(
    model: &mut Model,
    (input, axis): (ValueId, usize),
    text: &str,
    size: i64,
) -> Result<Option<(Symbol, i64)>, Failure> {
    let dim = model.ty(input).and_then(Type::shape).and_then(|shape| shape.dim(axis));
    match dim {
        Some(Dim::Var(symbol)) => Ok(Some((symbol, size))),
        Some(Dim::Known(known)) if known == size => Ok(None),
        Some(Dim::Unknown) => {
            let mut ty = model.ty(input).cloned().unwrap_or_default();
            if let TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) = &mut ty.kind
                && let Some(slot) = tensor.shape.as_mut().and_then(|shape| shape.dims_mut().get_mut(axis))
            {
                *slot = Dim::Known(size);
            }
            model.set_type(input, Some(ty));
            Ok(None)
        }
        Some(_) => Err(Failure::new(format_args!("`{}` has another size in this model", shown(text)))
            .help("only variables and unknown sizes can be set: leave it away, or change the model")),
        None => Err(Failure::new(format_args!("axis `{}` does not exist", shown(text)))
            .help("`onnx info MODEL` shows the inputs")),
    }
}

/// Sizes that the user sets for several models, each of which gets those that it has.
#[derive(Debug, Default)]
pub(crate) struct SharedSizes {
    /// The sizes that no model has had so far.
    absent: Option<Vec<String>>,
}

impl SharedSizes {
    /// Like [`bind`], for one of several models.
    pub(crate) fn bind(&mut self, model: &mut Model, set: &[Set]) -> Result<Vec<(Symbol, i64)>, Failure> {
        let (present, absent): (Vec<Set>, Vec<Set>) =
            set.iter().cloned().partition(|(dim, _)| has_dimension(model, dim));
        let absent: Vec<String> = absent.into_iter().map(|(dim, _)| dim).collect();
        self.absent = Some(match self.absent.take() {
            Some(before) => before.into_iter().filter(|dim| absent.contains(dim)).collect(),
            None => absent,
        });
        bind(model, &present)
    }

    /// Refuses a size that none of the models has.
    pub(crate) fn require_used(&self) -> Result<(), Failure> {
        let Some(dim) = self.absent.iter().flatten().next() else { return Ok(()) };
        Err(Failure::new(format_args!("no input of any of the models has the dimension `{}`", shown(dim)))
            .help("`onnx info MODEL` shows the inputs; an axis is written `x[0]`"))
    }
}

/// Whether an input has a dimension variable of this name, or the axis.
fn has_dimension(model: &mut Model, dim: &str) -> bool {
    match axis(model, dim) {
        Some((input, axis)) => {
            let shape = model.ty(input).and_then(Type::shape);
            shape.is_none_or(|shape| shape.dim(axis).is_some())
        }
        None => is_variable(model, dim),
    }
}
