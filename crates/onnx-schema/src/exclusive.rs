//! Attributes that exclude each other.

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

impl Schema {
    /// Sets of attributes of which the operator's documentation wants exactly one. The schemas themselves declare each of
    /// them as optional.
    ///
    /// ```
    /// use onnx_schema::{attr, domain, lookup, op};
    ///
    /// let constant = lookup(domain::ONNX, op::CONSTANT, 11).unwrap();
    /// assert_eq!(constant.exclusive_attributes(), [[attr::VALUE, attr::SPARSE_VALUE]]);
    /// ```
    #[must_use]
    pub fn exclusive_attributes(&self) -> &'static [&'static [Symbol]] {
        match (self.op(), self.since_version()) {
            (op::CONSTANT, 11) => &[&[attr::VALUE, attr::SPARSE_VALUE]],
            (op::CONSTANT, 12..) => &[CONSTANT_VALUES],
            (op::TF_IDF_VECTORIZER, _) => &[&[attr::POOL_STRINGS, attr::POOL_INT64S]],
            (op::DICT_VECTORIZER, _) => &[&[attr::STRING_VOCABULARY, attr::INT64_VOCABULARY]],
            (op::IMPUTER, _) => &[&[attr::IMPUTED_VALUE_FLOATS, attr::IMPUTED_VALUE_INT64S]],
            (op::LABEL_ENCODER, 2..=3) => &[
                &[attr::KEYS_FLOATS, attr::KEYS_INT64S, attr::KEYS_STRINGS],
                &[attr::VALUES_FLOATS, attr::VALUES_INT64S, attr::VALUES_STRINGS],
            ],
            (op::LABEL_ENCODER, 4..) => &[
                &[attr::KEYS_FLOATS, attr::KEYS_INT64S, attr::KEYS_STRINGS, attr::KEYS_TENSOR],
                &[attr::VALUES_FLOATS, attr::VALUES_INT64S, attr::VALUES_STRINGS, attr::VALUES_TENSOR],
            ],
            (op::LINEAR_CLASSIFIER | op::SVM_CLASSIFIER, _) => {
                &[&[attr::CLASSLABELS_INTS, attr::CLASSLABELS_STRINGS]]
            }
            (op::TREE_ENSEMBLE_CLASSIFIER | op::ZIP_MAP, _) => {
                &[&[attr::CLASSLABELS_INT64S, attr::CLASSLABELS_STRINGS]]
            }
            (op::ONE_HOT_ENCODER, _) => &[&[attr::CATS_INT64S, attr::CATS_STRINGS]],
            _ => &[],
        }
    }
}
