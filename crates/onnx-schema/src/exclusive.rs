//! Attributes and inputs that exclude each other, and attributes that are lists of one length.

use onnx_types::Symbol;

use crate::facts::Schema;
use crate::generated::names::{attr, op};

/// The attributes of `Constant`, each of which gives its value.
pub const CONSTANT_VALUES: &[Symbol] = &[
    attr::VALUE,
    attr::SPARSE_VALUE,
    attr::VALUE_FLOAT,
    attr::VALUE_FLOATS,
    attr::VALUE_INT,
    attr::VALUE_INTS,
    attr::VALUE_STRING,
    attr::VALUE_STRINGS,
];

/// ExclusivePart of a node that can be given or left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExclusivePart {
    /// An attribute.
    Attribute(Symbol),
    /// A string attribute with another value than these.
    AttributeOtherThan(Symbol, &'static [&'static str]),
    /// The input at an index.
    Input(usize),
}

impl ExclusivePart {
    /// The attribute; `None` for an input.
    #[must_use]
    pub const fn attribute(self) -> Option<Symbol> {
        match self {
            Self::Attribute(name) | Self::AttributeOtherThan(name, _) => Some(name),
            Self::Input(_) => None,
        }
    }
}

/// Parts of which a node has at most one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Exclusion {
    /// The parts.
    pub parts: &'static [ExclusivePart],
    /// Whether the node needs one of them.
    pub is_needed: bool,
    /// Where the operator's documentation has the sentence: `doc`, or the attribute or input that it describes.
    pub sentence: &'static str,
}

/// A row of the table: the operator, its first and last version, and what excludes each other.
type Row = (Symbol, i64, i64, Exclusion);

const ANY: i64 = i64::MAX;

const fn needed(parts: &'static [ExclusivePart], sentence: &'static str) -> Exclusion {
    Exclusion { parts, is_needed: true, sentence }
}

const fn allowed(parts: &'static [ExclusivePart], sentence: &'static str) -> Exclusion {
    Exclusion { parts, is_needed: false, sentence }
}

/// Padding that is given and padding that is computed.
const PADDING: Exclusion = allowed(
    &[
        ExclusivePart::Attribute(attr::PADS),
        ExclusivePart::AttributeOtherThan(attr::AUTO_PAD, &["", "NOTSET"]),
    ],
    "attribute pads",
);
const DEFAULTS: Exclusion = allowed(
    &[ExclusivePart::Attribute(attr::DEFAULT_INT64), ExclusivePart::Attribute(attr::DEFAULT_STRING)],
    "attribute default_int64",
);
const LABELS: &[ExclusivePart] = &[
    ExclusivePart::Attribute(attr::CLASSLABELS_INT64S),
    ExclusivePart::Attribute(attr::CLASSLABELS_STRINGS),
];
const CLASSES: &[ExclusivePart] =
    &[ExclusivePart::Attribute(attr::CLASSLABELS_INTS), ExclusivePart::Attribute(attr::CLASSLABELS_STRINGS)];

