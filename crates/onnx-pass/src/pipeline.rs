//! Pipelines: passes in order, in phases that run once or to a fixed point.

use core::time::Duration;

use onnx_diag::Quoted;
use onnx_ir::Model;
use onnx_schema::Registry;
use onnx_types::Stopped;

use crate::assumption::Exactness;
use crate::cx::{Entry, PassCx, PassOptions};
use crate::model_level::prove_models;
use crate::pass::Pass;
use crate::passes::Report;
use crate::patch::Level;
use crate::verdict::Verdict;

/// Rounds of a phase after which it ends although its passes still edit.
const MAX_ROUNDS: usize = 64;

/// Passes that run together.
#[derive(Clone, Debug, Default)]
struct Phase {
    passes: Vec<Pass>,
    /// Whether the phase is repeated until no pass edits.
    is_repeated: bool,
}

impl Phase {
    fn repeated(mut self) -> Result<Self, OpposedPasses> {
        for (index, second) in self.passes.iter().enumerate() {
            let earlier = self.passes.get(..index).unwrap_or_default();
            if let Some(first) = earlier.iter().find(|first| first.opposes(second)) {
                let [first, second] = [first, second].map(|pass| pass.name().to_owned());
                return Err(OpposedPasses { first, second });
            }
        }
        self.is_repeated = true;
        Ok(self)
    }
}

/// Passes in order.
///
/// ```
/// use onnx_pass::{PassOptions, Pipeline};
/// use onnx_schema::Registry;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) {
///    a = Identity (x)
///    b = Exp (a)
///    y = Relu (a)
/// }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let pipeline = Pipeline::named(&["no-identities", "no-dead-nodes"], Registry::STANDARD)?;
/// let done = pipeline.run(&mut model, &PassOptions::default());
/// assert_eq!((done.edits(), model.node_count()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    phases: Vec<Phase>,
}

/// A pass of a pipeline that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the pass {} does not exist; the known ones are {}", Quoted(.name), .known.join(", "))]
#[non_exhaustive]
pub struct UnknownPass {
    /// The name.
    pub name: String,
    /// The names of all passes.
    pub known: Vec<String>,
}

impl UnknownPass {
    /// The name of a pass that is spelled almost like this.
    #[must_use]
    pub fn nearest(&self) -> Option<&str> {
        onnx_schema::nearest(&self.name, self.known.iter().map(String::as_str))
    }
}

/// Two passes that undo each other in a phase that is repeated until no pass edits: it would not end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the passes {} and {} undo each other, so that repeating both has no end", Quoted(.first), Quoted(.second))]
#[non_exhaustive]
pub struct OpposedPasses {
    /// The name of the pass that comes first.
    pub first: String,
    /// The name of the other one.
    pub second: String,
}

/// The end of a pipeline before its last pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// The interrupt ended it. The passes until then are applied.
    #[error("the pipeline was stopped before its end; the edits until then are applied")]
    Stopped,
    /// As many patches were made as the options allow.
    #[error("the pipeline ended after as many edits as it may make")]
    Edits,
    /// A phase still edited after as many rounds as it may have.
    #[error("a phase of the pipeline still edits after {MAX_ROUNDS} rounds")]
    Rounds,
}

impl From<Stopped> for Ended {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// The result of one pass of a pipeline, in all its rounds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PassRun {
    /// The name of the pass.
    pub name: String,
    /// The edits, the refusals and what was left.
    pub report: Report,
    /// Times that the pass ran.
    pub rounds: usize,
    /// The time that it took, if the options have a [`clock`](PassOptions::clock).
    pub time: Duration,
    /// Change of the number of nodes.
    pub nodes: isize,
}

