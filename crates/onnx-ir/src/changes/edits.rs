//! The changes between two revisions, summed up by entity.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::aspects::Aspects;
use super::recorder::{Entity, Entry};
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};

/// The changes of a model since a revision: see [`Model::changes_since`](crate::Model::changes_since).
#[derive(Clone, Debug)]
pub enum Changes {
    /// Anything may have changed, as the edits are not on record.
    Everything,
    /// These edits, and nothing else.
    Edits(Edits),
}

impl Changes {
    /// Returns `true` if the model is known to be as it was.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::Everything => false,
            Self::Edits(edits) => edits.is_empty(),
        }
    }

    /// The edits; `None` if they are not on record.
    #[must_use]
    pub const fn edits(&self) -> Option<&Edits> {
        match self {
            Self::Everything => None,
            Self::Edits(edits) => Some(edits),
        }
    }
}

/// The change of an entity between two revisions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// It is new.
    Created,
    /// It is gone.
    Erased,
    /// It was edited in these aspects. An aspect that was edited back is still listed.
    Changed(Aspects),
}

impl Change {
    /// The aspects that were edited; nothing for what is new or gone.
    #[must_use]
    pub const fn aspects(self) -> Aspects {
        match self {
            Self::Created | Self::Erased => Aspects::NONE,
            Self::Changed(aspects) => aspects,
        }
    }
}

/// The entities that were created, erased or edited between two revisions, in the order of their first edit. What was
/// created and erased again is not listed.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    entries: Vec<(Entity, Change)>,
    model: Aspects,
}

impl Edits {
    pub(super) fn new(log: &[Entry]) -> Self {
        let mut sums: Vec<(Entity, Aspects)> = Vec::new();
        let mut index: HashMap<Entity, usize, RandomState> = HashMap::default();
        for entry in log {
            let at = *index.entry(entry.entity).or_insert(sums.len());
            match sums.get_mut(at) {
                Some((_, aspects)) => *aspects |= entry.aspects,
                None => sums.push((entry.entity, entry.aspects)),
            }
        }
        let mut edits = Self::default();
        for (entity, aspects) in sums {
            let change = match (aspects.contains(Aspects::CREATED), aspects.contains(Aspects::ERASED)) {
                (true, true) => continue,
                (true, false) => Change::Created,
                (false, true) => Change::Erased,
                (false, false) => Change::Changed(aspects),
            };
            if entity == Entity::Model {
                edits.model = aspects;
            } else {
                edits.entries.push((entity, change));
            }
        }
        edits
    }

    /// Returns `true` if nothing was edited.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.model.is_empty()
    }

    /// The nodes that were created, erased or edited.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, Change)> + '_ {
        self.entries.iter().filter_map(|&(entity, change)| match entity {
            Entity::Node(node) => Some((node, change)),
            _ => None,
        })
    }

    /// The values that were created, erased or edited.
    pub fn values(&self) -> impl Iterator<Item = (ValueId, Change)> + '_ {
        self.entries.iter().filter_map(|&(entity, change)| match entity {
            Entity::Value(value) => Some((value, change)),
            _ => None,
        })
    }

    /// The graphs that were created, erased or edited. An edit of a node is not one of its graph.
    pub fn graphs(&self) -> impl Iterator<Item = (GraphId, Change)> + '_ {
        self.entries.iter().filter_map(|&(entity, change)| match entity {
            Entity::Graph(graph) => Some((graph, change)),
            _ => None,
        })
    }

    /// The functions that were created, erased or edited. An edit in a body is recorded for the entities there.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, Change)> + '_ {
        self.entries.iter().filter_map(|&(entity, change)| match entity {
            Entity::Function(function) => Some((function, change)),
            _ => None,
        })
    }

    /// The edited aspects of the model itself.
    #[must_use]
    pub const fn model(&self) -> Aspects {
        self.model
    }
}
