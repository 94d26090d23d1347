//! The context of a pass: a model with its inferred results, the options of the run, and the committed edits.

use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{Changes, Cursor, Model, Node, NodeId, Revision, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, Justification, infer};
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Step, Symbol};

use crate::assumption::{Condition, Exactness};
use crate::claim_key::Passed;
use crate::collect::Known;
use crate::commit::assumed_in;
use crate::determinism::refers_by_name;
use crate::equivalence::Equivalence;
use crate::idioms::{IdiomTable, Idioms};
use crate::passes::Report;
use crate::patch::{Draft, Level, Patch, Proof};
use crate::query::Reason;
use crate::references::References;
use crate::verdict::Verdict;

/// Work of inference that each edit contributes, as counted by [`Inference::work`]: more than most edits need.
const WORK_OF_EDIT: i64 = 256;

/// Work of inference for each node and value of the model that edits may take in addition.
const WORK_OF_ENTITY: i64 = 64;

/// The operations of proofs that a pass may take for each node of the model: a small model has few edits that are worth more.
const PROOF_STEPS_OF_NODE: u64 = 1 << 24;

/// InferOptions of a pass.
#[derive(Clone)]
#[non_exhaustive]
pub struct PassOptions<'a> {
    /// The least exact class that is allowed. Default: [`Exactness::Rounding`], so that edits preserve what the model computes.
    pub class: Exactness,
    /// Whether edits may depend on guards of inferred results. They are then written into the metadata of the model.
    /// Default: `false`.
    pub allow_assumed: bool,
    /// Conditions on numbers at run time that the caller grants. Default: none.
    pub conditions: &'a [Condition],
    /// The last level at which edits are proved. [`Level::Types`] compares the sides of an edit without running them, and is for
    /// edits that are known to be right. It refuses a patch that changes the version of an operator set
    /// ([`Patch::raise_opset`]) if a node that stays has another schema in the new version: only a run shows that it computes the same.
    /// Default: [`Level::Values`]. [`Level::Model`] is for a [`Pipeline`](crate::Pipeline).
    pub level: Level,
    /// Whether edits are made whose values could not be compared although [`Level::Values`] was asked for: inputs of their types are
    /// not generated, or no run completes. Below that level no values are compared. Edits that make nodes of operators
    /// that nothing declares as deterministic or not need it at every level: no run compares their results. Default: `false`.
    pub allow_untested: bool,
    /// The operations of the runs of all proofs of one pass, as [`proof_steps`](onnx_types::Limits::proof_steps) counts those of one
    /// run. The claims of further edits are untested. A pipeline counts each run of a pass anew. They are at most 2²⁶ for each node of
    /// the model, too, and for sixteen more. Default: 2³⁴, some tens of seconds.
    pub max_proof_steps: u64,
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. Default: none.
    pub data: &'a dyn DataSource,
    /// The nodes that edits may be derived from: an edit with another source is not made, and neither is one of the whole model.
    /// Nodes that edits make are not among them. Default: all nodes.
    pub only: Option<&'a HashSet<NodeId>>,
    /// Nodes that are kept: an edit that is derived from one of them, or that would erase one, is not made. Default:
    /// none.
    pub except: Option<&'a HashSet<NodeId>>,
    /// The groups of nodes that a runtime executes as one kernel: an edit that would break one is not made. Default: none.
    pub idioms: Option<&'a dyn Idioms>,
    /// Whether weights in a narrow format are computed in the format of their users: `DequantizeLinear` of constants, and `Cast` of
    /// constants of at most 16 bits to wider floats. Default: `false`, since the format is that in which a runtime computes.
    pub fold_quantized: bool,
    /// The maximum number of patches and restructurings. The model is then the one that the same run without this limit
    /// has after that number. Default: none.
    pub max_edits: Option<usize>,
    /// Returns the time since some moment, to measure passes of a [`Pipeline`](crate::Pipeline). Default: none.
    pub clock: Option<&'a (dyn Fn() -> Duration + Sync)>,
    /// Is called with the claim of each edit before it is proved, equal claims included; not for edits that are the same
    /// computation as what they replace. Default: none.
    pub on_claim: Option<&'a (dyn Fn(&Equivalence) + Sync)>,
    /// The interrupt, and limits on the cost of inference and of each proof.
    pub execution: Execution,
}

