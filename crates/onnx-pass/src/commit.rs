//! The end of a patch: its proof, and its application to the model.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::AtomicU64;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_ir::{Def, MetadataEntry, Model, NodeId, OpsetImport, User, ValueId};
use onnx_schema::ir_version_for;

use crate::assumption::Exactness;
use crate::claim_key::ClaimKey;
use crate::collect::{Collected, Recorded, collect, is_inside};
use crate::cx::{Entry, PassCx, sources_of};
use crate::determinism::{BY_NAME, has_references, is_deterministic};
use crate::equivalence::Equivalence;
use crate::extract::extract;
use crate::inherit::inherit;
use crate::keys::KeySet;
use crate::patch::{Draft, Level, Patch, Proof, Refusal, RefusalReason};
use crate::prove::prove_metered;
use crate::query::label;
use crate::references::References;
use crate::static_levels::{self, Types};
use crate::structure::{self, Plan};
use crate::used_elements::used_elements;
use crate::verdict::Verdict;

/// Keys of the metadata that list what edits depend on.
pub(crate) const ASSUMED_KEY: &str = "onnx.pass.assumed.";

/// Why an edit is not tested after those before it took all operations of the pass.
const NO_STEPS: &str = "the proofs of the pass took as many operations as they may";

const STOPPED: &str = "the pass was stopped";

/// Number of nodes before a claim that are added to it to confirm a refutation.
const CONTEXT: usize = 64;

/// The level that fails, the reason, and the result of comparing values.
type Failed = (Level, String, Option<Verdict>);

impl Patch<'_, '_> {
    /// Proves the patch, and applies it if no level of the proof fails: uses of the old values become uses of the new ones,
    /// and nodes that nothing needs any more are erased.
    ///
    /// # Errors
    ///
    /// Returns a refusal if a level fails, or if a source is not among the nodes that the options [select](crate::PassOptions::only).
    /// The model is as it was before the patch then.
    pub fn commit(mut self) -> Result<Proof, Box<Refusal>> {
        let (plan, proof) = self.decide()?;
        self.apply(&plan, &proof);
        self.is_done = true;
        Ok(proof)
    }

    /// Proves the patch like [`commit`](Self::commit), and leaves the model as it was before the patch.
    ///
    /// # Errors
    ///
    /// Returns the refusal with which a commit would fail.
    pub fn verify(mut self) -> Result<Proof, Box<Refusal>> {
        self.decide().map(|(_, proof)| proof)
    }

    /// The effect of a commit, and its proof.
    fn decide(&mut self) -> Result<(Plan, Proof), Box<Refusal>> {
        self.examine().map_err(|refusal| {
            Box::new(Refusal { sources: sources_of(self.model(), &self.draft), ..*refusal })
        })
    }

