//! Facts about operators that the schemas do not state: what the absence of an attribute means, and which operands
//! commute.

use onnx_ir::ValueId;
use onnx_schema::{attr, domain, op};
use onnx_types::Symbol;

use crate::call::Call;

/// The meaning of the absence of an optional attribute without a default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absence {
    /// A value that depends on the node; [`derived_default`] computes it.
    Derived(Rule),
    /// A separate meaning, which no value of the attribute expresses.
    Own,
}

/// The derivation of the value of an absent attribute from the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
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
    ("Transpose", "perm", Derived(Rule::AxesReversed)),
    ("CenterCropPad", "axes", Derived(Rule::Axes)),
    ("Resize", "axes", Derived(Rule::Axes)),
    ("ReduceL1", "axes", Derived(Rule::Axes)),
    ("ReduceL2", "axes", Derived(Rule::Axes)),
    ("ReduceLogSum", "axes", Derived(Rule::Axes)),
    ("ReduceLogSumExp", "axes", Derived(Rule::Axes)),
    ("ReduceMax", "axes", Derived(Rule::Axes)),
    ("ReduceMean", "axes", Derived(Rule::Axes)),
    ("ReduceMin", "axes", Derived(Rule::Axes)),
    ("ReduceProd", "axes", Derived(Rule::Axes)),
    ("ReduceSum", "axes", Derived(Rule::Axes)),
    ("ReduceSumSquare", "axes", Derived(Rule::Axes)),
    ("Shape", "end", Derived(Rule::Rank)),
    ("Slice", "axes", Derived(Rule::Starts)),
    ("Concat", "axis", Derived(Rule::Int(1))),
    ("Split", "num_outputs", Derived(Rule::OutputCount)),
    // Windows.
    ("Conv", "kernel_shape", Derived(Rule::Kernel(1))),
    ("ConvInteger", "kernel_shape", Derived(Rule::Kernel(1))),
    ("ConvTranspose", "kernel_shape", Derived(Rule::Kernel(1))),
    ("DeformConv", "kernel_shape", Derived(Rule::Kernel(1))),
    ("QLinearConv", "kernel_shape", Derived(Rule::Kernel(3))),
    ("ConvTranspose", "output_padding", Derived(Rule::SpatialZeros)),
    ("Col2Im", "strides", Derived(Rule::Image { value: 1, times: 1 })),
    ("Col2Im", "dilations", Derived(Rule::Image { value: 1, times: 1 })),
    ("Col2Im", "pads", Derived(Rule::Image { value: 0, times: 2 })),
    ("*", "strides", Derived(Rule::SpatialOnes)),
    ("*", "dilations", Derived(Rule::SpatialOnes)),
    ("*", "pads", Derived(Rule::SpatialPads)),
    // Loops over axes.
    ("Scan", "scan_input_axes", Derived(Rule::ScanInputs)),
    ("Scan", "scan_input_directions", Derived(Rule::ScanInputs)),
    ("Scan", "directions", Derived(Rule::ScanInputs)),
    ("Scan", "scan_output_axes", Derived(Rule::ScanOutputs)),
    ("Scan", "scan_output_directions", Derived(Rule::ScanOutputs)),
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

/// What the absence of an optional attribute without a default means; `None` for attributes that no standard operator of
/// the default domain has. Operators of `ai.onnx.ml` use absence to choose between alternatives, so it is [`Absence::Own`]
/// for all of them.
#[must_use]
pub fn absence(domain: Symbol, op: Symbol, attribute: Symbol) -> Option<Absence> {
    if domain == domain::ML {
        return Some(Own);
    }
    let [op, attribute] = [op, attribute].map(onnx_schema::known_name);
    let (op, attribute) = (op?, attribute?);
    let found = |name: &str| ABSENCE.iter().find(|row| row.0 == name && row.1 == attribute);
    found(op).or_else(|| found("*")).map(|row| row.2)
}

/// The value that an absent attribute has by the definition of the operator, for attributes of integers whose default
/// depends on the node. `None` if the absence has a separate meaning, or if the inputs of the computation are unknown.
///
/// `shape` returns the sizes of a value, `None` for unknown ones, or `None` if its rank is unknown.
#[must_use]
pub fn derived_default(
    call: &Call<'_>,
    attribute: Symbol,
    shape: &dyn Fn(ValueId) -> Option<Vec<Option<i64>>>,
) -> Option<Vec<i64>> {
    let schema = call.schema();
    let Derived(rule) = absence(schema.domain(), schema.op(), attribute)? else { return None };
    let sizes = |index: usize| shape(call.input(index)?);
    let rank = || sizes(0).map(|sizes| sizes.len());
    let spatial = || rank()?.checked_sub(2);
    Some(match rule {
        Rule::AxesReversed => axes(rank()?).into_iter().rev().collect(),
        Rule::Axes => axes(rank()?),
        Rule::Rank => vec![i64::try_from(rank()?).ok()?],
        Rule::SpatialOnes => vec![1; spatial()?],
        Rule::SpatialZeros => vec![0; spatial()?],
        Rule::SpatialPads => vec![0; spatial()?.checked_mul(2)?],
        Rule::Kernel(index) => sizes(index)?.get(2..)?.iter().copied().collect::<Option<_>>()?,
        Rule::Int(value) => vec![value],
        Rule::ScanInputs => vec![0; scanned_inputs(call)?],
        Rule::ScanOutputs => vec![0; scanned_outputs(call)?],
        Rule::Starts => axes(call.attr::<crate::kind::Ints>(attr::STARTS).known()?.len()),
        Rule::Image { value, times } => {
            let count = usize::try_from((*sizes(1)?.first()?)?).ok()?;
            vec![value; count.checked_mul(times).filter(|&count| count <= 256)?]
        }
        Rule::OutputCount => vec![i64::try_from(call.node().outputs().len()).ok()?],
    })
}

fn axes(rank: usize) -> Vec<i64> {
    (0_i64..).take(rank).collect()
}

fn scanned_inputs(call: &Call<'_>) -> Option<usize> {
    let count = call.attr::<crate::kind::Int>(attr::NUM_SCAN_INPUTS).known()?;
    // Version 8 has an operand before the state variables; a count beyond the operands is not valid.
    usize::try_from(count).ok().filter(|&count| count <= call.node().input_count())
}

fn scanned_outputs(call: &Call<'_>) -> Option<usize> {
    let lengths = usize::from(call.since() < 9);
    let states = call.node().input_count().checked_sub(lengths)?.checked_sub(scanned_inputs(call)?)?;
    call.node().outputs().len().checked_sub(states)
}

/// Returns `true` if the two operands of a call may be exchanged without changing a bit of the result, up to payloads of
/// NaNs, in every admissible implementation.
///
/// This does not include `Max` and `Min`: which zero they return for -0.0 and 0.0 may depend on the order. Neither does
/// it include operators of versions before 7, which broadcast only the second operand.
#[must_use]
pub fn is_commutative(call: &Call<'_>) -> bool {
    let schema = call.schema();
    let is_binary = [op::ADD, op::MUL, op::AND, op::OR, op::XOR, op::EQUAL].contains(&schema.op());
    let is_bitwise = [op::BITWISE_AND, op::BITWISE_OR, op::BITWISE_XOR].contains(&schema.op());
    let is_pair = [op::SUM, op::MEAN].contains(&schema.op()) && call.since() >= 8;
    schema.domain() == domain::ONNX
        && call.node().input_count() == 2
        && (is_bitwise || is_pair || (is_binary && call.since() >= 7))
}
