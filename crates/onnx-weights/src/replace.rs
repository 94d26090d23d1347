//! Weights that are replaced by others of the same type and dimensions.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Model, TensorPlace};
use onnx_types::tensor::{DataSource, Tensor, TensorError};
use onnx_types::{ElemType, Interrupt, Stopped};

use crate::list::{Weight, weights};
use crate::safetensors::SafetensorsError;
use crate::strip::{forget_seed, is_stripped};

/// Why weights cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightError {
    /// A tensor is invalid, or its elements cannot be read.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A tensor of this name is invalid, or its elements cannot be read.
    #[error("`{}`: {source}", name.escape_debug())]
    Named {
        /// The name of the weight.
        name: String,
        /// The reason.
        source: TensorError,
    },
    /// The model has no weight of this name.
    #[error("the model has no weight `{}`", .0.escape_debug())]
    NoSuchWeight(String),
    /// A weight has another type or other dimensions than its replacement.
    #[error("`{}` has the type {expected}, but its replacement {found}", name.escape_debug())]
    OtherType {
        /// The name of the weight.
        name: String,
        /// The type and the dimensions of the weight.
        expected: String,
        /// Those of the replacement.
        found: String,
    },
    /// The elements of a weight are needed, but were stripped.
    #[error("the elements of `{}` were stripped", .0.escape_debug())]
    Stripped(String),
    /// A model has none of the weights that were stripped in another one, of which this is the first.
    #[error("it has none of the stripped weights, such as `{}`", .0.escape_debug())]
    NoneStripped(String),
    /// Values of a type cannot be generated.
    #[error("no elements are generated for `{}`: {reason}", name.escape_debug())]
    NotGenerated {
        /// The name of the weight.
        name: String,
        /// The reason.
        reason: String,
        /// The limit that was exceeded, if that is the reason.
        limit: Option<&'static str>,
    },
    /// Elements cannot be compared.
    #[error(transparent)]
    Compare(onnx_eval::Failure),
    /// A file of weights is not valid.
    #[error(transparent)]
    Safetensors(#[from] SafetensorsError),
    /// The work was interrupted.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl WeightError {
    /// The limit that was exceeded, if that is the reason.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::NotGenerated { limit, .. } => *limit,
            Self::Safetensors(error) => error.limit(),
            Self::Tensor(error) | Self::Named { source: error, .. } => error.limit(),
            _ => None,
        }
    }
}

/// Elements for a weight.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replacement {
    /// The name of the weight, as in [`Weight::name`](super::Weight::name).
    pub name: String,
    /// A tensor of the same type and dimensions. Of it, only the elements are used.
    pub tensor: Tensor,
}

impl Replacement {
    /// Elements for a weight.
    #[must_use]
    pub fn new(name: impl Into<String>, tensor: Tensor) -> Self {
        Self { name: name.into(), tensor }
    }
}

/// The names of the weights of a model that were stripped, in order.
#[must_use]
pub fn stripped_names(model: &Model) -> Vec<String> {
    let all = weights(model).into_iter().filter(|weight| is_stripped(weight.tensor));
    all.map(|weight| weight.name).collect()
}

/// The weights that one model has for another one: those that were stripped there, or all if none were. What was changed in a stripped
/// model stays, and so do weights that only one of the models has.
///
/// # Errors
///
/// Returns an error if the model has none of the weights that were stripped; see also [`replacements`].
pub fn replacements_for(
    target: &Model,
    model: &Model,
    source: &dyn DataSource,
    interrupt: &Interrupt,
) -> Result<Vec<Replacement>, WeightError> {
    let names = stripped_names(target);
    let stripped: HashSet<&str, RandomState> = names.iter().map(String::as_str).collect();
    let is_chosen = |weight: &Weight<'_>| stripped.is_empty() || stripped.contains(weight.name.as_str());
    let found = replacements(model, source, &is_chosen, interrupt)?;
    match names.into_iter().next().filter(|_| found.is_empty()) {
        Some(first) => Err(WeightError::NoneStripped(first)),
        None => Ok(found),
    }
}

/// The weights of a model that a function chooses, for another model with weights of the same names. Their elements are in memory,
/// wherever they are stored.
///
/// # Errors
///
/// Returns an error if a tensor is invalid, its elements cannot be read or were stripped, or the work is interrupted.
pub fn replacements(
    model: &Model,
    source: &dyn DataSource,
    is_chosen: &dyn Fn(&Weight<'_>) -> bool,
    interrupt: &Interrupt,
) -> Result<Vec<Replacement>, WeightError> {
    let mut found = Vec::new();
    for weight in weights(model).into_iter().filter(is_chosen) {
        interrupt.check()?;
        if is_stripped(weight.tensor) {
            return Err(WeightError::Stripped(weight.name));
        }
        let tensor = weight.load(source)?;
        found.push(Replacement::new(weight.name, tensor));
    }
    Ok(found)
}

/// Gives weights other elements. Names, types, dimensions, documentation and metadata are kept. Returns the number of
/// weights that were replaced.
///
/// # Errors
///
/// Returns an error if the model has no weight of a name, or if type or dimensions differ. The model is unchanged then.
pub fn replace(model: &mut Model, replacements: Vec<Replacement>) -> Result<usize, WeightError> {
    let mut wanted: HashMap<String, Tensor, RandomState> = HashMap::default();
    let mut order = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        order.push(replacement.name.clone());
        wanted.insert(replacement.name, replacement.tensor);
    }
    let mut places: HashMap<TensorPlace, Tensor, RandomState> = HashMap::default();
    for weight in weights(model) {
        let Some(new) = wanted.remove(&weight.name) else { continue };
        let old = weight.tensor;
        if (old.data_type(), old.dims()) != (new.data_type(), new.dims()) {
            return Err(WeightError::OtherType {
                name: weight.name,
                expected: describe(old),
                found: describe(&new),
            });
        }
        if let Err(fault) = new.validate() {
            return Err(WeightError::Named { name: weight.name, source: fault.into() });
        }
        let mut tensor = old.clone();
        tensor.set_payload(new.payload().clone());
        places.insert(weight.place, tensor);
    }
    if let Some(name) = order.into_iter().find(|name| wanted.contains_key(name)) {
        return Err(WeightError::NoSuchWeight(name));
    }
    let count = places.len();
    model.replace_tensors(|place, _| places.remove(&place));
    forget_seed(model);
    Ok(count)
}

/// Type and dimensions: `float[2, 3]`.
pub(super) fn describe(tensor: &Tensor) -> String {
    let elem = ElemType::from_code(tensor.data_type()).map_or("of an unknown type", ElemType::name);
    let dims: Vec<String> = tensor.dims().iter().map(ToString::to_string).collect();
    format!("{elem}[{}]", dims.join(", "))
}
