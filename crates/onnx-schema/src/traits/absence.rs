//! What the absence of an optional attribute without a default means.
//!
//! This is a table by attribute rather than a part of the rows of operators, with names instead of symbols: the generator of
//! views reads it before the symbols exist, and most attributes mean the same wherever they occur.

/// The meaning of the absence of an optional attribute without a default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absence {
    /// A value that depends on the node; `onnx_ops::derived_default` computes it.
    Derived(DerivedDefault),
    /// A separate meaning, which no value of the attribute expresses.
    Own,
}

/// The derivation of the value of an absent attribute from the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DerivedDefault {
    /// All axes of the first input, in descending order.
    AxesReversed,
    /// All axes of the first input.
    Axes,
    /// The rank of the first input.
    Rank,
    /// Ones, one for each spatial axis of the first input.
    SpatialOnes,
    /// Zeros, one for each spatial axis of the first input.
    SpatialZeros,
    /// Zeros, two for each spatial axis of the first input.
    SpatialPads,
    /// The spatial sizes of the weight, which is the operand at this index.
    Kernel(usize),
    /// This integer.
    Int(i64),
    /// Zeros, one for each scanned input.
    ScanInputs,
    /// Zeros, one for each scanned output.
    ScanOutputs,
    /// 0, 1, … for the length of the attribute `starts`.
    Starts,
    /// Ones or zeros, one or two for each element of the second operand.
    Image {
        /// The number.
        value: i64,
        /// Number of repetitions for each element.
        times: usize,
    },
    /// Number of outputs of the node.
    OutputCount,
}

use Absence::{Derived, Own};

/// Optional attributes without a default, by operator: `*` stands for every other operator with the attribute.
const ABSENCE: &[(&str, &str, Absence)] = &[
    // Shapes and axes.
    ("Transpose", "perm", Derived(DerivedDefault::AxesReversed)),
    ("CenterCropPad", "axes", Derived(DerivedDefault::Axes)),
    ("Resize", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceL1", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceL2", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceLogSum", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceLogSumExp", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceMax", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceMean", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceMin", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceProd", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceSum", "axes", Derived(DerivedDefault::Axes)),
    ("ReduceSumSquare", "axes", Derived(DerivedDefault::Axes)),
    ("Shape", "end", Derived(DerivedDefault::Rank)),
    ("Slice", "axes", Derived(DerivedDefault::Starts)),
    ("Concat", "axis", Derived(DerivedDefault::Int(1))),
    ("Split", "num_outputs", Derived(DerivedDefault::OutputCount)),
    // Windows.
    ("Conv", "kernel_shape", Derived(DerivedDefault::Kernel(1))),
    ("ConvInteger", "kernel_shape", Derived(DerivedDefault::Kernel(1))),
    ("ConvTranspose", "kernel_shape", Derived(DerivedDefault::Kernel(1))),
    ("DeformConv", "kernel_shape", Derived(DerivedDefault::Kernel(1))),
    ("QLinearConv", "kernel_shape", Derived(DerivedDefault::Kernel(3))),
    ("ConvTranspose", "output_padding", Derived(DerivedDefault::SpatialZeros)),
    ("Col2Im", "strides", Derived(DerivedDefault::Image { value: 1, times: 1 })),
    ("Col2Im", "dilations", Derived(DerivedDefault::Image { value: 1, times: 1 })),
    ("Col2Im", "pads", Derived(DerivedDefault::Image { value: 0, times: 2 })),
    ("*", "strides", Derived(DerivedDefault::SpatialOnes)),
    ("*", "dilations", Derived(DerivedDefault::SpatialOnes)),
    ("*", "pads", Derived(DerivedDefault::SpatialPads)),
    // Loops over axes.
    ("Scan", "scan_input_axes", Derived(DerivedDefault::ScanInputs)),
    ("Scan", "scan_input_directions", Derived(DerivedDefault::ScanInputs)),
    ("Scan", "directions", Derived(DerivedDefault::ScanInputs)),
    ("Scan", "scan_output_axes", Derived(DerivedDefault::ScanOutputs)),
    ("Scan", "scan_output_directions", Derived(DerivedDefault::ScanOutputs)),
    ("StringSplit", "maxsplit", Own),
    // Absence has a meaning that no value expresses: the input is flattened first (`Compress`, `Unique`), every axis of
    // size 1 is removed (`Squeeze`), operands are not broadcast, the type is that of the input, the runtime chooses the
    // seed, and so on.
    ("Compress", "axis", Own),
    ("Unique", "axis", Own),
    ("Squeeze", "axes", Own),
    ("Split", "axis", Own),
    ("Split", "split", Own),
    ("LpPool", "kernel_shape", Own),
    ("ConvTranspose", "output_shape", Own),
    ("Reshape", "shape", Own),
    ("Clip", "min", Own),
    ("Clip", "max", Own),
    ("ConstantOfShape", "value", Own),
    ("Optional", "type", Own),
    ("RegexFullMatch", "pattern", Own),
    ("*", "axis", Own),
    ("*", "consumed_inputs", Own),
    ("*", "seed", Own),
    ("*", "dtype", Own),
    ("*", "ignore_index", Own),
    ("*", "clip", Own),
    ("*", "hidden_size", Own),
    ("*", "activations", Own),
    ("*", "activation_alpha", Own),
    ("*", "activation_beta", Own),
    ("*", "softmax_precision", Own),
    ("*", "scale", Own),
    ("*", "num_heads", Own),
    ("*", "q_num_heads", Own),
    ("*", "kv_num_heads", Own),
    ("*", "score_mod", Own),
    ("*", "prob_mod", Own),
    // One of several alternatives is given.
    ("Constant", "value", Own),
    ("*", "sparse_value", Own),
    ("*", "value_float", Own),
    ("*", "value_floats", Own),
    ("*", "value_int", Own),
    ("*", "value_ints", Own),
    ("*", "value_string", Own),
    ("*", "value_strings", Own),
    ("*", "locale", Own),
    ("*", "stopwords", Own),
    ("*", "delimiter", Own),
    ("*", "pool_int64s", Own),
    ("*", "pool_strings", Own),
    ("*", "weights", Own),
    ("*", "zs", Own),
];

/// What the absence of an attribute of an operator of the default domain means, both by name; `None` for attributes that no
/// operator has, or that are required or have a default.
#[must_use]
pub fn absence_of(op: &str, attribute: &str) -> Option<Absence> {
    let found = |name: &str| ABSENCE.iter().find(|row| row.0 == name && row.1 == attribute);
    found(op).or_else(|| found("*")).map(|row| row.2)
}
