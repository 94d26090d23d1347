//! `Loop`: a graph that runs until a count is reached or a condition is false.
//!
//! Count and condition may both be absent. A count of 0 or less gives the initial values, and scan outputs without elements.
//! Scan outputs are stacked along a new first axis; the values of an iteration must have equal sizes.
//!
//! The type and the sizes of a scan output of no iteration are not defined by values. They are declared ones: those of the
//! graph's output, else those of the `Loop`'s output; an axis whose size is not declared has size 0. Without a declared type, the
//! run fails.

use onnx_ir::{GraphId, GraphOutput, ValueId};
use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType, Shape, TensorType};

use super::collected::Collected;
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::engine::control::{Control, Next};
use crate::number::{Number, Unit, by_unit};
use crate::registry::{OpKernels, Takes, eval, since_control};
use crate::value::Value;

pub(super) const KERNELS: OpKernels =
    eval(op::LOOP, &[since_control(1, start)]).takes(&[(0, Takes::Within(0.0, 4.0))]);

struct Loop {
    body: GraphId,
    limit: Option<i64>,
    /// Number of iterations that have run.
    iteration: i64,
    is_wanted: bool,
    states: Vec<Value>,
    /// The values of each scan output, one of each iteration.
    scans: Vec<Collected>,
}

fn start(cx: &mut Cx<'_, '_>) -> Outcome<Box<dyn Control>> {
    let body = cx.attribute(attr::BODY).and_then(onnx_ir::Attribute::as_graph);
    let body = body.ok_or_else(|| Stop::failed("attribute `body` is missing"))?;
    let limit = if cx.has_input(0) { Some(cx.scalar_int(0)?) } else { None };
    let condition = cx.optional(1)?;
    let is_wanted = match condition {
        Some(condition) => truth(cx, &condition)?,
        None => true,
    };
    let states = (2..cx.input_count()).map(|index| cx.value(index).cloned()).collect::<Outcome<Vec<_>>>()?;
    let outputs = cx.model.graph(body).outputs().len();
    let scans = outputs.checked_sub(1 + states.len());
    let scans = scans.ok_or_else(|| Stop::failed("the body has fewer outputs than the loop has states"))?;
    let scans = vec![Collected::default(); scans];
    Ok(Box::new(Loop { body, limit, iteration: 0, is_wanted, states, scans }))
}

/// The truth value of a tensor of one element.
fn truth(cx: &mut Cx<'_, '_>, operand: &Operand) -> Outcome<bool> {
    match *cx.units::<u8>(operand)? {
        [value] if operand.elem == ElemType::Bool => Ok(value != 0),
        _ => Err(Stop::failed("the condition must be one truth value")),
    }
}

/// Replaces states by the first results of a run of the body. The element type of a tensor stays.
pub(super) fn hand_on(states: &mut [Value], results: &mut impl Iterator<Item = Value>) -> Outcome {
    for (index, (state, value)) in states.iter_mut().zip(results).enumerate() {
        if let (Value::Tensor(before), Value::Tensor(after)) = (&*state, &value)
            && before.elem() != after.elem()
        {
            let (before, after) = (before.elem().name(), after.elem().name());
            return Err(Stop::failed(format_args!(
                "state {index} is a tensor of {before}, and the body gives one of {after}"
            )));
        }
        *state = value;
    }
    Ok(())
}

impl Control for Loop {
    fn step(&mut self, cx: &mut Cx<'_, '_>, results: Option<Vec<Value>>) -> Outcome<Next> {
        if let Some(results) = results {
            self.iteration = self.iteration.saturating_add(1);
            let mut results = results.into_iter();
            let condition = match results.next() {
                Some(Value::Tensor(tensor)) => Operand::new(tensor)?,
                _ => return Err(Stop::failed("the body computes no condition")),
            };
            self.is_wanted = truth(cx, &condition)?;
            hand_on(&mut self.states, &mut results)?;
            for (scan, value) in self.scans.iter_mut().zip(results) {
                scan.push(cx, value)?;
            }
        }
        if self.is_wanted && self.limit.is_none_or(|limit| self.iteration < limit) {
            // The body of version 1 has the same inputs.
            let iteration =
                cx.tensor_of(ElemType::Int64, &[], i64::encode(ElemType::Int64, vec![self.iteration]))?;
            let condition = cx.tensor_of(ElemType::Bool, &[], u8::store(ElemType::Bool, vec![1]))?;
            let mut inputs = vec![iteration.into(), condition.into()];
            inputs.extend(self.states.iter().cloned());
            return Ok(Next::Enter { graph: attr::BODY, inputs });
        }
        let states = std::mem::take(&mut self.states);
        let count = states.len();
        for (index, value) in states.into_iter().enumerate() {
            cx.put_value(index, value)?;
        }
        for (index, scan) in std::mem::take(&mut self.scans).into_iter().enumerate() {
            let stacked = match scan.values() {
                [] => no_iteration(cx, self.body, 1 + count + index, count + index)?,
                values => stacked(cx, values)?,
            };
            scan.release(cx);
            cx.put_value(count + index, stacked)?;
        }
        Ok(Next::Done)
    }
}