    fn examine(&mut self) -> Result<(Plan, Proof), Box<Refusal>> {
        fn refuse(draft: &Draft, level: Level, reason: impl Into<RefusalReason>) -> Box<Refusal> {
            Box::new(Refusal::new(&draft.pass, level, reason))
        }
        if let Some((level, reason)) = self.excluded() {
            return Err(refuse(&self.draft, level, reason));
        }
        let references = self.cx.references();
        let plan = structure::check(self.cx.model(), &self.draft, &self.cx.options, &references)
            .map_err(|reason| refuse(&self.draft, Level::Structure, reason))?;
        if let Some(reason) = self.trained(&references) {
            return Err(refuse(&self.draft, Level::Structure, reason));
        }
        if let Some(except) = self.cx.options.except
            && plan.dying.iter().any(|node| except.contains(node))
        {
            return Err(refuse(&self.draft, Level::Structure, RefusalReason::not_selected()));
        }
        if let Some(reason) = self.cx.broken_idiom(&self.draft, &plan.dying) {
            return Err(refuse(&self.draft, Level::Class, reason));
        }
        let limits = &self.cx.options.execution.limits;
        let after = self.model().node_count().saturating_sub(plan.dying.len());
        if !self.draft.nodes.is_empty() && after as u64 > limits.nodes {
            let reason = format!("the model would have {after} nodes (limit `nodes`: {})", limits.nodes);
            return Err(refuse(&self.draft, Level::Structure, reason));
        }
        let proof = if self.cx.options.level > Level::Structure {
            let proved = self.prove().and_then(|proof| self.prove_restated(&plan.restated).map(|()| proof));
            proved.map_err(|(level, reason, verdict)| {
                Box::new(refuse(&self.draft, level, reason).with_verdict(verdict))
            })?
        } else if let Some(&node) = plan.restated.first() {
            let op = Quoted(self.model().str(self.model().node(node).op())).to_string();
            let reason = format!("{op} has another schema in the new version, and no proof was requested");
            return Err(refuse(&self.draft, Level::Structure, reason));
        } else {
            Proof { verdict: Verdict::Untested("no proof was requested".to_owned()), is_cached: false }
        };
        if let Verdict::Untested(reason) = &proof.verdict
            && self.cx.options.level >= Level::Values
            && !self.cx.options.allow_untested
        {
            let refusal = refuse(&self.draft, Level::Values, RefusalReason::untested(reason));
            return Err(Box::new(refusal.with_verdict(Some(proof.verdict))));
        }
        if let Err(stopped) = self.cx.options.execution.interrupt.check() {
            let reason = format!("the pass was stopped: {stopped}");
            return Err(refuse(&self.draft, Level::Values, reason));
        }
        Ok((plan, proof))
    }

    /// Why the options or the model exclude the edit, whatever it does.
    fn excluded(&self) -> Option<(Level, RefusalReason)> {
        let class = self.draft.class;
        if class > self.cx.options.class {
            return Some((Level::Class, format!("edits of class {class} are not allowed").into()));
        }
        if class == Exactness::Approximate {
            let reason = "a patch preserves results: `PassCx::approximate` makes edits that do not";
            return Some((Level::Class, reason.to_owned().into()));
        }
        if !self.is_selected() {
            return Some((Level::Structure, RefusalReason::not_selected()));
        }
        if self.cx.refers_by_name {
            return Some((Level::Structure, BY_NAME.to_owned().into()));
        }
        let reason = "as many edits are made as the options allow";
        self.cx.is_exhausted().then(|| (Level::Class, reason.to_owned().into()))
    }

    /// That the edit depends on the elements of an initializer that training sets; `None` if it does not.
    fn trained(&self, references: &References) -> Option<String> {
        let cx = &*self.cx;
        if !references.has_trained() {
            return None;
        }
        let content = |value| cx.inference.content(value).cloned();
        let used = used_elements(cx.model(), &self.draft.recorded, &content);
        let trained = used.elements.keys().filter(|&value| references.is_trained(value)).min()?;
        Some(format!("it depends on the elements of {}, which training sets", label(cx.model(), trained)))
    }

    /// Returns `true` if all sources are among the nodes that edits may be derived from.
    fn is_selected(&self) -> bool {
        self.draft.sources.iter().all(|&node| self.cx.options.selects(node))
    }

