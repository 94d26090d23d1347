//! Inlining of calls: selection, cost, and the result of each call.

use onnx_diag::Quoted;
use onnx_ir::{CallGraph, Callee, FunctionId, GraphId, Model, NodeId, Origin, Owner};
use onnx_schema::Registry;
use onnx_types::{Execution, Stopped, Symbol};
use slotmap::SecondaryMap;

use crate::cost::{Cost, Costs};
use crate::expand::Expander;
use crate::names::Naming;
use crate::reason::FunctionReason;
use crate::versions::Convert;

/// Options of [`inline`].
#[derive(Clone)]
#[non_exhaustive]
pub struct InlineOptions<'a> {
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// The names for which the path of calls becomes a prefix. By default where a name would collide with another one.
    pub naming: Naming,
    /// Conversion of functions that import other operator set versions. By default there is none, and calls of
    /// functions in which such a version gives an operator another meaning are not inlined.
    pub convert: Option<&'a dyn Convert>,
    /// Limits on the result, and the interrupt.
    pub execution: Execution,
}

impl Default for InlineOptions<'_> {
    fn default() -> Self {
        Self {
            registry: Registry::STANDARD,
            naming: Naming::default(),
            convert: None,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    InlineOptions<'a> {
        with_registry => registry: &'a Registry,
        with_naming => naming: Naming,
        with_convert => convert: into Option<&'a dyn Convert>,
        with_execution => execution: into Execution,
    }
}

/// The reason why nothing was inlined.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InlineError {
    /// A function calls itself, directly or through others, so no expansion ends. The model is unchanged.
    #[error("functions form a cycle of length {length}: {}", .functions.join(" -> "))]
    Recursive {
        /// The functions of the cycle in the order of the calls; at most 8 of them.
        functions: Vec<String>,
        /// Number of functions of the cycle.
        length: usize,
    },
    /// The model would exceed a limit, with the nodes of functions and of calls that are inlined in turn. It is unchanged.
    #[error("inlining can take {}{needed} {} at a time; the limit `{limit}` is {allowed}", at_least(*needed), unit(limit))]
    TooLarge {
        /// The name of the limit: `nodes`, `values` (four operands, results or elements of attributes count as a value), or
        /// `splat_bytes` for names, documentation and constants.
        limit: &'static str,
        /// The limit.
        allowed: u64,
        /// The number that the model can have during the work, 2⁶⁴ - 1 for anything from that on.
        needed: u64,
    },
    /// The work was interrupted. Some of the calls are inlined.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What precedes a saturated number.
const fn at_least(number: u64) -> &'static str {
    if number == u64::MAX { "at least " } else { "" }
}

/// The results of calls.
#[derive(Clone, Debug, Default)]
pub struct Inlined {
    /// The selected calls, in the order in which they were visited. A call in the body of an inlined function occurs
    /// once for each of its copies.
    pub calls: Vec<InlinedCall>,
    /// Nodes that have the name of a function and are kept, because they call the standard operator of that name.
    pub shadowed: Vec<NodeId>,
    /// Number of functions that were removed because nothing calls them any more.
    pub removed_functions: usize,
}

impl Inlined {
    /// Number of calls that were inlined.
    #[must_use]
    pub fn inlined(&self) -> usize {
        self.calls.iter().filter(|call| call.result.is_ok()).count()
    }

    /// The calls that were not inlined, each with the reason.
    pub fn kept(&self) -> impl Iterator<Item = (&InlinedCall, &FunctionReason)> {
        self.calls.iter().filter_map(|call| Some((call, call.result.as_ref().err()?)))
    }

