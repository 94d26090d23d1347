//! The operators of classical machine learning, domain `ai.onnx.ml`.
//!
//! Many take one row of features or several: a vector counts as one row. Results are computed in `double`, with sums in the
//! order of the features, and rounded once.

mod array_feature_extractor;
mod cast_map;
mod category_mapper;
mod dict_vectorizer;
mod feature_vectorizer;
mod forest;
mod label_encoder;
mod like_input;
mod linear;
mod one_hot_encoder;
mod scores;
mod svm;
mod tree_ensemble;
mod trees;
mod zip_map;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use onnx_schema::attr;
use onnx_types::{ElemType, Symbol};

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::registry::OpKernels;
use crate::value::{MapKey, Value};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    array_feature_extractor::KERNELS,
    cast_map::KERNELS,
    category_mapper::KERNELS,
    dict_vectorizer::KERNELS,
    feature_vectorizer::KERNELS,
    label_encoder::KERNELS,
    like_input::BINARIZER,
    like_input::IMPUTER,
    like_input::NORMALIZER,
    like_input::SCALER,
    linear::CLASSIFIER,
    linear::REGRESSOR,
    one_hot_encoder::KERNELS,
    svm::CLASSIFIER,
    svm::REGRESSOR,
    tree_ensemble::KERNELS,
    trees::CLASSIFIER,
    trees::REGRESSOR,
    zip_map::KERNELS,
];

/// The sizes of an operand as rows of features.
fn rows(x: &Operand) -> Outcome<(usize, usize)> {
    match *x.dims {
        [features] => Ok((1, features)),
        [rows, features] => Ok((rows, features)),
        _ => Err(Stop::failed("the input must have one axis or two")),
    }
}

/// A row of features.
fn row<T>(elements: &[T], index: usize, features: usize) -> &[T] {
    let start = index.saturating_mul(features);
    elements.get(start..start.saturating_add(features)).unwrap_or_default()
}

/// The entries of a map.
fn entries(cx: &Cx<'_, '_>) -> Outcome<Arc<BTreeMap<MapKey, Value>>> {
    match cx.value(0)? {
        Value::Map(entries) => Ok(Arc::clone(entries)),
        _ => Err(Stop::failed("the input is not a map")),
    }
}

/// The labels of a classifier.
enum Labels {
    Ints(Vec<i64>),
    Texts(Vec<Bytes>),
}

impl Labels {
    fn read(cx: &Cx<'_, '_>, ints: Symbol, texts: Symbol) -> Outcome<Self> {
        let texts = cx.texts(texts)?.unwrap_or_default();
        let ints = cx.ints(ints)?.unwrap_or_default();
        match (texts.is_empty(), ints.is_empty()) {
            (true, false) => Ok(Self::Ints(ints)),
            (false, true) => Ok(Self::Texts(texts.into_iter().map(Bytes::copy_from_slice).collect())),
            _ => Err(Stop::failed("the labels must be either texts or integers")),
        }
    }

    const fn len(&self) -> usize {
        match self {
            Self::Ints(labels) => labels.len(),
            Self::Texts(labels) => labels.len(),
        }
    }

    /// Sets the first output to the labels at these positions.
    fn put(&self, cx: &mut Cx<'_, '_>, chosen: &[usize]) -> Outcome {
        let dims = [chosen.len()];
        let lost = || Stop::failed("a label does not exist");
        match self {
            Self::Ints(labels) => {
                let mut out = cx.buffer(chosen.len())?;
                for &index in chosen {
                    out.push(labels.get(index).copied().ok_or_else(lost)?);
                }
                cx.put(0, ElemType::Int64, &dims, out)
            }
            Self::Texts(labels) => {
                let mut out = cx.buffer(chosen.len())?;
                for &index in chosen {
                    out.push(labels.get(index).cloned().ok_or_else(lost)?);
                }
                cx.put_units(0, ElemType::String, &dims, out)
            }
        }
    }
}

/// The position of the greatest score, the first one among equals.
fn greatest(scores: &[f32]) -> usize {
    let mut best = 0;
    for (index, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = index;
        }
    }
    best
}

/// The transform of scores that an attribute names.
fn transform(cx: &Cx<'_, '_>) -> Outcome<scores::Transform> {
    scores::Transform::named(cx.text(attr::POST_TRANSFORM)?)
}
