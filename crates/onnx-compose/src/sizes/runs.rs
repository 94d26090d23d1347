//! Nodes that run for the old size only, although nothing that inference concludes says so: each is run at other sizes.

use onnx_eval::{EvalOptions, FailureKind, Value, run_node};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::traits::Operations;
use onnx_schema::{Schema, op};
use onnx_shape_infer::{Elem, Inference};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemClass, ElemType, Limits, Symbol};

use super::EditOptions;
use super::constants::Constants;
use crate::reduce::zeros;

/// The size of other variables.
const OTHER: i64 = 2;

/// Maximum number of elements of the operands of one run, and of its steps.
const MAX_ELEMENTS: u64 = 1 << 22;

/// A restriction of the freed size that runs of a node show.
pub(super) enum Restriction {
    /// It runs for the old size only.
    Fixed(String),
    /// It does not run for the size 1.
    NotForOne(String),
}

/// Whether inference states the conditions on sizes: those of broadcasting, of products and of convolutions, which take long.
fn are_conditions_inferred(schema: &Schema) -> bool {
    let operations = schema.traits().operations();
    schema.traits().is_elementwise()
        || matches!(operations, Operations::MatrixProduct | Operations::Convolution { .. })
        || [op::GEMM, op::CONV_TRANSPOSE].contains(&schema.op())
}

/// Why a node runs for the old size only, or not for the size 1, if this is so.
///
/// It is run on zeros, and on the elements that are known. Only a node with an operand that has the freed size, and another one that
/// has the old size as a number or known elements, can require it.
pub(super) fn restriction_by_runs(
    model: &Model,
    after: &Inference,
    constants: &Constants<'_>,
    node: NodeId,
    options: &EditOptions<'_>,
) -> Option<Restriction> {
    let record = model.node(node);
    let standard = model.callee(node, options.registry).standard();
    let is_conditioned = standard.is_some_and(are_conditions_inferred);
    if standard.is_none()
        || record.nested_graphs().next().is_some()
        || is_conditioned
        || !model.is_deterministic(node, options.registry)
    {
        return None;
    }
    let operands = || record.inputs().flatten();
    let has_freed = |value: ValueId| {
        let mut dims = after.shape(value).into_iter().flatten();
        dims.any(|&dim| after.exprs().symbols(dim).contains(&constants.variable))
    };
    let is_fixed = |value: ValueId| {
        let mut dims = after.shape(value).into_iter().flatten();
        !has_freed(value)
            && (model.constant_tensor(value).is_some() || dims.any(|&dim| dim == Dim::Known(constants.old)))
    };
    if !operands().any(has_freed) || !operands().any(is_fixed) {
        return None;
    }
    let at = Sized { model, after, variable: constants.variable, options };
    let old = constants.old;
    at.run(node, old)?.ok()?;
    let sizes = [old.saturating_add(1), old.saturating_mul(2).saturating_add(3)];
    let mut failures = sizes.iter().map(|&size| at.run(node, size));
    // Every other size fails.
    if let (Some(Some(Err(first))), Some(Some(Err(_)))) = (failures.next(), failures.next()) {
        return Some(Restriction::Fixed(format!("runs for the old size only: {first}")));
    }
    let of_one = if old > 1 { at.run(node, 1)?.err()? } else { return None };
    Some(Restriction::NotForOne(of_one))
}

/// A model whose freed variable has a size.
struct Sized<'a> {
    model: &'a Model,
    after: &'a Inference,
    variable: Symbol,
    options: &'a EditOptions<'a>,
}

impl Sized<'_> {
    /// Runs a node; the message if the operator is not defined for its operands. `None` if that is not known.
    fn run(&self, node: NodeId, size: i64) -> Option<Result<(), String>> {
        let mut count = 0_u64;
        let mut inputs = Vec::new();
        for operand in self.model.node(node).inputs() {
            let value = match operand {
                None => None,
                Some(value) => {
                    let tensor = self.operand(value, size)?;
                    count = count.saturating_add(tensor.element_count()?);
                    Some(Value::from(tensor))
                }
            };
            if count > MAX_ELEMENTS {
                return None;
            }
            inputs.push(value);
        }
        let limits = Limits { run_steps: MAX_ELEMENTS, ..self.options.execution.limits };
        let options = EvalOptions::default()
            .with_registry(self.options.registry)
            .with_execution(self.options.execution.clone().with_limits(limits));
        match run_node(self.model, node, &inputs, &options) {
            Ok(_) => Some(Ok(())),
            Err(failure) if failure.kind() == FailureKind::Operator => {
                Some(Err(failure.diagnostic().message.clone()))
            }
            Err(_) => None,
        }
    }

    /// An operand: a constant, known elements, or zeros.
    fn operand(&self, value: ValueId, size: i64) -> Option<Tensor> {
        if let Some(tensor) = self.model.constant_tensor(value) {
            return (!tensor.is_external()).then(|| tensor.clone());
        }
        let of = |symbol: Symbol| Some(if symbol == self.variable { size } else { OTHER });
        let number = |dim: Dim| self.after.exprs().eval(dim, &of);
        let dims: Option<Vec<i64>> = self.after.shape(value)?.iter().map(|&dim| number(dim)).collect();
        let (dims, elem) = (dims?, self.after.elem(value)?);
        let known = self.after.content(value).and_then(|content| {
            let numbers: Option<Vec<i64>> = content.iter().map(|&elem| number(Elem::dim(elem))).collect();
            numbers.filter(|_| elem.class() == ElemClass::Int)
        });
        match (known, elem) {
            (Some(numbers), ElemType::Int64) => Tensor::from_slice(dims, &numbers).ok(),
            (None, _) => zeros(elem, &dims),
            (Some(_), _) => None,
        }
    }
}
