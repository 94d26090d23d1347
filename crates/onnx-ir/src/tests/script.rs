//! Random edits.

use std::sync::Arc;

use onnx_schema::{attr, op};
use onnx_types::Symbol;
use proptest::prelude::*;
use slotmap::SecondaryMap;

use super::{check, scalar};
use crate::{
    AttrKind, Attribute, Constant, CopyMap, Def, FaultKind, GraphId, Model, NewNode, NodeId, Position, Use,
    User, ValueId,
};

/// One edit: which, and numbers that choose its operands.
pub(super) type Step = (u8, u16, u16, u16);

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0..28_u8, any::<u16>(), any::<u16>(), any::<u16>()), 0..80)
}

pub(super) fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

fn pick<T: Copy>(list: &[T], number: u16) -> Option<T> {
    list.get(usize::from(number) % list.len().max(1)).copied()
}

pub(super) struct Editor {
    pub(super) model: Model,
    /// Whether nodes may use values that they cannot see.
    wild: bool,
}

impl Editor {
    pub(super) fn new(wild: bool) -> Self {
        let (mut model, ..) = super::small();
        model.info_mut().ir_version = 10;
        Self { model, wild }
    }

    fn graphs(&self) -> Vec<GraphId> {
        self.model.all_graphs().collect()
    }

    fn graph(&self, number: u16) -> GraphId {
        pick(&self.graphs(), number).unwrap()
    }

    fn node(&self, number: u16) -> Option<NodeId> {
        let nodes: Vec<NodeId> = self.model.nodes.keys().collect();
        pick(&nodes, number)
    }

    /// A value that a user in `graph` may use.
    fn value(&self, graph: GraphId, number: u16) -> Option<ValueId> {
        let seen = |&value: &ValueId| {
            let unresolved = matches!(self.model.value(value).def(), Def::Unresolved(_));
            self.wild || unresolved || self.model.is_visible(value, graph)
        };
        let values: Vec<ValueId> = self.model.values.keys().filter(seen).collect();
        pick(&values, number)
    }

    fn any_value(&self, number: u16) -> Option<ValueId> {
        let values: Vec<ValueId> = self.model.values.keys().collect();
        pick(&values, number)
    }

    fn name(&mut self, number: u16) -> Symbol {
        self.model.intern(["", "a", "b", "c", "x", "y", "w", "d"][usize::from(number % 8)])
    }

    fn position(&self, a: u16, b: u16) -> Position {
        let graph = self.graph(a);
        let nodes: Vec<NodeId> = self.model.nodes(graph).collect();
        match (b % 4, pick(&nodes, b / 4)) {
            (0, Some(node)) => Position::Before(node),
            (1, Some(node)) => Position::After(node),
            (2, _) => Position::Start(graph),
            _ => Position::End(graph),
        }
    }

    fn add_node(&mut self, (_, a, b, c): Step, nested: bool) -> Option<()> {
        let at = self.position(a, b);
        let (graph, ..) = self.model.neighbours(at);
        let mut inputs = vec![self.value(graph, b), None, self.value(graph, c)];
        inputs.truncate(usize::from(c % 4));
        let name = self.name(a);
        let output = self.model.new_value(name);
        let outputs = if a % 5 == 0 { vec![None, Some(output)] } else { vec![Some(output)] };
        let mut new = NewNode { inputs: inputs.into(), outputs: outputs.into(), ..NewNode::new(op::RELU) };
        if nested {
            let body = self.model.new_graph(name);
            if b % 2 == 0 {
                self.model.add_graph_input(body, ["a", "x", "", "b"][usize::from(c % 4)], None);
            }
            if let Some(used) = self.value(graph, b.wrapping_add(c)) {
                let name = self.name(c);
                let inner = self.model.new_value(name);
                let node = NewNode::new(op::ABS).inputs([used]).outputs([inner]);
                self.model.add_node(Position::End(body), node).unwrap();
                self.model.push_graph_output(body, if c % 3 == 0 { used } else { inner });
            }
            new = new.attribute(Attribute::new(attr::BODY, body));
        }
        if self.model.add_node(at, new).is_err() {
            self.model.erase_value(output).unwrap();
        }
        Some(())
    }