/// A scan output of no iteration, by the type of an output of the body or of the node.
fn no_iteration(cx: &mut Cx<'_, '_>, body: GraphId, inner: usize, output: usize) -> Outcome<Value> {
    if declared(cx, cx.model.graph(body).outputs().get(inner).map(GraphOutput::value)).is_some() {
        return nothing(cx, body, inner, &[0], Some(0));
    }
    let ty = declared(cx, cx.node.output(output)).ok_or_else(undeclared)?;
    // The first axis is that of the iterations.
    let dims = ty.shape.as_ref().map(|shape| shape.dims().get(1..).unwrap_or_default());
    zeros(cx, ty.elem, dims, &[0], Some(0))
}

fn undeclared() -> Stop {
    Stop::unsupported("a scan output of no iteration whose type is not declared")
}

/// The tensor type that a value is declared with.
fn declared<'m>(cx: &Cx<'_, 'm>, value: Option<ValueId>) -> Option<&'m TensorType> {
    let ty = cx.model.ty(value?)?.tensor_type()?;
    (ty.elem != ElemType::Undefined).then_some(ty)
}

/// A scan output of no iteration: zeros of the sizes in front and those that the body declares. A size that is not declared is
/// `unknown`, or fails.
pub(super) fn nothing(
    cx: &mut Cx<'_, '_>,
    body: GraphId,
    output: usize,
    front: &[usize],
    unknown: Option<usize>,
) -> Outcome<Value> {
    let output = cx.model.graph(body).outputs().get(output).map(GraphOutput::value);
    let ty = declared(cx, output).ok_or_else(undeclared)?;
    zeros(cx, ty.elem, ty.shape.as_ref().map(Shape::dims), front, unknown)
}

/// Zeros of the sizes in front and the declared ones.
fn zeros(
    cx: &mut Cx<'_, '_>,
    elem: ElemType,
    declared: Option<&[Dim]>,
    front: &[usize],
    unknown: Option<usize>,
) -> Outcome<Value> {
    let mut dims: Dims = front.into();
    match declared {
        Some(declared) => {
            for dim in declared {
                let size = dim.known().and_then(|size| usize::try_from(size).ok()).or(unknown);
                dims.push(size.ok_or_else(undeclared)?);
            }
        }
        None if unknown.is_none() => return Err(undeclared()),
        None => {}
    }
    let payload = by_unit!(elem, U => U::store(elem, cx.filled(cx.count(&dims)?, U::zero())?));
    Ok(cx.tensor_of(elem, &dims, payload)?.into())
}

/// Tensors of equal sizes along a new first axis.
pub(super) fn stacked(cx: &mut Cx<'_, '_>, values: &[Value]) -> Outcome<Value> {
    let mut operands = cx.buffer(values.len())?;
    for value in values {
        match value {
            Value::Tensor(tensor) => operands.push(Operand::new(tensor.clone())?),
            _ => return Err(Stop::failed("a scan output is not a tensor")),
        }
    }
    let Some(first) = operands.first() else { return Err(Stop::failed("there is nothing to stack")) };
    let mut dims: Dims = [operands.len()].into_iter().collect();
    dims.extend_from_slice(&first.dims);
    let payload = by_unit!(first.elem, U => {
        let mut out: Vec<U> = cx.buffer(cx.count(&dims)?)?;
        for operand in &operands {
            if operand.dims != first.dims || operand.elem != first.elem {
                return Err(Stop::failed("the values of a scan output have different types or sizes"));
            }
            out.extend_from_slice(&cx.units::<U>(operand)?);
        }
        U::store(first.elem, out)
    });
    Ok(cx.tensor_of(first.elem, &dims, payload)?.into())
}
