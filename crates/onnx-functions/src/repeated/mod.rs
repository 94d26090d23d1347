//! Detection of repeated blocks: sets of nodes that are equal except for the values that they use, such as the layers of a
//! transformer.
//!
//! Nodes are colored by hashes of their surroundings ([`seeds`]). From sets of nodes of one color, one for each occurrence,
//! blocks grow along the edges that all occurrences have ([`grow`]), which finds the boundaries of layers: the first one has no
//! layer before it and the last one none after it. Blocks that cannot be calls lose nodes ([`order`]). The block that saves
//! the most nodes becomes a function, and the search continues with the other nodes. Each step takes time linear in the graph, and
//! the number of steps is bounded.

mod apply;
mod flow;
mod grow;
mod names;
mod order;
mod seeds;

use std::collections::HashMap;

use onnx_ir::{FunctionId, GraphId, Model, NodeId};
use onnx_schema::Registry;
use onnx_types::{Execution, Stopped, Symbol};

use crate::housekeeping::Taken;
use crate::outline::IR_WITH_FUNCTIONS;
use crate::reason::FunctionReason;
use apply::Context;
use flow::Flow;
use grow::{Block, Grower};
use order::{Quotient, made_convex};
use seeds::Colors;

/// Number of functions that are made at most.
const MAX_FUNCTIONS: usize = 32;

/// Options of [`outline_repeated`].
#[derive(Clone)]
#[non_exhaustive]
pub struct OutlineOptions<'a> {
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// The domain of the functions; it is imported in version 1 if it is not imported yet. By default `outlined`.
    pub domain: &'a str,
    /// Number of nodes that a block has at least. By default 4.
    pub min_nodes: usize,
    /// Limits and the interrupt.
    pub execution: Execution,
}

impl Default for OutlineOptions<'_> {
    fn default() -> Self {
        let execution = Execution::DEFAULT;
        Self { registry: Registry::STANDARD, domain: "outlined", min_nodes: 4, execution }
    }
}

onnx_types::option_setters! {
    OutlineOptions<'a> {
        with_registry => registry: &'a Registry,
        with_domain => domain: &'a str,
        with_min_nodes => min_nodes: usize,
        with_execution => execution: into Execution,
    }
}

/// The reason why repeated blocks were not outlined.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutlineError {
    /// The graph or the domain does not allow it. The model is unchanged, except its interner.
    #[error(transparent)]
    Refused(#[from] FunctionReason),
    /// The work was interrupted. The model is unchanged, except its interner.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A function that replaces the occurrences of a repeated block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlinedBlock {
    /// The function.
    pub function: FunctionId,
    /// The calls, in the order of the graph.
    pub calls: Vec<NodeId>,
    /// Number of nodes of the body, each of which replaces one node of each occurrence.
    pub nodes: usize,
}

/// Replaces repeated blocks of a graph by calls of functions. Returns the functions, those that save the most nodes first.
///
/// A block is a set of nodes that occurs several times, with the same operators, attributes and connections; the values
/// from outside that the nodes use, initializers included, become inputs of the function. Occurrences are disjoint, and
/// each is convex. Nodes with nested graphs, and those that refer to attributes of a function around them, are not
/// outlined, nor are producers of values that annotations refer to. Nodes may change their order.
///
/// Functions are named after the common scope of the names of the nodes, without numbers; calls have the scope as their
/// name, and names in the body are relative to it. If all nodes of each occurrence are in one scope, and no other node has
/// its name, [`inline`](crate::inline) with [`Naming::Always`](crate::Naming::Always) restores the names. Documentation and
/// metadata of nodes and their results are kept in the body if they are equal in all occurrences; declared types are not
/// kept, as sizes can differ. The IR version is raised to 8, the first one with functions.
///
/// # Errors
///
/// Returns an error if the nodes of the graph are not sorted, if the domain is that of standard operators, or if the work is
/// interrupted.
///
/// # Panics
///
/// Panics if the graph is not of this model or was removed.
pub fn outline_repeated(
    model: &mut Model,
    graph: GraphId,
    options: &OutlineOptions<'_>,
) -> Result<Vec<OutlinedBlock>, OutlineError> {
    if !model.is_sorted(graph) {
        return Err(FunctionReason::from("the nodes of the graph are not sorted").into());
    }
    let domain = outlined_domain(model, options)?;
    let interrupt = &options.execution.interrupt;
    let flow = Flow::new(model, graph, interrupt)?;
    let blocks = find(model, &flow, options)?;
    if blocks.is_empty() {
        return Ok(Vec::new());
    }
    let order = Quotient::new(&flow, &blocks).order();
    let order = order.map_err(|_| FunctionReason::from("the nodes of the graph form a cycle"))?;
    // An interrupt leaves the model as it is.
    let mut result = model.clone();
    apply::reorder(&mut result, &flow, graph, &order, interrupt)?;
    let taken = Taken::new(&result);
    let node_names = names::NodeNames::new(&result);
    let mut cx =
        Context { domain, registry: options.registry, taken, node_names, forwards: HashMap::default() };
    let mut outlined = Vec::with_capacity(blocks.len());
    for block in &blocks {
        let made = apply::outline_block(&mut result, &flow, block, (&mut cx, interrupt))?;
        let (function, calls) = (made.function, made.calls);
        outlined.push(OutlinedBlock { function, calls, nodes: block.len() });
    }
    if result.info().ir_version < IR_WITH_FUNCTIONS {
        result.info_mut().ir_version = IR_WITH_FUNCTIONS;
    }
    *model = result;
    Ok(outlined)
}

