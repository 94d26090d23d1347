//! The nodes of a model in order, with the weights that each needs and the values that cross each point between them.

use onnx_ir::{Constant, Def, GraphId, Model, NodeId, ValueId};
use onnx_schema::{Registry, op};
use onnx_shape_infer::{InferOptions, Inference, infer};
use onnx_types::{Execution, Interrupt, Stopped, Watch};
use slotmap::SecondaryMap;

use super::{Interface, Values, WATCHED};
use crate::error::ComposeError;
use crate::interface::{is_declared, is_unknown};

/// The nodes that can be distributed to parts. `Constant` nodes are not among them: every part that uses one has it.
pub(super) struct Flow {
    pub(super) nodes: Vec<Step>,
    /// Values that cross some point, in the order of their definitions.
    crossing: Vec<Crossing>,
    inference: Option<Inference>,
    outputs: Vec<ValueId>,
}

/// A node, and what it uses and makes.
pub(super) struct Step {
    /// Inputs of the model and results of other steps.
    operands: Vec<ValueId>,
    /// Initializers of the main graph.
    pub(super) weights: Vec<(ValueId, u64)>,
    /// Bytes of tensors inside of the node.
    pub(super) own_bytes: u64,
    results: Vec<ValueId>,
}

/// A value that steps after the one that makes it use.
struct Crossing {
    value: ValueId,
    from: usize,
    last: usize,
    is_typed: bool,
}

/// What parts use and make.
struct PartUses {
    /// The values of each part that it does not make.
    used: Vec<Values>,
    /// The part that makes each value.
    home: SecondaryMap<ValueId, usize>,
    /// What any part uses.
    is_used: Values,
}

impl Flow {
    pub(super) fn new(
        model: &Model,
        registry: &Registry,
        execution: &Execution,
    ) -> Result<Self, ComposeError> {
        let main = model.main_graph();
        let outputs: Vec<ValueId> =
            model.graph(main).outputs().iter().map(onnx_ir::GraphOutput::value).collect();
        let order = model.sorted_nodes(main)?;
        let interrupt = &execution.interrupt;
        interrupt.check()?;
        let live = live(model, main, &outputs, interrupt)?;
        let is_step = |&node: &NodeId| live.contains_key(node) && !is_constant(model, node);
        let mut watch = Watch::silent(interrupt, WATCHED);
        let step = |node| watch.work(1).map(|()| Step::new(model, main, node));
        let steps = order.into_iter().filter(is_step).map(step).collect::<Result<Vec<_>, _>>()?;
        let nodes = sink_constant_steps(steps, interrupt)?;
        let mut flow = Self { crossing: crossing(&nodes, interrupt)?, nodes, inference: None, outputs };
        if flow.crossing.iter().all(|crossing| is_declared(model, crossing.value)) {
            flow.crossing.iter_mut().for_each(|crossing| crossing.is_typed = true);
            return Ok(flow);
        }
        let options = InferOptions::default().with_registry(registry).with_execution(execution.clone());
        let inference = infer(model, &options);
        if let Some(stopped) = inference.stopped() {
            return Err(stopped.into());
        }
        for crossing in &mut flow.crossing {
            crossing.is_typed =
                is_declared(model, crossing.value) || !is_unknown(&inference.ty(crossing.value));
        }
        flow.inference = Some(inference);
        Ok(flow)
    }

    /// For each point between two nodes: the number of values that cross it, and of those without a type.
    pub(super) fn crossed(&self) -> Vec<(usize, usize)> {
        let mut changes: Vec<(isize, isize)> = vec![(0, 0); self.nodes.len().saturating_add(2)];
        for crossing in &self.crossing {
            let untyped = isize::from(!crossing.is_typed);
            for (at, sign) in [(crossing.from.saturating_add(1), 1), (crossing.last.saturating_add(1), -1)] {
                if let Some((all, open)) = changes.get_mut(at) {
                    *all += sign;
                    *open += sign * untyped;
                }
            }
        }
        let (mut all, mut open) = (0_isize, 0_isize);
        let sums = changes.into_iter().map(|(more, more_open)| {
            (all, open) = (all + more, open + more_open);
            (all.unsigned_abs(), open.unsigned_abs())
        });
        sums.take(self.nodes.len().saturating_add(1)).collect()
    }

    /// The values without a type that cross a point.
    pub(super) fn untyped_at(&self, point: usize) -> Vec<ValueId> {
        let crosses = |crossing: &&Crossing| crossing.from < point && point <= crossing.last;
        let open = self.crossing.iter().filter(crosses).filter(|crossing| !crossing.is_typed);
        open.map(|crossing| crossing.value).collect()
    }

