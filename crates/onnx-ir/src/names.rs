//! The names that values are written with.
//!
//! In a model in memory names are data: they may be missing, or the same for many values. A file identifies values only
//! by their names, so before a model is written a [`NamePlan`] determines the name of each value. It changes as few
//! names as possible, preferably none that callers know, and takes time linear in the model.
//!
//! # How names are looked up
//!
//! A name used in a graph means the definition in that graph, or else in the nearest enclosing one. Valid models define
//! a name once among all graphs that see each other; then it does not matter whether a reader considers all definitions
//! of a graph or only those before the use. Invalid files define names twice or hide outer ones. Those names stay as
//! long as both kinds of readers find the correct value; a value that is used under a name its own graph defines twice
//! is renamed.

use onnx_types::Symbol;
use slotmap::SecondaryMap;

use crate::changes::Aspects;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::extras::ValueRef;
use crate::graph::Owner;
use crate::model::Model;
use crate::value::{Def, ValueFlags};
use crate::walk::Event;

/// The longest part of an old name that a fresh name repeats, in bytes.
const LONGEST_PREFIX: usize = 64;

/// Decides the name that each value of a model is written with; [`Model::name_plan`] makes it.
///
/// It holds for the model as it was when the plan was made.
#[derive(Clone, Debug, Default)]
pub struct NamePlan {
    /// The index in `names` of the fresh name of a value.
    fresh: SecondaryMap<ValueId, u32>,
    names: Vec<Box<str>>,
}

impl NamePlan {
    /// Whether every value is written with the name it has.
    #[must_use]
    pub const fn is_trivial(&self) -> bool {
        self.names.is_empty()
    }

    /// The name to write a value with.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn name<'a>(&'a self, value: ValueId, model: &'a Model) -> &'a str {
        if !self.is_trivial()
            && let Some(fresh) = self.fresh_name(value)
        {
            return fresh;
        }
        model.str(model.value(value).name())
    }

    /// The name that a reference is written with; `None` when its value is gone.
    #[must_use]
    pub fn reference<'a>(&'a self, reference: ValueRef, model: &'a Model) -> Option<&'a str> {
        match reference {
            ValueRef::Name(name) => Some(model.str(name)),
            ValueRef::Value(value) => model.get_value(value).map(|_| self.name(value, model)),
        }
    }

    /// The new name of a value that is not written with its own.
    #[must_use]
    pub fn fresh_name(&self, value: ValueId) -> Option<&str> {
        let &position = self.fresh.get(value)?;
        self.names.get(position as usize).map(AsRef::as_ref)
    }

    fn is_renamed(&self, value: ValueId) -> bool {
        self.fresh.contains_key(value)
    }
}

impl Model {
    /// Settles the names that values are written with, so that every name used in the written model means the value that
    /// is used here.
    ///
    /// Values that are defined but have no name get one, and so does one of any two that would be mistaken for each other.
    /// Inputs and outputs of the main graph and of functions keep their names unless two of them have the same, and an
    /// unresolved value always does, as its name is all it has. Names that a file gives several times stay as they were
    /// read as long as every use of them finds its value.
    ///
    /// It takes time linear in the model, and next to none where nothing that bears on names was edited.
    #[must_use]
    pub fn name_plan(&self) -> NamePlan {
        if !self.names_touched {
            return NamePlan::default();
        }
        let mut walk = Planner::new(self);
        for root in self.roots() {
            walk.root(root);
        }
        walk.plan
    }

    /// Sets the name of every value to that of [`Model::name_plan`].
    pub fn settle_names(&mut self) {
        let NamePlan { fresh, names } = self.name_plan();
        for (value, position) in &fresh {
            if let (Some(name), Some(record)) = (names.get(*position as usize), self.values.get_mut(value)) {
                record.name = self.names.intern(name);
                record.flags.set(ValueFlags::NAME_AS_READ, false);
                self.changes.record(value, Aspects::NAME);
            }
        }
        self.names_touched = false;
    }

