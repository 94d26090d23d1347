//! Runs of which the standard leaves a result open: they are not evidence that an edit is exact.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use onnx_eval::{NodeRun, Observer, Value};
use onnx_ir::{GraphId, Model, ValueId};
use onnx_types::tensor::Tensor;

use crate::fixed_results::{are_undefined, may_be_undefined};

/// Observes the runs of one function, and notes whether a result of a node is not defined for its operands.
pub(crate) struct Undefined<'m> {
    model: &'m Model,
    values: Mutex<HashMap<ValueId, Value, RandomState>>,
    is_found: AtomicBool,
}

impl<'m> Undefined<'m> {
    /// `None` if no node of the body has results that can be undefined.
    pub(crate) fn of(model: &'m Model, body: GraphId) -> Option<Self> {
        let may_be = |node: onnx_ir::NodeId| may_be_undefined(model.node(node).op());
        let any = model.nodes_in(body).any(may_be);
        any.then(|| Self { model, values: Mutex::default(), is_found: AtomicBool::new(false) })
    }

    /// Begins a run of the body with these inputs.
    pub(crate) fn begin(&self, body: GraphId, inputs: &[Value]) {
        self.is_found.store(false, Ordering::Relaxed);
        let Ok(mut values) = self.values.lock() else { return };
        values.clear();
        values.extend(self.model.graph(body).inputs().iter().copied().zip(inputs.iter().cloned()));
    }

    /// Whether the run had such a result.
    pub(crate) fn is_found(&self) -> bool {
        self.is_found.load(Ordering::Relaxed)
    }
}

impl Observer for Undefined<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        let Ok(mut values) = self.values.lock() else { return };
        let record = self.model.node(run.node);
        if may_be_undefined(record.op()) {
            let operand = |value: ValueId| -> Option<Tensor> {
                let constant = || self.model.constant_tensor(value).cloned();
                let computed = values.get(&value).and_then(Value::tensor).map(|tensor| Tensor::clone(tensor));
                computed.or_else(constant)
            };
            // Inputs of the graph of a loop are not known here.
            let operands: Option<Vec<Tensor>> = record.inputs().flatten().map(operand).collect();
            let results = run.outputs.iter().flatten().filter_map(Value::tensor);
            let results: Vec<Tensor> = results.map(|tensor| Tensor::clone(tensor)).collect();
            if operands.is_some_and(|operands| are_undefined(self.model, run.node, &operands, &results)) {
                self.is_found.store(true, Ordering::Relaxed);
            }
        }
        let made = record.outputs().iter().zip(run.outputs);
        values.extend(made.filter_map(|(value, made)| Some(((*value)?, made.clone()?))));
    }
}
