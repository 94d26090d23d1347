//! Comparison of the weights of two models.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_eval::Value;
use onnx_eval::compare::{Difference, Tolerances, compare_values_within};
use onnx_ir::Model;
use onnx_types::tensor::{DataSource, Payload, Tensor, TensorError};
use onnx_types::{ElemType, Interrupt};

use crate::list::{Weight, weights};
use crate::replace::{WeightError, describe};

/// The difference between a weight and that of the other model with the same name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WeightDifference {
    /// The bytes of the elements are equal.
    Identical,
    /// Types or dimensions differ: those of both.
    Type(String, String),
    /// Elements differ; [`Difference::agrees`] tells whether they are within the tolerances.
    Elements(Difference),
}

impl WeightDifference {
    /// Whether the weights are equal within the tolerances.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        match self {
            Self::Identical => true,
            Self::Type(..) => false,
            Self::Elements(difference) => difference.agrees(),
        }
    }
}

/// A weight that both models have.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ComparedWeight {
    /// Its name.
    pub name: String,
    /// Its bytes in the first model.
    pub bytes: u64,
    /// The difference.
    pub difference: WeightDifference,
}

/// Result of [`compare_weights`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WeightComparison {
    /// The weights of both models, in the order of the first one.
    pub weights: Vec<ComparedWeight>,
    /// The names of weights that only the first model has.
    pub only_in_a: Vec<String>,
    /// The names of weights that only the second model has.
    pub only_in_b: Vec<String>,
}

/// Compares the weights of two models that have the same name. Equal bytes are found at the speed of reading them.
///
/// # Errors
///
/// Returns an error if a tensor is invalid, its elements cannot be read, or the work is interrupted.
pub fn compare_weights(
    (a, source_a): (&Model, &dyn DataSource),
    (b, source_b): (&Model, &dyn DataSource),
    tolerances: &Tolerances,
    interrupt: &Interrupt,
) -> Result<WeightComparison, WeightError> {
    let mut others: HashMap<String, Weight<'_>, RandomState> = HashMap::default();
    let mut order = Vec::new();
    for weight in weights(b) {
        order.push(weight.name.clone());
        others.insert(weight.name.clone(), weight);
    }
    let mut found = WeightComparison::default();
    for weight in weights(a) {
        interrupt.check()?;
        let Some(other) = others.remove(&weight.name) else {
            found.only_in_a.push(weight.name);
            continue;
        };
        let pair = ((weight.tensor, source_a), (other.tensor, source_b));
        let difference = compare_tensors(pair, tolerances, interrupt).map_err(|error| match error {
            WeightError::Tensor(source) => WeightError::Named { name: weight.name.clone(), source },
            other => other,
        })?;
        found.weights.push(ComparedWeight { bytes: weight.bytes(), name: weight.name, difference });
    }
    found.only_in_b = order.into_iter().filter(|name| others.contains_key(name)).collect();
    Ok(found)
}

/// A tensor, and the source of its elements if they are stored in another file.
type Sourced<'a> = (&'a Tensor, &'a dyn DataSource);

/// Compares two tensors, wherever their elements are stored.
///
/// # Errors
///
/// Returns an error if a tensor is invalid, its elements cannot be read, or the work is interrupted.
pub fn compare_tensors(
    (a, b): (Sourced<'_>, Sourced<'_>),
    tolerances: &Tolerances,
    interrupt: &Interrupt,
) -> Result<WeightDifference, WeightError> {
    if (a.0.data_type(), a.0.dims()) != (b.0.data_type(), b.0.dims()) {
        return Ok(WeightDifference::Type(describe(a.0), describe(b.0)));
    }
    let (a, b) = (in_memory(a)?, in_memory(b)?);
    if a.payload() == b.payload() {
        return Ok(WeightDifference::Identical);
    }
    let difference = compare_values_within(&Value::from(a), &Value::from(b), tolerances, interrupt).map_err(
        |failure| interrupt.check().map_or_else(WeightError::Stopped, |()| WeightError::Compare(failure)),
    )?;
    Ok(WeightDifference::Elements(difference))
}

/// The tensor with its elements in canonical form.
pub(super) fn in_memory((tensor, source): Sourced<'_>) -> Result<Tensor, TensorError> {
    let payload = match tensor.elem() {
        _ if matches!(tensor.payload(), Payload::Splat(_)) => return Ok(tensor.clone()),
        ElemType::String => Payload::strings(tensor.string_bytes()?.to_vec()),
        _ => Payload::Raw(tensor.bytes(source)?),
    };
    Ok(Tensor::from_parts(tensor.data_type(), tensor.dims().iter().copied().collect(), payload))
}