/// Finds repeated blocks of a graph and changes nothing: for each block its occurrences, which are lists of nodes. Blocks
/// that save the most nodes come first; see [`outline_repeated`].
///
/// # Errors
///
/// Returns an error if the nodes of the graph are not sorted, or if the work is interrupted.
///
/// # Panics
///
/// Panics if the graph is not of this model or was removed.
pub fn repeated_blocks(
    model: &Model,
    graph: GraphId,
    options: &OutlineOptions<'_>,
) -> Result<Vec<Vec<Vec<NodeId>>>, OutlineError> {
    if !model.is_sorted(graph) {
        return Err(FunctionReason::from("the nodes of the graph are not sorted").into());
    }
    let flow = Flow::new(model, graph, &options.execution.interrupt)?;
    let blocks = find(model, &flow, options)?;
    let nodes = |occurrence: Vec<usize>| occurrence.into_iter().map(|node| flow.nodes[node]).collect();
    Ok(blocks.into_iter().map(|block| block.occurrences.into_iter().map(nodes).collect()).collect())
}

/// The domain of the functions, unless it is one of standard or declared operators.
fn outlined_domain(model: &mut Model, options: &OutlineOptions<'_>) -> Result<Symbol, FunctionReason> {
    let domain = onnx_schema::normalize_domain(model.intern(options.domain));
    let is_known = onnx_schema::opset_versions(domain).is_some()
        || options.registry.declared_versions(options.domain).is_some();
    if is_known || domain.is_empty() {
        return Err("the functions need a domain that has no operators".into());
    }
    Ok(domain)
}

/// Finds blocks, until no further block saves nodes.
fn find(model: &Model, flow: &Flow, options: &OutlineOptions<'_>) -> Result<Vec<Block>, Stopped> {
    let interrupt = &options.execution.interrupt;
    let colors = Colors::new(flow, interrupt)?;
    let mut is_taken = vec![false; flow.nodes.len()];
    let mut blocks: Vec<Block> = Vec::new();
    while blocks.len() < MAX_FUNCTIONS {
        let mut best = Block::default();
        for seeds in colors.seeds(flow, interrupt, |node| !is_taken[node])? {
            interrupt.check()?;
            let grown = Grower::new(model, flow, &is_taken, interrupt).grow(&seeds)?;
            if grown.savings() <= best.savings() || grown.len() < options.min_nodes {
                continue;
            }
            let convex = made_convex(flow, &blocks, grown, interrupt)?;
            if convex.savings() > best.savings() && convex.len() >= options.min_nodes {
                best = convex;
            }
        }
        if best.savings() == 0 {
            break;
        }
        best.occurrences.iter().flatten().for_each(|&node| is_taken[node] = true);
        blocks.push(sorted(best));
    }
    Ok(blocks)
}

/// A block with its occurrences in the order of the graph.
fn sorted(mut block: Block) -> Block {
    block.occurrences.sort_by_key(|nodes| nodes.iter().min().copied());
    block
}
