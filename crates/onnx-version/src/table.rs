//! The steps between versions of operators: every version that changes an operator, with what a node needs upwards and
//! downwards.

use std::collections::HashMap;

use onnx_schema::{Schema, SchemaId};

use Down::{Axes, Check, Constant};
use VersionChange as Up;
use VersionChange::{Added, Moved, Same, Values};

/// What a version changes in an operator, for nodes that are taken upwards to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionChange {
    /// Other types, another text of the specification, or attributes without effect.
    Same,
    /// Optional operands, results or attributes are added, and without them nothing changes.
    Added,
    /// Operands or attributes may have values that earlier versions do not allow.
    Values,
    /// An attribute becomes an operand.
    Moved,
    /// The operator computes something else for the same node, or is replaced by another one.
    Adapted,
}

/// The changes of a node that is taken downwards from a version. In every case, attributes that the older version does
/// not declare are removed if they have no effect, and types, operands and results must be allowed by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Down {
    /// Nothing else.
    Check,
    /// Axes that are counted from the end are counted from the front.
    Axes,
    /// An operand that is constant becomes an attribute.
    Constant,
    /// A function converts the node.
    Adapted,
}

/// The versions after the first one of an operator, each with what it changes upwards and downwards.
pub type Versions = &'static [(i64, VersionChange, Down)];

/// The rows of [`STEPS`] by the schema of the newer version.
#[derive(Debug)]
pub(crate) struct Table(HashMap<SchemaId, (VersionChange, Down)>);

impl Table {
    pub(crate) fn new() -> Self {
        let rows = STEPS.iter().flat_map(|&(domain, op, versions)| {
            versions.iter().map(move |&(version, up, down)| (domain, op, version, (up, down)))
        });
        let rows = rows.filter_map(|(domain, op, version, row)| {
            let (domain, op) = (onnx_schema::domain_symbol(domain)?, onnx_schema::op_symbol(op)?);
            Some((onnx_schema::schema_since(domain, op, version)?, row))
        });
        Self(rows.collect())
    }

    /// The row of the step to or from a version.
    pub(crate) fn row(&self, newer: &Schema) -> Option<(VersionChange, Down)> {
        self.0.get(&newer.id()).copied()
    }
}