    /// A call with the calls around it, the outermost first, as text for a report.
    #[must_use]
    pub fn path(&self, call: &InlinedCall, model: &Model) -> String {
        let mut parts = Vec::new();
        let mut at = Some(call);
        // A call follows the one whose body contained it, so the loop ends.
        while let Some(call) = at {
            let (domain, op, overload) = call.function;
            let mut part = identity(model, domain, op, overload);
            if !call.name.is_empty() {
                part.push_str(&format!(" ({})", Quoted(model.str(call.name))));
            }
            parts.push(part);
            at = call.parent.and_then(|parent| self.calls.get(parent as usize));
        }
        parts.reverse();
        parts.join(" / ")
    }
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct InlinedCall {
    /// The domain, name and overload of the function.
    pub function: (Symbol, Symbol, Symbol),
    /// The call. It is in the model only if it was not inlined.
    pub node: NodeId,
    /// The name of the node.
    pub name: Symbol,
    /// The origin of the node: its source position, or the derivation from the call and the body that it comes from.
    pub origin: Origin,
    /// The index of the call whose body contained this one.
    pub parent: Option<u32>,
    /// Number of nodes that replaced the call, those of nested graphs included; the reason if it was not inlined.
    pub result: Result<usize, FunctionReason>,
}

/// The text of an identity of a function.
pub(crate) fn identity(model: &Model, domain: Symbol, name: Symbol, overload: Symbol) -> String {
    let mut text = match model.str(domain) {
        "" => model.str(name).to_owned(),
        domain => format!("{domain}.{}", model.str(name)),
    };
    if !overload.is_empty() {
        text.push_str(&format!(":{}", model.str(overload)));
    }
    Quoted(&text).to_string()
}

/// What a limit counts.
fn unit(limit: &'static str) -> &'static str {
    match limit {
        "splat_bytes" => "bytes of names, documentation and constants",
        limit => limit,
    }
}

/// The selected calls of a model.
pub(crate) type Calls = SecondaryMap<NodeId, FunctionId>;

/// Inlines the calls of functions of a model that `select` returns `true` for: in all graphs, and in bodies that
/// replace calls. Functions that were called before and that nothing calls afterwards are removed.
///
/// A call is not inlined if an operator of the function has another meaning in the versions that apply to the call, or
/// if its meaning cannot be expressed without the call; [`Inlined`] has the reasons.
///
/// # Errors
///
/// Returns an error if selected calls form a cycle, if the result would exceed the limits `nodes`, `values` or `splat_bytes`, or if the work is
/// interrupted. The size of the result is computed before anything is copied.
pub fn inline(
    model: &mut Model,
    options: &InlineOptions<'_>,
    mut select: impl FnMut(&Model, NodeId, FunctionId) -> bool,
) -> Result<Inlined, InlineError> {
    let named = named(model);
    let (calls, shadowed) = calls(model, options.registry, &named, &mut select);
    let done = inline_named(model, options, calls, &named)?;
    Ok(Inlined { shadowed, ..done })
}

/// Inlines calls, each with the function that replaces it.
pub(crate) fn inline_calls(
    model: &mut Model,
    options: &InlineOptions<'_>,
    calls: Calls,
) -> Result<Inlined, InlineError> {
    let named = named(model);
    inline_named(model, options, calls, &named)
}

/// Like [`inline_calls`], with the functions that nodes name.
fn inline_named(
    model: &mut Model,
    options: &InlineOptions<'_>,
    calls: Calls,
    named: &Calls,
) -> Result<Inlined, InlineError> {
    if calls.is_empty() {
        return Ok(Inlined::default());
    }
    let graph = CallGraph::of_calls(model, |node| calls.get(node).copied());
    refuse_recursion(model, &graph)?;
    let roots: Vec<GraphId> = roots(model).collect();
    let used = reached_functions(model, &roots, |node| named.get(node).copied());
    let costs = Costs::new(model, &calls, graph.callees_first());
    let mut cost = Cost::default();
    for &root in &roots {
        cost += costs.of_graph(root);
    }
    for function in remaining(model, &calls, named, &used) {
        cost += costs.of_function(function);
    }
    refuse_size(model, cost, options)?;
    let bodies: SecondaryMap<FunctionId, Cost> =
        model.functions().iter().map(|&function| (function, costs.of_function(function))).collect();
    let single = single_calls(named, &used);
    reserve(model, cost, &single);
    // If every call is inlined, no node of the outermost graphs names a function any more.
    let is_complete = options.convert.is_none() && named.keys().all(|node| calls.contains_key(node));
    let mut expander = Expander::new(model, options, calls, single);
    let expanded = expander.roots(&roots);
    let is_complete = is_complete && expanded.is_ok() && expander.has_inlined_all();
    let expanded = expanded.and_then(|()| expander.functions(&used, &bodies, is_complete));
    let (calls, moved) = expander.finish();
    expanded?;
    let removed = remove_unused(model, &roots, &used);
    Ok(Inlined { calls, shadowed: Vec::new(), removed_functions: moved.saturating_add(removed) })
}

/// The used functions that only one node names, with the node.
fn single_calls(named: &Calls, used: &SecondaryMap<FunctionId, ()>) -> SecondaryMap<FunctionId, NodeId> {
    let mut single: SecondaryMap<FunctionId, Option<NodeId>> = SecondaryMap::new();
    for (node, &function) in named {
        if let Some(entry) = single.entry(function) {
            entry.and_modify(|node| *node = None).or_insert(Some(node));
        }
    }
    let calls = single.into_iter().filter_map(|(function, node)| Some((function, node?)));
    calls.filter(|&(function, _)| used.contains_key(function)).collect()
}

/// Reserves memory for the nodes that are created.
fn reserve(model: &mut Model, cost: Cost, single: &SecondaryMap<FunctionId, NodeId>) {
    /// The cost includes calls that may not be inlined; from this number of nodes on, memory is allocated as needed.
    const MAX_NODES: u64 = 1 << 18;
    let moved =
        single.keys().map(|function| model.graph(model.function(function).body()).node_count() as u64);
    let nodes = cost.nodes.saturating_sub(moved.sum()).min(MAX_NODES) as usize;
    model.reserve(nodes, nodes);
}

/// Removes the functions that were used before and that nothing names any more; returns their number.
fn remove_unused(model: &mut Model, roots: &[GraphId], used: &SecondaryMap<FunctionId, ()>) -> usize {
    let functions = || model.functions().iter().copied();
    let others = functions().filter(|&function| !used.contains_key(function));
    let mut stay = roots.to_vec();
    stay.extend(others.flat_map(|function| graphs_of(model, function)));
    let ops = FunctionNames::new(model);
    let now = reached_functions(model, &stay, |node| ops.function_called(model, node));
    let unused: Vec<FunctionId> =
        functions().filter(|&function| used.contains_key(function) && !now.contains_key(function)).collect();
    model.remove_functions(&unused)
}

/// Inlines all calls of functions of a model, like [`inline`].
///
/// # Errors
///
/// See [`inline`].
pub fn inline_all(model: &mut Model, options: &InlineOptions<'_>) -> Result<Inlined, InlineError> {
    inline(model, options, |_, _, _| true)
}

/// All calls of functions of a model.
pub(crate) fn all_calls(model: &Model, registry: &Registry) -> Calls {
    calls(model, registry, &named(model), &mut |_, _, _| true).0
}

/// The names of functions as a table by index: most nodes name no function, and this is determined without a hash.
struct FunctionNames {
    /// By the index of a name.
    is_function: Vec<bool>,
}

impl FunctionNames {
    fn new(model: &Model) -> Self {
        let mut is_function = vec![false; model.names().len()];
        for &function in model.functions() {
            if let Some(entry) = is_function.get_mut(model.function(function).name().index() as usize) {
                *entry = true;
            }
        }
        Self { is_function }
    }

    /// Like [`Model::function_called`].
    fn function_called(&self, model: &Model, node: NodeId) -> Option<FunctionId> {
        let record = model.node(node);
        let is_name = self.is_function.get(record.op().index() as usize).copied().unwrap_or_default();
        if is_name { model.function_called(record) } else { None }
    }
}

/// The nodes of a model that name a function, in the order of the graphs. Nodes that call a standard operator of that
/// name are included, because some readers call the function.
fn named(model: &Model) -> Calls {
    let mut named = Calls::new();
    if model.functions().is_empty() {
        return named;
    }
    let names = FunctionNames::new(model);
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        if let Some(function) = names.function_called(model, node) {
            named.insert(node, function);
        }
    }
    named
}

/// The selected calls, and the selected nodes that have the name of a function and call the standard operator of that name.
fn calls(
    model: &Model,
    registry: &Registry,
    named: &Calls,
    select: &mut impl FnMut(&Model, NodeId, FunctionId) -> bool,
) -> (Calls, Vec<NodeId>) {
    let (mut calls, mut shadowed) = (Calls::new(), Vec::new());
    if named.is_empty() {
        return (calls, shadowed);
    }
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        let Some(&function) = named.get(node) else { continue };
        match model.callee(node, registry) {
            Callee::Function(function) if select(model, node, function) => {
                calls.insert(node, function);
            }
            Callee::Standard(_) if select(model, node, function) => shadowed.push(node),
            _ => {}
        }
    }
    (calls, shadowed)
}

