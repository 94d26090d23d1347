//! A product of two matrices and the bias behind it as one operator.
//!
//! Runtimes compute `Gemm` with quantized matrices and a bias of `int32`. Of a `MatMul` with an `Add` of floats behind it, onnxruntime
//! makes a `Gemm` with a bias of `float`, for which it has no quantized kernel: it multiplies floats, several times slower.

use std::borrow::Cow;

use onnx_compose::{BiasFormat, Scales};
use onnx_ir::{Callee, Model, NodeId, ValueId};
use onnx_schema::op;
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::{ElemType, Symbol};

use super::StaticOptions;
use crate::edits::nodes_outside_functions;
use crate::weights::{QuantizeError, dense_constant};

/// A product, the sum behind it, and the bias that this adds.
struct Pair {
    product: NodeId,
    sum: NodeId,
    bias: ValueId,
}

/// The model with a `Gemm` in the place of each pair that may become one. Nodes and values keep their identities: the sum becomes the
/// `Gemm`.
///
/// # Errors
///
/// Returns an error if the model cannot be edited.
pub(super) fn join_biases<'m>(
    model: &'m Model,
    options: &StaticOptions<'_>,
) -> Result<Cow<'m, Model>, QuantizeError> {
    let is_own = |name| options.table.operator(name).is_some_and(|row| row.scales == Scales::Own);
    let has_kernel = options.table.bias == BiasFormat::Int32 && !options.quantized_results;
    if !has_kernel || !["MatMul", "Add", "Gemm"].into_iter().all(is_own) {
        return Ok(Cow::Borrowed(model));
    }
    let mut joined = Cow::Borrowed(model);
    for Pair { product, sum, bias } in pairs(model, options) {
        let record = model.node(product);
        let operands = [record.input(0), record.input(1), Some(bias)];
        let result = joined.to_mut();
        result.set_op(sum, Symbol::EMPTY, op::GEMM, Symbol::EMPTY);
        for (index, operand) in operands.into_iter().enumerate() {
            result.set_input(sum, index, operand);
        }
        result.erase_node(product)?;
    }
    Ok(joined)
}

/// The pairs of a model.
fn pairs(model: &Model, options: &StaticOptions<'_>) -> Vec<Pair> {
    let nodes = nodes_outside_functions(model);
    let found: Vec<Pair> = nodes.into_iter().filter_map(|node| pair(model, node, options)).collect();
    if found.is_empty() {
        return found;
    }
    let known = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let inference = infer(model, &known);
    let is_matrix = |pair: &Pair| {
        let ty = model.node(pair.product).input(0).map(|operand| inference.ty(operand));
        ty.is_some_and(|ty| ty.elem() == Some(ElemType::Float) && ty.dims().map(<[_]>::len) == Some(2))
    };
    found.into_iter().filter(is_matrix).collect()
}

/// The pair of a product, whatever the rank of its operand is.
fn pair(model: &Model, node: NodeId, options: &StaticOptions<'_>) -> Option<Pair> {
    let is_standard = |node: NodeId| {
        model.node(node).domain().is_empty()
            && matches!(model.callee(node, options.registry), Callee::Standard(_))
            && !options.except.contains(&node)
    };
    let record = model.node(node);
    if !record.is(op::MAT_MUL) || !is_standard(node) || dense_constant(model, record.input(0)?).is_some() {
        return None;
    }
    let weight = dense_constant(model, record.input(1)?).filter(|weight| weight.rank() == 2)?;
    let (sum, index) = model.sole_consumer(record.output(0)?)?;
    let other = model.node(sum);
    if !other.is(op::ADD) || !is_standard(sum) || other.graph() != record.graph() {
        return None;
    }
    let bias = other.input(1_usize.checked_sub(index)?)?;
    let is_bias = dense_constant(model, bias)?.dims() == weight.dims().get(1..)?;
    is_bias.then_some(Pair { product: node, sum, bias })
}