/// Operators by domain and name, each with the versions after its first one.
pub const STEPS: &[(&str, &str, Versions)] = &[
    ("", "Abs", &[(6, Same, Check), (13, Same, Check)]),
    ("", "Acos", &[(22, Same, Check)]),
    ("", "Acosh", &[(22, Same, Check)]),
    ("", "Add", &[(6, Same, Check), (7, Up::Adapted, Down::Adapted), (13, Same, Check), (14, Same, Check)]),
    ("", "And", &[(7, Up::Adapted, Down::Adapted)]),
    ("", "ArgMax", &[(11, Values, Axes), (12, Added, Down::Adapted), (13, Same, Check)]),
    ("", "ArgMin", &[(11, Values, Axes), (12, Added, Down::Adapted), (13, Same, Check)]),
    ("", "Asin", &[(22, Same, Check)]),
    ("", "Asinh", &[(22, Same, Check)]),
    ("", "Atan", &[(22, Same, Check)]),
    ("", "Atanh", &[(22, Same, Check)]),
    ("", "Attention", &[(24, Up::Adapted, Down::Adapted), (25, Up::Adapted, Check)]),
    (
        "",
        "AveragePool",
        &[
            (7, Added, Check),
            (10, Added, Check),
            (11, Same, Check),
            (19, Added, Down::Adapted),
            (22, Up::Adapted, Down::Adapted),
        ],
    ),
    (
        "",
        "BatchNormalization",
        &[
            (6, Same, Down::Adapted),
            (7, Up::Adapted, Down::Adapted),
            (9, Up::Adapted, Check),
            (14, Up::Adapted, Down::Adapted),
            (15, Same, Check),
        ],
    ),
    ("", "Bernoulli", &[(22, Same, Check)]),
    ("", "BitShift", &[(28, Values, Down::Adapted)]),
    (
        "",
        "Cast",
        &[
            (6, Up::Adapted, Down::Adapted),
            (9, Same, Check),
            (13, Same, Check),
            (19, Added, Down::Adapted),
            (21, Same, Check),
            (23, Same, Check),
            (24, Added, Down::Adapted),
            (25, Same, Check),
            (28, Same, Check),
        ],
    ),
    (
        "",
        "CastLike",
        &[
            (19, Added, Down::Adapted),
            (21, Same, Check),
            (23, Same, Check),
            (24, Added, Down::Adapted),
            (25, Same, Check),
        ],
    ),
    ("", "Ceil", &[(6, Same, Check), (13, Same, Check)]),
    ("", "Celu", &[(28, Same, Check)]),
    (
        "",
        "Clip",
        &[(6, Up::Adapted, Check), (11, Moved, Down::Adapted), (12, Same, Check), (13, Same, Check)],
    ),
    ("", "Compress", &[(11, Values, Axes), (28, Same, Check)]),
    ("", "Concat", &[(4, Up::Adapted, Check), (11, Values, Axes), (13, Same, Check)]),
    (
        "",
        "Constant",
        &[
            (9, Same, Down::Adapted),
            (11, Added, Down::Adapted),
            (12, Added, Down::Adapted),
            (13, Same, Check),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    (
        "",
        "ConstantOfShape",
        &[(20, Same, Check), (21, Same, Check), (23, Same, Check), (24, Same, Check), (25, Same, Check)],
    ),
    ("", "Conv", &[(11, Same, Check), (22, Same, Check)]),
    ("", "ConvTranspose", &[(11, Same, Check), (22, Same, Check)]),
    ("", "Cos", &[(22, Same, Check)]),
    ("", "Cosh", &[(22, Same, Check)]),
    ("", "CumSum", &[(14, Same, Check)]),
    ("", "DFT", &[(20, Moved, Down::Adapted)]),
    ("", "DeformConv", &[(22, Same, Check)]),
    ("", "DepthToSpace", &[(11, Added, Down::Adapted), (13, Same, Check), (28, Same, Check)]),
    (
        "",
        "DequantizeLinear",
        &[
            (13, Added, Down::Adapted),
            (19, Same, Check),
            (21, Added, Down::Adapted),
            (23, Added, Down::Adapted),
            (24, Same, Check),
            (25, Same, Check),
            (28, Same, Check),
        ],
    ),
    ("", "Det", &[(22, Same, Check)]),
    ("", "Div", &[(6, Same, Check), (7, Up::Adapted, Down::Adapted), (13, Same, Check), (14, Same, Check)]),
    (
        "",
        "Dropout",
        &[
            (6, Same, Check),
            (7, Up::Adapted, Down::Adapted),
            (10, Up::Adapted, Down::Adapted),
            (12, Moved, Down::Adapted),
            (13, Same, Check),
            (22, Same, Check),
        ],
    ),
    ("", "Einsum", &[(28, Same, Check)]),
    ("", "Elu", &[(6, Same, Check), (22, Same, Check)]),
    (
        "",
        "Equal",
        &[(7, Up::Adapted, Down::Adapted), (11, Same, Down::Adapted), (13, Same, Check), (19, Same, Check)],
    ),
    ("", "Erf", &[(13, Up::Adapted, Check)]),
    ("", "Exp", &[(6, Same, Check), (13, Same, Check)]),
    ("", "Expand", &[(13, Same, Check)]),
    ("", "EyeLike", &[(22, Same, Check)]),
    (
        "",
        "Flatten",
        &[
            (9, Same, Down::Adapted),
            (11, Values, Axes),
            (13, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "Floor", &[(6, Same, Check), (13, Same, Check)]),
    (
        "",
        "GRU",
        &[(3, Added, Check), (7, Up::Adapted, Down::Adapted), (14, Added, Down::Adapted), (22, Same, Check)],
    ),
    ("", "Gather", &[(11, Values, Down::Adapted), (13, Same, Check)]),
    ("", "GatherElements", &[(13, Same, Check)]),
    ("", "GatherND", &[(12, Added, Check), (13, Same, Check)]),
    (
        "",
        "Gemm",
        &[
            (6, Same, Check),
            (7, Up::Adapted, Down::Adapted),
            (9, Same, Down::Adapted),
            (11, Added, Down::Adapted),
            (13, Same, Check),
        ],
    ),
    ("", "GlobalAveragePool", &[(22, Same, Check)]),
    ("", "GlobalLpPool", &[(2, Up::Adapted, Down::Adapted), (22, Same, Check)]),
    ("", "GlobalMaxPool", &[(22, Same, Check)]),
    ("", "Greater", &[(7, Up::Adapted, Down::Adapted), (9, Same, Down::Adapted), (13, Same, Check)]),
    ("", "GreaterOrEqual", &[(16, Same, Check)]),
    ("", "GridSample", &[(20, Up::Adapted, Down::Adapted), (22, Same, Check)]),
    ("", "GroupNormalization", &[(21, Up::Adapted, Check)]),
    ("", "HardSigmoid", &[(6, Same, Check), (22, Same, Check)]),
    ("", "HardSwish", &[(22, Same, Check)]),
    ("", "Hardmax", &[(11, Up::Adapted, Axes), (13, Up::Adapted, Down::Adapted)]),
    (
        "",
        "Identity",
        &[
            (13, Same, Check),
            (14, Same, Check),
            (16, Same, Check),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    (
        "",
        "If",
        &[
            (11, Values, Down::Adapted),
            (13, Same, Check),
            (16, Same, Check),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "InstanceNormalization", &[(6, Same, Check), (22, Same, Check)]),
    ("", "IsInf", &[(20, Same, Check)]),
    ("", "IsNaN", &[(13, Same, Check), (20, Same, Check)]),
    ("", "LRN", &[(13, Same, Check)]),
    ("", "LSTM", &[(7, Up::Adapted, Down::Adapted), (14, Added, Down::Adapted), (22, Same, Check)]),
    ("", "LeakyRelu", &[(6, Same, Check), (16, Same, Check)]),
    ("", "Less", &[(7, Up::Adapted, Down::Adapted), (9, Same, Down::Adapted), (13, Same, Check)]),
    ("", "LessOrEqual", &[(16, Same, Check)]),
    ("", "Log", &[(6, Same, Check), (13, Same, Check)]),
    ("", "LogSoftmax", &[(11, Up::Adapted, Axes), (13, Up::Adapted, Down::Adapted)]),
    (
        "",
        "Loop",
        &[
            (11, Added, Check),
            (13, Same, Check),
            (16, Same, Check),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "LpNormalization", &[(22, Same, Check)]),
    (
        "",
        "LpPool",
        &[
            (2, Up::Adapted, Down::Adapted),
            (11, Same, Check),
            (18, Added, Check),
            (22, Up::Adapted, Down::Adapted),
        ],
    ),
    ("", "MatMul", &[(9, Same, Down::Adapted), (13, Same, Check)]),
    ("", "Max", &[(6, Same, Check), (8, Up::Adapted, Down::Adapted), (12, Same, Check), (13, Same, Check)]),
    (
        "",
        "MaxPool",
        &[
            (8, Added, Check),
            (10, Added, Check),
            (11, Same, Check),
            (12, Same, Check),
            (22, Up::Adapted, Down::Adapted),
        ],
    ),
    ("", "MaxRoiPool", &[(22, Same, Check)]),
    ("", "MaxUnpool", &[(11, Same, Check), (22, Same, Check)]),
    ("", "Mean", &[(6, Same, Check), (8, Up::Adapted, Down::Adapted), (13, Same, Check)]),
    ("", "MeanVarianceNormalization", &[(13, Same, Check)]),
    ("", "Min", &[(6, Same, Check), (8, Up::Adapted, Down::Adapted), (12, Same, Check), (13, Same, Check)]),
    ("", "Mish", &[(22, Same, Check)]),
    ("", "Mod", &[(13, Same, Check), (28, Values, Down::Adapted)]),
    ("", "Mul", &[(6, Same, Check), (7, Up::Adapted, Down::Adapted), (13, Same, Check), (14, Same, Check)]),
    ("", "Multinomial", &[(22, Same, Check)]),
    ("", "Neg", &[(6, Same, Check), (13, Same, Check)]),
    ("", "NegativeLogLikelihoodLoss", &[(13, Same, Check), (22, Same, Check)]),
    ("", "NonMaxSuppression", &[(11, Same, Check)]),
    ("", "NonZero", &[(13, Same, Check)]),
    ("", "OneHot", &[(11, Values, Down::Adapted), (28, Same, Check)]),
    ("", "Optional", &[(28, Same, Check)]),
    ("", "OptionalGetElement", &[(18, Same, Down::Adapted), (28, Same, Check)]),
    ("", "OptionalHasElement", &[(18, Added, Down::Adapted), (28, Same, Check)]),
    ("", "Or", &[(7, Up::Adapted, Down::Adapted)]),
    (
        "",
        "PRelu",
        &[(6, Same, Check), (7, Up::Adapted, Down::Adapted), (9, Same, Down::Adapted), (16, Same, Check)],
    ),
    (
        "",
        "Pad",
        &[
            (2, Up::Adapted, Down::Adapted),
            (11, Moved, Constant),
            (13, Same, Check),
            (18, Added, Down::Adapted),
            (19, Values, Down::Adapted),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    (
        "",
        "Pow",
        &[(7, Up::Adapted, Down::Adapted), (12, Same, Down::Adapted), (13, Same, Check), (15, Same, Check)],
    ),
    ("", "QLinearMatMul", &[(21, Same, Check)]),
    (
        "",
        "QuantizeLinear",
        &[
            (13, Added, Down::Adapted),
            (19, Up::Adapted, Down::Adapted),
            (21, Added, Down::Adapted),
            (23, Added, Down::Adapted),
            (24, Same, Check),
            (25, Same, Check),
            (28, Same, Check),
        ],
    ),
    ("", "RNN", &[(7, Up::Adapted, Down::Adapted), (14, Added, Down::Adapted), (22, Same, Check)]),
    ("", "RandomNormal", &[(22, Same, Check)]),
    ("", "RandomNormalLike", &[(22, Same, Check)]),
    ("", "RandomUniform", &[(22, Same, Check)]),
    ("", "RandomUniformLike", &[(22, Same, Check)]),
    ("", "Range", &[(27, Same, Down::Adapted)]),
    ("", "Reciprocal", &[(6, Same, Check), (13, Same, Check)]),
    ("", "ReduceL1", &[(11, Values, Axes), (13, Same, Check), (18, Moved, Down::Adapted)]),
    ("", "ReduceL2", &[(11, Values, Axes), (13, Same, Check), (18, Moved, Down::Adapted)]),
    (
        "",
        "ReduceLogSum",
        &[(11, Values, Axes), (13, Same, Check), (18, Moved, Down::Adapted), (28, Up::Adapted, Check)],
    ),
    (
        "",
        "ReduceLogSumExp",
        &[(11, Values, Axes), (13, Same, Check), (18, Moved, Down::Adapted), (28, Up::Adapted, Check)],
    ),
    (
        "",
        "ReduceMax",
        &[
            (11, Values, Axes),
            (12, Same, Check),
            (13, Same, Check),
            (18, Moved, Down::Adapted),
            (20, Same, Check),
        ],
    ),
    ("", "ReduceMean", &[(11, Values, Axes), (13, Same, Check), (18, Moved, Down::Adapted)]),
    (
        "",
        "ReduceMin",
        &[
            (11, Values, Axes),
            (12, Same, Check),
            (13, Same, Check),
            (18, Moved, Down::Adapted),
            (20, Same, Check),
        ],
    ),
    ("", "ReduceProd", &[(11, Values, Axes), (13, Same, Check), (18, Moved, Down::Adapted)]),
    ("", "ReduceSum", &[(11, Values, Axes), (13, Moved, Down::Adapted)]),
    ("", "ReduceSumSquare", &[(11, Values, Axes), (13, Same, Check), (18, Moved, Down::Adapted)]),
    ("", "Relu", &[(6, Same, Check), (13, Same, Check), (14, Same, Check)]),
    (
        "",
        "Reshape",
        &[
            (5, Moved, Constant),
            (13, Same, Check),
            (14, Up::Adapted, Down::Adapted),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    (
        "",
        "Resize",
        &[
            (11, Up::Adapted, Down::Adapted),
            (13, Up::Adapted, Down::Adapted),
            (18, Added, Down::Adapted),
            (19, Values, Down::Adapted),
        ],
    ),
    ("", "ReverseSequence", &[(28, Same, Check)]),
    ("", "RoiAlign", &[(16, Up::Adapted, Down::Adapted), (22, Same, Check)]),
    ("", "Round", &[(22, Same, Check)]),
    (
        "",
        "Scan",
        &[
            (9, Up::Adapted, Down::Adapted),
            (11, Values, Down::Adapted),
            (16, Same, Check),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "Scatter", &[(11, Up::Adapted, Check)]),
    ("", "ScatterElements", &[(13, Same, Check), (16, Added, Check), (18, Values, Down::Adapted)]),
    ("", "ScatterND", &[(13, Same, Check), (16, Added, Check), (18, Values, Down::Adapted)]),
    ("", "Selu", &[(6, Up::Adapted, Check), (22, Same, Check)]),
    (
        "",
        "Shape",
        &[
            (13, Same, Check),
            (15, Added, Down::Adapted),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "Sigmoid", &[(6, Same, Check), (13, Same, Check)]),
    ("", "Sign", &[(13, Same, Check)]),
    ("", "Sin", &[(22, Same, Check)]),
    ("", "Sinh", &[(22, Same, Check)]),
    (
        "",
        "Size",
        &[
            (13, Same, Check),
            (19, Same, Check),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "Slice", &[(10, Moved, Down::Adapted), (11, Values, Down::Adapted), (13, Same, Check)]),
    ("", "Softmax", &[(11, Up::Adapted, Axes), (13, Up::Adapted, Down::Adapted)]),
    ("", "SoftmaxCrossEntropyLoss", &[(13, Same, Check)]),
    ("", "Softplus", &[(22, Same, Check)]),
    ("", "Softsign", &[(22, Same, Check)]),
    ("", "SpaceToDepth", &[(13, Same, Check), (28, Added, Down::Adapted)]),
    (
        "",
        "Split",
        &[
            (2, Up::Adapted, Check),
            (11, Values, Axes),
            (13, Moved, Constant),
            (18, Up::Adapted, Down::Adapted),
        ],
    ),
    ("", "SplitToSequence", &[(24, Same, Check)]),
    ("", "Sqrt", &[(6, Same, Check), (13, Same, Check)]),
    (
        "",
        "Squeeze",
        &[
            (11, Values, Axes),
            (13, Moved, Constant),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "Sub", &[(6, Same, Check), (7, Up::Adapted, Down::Adapted), (13, Same, Check), (14, Same, Check)]),
    ("", "Sum", &[(6, Same, Check), (8, Up::Adapted, Down::Adapted), (13, Same, Check)]),
    ("", "Tan", &[(22, Same, Check)]),
    ("", "Tanh", &[(6, Same, Check), (13, Same, Check)]),
    ("", "ThresholdedRelu", &[(22, Same, Check)]),
    ("", "Tile", &[(6, Up::Adapted, Down::Adapted), (13, Same, Check)]),
    ("", "TopK", &[(10, Moved, Down::Adapted), (11, Added, Down::Adapted), (24, Same, Check)]),
    (
        "",
        "Transpose",
        &[(13, Same, Check), (21, Same, Check), (23, Same, Check), (24, Same, Check), (25, Same, Check)],
    ),
    ("", "Unique", &[(28, Same, Check)]),
    (
        "",
        "Unsqueeze",
        &[
            (11, Values, Axes),
            (13, Moved, Constant),
            (21, Same, Check),
            (23, Same, Check),
            (24, Same, Check),
            (25, Same, Check),
        ],
    ),
    ("", "Upsample", &[(7, Up::Adapted, Down::Adapted), (9, Moved, Constant), (10, Up::Adapted, Check)]),
    ("", "Where", &[(16, Same, Check)]),
    ("", "Xor", &[(7, Up::Adapted, Down::Adapted)]),
    ("ai.onnx.ml", "LabelEncoder", &[(2, Up::Adapted, Down::Adapted), (4, Up::Adapted, Down::Adapted)]),
    ("ai.onnx.ml", "TreeEnsembleClassifier", &[(3, Added, Down::Adapted), (5, Up::Adapted, Check)]),
    ("ai.onnx.ml", "TreeEnsembleRegressor", &[(3, Added, Down::Adapted), (5, Up::Adapted, Check)]),
];

#[cfg(test)]
mod tests;
