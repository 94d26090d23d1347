//! The cost of nodes, which simplifications lower.

/// Operators that compute with many operations for each element.
const HEAVY: &[&str] = &[
    "MatMul",
    "Gemm",
    "Conv",
    "ConvTranspose",
    "ConvInteger",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "Einsum",
    "LSTM",
    "GRU",
    "RNN",
    "Attention",
    "DeformConv",
    "Resize",
    "GridSample",
    "NonMaxSuppression",
    "TopK",
    "Scan",
    "Loop",
    "If",
];

/// Operators that evaluate a function, or combine several operations, for each element.
const FUNCTIONS: &[&str] = &[
    "Pow",
    "Exp",
    "Log",
    "Sqrt",
    "Erf",
    "Tanh",
    "Sigmoid",
    "Softmax",
    "LogSoftmax",
    "Gelu",
    "BatchNormalization",
    "LayerNormalization",
    "RMSNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "Sin",
    "Cos",
];

/// Operators that only state sizes.
const SIZES: &[&str] = &["Shape", "Size", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"];

/// Operators that move elements.
const MOVES: &[&str] = &[
    "Transpose",
    "Slice",
    "Concat",
    "Split",
    "Gather",
    "Expand",
    "Tile",
    "Pad",
    "Cast",
    "CastLike",
    "Where",
];

/// The cost of a node of an operator. One node more of any kind that computes costs more than any that moves elements.
pub(crate) fn weight(op: &str) -> u64 {
    match () {
        () if HEAVY.contains(&op) => 64,
        () if FUNCTIONS.contains(&op) => 12,
        () if SIZES.contains(&op) => 2,
        () if MOVES.contains(&op) => 4,
        () => 8,
    }
}
