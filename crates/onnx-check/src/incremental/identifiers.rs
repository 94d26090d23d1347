//! The names of a model that are not identifiers, kept up to date with its edits.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use foldhash::fast::RandomState;
use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_types::Symbol;

use crate::rules::graph::name_not_identifier::{WrongNames, for_each_name, is_wrong};

/// An entity with a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Named {
    Graph(GraphId),
    Node(NodeId),
    Value(ValueId),
}

/// The names of a model that are not identifiers.
#[derive(Default)]
pub(super) struct WrongNameTable {
    /// The wrong name of each entity of the model that has one.
    names: HashMap<Named, Symbol, RandomState>,
    /// For each wrong name, the number of entities that have it.
    counts: BTreeMap<Symbol, u32>,
}

impl WrongNameTable {
    pub(super) fn new(model: &Model) -> Self {
        let mut table = Self::default();
        let _ = for_each_name(model, |named, name| {
            table.set(named, Some(name).filter(|&name| is_wrong(model, name)));
            ControlFlow::<()>::Continue(())
        });
        table
    }

    /// Sets the wrong name of an entity; `None` if its name is right or it is not part of the model.
    pub(super) fn set(&mut self, named: Named, name: Option<Symbol>) {
        let before = match name {
            Some(name) => self.names.insert(named, name),
            None => self.names.remove(&named),
        };
        if before == name {
            return;
        }
        if let Some(name) = name {
            let count = self.counts.entry(name).or_default();
            *count = count.saturating_add(1);
        }
        if let Some(before) = before
            && let Some(count) = self.counts.get_mut(&before)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(&before);
            }
        }
    }

    pub(super) fn summary(&self) -> WrongNames {
        let example = self.counts.first_key_value().map(|(&name, _)| name);
        WrongNames { count: self.counts.len() as u64, example }
    }
}
