//! Inputs, outputs and functions that correspond: by name first, then by position.

use std::collections::BTreeMap;

use onnx_ir::{FunctionId, GraphId, Model, Owner, ValueId};

use crate::hash::Ports;

/// The first number for inputs and outputs without a counterpart, in the first and in the second model.
const ONLY: [u64; 2] = [1 << 40, 1 << 41];

/// The corresponding elements of the interfaces of two models.
#[derive(Default)]
pub(crate) struct Border {
    pub(crate) inputs: Vec<(ValueId, ValueId)>,
    /// Positions of outputs.
    pub(crate) outputs: Vec<(usize, usize)>,
    pub(crate) functions: Vec<(FunctionId, FunctionId)>,
    /// Graphs without an owner that is a node.
    pub(crate) graphs: Vec<(GraphId, GraphId)>,
    pub(crate) ports: [Ports; 2],
}

impl Border {
    pub(crate) fn of(a: &Model, b: &Model) -> Self {
        let mut border = Self::default();
        border.ports.iter_mut().for_each(|ports| ports.is_separate = true);
        let models = [a, b];
        let mains = models.map(|model| model.graph(model.main_graph()));
        let inputs =
            models.map(|model| names(model, model.graph(model.main_graph()).inputs().iter().copied()));
        let (pairs, only) = matched(&inputs);
        for (port, &(i, j)) in pairs.iter().enumerate() {
            let (Some(&one), Some(&two)) = (mains[0].inputs().get(i), mains[1].inputs().get(j)) else {
                continue;
            };
            border.inputs.push((one, two));
            border.ports[0].inputs.insert(one, port as u64);
            border.ports[1].inputs.insert(two, port as u64);
        }
        for (side, positions) in only.iter().enumerate() {
            let values =
                positions.iter().filter_map(|&at| mains[side].inputs().get(at).map(|&value| (at, value)));
            values
                .for_each(|(at, value)| _ = border.ports[side].inputs.insert(value, ONLY[side] | at as u64));
        }
        let outputs = models.map(|model| {
            names(model, model.graph(model.main_graph()).outputs().iter().map(|output| output.value()))
        });
        let (pairs, _) = matched(&outputs);
        for (side, model) in models.into_iter().enumerate() {
            let mut ports: Vec<u64> = (0..outputs[side].len()).map(|at| ONLY[side] | at as u64).collect();
            for (port, &(i, j)) in pairs.iter().enumerate() {
                if let Some(slot) = ports.get_mut(if side == 0 { i } else { j }) {
                    *slot = port as u64;
                }
            }
            border.ports[side].outputs.insert(model.main_graph(), ports);
        }
        border.outputs = pairs;
        border.roots(a, b);
        border
    }

    /// Pairs functions by identity, and training graphs by position.
    fn roots(&mut self, a: &Model, b: &Model) {
        self.graphs.push((a.main_graph(), b.main_graph()));
        let identity = |model: &Model, function: FunctionId| {
            let record = model.function(function);
            [record.domain(), record.name(), record.overload()].map(|name| model.str(name).to_owned())
        };
        let mut known: BTreeMap<[String; 3], Vec<FunctionId>> = BTreeMap::new();
        // The first of one identity is called, so it is matched first.
        for &function in b.functions().iter().rev() {
            known.entry(identity(b, function)).or_default().push(function);
        }
        for &function in a.functions() {
            let Some(other) = known.get_mut(&identity(a, function)).and_then(Vec::pop) else { continue };
            self.functions.push((function, other));
            self.graphs.push((a.function(function).body(), b.function(other).body()));
        }
        for (one, two) in a.info().training.iter().zip(&b.info().training) {
            let pairs = [(one.initialization, two.initialization), (one.algorithm, two.algorithm)];
            self.graphs.extend(pairs.into_iter().filter_map(|(one, two)| Some((one?, two?))));
        }
        for (port, &(one, two)) in self.graphs.iter().enumerate() {
            self.ports[0].graphs.insert(one, port as u64);
            self.ports[1].graphs.insert(two, port as u64);
        }
        for (side, model) in [a, b].into_iter().enumerate() {
            let roots =
                model.all_graphs().filter(|&graph| !matches!(model.graph(graph).owner(), Owner::Node(_)));
            for (at, graph) in roots.enumerate() {
                if !self.ports[side].graphs.contains_key(graph) {
                    self.ports[side].graphs.insert(graph, ONLY[side] | at as u64);
                }
            }
        }
    }
}

fn names(model: &Model, values: impl Iterator<Item = ValueId>) -> Vec<String> {
    values.map(|value| model.str(model.value(value).name()).to_owned()).collect()
}

/// Indices that correspond, in the order of the first list, and those that are left on each side.
type Matched = (Vec<(usize, usize)>, [Vec<usize>; 2]);

/// Pairs equal names, and then what is left if as many are left on both sides: these were renamed.
fn matched(names: &[Vec<String>; 2]) -> Matched {
    let mut known: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, name) in names[1].iter().enumerate().rev() {
        known.entry(name).or_default().push(at);
    }
    let (mut pairs, mut left) = (Vec::new(), Vec::new());
    for (at, name) in names[0].iter().enumerate() {
        match known.get_mut(name.as_str()).and_then(Vec::pop) {
            Some(other) => pairs.push((at, other)),
            None => left.push(at),
        }
    }
    let mut others: Vec<usize> = known.into_values().flatten().collect();
    others.sort_unstable();
    if left.len() == others.len() {
        pairs.extend(left.drain(..).zip(others.drain(..)));
        pairs.sort_unstable();
    }
    (pairs, [left, others])
}
