//! What can be the reason why values diverge: nodes without a compared result, and weights that only one model has.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use onnx_diff::repeated_values;
use onnx_eval::compare::{Compared, Comparison, Side};
use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_types::ElemType;
use onnx_types::tensor::{DataSource, Tensor};

use super::Models;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::shown;
use crate::run::{name, node_name};
use crate::size::{grouped, plural};

/// The least number of elements of a weight that is looked for in the other model: scales of one element, for example, are often
/// equal.
const LEAST: u64 = 8;

/// The elements of a tensor in whatever order.
type Elements = (ElemType, u64, u64, u64);

/// Which weights of each model the other one has, when that is asked for.
#[derive(Default)]
pub(super) struct Weights {
    of_a: OnceCell<HashMap<ValueId, bool>>,
    of_b: OnceCell<HashMap<ValueId, bool>>,
}

/// Weights of nodes of a model, and what is found about them.
pub(super) struct Found {
    /// How many they are.
    count: usize,
    /// Those with elements that no weight of the other model has, in the order of execution, each with a node that reads it.
    only_here: Vec<(ValueId, NodeId)>,
    side: Side,
}

impl Weights {
    /// Whether the elements of each weight of a model are those of one of the other model.
    fn of(&self, models: &Models<'_>, side: Side) -> Result<&HashMap<ValueId, bool>, Failure> {
        let (cell, of, other) = match side {
            Side::A => (&self.of_a, models.a, models.b),
            Side::B => (&self.of_b, models.b, models.a),
        };
        if let Some(known) = cell.get() {
            return Ok(known);
        }
        let others: HashSet<Elements> = elements(other)?.into_iter().map(|(_, elements)| elements).collect();
        let types: HashSet<ElemType> = others.iter().map(|elements| elements.0).collect();
        // Weights of a type that the other model has not are the same numbers, rounded.
        let own = elements(of)?.into_iter().filter(|(_, elements)| types.contains(&elements.0));
        let found = own.map(|(value, elements)| (value, others.contains(&elements))).collect();
        Ok(cell.get_or_init(|| found))
    }

    /// The weights of nodes of a model.
    fn of_nodes(&self, models: &Models<'_>, side: Side, nodes: &[NodeId]) -> Result<Found, Failure> {
        let known = self.of(models, side)?;
        let model = &models.loaded(side).model;
        let (mut seen, mut found) = (HashSet::new(), Found { count: 0, only_here: Vec::new(), side });
        let repeated = repeated_values(model, &order(model, model.main_graph()));
        for &node in nodes {
            for value in model.node(node).inputs().flatten() {
                let value = repeated.get(&value).copied().unwrap_or(value);
                let Some(&is_shared) = known.get(&value).filter(|_| seen.insert(value)) else { continue };
                found.count = found.count.saturating_add(1);
                if !is_shared {
                    found.only_here.push((value, node));
                }
            }
        }
        Ok(found)
    }

    /// What the weights of nodes say that can be the reason of a difference, in lines.
    pub(super) fn about(
        &self,
        models: &Models<'_>,
        nodes: &[NodeId],
        node_in_a: Option<NodeId>,
    ) -> Result<Vec<String>, Failure> {
        let of = if nodes.len() == 1 { "of this node" } else { "of these nodes" };
        let mut found = Vec::new();
        found.extend(self.of_nodes(models, Side::B, nodes)?.text(models, of));
        if let (Some(node), &[in_b]) = (node_in_a, nodes) {
            let count = |model: &Model, node| model.node(node).inputs().flatten().count() as u64;
            let [of_a, of_b] = [count(&models.a.model, node), count(&models.b.model, in_b)];
            if of_a != of_b {
                found.push(format!("the node has {} in A, and {of_b} in B", plural(of_a, "operand")));
            }
            found.extend(self.of_nodes(models, Side::A, &[node])?.text(models, "of the node in A"));
        }
        Ok(found)
    }

    /// What all weights say.
    pub(super) fn summary(&self, models: &Models<'_>) -> Result<Option<String>, Failure> {
        for side in [Side::B, Side::A] {
            let model = &models.loaded(side).model;
            let found = self.of_nodes(models, side, &order(model, model.main_graph()))?;
            let name = if side == Side::B { "B" } else { "A" };
            if let Some(text) = found.text(models, &format!("of {name}")) {
                return Ok(Some(text));
            }
            if side == Side::A && found.count > 0 {
                return Ok(Some(
                    "all weights of each model have the elements of weights of the other one".to_owned(),
                ));
            }
        }
        Ok(None)
    }
}

