//! Sizes with which a model runs.

use std::sync::atomic::{AtomicBool, Ordering};

use onnx_eval::{EvalOptions, Evaluator, FailureKind, NodeRun, Observer};
use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, infer};

use super::{FeedError, FeedGenerator, FeedOptions, Feeds};

/// Notes whether a node gives a tensor without elements: what follows from it is empty, or NaN.
#[derive(Default)]
struct Empty(AtomicBool);

impl Observer for Empty {
    fn end(&self, run: &NodeRun<'_>) {
        let mut tensors = run.outputs.iter().flatten().filter_map(|value| value.tensor());
        if tensors.any(|tensor| tensor.dims().contains(&0)) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// How often the generated sizes must [grow](FeedGenerator::grow) until the model runs and no node gives a tensor without elements;
/// otherwise until it runs, and 0 if no sizes help. An image of 3 by 4 pixels, for example, is smaller than the window of a
/// convolution.
///
/// ```
/// use onnx_eval::{EvalOptions, Evaluator};
/// use onnx_pass::{FeedOptions, feed_growth, feeds};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[n, 1, h, w] x) => (float[n, 1, h2, w2] y) {
///    y = MaxPool <kernel_shape = [5, 5]> (x)
/// }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let options = FeedOptions::default();
/// assert_eq!(feed_growth(&model, &options)?, 1);
/// let feeds = feeds(&model, &options.with_growth(1))?;
/// Evaluator::new(&model, &EvalOptions::default())?.run(&feeds.by_name())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error as [`feeds`](super::feeds) does.
pub fn feed_growth(model: &Model, options: &FeedOptions<'_>) -> Result<usize, FeedError> {
    let known = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let inference = infer(model, &known);
    let mut generator = FeedGenerator::new(model, &inference, options, &[])?;
    let (mut growth, mut runs) = (0, None);
    loop {
        // Values of larger sizes may exceed a limit.
        let feeds = match generator.feeds() {
            Ok(feeds) => feeds,
            Err(error) if growth == 0 => return Err(error),
            Err(_) => break,
        };
        match trial(model, options, &feeds) {
            Trial::Complete => return Ok(growth),
            Trial::Empty => _ = runs.get_or_insert(growth),
            Trial::Failed => {}
            // Sizes are not the reason, or the time is over.
            Trial::Other => break,
        }
        if feeds.generated.is_empty() || !generator.grow() {
            break;
        }
        growth += 1;
    }
    Ok(runs.unwrap_or(0))
}

enum Trial {
    Complete,
    /// A tensor has no elements.
    Empty,
    /// An operator fails.
    Failed,
    Other,
}

fn trial(model: &Model, options: &FeedOptions<'_>, feeds: &Feeds) -> Trial {
    let empty = Empty::default();
    let run = EvalOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone())
        .with_observer(&empty);
    let outputs = Evaluator::new(model, &run).and_then(|evaluator| evaluator.run(&feeds.by_name()));
    match outputs {
        Ok(_) if empty.0.load(Ordering::Relaxed) => Trial::Empty,
        Ok(_) => Trial::Complete,
        Err(failure) if failure.kind() == FailureKind::Operator => Trial::Failed,
        Err(_) => Trial::Other,
    }
}
