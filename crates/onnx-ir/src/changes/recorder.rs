//! The log of edits.

use std::sync::{Arc, OnceLock};

use super::aspects::Aspects;
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};

/// Maximum number of edits on record: 2 MiB. The older half is dropped when it is reached.
#[cfg(not(test))]
const CAPACITY: usize = 1 << 17;
#[cfg(test)]
const CAPACITY: usize = 1 << 12;

/// Something that is edited.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Entity {
    Model,
    Function(FunctionId),
    Graph(GraphId),
    Node(NodeId),
    Value(ValueId),
}

macro_rules! entity_from {
    ($($variant:ident($key:ty)),*) => {$(
        impl From<$key> for Entity {
            fn from(key: $key) -> Self {
                Self::$variant(key)
            }
        }
    )*};
}

entity_from!(Function(FunctionId), Graph(GraphId), Node(NodeId), Value(ValueId));

/// One edit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(super) entity: Entity,
    pub(super) aspects: Aspects,
}

/// A state of a model in its history: see [`Model::revision`](crate::Model::revision).
///
/// A clone of a model has a separate history, so the revisions of one are foreign to the other.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Identifies the model. It is compared by address, which stays in use as long as the revision exists.
    lineage: Arc<()>,
    number: u64,
}

impl PartialEq for Revision {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lineage, &other.lineage) && self.number == other.number
    }
}

impl Eq for Revision {}

/// The record of the edits of one model.
#[derive(Default, Debug)]
pub(crate) struct Recorder {
    /// Set by the first request for a revision; before, nothing is recorded.
    lineage: OnceLock<Arc<()>>,
    /// The number of edits that were dropped from the front of `entries`.
    dropped: u64,
    entries: Vec<Entry>,
}

/// A clone begins a separate history.
impl Clone for Recorder {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Recorder {
    pub(super) fn revision(&self) -> Revision {
        let lineage = Arc::clone(self.lineage.get_or_init(|| Arc::new(())));
        Revision { lineage, number: self.number() }
    }

    fn number(&self) -> u64 {
        self.dropped.saturating_add(self.entries.len() as u64)
    }

    /// The edits since a revision; `None` if they are not on record.
    pub(super) fn since(&self, revision: &Revision) -> Option<&[Entry]> {
        let lineage = self.lineage.get()?;
        if !Arc::ptr_eq(lineage, &revision.lineage) {
            return None;
        }
        let index = revision.number.checked_sub(self.dropped)?;
        self.entries.get(usize::try_from(index).ok()?..)
    }

    /// Whether edits are recorded.
    #[inline]
    pub(crate) fn is_on(&mut self) -> bool {
        self.lineage.get_mut().is_some()
    }

    /// Records an edit; does nothing for an empty set of aspects.
    #[inline]
    pub(crate) fn record(&mut self, entity: impl Into<Entity>, aspects: Aspects) {
        if self.is_on() {
            self.push(entity.into(), aspects);
        }
    }

    fn push(&mut self, entity: Entity, aspects: Aspects) {
        if aspects.is_empty() {
            return;
        }
        if self.entries.len() >= CAPACITY {
            self.entries.drain(..CAPACITY / 2);
            self.dropped = self.dropped.saturating_add(CAPACITY as u64 / 2);
        }
        self.entries.push(Entry { entity, aspects });
    }

    /// Replaces the aspects of the last edit, or removes it if they are empty.
    pub(super) fn correct(&mut self, aspects: Aspects) {
        if aspects.is_empty() {
            self.entries.pop();
        } else if let Some(entry) = self.entries.last_mut() {
            entry.aspects = aspects;
        }
    }
}
