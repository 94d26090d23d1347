//! Names of inlined nodes and values.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Def, Event, GraphId, Model, NodeId, ValueId};
use onnx_types::Symbol;

/// Maximum number of bytes of the call path in a name, so that the length of names does not grow with the depth of
/// calls.
const MAX_PATH: usize = 256;

/// The greatest length of what follows a path in a name, in bytes: a long name would be repeated for each call of the function.
const MAX_NAME: usize = 4096;

/// The names for which the path of calls becomes a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Naming {
    /// Names in the body that would collide with another one.
    #[default]
    OnCollision,
    /// All names.
    Always,
}

/// A multiset of names that is cleared in constant time.
#[derive(Debug, Default)]
struct NameSet {
    /// By the index of a name, the number of the set that has it, and its number of occurrences. A model has the names
    /// of its interner, so indices are dense.
    members: Vec<(u32, u32)>,
    /// The number of the present set.
    set: u32,
}

impl NameSet {
    fn clear(&mut self) {
        match self.set.checked_add(1) {
            Some(set) => self.set = set,
            None => *self = Self { members: Vec::new(), set: 1 },
        }
    }

    /// The number of occurrences of a name; `None` for symbols without a string, which are not names.
    fn count(&mut self, name: Symbol) -> Option<&mut u32> {
        if name.number().is_some() {
            return None;
        }
        let index = name.index() as usize;
        if index >= self.members.len() {
            self.members.resize(index.saturating_add(1).next_power_of_two(), (0, 0));
        }
        let (set, count) = self.members.get_mut(index)?;
        if *set != self.set {
            (*set, *count) = (self.set, 0);
        }
        Some(count)
    }

    fn add(&mut self, name: Symbol) {
        if let Some(count) = self.count(name) {
            *count = count.saturating_add(1);
        }
    }

    /// Adds a name if the set does not have it, and returns `true` then.
    fn insert(&mut self, name: Symbol) -> bool {
        let Some(count) = self.count(name) else { return true };
        let is_new = *count == 0;
        if is_new {
            *count = 1;
        }
        is_new
    }

    /// Removes one occurrence of a name.
    fn remove(&mut self, name: Symbol) {
        if let Some(count) = self.count(name) {
            *count = count.saturating_sub(1);
        }
    }
}

/// The names in an outermost graph and everything nested in it. Each name is used once there, so no value shadows
/// another one.
#[derive(Debug)]
pub(crate) struct Names {
    naming: Naming,
    values: NameSet,
    nodes: NameSet,
    /// The next number to try for a prefixed name.
    counters: HashMap<Symbol, u64, RandomState>,
    /// The path of the call that is being expanded, with a slash. A name is appended to it to build a prefixed name.
    text: String,
    /// The length of that path.
    path: usize,
}

impl Names {
    pub(crate) fn new(naming: Naming) -> Self {
        let (values, nodes, counters) = Default::default();
        Self { naming, values, nodes, counters, text: String::new(), path: 0 }
    }

    /// Collects the names of a graph, and forgets those of the previous one.
    pub(crate) fn collect(&mut self, model: &Model, root: GraphId) {
        self.values.clear();
        self.nodes.clear();
        self.counters.clear();
        for event in model.walk(root).with_algorithms() {
            match event {
                Event::Enter(graph) => {
                    for value in defined(model, graph) {
                        self.values.add(model.value(value).name());
                    }
                }
                Event::Node(node) => {
                    let record = model.node(node);
                    self.nodes.add(record.name());
                    for &value in record.outputs().iter().flatten() {
                        self.values.add(model.value(value).name());
                    }
                    // Names that nothing defines are taken, too.
                    for value in record.used_values().map(|value| model.value(value)) {
                        if matches!(value.def(), Def::Unresolved(_)) {
                            self.values.add(value.name());
                        }
                    }
                }
                Event::After(_) | Event::Leave(_) => {}
            }
        }
    }