    /// Declares the types of values that cross cuts.
    pub(super) fn declare(&mut self, model: &mut Model, cuts: &[usize]) {
        let Some(inference) = &mut self.inference else { return };
        for crossing in &self.crossing {
            let first = cuts.partition_point(|&cut| cut <= crossing.from);
            let is_cut = cuts.get(first).is_some_and(|&cut| cut <= crossing.last);
            if is_cut
                && !is_declared(model, crossing.value)
                && let Some(ty) = inference.intern_type(model, crossing.value)
            {
                model.set_type(crossing.value, Some(ty));
            }
        }
    }

    /// What the parts between cuts use and make.
    fn uses(&self, cuts: &[usize], watch: &mut Watch) -> Result<PartUses, Stopped> {
        let count = cuts.len().saturating_add(1);
        let mut used: Vec<Values> = (0..count).map(|_| Values::new()).collect();
        let mut home: SecondaryMap<ValueId, usize> = SecondaryMap::new();
        let mut is_used = Values::new();
        for (index, step) in self.nodes.iter().enumerate() {
            watch.work(1)?;
            let part = cuts.partition_point(|&cut| cut <= index);
            for &value in &step.results {
                home.insert(value, part);
            }
            for &value in &step.operands {
                is_used.insert(value, ());
                if home.get(value) != Some(&part)
                    && let Some(used) = used.get_mut(part)
                {
                    used.insert(value, ());
                }
            }
        }
        Ok(PartUses { used, home, is_used })
    }

    /// The inputs and outputs of the parts between cuts.
    pub(super) fn interfaces(
        &self,
        model: &Model,
        cuts: &[usize],
        interrupt: &Interrupt,
    ) -> Result<Vec<Interface>, Stopped> {
        let mut watch = Watch::silent(interrupt, WATCHED);
        let part_of = |step: usize| cuts.partition_point(|&cut| cut <= step);
        let count = cuts.len().saturating_add(1);
        let PartUses { used, home, is_used } = self.uses(cuts, &mut watch)?;
        let mut inputs: Vec<Vec<ValueId>> = vec![Vec::new(); count];
        let mut outputs: Vec<Vec<ValueId>> = vec![Vec::new(); count];
        let last = count.saturating_sub(1);
        let all_outputs: Values = self.outputs.iter().map(|&output| (output, ())).collect();
        for &input in model.graph(model.main_graph()).inputs() {
            // What nothing uses is an input of the first part, and what is only an output is one of the last.
            watch.work(count as u64)?;
            let is_output = all_outputs.contains_key(input);
            for (part, inputs) in inputs.iter_mut().enumerate() {
                let is_unused = part == 0 && !is_used.contains_key(input) && !is_output;
                let passes = part == last && is_output;
                if is_unused || passes || used.get(part).is_some_and(|used| used.contains_key(input)) {
                    inputs.push(input);
                }
            }
        }
        let mut is_listed = Values::new();
        for &output in &self.outputs {
            let part = home.get(output).copied().unwrap_or(last);
            if is_listed.insert(output, ()).is_none()
                && let Some(outputs) = outputs.get_mut(part)
            {
                outputs.push(output);
            }
        }
        for crossing in &self.crossing {
            let (first, end) = (part_of(crossing.from), part_of(crossing.last));
            watch.work(end.saturating_sub(first) as u64)?;
            for part in first.saturating_add(1)..=end {
                if let (Some(inputs), true) = (
                    inputs.get_mut(part),
                    used.get(part).is_some_and(|used| used.contains_key(crossing.value)),
                ) {
                    inputs.push(crossing.value);
                }
            }
            if first < end
                && is_listed.insert(crossing.value, ()).is_none()
                && let Some(outputs) = outputs.get_mut(first)
            {
                outputs.push(crossing.value);
            }
        }
        Ok(inputs.into_iter().zip(outputs).collect())
    }
}

impl Step {
    fn new(model: &Model, main: GraphId, node: NodeId) -> Self {
        let (mut operands, mut weights) = (Vec::new(), Vec::new());
        let mut seen = Values::new();
        model.for_each_use_within(node, |value| {
            if model.graph_of(value) != main || seen.insert(value, ()).is_some() {
                return;
            }
            match model.value(value).def() {
                Def::Initializer(_) => weights.push((value, bytes_of(model, value))),
                Def::Output { node, .. } if is_constant(model, node) => {}
                Def::Output { .. } | Def::Input { .. } | Def::Unresolved(_) => operands.push(value),
            }
        });
        let results = model.node(node).outputs().iter().flatten().copied().collect();
        let nested = model.node(node).nested_graphs().flat_map(|graph| model.graphs_in(graph));
        let own = nested.flat_map(|graph| model.initializers(graph)).map(|value| bytes_of(model, value));
        Self { operands, weights, own_bytes: own.fold(0, u64::saturating_add), results }
    }
}

