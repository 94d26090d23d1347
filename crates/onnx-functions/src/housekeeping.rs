//! Order and identities of the functions of a model.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use foldhash::fast::RandomState;
use onnx_ir::{Attribute, CallGraph, FunctionId, GraphId, Model, NodeId, ValueId};
use onnx_schema::Registry;
use onnx_types::Symbol;
use onnx_types::tensor::{DataSource, NoData};
use slotmap::{SecondaryMap, SparseSecondaryMap};

use crate::expand::add_imports;
use crate::inline::{Calls, all_calls, graphs_of};

/// The domain, name and overload of a function.
pub type Identity = (Symbol, Symbol, Symbol);

/// Sorts the functions of a model so that callees precede callers, because some readers resolve calls while they read.
/// Returns `true` if the order changed. Calls that close a cycle are ignored.
pub fn sort_functions(model: &mut Model, registry: &Registry) -> bool {
    let order = CallGraph::new(model, registry).callees_first().to_vec();
    let changed = order != model.functions();
    // The call graph lists every function once.
    let _ = model.set_function_order(&order);
    changed
}

/// Makes equal functions one: calls of the others become calls of the first one, and the others are removed. Returns the number
/// of functions that were removed.
///
/// Functions are equal if they have the same attributes, defaults and operator set versions, and if their bodies are the same
/// computation; names inside of them, documentation and metadata do not count. Functions that call equal functions are equal, too.
/// A function that has the name of a standard operator is kept, because readers differ in which of the two a node
/// calls.
pub fn deduplicate(model: &mut Model, registry: &Registry) -> usize {
    let calls = all_calls(model, registry);
    let order = CallGraph::of_calls(model, |node| calls.get(node).copied()).callees_first().to_vec();
    let mut kept: HashMap<u64, Vec<FunctionId>, RandomState> = HashMap::default();
    let mut replaced: SecondaryMap<FunctionId, FunctionId> = SecondaryMap::new();
    for &function in &order {
        let graphs: Vec<GraphId> = graphs_of(model, function).collect();
        retarget(model, &graphs, &calls, &replaced);
        let record = model.function(function);
        if !onnx_schema::versions(record.domain(), record.name()).is_empty() {
            continue;
        }
        let others = kept.entry(structure_hash(model, function)).or_default();
        // Functions with equal hashes differ only in long tensors, so nearly every comparison finds an equal function.
        let equal = others.iter().rev().take(MAX_COMPARISONS).copied();
        let equal = equal.into_iter().find(|&other| model.same_function_meaning(other, function, &NoData));
        match equal {
            Some(other) => drop(replaced.insert(function, other)),
            None => others.push(function),
        }
    }
    if replaced.is_empty() {
        return 0;
    }
    let rest: Vec<GraphId> =
        model.all_graphs().filter(|&graph| model.scope(graph) == onnx_ir::OpsetScope::Model).collect();
    retarget(model, &rest, &calls, &replaced);
    let removed: Vec<FunctionId> = replaced.keys().collect();
    model.remove_functions(&removed)
}

/// Number of functions of one hash that a function is compared with at most.
const MAX_COMPARISONS: usize = 16;

/// Redirects calls in graphs, and in those nested in them, to the functions that replace others.
fn retarget(
    model: &mut Model,
    graphs: &[GraphId],
    calls: &Calls,
    replaced: &SecondaryMap<FunctionId, FunctionId>,
) {
    if replaced.is_empty() {
        return;
    }
    let found = |node: NodeId| Some((node, *replaced.get(*calls.get(node)?)?));
    let changes: Vec<(NodeId, FunctionId)> =
        graphs.iter().flat_map(|&graph| model.nodes_in(graph).filter_map(found)).collect();
    for (node, function) in changes {
        call_instead(model, node, identity_of(model, function));
    }
}

/// Redirects a node to the function of another identity.
pub(crate) fn call_instead(model: &mut Model, node: NodeId, (domain, name, overload): Identity) {
    model.set_op(node, domain, name, overload);
    let graph = model.node(node).graph();
    add_imports(model, graph, &[(onnx_schema::normalize_domain(domain), 1)]);
}

/// The identity of a function as it is written.
pub(crate) fn identity_of(model: &Model, function: FunctionId) -> Identity {
    let record = model.function(function);
    (record.written_domain(), record.name(), record.overload())
}

