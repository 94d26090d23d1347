//! Operators on elements: one operation for each element of the output, whatever it computes; and those that only move data.

use onnx_types::Dim;

use super::{Cx, Formula, Why, Work};

pub(super) fn formula(op: &str) -> Option<Formula> {
    Some(match op {
        _ if MOVEMENT.binary_search(&op).is_ok() => |_| Ok(Work::NONE),
        _ if ELEMENTWISE.binary_search(&op).is_ok() => per_element::<1>,
        "Sum" | "Mean" | "Max" | "Min" => variadic,
        "DequantizeLinear" => per_element::<2>,
        "QuantizeLinear" => per_element::<3>,
        "DynamicQuantizeLinear" => per_element::<5>,
        "Resize" | "Upsample" => resize,
        _ => return None,
    })
}

/// Operators that copy, select, convert or describe elements, or make them from a seed or an attribute; sorted.
const MOVEMENT: &[&str] = &[
    "Bernoulli",
    "BitCast",
    "Cast",
    "CastLike",
    "CenterCropPad",
    "Col2Im",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Dropout",
    "Expand",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "Multinomial",
    "NonZero",
    "OneHot",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Pad",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Range",
    "Reshape",
    "ReverseSequence",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Squeeze",
    "TensorScatter",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
];

/// Functions of the elements at the same index of all operands; sorted.
const ELEMENTWISE: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Where",
    "Xor",
];

pub(super) fn per_element<const OPERATIONS: i64>(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let elements = cx.first_output_elements()?;
    Ok(Work::operations(cx.scaled(elements, OPERATIONS)))
}

/// One operation less than there are operands, and for the mean a division.
fn variadic(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let record = cx.measure.model.node(cx.node);
    let is_mean = cx.measure.model.str(record.op()) == "Mean";
    let operands = i64::try_from(record.input_count()).unwrap_or(i64::MAX);
    let elements = cx.first_output_elements()?;
    let each = operands.saturating_sub(1).saturating_add(i64::from(is_mean));
    Ok(Work::operations(cx.scaled(elements, each)))
}

/// Nothing for the nearest element; for interpolation along the axes whose sizes change, a multiply-accumulate for each
/// element of the neighborhood: two along each axis, or four if it is cubic.
fn resize(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let mode = cx.call()?.attr::<onnx_ops::kind::Text>(onnx_schema::attr::MODE);
    let neighbors: i64 = match mode.known().ok_or(Why::Attribute("mode"))? {
        b"nearest" => return Ok(Work::NONE),
        b"linear" | b"bilinear" => 2,
        b"cubic" => 4,
        _ => return Err(Why::Attribute("mode")),
    };
    let (from, to) = (cx.input(0)?, cx.output(0)?);
    let axes = from.iter().zip(to).filter(|(from, to)| from != to).count();
    let power = u32::try_from(axes).ok().and_then(|axes| neighbors.checked_pow(axes)).ok_or(Why::TooLarge)?;
    if axes == 0 {
        return Ok(Work::NONE);
    }
    let elements = cx.product(to);
    let macs = cx.scaled(elements, power);
    Ok(cx.macs(macs, Dim::Known(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_name_operators() {
        for list in [MOVEMENT, ELEMENTWISE] {
            assert!(list.is_sorted_by(|a, b| a < b));
            for op in list {
                let is_operator =
                    (1..=30).any(|version| onnx_schema::lookup_by_name("", op, version).is_some());
                assert!(is_operator, "{op}");
            }
        }
    }
}
