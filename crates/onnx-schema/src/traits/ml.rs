//! The operators of `ai.onnx.ml`. The absence of their attributes chooses between alternatives.

use onnx_types::Symbol;

use super::attribute::{AttributeTraits, attribute};
use super::exclusion::{Exclusion, ExclusivePart, allowed, needed};
use super::kinds::Combines;
use super::row::{Row, computed, row};
use crate::generated::names::{attr, domain, op};

/// The attributes that describe the nodes of trees, which "are fields of a tuple": entries at one index belong together.
const TREE_NODES: &[Symbol] = &[
    attr::NODES_TREEIDS,
    attr::NODES_NODEIDS,
    attr::NODES_FEATUREIDS,
    attr::NODES_MODES,
    attr::NODES_VALUES,
    attr::NODES_HITRATES,
    attr::NODES_TRUENODEIDS,
    attr::NODES_FALSENODEIDS,
    attr::NODES_MISSING_VALUE_TRACKS_TRUE,
];

const BRANCHES: &[&str] =
    &["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"];
const TRANSFORMS: &[&str] = &["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"];
const KERNELS: &[&str] = &["LINEAR", "POLY", "RBF", "SIGMOID"];

const DEFAULTS: &[Exclusion] = &[allowed(
    &[ExclusivePart::Attribute(attr::DEFAULT_INT64), ExclusivePart::Attribute(attr::DEFAULT_STRING)],
    "attribute default_int64",
)];
const VOCABULARIES: &[Exclusion] = &[needed(
    &[ExclusivePart::Attribute(attr::STRING_VOCABULARY), ExclusivePart::Attribute(attr::INT64_VOCABULARY)],
    "attribute string_vocabulary",
)];
const IMPUTED: &[Exclusion] = &[
    needed(
        &[
            ExclusivePart::Attribute(attr::IMPUTED_VALUE_FLOATS),
            ExclusivePart::Attribute(attr::IMPUTED_VALUE_INT64S),
        ],
        "doc",
    ),
    allowed(
        &[
            ExclusivePart::Attribute(attr::REPLACED_VALUE_FLOAT),
            ExclusivePart::Attribute(attr::REPLACED_VALUE_INT64),
        ],
        "doc",
    ),
];
const KEYS_AND_VALUES: &[Exclusion] = &[
    needed(
        &[
            ExclusivePart::Attribute(attr::KEYS_FLOATS),
            ExclusivePart::Attribute(attr::KEYS_INT64S),
            ExclusivePart::Attribute(attr::KEYS_STRINGS),
        ],
        "attribute keys_strings",
    ),
    needed(
        &[
            ExclusivePart::Attribute(attr::VALUES_FLOATS),
            ExclusivePart::Attribute(attr::VALUES_INT64S),
            ExclusivePart::Attribute(attr::VALUES_STRINGS),
        ],
        "attribute values_strings",
    ),
];
const KEYS_AND_VALUES_OR_TENSORS: &[Exclusion] = &[
    needed(
        &[
            ExclusivePart::Attribute(attr::KEYS_FLOATS),
            ExclusivePart::Attribute(attr::KEYS_INT64S),
            ExclusivePart::Attribute(attr::KEYS_STRINGS),
            ExclusivePart::Attribute(attr::KEYS_TENSOR),
        ],
        "attribute keys_tensor",
    ),
    needed(
        &[
            ExclusivePart::Attribute(attr::VALUES_FLOATS),
            ExclusivePart::Attribute(attr::VALUES_INT64S),
            ExclusivePart::Attribute(attr::VALUES_STRINGS),
            ExclusivePart::Attribute(attr::VALUES_TENSOR),
        ],
        "attribute values_tensor",
    ),
];
const CLASSES: &[Exclusion] = &[needed(
    &[ExclusivePart::Attribute(attr::CLASSLABELS_INTS), ExclusivePart::Attribute(attr::CLASSLABELS_STRINGS)],
    "attribute classlabels_ints",
)];
const CATEGORIES: &[Exclusion] = &[needed(
    &[ExclusivePart::Attribute(attr::CATS_INT64S), ExclusivePart::Attribute(attr::CATS_STRINGS)],
    "attribute cats_strings",
)];
const LABELS: &[Exclusion] = &[needed(
    &[
        ExclusivePart::Attribute(attr::CLASSLABELS_INT64S),
        ExclusivePart::Attribute(attr::CLASSLABELS_STRINGS),
    ],
    "attribute classlabels_int64s",
)];

