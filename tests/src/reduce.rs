//! Reduction of models while a predicate holds, also to models that are not valid.

use std::convert::Infallible;

use onnx_compose::ReduceOptions;
use onnx_ir::Model;
use onnx_pass::Trial;
use onnx_types::{Execution, Limits};

/// The smallest model that was found for which `fails` holds, which is called for at most this many models; the model itself
/// if it does not hold there.
pub(crate) fn reduce(model: &Model, most: u64, mut fails: impl FnMut(&Model) -> bool) -> Model {
    let execution = Execution::default().with_limits(Limits::default().with_reduce_attempts(most));
    let options = ReduceOptions::default().with_only_valid(false).with_execution(execution);
    let trial = |model: &Model| Ok::<_, Infallible>(if fails(model) { Trial::Bad } else { Trial::Good });
    onnx_compose::reduce(model, &options, trial).map_or_else(|_| model.clone(), |reduced| reduced.model)
}
