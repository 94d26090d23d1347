//! The traversal: costs of nodes, of nested graphs with their repetitions, and what is live.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_eval::Liveness;
use onnx_ir::{Event, GraphId, Model, NodeId, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::expr::Bounds;
use onnx_types::{Dim, Stopped, Symbol};
use slotmap::SecondaryMap;

use super::CostOptions;
use super::formulas::{self, Why};
use super::measure::{Measure, Work};
use super::trips::{Nested, nested};
use super::weights::Weights;

/// The cost of a node.
pub(super) struct NodeRecord {
    pub(super) node: NodeId,
    pub(super) has_graphs: bool,
    /// Repetitions by the loops around it.
    pub(super) times: Dim,
    pub(super) work: Result<Work, Why>,
    pub(super) outputs: Option<Dim>,
}

/// What is known of a graph after its traversal, for one run of it.
#[derive(Clone, Copy)]
struct GraphRecord {
    work: Work,
    /// Bytes of the outputs of all nodes.
    outputs: Dim,
    peak: Dim,
    peak_node: Option<NodeId>,
}

impl GraphRecord {
    const EMPTY: Self =
        Self { work: Work::NONE, outputs: Dim::Known(0), peak: Dim::Known(0), peak_node: None };
}

/// A graph that is open.
struct Frame {
    record: GraphRecord,
    /// Bytes that are live.
    live: Dim,
    /// Repetitions of the graph by the loops around it.
    times: Dim,
    /// Number of times that the graphs of the node that is visited run.
    nested: Nested,
    /// The position of that node in the list of nodes.
    index: usize,
    /// Live bytes that were compared with the peak.
    compared: HashSet<Dim, RandomState>,
}

/// The sums of a model.
pub(super) struct Totals<'a> {
    pub(super) measure: Measure<'a>,
    pub(super) nodes: Vec<NodeRecord>,
    pub(super) work: Work,
    pub(super) outputs: Dim,
    pub(super) peak: Dim,
    pub(super) peak_node: Option<NodeId>,
    pub(super) unknown_values: u64,
    pub(super) loops_counted_once: u64,
    pub(super) weights: Weights,
    liveness: Liveness,
    done: SecondaryMap<GraphId, GraphRecord>,
    open: Vec<Frame>,
}

/// Bounds of dimension variables when amounts are compared: sizes are at least 1, so that fewer sums remain as operands
/// of the maximum.
const fn not_empty(_: Symbol) -> Bounds {
    Bounds::new(Some(1), None)
}

/// Events between two checks of the interrupt.
const INTERVAL: usize = 256;

impl<'a> Totals<'a> {
    /// The sums of a model without calls of functions.
    pub(super) fn of(
        model: &'a Model,
        inference: &'a Inference,
        options: &CostOptions<'_>,
    ) -> Result<Self, Stopped> {
        let main = model.main_graph();
        let mut totals = Self {
            measure: Measure::new(model, inference),
            nodes: Vec::new(),
            work: Work::NONE,
            outputs: Dim::Known(0),
            peak: Dim::Known(0),
            peak_node: None,
            unknown_values: 0,
            loops_counted_once: 0,
            weights: Weights::of(model),
            liveness: Liveness::of(model, main),
            done: SecondaryMap::new(),
            open: Vec::new(),
        };
        for (index, event) in model.walk(main).enumerate() {
            if index % INTERVAL == 0 {
                options.execution.interrupt.check()?;
            }
            match event {
                Event::Enter(graph) => totals.enter(graph),
                Event::Node(node) => totals.begin(node),
                Event::After(node) => totals.end(node),
                Event::Leave(graph) => totals.leave(graph),
            }
        }
        if let Some(main) = totals.done.get(main).copied() {
            (totals.work, totals.outputs) = (main.work, main.outputs);
            (totals.peak, totals.peak_node) = (main.peak, main.peak_node);
        }
        Ok(totals)
    }

    /// Bytes of a value that is defined here; one of unknown size is counted.
    fn size(&mut self, value: ValueId) -> Option<Dim> {
        let size = self.measure.bytes(value);
        self.unknown_values = self.unknown_values.saturating_add(u64::from(size.is_none()));
        size
    }

