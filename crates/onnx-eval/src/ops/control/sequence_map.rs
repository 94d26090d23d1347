//! `SequenceMap`: a graph that runs for each element of a sequence; further inputs are sequences of the same length, or tensors
//! that each run gets. Each output is the sequence of the results.

use std::sync::Arc;

use onnx_schema::{attr, op};

use super::collected::Collected;
use crate::cx::{Cx, Outcome, Stop};
use crate::engine::control::{Control, Next};
use crate::registry::{OpKernels, eval, since_control};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::SEQUENCE_MAP, &[since_control(17, start)]);

struct Map {
    length: usize,
    iteration: usize,
    results: Vec<Collected>,
}

fn start(cx: &mut Cx<'_, '_>) -> Outcome<Box<dyn Control>> {
    let length = cx.value(0)?.sequence().map(<[Value]>::len);
    let length = length.ok_or_else(|| Stop::failed("the first input is not a sequence"))?;
    for index in 1..cx.input_count() {
        if cx.value(index)?.sequence().is_some_and(|items| items.len() != length) {
            return Err(Stop::failed("the sequences have different lengths"));
        }
    }
    let results = vec![Collected::default(); cx.output_count()];
    Ok(Box::new(Map { length, iteration: 0, results }))
}

impl Control for Map {
    fn step(&mut self, cx: &mut Cx<'_, '_>, results: Option<Vec<Value>>) -> Outcome<Next> {
        if let Some(results) = results {
            self.iteration += 1;
            for (collected, value) in self.results.iter_mut().zip(results) {
                // Sequences of sequences would nest as deep as a loop repeats this node.
                if value.tensor().is_none() {
                    return Err(Stop::failed("a result of the body is not a tensor"));
                }
                collected.push(cx, value)?;
            }
        }
        if self.iteration < self.length {
            let mut inputs = Vec::with_capacity(cx.input_count());
            for index in 0..cx.input_count() {
                let value = cx.value(index)?;
                inputs.push(
                    value.sequence().and_then(|items| items.get(self.iteration)).unwrap_or(value).clone(),
                );
            }
            return Ok(Next::Enter { graph: attr::BODY, inputs });
        }
        for (index, collected) in std::mem::take(&mut self.results).into_iter().enumerate() {
            let list = collected.release(cx);
            cx.put_value(index, Value::Sequence(Arc::new(list)))?;
        }
        Ok(Next::Done)
    }
}