/// Sinks the steps that depend on no input of the model to the first step that uses them. Otherwise, what exporters compute from
/// weights at the beginning, such as dequantized weights, would cross every cut.
fn sink_constant_steps(steps: Vec<Step>, interrupt: &Interrupt) -> Result<Vec<Step>, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED);
    let mut producers: SecondaryMap<ValueId, usize> = SecondaryMap::new();
    let mut is_constant: Vec<bool> = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        watch.work(1)?;
        let of_constant = |value: &ValueId| {
            producers.get(*value).is_some_and(|&step| is_constant.get(step).copied().unwrap_or(false))
        };
        let has_constant_operands = step.operands.iter().all(of_constant);
        is_constant.push(has_constant_operands);
        for &value in &step.results {
            producers.insert(value, index);
        }
    }
    let mut order: Vec<usize> = Vec::with_capacity(steps.len());
    let mut is_listed = vec![false; steps.len()];
    // Constant steps that no other step uses make outputs of the model: they come last.
    let (constant, dependent): (Vec<usize>, Vec<usize>) =
        (0..steps.len()).partition(|&index| is_constant.get(index).copied().unwrap_or(false));
    for root in dependent.into_iter().chain(constant) {
        // A step, and the number of its operands that were visited.
        let mut open = vec![(root, 0)];
        while let Some((step, visited)) = open.pop() {
            watch.work(1)?;
            let (Some(listed), Some(of_step)) = (is_listed.get_mut(step), steps.get(step)) else { continue };
            if *listed {
                continue;
            }
            match of_step.operands.get(visited) {
                Some(&operand) => {
                    open.push((step, visited.saturating_add(1)));
                    open.extend(producers.get(operand).map(|&producer| (producer, 0)));
                }
                None => {
                    *listed = true;
                    order.push(step);
                }
            }
        }
    }
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    interrupt.check()?;
    Ok(order.into_iter().filter_map(|index| steps.get_mut(index)?.take()).collect())
}

/// The nodes that outputs need.
fn live(
    model: &Model,
    main: GraphId,
    outputs: &[ValueId],
    interrupt: &Interrupt,
) -> Result<SecondaryMap<NodeId, ()>, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED);
    let mut live: SecondaryMap<NodeId, ()> = SecondaryMap::new();
    let mut open = outputs.to_vec();
    while let Some(value) = open.pop() {
        watch.work(1)?;
        let Def::Output { node, .. } = model.value(value).def() else { continue };
        if model.node(node).graph() == main && live.insert(node, ()).is_none() {
            model.for_each_use_within(node, |operand| open.push(operand));
        }
    }
    Ok(live)
}

fn is_constant(model: &Model, node: NodeId) -> bool {
    model.node(node).is(op::CONSTANT)
}

/// The values that later steps use.
fn crossing(nodes: &[Step], interrupt: &Interrupt) -> Result<Vec<Crossing>, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED);
    let mut indices: SecondaryMap<ValueId, usize> = SecondaryMap::new();
    let mut crossing: Vec<Crossing> = Vec::new();
    for (index, step) in nodes.iter().enumerate() {
        watch.work(1)?;
        for value in &step.operands {
            if let Some(crossing) = indices.get(*value).and_then(|&at| crossing.get_mut(at)) {
                crossing.last = index;
            }
        }
        for &value in &step.results {
            indices.insert(value, crossing.len());
            crossing.push(Crossing { value, from: index, last: index, is_typed: false });
        }
    }
    crossing.retain(|crossing| crossing.last > crossing.from);
    Ok(crossing)
}

/// The bytes of an initializer.
pub(super) fn bytes_of(model: &Model, value: ValueId) -> u64 {
    let len = |constant: &Constant| match constant {
        Constant::Dense(tensor) => tensor.byte_len().unwrap_or(0),
        Constant::Sparse(sparse) => {
            let parts = [&sparse.values, &sparse.indices].into_iter().flatten();
            parts.map(|part| part.byte_len().unwrap_or(0)).fold(0, u64::saturating_add)
        }
    };
    model.value(value).initializer().map_or(0, |constant| len(constant))
}
