//! Sizes with which a model runs.

use std::sync::atomic::{AtomicBool, Ordering};

use onnx_eval::{EvalOptions, Evaluator, FailureKind, NodeRun, Observer};
use onnx_ir::Model;

use super::{FeedGenerator, Feeds};

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

impl FeedGenerator<'_> {
    /// Lets generated sizes [grow](Self::grow) until the model runs and no node gives a tensor without elements; otherwise until it
    /// runs, and not at all if no sizes help. An image of 3 by 4 pixels, for example, is smaller than the window of a convolution.
    /// Returns how often they grew.
    ///
    /// ```
    /// use onnx_eval::{EvalOptions, Evaluator};
    /// use onnx_pass::{FeedGenerator, FeedOptions};
    /// use onnx_shape_infer::{InferOptions, infer};
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 20]>
    /// g (float[n, 1, h, w] x) => (float[n, 1, h2, w2] y) {
    ///    y = MaxPool <kernel_shape = [5, 5]> (x)
    /// }"#;
    /// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
    /// let inference = infer(&model, &InferOptions::default());
    /// let mut generator = FeedGenerator::new(&model, &inference, &FeedOptions::default(), &[])?;
    /// let run = EvalOptions::default();
    /// // `n`, `h` and `w` one after the other, and then all of them.
    /// assert_eq!(generator.grow_until_it_runs(&run), 4);
    /// Evaluator::new(&model, &run)?.run(&generator.feeds()?.by_name())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grow_until_it_runs(&mut self, run: &EvalOptions<'_>) -> usize {
        let first = self.sizes.clone();
        let (mut growth, mut runs) = (0, None);
        // Values of larger sizes may exceed a limit.
        while let Ok(feeds) = self.feeds() {
            match trial(self.model, run, &feeds) {
                Trial::Complete => return growth,
                Trial::Empty => _ = runs.get_or_insert_with(|| (growth, self.sizes.clone())),
                Trial::Failed => {}
                // Sizes are not the reason, or the time is over.
                Trial::Other => break,
            }
            if feeds.generated.is_empty() || !self.grow() {
                break;
            }
            growth += 1;
        }
        let (growth, sizes) = runs.unwrap_or((0, first));
        self.sizes = sizes;
        growth
    }
}

enum Trial {
    Complete,
    /// A tensor has no elements.
    Empty,
    /// An operator fails.
    Failed,
    Other,
}

fn trial(model: &Model, run: &EvalOptions<'_>, feeds: &Feeds) -> Trial {
    let empty = Empty::default();
    let run = run.clone().with_observer(&empty);
    let outputs = Evaluator::new(model, &run).and_then(|evaluator| evaluator.run(&feeds.by_name()));
    match outputs {
        Ok(_) if empty.0.load(Ordering::Relaxed) => Trial::Empty,
        Ok(_) => Trial::Complete,
        Err(failure) if failure.kind() == FailureKind::Operator => Trial::Failed,
        Err(_) => Trial::Other,
    }
}