fn refuse_recursion(model: &Model, graph: &CallGraph) -> Result<(), InlineError> {
    let Some((_, cycle)) = graph.cycles().next() else { return Ok(()) };
    let name = |&function: &FunctionId| {
        let record = model.function(function);
        identity(model, record.domain(), record.name(), record.overload())
    };
    Err(InlineError::Recursive {
        functions: cycle.functions.iter().map(name).collect(),
        length: cycle.length,
    })
}

/// The functions that nodes of graphs name, directly or through other functions. Functions with the name of a standard
/// operator are included, because some readers call the function.
fn reached_functions(
    model: &Model,
    graphs: &[GraphId],
    named: impl Fn(NodeId) -> Option<FunctionId>,
) -> SecondaryMap<FunctionId, ()> {
    let mut used = SecondaryMap::new();
    let mut open = graphs.to_vec();
    while let Some(graph) = open.pop() {
        for node in model.nodes_in(graph) {
            if let Some(function) = named(node)
                && used.insert(function, ()).is_none()
            {
                open.extend(graphs_of(model, function));
            }
        }
    }
    used
}

/// The outermost graphs that are not bodies of functions: the main graph and those of training.
fn roots(model: &Model) -> impl Iterator<Item = GraphId> + '_ {
    let is_of_model = |&root: &GraphId| !matches!(model.graph(root).owner(), Owner::Function(_));
    model.roots().filter(is_of_model).chain(model.algorithms())
}

