//! Replacement of repeated blocks: a block becomes a function, and its occurrences become calls.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{CopyMap, Extras, FunctionId, GraphId, Model, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::Registry;
use onnx_types::{Interrupt, Symbol, UnknownFields, Watch};

use super::OutlineError;
use super::flow::{Flow, Source, WATCHED_NODES};
use super::grow::Block;
use super::names;
use crate::expand::add_imports;
use crate::housekeeping::Taken;
use crate::reason::FunctionReason;

/// The function of a block and the operands of its calls.
struct Signature {
    /// For each operand of each node of the block, the input of the function that it is.
    inputs: HashMap<(usize, usize), usize, RandomState>,
    /// For each input of the function, the value of each occurrence.
    arguments: Vec<Vec<ValueId>>,
    outputs: Vec<Output>,
}

/// An output of the function.
struct Output {
    slot: usize,
    /// The index of the output of the node.
    output: usize,
    /// For each occurrence, whether anything else needs the value.
    is_needed: Vec<bool>,
}

impl Signature {
    fn new(flow: &Flow, block: &Block) -> Self {
        let mut slots: HashMap<usize, (usize, usize), RandomState> = HashMap::default();
        for (occurrence, nodes) in block.occurrences.iter().enumerate() {
            for (slot, &node) in nodes.iter().enumerate() {
                slots.insert(node, (occurrence, slot));
            }
        }
        let is_inside =
            |occurrence: usize, node: usize| slots.get(&node).is_some_and(|&(other, _)| other == occurrence);
        let (mut inputs, mut arguments) = (HashMap::default(), Vec::<Vec<ValueId>>::new());
        let mut known: HashMap<Vec<ValueId>, usize, RandomState> = HashMap::default();
        // Operands are inputs in the order of the nodes of the graph, so that equal blocks have equal functions.
        for (slot, input) in operand_slots(flow, block) {
            let values = block.occurrences.iter().enumerate().filter_map(|(occurrence, nodes)| {
                match flow.operands[nodes[slot]][input] {
                    Source::Outside(value) => Some(value),
                    Source::Node { node, value, .. } => (!is_inside(occurrence, node)).then_some(value),
                    Source::Omitted => None,
                }
            });
            let values: Vec<ValueId> = values.collect();
            if values.is_empty() {
                continue;
            }
            let index = *known.entry(values.clone()).or_insert_with(|| {
                arguments.push(values);
                arguments.len() - 1
            });
            inputs.insert((slot, input), index);
        }
        let mut outputs = Vec::new();
        for slot in slots_in_order(block) {
            for output in 0..flow.escapes[block.occurrences[0][slot]].len() {
                let is_needed = |(occurrence, nodes): (usize, &Vec<usize>)| {
                    let node = nodes[slot];
                    let mut uses = flow.uses[node].iter().filter(|edge| edge.output == output);
                    flow.escapes[node][output] || uses.any(|edge| !is_inside(occurrence, edge.user))
                };
                let is_needed: Vec<bool> = block.occurrences.iter().enumerate().map(is_needed).collect();
                if is_needed.contains(&true) {
                    outputs.push(Output { slot, output, is_needed });
                }
            }
        }
        Self { inputs, arguments, outputs }
    }
}

/// The slots of a block in the order of the nodes of its first occurrence.
fn slots_in_order(block: &Block) -> Vec<usize> {
    let mut slots: Vec<usize> = (0..block.len()).collect();
    slots.sort_by_key(|&slot| block.occurrences[0][slot]);
    slots
}

/// The operands of a block, as slots and indices.
fn operand_slots(flow: &Flow, block: &Block) -> Vec<(usize, usize)> {
    let slots = slots_in_order(block).into_iter();
    let operands = slots.flat_map(|slot| {
        let count = flow.operands[block.occurrences[0][slot]].len();
        (0..count).map(move |input| (slot, input))
    });
    operands.collect()
}

/// Reorders the nodes of a graph.
pub(super) fn reorder(
    model: &mut Model,
    flow: &Flow,
    graph: GraphId,
    order: &[usize],
    interrupt: &Interrupt,
) -> Result<(), OutlineError> {
    let mut watch = Watch::silent(interrupt, WATCHED_NODES);
    let mut is_placed = vec![false; order.len()];
    let mut next = 0;
    for &node in order {
        watch.work(1)?;
        while is_placed.get(next).copied().unwrap_or_default() {
            next += 1;
        }
        is_placed[node] = true;
        if node != next {
            let at = flow.nodes.get(next).map_or(Position::End(graph), |&node| Position::Before(node));
            model.move_node(flow.nodes[node], at).map_err(FunctionReason::from)?;
        }
    }
    Ok(())
}

