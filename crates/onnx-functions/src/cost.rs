//! The cost of inlining, computed before anything is copied.
//!
//! Functions that call each other twice double the number of nodes at each level, so the cost is a sum over the call
//! graph: computing it takes time linear in the model, however large the expansion would be. Numbers saturate.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::AddAssign;

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Attribute, Event, FunctionId, GraphId, Model, NodeId};
use onnx_types::{Limits, Symbol};
use slotmap::SecondaryMap;

use crate::inline::Calls;

/// The parts that a copy consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cost {
    /// Number of nodes.
    pub(crate) nodes: u64,
    /// Number of operands, results, and elements of attributes.
    pub(crate) entries: u64,
    /// Bytes of names, documentation and constants. Copies share constants in memory, but a file has each.
    pub(crate) bytes: u64,
}

impl Cost {
    const fn times(self, factor: u64) -> Self {
        Self {
            nodes: self.nodes.saturating_mul(factor),
            entries: self.entries.saturating_mul(factor),
            bytes: self.bytes.saturating_mul(factor),
        }
    }

    /// The cost of one node, without the graphs that it contains.
    fn of(model: &Model, node: NodeId) -> Self {
        let record = model.node(node);
        let lists = record.input_count().saturating_add(record.outputs().len());
        let results = record.outputs().iter().flatten().map(|&output| model.value(output).name());
        let texts = results.chain([record.name(), record.doc()]).map(|text| model.str(text).len());
        let bytes = texts.fold(0, usize::saturating_add) as u64;
        let mut cost = Self { nodes: 1, entries: lists as u64, bytes };
        for attribute in record.attributes() {
            cost += Self::of_attribute(attribute);
        }
        cost
    }

    /// The cost of an attribute, without the graphs that it contains.
    fn of_attribute(attribute: &Attribute) -> Self {
        let value = attribute.value();
        let bytes = match value {
            AttrValue::String(text) => text.len() as u64,
            AttrValue::Strings(texts) => {
                texts.iter().map(|text| text.len() as u64).fold(0, u64::saturating_add)
            }
            AttrValue::Tensor(tensor) => tensor.payload().resident_bytes(),
            AttrValue::Tensors(tensors) => {
                tensors.iter().map(|tensor| tensor.payload().resident_bytes()).fold(0, u64::saturating_add)
            }
            _ => 0,
        };
        Self { nodes: 0, entries: elements(value), bytes }
    }

    /// The limit that a model exceeds to which copies of this cost are added: its name, the most that it allows, and what is
    /// needed.
    pub(crate) fn exceeded(self, model: &Model, limits: &Limits) -> Option<(&'static str, u64, u64)> {
        let nodes = self.nodes.saturating_add(model.node_count() as u64);
        let entries = self.entries.saturating_add(model.value_count() as u64);
        let values = entries.div_ceil(ENTRIES_OF_VALUE);
        let needed = [
            ("nodes", limits.nodes, nodes),
            ("values", limits.values, values),
            ("splat_bytes", limits.splat_bytes, self.bytes),
        ];
        needed.into_iter().find(|&(_, allowed, needed)| needed > allowed)
    }
}

/// Number of entries (operands, results, elements of attributes) that count as a value: operands refer to values, and most nodes
/// have as many of them as results.
const ENTRIES_OF_VALUE: u64 = 4;

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.entries = self.entries.saturating_add(other.entries);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Number of elements that a copy of an attribute takes; tensors are shared.
fn elements(value: &AttrValue) -> u64 {
    let count = match value {
        AttrValue::Floats(list) => list.len(),
        AttrValue::Ints(list) => list.len(),
        AttrValue::Strings(list) => list.len(),
        AttrValue::Values(list) => list.len(),
        AttrValue::Tensors(list) => list.len(),
        AttrValue::SparseTensors(list) => list.len(),
        AttrValue::Types(list) => list.len(),
        AttrValue::Graphs(list) => list.len(),
        _ => 1,
    };
    count as u64
}

/// The cost of a graph with everything nested in it.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// Of a copy of the graph.
    size: Cost,
    /// Of the bodies that replace calls in it.
    created: Cost,
    /// The number of copies of each attribute of the function around it, once all calls are inlined.
    references: BTreeMap<Symbol, u64>,
}

impl Sum {
    fn total(&self) -> Cost {
        let mut total = self.size;
        total += self.created;
        total
    }