    /// Whether an edit may have made names collide since they were last known to be in order.
    #[must_use]
    pub const fn names_touched(&self) -> bool {
        self.names_touched
    }
}

/// One definition of a name in the graphs around the current one.
struct Entry {
    value: ValueId,
    /// The definition that counts if this one gets another name: an [`Entry`] by position plus one, 0 for none.
    below: u32,
    /// The last definition of the same name in the same graph, as `below` has it.
    tail: u32,
}

struct Planner<'a> {
    model: &'a Model,
    plan: NamePlan,
    /// By symbol: the definition that a name means here, as [`Entry::below`] has it.
    meaning: Vec<u32>,
    entries: Vec<Entry>,
    /// The entries of `meaning` to restore when graphs are left.
    log: Vec<(Symbol, u32)>,
    /// Values that callers know by name.
    known: SecondaryMap<ValueId, ()>,
    counter: u64,
    /// The lengths of `log` and `entries` before each graph that is open.
    marks: Vec<(usize, usize)>,
}

impl<'a> Planner<'a> {
    fn new(model: &'a Model) -> Self {
        Self {
            model,
            plan: NamePlan::default(),
            meaning: vec![0; model.names.len()],
            entries: Vec::new(),
            log: Vec::new(),
            known: SecondaryMap::new(),
            counter: 0,
            marks: Vec::new(),
        }
    }

    /// Goes through an outermost graph and everything nested in it.
    fn root(&mut self, root: GraphId) {
        let record = &self.model.graphs[root];
        if matches!(record.owner, Owner::Model | Owner::Function(_)) {
            let outputs = record.outputs.iter().map(|output| output.value);
            for value in record.inputs.iter().copied().chain(outputs) {
                self.known.insert(value, ());
            }
        }
        for event in self.model.walk(root).with_algorithms() {
            match event {
                Event::Enter(graph) => self.enter(graph),
                Event::Node(node) => {
                    self.model.nodes[node].used_values().for_each(|value| self.look_up(value, Some(node)));
                }
                Event::After(_) => {}
                Event::Leave(_) => self.leave(),
            }
        }
    }

    /// Forgets what the innermost graph defines.
    fn leave(&mut self) {
        let Some((log, entries)) = self.marks.pop() else { return };
        while self.log.len() > log {
            if let Some((name, meaning)) = self.log.pop() {
                self.meaning[name.index() as usize] = meaning;
            }
        }
        self.entries.truncate(entries);
    }

    fn enter(&mut self, graph: GraphId) {
        let model = self.model;
        let base = self.entries.len();
        self.marks.push((self.log.len(), base));
        let record = &model.graphs[graph];
        for &value in &record.inputs {
            self.define(value, base);
        }
        for value in model.initializers(graph) {
            if matches!(model.values[value].def, Def::Initializer(_)) {
                self.define(value, base);
            }
        }
        for node in model.nodes(graph) {
            for &value in model.nodes[node].outputs.iter().flatten() {
                self.define(value, base);
            }
        }
        for output in &record.outputs {
            // An outer value is used at the node that owns this graph.
            let inner = model.graph_of(output.value) == graph;
            self.look_up(output.value, if inner { None } else { model.owner_node(graph) });
        }
    }

    /// Registers a definition; `base` is where the entries of its graph begin.
    fn define(&mut self, value: ValueId, base: usize) {
        let record = &self.model.values[value];
        let name = record.name;
        if self.plan.is_renamed(value) {
            return;
        }
        let as_read = record.is_name_as_read();
        if name.is_empty() {
            if !as_read {
                self.rename(value);
            }
            return;
        }
        while let Some((at, other)) = self.meaning_of(name) {
            if other == value {
                return;
            }
            if as_read {
                if at >= base {
                    self.append_to(at, value);
                    return;
                }
                break;
            }
            if self.known.contains_key(value) && !self.known.contains_key(other) {
                self.rename(other);
            } else {
                self.rename(value);
                return;
            }
        }
        let below = self.meaning[name.index() as usize];
        self.entries.push(Entry { value, below, tail: 0 });
        self.log.push((name, below));
        self.meaning[name.index() as usize] = self.entries.len() as u32;
    }