impl Found {
    /// What the weights say, about nodes that are called so; `None` if the other model has all of them.
    fn text(&self, models: &Models<'_>, of: &str) -> Option<String> {
        let &(value, node) = self.only_here.first()?;
        let model = &models.loaded(self.side).model;
        let other = if self.side == Side::B { "A" } else { "B" };
        let ty = model.constant_tensor(value).map(|tensor| {
            let dims: Vec<String> = tensor.dims().iter().map(i64::to_string).collect();
            format!(" {}[{}]", tensor.elem(), dims.join(","))
        });
        let known = models.paired.name_in_b(value).filter(|_| self.side == Side::B);
        let weight =
            format!("`{}`{}", shown(known.unwrap_or_else(|| name(model, value))), ty.unwrap_or_default());
        let user = format!("{} `{}`", shown(model.str(model.node(node).op())), shown(node_name(model, node)));
        let has = format!("elements that no weight of {other} has");
        if self.count == 1 {
            return Some(format!("the weight {weight} of {user} has {has}"));
        }
        let (only, all) = (grouped(self.only_here.len() as u64), plural(self.count as u64, "weight"));
        let verb = if self.only_here.len() == 1 { "has" } else { "have" };
        Some(format!("of {all} {of}, {only} {verb} {has}, first {weight} of {user}"))
    }
}

/// The nodes of the second model, in the order of execution, whose results lead from values that agree to one that does not, and
/// are not compared themselves, except for that of the last node.
pub(super) fn uncompared(model: &Model, comparison: &Comparison, compared: &Compared) -> Vec<NodeId> {
    let agreeing = comparison.inner.iter().filter(|other| other.difference.agrees());
    let agreeing: HashSet<ValueId> = agreeing.map(|other| other.value).collect();
    let (mut open, mut found) = (vec![compared.value], HashSet::new());
    while let Some(value) = open.pop() {
        let Some(node) = model.value(value).producer().filter(|_| !agreeing.contains(&value)) else {
            continue;
        };
        if found.insert(node) {
            open.extend(operands(model, node));
        }
    }
    let order = order(model, model.main_graph());
    let mut varying: HashSet<NodeId> = HashSet::new();
    let mut nodes = Vec::new();
    for node in order {
        // What only constants determine is a constant.
        let varies = operands(model, node).into_iter().any(|value| match model.value(value).producer() {
            Some(producer) => varying.contains(&producer),
            None => model.constant_tensor(value).is_none(),
        });
        if varies {
            varying.insert(node);
        }
        if found.contains(&node) && varies {
            nodes.push(node);
        }
    }
    nodes
}

/// The values that a node reads, in its graphs, too.
fn operands(model: &Model, node: NodeId) -> Vec<ValueId> {
    let record = model.node(node);
    let graphs = record.attributes().iter().flat_map(|attribute| attribute.value().graphs());
    record.inputs().flatten().chain(graphs.flat_map(|&graph| model.captures(graph))).collect()
}

/// The nodes of a graph, in the order of execution if there is one.
pub(super) fn order(model: &Model, graph: GraphId) -> Vec<NodeId> {
    model.sorted_nodes(graph).unwrap_or_else(|_| model.nodes(graph).collect())
}

/// The weights of a main graph with their elements.
fn elements(loaded: &Loaded) -> Result<Vec<(ValueId, Elements)>, Failure> {
    let (model, source) = (&loaded.model, loaded.source()?);
    let mut found = Vec::new();
    for value in model.definitions(model.main_graph()) {
        loaded.execution.interrupt.check()?;
        let Some(tensor) = model.constant_tensor(value) else { continue };
        found.extend(elements_of(tensor, &source).map(|elements| (value, elements)));
    }
    Ok(found)
}

/// Sums do not depend on the order, in which exporters store the axes of a weight.
fn elements_of(tensor: &Tensor, source: &dyn DataSource) -> Option<Elements> {
    let count = tensor.element_count().filter(|&count| count >= LEAST && tensor.elem().is_float())?;
    let (mut one, mut two) = (0_u64, 0_u64);
    for element in tensor.iter_f64(source).ok()? {
        // Zeros of both signs are equal.
        let bits = (element + 0.0).to_bits();
        one = one.wrapping_add(mixed(bits));
        two = two.wrapping_add(mixed(bits ^ 0x9e37_79b9_7f4a_7c15));
    }
    Some((tensor.elem(), count, one, two))
}

/// The finalizer of splitmix64.
const fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