/// What the documentation of the operators of version 1.23.2 excludes, one row for each sentence.
///
/// Not here: inputs that exclude each other, as an empty tensor can stand for an omitted one (`Resize`), and what an operator
/// merely ignores (`pads` next to `output_shape`).
const EXCLUSIONS: &[Row] = &[
    (op::AVERAGE_POOL, 1, ANY, PADDING),
    (op::CATEGORY_MAPPER, 1, ANY, DEFAULTS),
    (
        op::CONSTANT,
        11,
        11,
        needed(&[ExclusivePart::Attribute(attr::VALUE), ExclusivePart::Attribute(attr::SPARSE_VALUE)], "doc"),
    ),
    (
        op::CONSTANT,
        12,
        ANY,
        needed(
            &[
                ExclusivePart::Attribute(attr::VALUE),
                ExclusivePart::Attribute(attr::SPARSE_VALUE),
                ExclusivePart::Attribute(attr::VALUE_FLOAT),
                ExclusivePart::Attribute(attr::VALUE_FLOATS),
                ExclusivePart::Attribute(attr::VALUE_INT),
                ExclusivePart::Attribute(attr::VALUE_INTS),
                ExclusivePart::Attribute(attr::VALUE_STRING),
                ExclusivePart::Attribute(attr::VALUE_STRINGS),
            ],
            "doc",
        ),
    ),
    (op::CONV, 1, ANY, PADDING),
    (op::CONV_INTEGER, 10, ANY, PADDING),
    (op::CONV_TRANSPOSE, 1, ANY, PADDING),
    (
        op::DICT_VECTORIZER,
        1,
        ANY,
        needed(
            &[
                ExclusivePart::Attribute(attr::STRING_VOCABULARY),
                ExclusivePart::Attribute(attr::INT64_VOCABULARY),
            ],
            "attribute string_vocabulary",
        ),
    ),
    (
        op::IMPUTER,
        1,
        ANY,
        needed(
            &[
                ExclusivePart::Attribute(attr::IMPUTED_VALUE_FLOATS),
                ExclusivePart::Attribute(attr::IMPUTED_VALUE_INT64S),
            ],
            "doc",
        ),
    ),
    (
        op::IMPUTER,
        1,
        ANY,
        allowed(
            &[
                ExclusivePart::Attribute(attr::REPLACED_VALUE_FLOAT),
                ExclusivePart::Attribute(attr::REPLACED_VALUE_INT64),
            ],
            "doc",
        ),
    ),
    (op::LABEL_ENCODER, 1, 1, DEFAULTS),
    (
        op::LABEL_ENCODER,
        2,
        3,
        needed(
            &[
                ExclusivePart::Attribute(attr::KEYS_FLOATS),
                ExclusivePart::Attribute(attr::KEYS_INT64S),
                ExclusivePart::Attribute(attr::KEYS_STRINGS),
            ],
            "attribute keys_strings",
        ),
    ),
    (
        op::LABEL_ENCODER,
        2,
        3,
        needed(
            &[
                ExclusivePart::Attribute(attr::VALUES_FLOATS),
                ExclusivePart::Attribute(attr::VALUES_INT64S),
                ExclusivePart::Attribute(attr::VALUES_STRINGS),
            ],
            "attribute values_strings",
        ),
    ),
    (
        op::LABEL_ENCODER,
        4,
        ANY,
        needed(
            &[
                ExclusivePart::Attribute(attr::KEYS_FLOATS),
                ExclusivePart::Attribute(attr::KEYS_INT64S),
                ExclusivePart::Attribute(attr::KEYS_STRINGS),
                ExclusivePart::Attribute(attr::KEYS_TENSOR),
            ],
            "attribute keys_tensor",
        ),
    ),
    (
        op::LABEL_ENCODER,
        4,
        ANY,
        needed(
            &[
                ExclusivePart::Attribute(attr::VALUES_FLOATS),
                ExclusivePart::Attribute(attr::VALUES_INT64S),
                ExclusivePart::Attribute(attr::VALUES_STRINGS),
                ExclusivePart::Attribute(attr::VALUES_TENSOR),
            ],
            "attribute values_tensor",
        ),
    ),
    (op::LINEAR_CLASSIFIER, 1, ANY, needed(CLASSES, "attribute classlabels_ints")),
    (op::LP_POOL, 1, ANY, PADDING),
    (op::MAX_POOL, 1, ANY, PADDING),
    (
        op::ONE_HOT_ENCODER,
        1,
        ANY,
        needed(
            &[ExclusivePart::Attribute(attr::CATS_INT64S), ExclusivePart::Attribute(attr::CATS_STRINGS)],
            "attribute cats_strings",
        ),
    ),
    (op::Q_LINEAR_CONV, 10, ANY, PADDING),
    (
        op::SPLIT,
        18,
        ANY,
        allowed(&[ExclusivePart::Input(1), ExclusivePart::Attribute(attr::NUM_OUTPUTS)], "doc"),
    ),
    (op::SVM_CLASSIFIER, 1, ANY, needed(CLASSES, "attribute classlabels_ints")),
    (
        op::TF_IDF_VECTORIZER,
        9,
        ANY,
        needed(
            &[ExclusivePart::Attribute(attr::POOL_STRINGS), ExclusivePart::Attribute(attr::POOL_INT64S)],
            "attribute pool_strings",
        ),
    ),
    (op::TREE_ENSEMBLE_CLASSIFIER, 1, ANY, needed(LABELS, "attribute classlabels_int64s")),
    (op::ZIP_MAP, 1, ANY, needed(LABELS, "attribute classlabels_int64s")),
];

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

/// Sets of list attributes that have one length, by operator.
const PARALLEL: &[(Symbol, &[&[Symbol]])] = &[
    (op::SCALER, &[&[attr::OFFSET, attr::SCALE]]),
    (op::SVM_CLASSIFIER, &[&[attr::PROB_A, attr::PROB_B]]),
    (op::TF_IDF_VECTORIZER, &[&[attr::NGRAM_INDEXES, attr::WEIGHTS]]),
    (
        op::TREE_ENSEMBLE_CLASSIFIER,
        &[TREE_NODES, &[attr::CLASS_TREEIDS, attr::CLASS_NODEIDS, attr::CLASS_IDS, attr::CLASS_WEIGHTS]],
    ),
    (
        op::TREE_ENSEMBLE_REGRESSOR,
        &[TREE_NODES, &[attr::TARGET_TREEIDS, attr::TARGET_NODEIDS, attr::TARGET_IDS, attr::TARGET_WEIGHTS]],
    ),
];

impl Schema {
    /// Sets of attributes and inputs of which the operator's documentation wants at most one, or exactly one. The schemas
    /// themselves declare each of them as optional.
    ///
    /// ```
    /// use onnx_schema::{ExclusivePart, attr, domain, lookup, op};
    ///
    /// let constant = lookup(domain::ONNX, op::CONSTANT, 11).unwrap();
    /// let set = constant.exclusions().next().unwrap();
    /// assert_eq!(set.parts, [ExclusivePart::Attribute(attr::VALUE), ExclusivePart::Attribute(attr::SPARSE_VALUE)]);
    /// assert!(set.is_needed);
    /// ```
    pub fn exclusions(&self) -> impl Iterator<Item = &'static Exclusion> {
        let (op, version) = (self.op(), self.since_version());
        let rows = EXCLUSIONS.iter();
        rows.filter(move |row| row.0 == op && (row.1..=row.2).contains(&version)).map(|row| &row.3)
    }

    /// Sets of list attributes whose entries at one index belong together, so that the lists have one length. A list without
    /// entries counts as left out.
    ///
    /// ```
    /// use onnx_schema::{attr, domain, lookup, op};
    ///
    /// let scaler = lookup(domain::ML, op::SCALER, 1).unwrap();
    /// assert_eq!(scaler.parallel_lists(), [[attr::OFFSET, attr::SCALE]]);
    /// ```
    #[must_use]
    pub fn parallel_lists(&self) -> &'static [&'static [Symbol]] {
        PARALLEL.iter().find(|row| row.0 == self.op()).map_or(&[], |row| row.1)
    }
}