    /// Makes the names in the graphs that a call holds available: the graphs are erased with the call.
    pub(crate) fn release(&mut self, model: &Model, call: NodeId) {
        if model.node(call).nested_graphs().next().is_none() {
            return;
        }
        for event in model.walk_node(call) {
            match event {
                Event::Enter(graph) => {
                    for value in defined(model, graph) {
                        self.values.remove(model.value(value).name());
                    }
                }
                Event::Node(node) if node != call => {
                    self.nodes.remove(model.node(node).name());
                    for value in model.node(node).outputs().iter().flatten() {
                        self.values.remove(model.value(*value).name());
                    }
                }
                Event::Node(_) | Event::After(_) | Event::Leave(_) => {}
            }
        }
    }

    /// Begins the names of the body of a call. `around` is the path around the call.
    pub(crate) fn enter(&mut self, model: &Model, call: NodeId, around: &str) {
        self.text.clear();
        push_path(&mut self.text, model, call, around);
        self.path = self.text.len();
        self.text.push('/');
    }

    /// The path of the body.
    pub(crate) fn path(&self) -> &str {
        self.text.get(..self.path).unwrap_or_default()
    }

    /// Names a new node, with its results and the inputs and initializers of its graphs.
    pub(crate) fn name(&mut self, model: &mut Model, node: NodeId) {
        let old = model.node(node).name();
        if !old.is_empty() {
            let name = self.free(model, old, |names| &mut names.nodes);
            if name != old {
                model.set_node_name(node, name);
            }
        }
        for index in 0..model.node(node).outputs().len() {
            if let Some(value) = model.node(node).output(index) {
                self.name_value(model, value);
            }
        }
        if model.node(node).nested_graphs().next().is_some() {
            let graphs = model.node(node).nested_graphs();
            let values: Vec<ValueId> = graphs.flat_map(|graph| defined(model, graph)).collect();
            values.into_iter().for_each(|value| self.name_value(model, value));
        }
    }

    fn name_value(&mut self, model: &mut Model, value: ValueId) {
        let old = model.value(value).name();
        if !old.is_empty() {
            let name = self.free(model, old, |names| &mut names.values);
            if name != old {
                model.set_value_name(value, name);
            }
        }
    }

    /// A name that a set does not have, which is added to it.
    fn free(&mut self, model: &mut Model, old: Symbol, taken: impl Fn(&mut Self) -> &mut NameSet) -> Symbol {
        if self.naming == Naming::OnCollision && taken(self).insert(old) {
            return old;
        }
        self.text.truncate(self.path.saturating_add(1));
        let old = model.str(old);
        self.text.push_str(old.get(..old.floor_char_boundary(MAX_NAME)).unwrap_or_default());
        let base = model.intern(&self.text);
        if taken(self).insert(base) {
            return base;
        }
        loop {
            let counter = self.counters.entry(base).or_default();
            *counter += 1;
            let name = model.intern(&format!("{}_{counter}", self.text));
            if taken(self).insert(name) {
                return name;
            }
        }
    }
}

/// The inputs and initializers of a graph.
fn defined(model: &Model, graph: GraphId) -> impl Iterator<Item = ValueId> + '_ {
    model.graph(graph).inputs().iter().copied().chain(model.initializers(graph))
}

/// Appends the call path of the body of a call to a string: the name of the call; the path around it and its operator
/// if the name is empty or too long; or `inlined` if these are too long.
fn push_path(text: &mut String, model: &Model, call: NodeId, around: &str) {
    let record = model.node(call);
    let name = model.str(record.name());
    if !name.is_empty() && name.len() <= MAX_PATH {
        text.push_str(name);
        return;
    }
    let op = model.str(record.op());
    let separator = if around.is_empty() { "" } else { "/" };
    match around.len().saturating_add(separator.len()).saturating_add(op.len()) {
        ..=MAX_PATH => text.extend([around, separator, op]),
        _ => text.push_str("inlined"),
    }
}