impl Default for PassOptions<'_> {
    fn default() -> Self {
        Self {
            class: Exactness::Rounding,
            allow_assumed: false,
            conditions: &[],
            level: Level::Values,
            allow_untested: false,
            max_proof_steps: 1 << 34,
            registry: Registry::STANDARD,
            data: &NoData,
            only: None,
            except: None,
            idioms: None,
            fold_quantized: false,
            max_edits: None,
            clock: None,
            on_claim: None,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    PassOptions<'a> {
        with_class => class: Exactness,
        with_assumed => allow_assumed: bool,
        with_conditions => conditions: &'a [Condition],
        with_level => level: Level,
        with_untested => allow_untested: bool,
        with_max_proof_steps => max_proof_steps: u64,
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_only => only: into Option<&'a HashSet<NodeId>>,
        with_except => except: into Option<&'a HashSet<NodeId>>,
        with_idioms => idioms: into Option<&'a dyn Idioms>,
        with_quantized_folding => fold_quantized: bool,
        with_max_edits => max_edits: into Option<usize>,
        with_clock => clock: Option<&'a (dyn Fn() -> Duration + Sync)>,
        with_claim_observer => on_claim: Option<&'a (dyn Fn(&Equivalence) + Sync)>,
        with_execution => execution: into Execution,
    }
}

impl PassOptions<'_> {
    /// Returns `true` if edits may be derived from a node.
    #[must_use]
    pub fn selects(&self, node: NodeId) -> bool {
        self.only.is_none_or(|only| only.contains(&node))
            && self.except.is_none_or(|except| !except.contains(&node))
    }
}

/// A line of the journal: a patch that was committed.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name of the pass.
    pub pass: String,
    /// The nodes that the edit is derived from: operator and name.
    pub sources: Vec<(String, String)>,
    /// The exactness class.
    pub class: Exactness,
    /// The result of comparing values.
    pub verdict: Verdict,
    /// Guards and conditions that the edit depends on.
    pub assumed: Vec<String>,
    /// Number of edits: 1 for a patch, and those that [`PassCx::restructure`] counted.
    pub edits: usize,
}

/// Operator and name of the nodes that a patch is derived from.
pub(crate) fn sources_of(model: &Model, draft: &Draft) -> Vec<(String, String)> {
    let nodes = draft.sources.iter().filter_map(|&node| model.get_node(node));
    let name = |node: &Node| {
        let output = || node.output(0).map(|output| model.value(output).name());
        Some(node.name()).filter(|name| !name.is_empty()).or_else(output).unwrap_or_default()
    };
    nodes.map(|node| (model.str(node.op()).to_owned(), model.str(name(node)).to_owned())).collect()
}

/// The state of a context to which it can return.
pub(crate) struct Checkpoint {
    pub(crate) model: Model,
    revision: Revision,
    journal: usize,
    assumed: HashSet<String, RandomState>,
}

impl Entry {
    /// An edit of the whole model.
    pub(crate) fn whole(pass: &str, class: Exactness, verdict: Verdict, edits: usize) -> Self {
        Self { pass: pass.to_owned(), sources: Vec::new(), class, verdict, assumed: Vec::new(), edits }
    }

    pub(crate) fn new(model: &Model, draft: &Draft, proof: &Proof) -> Self {
        Self {
            pass: draft.pass.clone(),
            sources: sources_of(model, draft),
            class: draft.class,
            verdict: proof.verdict.clone(),
            assumed: draft.assumed().map(str::to_owned).collect(),
            edits: 1,
        }
    }
}

/// The context of a pass. It holds the model while the pass runs, so that every edit is a [`Patch`].
pub struct PassCx<'m> {
    pub(crate) model: &'m mut Model,
    pub(crate) inference: Inference,
    /// The state of the model that `inference` belongs to.
    revision: Revision,
    /// Work of inference that may be done. An update costs as much as the widest node, the largest nested graph or, for an
    /// edit in a function, the model: if each edit of such a model were followed by one, their cost would be quadratic.
    credit: i64,
    /// Values that were replaced since the last update, each with the value that adopts what is known about it.
    adopted: Vec<(ValueId, ValueId)>,
    /// Whether `inference` has results that depend on guards.
    assumes_guards: bool,
    /// The other inference, if there is one, with the state of the model that it belongs to.
    other_inference: Option<(Inference, Revision)>,
    pub(crate) options: PassOptions<'m>,
    pub(crate) journal: Vec<Entry>,
    /// Verdicts by the hash of the claim: layers that are alike are proved once.
    pub(crate) verdicts: HashMap<u128, Verdict, RandomState>,
    /// The claims that passed the levels which run nothing.
    pub(crate) passed: Passed,
    /// The operations of all proofs of the pass that runs.
    pub(crate) proof_steps: u64,
    /// The most that they may be.
    pub(crate) most_proof_steps: u64,
    /// Whether functions were not inferred since the last change of the inference.
    is_partial: bool,
    /// The number of edits at which functions were last inferred.
    completed_at: usize,
    /// The conditions in the metadata of the model that edits depend on.
    pub(crate) assumed: HashSet<String, RandomState>,
    /// Whether a node refers to values by name, so that nothing is edited.
    pub(crate) refers_by_name: bool,
    /// The last checkpoint, if the model was not edited after it: passes that find nothing to do share one copy.
    pub(crate) saved: Option<Checkpoint>,
    /// The values that annotations, bindings and shardings name, if they were collected.
    pub(crate) references: Option<Arc<References>>,
    /// Bytes by which folded constants may still enlarge the model; `None` before the first one.
    pub(crate) growth_left: Option<u64>,
    /// The idioms in the model when the pass began; `None` if they were not searched since the last edit before.
    pub(crate) idioms: Option<IdiomTable>,
    /// Number of nodes with each name, in all graphs; computed when nodes are first copied.
    node_names: Option<HashMap<Symbol, usize, RandomState>>,
}

