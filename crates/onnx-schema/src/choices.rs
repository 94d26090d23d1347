//! The words that string attributes of operators can be, version by version.

use onnx_types::Symbol;

use crate::{Schema, attr, op};

/// From version `since` on, until the next row for the same operator, an attribute has one of these values. No values: the
/// documentation leaves it open.
struct Row {
    ops: &'static [Symbol],
    since: i64,
    values: &'static [&'static str],
}

const fn row(ops: &'static [Symbol], since: i64, values: &'static [&'static str]) -> Row {
    Row { ops, since, values }
}

impl Schema {
    /// What a string attribute can be; `None` where the documentation fixes nothing.
    #[must_use]
    pub fn choices(&self, attribute: Symbol) -> Option<&'static [&'static str]> {
        let rows = rows(attribute).iter().filter(|row| row.ops.contains(&self.op()));
        let row = rows.filter(|row| row.since <= self.since_version()).max_by_key(|row| row.since)?;
        Some(row.values).filter(|values| !values.is_empty())
    }

    /// Returns `true` if a string attribute can be this string. Runtimes read the names of activation functions in any case.
    #[must_use]
    pub fn allows_string(&self, attribute: Symbol, string: &[u8]) -> bool {
        let is_choice = |choice: &&str| match attribute {
            attr::ACTIVATIONS => string.eq_ignore_ascii_case(choice.as_bytes()),
            _ => string == choice.as_bytes(),
        };
        self.choices(attribute).is_none_or(|choices| choices.iter().any(is_choice))
    }
}

const TREES: &[Symbol] = &[op::TREE_ENSEMBLE_CLASSIFIER, op::TREE_ENSEMBLE_REGRESSOR];
const VECTOR_MACHINES: &[Symbol] = &[op::SVM_CLASSIFIER, op::SVM_REGRESSOR];
const LOSSES: &[Symbol] = &[op::NEGATIVE_LOG_LIKELIHOOD_LOSS, op::SOFTMAX_CROSS_ENTROPY_LOSS];
const SCATTERS: &[Symbol] = &[op::SCATTER_ELEMENTS, op::SCATTER_ND];
const WINDOWS: &[Symbol] = &[
    op::AVERAGE_POOL,
    op::CONV,
    op::CONV_INTEGER,
    op::CONV_TRANSPOSE,
    op::LP_POOL,
    op::MAX_POOL,
    op::Q_LINEAR_CONV,
];
const SCORES: &[Symbol] = &[
    op::LINEAR_CLASSIFIER,
    op::LINEAR_REGRESSOR,
    op::SVM_CLASSIFIER,
    op::SVM_REGRESSOR,
    op::TREE_ENSEMBLE_CLASSIFIER,
    op::TREE_ENSEMBLE_REGRESSOR,
];

/// The rows for attributes of this name.
fn rows(name: Symbol) -> &'static [Row] {
    match name {
        attr::AUTO_PAD => const { &[row(WINDOWS, 1, &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])] },
        attr::MODE => MODES,
        attr::COORDINATE_TRANSFORMATION_MODE => COORDINATES,
        attr::DIRECTION => DIRECTIONS,
        attr::REDUCTION => REDUCTIONS,
        attr::ACTIVATIONS => const { &[row(RECURRENT, 1, FUNCTIONS)] },
        attr::TO => CASTS,
        _ => other_rows(name),
    }
}

