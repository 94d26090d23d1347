//! `Scan` of version 8: the first axis of all values is a batch, the second one of a scanned tensor the sequence. The graph
//! runs for each element of the batch and each slice.
//!
//! With `sequence_lens`, a sequence ends early; the rest of its outputs, which the text leaves undefined, is 0. A sequence that
//! is scanned in reverse begins at its own last slice.

use onnx_ir::GraphId;
use onnx_schema::attr;

use super::collected::Collected;
use super::loops::{hand_on, nothing, stacked};
use super::scan::reversed;
use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::engine::control::{Control, Next};
use crate::number::{Unit, by_unit};
use crate::ops::tensor::split::piece;
use crate::value::Value;

struct Batches {
    body: GraphId,
    /// States of all batches, given and computed.
    given: Vec<Operand>,
    states: Vec<Collected>,
    inputs: Vec<(Operand, bool)>,
    /// Finished sequences of each output.
    outputs: Vec<Collected>,
    lengths: Vec<usize>,
    /// Size of the sequence axis.
    length: usize,
    batch: usize,
    iteration: usize,
    /// States and slices of the sequence that runs.
    current: Vec<Value>,
    slices: Vec<Collected>,
}

pub(super) fn start(cx: &mut Cx<'_, '_>) -> Outcome<Box<dyn Control>> {
    let body = cx.attribute(attr::BODY).and_then(onnx_ir::Attribute::as_graph);
    let body = body.ok_or_else(|| Stop::failed("attribute `body` is missing"))?;
    let count = axes::size(cx.int_or(attr::NUM_SCAN_INPUTS, 0)?)?;
    let states = cx.input_count().saturating_sub(1).checked_sub(count).filter(|_| count > 0);
    let states = states.ok_or_else(|| Stop::failed("`num_scan_inputs` does not fit the number of inputs"))?;
    let outputs = cx.model.graph(body).outputs().len().checked_sub(states);
    let outputs = outputs.ok_or_else(|| Stop::failed("the body has fewer outputs than there are states"))?;
    let directions = cx.ints(attr::DIRECTIONS)?.unwrap_or_else(|| vec![0; count]);
    if directions.len() != count {
        return Err(Stop::failed("there is not one direction for each scanned tensor"));
    }
    let given = (1..=states).map(|index| cx.tensor(index)).collect::<Outcome<Vec<_>>>()?;
    let mut inputs = Vec::with_capacity(count);
    for (at, is_reverse) in reversed(&directions)?.into_iter().enumerate() {
        inputs.push((cx.tensor(1 + states + at)?, is_reverse));
    }
    let (batches, length) = match inputs.first().map(|(first, _)| &first.dims[..]) {
        Some(&[batches, length, ..]) => (batches, length),
        _ => return Err(Stop::failed("a scanned tensor has not two axes")),
    };
    let are_equal = inputs.iter().all(|(input, _)| input.dims.starts_with(&[batches, length]));
    if !are_equal || given.iter().any(|state| state.dims.first() != Some(&batches)) {
        return Err(Stop::failed("the batches or the sequences have different sizes"));
    }
    let lengths = match cx.optional_list(0)? {
        Some(lengths) => axes::sizes(&lengths)?.into_vec(),
        None => vec![length; batches],
    };
    if lengths.len() != batches || lengths.iter().any(|&own| own > length) {
        return Err(Stop::failed("`sequence_lens` does not fit the batch or the sequence"));
    }
    Ok(Box::new(Batches {
        body,
        states: vec![Collected::default(); given.len()],
        given,
        inputs,
        outputs: vec![Collected::default(); outputs],
        lengths,
        length,
        batch: 0,
        iteration: 0,
        current: Vec::new(),
        slices: vec![Collected::default(); outputs],
    }))
}

impl Control for Batches {
    fn step(&mut self, cx: &mut Cx<'_, '_>, results: Option<Vec<Value>>) -> Outcome<Next> {
        if let Some(results) = results {
            self.iteration += 1;
            let mut results = results.into_iter();
            hand_on(&mut self.current, &mut results)?;
            for (slices, value) in self.slices.iter_mut().zip(results) {
                slices.push(cx, value)?;
            }
        }
        while let Some(&length) = self.lengths.get(self.batch) {
            if self.iteration == 0 {
                self.current =
                    self.given.iter().map(|state| part(cx, state, self.batch)).collect::<Outcome<_>>()?;
            }
            if self.iteration < length {
                let mut inputs = self.current.clone();
                for (input, is_reverse) in &self.inputs {
                    let at = if *is_reverse { length - 1 - self.iteration } else { self.iteration };
                    let Value::Tensor(sequence) = part(cx, input, self.batch)? else { continue };
                    inputs.push(part(cx, &Operand::new(sequence)?, at)?);
                }
                return Ok(Next::Enter { graph: attr::BODY, inputs });
            }
            for (states, state) in self.states.iter_mut().zip(std::mem::take(&mut self.current)) {
                states.push(cx, state)?;
            }
            for index in 0..self.slices.len() {
                let slices = std::mem::take(&mut self.slices[index]);
                let sequence = self.padded(cx, index, slices.values())?;
                slices.release(cx);
                self.outputs[index].push(cx, sequence)?;
            }
            self.batch += 1;
            self.iteration = 0;
        }
        self.finish(cx)?;
        Ok(Next::Done)
    }
}

impl Batches {
    /// The slices as one tensor, with zeros up to the size of the sequence axis.
    fn padded(&self, cx: &mut Cx<'_, '_>, output: usize, slices: &[Value]) -> Outcome<Value> {
        if slices.is_empty() {
            return nothing(cx, self.body, self.given.len() + output, &[self.length], None);
        }
        let Value::Tensor(tensor) = stacked(cx, slices)? else {
            return Err(Stop::failed("a scan output is not a tensor"));
        };
        if slices.len() == self.length {
            return Ok(tensor.into());
        }
        let x = Operand::new(tensor)?;
        let mut dims = x.dims.clone();
        dims[0] = self.length;
        let payload = by_unit!(x.elem, U => {
            let mut elements = cx.units::<U>(&x)?.into_vec();
            let count = cx.count(&dims)?;
            cx.budget.allocate(count, size_of::<U>())?;
            elements.resize(count, U::zero());
            U::store(x.elem, elements)
        });
        Ok(cx.tensor_of(x.elem, &dims, payload)?.into())
    }

    fn finish(&mut self, cx: &mut Cx<'_, '_>) -> Outcome {
        let count = self.given.len();
        for (index, states) in std::mem::take(&mut self.states).into_iter().enumerate() {
            let state = match states.values() {
                [] => Value::Tensor(self.given[index].tensor.clone()),
                values => stacked(cx, values)?,
            };
            states.release(cx);
            cx.put_value(index, state)?;
        }
        for (index, sequences) in std::mem::take(&mut self.outputs).into_iter().enumerate() {
            let output = match sequences.values() {
                [] => nothing(cx, self.body, count + index, &[0, self.length], None)?,
                values => stacked(cx, values)?,
            };
            sequences.release(cx);
            cx.put_value(count + index, output)?;
        }
        Ok(())
    }
}

/// An element along the first axis.
fn part(cx: &mut Cx<'_, '_>, of: &Operand, at: usize) -> Outcome<Value> {
    let Value::Tensor(slice) = piece(cx, of, 0, at, 1)? else {
        return Err(Stop::failed("a scanned value is not a tensor"));
    };
    let dims = of.dims.get(1..).unwrap_or_default();
    Ok(cx.tensor_of(slice.elem(), dims, slice.payload().clone())?.into())
}