    fn enter(&mut self, graph: GraphId) {
        let model = self.measure.model;
        let mut live = Dim::Known(0);
        for &input in model.graph(graph).inputs() {
            // An input with a default is a weight.
            if model.value(input).initializer().is_none()
                && let Some(size) = self.size(input)
            {
                live = self.measure.exprs.add(live, size);
            }
        }
        let times = match self.open.last() {
            None => Dim::Known(1),
            Some(outer) => {
                let (times, trips) = (outer.times, outer.nested.trips().unwrap_or(Dim::Known(1)));
                self.measure.exprs.mul(times, trips)
            }
        };
        let record = GraphRecord { peak: live, ..GraphRecord::EMPTY };
        let nested = Nested::Runs(Dim::Known(1));
        self.open.push(Frame { record, live, times, nested, index: 0, compared: HashSet::default() });
    }

    fn begin(&mut self, node: NodeId) {
        let has_graphs = self.measure.model.node(node).nested_graphs().next().is_some();
        let nested = if has_graphs { nested(&self.measure, node) } else { Nested::Runs(Dim::Known(1)) };
        let work = if has_graphs { Ok(Work::NONE) } else { formulas::work(&mut self.measure, node) };
        let index = self.nodes.len();
        let Some(frame) = self.open.last_mut() else { return };
        (frame.nested, frame.index) = (nested, index);
        self.nodes.push(NodeRecord { node, has_graphs, times: frame.times, work, outputs: None });
    }

    fn end(&mut self, node: NodeId) {
        let model = self.measure.model;
        let inner = self.inner(node);
        let mut outputs = Some(Dim::Known(0));
        let mut known = Dim::Known(0);
        for &output in model.node(node).outputs().iter().flatten() {
            let size = self.size(output);
            known = self.measure.exprs.add(known, size.unwrap_or(Dim::Known(0)));
            outputs = outputs.filter(|_| size.is_some()).map(|_| known);
        }
        let mut dead = Dim::Known(0);
        for &value in self.liveness.after(node) {
            let size = self.measure.bytes(value).unwrap_or(Dim::Known(0));
            dead = self.measure.exprs.add(dead, size);
        }
        let Some(frame) = self.open.last_mut() else { return };
        let Some(record) = self.nodes.get_mut(frame.index) else { return };
        record.outputs = outputs;
        if record.has_graphs && record.work.is_ok() {
            record.work = Ok(inner.work);
        }
        let own = *record.work.as_ref().unwrap_or(&inner.work);
        frame.record.work = self.measure.add_work(frame.record.work, own);
        let exprs = &mut self.measure.exprs;
        let made = exprs.add(inner.outputs, known);
        frame.record.outputs = exprs.add(frame.record.outputs, made);
        frame.live = exprs.add(frame.live, known);
        let now = exprs.add(frame.live, inner.peak);
        if frame.compared.insert(now) {
            let peak = exprs.max_in(frame.record.peak, now, &not_empty);
            if peak != frame.record.peak {
                frame.record.peak_node = inner.peak_node.or(Some(node));
            }
            frame.record.peak = peak;
        }
        frame.live = exprs.sub(frame.live, dead);
    }

    /// The cost of the graphs that are nested in a node: of the more expensive branch, or of all iterations.
    fn inner(&mut self, node: NodeId) -> GraphRecord {
        let model = self.measure.model;
        let Some(frame) = self.open.last() else { return GraphRecord::EMPTY };
        let nested = frame.nested;
        let mut all = GraphRecord::EMPTY;
        for (position, graph) in model.node(node).nested_graphs().enumerate() {
            let Some(record) = self.done.get(graph).copied() else { continue };
            if nested.branch().is_some_and(|branch| branch != position) {
                continue;
            }
            all.work = self.measure.max_work(all.work, record.work);
            let exprs = &mut self.measure.exprs;
            all.outputs = exprs.max(all.outputs, record.outputs);
            let peak = exprs.max_in(all.peak, record.peak, &not_empty);
            if peak != all.peak {
                all.peak_node = record.peak_node;
            }
            all.peak = peak;
        }
        match nested.trips() {
            Some(trips) => {
                all.work = self.measure.times(all.work, trips);
                all.outputs = self.measure.exprs.mul(all.outputs, trips);
            }
            None => self.loops_counted_once = self.loops_counted_once.saturating_add(1),
        }
        all
    }

    fn leave(&mut self, graph: GraphId) {
        if let Some(frame) = self.open.pop() {
            self.done.insert(graph, frame.record);
        }
    }
}