/// The result of a pipeline.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PipelineReport {
    /// Each pass, in the order in which they ran first.
    pub passes: Vec<PassRun>,
    /// The committed edits, in order.
    pub journal: Vec<Entry>,
    /// Why the pipeline ended early; `None` if it did not.
    pub ended: Option<Ended>,
    /// The comparison of the model before and after, if the options ask for [`Level::Model`]. If it is refuted, the model is as
    /// it was before the pipeline.
    pub model: Option<Verdict>,
    /// Whether inference found an error in the model before the passes: a node that fails for the types and shapes of its
    /// operands, or a declaration that contradicts them.
    pub has_type_errors: bool,
}

impl PipelineReport {
    /// Number of edits of all passes.
    #[must_use]
    pub fn edits(&self) -> usize {
        self.passes.iter().map(|pass| pass.report.edits).fold(0, usize::saturating_add)
    }

    fn entry(&mut self, pass: &Pass) -> Option<&mut PassRun> {
        if !self.passes.iter().any(|run| run.name == pass.name()) {
            self.passes.push(PassRun {
                name: pass.name().to_owned(),
                report: Report::default(),
                rounds: 0,
                time: Duration::ZERO,
                nodes: 0,
            });
        }
        self.passes.iter_mut().find(|run| run.name == pass.name())
    }
}

impl Pipeline {
    /// A pipeline without passes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a phase whose passes run once, in order.
    #[must_use]
    pub fn then(mut self, passes: impl IntoIterator<Item = Pass>) -> Self {
        self.phases.push(Phase { passes: passes.into_iter().collect(), is_repeated: false });
        self
    }

    /// Adds a phase whose passes run in order, again and again until none of them edits.
    ///
    /// # Errors
    ///
    /// Returns two passes that [oppose](Pass::opposes) each other.
    pub fn then_repeat(mut self, passes: impl IntoIterator<Item = Pass>) -> Result<Self, OpposedPasses> {
        let phase = Phase { passes: passes.into_iter().collect(), is_repeated: false };
        self.phases.push(phase.repeated()?);
        Ok(self)
    }

    /// A pipeline of one phase with passes by their names, each preceded by those that it [requires](Pass::requires) if they
    /// are not in the list before it.
    ///
    /// # Errors
    ///
    /// Returns the first name that is not that of a pass.
    pub fn named(names: &[impl AsRef<str>], registry: &Registry) -> Result<Self, UnknownPass> {
        let known = Pass::known(registry);
        let mut passes: Vec<Pass> = Vec::new();
        for name in names {
            let mut open = vec![(name.as_ref().to_owned(), false)];
            while let Some((name, is_ready)) = open.pop() {
                let Some(pass) = known.iter().find(|pass| pass.name() == name) else {
                    let known = known.iter().map(|pass| pass.name().to_owned()).collect();
                    return Err(UnknownPass { name, known });
                };
                if is_ready {
                    passes.push(pass.clone());
                    continue;
                }
                // A pass that requires itself, through whichever others, is waiting already.
                let is_waiting = |name: &str, open: &[(String, bool)]| {
                    open.iter().any(|(other, is_ready)| *is_ready && other == name)
                };
                let missing: Vec<String> = pass
                    .requires()
                    .filter(|name| !passes.iter().any(|pass| pass.name() == *name))
                    .filter(|name| !is_waiting(name, &open))
                    .map(str::to_owned)
                    .collect();
                open.push((name, true));
                open.extend(missing.into_iter().rev().map(|name| (name, false)));
            }
        }
        Ok(Self::new().then(passes))
    }

    /// The same passes, with each phase repeated until none of its passes edits.
    ///
    /// ```
    /// use onnx_pass::Pipeline;
    /// use onnx_schema::Registry;
    ///
    /// let pipeline = Pipeline::named(&["value-info", "no-value-info"], Registry::STANDARD)?;
    /// let error = pipeline.repeated().unwrap_err();
    /// assert_eq!((error.first.as_str(), error.second.as_str()), ("value-info", "no-value-info"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns two passes of one phase that [oppose](Pass::opposes) each other. In a phase that runs once, the later one has the
    /// last word.
    pub fn repeated(mut self) -> Result<Self, OpposedPasses> {
        self.phases = self.phases.into_iter().map(Phase::repeated).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The passes in order, those of all phases.
    pub fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.phases.iter().flat_map(|phase| &phase.passes)
    }

