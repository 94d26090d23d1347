//! Classical machine learning: attributes that hold the whole model, and must fit together.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use super::{Row, row};
use crate::draft::Draft;
use crate::elements;

pub(super) static ROWS: &[Row] = &[
    row(&[op::CATEGORY_MAPPER], category_mapper),
    row(&[op::DICT_VECTORIZER], dict_vectorizer),
    row(&[op::IMPUTER], imputer),
    row(&[op::LABEL_ENCODER], label_encoder),
    row(&[op::LINEAR_CLASSIFIER], linear_classifier),
    row(&[op::LINEAR_REGRESSOR], linear_regressor),
    row(&[op::SVM_CLASSIFIER, op::SVM_REGRESSOR], support_vectors),
    row(&[op::ONE_HOT_ENCODER], one_hot_encoder),
    row(&[op::SCALER], scaler),
    row(&[op::NORMALIZER], normalizer),
    row(&[op::FEATURE_VECTORIZER], feature_vectorizer),
    row(&[op::ZIP_MAP], zip_map),
    row(&[op::TREE_ENSEMBLE_CLASSIFIER, op::TREE_ENSEMBLE_REGRESSOR], trees),
    row(&[op::TREE_ENSEMBLE], ensemble),
    row(&[op::TF_IDF_VECTORIZER], tf_idf),
];

const WORDS: [&str; 3] = ["a", "cat", "dog"];

/// Samples with so many features: `[N, features]`.
fn samples(draft: &mut Draft<'_, '_>) -> Option<i64> {
    let dims = draft.operand(
        |dims| dims.len() == 2 && dims.get(1).is_some_and(|dim| dim.known().is_some_and(|size| size > 0)),
        |smith| {
            let mut dims = smith.dims(1);
            dims.push(Dim::Known(smith.choices.int(1, 4)));
            dims
        },
    )?;
    dims.get(1)?.known()
}

/// Labels of the classes, as texts or as integers, for an output of either type.
fn labels(draft: &mut Draft<'_, '_>, count: usize) {
    let is_text = draft.smith.choices.chance(50);
    let ints: Vec<i64> = (0..count as i64).collect();
    for name in [attr::CLASSLABELS_INTS, attr::CLASSLABELS_INT64S] {
        if !is_text {
            draft.set(name, ints.clone());
        }
    }
    if is_text {
        draft.set_strings(attr::CLASSLABELS_STRINGS, WORDS.into_iter().cycle().take(count));
    }
    draft.leave(&[attr::CLASSLABELS_INTS, attr::CLASSLABELS_INT64S, attr::CLASSLABELS_STRINGS]);
}

fn category_mapper(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    draft.set_strings(attr::CATS_STRINGS, WORDS);
    draft.set(attr::CATS_INT64S, [0, 1, 2]);
    Some(())
}

fn dict_vectorizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let is_text = matches!(draft.ty(0)?.kind, onnx_types::TypeKind::Map { key: ElemType::String, .. });
    if is_text {
        draft.set_strings(attr::STRING_VOCABULARY, WORDS);
    } else {
        draft.set(attr::INT64_VOCABULARY, [0, 1, 2]);
    }
    Some(())
}

fn imputer(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft)?;
    if draft.ty(0)?.elem().is_integer() {
        draft.set(attr::IMPUTED_VALUE_INT64S, [1]);
    } else {
        draft.set(attr::IMPUTED_VALUE_FLOATS, vec![1.0_f32]);
    }
    draft.leave(&[attr::REPLACED_VALUE_INT64, attr::REPLACED_VALUE_FLOAT]);
    Some(())
}

fn label_encoder(draft: &mut Draft<'_, '_>) -> Option<()> {
    if draft.since() < 2 {
        draft.any()?;
        draft.set_strings(attr::CLASSES_STRINGS, WORDS);
        return Some(());
    }
    draft.prefer(&[ElemType::String, ElemType::Int64, ElemType::Float])?;
    draft.any()?;
    match draft.ty(0)?.elem() {
        ElemType::String => draft.set_strings(attr::KEYS_STRINGS, WORDS),
        ElemType::Int64 => draft.set(attr::KEYS_INT64S, [0, 1, 2]),
        _ => draft.set_floats(attr::KEYS_FLOATS, 3),
    }
    match draft.smith.choices.below(3) {
        0 => draft.set_strings(attr::VALUES_STRINGS, WORDS),
        1 => draft.set(attr::VALUES_INT64S, [3, 4, 5]),
        _ => draft.set_floats(attr::VALUES_FLOATS, 3),
    }
    Some(())
}

fn linear_classifier(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    labels(draft, 3);
    draft.set_floats(attr::COEFFICIENTS, 3 * features);
    draft.set_floats(attr::INTERCEPTS, 3);
    draft.leave(&[attr::POST_TRANSFORM, attr::MULTI_CLASS]);
    draft.make(2);
    Some(())
}

fn linear_regressor(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    let targets = draft.smith.choices.between(1, 2);
    draft.set(attr::TARGETS, i64::try_from(targets).ok()?);
    draft.set_floats(attr::COEFFICIENTS, targets * features);
    draft.set_floats(attr::INTERCEPTS, targets);
    draft.leave(&[attr::POST_TRANSFORM]);
    Some(())
}

