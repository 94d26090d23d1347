//! Import of what values are computed by: the inputs, initializers, nodes and functions of a part of a model.

use onnx_schema::Registry;
use slotmap::SecondaryMap;

use super::Importer;
use crate::call_graph::CallGraph;
use crate::edit::EditError;
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::info::OpsetImport;
use crate::model::Model;
use crate::order::Position;
use crate::value::Def;

impl Importer<'_> {
    /// Makes an input of a graph with the name and the type of a value, which stands for the value from then on. Any value can
    /// become an input: the result of a node, where a part of a model begins.
    ///
    /// # Errors
    ///
    /// Returns an error if the value or the graph is gone.
    pub fn input(&mut self, into: &mut Model, value: ValueId, graph: GraphId) -> Result<ValueId, EditError> {
        self.from.get_value(value).ok_or(EditError::Gone)?;
        into.get_graph(graph).ok_or(EditError::Gone)?;
        let start = self.made.len();
        let new = self.value(into, value, graph, true);
        self.made.truncate(start);
        into.push_graph_input(graph, new)?;
        Ok(new)
    }

    /// Makes an initializer of a graph like that of a value, which stands for the value from then on. The weight is shared.
    ///
    /// # Errors
    ///
    /// Returns an error if the value or the graph is gone, or the value has no initializer.
    pub fn initializer(
        &mut self,
        into: &mut Model,
        value: ValueId,
        graph: GraphId,
    ) -> Result<ValueId, EditError> {
        let record = self.from.get_value(value).ok_or(EditError::Gone)?;
        into.get_graph(graph).ok_or(EditError::Gone)?;
        let constant = record.initializer().cloned().ok_or(EditError::NotMapped { value })?;
        let start = self.made.len();
        let new = self.value(into, value, graph, false);
        self.made.truncate(start);
        into.set_initializer(graph, new, Some(constant));
        Ok(new)
    }

    /// Imports the IR version of the model and the operator sets that it imports, in the place of those of `into`.
    pub fn versions(&mut self, into: &mut Model) {
        let info = self.from.info();
        let imports = info.opset_imports.iter();
        let imports: Vec<OpsetImport> = imports
            .map(|import| OpsetImport::new(self.symbol(into, import.written_domain()), import.version()))
            .collect();
        let mut target = into.info_mut();
        (target.ir_version, target.opset_imports) = (info.ir_version, imports);
    }

    /// Imports what values of one graph are computed by, to a place: the nodes up to values that are mapped, the initializers
    /// that they use, and the functions that they call. Returns the new nodes in order; [`get`](Self::get) returns where the
    /// values went.
    ///
    /// ```
    /// use onnx_ir::{Importer, Model, Position};
    /// # use onnx_schema::op;
    /// # let mut model = Model::new();
    /// # let main = model.main_graph();
    /// # let x = model.add_graph_input(main, "x", None);
    /// # let mut build = model.build_at(Position::End(main));
    /// # let a = build.op(op::EXP, [x]).output_named("a")?;
    /// # let b = build.op(op::RELU, [a]).output_named("b")?;
    /// # let c = build.op(op::NEG, [b]).output_named("c")?;
    /// // The part of a model between `a` and `b`, as a model.
    /// let mut part = Model::new();
    /// let graph = part.main_graph();
    /// let mut importer = Importer::new(&model);
    /// importer.versions(&mut part);
    /// importer.input(&mut part, a, graph)?;
    /// importer.values(&mut part, &[b], Position::End(graph))?;
    /// let output = importer.get(b).expect("it was imported");
    /// part.push_graph_output(graph, output);
    /// assert_eq!(part.node_count(), 1);
    /// # Ok::<(), onnx_ir::EditError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a value depends on an input that is not mapped or on a value of another graph that is neither mapped
    /// nor an initializer, or if `into` has another function of the identity of one that is called. Nodes, initializers and
    /// functions that were imported before the error remain.
    pub fn values(
        &mut self,
        into: &mut Model,
        values: &[ValueId],
        at: Position,
    ) -> Result<Vec<NodeId>, EditError> {
        into.check_position(at)?;
        let (target, ..) = into.neighbours(at);
        let (needed, weights) = self.needed(values)?;
        for weight in weights {
            self.initializer(into, weight, target)?;
        }
        let Some(first) = needed.keys().next() else { return Ok(Vec::new()) };
        let graph = self.from.node(first).graph();
        let order = self.from.sorted_nodes(graph).unwrap_or_else(|_| self.from.nodes(graph).collect());
        let nodes: Vec<NodeId> = order.into_iter().filter(|&node| needed.contains_key(node)).collect();
        self.called(into, &nodes)?;
        let mut made = Vec::with_capacity(nodes.len());
        let mut at = at;
        for node in nodes {
            let new = self.node(into, node, at)?;
            if matches!(at, Position::Start(_) | Position::After(_)) {
                at = Position::After(new);
            }
            made.push(new);
        }
        Ok(made)
    }

    /// The nodes that values need, and the initializers.
    fn needed(&self, values: &[ValueId]) -> Result<(SecondaryMap<NodeId, ()>, Vec<ValueId>), EditError> {
        let from = self.from;
        let mut needed: SecondaryMap<NodeId, ()> = SecondaryMap::new();
        let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
        let (mut weights, mut home) = (Vec::new(), None);
        let mut open: Vec<ValueId> = values.iter().rev().copied().collect();
        while let Some(value) = open.pop() {
            if self.values.contains_key(value) || seen.insert(value, ()).is_some() {
                continue;
            }
            let missing = EditError::NotMapped { value };
            match from.get_value(value).ok_or(EditError::Gone)?.def() {
                Def::Initializer(_) => weights.push(value),
                Def::Output { node, .. } => {
                    let graph = from.node(node).graph();
                    if *home.get_or_insert(graph) != graph {
                        return Err(missing);
                    }
                    if needed.insert(node, ()).is_none() {
                        from.for_each_use_within(node, |operand| {
                            // Values that nested graphs define are imported with the node.
                            let place = from.graph_of(operand);
                            if place == graph || !from.is_inside(place, graph) {
                                open.push(operand);
                            }
                        });
                    }
                }
                Def::Input { .. } | Def::Unresolved(_) => return Err(missing),
            }
        }
        Ok((needed, weights))
    }

    /// Imports the functions that nodes call, callees first.
    fn called(&mut self, into: &mut Model, nodes: &[NodeId]) -> Result<(), EditError> {
        let from = self.from;
        if from.functions().is_empty() {
            return Ok(());
        }
        let mut called: SecondaryMap<FunctionId, ()> = SecondaryMap::new();
        let mut open: Vec<NodeId> = nodes.iter().flat_map(|&node| from.walk_node(node).nodes()).collect();
        while let Some(node) = open.pop() {
            if let Some(function) = from.callee(node, Registry::STANDARD).function()
                && called.insert(function, ()).is_none()
            {
                open.extend(from.nodes_in(from.function(function).body()));
            }
        }
        for &function in CallGraph::new(from, Registry::STANDARD).callees_first() {
            if called.contains_key(function) {
                self.function(into, function)?;
            }
        }
        Ok(())
    }
}
