//! Models without the elements of their weights, and generated elements in their place.

use onnx_eval::generate::{GenerateError, WeightRange, weight};
use onnx_ir::{MetadataEntry, Model, TensorHolder, TensorPart};
use onnx_types::tensor::{ExternalData, Payload, Tensor};
use onnx_types::{ElemType, Execution};

use crate::list::{Weight, weights};
use crate::replace::{Replacement, WeightError, replace};

/// The begin of the location of the elements of a stripped tensor, before the seed: a file that does not exist.
pub const STRIPPED_LOCATION: &str = "stripped-weights";

/// The metadata key of the seed from which stripped elements are generated.
const SEED_KEY: &str = "onnx.weights.stripped.seed";

/// Options of [`strip`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StripOptions {
    /// The seed of the elements that [`restore`] generates.
    pub seed: u64,
    /// Whether integers of 32 and 64 bits, `bool` and strings lose their elements, too: they can be shapes, axes and indices,
    /// without which types cannot be inferred and generated elements may not run.
    pub everything: bool,
    /// Tensors with fewer elements keep them: 9 by default, because sizes and scales of operators are not longer than a shape.
    pub min_elements: u64,
}

impl Default for StripOptions {
    fn default() -> Self {
        Self { seed: 0, everything: false, min_elements: 9 }
    }
}

onnx_types::option_setters! {
    StripOptions {
        with_seed => seed: u64,
        with_everything => everything: bool,
        with_min_elements => min_elements: u64,
    }
}

/// Result of [`strip`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stripped {
    /// Number of tensors without elements.
    pub stripped: usize,
    /// Bytes of these.
    pub stripped_bytes: u64,
    /// Number of tensors that keep their elements.
    pub kept: usize,
    /// Bytes of these.
    pub kept_bytes: u64,
}

