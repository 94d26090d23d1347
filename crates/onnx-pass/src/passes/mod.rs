//! Passes, each a function of a [`PassCx`](crate::PassCx). They return the number of edits and the refusals.

mod batch_normalization;
mod conditional;
mod reshape;
mod subexpression;
mod version;

pub use batch_normalization::fold_batch_normalization;
pub use conditional::splice_conditionals;
pub use reshape::remove_reshapes;
pub use subexpression::merge_subexpressions;
pub use version::squeeze_to_13;

use std::fmt;

use onnx_diag::Quoted;
use onnx_ir::{Model, NodeId};

use crate::patch::{Patch, Refusal};
use crate::query::Reason;

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
}

/// A node that a pass left as it is.
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

    /// Commits a patch and counts it.
    pub fn commit(&mut self, patch: Patch<'_, '_>) {
        match patch.commit() {
            Ok(_) => self.edits = self.edits.saturating_add(1),
            Err(refusal) => self.refusals.push(*refusal),
        }
    }
}
