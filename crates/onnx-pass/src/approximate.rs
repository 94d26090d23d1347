//! Edits that change results: other number formats of weights and activations.
//!
//! They preserve nothing that could be proved, so they are measured: the whole model before and after runs on generated inputs,
//! and the largest differences are in the journal. An edit that exceeds its tolerances is not made.

use std::collections::BTreeMap;

use onnx_eval::compare::Tolerances;
use onnx_ir::Model;

use crate::assumption::Exactness;
use crate::cx::{Entry, PassCx};
use crate::determinism::BY_NAME;
use crate::model_level::measure;
use crate::passes::Report;
use crate::patch::{Level, Refusal, RefusalReason};
use crate::verdict::Verdict;

impl PassCx<'_> {
    /// Edits the model in a way that changes its results, to other number formats: `edit` returns the number of its edits.
    /// The model before and after run on generated inputs. If an output differs by more than the tolerances, or does not have its
    /// element type and shape any more, the model is restored, and the report has the refusal. Otherwise the journal has the largest
    /// differences ([`Verdict::Measured`]).
    ///
    /// The options must allow [`Exactness::Approximate`]. Below [`Level::Values`] nothing runs.
    ///
    /// ```
    /// use onnx_eval::compare::Tolerances;
    /// use onnx_ir::Constant;
    /// use onnx_pass::{Exactness, PassCx, PassOptions};
    /// use onnx_text::{ParseOptions, parse_model};
    /// use onnx_types::tensor::{NoData, Tensor};
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 20]>
    /// g (float[N,2] x) => (float[N,2] y) <float[2] w = {0.3, 0.7}> { y = Mul (x, w) }"#;
    /// for (step, edits) in [(256.0, 1), (2.0, 0)] {
    ///     let mut model = parse_model(text, &ParseOptions::default())?;
    ///     let options = PassOptions::default().with_class(Exactness::Approximate);
    ///     let mut cx = PassCx::new(&mut model, options);
    ///     let tolerances = Tolerances::default().with_rtol(Some(0.01));
    ///     // Weights become multiples of a step.
    ///     let report = cx.approximate("round-weights", tolerances, |model| {
    ///         let graph = model.main_graph();
    ///         let weights = model.initializers(graph).next().unwrap();
    ///         let old = model.constant_tensor(weights).unwrap().to_vec::<f32>(&NoData).unwrap();
    ///         let new: Vec<f32> = old.iter().map(|weight| (weight * step).round() / step).collect();
    ///         let new = Constant::Dense(Tensor::vector(&new));
    ///         model.set_initializer(graph, weights, Some(new.into()));
    ///         1
    ///     });
    ///     assert_eq!(report.edits, edits);
    ///     if edits == 1 {
    ///         let verdict = cx.journal()[0].verdict.to_string();
    ///         assert!(verdict.starts_with("measured in 3 runs: "), "{verdict}");
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn approximate(
        &mut self,
        pass: &str,
        tolerances: Tolerances,
        edit: impl FnOnce(&mut Model) -> usize,
    ) -> Report {
        let refuse = |level, reason: RefusalReason, verdict| {
            let refusal = Refusal::new(pass, level, reason).with_verdict(verdict);
            Report { refusals: vec![refusal], ..Report::default() }
        };
        if let Some((level, reason)) = self.excludes_approximation() {
            return refuse(level, reason.into(), None);
        }
        if self.is_exhausted() {
            return Report::default();
        }
        let checkpoint = self.checkpoint();
        let edits = edit(self.model_mut());
        if self.is_unchanged(&checkpoint) {
            self.saved = Some(checkpoint);
            return Report::default();
        }
        if let Err(faults) = self.model().verify() {
            let fault = faults.first().map(ToString::to_string).unwrap_or_default();
            self.roll_back(checkpoint);
            return refuse(Level::Structure, format!("the model is not in order: {fault}").into(), None);
        }
        let (verdict, reason) = self.measured(&checkpoint.model, &tolerances);
        let untested = match &verdict {
            Verdict::Untested(reason) if self.options().level >= Level::Values => {
                [(reason.clone(), 1)].into()
            }
            _ => BTreeMap::new(),
        };
        if let Some(reason) = reason {
            self.roll_back(checkpoint);
            return Report { untested, ..refuse(Level::Values, reason, Some(verdict)) };
        }
        self.refresh();
        self.record(Entry::whole(pass, Exactness::Approximate, verdict, edits));
        Report { edits, untested, ..Report::default() }
    }
    /// Why no edit may change results; `None` if one may.
    fn excludes_approximation(&self) -> Option<(Level, String)> {
        let options = self.options();
        if options.class < Exactness::Approximate {
            return Some((
                Level::Class,
                format!("edits of class {} are not allowed", Exactness::Approximate),
            ));
        }
        if self.refers_by_name {
            return Some((Level::Structure, BY_NAME.to_owned()));
        }
        let is_selected = options.only.is_some() || options.except.is_some();
        let reason = "it edits the model as a whole, and only a part is selected";
        is_selected.then(|| (Level::Structure, reason.to_owned()))
    }

    /// How far the results of the model moved since it was like this, and why the edit is not made.
    fn measured(&self, before: &Model, tolerances: &Tolerances) -> (Verdict, Option<RefusalReason>) {
        let options = self.options();
        if options.level < Level::Values {
            let reason = "its values are not compared: that was not requested";
            return (Verdict::Untested(reason.to_owned()), None);
        }
        let verdict = measure(before, self.model(), tolerances, options);
        let reason = match &verdict {
            Verdict::Refuted(found) => {
                Some(format!("the results differ by more than the tolerance\n{found}").into())
            }
            Verdict::Untested(reason) if !options.allow_untested => Some(RefusalReason::untested(reason)),
            _ => None,
        };
        (verdict, reason)
    }
}