fn support_vectors(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    let is_classifier = draft.schema.op() == op::SVM_CLASSIFIER;
    draft.set_floats(attr::SUPPORT_VECTORS, 2 * features);
    draft.set_floats(attr::COEFFICIENTS, 2);
    draft.set_floats(attr::RHO, 1);
    draft.set(attr::KERNEL_TYPE, "LINEAR");
    draft.set(attr::N_SUPPORTS, 2_i64);
    draft.leave(&[attr::POST_TRANSFORM, attr::ONE_CLASS]);
    if is_classifier {
        labels(draft, 2);
        draft.set(attr::VECTORS_PER_CLASS, [1, 1]);
        draft.make(2);
    }
    Some(())
}

fn one_hot_encoder(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    if draft.ty(0)?.elem() == ElemType::String {
        draft.set_strings(attr::CATS_STRINGS, WORDS);
    } else {
        draft.set(attr::CATS_INT64S, [0, 1, 2]);
    }
    draft.set(attr::ZEROS, 1_i64);
    Some(())
}

fn scaler(draft: &mut Draft<'_, '_>) -> Option<()> {
    let features = usize::try_from(samples(draft)?).ok()?;
    draft.set_floats(attr::SCALE, features);
    draft.set_floats(attr::OFFSET, features);
    Some(())
}

fn normalizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft).map(drop)
}

fn feature_vectorizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    let front = *draft.smith.dims(1).first()?;
    let count = draft.smith.choices.between(1, 3);
    let mut widths = Vec::new();
    for _ in 0..count {
        let width = draft.smith.choices.int(1, 3);
        draft.shaped(&[front, Dim::Known(width)])?;
        widths.push(width);
    }
    draft.set(attr::INPUTDIMENSIONS, widths);
    Some(())
}

fn zip_map(draft: &mut Draft<'_, '_>) -> Option<()> {
    let width = usize::try_from(samples(draft)?).ok()?;
    labels(draft, width);
    Some(())
}

/// One tree of a branch and two leaves.
fn trees(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft)?;
    draft.set(attr::NODES_TREEIDS, [0, 0, 0]);
    draft.set(attr::NODES_NODEIDS, [0, 1, 2]);
    draft.set(attr::NODES_FEATUREIDS, [0, 0, 0]);
    draft.set_strings(attr::NODES_MODES, ["BRANCH_LEQ", "LEAF", "LEAF"]);
    draft.set(attr::NODES_TRUENODEIDS, [1, 0, 0]);
    draft.set(attr::NODES_FALSENODEIDS, [2, 0, 0]);
    draft.set_floats(attr::NODES_VALUES, 3);
    draft.leave(&[attr::POST_TRANSFORM, attr::AGGREGATE_FUNCTION]);
    if draft.schema.op() == op::TREE_ENSEMBLE_REGRESSOR {
        draft.set(attr::N_TARGETS, 1_i64);
        draft.set(attr::TARGET_TREEIDS, [0, 0]);
        draft.set(attr::TARGET_NODEIDS, [1, 2]);
        draft.set(attr::TARGET_IDS, [0, 0]);
        draft.set_floats(attr::TARGET_WEIGHTS, 2);
        return Some(());
    }
    labels(draft, 2);
    draft.set(attr::CLASS_TREEIDS, [0, 0]);
    draft.set(attr::CLASS_NODEIDS, [1, 2]);
    draft.set(attr::CLASS_IDS, [0, 1]);
    draft.set_floats(attr::CLASS_WEIGHTS, 2);
    draft.make(2);
    Some(())
}

/// One tree of a branch and two leaves, as the newest operator writes it.
fn ensemble(draft: &mut Draft<'_, '_>) -> Option<()> {
    samples(draft)?;
    let elem = draft.ty(0)?.elem();
    draft.set(attr::TREE_ROOTS, [0]);
    draft.set(attr::N_TARGETS, 1_i64);
    draft.set(attr::NODES_FEATUREIDS, [0]);
    draft.set(attr::NODES_MODES, elements::tensor(ElemType::Uint8, &[1], &[0])?);
    draft.set(attr::NODES_SPLITS, elements::tensor(elem, &[1], &[1])?);
    draft.set(attr::NODES_TRUENODEIDS, [0]);
    draft.set(attr::NODES_FALSENODEIDS, [1]);
    draft.set(attr::NODES_TRUELEAFS, [1]);
    draft.set(attr::NODES_FALSELEAFS, [1]);
    draft.set(attr::LEAF_TARGETIDS, [0, 0]);
    draft.set(attr::LEAF_WEIGHTS, elements::tensor(elem, &[2], &[1, 2])?);
    draft.leave(&[attr::AGGREGATE_FUNCTION, attr::POST_TRANSFORM]);
    Some(())
}

fn tf_idf(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(1, 2)?;
    let is_text = draft.ty(0)?.elem() == ElemType::String;
    for (name, number) in [(attr::MIN_GRAM_LENGTH, 1), (attr::MAX_GRAM_LENGTH, 2), (attr::MAX_SKIP_COUNT, 0)]
    {
        draft.set(name, number);
    }
    // Two words alone, and one pair.
    draft.set(attr::NGRAM_COUNTS, [0, 2]);
    draft.set(attr::NGRAM_INDEXES, [0, 1, 2]);
    if is_text {
        draft.set_strings(attr::POOL_STRINGS, ["a", "cat", "a", "dog"]);
    } else {
        draft.set(attr::POOL_INT64S, [0, 1, 0, 2]);
    }
    Some(())
}