impl<'m> PassCx<'m> {
    /// Infers a model and makes a context for it.
    ///
    /// # Panics
    ///
    /// See [`infer`].
    #[must_use]
    pub fn new(model: &'m mut Model, options: PassOptions<'m>) -> Self {
        let mut inference = infer(model, &inference_options(&options, true));
        inference.grant_proved(model);
        let (journal, verdicts) = (Vec::new(), HashMap::default());
        let (revision, assumed) = (model.revision(), assumed_in(model));
        let refers_by_name = refers_by_name(model);
        let (saved, node_names) = (None, None);
        let nodes = model.node_count().saturating_add(64) as u64;
        let most_proof_steps = options.max_proof_steps.min(nodes.saturating_mul(PROOF_STEPS_OF_NODE));
        let entities = model.node_count().saturating_add(model.value_count());
        let credit = i64::try_from(entities).unwrap_or(i64::MAX).saturating_mul(WORK_OF_ENTITY);
        Self {
            model,
            inference,
            revision,
            credit,
            adopted: Vec::new(),
            assumes_guards: true,
            other_inference: None,
            options,
            journal,
            verdicts,
            passed: Passed::default(),
            proof_steps: 0,
            most_proof_steps,
            is_partial: false,
            completed_at: 0,
            assumed,
            refers_by_name,
            saved,
            references: None,
            growth_left: None,
            idioms: None,
            node_names,
        }
    }

    /// The model.
    #[must_use]
    pub const fn model(&self) -> &Model {
        self.model
    }

    /// The inferred results. Queries of a [`Patch`] are recorded, those of this table are not: use it to find candidates.
    ///
    /// They may be those before some of the edits of this pass, because an update after each would take quadratic time in a
    /// model with nodes of many operands, or with large nested graphs or functions. What they say about a value is true, as
    /// edits preserve the meaning of values; about a new value they may contain less until the next pass begins.
    #[must_use]
    pub const fn inference(&self) -> &Inference {
        &self.inference
    }