    /// The levels after structure.
    fn prove(&mut self) -> Result<Proof, Failed> {
        let unrequested =
            || Verdict::Untested("its values are not compared: that was not requested".to_owned());
        let compares_values = self.cx.options.level >= Level::Values;
        if self.is_congruent() {
            return Ok(Proof { verdict: Verdict::Proved("congruence"), is_cached: false });
        }
        if !compares_values && self.cx.options.on_claim.is_none() && self.makes_constants_only() {
            let types = static_levels::types_in_place(self.cx.model, &self.cx.inference, &self.draft.pairs);
            let label =
                |output: usize| self.draft.pairs.get(output).map(|&(old, _)| label(self.model(), old));
            self.judge(types, |output| label(output).unwrap_or_default())
                .map_err(|reason| (Level::Types, reason, None))?;
            return Ok(Proof { verdict: unrequested(), is_cached: false });
        }
        let untested = |reason| Ok(Proof { verdict: Verdict::Untested(reason), is_cached: false });
        let collected = match self.collect_claim(false) {
            Ok(collected) => collected,
            Err(reason) => return untested(reason),
        };
        let is_static = !compares_values && self.cx.options.on_claim.is_none();
        let key =
            self.in_region(false, |region| is_static.then(|| ClaimKey::of(region, &collected)).flatten());
        if key.as_ref().is_some_and(|key| self.cx.passed.contains(key)) {
            debug_assert!(self.passes(&collected), "claims with equal keys differ");
            return Ok(Proof { verdict: unrequested(), is_cached: false });
        }
        let eq = match self.in_region(false, |region| extract(region, &collected)) {
            Ok(eq) => eq,
            Err(reason) => return untested(reason),
        };
        if let Some(observe) = self.cx.options.on_claim {
            observe(&eq);
        }
        let error = static_levels::new_error(&eq, self.cx.options.registry);
        let (verdict, is_cached) = if compares_values { self.verdict(&eq) } else { (unrequested(), false) };
        let verdict = if compares_values { self.tested_in_context(verdict) } else { verdict };
        let proof = Proof { verdict, is_cached };
        if let Some(error) = error {
            return Err((Level::Rules, error, Some(proof.verdict)));
        }
        let types = static_levels::types(&eq, self.cx.options.registry);
        // Whether less precise types are accepted depends on the values themselves.
        let key = key.filter(|_| types == Types::Finer);
        if let Err(reason) = self.judge(types, |output| Quoted(&eq.output_label(output)).to_string()) {
            return Err((Level::Types, reason, Some(proof.verdict)));
        }
        if let Verdict::Refuted(counterexample) = &proof.verdict {
            if let Some(verdict) = self.tested_with_users() {
                return Ok(Proof { verdict, is_cached: false });
            }
            if let Some(why) = self.unconfirmed() {
                let reason = format!("{why}\n{counterexample}");
                return Err((Level::Values, reason.clone(), Some(Verdict::Untested(reason))));
            }
            let reason = format!("the results differ\n{counterexample}");
            return Err((Level::Values, reason, Some(proof.verdict)));
        }
        if let Some(key) = key {
            self.cx.passed.insert(key);
        }
        Ok(proof)
    }

    /// Whether a claim passes the levels that run nothing, and no less precise type is accepted for it.
    fn passes(&self, collected: &Collected) -> bool {
        let registry = self.cx.options.registry;
        self.in_region(false, |region| extract(region, collected)).is_ok_and(|eq| {
            static_levels::new_error(&eq, registry).is_none()
                && static_levels::types(&eq, registry) == Types::Finer
        })
    }

    /// The verdict of a refuted claim that holds where the nodes complete that use the replaced values: the sizes of these that the
    /// edit read can follow from a user, such as a `Reshape` that requires a number of elements.
    fn tested_with_users(&mut self) -> Option<Verdict> {
        let is_read = |&(old, _): &(ValueId, ValueId)| self.draft.recorded.contains(&Recorded::Shape(old));
        if !self.draft.pairs.iter().any(is_read) {
            return None;
        }
        let users = self.users();
        let count = self.draft.pairs.len();
        self.draft.pairs.extend(users.into_iter().map(|value| (value, value)));
        let claim = self.extract(false);
        self.draft.pairs.truncate(count);
        let verdict = self.verdict_of(&claim.ok()?).0;
        matches!(verdict, Verdict::Proved(_) | Verdict::Tested { .. }).then_some(verdict)
    }