    /// Runs the passes on a model. An interrupt ends the pipeline; the model keeps the edits until then.
    ///
    /// # Panics
    ///
    /// See [`PassCx::new`].
    pub fn run(&self, model: &mut Model, options: &PassOptions<'_>) -> PipelineReport {
        let mut report = PipelineReport::default();
        let before = (options.level == Level::Model).then(|| model.clone());
        let mut cx = PassCx::new(model, options.clone());
        report.has_type_errors = cx.inference().has_errors();
        let ended = self.phases.iter().try_for_each(|phase| run_phase(phase, &mut cx, &mut report));
        report.ended = ended.err();
        report.journal = cx.into_journal();
        if let Some(before) = before.filter(|_| !report.journal.is_empty()) {
            let classes = report.journal.iter().map(|entry| entry.class);
            let class = classes.max().unwrap_or(Exactness::Exact);
            let verdict = match class {
                Exactness::Approximate => {
                    Verdict::Untested("edits of the class approximate were measured one by one".to_owned())
                }
                _ => prove_models(&before, model, class, options),
            };
            if verdict.is_refuted() {
                *model = before;
            }
            report.model = Some(verdict);
        }
        report
    }
}

/// Runs a phase: once, or until no pass edits, neither with results of inference that depend on guards nor without them.
fn run_phase(phase: &Phase, cx: &mut PassCx<'_>, report: &mut PipelineReport) -> Result<(), Ended> {
    for _ in 0..MAX_ROUNDS {
        run_rounds(phase, cx, report)?;
        if !phase.is_repeated || !cx.is_held_back_by_guards() {
            return Ok(());
        }
        let before = cx.journal().len();
        cx.assume_guards(false);
        run_rounds(phase, cx, report)?;
        cx.assume_guards(true);
        if cx.journal().len() == before {
            return Ok(());
        }
    }
    Err(Ended::Rounds)
}

/// Runs the passes of a phase. A pass that found nothing to edit does not run again before another one edits.
fn run_rounds(phase: &Phase, cx: &mut PassCx<'_>, report: &mut PipelineReport) -> Result<(), Ended> {
    // The number of edits before which each pass last had nothing to do.
    let mut idle_since: Vec<Option<usize>> = vec![None; phase.passes.len()];
    for _ in 0..MAX_ROUNDS {
        let mut has_edited = false;
        for (pass, idle) in phase.passes.iter().zip(&mut idle_since) {
            cx.options().execution.interrupt.check()?;
            let before = cx.journal().len();
            if *idle == Some(before) {
                continue;
            }
            run_pass(pass, cx, report);
            cx.options().execution.interrupt.check()?;
            if cx.is_exhausted() {
                return Err(Ended::Edits);
            }
            let is_idle = cx.journal().len() == before;
            *idle = is_idle.then_some(before);
            has_edited |= !is_idle;
        }
        if !phase.is_repeated {
            return Ok(());
        }
        if !has_edited {
            if !cx.complete_inference() {
                return Ok(());
            }
            idle_since.fill(None);
        }
    }
    Err(Ended::Rounds)
}

fn run_pass(pass: &Pass, cx: &mut PassCx<'_>, report: &mut PipelineReport) {
    let clock = cx.options().clock;
    let begin = clock.map(|clock| clock());
    let before = cx.model().node_count();
    cx.refresh();
    cx.inference.forget_dependents();
    cx.proof_steps = 0;
    cx.forget_idioms();
    let result = pass.run(cx);
    let change = cx.model().node_count() as isize - before as isize;
    let Some(run) = report.entry(pass) else { return };
    run.report.add(result);
    run.rounds = run.rounds.saturating_add(1);
    let passed = clock.zip(begin).map(|(clock, begin)| clock().saturating_sub(begin));
    run.time = run.time.saturating_add(passed.unwrap_or_default());
    run.nodes = run.nodes.saturating_add(change);
}
