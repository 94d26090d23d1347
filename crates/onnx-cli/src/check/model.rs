//! What is wrong with a model, for whatever asks: `onnx check`, and the rows of `onnx scan`.

use std::collections::HashSet;

use onnx_check::{CheckOptions, CustomOperators, ExternalFiles, Profile, check_part};
use onnx_compose::Target;
use onnx_diag::{Caps, Diagnostic, LocusStep, Policy, Severity, Sink};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference};
use onnx_types::Limits;

use crate::exit::Failure;
use crate::format::Format;
use crate::input::Loaded;
use crate::precondition::external_files;

/// How a model is checked.
pub(crate) struct ModelChecks<'a> {
    pub(crate) registry: &'a Registry,
    /// The severities of rules that the profile does not decide.
    pub(crate) policy: Policy,
    /// How many diagnostics are kept.
    pub(crate) caps: Caps,
    pub(crate) profile: Profile,
    pub(crate) custom_operators: CustomOperators,
    pub(crate) opset_compatibility: bool,
    pub(crate) recommendations: bool,
    /// Whether all elements are checked, which reads them.
    pub(crate) data: bool,
}

impl<'a> ModelChecks<'a> {
    /// What `onnx check` does without options.
    pub(crate) fn new(registry: &'a Registry, limits: &Limits) -> Self {
        Self {
            registry,
            policy: Policy::new(),
            caps: Caps { per_rule: limits.findings_per_rule, total: limits.findings },
            profile: Profile::Spec,
            custom_operators: CustomOperators::default(),
            opset_compatibility: true,
            recommendations: false,
            data: false,
        }
    }

    /// Where diagnostics are reported.
    pub(crate) fn sink(&self) -> Sink {
        Sink::with(self.profile.severities(self.policy.clone()), self.caps)
    }

    /// Adds what was found when the model was read.
    pub(crate) fn add_read(&self, loaded: &mut Loaded, sink: &mut Sink) {
        let read = std::mem::take(&mut loaded.findings);
        if self.profile == Profile::Reference {
            for finding in read.into_diagnostics().into_iter().filter(|finding| !finding.beyond_reference) {
                sink.report(finding);
            }
        } else {
            sink.merge(read);
        }
    }

    /// Adds what the checker finds.
    pub(crate) fn check(&self, loaded: &Loaded, sink: &mut Sink) -> Result<(), Failure> {
        let options = self.options(loaded)?;
        sink.merge(check_part(&loaded.model, loaded.piece.checked(), &options));
        Ok(loaded.execution.interrupt.check()?)
    }

    /// What the library is asked.
    fn options(&self, loaded: &Loaded) -> Result<CheckOptions, Failure> {
        let mut execution = loaded.execution.clone();
        (execution.limits.findings_per_rule, execution.limits.findings) =
            (self.caps.per_rule, self.caps.total);
        Ok(CheckOptions::default()
            .with_registry(self.registry.clone())
            .with_policy(self.policy.clone())
            .with_execution(execution)
            .with_elements(self.data)
            .with_file_bytes((loaded.format == Format::Onnx).then_some(loaded.bytes))
            .with_custom_operators(self.custom_operators)
            .with_opset_compatibility(self.opset_compatibility)
            .with_profile(self.profile)
            .with_recommendations(self.recommendations)
            .with_external(self.external(loaded)?))
    }

    /// The external data files of the model. Comparing their digests reads them, so this is done only if all elements are
    /// checked.
    fn external(&self, loaded: &Loaded) -> Result<Option<ExternalFiles>, Failure> {
        let files = external_files(loaded, self.data)?;
        Ok(files.map(|files| if self.data { files.with_digests() } else { files }))
    }

    /// Adds what inference finds, and returns it. The reference follows no elements there. A target may infer more graphs than those
    /// that are executed.
    pub(crate) fn infer(
        &self,
        loaded: &Loaded,
        target: Option<&Target>,
        sink: &mut Sink,
    ) -> Result<Inference, Failure> {
        let source = loaded.source()?;
        let mut options = InferOptions::default().with_data(&source).with_registry(self.registry);
        options.check_types = true;
        options.values = self.profile == Profile::Spec;
        options.execution = loaded.execution.clone();
        // The caps of the report count what they leave out.
        let limits = &mut options.execution.limits;
        (limits.findings_per_rule, limits.findings) = (usize::MAX, usize::MAX);
        let inference = onnx_shape_infer::infer(&loaded.model, &options);
        loaded.execution.interrupt.check()?;
        let has_nested = || loaded.model.all_graphs().nth(1).is_some();
        if let Some(target) = target.filter(|target| target.infers_all_graphs && has_nested()) {
            // Elements that nodes compute are not followed when a model is loaded.
            options.values = false;
            options.every_graph = true;
            let of_all = onnx_shape_infer::infer(&loaded.model, &options);
            loaded.execution.interrupt.check()?;
            add_unexecuted(&of_all, &inference, target, sink);
        }
        add_contradictions(&inference, sink);
        Ok(inference)
    }
}

/// Adds the diagnostics of inference to those of the checker. What follows from an error of the checker at the same node is left
/// out.
fn add_contradictions(inference: &Inference, sink: &mut Sink) {
    let invalid = nodes_with_errors(sink);
    for found in inference.findings().diagnostics() {
        if !node_of(found).is_some_and(|node| invalid.contains(node)) {
            sink.report(found.clone());
        }
    }
}

/// Adds the errors that are found if all graphs are inferred as if they were executed. Those that are found anyway are left out, as
/// more is known about them.
fn add_unexecuted(of_all: &Inference, inference: &Inference, target: &Target, sink: &mut Sink) {
    let mut invalid = nodes_with_errors(sink);
    invalid.extend(nodes_with_errors(inference.findings()));
    for found in of_all.findings().diagnostics() {
        let is_new = node_of(found).is_some_and(|node| !invalid.contains(node));
        // What the target tolerates is a warning anyway.
        if is_new
            && !target.does_overlook(found)
            && sink.policy().severity(found.rule) == Some(Severity::Error)
        {
            sink.report(found.clone());
        }
    }
}

/// The nodes that errors are about.
fn nodes_with_errors(sink: &Sink) -> HashSet<Vec<LocusStep>> {
    let errors = sink.diagnostics().iter().filter(|found| found.severity == Severity::Error);
    errors.filter_map(node_of).map(<[LocusStep]>::to_vec).collect()
}

/// The innermost node that a diagnostic is about.
fn node_of(found: &Diagnostic) -> Option<&[LocusStep]> {
    let steps = found.locus.steps();
    let at = steps.iter().rposition(|step| matches!(step, LocusStep::Node { .. }))?;
    steps.get(..=at)
}
