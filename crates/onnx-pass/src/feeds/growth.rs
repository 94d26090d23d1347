//! Sizes with which a model runs.

use std::sync::atomic::{AtomicBool, Ordering};

use onnx_eval::{EvalOptions, Evaluator, FailureKind, NodeRun, Observer};
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::Dim;

use super::{FeedGenerator, Feeds};

/// Notes whether a node gives a tensor without elements: what follows from it is empty, or NaN. Those that have none whatever the sizes
/// are, such as the shape of a scalar, do not count.
struct Empty<'a> {
    model: &'a Model,
    inference: &'a Inference,
    found: AtomicBool,
}

impl Empty<'_> {
    fn is_always(&self, value: Option<ValueId>) -> bool {
        let dims = value.and_then(|value| self.inference.shape(value));
        dims.is_some_and(|dims| dims.contains(&Dim::Known(0)))
    }
}

impl Observer for Empty<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        for (index, output) in run.outputs.iter().enumerate() {
            let tensor = output.as_ref().and_then(|value| value.tensor());
            let is_empty = tensor.is_some_and(|tensor| tensor.dims().contains(&0));
            if is_empty && !self.is_always(self.model.node(run.node).output(index)) {
                self.found.store(true, Ordering::Relaxed);
            }
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
            match self.trial(run, &feeds) {
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

    fn trial(&self, run: &EvalOptions<'_>, feeds: &Feeds) -> Trial {
        let empty = Empty { model: self.model, inference: self.inference, found: AtomicBool::new(false) };
        let run = run.clone().with_observer(&empty);
        let outputs = Evaluator::new(self.model, &run).and_then(|evaluator| evaluator.run(&feeds.by_name()));
        match outputs {
            Ok(_) if empty.found.load(Ordering::Relaxed) => Trial::Empty,
            Ok(_) => Trial::Complete,
            Err(failure) if failure.kind() == FailureKind::Operator => Trial::Failed,
            Err(_) => Trial::Other,
        }
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

#[cfg(test)]
mod tests {
    use onnx_shape_infer::{InferOptions, infer};

    use super::*;
    use crate::FeedOptions;

    /// How often the sizes of a model of an input `float[n]` grow.
    fn growth(nodes: &str) -> usize {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]>\ng (float[n] x) => (y) <float zero = {{0}}> {{ {nodes} }}"
        );
        let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
        let inference = infer(&model, &InferOptions::default());
        let mut generator = FeedGenerator::new(&model, &inference, &FeedOptions::default(), &[]).unwrap();
        generator.grow_until_it_runs(&EvalOptions::default())
    }

    #[test]
    fn sizes_do_not_grow_for_what_is_always_empty() {
        assert_eq!(growth("s = Shape (zero) y = Reshape (zero, s)"), 0);
        assert_eq!(growth("s = Constant <value = int64[0] {}> () y = Reshape (zero, s)"), 0);
        // Up to 4 elements are chosen at first.
        let tail =
            "a = Constant <value_ints = [5]> () b = Constant <value_ints = [99]> () y = Slice (x, a, b)";
        assert!(growth(tail) > 0);
    }
}
