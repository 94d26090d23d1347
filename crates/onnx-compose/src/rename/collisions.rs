//! Names that would mean two elements.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Def, GraphId, Model, NodeId, ValueId, ValueRef};
use onnx_types::{Interrupt, Stopped, Symbol, Watch};

use super::{Changed, WATCHED_NAMES};

/// A new name that another element has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameCollision {
    /// The kind of the elements: `value`, `node` or `function`.
    pub kind: &'static str,
    /// The old name of the element that would get the name.
    pub old: String,
    /// The name.
    pub new: String,
    /// The old name of the other element; equal to `new` if that is not renamed, empty if an operator has the name of a function.
    pub other: String,
    /// The element that would get the name, if it is a value.
    pub value: Option<ValueId>,
    /// The element that would get the name, if it is a node.
    pub node: Option<NodeId>,
}

impl std::fmt::Display for NameCollision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, old, new, other, .. } = self;
        let [old, new, other] = [old, new, other].map(|name| onnx_diag::Quoted(name));
        write!(f, "the {kind} {old} cannot be called {new}: ")?;
        if self.other.is_empty() {
            write!(f, "an operator has this name")
        } else if self.other == self.new {
            write!(f, "another {kind} has this name")
        } else {
            write!(f, "the {kind} {other} would have this name, too")
        }
    }
}

fn value_collision(model: &Model, value: ValueId, new: Symbol, other: Symbol) -> NameCollision {
    let text = |symbol: Symbol| model.str(symbol).to_owned();
    NameCollision {
        kind: "value",
        old: text(model.value(value).name()),
        new: text(new),
        other: text(other),
        value: Some(value),
        node: None,
    }
}

/// The collisions of values: a graph sees the names of the graphs around it.
pub(super) fn of_values(
    model: &Model,
    changed: &Changed<ValueId>,
    interrupt: &Interrupt,
) -> Result<Vec<NameCollision>, Stopped> {
    if changed.list.is_empty() {
        return Ok(Vec::new());
    }
    let mut watch = Watch::silent(interrupt, WATCHED_NAMES);
    let wanted: HashSet<Symbol, RandomState> = changed.list.iter().map(|&(_, name)| name).collect();
    let mut graphs = super::graphs(model);
    let roots = changed.list.iter().map(|&(value, _)| model.root(model.graph_of(value)));
    let other: Vec<GraphId> = roots.filter(|&root| root != model.main_graph()).collect();
    let mut seen: HashSet<GraphId, RandomState> = graphs.iter().copied().collect();
    graphs.extend(other.into_iter().filter(|&root| seen.insert(root)).flat_map(|root| model.graphs_in(root)));
    let defined = defined(model, changed, &graphs, &wanted, &mut watch)?;
    let mut collisions = Vec::new();
    for &graph in &graphs {
        for value in model.definitions(graph) {
            watch.work(1)?;
            let old = model.value(value).name();
            let name = changed.name(value, old);
            if wanted.contains(&name) {
                let visible = std::iter::successors(Some(graph), |&graph| model.parent(graph));
                let groups = visible.filter_map(|graph| defined.get(&(graph, name))).flatten();
                let mut others = groups.filter(|group| group.old != old).map(|group| group.first);
                // One for each value: the pairs of thousands of values with one name are millions.
                collisions.extend(others.find_map(|other| collision(model, changed, (value, graph), other)));
            }
        }
    }
    watch.check()?;
    collisions.extend(undefined(model, &graphs, changed));
    Ok(collisions)
}

/// The values of a graph that have one name before and one after: all of them collide with another value, or none.
struct Group {
    old: Symbol,
    /// The least key.
    first: ValueId,
}

/// Groups of values by their graphs and new names.
type Defined = HashMap<(GraphId, Symbol), Vec<Group>, RandomState>;

