//! The call graph: which functions of a model call which.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_schema::Registry;
use slotmap::SecondaryMap;

use crate::entity::{FunctionId, NodeId};
use crate::model::Model;

/// Maximum number of functions of a cycle that are recorded.
const NAMED: usize = 8;

/// The calls between the functions of a model, those of nested graphs and of graphs that are defaults of attributes included.
///
/// Construction visits every node of every function once, without recursion.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// The functions that a function calls, each with the first node that calls it, in the order of these nodes.
    callees: SecondaryMap<FunctionId, Vec<(FunctionId, NodeId)>>,
    cycles: SecondaryMap<FunctionId, CallCycle>,
    /// Callees before callers, except along cycles.
    order: Vec<FunctionId>,
    longest: Option<(FunctionId, usize)>,
}

/// A chain of calls from a function back to itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallCycle {
    /// The function and those that follow it on the chain; at most 8 of them.
    pub functions: Vec<FunctionId>,
    /// Number of functions on the chain.
    pub length: usize,
    /// The node of the last function that calls the first one.
    pub node: NodeId,
}

enum State {
    /// On the path that is being followed, at this index.
    Open(usize),
    /// Left; the longest chain from here has this many functions.
    Done(usize),
}

struct Frame {
    function: FunctionId,
    /// Index of the next callee.
    next: usize,
    /// Number of functions in the longest chain from a callee visited so far.
    height: usize,
}

impl CallGraph {
    /// The call graph of a model. `registry` supplies the custom operators, as in [`Model::callee`].
    #[must_use]
    pub fn new(model: &Model, registry: &Registry) -> Self {
        Self::of_calls(model, |node| {
            // The hash lookup comes first: most nodes call no function.
            model.function_called(model.node(node))?;
            model.callee(node, registry).function()
        })
    }

    /// The graph of the calls that `callee` returns for the nodes of functions: of all calls, or of some.
    #[must_use]
    pub fn of_calls(model: &Model, mut callee: impl FnMut(NodeId) -> Option<FunctionId>) -> Self {
        let mut graph = Self::default();
        for &function in model.functions() {
            graph.callees.insert(function, callees(model, function, &mut callee));
        }
        let mut states = SecondaryMap::new();
        for &root in model.functions() {
            if !states.contains_key(root) {
                graph.follow(root, &mut states);
            }
        }
        graph
    }

    /// The functions that a function calls, each once with the first node that calls it, in the order of these nodes.
    pub fn callees(&self, function: FunctionId) -> impl ExactSizeIterator<Item = (FunctionId, NodeId)> + '_ {
        self.callees.get(function).map(Vec::as_slice).unwrap_or_default().iter().copied()
    }

    /// The chain from a function back to itself. Of the functions of a cycle, only the one that is visited first in file
    /// order has an entry.
    #[must_use]
    pub fn cycle(&self, function: FunctionId) -> Option<&CallCycle> {
        self.cycles.get(function)
    }

    /// The functions at which a cycle starts, with the cycle.
    pub fn cycles(&self) -> impl Iterator<Item = (FunctionId, &CallCycle)> + '_ {
        self.cycles.iter()
    }

    /// Returns `true` if a function calls itself, directly or through others.
    #[must_use]
    pub fn is_recursive(&self) -> bool {
        !self.cycles.is_empty()
    }

    /// All functions, callees before callers; calls that close a cycle are ignored.
    #[must_use]
    pub fn callees_first(&self) -> &[FunctionId] {
        &self.order
    }

    /// The first function of the longest chain of calls, and the number of functions in the chain; calls that close a
    /// cycle are ignored. `None` if the model has no functions.
    #[must_use]
    pub const fn longest(&self) -> Option<(FunctionId, usize)> {
        self.longest
    }

    fn follow(&mut self, root: FunctionId, states: &mut SecondaryMap<FunctionId, State>) {
        let mut path = vec![Frame { function: root, next: 0, height: 0 }];
        states.insert(root, State::Open(0));
        while let Some(frame) = path.last_mut() {
            let next = self.callees.get(frame.function).and_then(|callees| callees.get(frame.next)).copied();
            let Some((callee, node)) = next else {
                let (function, height) = (frame.function, frame.height + 1);
                states.insert(function, State::Done(height));
                self.order.push(function);
                if self.longest.is_none_or(|(_, longest)| height > longest) {
                    self.longest = Some((function, height));
                }
                path.pop();
                if let Some(caller) = path.last_mut() {
                    caller.height = caller.height.max(height);
                }
                continue;
            };
            frame.next += 1;
            match states.get(callee) {
                None => {
                    states.insert(callee, State::Open(path.len()));
                    path.push(Frame { function: callee, next: 0, height: 0 });
                }
                Some(&State::Open(start)) => {
                    self.record_cycle(callee, node, path.get(start..).unwrap_or_default());
                }
                Some(&State::Done(height)) => frame.height = frame.height.max(height),
            }
        }
    }

    /// Records a cycle, unless one that starts with the same function is known.
    fn record_cycle(&mut self, start: FunctionId, node: NodeId, path: &[Frame]) {
        if !self.cycles.contains_key(start) {
            let functions = path.iter().take(NAMED).map(|frame| frame.function).collect();
            self.cycles.insert(start, CallCycle { functions, length: path.len(), node });
        }
    }
}