/// A function that was made of a block.
pub(super) struct Made {
    pub(super) function: FunctionId,
    pub(super) calls: Vec<NodeId>,
}

/// State that is shared by the blocks of a graph.
pub(super) struct Context<'a> {
    pub(super) domain: Symbol,
    pub(super) registry: &'a Registry,
    pub(super) taken: Taken,
    pub(super) node_names: names::NodeNames,
    /// The outputs of calls that replaced values of the data flow.
    pub(super) forwards: HashMap<ValueId, ValueId, RandomState>,
}

impl Context<'_> {
    fn current(&self, value: ValueId) -> ValueId {
        self.forwards.get(&value).copied().unwrap_or(value)
    }
}

/// Makes a function of a block, and replaces the occurrences by calls. The nodes of each occurrence are consecutive.
pub(super) fn outline_block(
    model: &mut Model,
    flow: &Flow,
    block: &Block,
    (cx, interrupt): (&mut Context<'_>, &Interrupt),
) -> Result<Made, OutlineError> {
    let mut watch = Watch::silent(interrupt, WATCHED_NODES);
    watch.check()?;
    let signature = Signature::new(flow, block);
    watch.check()?;
    let scopes: Vec<String> = block
        .occurrences
        .iter()
        .map(|nodes| names::scope(model, &nodes.iter().map(|&node| flow.nodes[node]).collect::<Vec<_>>()))
        .collect();
    let scope = scopes.first().map(String::as_str).unwrap_or_default();
    let like = model.intern(&names::function_name(scope));
    let name = cx.taken.name_like(model, cx.registry, cx.domain, like);
    let function = make_function(model, flow, block, (&signature, scope), (cx, name))?;
    let mut calls = Vec::with_capacity(block.occurrences.len());
    for (occurrence, scope) in scopes.iter().enumerate() {
        let nodes = &block.occurrences[occurrence];
        watch.work(nodes.len() as u64)?;
        let arguments = signature.arguments.iter().map(|values| cx.current(values[occurrence]));
        let arguments: Vec<ValueId> = arguments.collect();
        let results = signature.outputs.iter().map(|output| {
            let outputs = model.node(flow.nodes[nodes[output.slot]]).outputs();
            outputs.get(output.output).copied().flatten().filter(|_| output.is_needed[occurrence])
        });
        let results: Vec<Option<ValueId>> = results.collect();
        let mut nodes = nodes.clone();
        nodes.sort_unstable();
        let nodes: Vec<NodeId> = nodes.iter().map(|&node| flow.nodes[node]).collect();
        calls.push(replace(model, &nodes, (&arguments, &results), (cx, name, scope))?);
    }
    Ok(Made { function, calls })
}

/// Makes a function of the first occurrence of a block.
fn make_function(
    model: &mut Model,
    flow: &Flow,
    block: &Block,
    (signature, scope): (&Signature, &str),
    (cx, name): (&Context<'_>, Symbol),
) -> Result<FunctionId, FunctionReason> {
    let function = model.add_function(cx.domain, name, Symbol::EMPTY);
    let body = model.function(function).body();
    let slots = slots_in_order(block);
    let nodes: Vec<NodeId> = slots.iter().map(|&slot| flow.nodes[block.occurrences[0][slot]]).collect();
    let mut imports: Vec<OpsetImport> = Vec::new();
    for &node in &nodes {
        let record = model.node(node);
        let version = model.versions_in(record.graph()).get(record.domain());
        if let Some(version) = version
            && imports.iter().all(|import| import.domain() != record.domain())
        {
            imports.push(OpsetImport::new(record.domain(), version));
        }
    }
    model.function_mut(function).opset_imports = imports;
    let mut map = CopyMap::new();
    let mut formals = Vec::with_capacity(signature.arguments.len());
    let mut seen: HashSet<ValueId, RandomState> = HashSet::default();
    for (index, values) in signature.arguments.iter().enumerate() {
        let value = cx.current(values[0]);
        let name = without_scope(model.str(model.value(value).name()), scope).to_owned();
        let is_first = seen.insert(value);
        let name = if is_first && !name.is_empty() { name } else { format!("{name}_{index}") };
        let formal = model.add_graph_input(body, &name, None);
        formals.push(formal);
        if is_first {
            map.map(value, formal);
        }
    }
    let copies = model.copy_each(&nodes, Position::End(body), &mut map)?;
    for (&slot, &copy) in slots.iter().zip(&copies) {
        for input in 0..model.node(copy).input_count() {
            if let Some(&index) = signature.inputs.get(&(slot, input)) {
                model.set_input(copy, input, Some(formals[index]));
            }
        }
        strip_scope(model, copy, scope);
        let of_slot: Vec<NodeId> = block.occurrences.iter().map(|nodes| flow.nodes[nodes[slot]]).collect();
        keep_common(model, copy, &of_slot);
    }
    let of_slot: HashMap<usize, NodeId, RandomState> = slots.into_iter().zip(copies).collect();
    for output in &signature.outputs {
        let copy = of_slot.get(&output.slot).copied().ok_or("a node of the block was not copied")?;
        let value = model.node(copy).output(output.output).ok_or("a result of the block is omitted")?;
        model.push_graph_output(body, value);
    }
    Ok(function)
}

/// A name without the scope that all nodes of a block are in: calls have the scope as their name.
fn without_scope<'a>(name: &'a str, scope: &str) -> &'a str {
    let inner = name.strip_prefix(scope).filter(|_| !scope.is_empty());
    inner.and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
}