fn other_rows(name: Symbol) -> &'static [Row] {
    match name {
        attr::PADDING_MODE => const { &[row(&[op::GRID_SAMPLE], 16, &["zeros", "border", "reflection"])] },
        attr::KEEP_ASPECT_RATIO_POLICY => {
            const { &[row(&[op::RESIZE], 18, &["stretch", "not_larger", "not_smaller"])] }
        }
        attr::NEAREST_MODE => {
            const { &[row(&[op::RESIZE], 11, &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])] }
        }
        attr::APPROXIMATE => const { &[row(&[op::GELU], 20, &["none", "tanh"])] },
        attr::ROUND_MODE => const { &[row(&[op::CAST, op::CAST_LIKE], 24, &["up", "down", "nearest"])] },
        attr::ACTIVATION => const { &[row(&[op::CAUSAL_CONV_WITH_STATE], 27, &["silu", "swish", "none"])] },
        attr::UPDATE_RULE => {
            const { &[row(&[op::LINEAR_ATTENTION], 27, &["linear", "gated", "delta", "gated_delta"])] }
        }
        attr::PIXEL_FORMAT => const { &[row(&[op::IMAGE_DECODER], 20, &["RGB", "BGR", "Grayscale"])] },
        attr::CASE_CHANGE_ACTION => {
            const { &[row(&[op::STRING_NORMALIZER], 10, &["LOWER", "UPPER", "NONE"])] }
        }
        attr::CAST_TO => const { &[row(&[op::CAST_MAP], 1, &["TO_FLOAT", "TO_STRING", "TO_INT64"])] },
        attr::MAP_FORM => const { &[row(&[op::CAST_MAP], 1, &["DENSE", "SPARSE"])] },
        attr::POST_TRANSFORM => {
            const { &[row(SCORES, 1, &["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])] }
        }
        attr::NORM => const { &[row(&[op::NORMALIZER], 1, &["MAX", "L1", "L2"])] },
        attr::KERNEL_TYPE => const { &[row(VECTOR_MACHINES, 1, &["LINEAR", "POLY", "RBF", "SIGMOID"])] },
        attr::AGGREGATE_FUNCTION => {
            const { &[row(&[op::TREE_ENSEMBLE_REGRESSOR], 1, &["AVERAGE", "SUM", "MIN", "MAX"])] }
        }
        attr::NODES_MODES => const { &[row(TREES, 1, BRANCHES)] },
        _ => &[],
    }
}

const RECURRENT: &[Symbol] = &[op::GRU, op::LSTM, op::RNN];

const FUNCTIONS: &[&str] = &[
    "Affine",
    "Elu",
    "HardSigmoid",
    "LeakyRelu",
    "Relu",
    "ScaledTanh",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
    "ThresholdedRelu",
];

/// The first casts name the type. Since version 6 it is a number.
static CASTS: &[Row] = &[
    row(
        &[op::CAST],
        1,
        &[
            "BOOL", "DOUBLE", "FLOAT", "FLOAT16", "INT16", "INT32", "INT64", "INT8", "UINT16", "UINT32",
            "UINT64", "UINT8",
        ],
    ),
    row(&[op::CAST], 6, &[]),
];

const BRANCHES: &[&str] =
    &["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"];

static MODES: &[Row] = &[
    row(&[op::DEPTH_TO_SPACE], 11, &["DCR", "CRD"]),
    row(&[op::SPACE_TO_DEPTH], 28, &["DCR", "CRD"]),
    row(&[op::GRID_SAMPLE], 16, &["bilinear", "nearest", "bicubic"]),
    row(&[op::GRID_SAMPLE], 20, &["linear", "nearest", "cubic"]),
    row(&[op::MOMENTUM], 1, &["standard", "nesterov"]),
    row(&[op::PAD], 1, &["constant", "reflect", "edge"]),
    row(&[op::PAD], 19, &["constant", "reflect", "edge", "wrap"]),
    row(&[op::RESIZE], 11, &["nearest", "linear", "cubic"]),
    row(&[op::ROI_ALIGN], 10, &["avg", "max"]),
    row(&[op::TENSOR_SCATTER], 24, &["linear", "circular"]),
    row(&[op::TF_IDF_VECTORIZER], 9, &["TF", "IDF", "TFIDF"]),
    row(&[op::UPSAMPLE], 1, &["nearest", "bilinear"]),
    // From here on, the linear modes have more names than the documentation lists; so they have in the first `Resize`.
    row(&[op::UPSAMPLE], 7, &[]),
];

static COORDINATES: &[Row] = &[
    row(
        &[op::RESIZE],
        11,
        &[
            "half_pixel",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_half_pixel_for_nn",
            "tf_crop_and_resize",
        ],
    ),
    row(
        &[op::RESIZE],
        13,
        &["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"],
    ),
    row(
        &[op::RESIZE],
        19,
        &[
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
        ],
    ),
    row(&[op::ROI_ALIGN], 16, &["half_pixel", "output_half_pixel"]),
];

static DIRECTIONS: &[Row] = &[
    row(&[op::BIT_SHIFT], 11, &["LEFT", "RIGHT"]),
    row(&[op::LSTM, op::RNN], 1, &["forward", "reverse", "bidirectional"]),
    // The default of the first version is misspelled.
    row(&[op::GRU], 1, &["forward", "reverse", "bidirectional", "foward"]),
    row(&[op::GRU], 3, &["forward", "reverse", "bidirectional"]),
];

static REDUCTIONS: &[Row] = &[
    row(LOSSES, 12, &["none", "sum", "mean"]),
    row(SCATTERS, 16, &["none", "add", "mul"]),
    row(SCATTERS, 18, &["none", "add", "mul", "max", "min"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AttrDefault;

    #[test]
    fn defaults_are_among_the_choices() {
        for schema in crate::all() {
            for formal in schema.attributes() {
                let Some(choices) = schema.choices(formal.name) else { continue };
                if let Some(AttrDefault::String(default)) = formal.default {
                    assert!(choices.contains(&default), "{schema} {}", formal.text());
                }
            }
        }
    }

    #[test]
    fn rows_are_about_attributes_that_exist() {
        let names = crate::all().iter().flat_map(|schema| schema.attributes()).map(|formal| formal.name);
        for name in names {
            for row in rows(name) {
                for &op in row.ops {
                    let has = |schema: &&Schema| schema.op() == op && schema.attribute(name).is_some();
                    assert!(crate::all().iter().any(|schema| has(&schema)));
                }
            }
        }
    }
}
