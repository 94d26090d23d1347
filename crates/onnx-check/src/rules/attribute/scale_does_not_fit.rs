//! The rule `scale-does-not-fit`: the scale of a quantization has another shape than its axis and blocks ask for.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::{AttrValue, Node};
use onnx_schema::{attr, op};
use onnx_types::Symbol;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2420,
    "scale-does-not-fit",
    Severity::Error,
    "The scale of a quantization has another shape than the axis and the blocks ask for.",
)
.with_spec("Operators")
.with_explain(include_str!("scale_does_not_fit.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    if !matches!(schema.op(), op::QUANTIZE_LINEAR | op::DEQUANTIZE_LINEAR) || schema.since_version() < 13 {
        return;
    }
    let (id, node) = (cx.id, cx.node);
    let (Some(input), Some(scale)) = (cx.input_sizes(0), cx.input_sizes(1)) else { return };
    let number = |name, default| number(node, name, default);
    let (Some(axis), Some(block)) = (number(attr::AXIS, 1), number(attr::BLOCK_SIZE, 0)) else { return };
    let Some(problem) = problem(&input, &scale, axis, block) else { return };
    cx.report(&RULE, |places| {
        Diagnostic::new(&RULE, places.input(id, 1), problem)
            .label(places.input(id, 0), "this is what is scaled")
            .help("give one number for all, one for each index of the axis, or with `block_size` one for each block")
    });
}

/// What is wrong, if anything is.
fn problem(input: &[Option<i64>], scale: &[Option<i64>], axis: i64, block: i64) -> Option<String> {
    let is_one_for_all = scale.iter().all(|&size| size.is_none_or(|size| size == 1));
    // Of vectors and of what is not positive, readers think differently, or other rules speak.
    if block < 0 || block == 0 && (is_one_for_all || input.len() < 2) {
        return None;
    }
    let (rank, scales) = (input.len(), scale.len());
    if block == 0 && scales > 1 {
        return Some(format!("the scale has {scales} axes, which it may have with `block_size` only"));
    }
    if block > 0 && scales != rank {
        return Some(format!(
            "with `block_size` the scale has as many axes as the input, {rank}, and not {scales}"
        ));
    }
    let signed = i64::try_from(rank).ok()?;
    let from_front = if axis < 0 { axis.checked_add(signed)? } else { axis };
    let Some(at) = usize::try_from(from_front).ok().filter(|&at| at < rank) else {
        return Some(format!("axis {axis} is out of range: the input has rank {rank}"));
    };
    if block == 0 {
        let (size, found) = (*input.get(at)?, *scale.first()?);
        let (size, found) = (size?, found?);
        return (size != found).then(|| {
            format!("there are {found} scales for axis {axis} of the input, which has size {size}")
        });
    }
    let pairs = input.iter().zip(scale).enumerate();
    let mut known = pairs.filter_map(|(index, (&size, &found))| Some((index, size?, found?)));
    known.find_map(|(index, size, found)| {
        let expected = if index == at { blocks(size, block)? } else { size };
        (expected != found)
            .then(|| format!("the scale has size {found} at axis {index} instead of {expected}"))
    })
}

/// The number of blocks that hold `size` elements; the last one may be smaller.
fn blocks(size: i64, block: i64) -> Option<i64> {
    let whole = size.checked_div(block)?;
    if size.checked_rem(block)? == 0 { Some(whole) } else { whole.checked_add(1) }
}

/// An integer attribute; `None` if its value is not known here.
fn number(node: &Node, name: Symbol, default: i64) -> Option<i64> {
    match node.attributes().iter().find(|given| given.name() == name).map(onnx_ir::Attribute::value) {
        None => Some(default),
        Some(&AttrValue::Int(number)) => Some(number),
        Some(_) => None,
    }
}