/// Removes documentation and metadata of a node of the function, and of its results, that is not equal in all occurrences.
fn keep_common(model: &mut Model, copy: NodeId, nodes: &[NodeId]) {
    let of_nodes: Vec<Option<Extras>> =
        nodes.iter().map(|&node| model.node(node).extras().cloned()).collect();
    if of_nodes.iter().any(Option::is_some) {
        *model.node_extras_mut(copy) = common(of_nodes);
    }
    for index in 0..model.node(copy).outputs().len() {
        let Some(value) = model.node(copy).output(index) else { continue };
        let outputs = nodes.iter().map(|&node| model.node(node).output(index));
        let of_values: Vec<Option<Extras>> =
            outputs.map(|value| model.value(value?).extras().cloned()).collect();
        if of_values.iter().any(Option::is_some) {
            *model.value_extras_mut(value) = common(of_values);
        }
    }
}

/// The entries that are equal in all lists.
fn common(list: Vec<Option<Extras>>) -> Extras {
    let mut list = list.into_iter().map(Option::unwrap_or_default);
    let mut common = list.next().unwrap_or_default();
    for other in list {
        if common.doc != other.doc {
            common.doc = Symbol::EMPTY;
        }
        common.metadata.retain(|entry| other.metadata.contains(entry));
        if common.unknown != other.unknown {
            common.unknown = UnknownFields::default();
        }
    }
    common
}

fn strip_scope(model: &mut Model, node: NodeId, scope: &str) {
    let name = without_scope(model.str(model.node(node).name()), scope).to_owned();
    let name = model.intern(&name);
    model.set_node_name(node, name);
    let outputs = model.node(node).outputs().to_vec();
    for value in outputs.into_iter().flatten() {
        let name = without_scope(model.str(model.value(value).name()), scope).to_owned();
        let name = model.intern(&name);
        model.set_value_name(value, name);
        // Sizes of one occurrence can differ from those of another one.
        model.set_type(value, None::<onnx_types::Type>);
    }
}

/// Replaces consecutive nodes by a call.
fn replace(
    model: &mut Model,
    nodes: &[NodeId],
    (arguments, results): (&[ValueId], &[Option<ValueId>]),
    (cx, name, scope): (&mut Context<'_>, Symbol, &str),
) -> Result<NodeId, FunctionReason> {
    let first = *nodes.first().ok_or("the block has no nodes")?;
    let graph = model.node(first).graph();
    add_imports(model, graph, &[(cx.domain, 1)]);
    let present: Vec<bool> = results.iter().map(Option::is_some).collect();
    let call_name = cx.node_names.free(model, scope);
    let call_name = model.str(call_name).to_owned();
    let mut build = model.build_at(Position::Before(first)).derive("outline", nodes);
    let mut call = build.call_symbol(cx.domain, name).name(&call_name);
    for &argument in arguments {
        call = call.input(Some(argument));
    }
    let new = call.outputs_if(&present)?;
    let mut node = None;
    for (old, new) in results.iter().zip(new) {
        let (Some(old), Some(new)) = (*old, new) else { continue };
        node = model.value(new).producer();
        model.take_name(new, old);
        let ty = model.value(old).shared_ty().cloned();
        model.set_type(new, ty);
        model.replace_all_uses(old, new);
        cx.forwards.insert(old, new);
    }
    // Users are erased first; nodes outside of the occurrence do not use the remaining ones.
    for &node in nodes.iter().rev() {
        model.erase_node(node)?;
    }
    node.ok_or_else(|| "no result of the block is used".into())
}
