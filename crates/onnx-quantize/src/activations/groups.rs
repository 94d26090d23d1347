//! Values that have one scale.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::ValueId;

/// Disjoint sets of values.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    parent: HashMap<ValueId, ValueId, RandomState>,
    /// Number of values of a set that has more than one, by its representative.
    sizes: HashMap<ValueId, usize, RandomState>,
}

impl Groups {
    /// The representative of a value.
    pub(crate) fn of(&self, value: ValueId) -> ValueId {
        let mut at = value;
        while let Some(&next) = self.parent.get(&at) {
            at = next;
        }
        at
    }

    /// Makes one set of those of some values.
    pub(crate) fn join(&mut self, values: &[ValueId]) {
        let Some((&first, rest)) = values.split_first() else { return };
        for &value in rest {
            let (a, b) = (self.of(first), self.of(value));
            if a == b {
                continue;
            }
            // The smaller set is joined to the larger one, so that paths are short.
            let size = |value| self.sizes.get(&value).copied().unwrap_or(1);
            let sum = size(a) + size(b);
            let (root, other) = if size(a) < size(b) { (b, a) } else { (a, b) };
            self.parent.insert(other, root);
            self.sizes.insert(root, sum);
        }
    }
}