/// A hash that equal functions share: of the nodes of the body, and of which value each of them uses.
fn structure_hash(model: &Model, function: FunctionId) -> u64 {
    let source: &dyn DataSource = &NoData;
    let mut hasher = DefaultHasher::new();
    let record = model.function(function);
    record.attributes.hash(&mut hasher);
    record.defaults.iter().map(Attribute::name).count().hash(&mut hasher);
    let graph = model.graph(record.body());
    let mut numbers: SparseSecondaryMap<ValueId, usize, RandomState> = SparseSecondaryMap::default();
    for (number, &input) in graph.inputs().iter().enumerate() {
        numbers.insert(input, number);
    }
    for node in model.nodes(record.body()) {
        model.hash_operator(node, source, &mut hasher);
        for input in model.node(node).inputs() {
            input.and_then(|input| numbers.get(input)).hash(&mut hasher);
        }
        for &output in model.node(node).outputs().iter().flatten() {
            let number = numbers.len();
            numbers.insert(output, number);
        }
    }
    for output in graph.outputs() {
        numbers.get(output.value()).hash(&mut hasher);
    }
    hasher.finish()
}

/// Result of [`separate_functions`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Separated {
    /// Number of functions that were removed because they are equal to the first one of their identity.
    pub merged: usize,
    /// The functions that have another name now, each with its former identity.
    pub renamed: Vec<(FunctionId, Identity)>,
}

/// Gives every function a separate identity. Of several functions of one identity, calls mean the first; those that are equal to
/// it are removed, and the others get another name.
pub fn separate_functions(model: &mut Model, registry: &Registry) -> Separated {
    let mut separated = Separated::default();
    let (mut equal, mut other) = (Vec::new(), Vec::new());
    for &function in model.functions() {
        let (domain, name, overload) = identity_of(model, function);
        match model.find_function(domain, name, overload) {
            Some(first) if first != function => {
                let is_equal = model.same_function_meaning(first, function, &NoData);
                if is_equal { equal.push(function) } else { other.push(function) }
            }
            _ => {}
        }
    }
    separated.merged = model.remove_functions(&equal);
    let mut taken = Taken::new(model);
    let mut identities = Vec::new();
    for function in other {
        let old = identity_of(model, function);
        let new = (old.0, taken.free_name(model, registry, old.0, old.1), old.2);
        identities.push((function, new));
        separated.renamed.push((function, old));
    }
    model.set_function_identities(identities);
    separated
}

/// The names that functions of a model have and that its nodes call, by domain.
#[derive(Debug)]
pub(crate) struct Taken {
    names: std::collections::HashSet<(Symbol, Symbol), RandomState>,
    counters: HashMap<(Symbol, Symbol), u64, RandomState>,
}

impl Taken {
    pub(crate) fn new(model: &Model) -> Self {
        let functions = model.functions().iter().map(|&function| {
            let record = model.function(function);
            (record.domain(), record.name())
        });
        let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph)).map(|node| {
            let record = model.node(node);
            (record.domain(), record.op())
        });
        Self { names: functions.chain(nodes).collect(), counters: HashMap::default() }
    }

    /// Returns a name like another one that no function of the domain has, no node calls and no operator has, and
    /// reserves it.
    pub(crate) fn free_name(
        &mut self,
        model: &mut Model,
        registry: &Registry,
        domain: Symbol,
        like: Symbol,
    ) -> Symbol {
        let domain = onnx_schema::normalize_domain(domain);
        let base = model.str(like).to_owned();
        loop {
            let counter = self.counters.entry((domain, like)).or_insert(1);
            *counter += 1;
            let name = model.intern(&format!("{base}_{counter}"));
            if self.take(model, registry, domain, name) {
                return name;
            }
        }
    }

    /// Like [`free_name`](Self::free_name), but the name itself if it is free.
    pub(crate) fn name_like(
        &mut self,
        model: &mut Model,
        registry: &Registry,
        domain: Symbol,
        like: Symbol,
    ) -> Symbol {
        let is_free = self.take(model, registry, onnx_schema::normalize_domain(domain), like);
        if is_free { like } else { self.free_name(model, registry, domain, like) }
    }

    /// Takes a name; `false` if it is not free.
    fn take(&mut self, model: &Model, registry: &Registry, domain: Symbol, name: Symbol) -> bool {
        let mut declared = registry.declared_history(model.str(domain), model.str(name));
        let is_operator = !onnx_schema::versions(domain, name).is_empty() || declared.next().is_some();
        !is_operator && self.names.insert((domain, name))
    }
}