    /// Inlines or copies graphs.
    fn copy(&mut self, (kind, a, b, c): Step) -> Option<()> {
        let graph = self.graph(c);
        if self.model.node_count() > 60 {
            return None;
        }
        if kind == 0 {
            let _ = self.model.copy_nodes(graph, self.position(a, b), &mut CopyMap::new());
            return Some(());
        }
        let node = self.node(a)?;
        let copy = self.model.copy_graph(graph, &mut CopyMap::new()).unwrap();
        if self.model.set_attribute(node, Attribute::new(attr::THEN_BRANCH, copy)).is_err() {
            self.model.drop_graphs(vec![copy]);
        }
        Some(())
    }

    fn inputs_and_outputs(&mut self, (kind, a, b, c): Step) -> Option<()> {
        let graph = self.graph(a);
        let record = self.model.graph(graph);
        let (inputs, outputs) = (record.inputs().len(), record.outputs().len());
        match kind {
            0 => {
                self.model.add_graph_input(graph, ["", "a", "x"][usize::from(b % 3)], None);
            }
            1 if inputs > 0 => {
                self.model.remove_graph_input(graph, usize::from(b) % inputs);
            }
            2 => {
                let value = self.value(graph, b)?;
                self.model.push_graph_output(graph, value);
            }
            3 if outputs > 0 => self.model.remove_graph_output(graph, usize::from(b) % outputs),
            4 if outputs > 0 => {
                let value = self.value(graph, b)?;
                self.model.set_output(graph, usize::from(c) % outputs, value);
            }
            _ => {}
        }
        Some(())
    }

    fn values(&mut self, (kind, a, b, c): Step) -> Option<()> {
        match kind {
            0 => {
                let name = self.name(c);
                self.model.set_value_name(self.any_value(a)?, name);
            }
            1 => {
                let (graph, name) = (self.graph(a), self.name(b));
                self.model.add_initializer(graph, name, scalar());
            }
            2 => {
                let constant = (c % 2 == 0).then(|| Arc::new(Constant::from(scalar())));
                self.model.set_initializer(self.graph(a), self.any_value(b)?, constant);
            }
            3 => {
                let _ = self.model.erase_value(self.any_value(a)?);
            }
            4 => self.model.set_name_as_read(self.any_value(a)?),
            _ => {
                let (from, to) = (self.any_value(a)?, self.any_value(b)?);
                let wild = self.wild;
                self.model.replace_uses_where(from, to, |model, at| {
                    let graph = match at.user {
                        User::Node(node) | User::Attribute(node) => model.node(node).graph(),
                        User::Graph(graph) => graph,
                    };
                    let unresolved = matches!(model.value(to).def(), Def::Unresolved(_));
                    (wild || unresolved || model.is_visible(to, graph)) && c % 3 != 0
                });
            }
        }
        Some(())
    }

    fn nodes(&mut self, (kind, a, b, c): Step) -> Option<()> {
        let node = self.node(a)?;
        let graph = self.model.node(node).graph();
        let count = self.model.node(node).input_count();
        match kind {
            0 => {
                let _ = self.model.erase_node(node);
            }
            1 if self.wild => {
                let _ = self.model.move_node(node, self.position(b, c));
            }
            1 => {
                let nodes: Vec<NodeId> = self.model.nodes(graph).collect();
                self.model.move_node(node, Position::Before(pick(&nodes, c)?)).unwrap();
            }
            2 => {
                let value = self.value(graph, b).filter(|_| c % 4 != 0);
                self.model.set_input(node, usize::from(c % 5), value);
            }
            3 if count > 0 => self.model.remove_input(node, usize::from(b) % count),
            4 => {
                self.model.remove_attribute(node, attr::BODY);
            }
            5 if !self.model.node(node).outputs().is_empty() => {
                let _ = self.model.clear_output(node, 0);
            }
            5 | 6 => {
                let with = self.value(graph, b);
                let with = vec![with; self.model.node(node).outputs().len()];
                // The replacement is visible where the outputs are.
                let _ = self.model.replace_node(node, &with);
            }
            _ => {
                let name = self.name(b);
                self.model.push_output(node, name);
            }
        }
        Some(())
    }