    /// The results of nodes that run whenever the replaced values are computed, and that these are operands of.
    fn users(&self) -> Vec<ValueId> {
        let (model, registry) = (self.model(), self.cx.options.registry);
        let mut seen: KeySet<NodeId> = KeySet::default();
        let mut results = Vec::new();
        let mut open: VecDeque<ValueId> = self.draft.pairs.iter().map(|&(old, _)| old).collect();
        while let Some(value) = open.pop_front() {
            for at in model.value(value).uses() {
                let User::Node(node) = at.user else { continue };
                let is_part = model.node(node).graph() == model.graph_of(value)
                    && !self.draft.nodes.contains(&node)
                    && is_deterministic(model, node, registry)
                    && !has_references(model, node);
                if is_part && results.len() < CONTEXT && seen.insert(node, ()).is_none() {
                    let outputs = model.node(node).outputs().iter().flatten();
                    results.extend(outputs.clone());
                    open.extend(outputs);
                }
            }
        }
        results.retain(|value| self.draft.pairs.iter().all(|(old, _)| old != value));
        results
    }

    /// Why the refutation of the claim does not count: the sides do not differ if more nodes of the model are a part of it.
    /// `None` if they still differ.
    fn unconfirmed(&mut self) -> Option<String> {
        match self.verdict_in_context()? {
            Verdict::Refuted(_) => None,
            Verdict::Untested(why) => Some(format!(
                "the results differ for operands that the model may never have, and could not be compared for those that it \
                 computes: {why}"
            )),
            Verdict::Proved(_) | Verdict::Tested { .. } | Verdict::Measured { .. } => Some(
                "the results differ only for operands that the model does not compute: the edit relies on something about \
                 them that it has not queried"
                    .to_owned(),
            ),
        }
    }

    /// The verdict of a claim that could not be tested for any operands. It is tested with the operands that the model
    /// computes: the nodes that compute sizes become a part of the claim.
    fn tested_in_context(&mut self, verdict: Verdict) -> Verdict {
        if !matches!(verdict, Verdict::Untested(_)) {
            return verdict;
        }
        let in_context = self.verdict_in_context();
        in_context.filter(|in_context| !matches!(in_context, Verdict::Untested(_))).unwrap_or(verdict)
    }

    fn is_stopped(&self) -> bool {
        self.cx.options.execution.interrupt.check().is_err()
    }

    /// The verdict of the claim with some nodes before its inputs, with the constants of the model, or else with any constants.
    /// `None` if the claim cannot be larger.
    fn verdict_in_context(&mut self) -> Option<Verdict> {
        if self.is_stopped() {
            return Some(Verdict::Untested(STOPPED.to_owned()));
        }
        let taps = self.wider_taps()?;
        let taps = std::mem::replace(&mut self.draft.taps, taps);
        let mut last = Verdict::Untested(String::new());
        for with_constants in [true, false] {
            last = match self.extract(with_constants) {
                Ok(eq) => self.verdict_of(&eq).0,
                Err(reason) => Verdict::Untested(reason),
            };
            if !matches!(last, Verdict::Untested(_)) {
                break;
            }
        }
        self.draft.taps = taps;
        Some(last)
    }

    /// The values at which a larger claim begins: some nodes before the inputs of the claim are a part of it. `None` if the
    /// claim cannot be larger: its inputs are those of graphs.
    fn wider_taps(&self) -> Option<Vec<ValueId>> {
        let inputs = self.in_region(false, collect).ok()?.inputs;
        let (model, registry) = (self.model(), self.cx.options.registry);
        let producer = |value: ValueId| {
            let node = model.get_value(value)?.producer()?;
            let is_part = model.constant_tensor(value).is_none()
                && is_deterministic(model, node, registry)
                && !has_references(model, node);
            is_part.then_some(node)
        };
        let mut within: KeySet<NodeId> = KeySet::default();
        let mut taps = Vec::new();
        let has_constants = inputs.iter().any(|&input| model.constant_tensor(input).is_some());
        let mut open: VecDeque<ValueId> = inputs.into();
        let mut count = 0_usize;
        while let Some(value) = open.pop_front() {
            match producer(value).filter(|&node| count < CONTEXT || within.contains_key(node)) {
                Some(node) if within.insert(node, ()).is_none() => {
                    count = count.saturating_add(1);
                    model.for_each_use_within(node, |value| {
                        if !is_inside(model, value, node) {
                            open.push_back(value);
                        }
                    });
                }
                Some(_) => {}
                None => taps.push(value),
            }
        }
        (count > 0 || has_constants).then_some(taps)
    }

