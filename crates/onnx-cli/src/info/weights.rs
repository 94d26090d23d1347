//! Statistics of the weights, computed from dimensions and lengths only.

use std::collections::BTreeMap;

use onnx_diag::Quoted;
use onnx_types::ElemType;
use onnx_types::tensor::{DataError, DataErrorReason, DataSource as _, Payload, Tensor};

use super::facts::{ExternalFile, Tally, TypeTally, Weights};
use crate::input::Loaded;
use crate::tensors::{self, Place};

/// Counts the tensors of a model.
pub(super) fn gather(loaded: &Loaded) -> Weights {
    let mut weights = Weights::default();
    let mut types: BTreeMap<i32, Tally> = BTreeMap::new();
    let mut files: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut last_sparse = None;
    tensors::for_each(&loaded.model, |place, tensor| {
        let (elements, bytes) = size(tensor);
        match place {
            Place::Initializer { value, is_sparse, .. } => {
                if is_sparse && last_sparse != Some(value) {
                    last_sparse = Some(value);
                    weights.sparse_initializers += 1;
                }
                weights.initializers.add(elements, bytes);
            }
            Place::Attribute => weights.constants.add(elements, bytes),
        }
        types.entry(tensor.elem().code()).or_default().add(elements, bytes);
        match tensor.payload() {
            Payload::External(data) => {
                let location = data.location().unwrap_or_default();
                files.entry(location).or_default().add(elements, bytes);
            }
            _ => weights.inside.add(elements, bytes),
        }
    });
    weights.by_type = types
        .into_iter()
        .map(|(code, tally)| {
            let element_type = ElemType::from_code(code).unwrap_or_default().name();
            TypeTally { element_type, tally }
        })
        .collect();
    // The sort is stable, so equal ones stay in the order of their codes.
    weights.by_type.sort_by_key(|entry| std::cmp::Reverse(entry.tally.bytes));
    weights.external = external_files(loaded, files);
    weights
}

/// The number of elements and the bytes they take.
fn size(tensor: &Tensor) -> (u64, u64) {
    let elements = tensor.element_count().unwrap_or_default();
    (elements, tensor.byte_len().unwrap_or_else(|| tensor.payload().resident_bytes()))
}

fn external_files(loaded: &Loaded, files: BTreeMap<&str, Tally>) -> Vec<ExternalFile> {
    if files.is_empty() {
        return Vec::new();
    }
    let source = loaded.source().map_err(|failure| failure.message);
    let of_file = |location: &str| match &source {
        Ok(source) => source.len(location).map_err(|error| describe(&error)),
        Err(message) => Err(message.clone()),
    };
    files
        .into_iter()
        .map(|(location, tally)| {
            let found = of_file(location);
            let file_bytes = found.as_ref().ok().copied();
            ExternalFile { location: location.to_owned(), tally, file_bytes, problem: found.err() }
        })
        .collect()
}

/// What is wrong with a file, in few words.
fn describe(error: &DataError) -> String {
    match &error.reason {
        DataErrorReason::NotFound => format!("{} is missing", Quoted(&error.location)),
        _ => error.to_string(),
    }
}
