//! The result: names, numbers and expressions.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId, Owner};
use onnx_shape_infer::Inference;
use onnx_types::{Dim, Interrupt, Stopped, Symbol, Watch};

use super::graphs::{NodeRecord, Totals};
use super::measure::{Measure, Work};
use super::weights::Size;
use super::{Amount, Cost, NodeCost, OperatorCost};

/// Nodes between two checks of the interrupt.
const INTERVAL: u64 = 256;
/// The size of each dimension variable in the order of lists.
const TYPICAL: i64 = 64;

/// The sums of the nodes with one operator.
struct Row {
    cost: OperatorCost,
    work: Work,
    outputs: Dim,
}

/// The cost of a model without calls of functions, with the weights of the model that may have some.
pub(super) fn report(
    model: &Model,
    inference: &Inference,
    mut totals: Totals<'_>,
    weights: Size,
    interrupt: &Interrupt,
) -> Result<Cost, Stopped> {
    let mut watch = Watch::silent(interrupt, INTERVAL);
    let records = std::mem::take(&mut totals.nodes);
    let mut rows: Vec<Row> = Vec::new();
    let mut positions: HashMap<(Symbol, Symbol), usize, RandomState> = HashMap::default();
    let mut nodes = Vec::with_capacity(records.len());
    let mut unknown_nodes = 0_u64;
    for record in &records {
        watch.work(1)?;
        let node = node_cost(inference, &mut totals, record);
        unknown_nodes = unknown_nodes.saturating_add(u64::from(record.work.is_err()));
        nodes.push(node);
        if record.has_graphs {
            continue;
        }
        let operator = (model.node(record.node).domain(), model.node(record.node).op());
        let position = *positions.entry(operator).or_insert(rows.len());
        if position == rows.len() {
            rows.push(Row::new(model, operator));
        }
        if let Some(row) = rows.get_mut(position) {
            row.add(&mut totals.measure, record);
        }
    }
    let measure = &totals.measure;
    let amount = |dim| amount(measure, inference, dim);
    let mut operators: Vec<OperatorCost> =
        rows.into_iter().map(|row| row.finish(measure, inference)).collect();
    operators.sort_by(|a, b| {
        let by_name = (&a.domain, &a.op).cmp(&(&b.domain, &b.op));
        b.rank.cmp(&a.rank).then(b.nodes.cmp(&a.nodes)).then(by_name)
    });
    let peak_bytes = amount(totals.peak);
    let peak_node = totals.peak_node.filter(|_| peak_bytes.known().is_some());
    Ok(Cost {
        macs: amount(totals.work.macs),
        operations: amount(totals.work.operations),
        parameters: weights.elements,
        weight_bytes: weights.bytes,
        activation_bytes: amount(totals.outputs),
        peak_bytes,
        peak_node: peak_node.map(|node| name(model, node)),
        unknown_nodes,
        unknown_values: totals.unknown_values,
        loops_counted_once: totals.loops_counted_once,
        contradiction: None,
        nodes,
        operators,
    })
}

fn node_cost(inference: &Inference, totals: &mut Totals<'_>, record: &NodeRecord) -> NodeCost {
    let model = totals.measure.model;
    let weights = totals.weights.of_node(model, record.node);
    let work = record.work.ok();
    let all = work.map_or(Dim::Unknown, |work| totals.measure.exprs.mul(work.operations, record.times));
    let measure = &totals.measure;
    let amount = |dim: Option<Dim>| amount(measure, inference, dim.unwrap_or_default());
    let node = model.node(record.node);
    NodeCost {
        node: Some(record.node),
        name: name(model, record.node),
        path: path(model, record.node),
        domain: model.str(node.domain()).to_owned(),
        op: model.str(node.op()).to_owned(),
        has_graphs: record.has_graphs,
        times: amount(Some(record.times)),
        macs: amount(work.map(|work| work.macs)),
        operations: amount(work.map(|work| work.operations)),
        why_unknown: record.work.err().map(|why| why.to_string()),
        parameters: weights.elements,
        weight_bytes: weights.bytes,
        activation_bytes: amount(record.outputs),
        rank: rank(measure, all),
    }
}

impl Row {
    fn new(model: &Model, (domain, op): (Symbol, Symbol)) -> Self {
        let cost = OperatorCost {
            domain: model.str(domain).to_owned(),
            op: model.str(op).to_owned(),
            nodes: 0,
            unknown_nodes: 0,
            macs: Amount::Unknown,
            operations: Amount::Unknown,
            activation_bytes: Amount::Unknown,
            rank: 0,
        };
        Self { cost, work: Work::NONE, outputs: Dim::Known(0) }
    }

    fn add(&mut self, measure: &mut Measure<'_>, record: &NodeRecord) {
        self.cost.nodes = self.cost.nodes.saturating_add(1);
        match record.work {
            Ok(work) => {
                let work = measure.times(work, record.times);
                self.work = measure.add_work(self.work, work);
            }
            Err(_) => self.cost.unknown_nodes = self.cost.unknown_nodes.saturating_add(1),
        }
        let outputs = measure.exprs.mul(record.outputs.unwrap_or(Dim::Known(0)), record.times);
        self.outputs = measure.exprs.add(self.outputs, outputs);
    }

    fn finish(self, measure: &Measure<'_>, inference: &Inference) -> OperatorCost {
        let mut cost = self.cost;
        let is_known = cost.unknown_nodes < cost.nodes;
        let amount = |dim| if is_known { amount(measure, inference, dim) } else { Amount::Unknown };
        (cost.macs, cost.operations) = (amount(self.work.macs), amount(self.work.operations));
        cost.activation_bytes = super::report::amount(measure, inference, self.outputs);
        cost.rank = rank(measure, self.work.operations);
        cost
    }
}

fn amount(measure: &Measure<'_>, inference: &Inference, dim: Dim) -> Amount {
    match dim {
        Dim::Known(number) => u64::try_from(number).map_or(Amount::Unknown, Amount::Known),
        Dim::Unknown => Amount::Unknown,
        Dim::Var(_) | Dim::Expr(_) => {
            let names = inference.names(measure.model);
            Amount::Expression(measure.exprs.display(dim, &names).to_string())
        }
    }
}

fn rank(measure: &Measure<'_>, dim: Dim) -> u64 {
    let value = measure.exprs.eval(dim, &|_| Some(TYPICAL));
    value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}

/// The name of a node, or that of its first output.
fn name(model: &Model, node: NodeId) -> String {
    let record = model.node(node);
    let own = model.str(record.name());
    let output = || record.outputs().iter().flatten().next();
    match (own, output()) {
        ("", Some(&output)) => model.str(model.value(output).name()).to_owned(),
        (own, _) => own.to_owned(),
    }
}

/// The nodes around a node, each with the attribute that has the graph.
fn path(model: &Model, node: NodeId) -> String {
    /// Maximum number of nodes in a path: a longer line is not readable.
    const MOST: usize = 8;
    let mut parts: Vec<String> = Vec::new();
    let mut graph = model.node(node).graph();
    while let (Owner::Node(owner), true) = (model.graph(graph).owner(), parts.len() < MOST) {
        let holds = |attribute: &&onnx_ir::Attribute| attribute.value().graphs().contains(&graph);
        let attribute = model.node(owner).attributes().iter().find(holds);
        let attribute = attribute.map_or("", |attribute| model.str(attribute.name()));
        parts.push(format!("{}.{attribute}", name(model, owner)));
        graph = model.node(owner).graph();
    }
    parts.reverse();
    parts.join(" / ")
}
