//! Sums of products: convolutions, matrix products, `Einsum`.

use onnx_ops::kind;
use onnx_schema::attr;
use onnx_types::Dim;

use super::{Cx, Why, Work};

/// Each element of the output is a sum over the weights of its channel: the channels of a group and the window.
pub(super) fn convolution(cx: &mut Cx<'_, '_>, weight: usize, bias: Option<usize>) -> Result<Work, Why> {
    let outputs = cx.output_elements(0)?;
    let window = cx.input(weight)?.get(1..).ok_or(Why::Input(weight))?;
    let window = cx.product(window);
    let macs = cx.mul(outputs, window);
    let biased = if bias.is_some_and(|bias| cx.has_input(bias)) { outputs } else { Dim::Known(0) };
    Ok(cx.macs(macs, biased))
}

/// Each element of the input is multiplied with the weights of its channel.
pub(super) fn transposed_convolution(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let inputs = cx.input_elements(0)?;
    let window = cx.input(1)?.get(1..).ok_or(Why::Input(1))?;
    let window = cx.product(window);
    let macs = cx.mul(inputs, window);
    let biased = if cx.has_input(2) { cx.output_elements(0)? } else { Dim::Known(0) };
    Ok(cx.macs(macs, biased))
}

/// Each element of the output is a sum over the last axis of the first matrix.
pub(super) fn matrix_product(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let outputs = cx.output_elements(0)?;
    let inner = cx.input(0)?.last().copied().ok_or(Why::Input(0))?;
    let macs = cx.mul(outputs, inner);
    Ok(cx.macs(macs, Dim::Known(0)))
}

/// The product of the matrices, an addition for each element if there is a third operand, and a multiplication for each factor
/// that is not 1.
pub(super) fn gemm(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let call = cx.call()?;
    let transposed = call.attr::<kind::Int>(attr::TRANS_A).or(0).ok_or(Why::Attribute("transA"))?;
    let [alpha, beta] = [attr::ALPHA, attr::BETA].map(|name| call.attr::<kind::Float>(name).or(1.0));
    let (alpha, beta) = (alpha.ok_or(Why::Attribute("alpha"))?, beta.ok_or(Why::Attribute("beta"))?);
    let &[rows, columns] = cx.input(0)? else { return Err(Why::Input(0)) };
    let inner = if transposed == 0 { columns } else { rows };
    let outputs = cx.output_elements(0)?;
    let macs = cx.mul(outputs, inner);
    let has_third = cx.has_input(2);
    let is_one = |factor: f32| factor.to_bits() == 1.0_f32.to_bits();
    let each = i64::from(has_third) + i64::from(!is_one(alpha)) + i64::from(has_third && !is_one(beta));
    let others = cx.scaled(outputs, each);
    Ok(cx.macs(macs, others))
}

/// One multiply-accumulate for each combination of the indices and each operand after the first; for one operand, an
/// addition.
pub(super) fn einsum(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let equation = cx.call()?.attr::<kind::Text>(attr::EQUATION).known().ok_or(Why::Attribute("equation"))?;
    let equation: Vec<u8> = equation.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let end = equation.windows(2).position(|pair| pair == b"->").unwrap_or(equation.len());
    let terms = equation.get(..end).unwrap_or_default().split(|&byte| byte == b',');
    // The size of each index, and of the axes that an ellipsis stands for, counted from the last one.
    let mut indices: Vec<(u8, Dim)> = Vec::new();
    let mut ellipsis: Vec<Dim> = Vec::new();
    let mut operands: i64 = 0;
    for (position, term) in terms.enumerate() {
        let dims = cx.input(position)?;
        operands = operands.saturating_add(1);
        let letters: Vec<u8> = term.iter().copied().filter(|&byte| byte != b'.').collect();
        let before = term.iter().position(|&byte| byte == b'.').unwrap_or(letters.len());
        let hidden = dims.len().checked_sub(letters.len()).ok_or(Why::Input(position))?;
        if hidden > 0 && letters.len() == term.len() {
            return Err(Why::Attribute("equation"));
        }
        let middle = before.checked_add(hidden).ok_or(Why::Input(position))?;
        let first = dims.get(..before).unwrap_or_default();
        let last = dims.get(middle..).unwrap_or_default();
        for (&letter, &dim) in letters.iter().zip(first.iter().chain(last)) {
            match indices.iter_mut().find(|(known, _)| *known == letter) {
                Some((_, known)) => *known = broadcast(*known, dim),
                None => indices.push((letter, dim)),
            }
        }
        for (axis, &dim) in dims.get(before..middle).unwrap_or_default().iter().rev().enumerate() {
            match ellipsis.get_mut(axis) {
                Some(known) => *known = broadcast(*known, dim),
                None => ellipsis.push(dim),
            }
        }
    }
    let all: Vec<Dim> = indices.iter().map(|&(_, dim)| dim).chain(ellipsis).collect();
    let combinations = cx.product(&all);
    if operands < 2 {
        return Ok(Work::operations(combinations));
    }
    let macs = cx.scaled(combinations, operands.saturating_sub(1));
    Ok(cx.macs(macs, Dim::Known(0)))
}

/// The size of an index that operands share.
fn broadcast(a: Dim, b: Dim) -> Dim {
    if a == Dim::Known(1) { b } else { a }
}
