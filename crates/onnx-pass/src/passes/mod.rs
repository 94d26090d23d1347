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

use crate::patch::{Patch, Refusal};

/// What a pass did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Number of edits that were committed.
    pub edits: usize,
    /// Edits that were refused. The model does not have them.
    pub refusals: Vec<Refusal>,
}

impl Report {
    /// Commits a patch and counts it.
    pub(crate) fn commit(&mut self, patch: Patch<'_, '_>) {
        match patch.commit() {
            Ok(_) => self.edits = self.edits.saturating_add(1),
            Err(refusal) => self.refusals.push(*refusal),
        }
    }
}
