//! The pass `unique-functions`: functions of equal bodies are one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, Hash as _, Hasher};

use foldhash::fast::{FixedState, RandomState};
use onnx_ir::{AttrValue, Constant, FunctionId, Model, NodeId};
use onnx_types::tensor::DataSource;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::restructure::same_function;

/// The name of the pass.
const NAME: &str = "unique-functions";

/// Maximum number of functions with equal hashes that are compared, so that the pass takes linear time.
const MAX_TWINS: usize = 16;

pub(super) fn pass() -> Pass {
    let summary = "Lets calls of functions with equal bodies call the first of them.";
    Pass::new(NAME, summary, Exactness::Exact, unique_functions)
        .with_page(include_str!("unique_functions.md"))
        .after("sorted")
}

/// Redirects calls of functions of one domain that compute the same to the first of them. The others remain;
/// `no-unused-functions` removes them.
pub fn unique_functions(cx: &mut PassCx<'_>) -> Report {
    let data = cx.options().data;
    if cx.model().functions().len() < 2 {
        return Report::default();
    }
    cx.restructure(NAME, |model| redirect(model, data))
}

/// Redirects calls to the first of equal functions, and returns how many. Functions are equal only if they call the same ones:
/// the calls in a function are redirected before it is compared.
fn redirect(model: &mut Model, data: &dyn DataSource) -> usize {
    let mut known: HashMap<u64, Vec<FunctionId>, RandomState> = HashMap::default();
    let mut twins: HashMap<FunctionId, FunctionId, RandomState> = HashMap::default();
    let mut redirected = 0_usize;
    for function in callees_first(model) {
        let calls: Vec<NodeId> = model.nodes_in(model.function(function).body()).collect();
        redirected = redirected.saturating_add(redirect_calls(model, calls, &twins));
        let candidates = known.entry(hash(model, function, data)).or_default();
        match candidates.iter().find(|&&other| same_function(model, other, function, data)) {
            Some(&other) => {
                twins.insert(function, other);
            }
            None if candidates.len() < MAX_TWINS => candidates.push(function),
            None => {}
        }
    }
    if twins.is_empty() {
        return 0;
    }
    let nodes: Vec<NodeId> = model.all_graphs().flat_map(|graph| model.nodes(graph)).collect();
    redirected.saturating_add(redirect_calls(model, nodes, &twins))
}

/// Lets nodes that call a function with a twin call that one, and returns how many do.
fn redirect_calls(
    model: &mut Model,
    nodes: Vec<NodeId>,
    twins: &HashMap<FunctionId, FunctionId, RandomState>,
) -> usize {
    let mut redirected = 0_usize;
    for node in nodes {
        let called = model.function_called(model.node(node));
        let Some(&twin) = called.and_then(|called| twins.get(&called)) else { continue };
        let record = model.function(twin);
        let (domain, name, overload) = (record.domain(), record.name(), record.overload());
        model.set_op(node, domain, name, overload);
        redirected = redirected.saturating_add(1);
    }
    redirected
}

/// The functions by the depth of their calls: each after those that it calls, and otherwise in their order. Equal functions
/// have equal depths.
fn callees_first(model: &Model) -> Vec<FunctionId> {
    let called = |function: FunctionId| -> Vec<FunctionId> {
        let nodes = model.nodes_in(model.function(function).body());
        nodes.filter_map(|node| model.function_called(model.node(node))).collect()
    };
    type Depths = HashMap<FunctionId, usize, RandomState>;
    // The depth of each function; 0 also for one that is being visited, which a recursion calls.
    let mut depths = Depths::default();
    let begin = |depths: &mut Depths, function| match depths.entry(function) {
        Entry::Vacant(depth) => {
            depth.insert(0);
            true
        }
        Entry::Occupied(_) => false,
    };
    for &root in model.functions() {
        if !begin(&mut depths, root) {
            continue;
        }
        let mut open = vec![(root, called(root))];
        while let Some((function, rest)) = open.last_mut() {
            let function = *function;
            if let Some(callee) = rest.pop() {
                if begin(&mut depths, callee) {
                    open.push((callee, called(callee)));
                }
                continue;
            }
            open.pop();
            let depth_of = |callee| depths.get(&callee).map_or(0, |depth: &usize| depth.saturating_add(1));
            let depth = called(function).into_iter().map(depth_of).max().unwrap_or(0);
            depths.insert(function, depth);
        }
    }
    let mut order = model.functions().to_vec();
    order.sort_by_key(|function| depths.get(function).copied());
    order
}

/// A hash that functions of the same meaning share.
fn hash(model: &Model, function: FunctionId, data: &dyn DataSource) -> u64 {
    let mut state = FixedState::default().build_hasher();
    let record = model.function(function);
    let body = model.graph(record.body());
    record.domain().hash(&mut state);
    (body.inputs().len(), body.outputs().len(), body.node_count()).hash(&mut state);
    for node in model.nodes(record.body()) {
        hash_node(model, node, data, &mut state);
    }
    state.finish()
}

fn hash_node(model: &Model, node: NodeId, data: &dyn DataSource, state: &mut impl Hasher) {
    let record = model.node(node);
    (record.domain(), record.op(), record.overload(), record.input_count()).hash(state);
    // The order of attributes does not count, and one that has its default is equal to none: constants differ most.
    for attribute in record.attributes() {
        if let AttrValue::Tensor(tensor) = attribute.value() {
            Constant::Dense(onnx_types::tensor::Tensor::clone(tensor)).hash_meaning(data, state);
        }
    }
}