/// The functions that a function calls, each once: in its body, and in graphs that are defaults of its attributes.
fn callees(
    model: &Model,
    function: FunctionId,
    callee: &mut impl FnMut(NodeId) -> Option<FunctionId>,
) -> Vec<(FunctionId, NodeId)> {
    // Not a table by key: its cost would be that of the model for each function.
    let mut seen: HashSet<FunctionId, RandomState> = HashSet::default();
    let record = model.function(function);
    let defaults = record.defaults.iter().flat_map(|default| default.value().graphs().iter().copied());
    let nodes = std::iter::once(record.body()).chain(defaults).flat_map(|graph| model.nodes_in(graph));
    let calls = nodes.filter_map(|node| Some((callee(node)?, node)));
    calls.filter(|&(callee, _)| seen.insert(callee)).collect()
}

#[cfg(test)]
mod tests {
    use onnx_schema::Registry;
    use onnx_types::Symbol;

    use super::*;
    use crate::{NewNode, OpsetImport, Position};

    /// Makes functions `f0`, `f1`, ... that call those with the given numbers; compares where cycles start and how long
    /// they are, the length of the longest chain, and the order.
    #[track_caller]
    fn check(functions: &[&[usize]], cycles: &[(usize, usize)], longest: usize, order: &[usize]) {
        let mut model = Model::new();
        let domain = model.intern("d");
        for (number, callees) in functions.iter().enumerate() {
            let name = model.intern(&format!("f{number}"));
            let function = model.add_function(domain, name, Symbol::EMPTY);
            model.function_mut(function).opset_imports.push(OpsetImport::new(domain, 1));
            let body = model.function(function).body();
            for callee in *callees {
                let op = model.intern(&format!("f{callee}"));
                let node = NewNode { domain, ..NewNode::new(op) };
                model.add_node(Position::End(body), node).unwrap();
            }
        }
        let graph = CallGraph::new(&model, &Registry::standard());
        let number = |id: FunctionId| model.functions().iter().position(|&other| other == id).unwrap();
        let found: Vec<_> = (model.functions().iter().enumerate())
            .filter_map(|(number, &function)| Some((number, graph.cycle(function)?.length)))
            .collect();
        assert_eq!(found, cycles);
        assert_eq!(graph.longest().map_or(0, |(_, length)| length), longest);
        let found: Vec<_> = graph.callees_first().iter().map(|&function| number(function)).collect();
        assert_eq!(found, order);
    }

    #[test]
    fn calls_are_followed() {
        check(&[], &[], 0, &[]);
        check(&[&[1, 2], &[2], &[]], &[], 3, &[2, 1, 0]);
        check(&[&[0]], &[(0, 1)], 1, &[0]);
        check(&[&[], &[2], &[3], &[1, 0]], &[(1, 3)], 4, &[0, 3, 2, 1]);
        check(&[&[1], &[0], &[2, 0]], &[(0, 2), (2, 1)], 3, &[1, 0, 2]);
    }

    #[test]
    fn only_calls_in_scope_count() {
        let mut model = Model::new();
        let (domain, name) = (model.intern("d"), model.intern("f"));
        let function = model.add_function(domain, name, Symbol::EMPTY);
        let body = model.function(function).body();
        model.add_node(Position::End(body), NewNode { domain, ..NewNode::new(name) }).unwrap();
        assert!(!CallGraph::new(&model, &Registry::standard()).is_recursive());
        model.function_mut(function).opset_imports.push(OpsetImport::new(domain, 1));
        assert!(CallGraph::new(&model, &Registry::standard()).is_recursive());
    }
}