/// Removes the elements of weights, so that a model can be shared without them. Types and dimensions stay; the seed is stored in
/// the metadata of the model. No elements are read.
///
/// A stripped tensor refers to a separate range of a file [`STRIPPED_LOCATION`] that does not exist, so a reader that needs the
/// elements fails, one that does not works, and no two tensors count as equal. Its metadata and documentation stay, checksums do
/// not. `is_chosen` tells which weights may be stripped.
pub fn strip(model: &mut Model, options: &StripOptions, is_chosen: &dyn Fn(&Weight<'_>) -> bool) -> Stripped {
    let mut done = Stripped::default();
    let mut places = Vec::new();
    for weight in weights(model) {
        let bytes = weight.bytes();
        if is_stripped(weight.tensor) || (is_removable(&weight, options) && is_chosen(&weight)) {
            done.stripped = done.stripped.saturating_add(1);
            done.stripped_bytes = done.stripped_bytes.saturating_add(bytes);
            places.push(weight.place);
        } else {
            done.kept = done.kept.saturating_add(1);
            done.kept_bytes = done.kept_bytes.saturating_add(bytes);
        }
    }
    let mut next = places.into_iter().peekable();
    let location = format!("{STRIPPED_LOCATION}-{}", options.seed);
    let mut offset = 0_u64;
    model.replace_tensors(|place, tensor| {
        next.next_if_eq(&place)?;
        let mut stripped = tensor.clone();
        let length = tensor.byte_len().unwrap_or_default();
        let range = ExternalData::new(location.as_str()).with_offset(offset).with_length(length);
        offset = offset.saturating_add(length);
        stripped.set_payload(Payload::External(range));
        Some(stripped)
    });
    if done.stripped > 0 {
        set_seed(model, Some(options.seed));
    }
    done
}

/// Whether a tensor loses its elements. Strings and sparse tensors cannot refer to other files.
fn is_removable(weight: &Weight<'_>, options: &StripOptions) -> bool {
    let tensor = weight.tensor;
    let is_structure = matches!(
        tensor.elem(),
        ElemType::Int32 | ElemType::Int64 | ElemType::Uint32 | ElemType::Uint64 | ElemType::Bool
    );
    let is_storable = !matches!(tensor.elem(), ElemType::String | ElemType::Undefined);
    let is_dense = weight.place.part == TensorPart::Dense;
    // Defaults of attributes belong to no node that could be selected.
    let is_default = matches!(weight.place.holder, TensorHolder::Default(..));
    is_storable
        && is_dense
        && !is_default
        && tensor.byte_len().is_some()
        && weight.elements() >= options.min_elements.max(1)
        && (options.everything || !is_structure)
}

/// Returns `true` if the elements of a tensor were stripped.
#[must_use]
pub fn is_stripped(tensor: &Tensor) -> bool {
    match tensor.payload() {
        Payload::External(data) => {
            data.location().is_ok_and(|location| location.starts_with(STRIPPED_LOCATION))
        }
        _ => false,
    }
}

/// The seed of a model from which weights were stripped.
#[must_use]
pub fn stripped_seed(model: &Model) -> Option<u64> {
    let entry = model.info().metadata.iter().find(|entry| model.str(entry.key()) == SEED_KEY)?;
    entry.value().as_str().parse().ok()
}

/// Removes the seed from a model that has the elements of all weights.
pub(super) fn forget_seed(model: &mut Model) {
    let mut is_whole = true;
    model.for_each_tensor(|_, tensor| is_whole &= !is_stripped(tensor));
    if is_whole && stripped_seed(model).is_some() {
        set_seed(model, None);
    }
}

fn set_seed(model: &mut Model, seed: Option<u64>) {
    let key = model.intern(SEED_KEY);
    let mut info = model.info_mut();
    info.metadata.retain(|entry| entry.key() != key);
    if let Some(seed) = seed {
        info.metadata.push(MetadataEntry::new(key, seed.to_string()));
    }
}

/// Gives stripped weights generated elements, which depend only on the seed, the name of the weight and the index of the element.
/// Returns the number of these weights.
///
/// Floats of two and more dimensions are between ±1/√n for sums of n products, so that values stay finite over many layers; those
/// of one dimension are from 0.5 to 1.5, because some of them are variances. Integers cover their type, those of 32 and 64 bits
/// are 0.
///
/// # Errors
///
/// Returns an error if an element type has no generated values, or a limit is exceeded. The model is unchanged then.
pub fn restore(model: &mut Model, seed: u64, execution: &Execution) -> Result<usize, WeightError> {
    let mut replacements = Vec::new();
    for weight in weights(model).into_iter().filter(|weight| is_stripped(weight.tensor)) {
        execution.interrupt.check()?;
        let tensor = generated(&weight, seed, execution)?;
        replacements.push(Replacement::new(weight.name, tensor));
    }
    replace(model, replacements)
}

/// The range of factors of sums of this many products.
fn bounded(products: f64) -> WeightRange {
    let bound = 1.0 / products.max(1.0).sqrt();
    WeightRange::Within(-bound, bound)
}

fn generated(weight_of: &Weight<'_>, seed: u64, execution: &Execution) -> Result<Tensor, WeightError> {
    let tensor = weight_of.tensor;
    let elem = tensor.elem();
    let range = match (elem.is_float(), tensor.dims()) {
        // A matrix is multiplied from either side.
        (true, &[rows, columns]) => bounded(rows.max(columns) as f64),
        (true, [_, rest @ ..]) if !rest.is_empty() => {
            bounded(rest.iter().fold(1.0, |product, &dim| product * (dim.max(1) as f64)))
        }
        (true, _) => WeightRange::Within(0.5, 1.5),
        (false, _) if elem.bits().is_some_and(|bits| bits >= 32) => WeightRange::Within(0.0, 0.0),
        (false, _) => WeightRange::OfType,
    };
    weight(seed, &weight_of.name, elem, tensor.dims(), range, execution).map_err(|error| {
        if let GenerateError::Stopped(stopped) = error {
            return WeightError::Stopped(stopped);
        }
        let limit = match &error {
            GenerateError::Limit(limit) => Some(*limit),
            _ => None,
        };
        WeightError::NotGenerated { name: weight_of.name.clone(), reason: error.to_string(), limit }
    })
}