    /// Whether each old value and the new one are the same output of nodes that compute the same from the same operands.
    /// No claim is extracted then: whatever holds for one holds for the other.
    fn is_congruent(&self) -> bool {
        let (model, data) = (self.model(), self.cx.options.data);
        let is_same = |&(old, new): &(ValueId, ValueId)| {
            let place = |value: ValueId| match model.get_value(value)?.def() {
                Def::Output { node, index } => Some((node, index)),
                _ => None,
            };
            let (Some((one, index)), Some((two, other))) = (place(old), place(new)) else { return false };
            index == other && model.same_meaning(one, two, data)
        };
        self.draft.versions.is_empty() && self.draft.pairs.iter().all(is_same)
    }

    /// Whether the patch makes no nodes. Such a patch violates no rule about nodes, and its types can be compared in
    /// the model.
    fn makes_constants_only(&self) -> bool {
        let draft = &self.draft;
        draft.nodes.is_empty() && draft.functions.is_empty() && draft.versions.is_empty()
    }

    /// Why the types of the new values are refused; `label` names an old one.
    fn judge(&self, types: Types, label: impl Fn(usize) -> String) -> Result<(), String> {
        match types {
            Types::Finer => Ok(()),
            Types::CannotRun(reason) => Err(format!("the new nodes cannot run: {reason}")),
            Types::Contradiction(output, reason) => {
                Err(format!("the type of what replaces {} contradicts it: {reason}", label(output)))
            }
            Types::Coarser(output, reason) => {
                let is_known = self.draft.pairs.get(output).is_some_and(|&(old, _)| {
                    self.model().is_known_output(old) && self.model().ty(old).is_none()
                });
                match is_known {
                    true => {
                        Err(format!("the output {} of the model is less precise: {reason}", label(output)))
                    }
                    false => Ok(()),
                }
            }
        }
    }

    /// Proves that nodes that are not erased compute the same in the new versions of operator sets. Equal nodes are
    /// proved once.
    fn prove_restated(&mut self, nodes: &[NodeId]) -> Result<(), Failed> {
        for &node in nodes {
            let record = self.model().node(node);
            let op = Quoted(self.model().str(record.op())).to_string();
            let outputs: Vec<ValueId> = record.outputs().iter().flatten().copied().collect();
            let draft = Draft {
                class: Exactness::Exact,
                taps: record.inputs().flatten().collect(),
                pairs: outputs.into_iter().map(|output| (output, output)).collect(),
                versions: self.draft.versions.clone(),
                ..Draft::new(&self.draft.pass, self.draft.class)
            };
            let draft = std::mem::replace(&mut self.draft, draft);
            let result = self.prove();
            let proved = std::mem::replace(&mut self.draft, draft);
            // Guards of the types of its operands.
            proved.recorded.into_iter().for_each(|recorded| self.record(recorded));
            let because = |reason: String| format!("{op} has another meaning in the new version: {reason}");
            let proof = result.map_err(|(level, reason, verdict)| (level, because(reason), verdict))?;
            if let Verdict::Untested(reason) = &proof.verdict {
                let reason =
                    format!("the meaning of {op} in the new version could not be compared: {reason}");
                return Err((Level::Structure, reason, Some(proof.verdict)));
            }
        }
        Ok(())
    }

    /// The verdict about values, and whether it is that of an earlier patch.
    fn verdict(&mut self, eq: &Equivalence) -> (Verdict, bool) {
        let (verdict, is_cached) = self.verdict_of(eq);
        if matches!(verdict, Verdict::Untested(_))
            && let Ok(eq) = self.extract(true)
        {
            // Whether the old side completes can depend on operands that are constants in the model.
            return self.verdict_of(&eq);
        }
        (verdict, is_cached)
    }

