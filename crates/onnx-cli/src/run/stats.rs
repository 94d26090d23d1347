//! What is observed during a run: time and memory of nodes, and inner values.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use onnx_diag::Diagnostic;
use onnx_eval::{NodeRun, Observer, RunTypes, Value};
use onnx_ir::{Model, NodeId, ValueId};

use super::given::name;
use crate::progress::Progress;

/// Nodes that a list shows.
const SHOWN: usize = 10;

/// Observes a run.
pub(super) struct Watcher<'a> {
    model: &'a Model,
    /// The inner values to keep.
    wanted: HashSet<ValueId>,
    progress: &'a Progress,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    /// Nodes that run, with the time when they began and the time that nodes inside of them took.
    active: Vec<(NodeId, Instant, Duration)>,
    costs: HashMap<NodeId, Cost>,
    values: HashMap<ValueId, Value>,
    declared: RunTypes<'a>,
    /// Values that contradict their declared types, in the order of execution.
    findings: Vec<Diagnostic>,
}

impl State<'_> {
    fn declare(&mut self, id: ValueId, value: &Value) {
        let found = self.declared.check(id, value);
        self.findings.extend(found);
    }
}

/// What a node took, in all its runs.
#[derive(Clone, Copy, Default)]
struct Cost {
    runs: u64,
    /// Without the nodes inside.
    time: Duration,
    /// The most bytes of all values after one of its runs.
    live_bytes: u64,
    output_bytes: u64,
}

/// A node in a list.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Entry {
    pub(super) op: String,
    /// Its name, or that of its first output.
    pub(super) node: String,
    pub(super) runs: u64,
    pub(super) seconds: f64,
    /// Bytes of all values that were kept when the node ended.
    pub(super) live_bytes: u64,
    pub(super) output_bytes: u64,
}

/// The most expensive nodes.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Stats {
    pub(super) seconds: f64,
    pub(super) peak_bytes: u64,
    pub(super) operators: Vec<OperatorTime>,
    pub(super) time: Vec<Entry>,
    pub(super) memory: Vec<Entry>,
}

/// The run time of all nodes with one operator.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct OperatorTime {
    pub(super) op: String,
    pub(super) nodes: usize,
    pub(super) runs: u64,
    pub(super) seconds: f64,
}

impl Observer for Watcher<'_> {
    fn begin(&self, node: NodeId) {
        self.state().active.push((node, Instant::now(), Duration::ZERO));
    }

    fn end(&self, run: &NodeRun<'_>) {
        if run.depth == 1 {
            self.progress.end();
        }
        let mut state = self.state();
        let Some((_, start, inside)) = state.active.pop() else { return };
        let total = start.elapsed();
        if let Some((_, _, outer)) = state.active.last_mut() {
            *outer += total;
        }
        let made = run.outputs.iter().flatten().map(Value::resident_bytes).fold(0, u64::saturating_add);
        let cost = state.costs.entry(run.node).or_default();
        cost.runs += 1;
        cost.time += total.saturating_sub(inside);
        cost.live_bytes = cost.live_bytes.max(run.live_bytes);
        cost.output_bytes = cost.output_bytes.max(made);
        for (&output, value) in self.model.node(run.node).outputs().iter().zip(run.outputs) {
            let (Some(output), Some(value)) = (output, value) else { continue };
            state.declare(output, value);
            if self.wanted.contains(&output) {
                state.values.insert(output, value.clone());
            }
        }
    }
}

impl<'a> Watcher<'a> {
    /// An observer that counts the nodes of the main graph as progress.
    pub(super) fn new(model: &'a Model, wanted: &[ValueId], progress: &'a Progress) -> Self {
        progress.count(model.nodes(model.main_graph()).count() as u64, "nodes");
        let state = State {
            active: Vec::new(),
            costs: HashMap::new(),
            values: HashMap::new(),
            declared: RunTypes::new(model),
            findings: Vec::new(),
        };
        let wanted = wanted.iter().copied().collect();
        Self { model, wanted, progress, state: Mutex::new(state) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares an input or output of the model with its declared type.
    pub(super) fn declare(&self, id: ValueId, value: &Value) {
        self.state().declare(id, value);
    }

    /// The values that contradict their declared types.
    pub(super) fn findings(&self) -> Vec<Diagnostic> {
        self.state().findings.clone()
    }

    /// The inner values of the last run of their nodes.
    pub(super) fn value(&self, value: ValueId) -> Option<Value> {
        self.state().values.get(&value).cloned()
    }

    /// The nodes with the longest run time and those that ran with the most memory.
    pub(super) fn stats(&self) -> Stats {
        let state = self.state();
        let mut all: Vec<(NodeId, Cost)> = state.costs.iter().map(|(&node, &cost)| (node, cost)).collect();
        let seconds = all.iter().map(|(_, cost)| cost.time.as_secs_f64()).sum();
        let peak_bytes = all.iter().map(|(_, cost)| cost.live_bytes).max().unwrap_or_default();
        // Equal costs are in the order of the keys, which does not depend on the hash.
        all.sort_by_key(|&(node, cost)| (Reverse(cost.time), node));
        let time = self.entries(&all);
        all.sort_by_key(|&(node, cost)| (Reverse(cost.live_bytes), node));
        let operators = self.operators(&all);
        Stats { seconds, peak_bytes, operators, time, memory: self.entries(&all) }
    }

    /// The sums by operator, those with the longest run time first.
    fn operators(&self, costs: &[(NodeId, Cost)]) -> Vec<OperatorTime> {
        let mut sums: BTreeMap<String, OperatorTime> = BTreeMap::new();
        for &(node, cost) in costs {
            let record = self.model.node(node);
            let [domain, op] = [record.domain(), record.op()].map(|part| self.model.str(part));
            let op = if domain.is_empty() { op.to_owned() } else { format!("{domain}.{op}") };
            let sum = sums.entry(op.clone()).or_insert(OperatorTime { op, nodes: 0, runs: 0, seconds: 0.0 });
            sum.nodes = sum.nodes.saturating_add(1);
            sum.runs = sum.runs.saturating_add(cost.runs);
            sum.seconds += cost.time.as_secs_f64();
        }
        let mut sums: Vec<OperatorTime> = sums.into_values().collect();
        sums.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        sums
    }

    fn entries(&self, costs: &[(NodeId, Cost)]) -> Vec<Entry> {
        let entry = |&(node, cost): &(NodeId, Cost)| Entry {
            op: self.model.str(self.model.node(node).op()).to_owned(),
            node: node_name(self.model, node).to_owned(),
            runs: cost.runs,
            seconds: cost.time.as_secs_f64(),
            live_bytes: cost.live_bytes,
            output_bytes: cost.output_bytes,
        };
        costs.iter().take(SHOWN).map(entry).collect()
    }
}

/// The name of a node, or that of its first output.
pub(crate) fn node_name(model: &Model, node: NodeId) -> &str {
    let record = model.node(node);
    match (model.str(record.name()), record.outputs().iter().flatten().next()) {
        ("", Some(&output)) => name(model, output),
        (own, _) => own,
    }
}