const SCORES: &[AttributeTraits] = &[attribute(attr::POST_TRANSFORM).one_of(TRANSFORMS)];

const VECTOR_MACHINE: &[AttributeTraits] =
    &[attribute(attr::KERNEL_TYPE).one_of(KERNELS), attribute(attr::POST_TRANSFORM).one_of(TRANSFORMS)];

pub(super) const ROWS: &[Row] = &[
    row(op::ARRAY_FEATURE_EXTRACTOR, computed().choosing()).of(domain::ML),
    row(op::BINARIZER, computed().jumping()).of(domain::ML),
    row(
        op::CAST_MAP,
        computed().attributes_are(&[
            attribute(attr::CAST_TO).one_of(&["TO_FLOAT", "TO_STRING", "TO_INT64"]),
            attribute(attr::MAP_FORM).one_of(&["DENSE", "SPARSE"]),
        ]),
    )
    .of(domain::ML),
    row(op::CATEGORY_MAPPER, computed().choosing().excludes(DEFAULTS)).of(domain::ML),
    row(op::DICT_VECTORIZER, computed().excludes(VOCABULARIES)).of(domain::ML),
    row(op::FEATURE_VECTORIZER, computed()).of(domain::ML),
    row(op::IMPUTER, computed().excludes(IMPUTED)).of(domain::ML),
    row(op::LABEL_ENCODER, computed().jumping().choosing().excludes(DEFAULTS)).of(domain::ML).then(&[
        (2, computed().jumping().choosing().excludes(KEYS_AND_VALUES)),
        (4, computed().jumping().choosing().excludes(KEYS_AND_VALUES_OR_TENSORS)),
    ]),
    row(op::LINEAR_CLASSIFIER, computed().attributes_are(SCORES).excludes(CLASSES)).of(domain::ML),
    row(op::LINEAR_REGRESSOR, computed().attributes_are(SCORES)).of(domain::ML),
    row(
        op::NORMALIZER,
        computed()
            .along(Combines::AllButFirst)
            .attributes_are(&[attribute(attr::NORM).one_of(&["MAX", "L1", "L2"])]),
    )
    .of(domain::ML),
    row(op::ONE_HOT_ENCODER, computed().excludes(CATEGORIES)).of(domain::ML),
    row(op::SCALER, computed().with_parallel(&[&[attr::OFFSET, attr::SCALE]])).of(domain::ML),
    row(
        op::SVM_CLASSIFIER,
        computed()
            .attributes_are(VECTOR_MACHINE)
            .excludes(CLASSES)
            .with_parallel(&[&[attr::PROB_A, attr::PROB_B]]),
    )
    .of(domain::ML),
    row(op::SVM_REGRESSOR, computed().attributes_are(VECTOR_MACHINE)).of(domain::ML),
    row(op::TREE_ENSEMBLE, computed().jumping()).of(domain::ML),
    row(
        op::TREE_ENSEMBLE_CLASSIFIER,
        computed()
            .jumping()
            .attributes_are(&[
                attribute(attr::NODES_MODES).one_of(BRANCHES),
                attribute(attr::POST_TRANSFORM).one_of(TRANSFORMS),
            ])
            .excludes(LABELS)
            .with_parallel(&[
                TREE_NODES,
                &[attr::CLASS_TREEIDS, attr::CLASS_NODEIDS, attr::CLASS_IDS, attr::CLASS_WEIGHTS],
            ]),
    )
    .of(domain::ML)
    .replaced_by(op::TREE_ENSEMBLE),
    row(
        op::TREE_ENSEMBLE_REGRESSOR,
        computed()
            .jumping()
            .attributes_are(&[
                attribute(attr::AGGREGATE_FUNCTION).one_of(&["AVERAGE", "SUM", "MIN", "MAX"]),
                attribute(attr::NODES_MODES).one_of(BRANCHES),
                attribute(attr::POST_TRANSFORM).one_of(TRANSFORMS),
            ])
            .with_parallel(&[
                TREE_NODES,
                &[attr::TARGET_TREEIDS, attr::TARGET_NODEIDS, attr::TARGET_IDS, attr::TARGET_WEIGHTS],
            ]),
    )
    .of(domain::ML)
    .replaced_by(op::TREE_ENSEMBLE),
    row(op::ZIP_MAP, computed().excludes(LABELS)).of(domain::ML),
];