    /// The options of the run.
    #[must_use]
    pub const fn options(&self) -> &PassOptions<'m> {
        &self.options
    }

    /// The next node of a cursor; `None` also if the interrupt of the options ends the work.
    pub fn next(&self, cursor: &mut Cursor) -> Option<NodeId> {
        if self.is_stopped() { None } else { cursor.next(self.model) }
    }

    /// Returns `true` if the interrupt of the options ends the work: a pass makes no further edits then.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.is_exhausted() || self.options.execution.interrupt.check().is_err()
    }

    /// Returns `true` if as many patches were made as the options allow.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.options.max_edits.is_some_and(|max| self.journal.len() >= max)
    }

    /// The patches that were committed, in order.
    #[must_use]
    pub fn journal(&self) -> &[Entry] {
        &self.journal
    }

    /// The journal, which outlives the context.
    #[must_use]
    pub fn into_journal(self) -> Vec<Entry> {
        self.journal
    }

    /// For edits that are compared with a checkpoint.
    pub(crate) fn model_mut(&mut self) -> &mut Model {
        self.node_names = None;
        self.references = None;
        self.model
    }

    /// The values that annotations, bindings and shardings name.
    pub(crate) fn references(&mut self) -> Arc<References> {
        let model = &*self.model;
        Arc::clone(self.references.get_or_insert_with(|| Arc::new(References::of(model))))
    }

    /// Discards the collected references, because new nodes can contain some.
    pub(crate) fn forget_references(&mut self) {
        self.references = None;
    }

    /// Counts the names of nodes, if that was not done.
    pub(crate) fn count_node_names(&mut self) {
        if self.node_names.is_some() {
            return;
        }
        let model = &*self.model;
        let mut names: HashMap<Symbol, usize, RandomState> = HashMap::default();
        for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
            let count = names.entry(model.node(node).name()).or_default();
            *count = count.saturating_add(1);
        }
        self.node_names = Some(names);
    }

    /// Renames copies of nodes where a node other than the original has their name: a branch that becomes part of
    /// another graph brings its names, and the body of a loop is copied for each run. `copied` are the names of copies.
    pub(crate) fn rename_copies(&mut self, copies: &[NodeId], copied: &mut HashSet<Symbol, RandomState>) {
        let Some(names) = &self.node_names else { return };
        for &node in copies {
            let name = self.model.node(node).name();
            if name.is_empty() {
                continue;
            }
            let is_taken = names.get(&name).is_some_and(|&count| count > 1);
            if !copied.insert(name) || is_taken {
                let prefix = self.model.str(name).to_owned();
                let fresh = self.model.fresh_name(&prefix);
                self.model.set_node_name(node, fresh);
            }
        }
    }

    pub(crate) fn record(&mut self, entry: Entry) {
        self.journal.push(entry);
        self.options.execution.progress.report(Step::of("edit", self.journal.len() as u64));
    }

    /// The state to which [`roll_back`](Self::roll_back) returns.
    pub(crate) fn checkpoint(&mut self) -> Checkpoint {
        if let Some(saved) = self.saved.take().filter(|saved| self.is_unchanged(saved)) {
            return Checkpoint { journal: self.journal.len(), assumed: self.assumed.clone(), ..saved };
        }
        Checkpoint {
            model: self.model.clone(),
            revision: self.model.revision(),
            journal: self.journal.len(),
            assumed: self.assumed.clone(),
        }
    }

    /// Returns `true` if the model was not edited since a checkpoint.
    pub(crate) fn is_unchanged(&self, checkpoint: &Checkpoint) -> bool {
        self.model.changes_since(&checkpoint.revision).is_empty()
    }

    /// Returns to a checkpoint.
    pub(crate) fn roll_back(&mut self, checkpoint: Checkpoint) {
        // Values that adopted facts after the checkpoint are gone, and later ones may have their keys.
        let is_inferred = self.revision == checkpoint.revision && self.adopted.is_empty();
        *self.model = checkpoint.model;
        self.references = None;
        self.journal.truncate(checkpoint.journal);
        self.assumed = checkpoint.assumed;
        self.adopted.clear();
        if is_inferred {
            // What was inferred at the checkpoint holds again; the record of edits is that of the restored copy.
            self.revision = self.model.revision();
        } else {
            self.refresh();
        }
    }

    /// Infers what the edits since the last inference concern.
    pub(crate) fn refresh(&mut self) {
        let changes = self.model.changes_since(&self.revision);
        if !changes.is_empty() {
            let options = inference_options(&self.options, self.assumes_guards);
            self.inference = std::mem::take(&mut self.inference).update(self.model, &options, &changes);
            self.revision = self.model.revision();
        }
        for (old, new) in std::mem::take(&mut self.adopted) {
            // Facts that are proved about the old value remain true, although the value is erased.
            self.inference.adopt(new, old);
        }
    }

    /// Prepares the results for an edit. If they will be those before it for some time, what depends on guards is found now:
    /// afterwards, nodes that conclude guards may be gone.
    pub(crate) fn begin_edit(&mut self) {
        self.credit = self.credit.saturating_add(WORK_OF_EDIT);
        if self.credit < 0 {
            self.inference.find_dependents(self.model);
        }
    }

    /// Takes an edit into account, at once or with later ones. `adopted` are the values that it replaces, each with the one that
    /// adopts what is known about it.
    pub(crate) fn end_edit(&mut self, adopted: Vec<(ValueId, ValueId)>) {
        if self.credit < 0 {
            adopted.iter().for_each(|&(old, new)| self.inference.adopt(new, old));
            self.adopted.extend(adopted);
            return;
        }
        self.adopted.extend(adopted);
        self.refresh();
        self.credit = self.credit.saturating_sub_unsigned(self.inference.work());
    }

    /// Infers everything again if edits were made since the last time and the model has functions, of which an incremental inference
    /// does not know what their calls pass. Returns `false` if nothing can be new.
    pub(crate) fn complete_inference(&mut self) -> bool {
        self.refresh();
        // Patches that were dropped change the record of edits, and nothing else.
        let is_edited = self.journal.len() != self.completed_at;
        self.completed_at = self.journal.len();
        if !std::mem::take(&mut self.is_partial) && (!is_edited || self.model.functions().is_empty()) {
            return false;
        }
        let options = inference_options(&self.options, self.assumes_guards);
        let inference = std::mem::take(&mut self.inference);
        self.inference = inference.update(self.model, &options, &Changes::Everything);
        self.revision = self.model.revision();
        self.idioms = None;
        true
    }

    /// Returns `true` if an inference without guards can tell more: edits may not rely on guards, and results depend on them.
    pub(crate) fn is_held_back_by_guards(&mut self) -> bool {
        self.refresh();
        self.assumes_guards && !self.options.allow_assumed && self.inference.has_dependents(self.model)
    }

    /// Selects the inference that edits rely on. With guards, it knows more about sizes. Without, nothing that it knows depends on
    /// a guard: where a size of a value does, the rank and the other sizes can still be used.
    pub(crate) fn assume_guards(&mut self, assumes: bool) {
        if self.assumes_guards == assumes {
            return;
        }
        self.refresh();
        self.assumes_guards = assumes;
        let (inference, revision) = self.other_inference.take().unwrap_or_else(|| {
            let options = inference_options(&self.options, assumes);
            (infer(self.model, &options), self.model.revision())
        });
        let before = std::mem::replace(&mut self.inference, inference);
        self.other_inference = Some((before, std::mem::replace(&mut self.revision, revision)));
        self.is_partial |= !self.model.functions().is_empty();
        self.refresh();
    }

    /// Begins an edit.
    pub fn patch<'p>(&'p mut self, pass: &str, class: Exactness) -> Patch<'p, 'm> {
        self.find_idioms();
        Patch::new(self, pass, class)
    }

    /// Tries an edit at each node of an operator of the default domain, in the main graph, nested graphs and functions: begins
    /// a patch for the node, lets `edit` fill it, and commits it. If `edit` returns a reason, the patch is dropped; the report
    /// has the node and the reason.
    pub fn rewrite(
        &mut self,
        pass: &str,
        class: Exactness,
        op: Symbol,
        edit: impl FnMut(&mut Patch<'_, 'm>, NodeId) -> Result<(), Reason>,
    ) -> Report {
        self.rewrite_nodes(pass, class, |model, node| model.node(node).is(op), edit)
    }

    /// Like [`rewrite`](Self::rewrite), at each node for which `is_candidate` returns `true`.
    pub fn rewrite_nodes(
        &mut self,
        pass: &str,
        class: Exactness,
        is_candidate: impl Fn(&Model, NodeId) -> bool,
        mut edit: impl FnMut(&mut Patch<'_, 'm>, NodeId) -> Result<(), Reason>,
    ) -> Report {
        self.refresh();
        let mut report = Report::default();
        let mut cursor = Cursor::all(self.model);
        while let Some(node) = self.next(&mut cursor) {
            if !self.options.selects(node) || !is_candidate(self.model, node) {
                continue;
            }
            let mut patch = self.patch(pass, class);
            patch.source(node);
            match edit(&mut patch, node) {
                Ok(()) => report.commit(patch),
                Err(reason) => report.miss(patch.model(), node, &reason),
            }
        }
        report
    }

    /// The justification of the inferred results of a value.
    pub(crate) fn justification(&self, value: ValueId) -> Justification {
        self.inference.justification(self.model, value)
    }

    /// The facts about a value that an equivalence may use.
    pub(crate) fn known(&self, value: ValueId) -> Known {
        Known {
            ty: self.inference.ty(value).to_type(),
            is_assumed: match self.options.allow_assumed {
                false => self.inference.depends_on_guards(self.model, value),
                // Guards that are not known cannot be listed.
                true => self.justification(value) == Justification::Unrecorded,
            },
            content: self.inference.content(value).cloned(),
        }
    }
}

/// Options for the inference of a pass.
fn inference_options<'a>(options: &PassOptions<'a>, assumes_guards: bool) -> InferOptions<'a> {
    InferOptions::default()
        .with_check_types(true)
        .with_data(options.data)
        .with_registry(options.registry)
        .with_execution(options.execution.clone())
        .with_assumed(assumes_guards)
}

impl fmt::Debug for PassCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassCx").field("journal", &self.journal).finish_non_exhaustive()
    }
}