    fn whole(&mut self, (kind, a, b, c): Step) -> Option<()> {
        match kind {
            0 => self.model = self.model.clone(),
            1 => {
                let _ = self.model.sort(self.graph(a));
            }
            2 => {
                self.model.erase_dead_nodes(self.graph(a));
            }
            3 => {
                let (name, overload) = (self.name(a), self.name(b));
                let function = self.model.add_function(Symbol::EMPTY, name, overload);
                let body = self.model.function(function).body();
                let x = self.model.add_graph_input(body, "x", None);
                let new = NewNode::new(op::RELU).inputs([x]).attribute(Attribute::reference(
                    attr::AXIS,
                    attr::AXIS,
                    AttrKind::Int,
                ));
                self.model.add_node(Position::End(body), new).unwrap();
            }
            4 => {
                let functions = self.model.functions().to_vec();
                self.model.remove_function(pick(&functions, a)?).unwrap();
            }
            _ => {
                // Inline a nested graph, if nothing uses its inputs.
                let node = self.node(a)?;
                let graph = self.model.node(node).nested_graphs().next()?;
                let inputs = self.model.graph(graph).inputs();
                if self.wild || inputs.iter().all(|&input| !self.model.value(input).is_used()) {
                    self.model.splice(graph, Position::Before(node)).unwrap();
                }
                let _ = (b, c);
            }
        }
        Some(())
    }

    pub(super) fn step(&mut self, step: Step) {
        let (kind, a, b, c) = step;
        let _ = match kind {
            0..=2 => self.add_node(step, false),
            3 | 4 => self.add_node(step, true),
            5 | 6 => self.copy((kind - 5, a, b, c)),
            7..=11 => self.inputs_and_outputs((kind - 7, a, b, c)),
            12..=17 => self.values((kind - 12, a, b, c)),
            18..=22 => self.nodes((kind - 18, a, b, c)),
            23 => self.nodes((5 + (c % 3) as u8, a, b, c)),
            _ => self.whole((kind - 24 + (c % 3) as u8, a, b, c)),
        };
    }
}

/// Compares the use lists with a scan of all operands.
fn check_uses(model: &Model) {
    let mut found: SecondaryMap<ValueId, Vec<(u8, u64, u32)>> = SecondaryMap::new();
    let key = |at: &Use| {
        use slotmap::Key as _;
        match at.user {
            User::Node(node) => (0, node.data().as_ffi(), at.index),
            User::Attribute(node) => (1, node.data().as_ffi(), at.index),
            User::Graph(graph) => (2, graph.data().as_ffi(), at.index),
        }
    };
    let mut note = |value: ValueId, user, index: usize| {
        let at = key(&Use { user, index: index as u32 });
        match found.get_mut(value) {
            Some(list) => list.push(at),
            None => {
                found.insert(value, vec![at]);
            }
        }
    };
    for (node, record) in model.nodes.iter() {
        for (index, value) in record.inputs().enumerate() {
            if let Some(value) = value {
                note(value, User::Node(node), index);
            }
        }
        for (index, value) in record.named_values().enumerate() {
            note(value, User::Attribute(node), index);
        }
    }
    for (graph, record) in &model.graphs {
        for (index, output) in record.outputs().iter().enumerate() {
            note(output.value(), User::Graph(graph), index);
        }
    }
    for (value, record) in &model.values {
        let mut kept: Vec<_> = record.uses().iter().map(key).collect();
        let mut expected = found.remove(value).unwrap_or_default();
        kept.sort_unstable();
        expected.sort_unstable();
        assert_eq!(kept, expected, "{value}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn invariants_hold_after_any_edit(steps in steps()) {
        let mut editor = Editor::new(true);
        for step in steps {
            editor.step(step);
            if let Err(faults) = editor.model.verify() {
                let broken: Vec<_> = faults.iter().filter(|fault| fault.kind != FaultKind::Visibility).collect();
                prop_assert!(broken.is_empty(), "{step:?} {broken:?}\n{:?}", editor.model);
            }
            check_uses(&editor.model);
            for graph in editor.graphs() {
                let nodes: Vec<NodeId> = editor.model.walk(graph).nodes().collect();
                prop_assert_eq!(editor.model.nodes_in(graph).collect::<Vec<_>>(), nodes);
            }
            let _ = format!("{:?}", editor.model);
        }
    }

    #[test]
    fn edits_that_respect_scopes_keep_values_visible(steps in steps()) {
        let mut editor = Editor::new(false);
        for step in steps {
            // Steps from 5 on may remove definitions that are used, or move them out of scope; these steps are undone.
            let before = editor.model.clone();
            editor.step(step);
            if editor.model.verify().is_err() && step.0 >= 5 {
                editor.model = before;
            }
            check(&editor.model);
        }
    }
}