/// The graphs of a function: the body, and those of defaults.
pub(crate) fn graphs_of(model: &Model, function: FunctionId) -> impl Iterator<Item = GraphId> + '_ {
    let record = model.function(function);
    let defaults = record.defaults.iter().flat_map(|default| default.value().graphs().iter().copied());
    std::iter::once(record.body()).chain(defaults)
}

/// The functions that are kept if all selected calls are inlined: those that are not used, and those that other nodes
/// name.
fn remaining(
    model: &Model,
    calls: &Calls,
    named: &Calls,
    used: &SecondaryMap<FunctionId, ()>,
) -> Vec<FunctionId> {
    let others = named.iter().filter(|&(node, _)| !calls.contains_key(node));
    let stays: SecondaryMap<FunctionId, ()> = others.map(|(_, &function)| (function, ())).collect();
    let functions = model.functions().iter().copied();
    functions.filter(|&function| stays.contains_key(function) || !used.contains_key(function)).collect()
}

fn refuse_size(model: &Model, cost: Cost, options: &InlineOptions<'_>) -> Result<(), InlineError> {
    match cost.exceeded(model, &options.execution.limits) {
        Some((limit, allowed, needed)) => Err(InlineError::TooLarge { limit, allowed, needed }),
        None => Ok(()),
    }
}