    /// The verdict about one claim, and whether it is known from an earlier one.
    fn verdict_of(&mut self, eq: &Equivalence) -> (Verdict, bool) {
        // A claim can hold all weights of a model, so that even its digest takes long.
        if self.is_stopped() {
            return (Verdict::Untested(STOPPED.to_owned()), false);
        }
        let hash = eq.hash().ok();
        if let Some(known) = hash.and_then(|hash| self.cx.verdicts.get(&hash)) {
            return (known.clone(), true);
        }
        if self.cx.proof_steps >= self.cx.most_proof_steps {
            return (Verdict::Untested(NO_STEPS.to_owned()), false);
        }
        let steps = AtomicU64::new(0);
        let verdict = prove_metered(eq, &self.cx.options, &steps);
        self.cx.proof_steps = self.cx.proof_steps.saturating_add(steps.into_inner());
        if let Some(hash) = hash {
            self.cx.verdicts.insert(hash, verdict.clone());
        }
        (verdict, false)
    }

    /// The pairs whose new value is known to be what is inferred about the old one: where both are in one graph, and without
    /// a guard, which the table of the new value would not name.
    fn adopted(&self) -> Vec<(ValueId, ValueId)> {
        let model = self.model();
        let is_adopted = |&(old, new): &(ValueId, ValueId)| {
            !self.cx.inference.depends_on_guards(model, old) && model.graph_of(old) == model.graph_of(new)
        };
        self.draft.pairs.iter().copied().filter(is_adopted).collect()
    }

    fn apply(&mut self, plan: &Plan, proof: &Proof) {
        self.cx.record(Entry::new(self.cx.model, &self.draft, proof));
        let adopted = self.adopted();
        self.cx.saved = None;
        self.cx.begin_edit();
        let model = &mut *self.cx.model;
        inherit(model, &self.draft);
        let scope = self.draft.pairs.first().map(|&(old, _)| model.graph_of(old));
        let function = scope.and_then(|graph| structure::function_around(model, graph));
        for &(old, new) in &self.draft.pairs {
            // It fails only for values that are not outputs of nodes, and these are not replaced.
            let _ = model.replace_or_alias(old, new);
        }
        for &node in &plan.dying {
            if model.is_dead(node) {
                // A node without uses can always be erased.
                let _ = model.erase_node(node);
            }
        }
        for &(domain, version) in &self.draft.versions {
            if let Some(function) = function {
                // The function does not import the operator set yet.
                model.function_mut(function).opset_imports.push(OpsetImport::new(domain, version));
                continue;
            }
            let mut info = model.info_mut();
            let mut is_imported = false;
            for import in info.opset_imports.iter_mut().filter(|import| import.domain() == domain) {
                import.set_version(version);
                is_imported = true;
            }
            if !is_imported {
                info.opset_imports.push(OpsetImport::new(domain, version));
            }
            info.ir_version = info.ir_version.max(ir_version_for(domain, version).unwrap_or(0));
        }
        write_assumed(self.cx, &self.draft);
        self.cx.end_edit(adopted);
    }
}

/// The conditions that earlier edits of a model depended on, as lines of its metadata.
pub(crate) fn assumed_in(model: &Model) -> HashSet<String, RandomState> {
    let entries = model.info().metadata.iter();
    let entries = entries.filter(|entry| model.str(entry.key()).starts_with(ASSUMED_KEY));
    entries.map(|entry| entry.value().to_string()).collect()
}

/// Writes the guards and conditions that a patch depends on into the metadata of the model. Edits of one pass that depend on
/// the same condition are one line.
fn write_assumed(cx: &mut PassCx<'_>, draft: &Draft) {
    let mut entries = Vec::new();
    let count = cx.model.info().metadata.len();
    for text in draft.assumed() {
        let text = format!("{}: {text}", draft.pass);
        if cx.assumed.insert(text.clone()) {
            let number = count.saturating_add(entries.len());
            entries.push(MetadataEntry::new(cx.model.intern(&format!("{ASSUMED_KEY}{number}")), text));
        }
    }
    // Editing the information of a model copies it.
    if !entries.is_empty() {
        cx.model.info_mut().metadata.extend(entries);
    }
}
