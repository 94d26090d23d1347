//! Names of inlined nodes and values.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Event, GraphId, Model, NodeId, ValueId};
use onnx_types::Symbol;

/// Number of bytes that the call path takes in a name at most; a name is not longer for being in a deeper function.
const MAX_PATH: usize = 256;

/// The names for which the path of calls becomes a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Naming {
    /// Names in the body that would collide with another one.
    #[default]
    OnCollision,
    /// All names.
    Always,
}

/// The names in an outermost graph and everything nested in it. Each name is used once there, so no value hides another one.
pub(crate) struct Names {
    naming: Naming,
    values: HashSet<Symbol, RandomState>,
    nodes: HashSet<Symbol, RandomState>,
    /// The next number to try for a prefixed name.
    counters: HashMap<Symbol, u64, RandomState>,
}

impl Names {
    /// Collects the names of a graph.
    pub(crate) fn of(model: &Model, root: GraphId, naming: Naming) -> Self {
        let (values, nodes, counters) = Default::default();
        let mut names = Self { naming, values, nodes, counters };
        let events = model.walk(root).with_algorithms();
        for event in events {
            match event {
                Event::Enter(graph) => {
                    names.values.extend(defined(model, graph).map(|value| model.value(value).name()))
                }
                Event::Node(node) => {
                    let record = model.node(node);
                    names.nodes.insert(record.name());
                    // Operands are included for names that nothing defines.
                    let used = record.inputs().flatten().chain(record.outputs().iter().flatten().copied());
                    names.values.extend(used.map(|value| model.value(value).name()));
                }
                Event::After(_) | Event::Leave(_) => {}
            }
        }
        names
    }

    /// Makes the names of the graphs that a call holds available: the graphs go with the call.
    pub(crate) fn release(&mut self, model: &Model, call: NodeId) {
        for event in model.walk_node(call) {
            match event {
                Event::Enter(graph) => {
                    for value in defined(model, graph) {
                        self.values.remove(&model.value(value).name());
                    }
                }
                Event::Node(node) if node != call => {
                    self.nodes.remove(&model.node(node).name());
                    for value in model.node(node).outputs().iter().flatten() {
                        self.values.remove(&model.value(*value).name());
                    }
                }
                Event::Node(_) | Event::After(_) | Event::Leave(_) => {}
            }
        }
    }

    /// Names a new node, with its results and the inputs and initializers of its graphs.
    pub(crate) fn name(&mut self, model: &mut Model, node: NodeId, path: &str) {
        let record = model.node(node);
        let old = record.name();
        let mut values: Vec<ValueId> = record.outputs().iter().flatten().copied().collect();
        values.extend(record.nested_graphs().flat_map(|graph| defined(model, graph)));
        if !old.is_empty() {
            let name = free(&mut self.nodes, &mut self.counters, self.naming, model, old, path);
            model.set_node_name(node, name);
        }
        for value in values {
            let old = model.value(value).name();
            if !old.is_empty() {
                let name = free(&mut self.values, &mut self.counters, self.naming, model, old, path);
                model.set_value_name(value, name);
            }
        }
    }
}

/// The inputs and initializers of a graph.
fn defined(model: &Model, graph: GraphId) -> impl Iterator<Item = ValueId> + '_ {
    model.graph(graph).inputs().iter().copied().chain(model.initializers(graph))
}

/// A name that a set does not have, which is added to it.
fn free(
    taken: &mut HashSet<Symbol, RandomState>,
    counters: &mut HashMap<Symbol, u64, RandomState>,
    naming: Naming,
    model: &mut Model,
    old: Symbol,
    path: &str,
) -> Symbol {
    if naming == Naming::OnCollision && taken.insert(old) {
        return old;
    }
    let text = format!("{path}/{}", model.str(old));
    let base = model.intern(&text);
    if taken.insert(base) {
        return base;
    }
    let counter = counters.entry(base).or_default();
    loop {
        *counter += 1;
        let name = model.intern(&format!("{text}_{counter}"));
        if taken.insert(name) {
            return name;
        }
    }
}

/// The call path of the body of a call: the name of the call, which has the path around it if it needs it.
pub(crate) fn path(model: &Model, call: NodeId, around: &str) -> String {
    let record = model.node(call);
    let name = model.str(record.name());
    if !name.is_empty() && name.len() <= MAX_PATH {
        return name.to_owned();
    }
    let op = model.str(record.op());
    let path = if around.is_empty() { op.to_owned() } else { format!("{around}/{op}") };
    if path.len() <= MAX_PATH { path } else { "inlined".to_owned() }
}
