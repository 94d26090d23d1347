//! `Scan`: a graph that runs for each slice of tensors, with states that are passed on.
//!
//! From version 9 on, each input and output has an axis and a direction; `scan_batches.rs` has version 8. Slices of an output
//! must have equal sizes. An output of no slices has the type and the sizes
//! that the body declares for a slice, and is unsupported if it does not declare them.

use onnx_ir::GraphId;
use onnx_schema::{attr, op};

use super::collected::Collected;
use super::loops::{hand_on, nothing, stacked};
use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::engine::control::{Control, Next};
use crate::family::layout::transposed;
use crate::number::{Unit, by_unit};
use crate::ops::tensor::split::piece;
use crate::registry::{OpKernels, eval, since_control};
use crate::value::Value;

pub(super) const KERNELS: OpKernels =
    eval(op::SCAN, &[since_control(8, super::scan_batches::start), since_control(9, start)]);

struct Scan {
    body: GraphId,
    states: Vec<Value>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    length: usize,
    iteration: usize,
}

/// A tensor whose slices are passed in.
struct Input {
    tensor: Operand,
    axis: usize,
    is_reverse: bool,
}

/// A tensor whose slices come out.
struct Output {
    slices: Collected,
    axis: i64,
    is_reverse: bool,
}

fn start(cx: &mut Cx<'_, '_>) -> Outcome<Box<dyn Control>> {
    let body = cx.attribute(attr::BODY).and_then(onnx_ir::Attribute::as_graph);
    let body = body.ok_or_else(|| Stop::failed("attribute `body` is missing"))?;
    let count = axes::size(cx.int_or(attr::NUM_SCAN_INPUTS, 0)?)?;
    let states = cx.input_count().checked_sub(count).filter(|_| count > 0);
    let states = states.ok_or_else(|| Stop::failed("`num_scan_inputs` does not fit the number of inputs"))?;
    let outputs = cx.model.graph(body).outputs().len().checked_sub(states);
    let outputs = outputs.ok_or_else(|| Stop::failed("the body has fewer outputs than there are states"))?;
    let list = |cx: &Cx<'_, '_>, name, count: usize| -> Outcome<Vec<i64>> {
        let given = cx.ints(name)?.unwrap_or_default();
        match given.len() {
            0 => Ok(vec![0; count]),
            length if length == count => Ok(given),
            _ => Err(Stop::failed("a list of axes or directions has the wrong length")),
        }
    };
    let input_axes = list(cx, attr::SCAN_INPUT_AXES, count)?;
    let input_directions = list(cx, attr::SCAN_INPUT_DIRECTIONS, count)?;
    let output_axes = list(cx, attr::SCAN_OUTPUT_AXES, outputs)?;
    let output_directions = list(cx, attr::SCAN_OUTPUT_DIRECTIONS, outputs)?;
    let [is_reversed, is_prepended] = [reversed(&input_directions)?, reversed(&output_directions)?];
    let mut inputs = Vec::with_capacity(count);
    for (at, (&axis, is_reverse)) in input_axes.iter().zip(is_reversed).enumerate() {
        let tensor = cx.tensor(states + at)?;
        let axis = axes::axis(axis, tensor.rank())?;
        inputs.push(Input { tensor, axis, is_reverse });
    }
    let length = inputs.first().map_or(0, |input| input.tensor.dims[input.axis]);
    if inputs.iter().any(|input| input.tensor.dims[input.axis] != length) {
        return Err(Stop::failed("the scanned axes have different sizes"));
    }
    let outputs = output_axes.iter().zip(is_prepended);
    let outputs =
        outputs.map(|(&axis, is_reverse)| Output { slices: Collected::default(), axis, is_reverse });
    let outputs = outputs.collect();
    let states = (0..states).map(|index| cx.value(index).cloned()).collect::<Outcome<Vec<_>>>()?;
    Ok(Box::new(Scan { body, states, inputs, outputs, length, iteration: 0 }))
}

/// Which directions are reversed: 1 says so, and 0 does not.
pub(super) fn reversed(directions: &[i64]) -> Outcome<Vec<bool>> {
    let is_reversed = |&direction: &i64| match direction {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Stop::failed(format_args!("a direction is {other}, and must be 0 or 1"))),
    };
    directions.iter().map(is_reversed).collect()
}

impl Control for Scan {
    fn step(&mut self, cx: &mut Cx<'_, '_>, results: Option<Vec<Value>>) -> Outcome<Next> {
        if let Some(results) = results {
            self.iteration += 1;
            let mut results = results.into_iter();
            hand_on(&mut self.states, &mut results)?;
            for (output, value) in self.outputs.iter_mut().zip(results) {
                output.slices.push(cx, value)?;
            }
        }
        if self.iteration < self.length {
            let mut inputs = std::mem::take(&mut self.states);
            self.states = inputs.clone();
            for input in &self.inputs {
                let at = if input.is_reverse { self.length - 1 - self.iteration } else { self.iteration };
                let Value::Tensor(slice) = piece(cx, &input.tensor, input.axis, at, 1)? else { continue };
                let mut dims = input.tensor.dims.clone();
                dims.remove(input.axis);
                let slice = cx.tensor_of(slice.elem(), &dims, slice.payload().clone())?;
                inputs.push(slice.into());
            }
            return Ok(Next::Enter { graph: attr::BODY, inputs });
        }
        let states = std::mem::take(&mut self.states);
        let count = states.len();
        for (index, value) in states.into_iter().enumerate() {
            cx.put_value(index, value)?;
        }
        for (index, mut output) in std::mem::take(&mut self.outputs).into_iter().enumerate() {
            if output.is_reverse {
                output.slices.reverse();
            }
            let stacked = match output.slices.values() {
                [] => nothing(cx, self.body, count + index, &[0], None)?,
                slices => stacked(cx, slices)?,
            };
            output.slices.release(cx);
            let placed = placed(cx, &stacked, output.axis)?;
            cx.put_value(count + index, placed)?;
        }
        Ok(Next::Done)
    }
}

/// The tensor with its first axis at another place.
fn placed(cx: &mut Cx<'_, '_>, value: &Value, axis: i64) -> Outcome<Value> {
    let Value::Tensor(tensor) = value else { return Err(Stop::failed("a scan output is not a tensor")) };
    let x = Operand::new(tensor.clone())?;
    let axis = axes::axis(axis, x.rank())?;
    if axis == 0 {
        return Ok(value.clone());
    }
    let mut perm: Vec<usize> = (1..x.rank()).collect();
    perm.insert(axis, 0);
    let dims: Vec<usize> = perm.iter().map(|&axis| x.dims[axis]).collect();
    let payload = by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        U::store(x.elem, transposed::<U>(cx, &elements, &x.dims, &perm)?)
    });
    Ok(cx.tensor_of(x.elem, &dims, payload)?.into())
}
