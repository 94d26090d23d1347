//! Names of values and nodes of several models in one: they are kept unless another model has them.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Event, Model, NodeId, ValueId};
use onnx_types::{Interrupt, Stopped, Symbol, Watch};
use slotmap::SecondaryMap;

use super::{Renamed, RenamedKind};

/// Values or nodes between two checks of the interrupt.
pub(super) const WATCHED: u64 = 1 << 10;

/// The values and nodes of one model in the merged model.
#[derive(Default)]
pub(super) struct Contents {
    /// Values of the main graph.
    pub(super) values: Vec<ValueId>,
    /// Nodes of the main graph.
    pub(super) nodes: Vec<NodeId>,
}

/// Puts the prefix of a model before the names of its values and nodes, also in nested graphs.
pub(super) fn add_prefix(
    model: &mut Model,
    contents: &Contents,
    prefix: &str,
    interrupt: &Interrupt,
) -> Result<(), Stopped> {
    if prefix.is_empty() {
        return Ok(());
    }
    let mut watch = Watch::silent(interrupt, WATCHED);
    let (nested, nodes) = inside(model, contents);
    for value in contents.values.iter().chain(&nested).copied() {
        watch.work(1)?;
        let name = model.value(value).name();
        if !name.is_empty() {
            let name = format!("{prefix}{}", model.str(name));
            let name = model.intern(&name);
            model.set_value_name(value, name);
        }
    }
    for node in nodes {
        watch.work(1)?;
        let name = model.node(node).name();
        if !name.is_empty() {
            let name = format!("{prefix}{}", model.str(name));
            let name = model.intern(&name);
            model.set_node_name(node, name);
        }
    }
    Ok(())
}

/// The values of nested graphs, and all nodes.
fn inside(model: &Model, contents: &Contents) -> (Vec<ValueId>, Vec<NodeId>) {
    let (mut values, mut nodes) = (Vec::new(), Vec::new());
    for event in contents.nodes.iter().flat_map(|&node| model.walk_node(node)) {
        match event {
            Event::Enter(graph) => values.extend(model.definitions(graph)),
            Event::Node(node) => nodes.push(node),
            Event::After(_) | Event::Leave(_) => {}
        }
    }
    (values, nodes)
}

/// Renames what collides. Names of the interface are assigned first, in order, then those of the main graph and then
/// those of nested graphs, in the order of the models. Nested graphs of one model are not in the scope of another one,
/// so a name of a nested graph collides only with the main graph, and names that one model itself repeats are kept.
pub(super) fn separate(
    model: &mut Model,
    contents: &[Contents],
    interface: &[ValueId],
    interrupt: &Interrupt,
) -> Result<Vec<Renamed>, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED);
    let inside: Vec<(Vec<ValueId>, Vec<NodeId>)> =
        contents.iter().map(|contents| inside(model, contents)).collect();
    let values =
        contents.iter().zip(&inside).flat_map(|(outer, (nested, _))| outer.values.iter().chain(nested));
    let mut names = Names {
        taken: values.map(|&value| model.value(value).name()).collect(),
        counters: HashMap::default(),
        renamed: Vec::new(),
    };
    let owned = contents.iter().enumerate();
    let owned = owned.flat_map(|(part, contents)| contents.values.iter().map(move |&value| (value, part)));
    let owners: SecondaryMap<ValueId, usize> = owned.collect();
    let mut outer: HashMap<Symbol, usize, RandomState> = HashMap::default();
    let mut done: SecondaryMap<ValueId, ()> = SecondaryMap::new();
    for &value in interface {
        let part = owners.get(value).copied().unwrap_or(0);
        if done.insert(value, ()).is_none() && is_taken(&mut outer, model.value(value).name(), part) {
            let name = names.rename_value(model, value, (part, RenamedKind::Interface));
            outer.insert(name, part);
        }
    }
    for (part, contents) in contents.iter().enumerate() {
        for &value in &contents.values {
            watch.work(1)?;
            if done.insert(value, ()).is_none() && is_taken(&mut outer, model.value(value).name(), part) {
                let name = names.rename_value(model, value, (part, RenamedKind::Value));
                outer.insert(name, part);
            }
        }
    }
    for (part, (nested, _)) in inside.iter().enumerate() {
        for &value in nested {
            watch.work(1)?;
            let name = model.value(value).name();
            if outer.get(&name).is_some_and(|&other| other != part) && !name.is_empty() {
                names.rename_value(model, value, (part, RenamedKind::Value));
            }
        }
    }
    let mut renamed = names.renamed;
    renamed.extend(separate_nodes(model, &inside, &mut watch)?);
    Ok(renamed)
}

/// Takes a name for a model; `true` if another one has it.
fn is_taken(owners: &mut HashMap<Symbol, usize, RandomState>, name: Symbol, part: usize) -> bool {
    !name.is_empty() && *owners.entry(name).or_insert(part) != part
}

fn separate_nodes(
    model: &mut Model,
    inside: &[(Vec<ValueId>, Vec<NodeId>)],
    watch: &mut Watch,
) -> Result<Vec<Renamed>, Stopped> {
    let all = inside.iter().flat_map(|(_, nodes)| nodes);
    let mut names = Names {
        taken: all.map(|&node| model.node(node).name()).collect(),
        counters: HashMap::default(),
        renamed: Vec::new(),
    };
    let mut owners: HashMap<Symbol, usize, RandomState> = HashMap::default();
    for (part, (_, nodes)) in inside.iter().enumerate() {
        for &node in nodes {
            watch.work(1)?;
            let name = model.node(node).name();
            if is_taken(&mut owners, name, part) {
                let new = names.fresh(model, name, (part, RenamedKind::Node));
                owners.insert(new, part);
                model.set_node_name(node, new);
            }
        }
    }
    Ok(names.renamed)
}

struct Names {
    taken: HashSet<Symbol, RandomState>,
    counters: HashMap<Symbol, u64, RandomState>,
    renamed: Vec<Renamed>,
}

impl Names {
    fn rename_value(&mut self, model: &mut Model, value: ValueId, of: (usize, RenamedKind)) -> Symbol {
        let new = self.fresh(model, model.value(value).name(), of);
        model.set_value_name(value, new);
        new
    }

    /// A name like another one that nothing has.
    fn fresh(&mut self, model: &mut Model, like: Symbol, (part, kind): (usize, RenamedKind)) -> Symbol {
        let from = model.str(like).to_owned();
        loop {
            let counter = self.counters.entry(like).or_insert(1);
            *counter = counter.saturating_add(1);
            let to = format!("{from}_{counter}");
            let new = model.intern(&to);
            if self.taken.insert(new) {
                self.renamed.push(Renamed { model: part, kind, from, to });
                return new;
            }
        }
    }
}