/// Values with wanted names by their graphs and new names, those with the least keys first. Thousands of values may have one
/// name, so that each value must be compared with few others.
fn defined(
    model: &Model,
    changed: &Changed<ValueId>,
    graphs: &[GraphId],
    wanted: &HashSet<Symbol, RandomState>,
    watch: &mut Watch,
) -> Result<Defined, Stopped> {
    let mut first: HashMap<(GraphId, Symbol, Symbol, bool), ValueId, RandomState> = HashMap::default();
    for &graph in graphs {
        for value in model.definitions(graph) {
            watch.work(1)?;
            let old = model.value(value).name();
            let name = changed.name(value, old);
            if wanted.contains(&name) {
                let key = (graph, name, old, changed.new.contains_key(value));
                let least = first.entry(key).or_insert(value);
                *least = value.min(*least);
            }
        }
    }
    let mut defined = Defined::default();
    let mut first: Vec<_> = first.into_iter().collect();
    first.sort_unstable_by_key(|&(_, value)| value);
    for ((graph, name, old, _), first) in first {
        watch.work(1)?;
        defined.entry((graph, name)).or_default().push(Group { old, first });
    }
    Ok(defined)
}

/// A collision of two values that see each other.
fn collision(
    model: &Model,
    changed: &Changed<ValueId>,
    (value, graph): (ValueId, GraphId),
    other: ValueId,
) -> Option<NameCollision> {
    let [old, old_other] = [value, other].map(|value| model.value(value).name());
    let [new, new_other] = [value, other].map(|value| changed.new.get(value).copied());
    // Names that a file gives twice may change together.
    if value == other || old == old_other {
        return None;
    }
    match (new, new_other) {
        // Each pair of one graph is visited twice.
        (Some(new), Some(_)) if model.graph_of(other) != graph || other < value => {
            Some(value_collision(model, value, new, old_other))
        }
        (Some(new), None) => Some(value_collision(model, value, new, old_other)),
        (None, Some(new)) if model.graph_of(other) != graph => Some(value_collision(model, other, new, old)),
        _ => None,
    }
}

/// New names that are used for values that nothing defines, and would define them.
fn undefined(model: &Model, graphs: &[GraphId], changed: &Changed<ValueId>) -> Vec<NameCollision> {
    let mut names: HashSet<Symbol, RandomState> = HashSet::default();
    let mut add = |value: ValueId| {
        if matches!(model.value(value).def(), Def::Unresolved(_)) {
            names.insert(changed.name(value, model.value(value).name()));
        }
    };
    for &graph in graphs {
        model.nodes(graph).flat_map(|node| model.node(node).used_values()).for_each(&mut add);
        model.graph(graph).outputs().iter().for_each(|output| add(output.value()));
    }
    for annotation in graphs.iter().flat_map(|&graph| &model.graph(graph).quantization) {
        let parameters = annotation.parameters.iter().map(|parameter| parameter.value);
        for reference in parameters.chain([annotation.tensor]) {
            if let ValueRef::Name(name) = reference {
                names.insert(name);
            }
        }
    }
    let is_defined = |value: ValueId| !matches!(model.value(value).def(), Def::Unresolved(_));
    let taken = changed.list.iter().filter(|&&(value, name)| is_defined(value) && names.contains(&name));
    taken.map(|&(value, name)| value_collision(model, value, name, name)).collect()
}

/// The collisions of nodes of the same graph.
pub(super) fn of_nodes(
    model: &Model,
    changed: &Changed<NodeId>,
    interrupt: &Interrupt,
) -> Result<Vec<NameCollision>, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED_NAMES);
    let mut seen: HashSet<GraphId, RandomState> = HashSet::default();
    let graphs = changed.list.iter().map(|&(node, _)| model.node(node).graph());
    let graphs: Vec<GraphId> = graphs.filter(|&graph| seen.insert(graph)).collect();
    let mut first: HashMap<(GraphId, Symbol), NodeId, RandomState> = HashMap::default();
    for &graph in &graphs {
        for node in model.nodes(graph) {
            watch.work(1)?;
            if !changed.new.contains_key(node) {
                first.entry((graph, model.node(node).name())).or_insert(node);
            }
        }
    }
    let mut collisions = Vec::new();
    for &(node, new) in &changed.list {
        watch.work(1)?;
        let record = model.node(node);
        let other = *first.entry((record.graph(), new)).or_insert(node);
        let old_other = model.node(other).name();
        if old_other != record.name() {
            let text = |symbol: Symbol| model.str(symbol).to_owned();
            collisions.push(NameCollision {
                kind: "node",
                old: text(record.name()),
                new: text(new),
                other: text(old_other),
                value: None,
                node: Some(node),
            });
        }
    }
    Ok(collisions)
}
