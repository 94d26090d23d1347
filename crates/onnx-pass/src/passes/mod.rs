//! Passes, each a function of a [`PassCx`]. They return the number of edits and the refusals.

mod constants_as_initializers;
mod explicit_default_attributes;
mod folded_batch_normalization;
mod folded_constants;
mod initializers_as_constants;
mod initializers_as_inputs;
mod known_elements;
mod no_dead_nodes;
mod no_default_attributes;
mod no_documentation;
mod no_identities;
mod no_initializer_inputs;
mod no_known_branches;
mod no_metadata;
mod no_nested_initializers;
mod no_short_loops;
mod no_unused_functions;
mod no_unused_imports;
mod no_unused_initializers;
mod no_unused_outputs;
mod no_value_info;
mod no_zero_states;
mod short_names;
mod sorted;
#[cfg(test)]
mod table;
mod unique_constants;
mod unique_functions;
mod unique_names;
mod unique_subexpressions;
mod unrolled_loops;
mod value_info;

pub use constants_as_initializers::constants_as_initializers;
pub use explicit_default_attributes::explicit_default_attributes;
pub use folded_batch_normalization::folded_batch_normalization;
pub use folded_constants::folded_constants;
pub use initializers_as_constants::initializers_as_constants;
pub use initializers_as_inputs::initializers_as_inputs;
pub use known_elements::known_elements;
pub use no_dead_nodes::no_dead_nodes;
pub use no_default_attributes::no_default_attributes;
pub use no_documentation::no_documentation;
pub use no_identities::no_identities;
pub use no_initializer_inputs::no_initializer_inputs;
pub use no_known_branches::no_known_branches;
pub use no_metadata::no_metadata;
pub use no_nested_initializers::no_nested_initializers;
pub use no_short_loops::no_short_loops;
pub use no_unused_functions::no_unused_functions;
pub use no_unused_imports::no_unused_imports;
pub use no_unused_initializers::no_unused_initializers;
pub use no_unused_outputs::no_unused_outputs;
pub use no_value_info::no_value_info;
pub use no_zero_states::no_zero_states;
pub use short_names::short_names;
pub use sorted::sorted;
pub use unique_constants::unique_constants;
pub use unique_functions::unique_functions;
pub use unique_names::unique_names;
pub use unique_subexpressions::unique_subexpressions;
pub use unrolled_loops::unrolled_loops;
pub use value_info::value_info;

use std::collections::BTreeMap;
use std::fmt;

use onnx_diag::Quoted;
use onnx_ir::{Model, NodeId};

use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::{Level, Patch, Refusal};
use crate::query::Reason;
use crate::verdict::Verdict;

/// All passes with a record, those that other passes rely on first.
pub(crate) fn all() -> Vec<Pass> {
    vec![
        sorted::pass(),
        no_dead_nodes::pass(),
        no_unused_initializers::pass(),
        no_unused_functions::pass(),
        no_unused_imports::pass(),
        no_unused_outputs::pass(),
        constants_as_initializers::pass(),
        initializers_as_constants::pass(),
        no_nested_initializers::pass(),
        unique_constants::pass(),
        no_identities::pass(),
        known_elements::pass(),
        folded_constants::pass(),
        no_known_branches::pass(),
        no_short_loops::pass(),
        unrolled_loops::pass(),
        no_zero_states::pass(),
        unique_subexpressions::pass(),
        unique_functions::pass(),
        folded_batch_normalization::pass(),
        no_default_attributes::pass(),
        explicit_default_attributes::pass(),
        unique_names::pass(),
        short_names::pass(),
        value_info::pass(),
        no_value_info::pass(),
        no_documentation::pass(),
        no_metadata::pass(),
        no_initializer_inputs::pass(),
        initializers_as_inputs::pass(),
    ]
}

/// The result of a pass.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Number of edits that were committed.
    pub edits: usize,
    /// Edits that were refused. The model does not have them.
    pub refusals: Vec<Refusal>,
    /// Candidates that are not of the form that the pass edits, with the reason.
    pub missed: Vec<Missed>,
    /// Number of edits whose values could not be compared, by reason. They are refused, or made if the options
    /// [allow](crate::PassOptions::allow_untested) that. Below [`Level::Values`] no values are compared, and none are counted.
    pub untested: BTreeMap<String, usize>,
}

/// A node that a pass did not edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// The name of the node, or of its first output if it has none.
    pub node: String,
    /// The reason, as a clause.
    pub reason: String,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Quoted(&self.node), self.reason)
    }
}

impl Report {
    /// Records that a node is not edited, and the reason.
    pub fn miss(&mut self, model: &Model, node: NodeId, reason: &Reason) {
        let Some(record) = model.get_node(node) else { return };
        let output = || record.output(0).map(|value| model.value(value).name());
        let name = Some(record.name()).filter(|name| !name.is_empty()).or_else(output);
        let name = name.map(|name| model.str(name).to_owned()).unwrap_or_default();
        self.missed.push(Missed { node: name, reason: reason.to_string() });
    }

    /// Adds the report of another step of the same pass.
    pub fn extend(&mut self, other: Self) {
        self.edits = self.edits.saturating_add(other.edits);
        self.refusals.extend(other.refusals);
        self.missed.extend(other.missed);
        self.count_untested(other.untested);
    }

    fn count_untested(&mut self, more: BTreeMap<String, usize>) {
        for (reason, count) in more {
            let slot = self.untested.entry(reason).or_default();
            *slot = slot.saturating_add(count);
        }
    }

    /// Adds the report of a later run of the same pass. Nodes that are not edited are reported in each run: those of
    /// the last run apply.
    pub(crate) fn add(&mut self, later: Self) {
        self.edits = self.edits.saturating_add(later.edits);
        self.refusals.extend(later.refusals);
        self.missed = later.missed;
        self.count_untested(later.untested);
    }

    /// Commits a patch and counts it. A patch with a source that is not [selected](crate::PassOptions::only) is dropped.
    pub fn commit(&mut self, patch: Patch<'_, '_>) {
        let is_compared = patch.options().level >= Level::Values;
        let result = patch.commit();
        let verdict =
            result.as_ref().map_or_else(|refusal| refusal.verdict.as_ref(), |proof| Some(&proof.verdict));
        if let Some(Verdict::Untested(reason)) = verdict.filter(|_| is_compared) {
            self.count_untested(BTreeMap::from([(reason.clone(), 1)]));
        }
        match result {
            Ok(_) => self.edits = self.edits.saturating_add(1),
            Err(refusal) if refusal.is_outside_selection() => {}
            Err(refusal) => self.refusals.push(*refusal),
        }
    }
}

/// Runs a pass until it edits nothing, for nodes that its edits copy to places which a run does not visit again. Refusals and
/// nodes that are left are those of the last run.
pub(crate) fn until_idle<'m>(cx: &mut PassCx<'m>, mut run: impl FnMut(&mut PassCx<'m>) -> Report) -> Report {
    let mut edits = 0_usize;
    loop {
        cx.refresh();
        let report = run(cx);
        edits = edits.saturating_add(report.edits);
        if report.edits == 0 {
            return Report { edits, ..report };
        }
    }
}