    /// Registers a definition that does not count, as `first` of the same graph has its name.
    fn append_to(&mut self, first: usize, value: ValueId) {
        let last = match self.entries[first].tail {
            0 => first,
            tail => tail as usize - 1,
        };
        let below = self.entries[last].below;
        self.entries.push(Entry { value, below, tail: 0 });
        let position = self.entries.len() as u32;
        self.entries[last].below = position;
        self.entries[first].tail = position;
    }

    /// Makes sure that the name of a value used by `user` (or as a graph's output) means this value, or nothing at all
    /// where nothing defines it.
    fn look_up(&mut self, value: ValueId, user: Option<NodeId>) {
        if self.plan.is_renamed(value) {
            return;
        }
        let record = &self.model.values[value];
        if record.name.is_empty() {
            self.rename(value);
            return;
        }
        while let Some((at, other)) = self.meaning_of(record.name) {
            let known = self.known.contains_key(value);
            if other == value {
                let repeated = self.entries[at].tail != 0;
                if known && repeated {
                    self.rename_others(at);
                } else if repeated || !self.is_found_early(at, user) {
                    self.rename(value);
                }
                return;
            }
            let keep = match record.def {
                Def::Unresolved(_) => true,
                _ => known && !self.known.contains_key(other),
            };
            if !keep {
                self.rename(value);
                return;
            }
            self.rename(other);
        }
    }

    /// Renames the other definitions of a name in the same graph, except those that callers know.
    fn rename_others(&mut self, first: usize) {
        let end = std::mem::take(&mut self.entries[first].tail);
        let mut at = first as u32 + 1;
        while at != end && at != 0 {
            at = self.entries[at as usize - 1].below;
            let Some(other) = at.checked_sub(1).map(|position| self.entries[position as usize].value) else {
                break;
            };
            if !self.plan.is_renamed(other) && !self.known.contains_key(other) {
                self.rename(other);
            }
        }
    }

    /// Whether a reader that looks only at definitions before the use finds this one although it hides an outer one.
    fn is_found_early(&self, at: usize, user: Option<NodeId>) -> bool {
        let Entry { value, below, .. } = self.entries[at];
        let Def::Output { node, .. } = self.model.values[value].def else { return true };
        let Some(user) = user.filter(|_| below != 0) else { return true };
        let graph = self.model.nodes[node].graph;
        self.model.ancestor_in(user, graph).is_some_and(|user| self.model.is_before(node, user))
    }

    /// The definition that a name means here, and the position of its entry.
    fn meaning_of(&mut self, name: Symbol) -> Option<(usize, ValueId)> {
        loop {
            let at = (self.meaning[name.index() as usize] as usize).checked_sub(1)?;
            let Entry { value, below, tail } = self.entries[at];
            if !self.plan.is_renamed(value) {
                return Some((at, value));
            }
            // The next definition in the same graph, if there is one, inherits the end of the list.
            if tail != 0 && tail != below {
                self.entries[below as usize - 1].tail = tail;
            }
            self.meaning[name.index() as usize] = below;
        }
    }

    /// Sets the name of a value to one that is unused in the model.
    fn rename(&mut self, value: ValueId) {
        let old = self.model.str(self.model.values[value].name);
        let prefix = match old.get(..old.floor_char_boundary(LONGEST_PREFIX)) {
            None | Some("") => "val",
            Some(prefix) => prefix,
        };
        let name = loop {
            let name = format!("{prefix}_{}", self.counter);
            self.counter += 1;
            // Each name in the table stops the search at most once, as the counter never goes back.
            if self.model.names.get(&name).is_none() {
                break name;
            }
        };
        self.plan.fresh.insert(value, self.plan.names.len() as u32);
        self.plan.names.push(name.into_boxed_str());
    }
}
