//! Nodes whose numbers leave the range of a format in a run.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::measure::reason;
use foldhash::fast::RandomState;
use onnx_eval::{EvalOptions, Evaluator, NodeRun, Observer, Value};
use onnx_ir::{Model, NodeId};
use onnx_schema::op;
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

/// Collects the nodes with results beyond a limit.
struct Watch {
    max: f64,
    /// What is below this number came from a mask.
    mask: f64,
    found: Mutex<HashMap<NodeId, f64, RandomState>>,
}

impl Watch {
    /// The element of the greatest magnitude that is out of range.
    fn worst(&self, value: &Value) -> Option<f64> {
        let tensor = value.tensor().filter(|tensor| tensor.elem() == ElemType::Float)?;
        let view = tensor.view::<f32>(&NoData).ok()?;
        let mut worst: Option<f64> = None;
        for number in view.iter() {
            let number = f64::from(number);
            let is_out = number.is_finite() && number.abs() > self.max && number > self.mask;
            if is_out && worst.is_none_or(|worst| number.abs() > worst.abs()) {
                worst = Some(number);
            }
        }
        worst
    }
}

impl Observer for Watch {
    fn end(&self, run: &NodeRun<'_>) {
        for value in run.outputs.iter().flatten() {
            if let (Some(worst), Ok(mut found)) = (self.worst(value), self.found.lock()) {
                let entry = found.entry(run.node).or_insert(worst);
                if worst.abs() > entry.abs() {
                    *entry = worst;
                }
            }
        }
    }
}

/// The nodes with results beyond `max` in a run, in the order of the model, each with the worst number. Numbers below `mask` do not
/// count: they say "minus infinity".
///
/// # Errors
///
/// Returns the reason if the model does not run.
pub(crate) fn out_of_range(
    model: &Model,
    inputs: &[(&str, Value)],
    options: &EvalOptions<'_>,
    (max, mask): (f64, f64),
) -> Result<Vec<(NodeId, f64)>, String> {
    let watch = Watch { max, mask, found: Mutex::default() };
    let evaluator =
        Evaluator::new(model, &options.clone().with_observer(&watch)).map_err(|failure| reason(&failure))?;
    evaluator.run(inputs).map_err(|failure| reason(&failure))?;
    drop(evaluator);
    let found = watch.found.into_inner().unwrap_or_default();
    let mut nodes: Vec<(NodeId, f64)> = Vec::new();
    let graphs = model.all_graphs().flat_map(|graph| model.nodes(graph));
    for node in graphs {
        if !model.node(node).is(op::CONSTANT) {
            nodes.extend(found.get(&node).map(|&worst| (node, worst)));
        }
    }
    Ok(nodes)
}