    fn refer(&mut self, name: Symbol, count: u64) {
        let known = self.references.entry(name).or_default();
        *known = known.saturating_add(count);
    }
}

/// The costs of all functions of a model.
pub(crate) struct Costs<'a> {
    model: &'a Model,
    calls: &'a Calls,
    bodies: SecondaryMap<FunctionId, Sum>,
    defaults: HashMap<GraphId, Cost, RandomState>,
}

impl<'a> Costs<'a> {
    /// Computes the costs of functions if `calls` are inlined. `order` lists callees before callers.
    pub(crate) fn new(model: &'a Model, calls: &'a Calls, order: &[FunctionId]) -> Self {
        let mut costs = Self { model, calls, bodies: SecondaryMap::new(), defaults: HashMap::default() };
        for &function in order {
            let record = model.function(function);
            for &graph in record.defaults.iter().flat_map(|default| default.value().graphs()) {
                let total = costs.sum(graph).total();
                costs.defaults.insert(graph, total);
            }
            let sum = costs.sum(record.body());
            costs.bodies.insert(function, sum);
        }
        costs
    }

    /// The cost of the bodies that replace calls in a function.
    pub(crate) fn of_function(&self, function: FunctionId) -> Cost {
        self.bodies.get(function).map(|sum| sum.created).unwrap_or_default()
    }

    /// Number of nodes that one call of a function creates.
    pub(crate) fn of_call(&self, function: FunctionId) -> u64 {
        self.bodies.get(function).map(|sum| sum.total().nodes).unwrap_or_default()
    }

    /// The cost of the bodies that replace calls in a graph.
    pub(crate) fn of_graph(&self, graph: GraphId) -> Cost {
        self.sum(graph).created
    }

    fn sum(&self, graph: GraphId) -> Sum {
        let (mut open, mut done): (Vec<Sum>, HashMap<GraphId, Sum, RandomState>) = Default::default();
        for event in self.model.walk(graph) {
            match event {
                Event::Enter(graph) => {
                    let record = self.model.graph(graph);
                    let values = record.inputs().len().saturating_add(record.initializer_slots());
                    let size = Cost { entries: values as u64, ..Cost::default() };
                    open.push(Sum { size, ..Sum::default() });
                }
                Event::Node(_) => {}
                Event::After(node) => {
                    if let Some(sum) = open.last_mut() {
                        self.add(sum, node, &mut done);
                    }
                }
                Event::Leave(left) => match open.pop() {
                    Some(sum) if left == graph => return sum,
                    Some(sum) => {
                        done.insert(left, sum);
                    }
                    None => {}
                },
            }
        }
        Sum::default()
    }

    /// Adds a node to the sum of its graph; `nested` has the sums of the graphs in it.
    fn add(&self, sum: &mut Sum, node: NodeId, nested: &mut HashMap<GraphId, Sum, RandomState>) {
        sum.size += Cost::of(self.model, node);
        let record = self.model.node(node);
        let callee = self.calls.get(node).and_then(|&function| Some((function, self.bodies.get(function)?)));
        let copies = |attribute: &Attribute| {
            callee.map_or(0, |(_, body)| body.references.get(&attribute.name()).copied().unwrap_or_default())
        };
        for attribute in record.attributes() {
            let copies = copies(attribute);
            sum.created += Cost::of_attribute(attribute).times(copies);
            if let AttrValue::Ref(target) = *attribute.value() {
                sum.refer(target, copies.saturating_add(1));
            }
            for graph in attribute.value().graphs() {
                let Some(inner) = nested.remove(graph) else { continue };
                sum.created += inner.total().times(copies);
                sum.size += inner.size;
                sum.created += inner.created;
                for (&name, &count) in &inner.references {
                    sum.refer(name, count.saturating_mul(copies.saturating_add(1)));
                }
            }
        }
        let Some((function, body)) = callee else { return };
        sum.created += body.total();
        let defaults = &self.model.function(function).defaults;
        let given: HashSet<Symbol, RandomState> = match defaults.as_slice() {
            [] => HashSet::default(),
            _ => record.attributes().iter().map(Attribute::name).collect(),
        };
        for default in defaults {
            // Defaults are copied for each call, whether they apply or not.
            let copies = if given.contains(&default.name()) { 0 } else { copies(default) };
            sum.created += Cost::of_attribute(default).times(copies.saturating_add(1));
            for graph in default.value().graphs() {
                let total = self.defaults.get(graph).copied().unwrap_or_default();
                sum.created += total.times(copies);
            }
        }
    }
}
