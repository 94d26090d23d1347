//! Calls of functions: inlining, and its inverse.

use onnx_functions::{FunctionCall, Region, missing_imports};
use onnx_ir::{GraphId, Model, NodeId, Position, ValueId};
use onnx_schema::normalize_domain;

use crate::collect::Recorded;
use crate::patch::{Neighbors, Patch};
use crate::query::Reason;
use crate::restructure::same_function;

impl Patch<'_, '_> {
    /// Replaces a call of a function of the model by the nodes of its body: references to attributes of the function become the
    /// attributes of the call, or the defaults of the function, and omitted inputs are omitted. Names of the new nodes and
    /// values are fresh. The operator sets that only the function imports are imported.
    ///
    /// Functions that nothing calls afterwards remain; `Model::erase_unused_functions` removes them.
    ///
    /// # Errors
    ///
    /// Returns the reason if the node does not call a function, has more inputs or outputs than it, or if an operator of the
    /// body has another meaning in the versions at the call. [`FunctionCall::bind`] lists further reasons.
    pub fn inline_call(&mut self, node: NodeId) -> Result<(), Reason> {
        let registry = self.cx.options.registry;
        let mut call = FunctionCall::bind(self.model(), node, registry)?;
        let record = self.model().node(node);
        let (graph, inputs) = (record.graph(), record.inputs().flatten().collect::<Vec<ValueId>>());
        let missing = missing_imports(self.model(), call.function, graph, &self.draft.versions, registry)?;
        for (domain, version) in missing {
            self.set_version(domain, version);
        }
        self.source(node);
        for input in inputs {
            self.tap(input);
        }
        let start = self.draft.nodes.len();
        let at = Position::Before(node);
        let before = Neighbors::of(self.model(), at).ok_or("the node is gone")?;
        call.copy_body(self.cx.model, at)?;
        self.collect(&before);
        let new = self.draft.nodes.get(start..).unwrap_or_default().to_vec();
        give_fresh_names(self.cx.model, &new);
        for &(old, result) in &call.results {
            self.replace(old, call.map.get(result));
        }
        Ok(())
    }

    /// Moves nodes of one graph into a new function of the model, and replaces them by a call of it. Values that the nodes use
    /// become inputs of the function in the order of first use, and those of their results that are used elsewhere become
    /// outputs. If the model has a function of this name that computes the same, it is called. Returns the call. The domain is imported at version 1 if it is not imported yet.
    ///
    /// # Errors
    ///
    /// Returns the reason if the set of nodes is not convex (a node outside it depends on one of its nodes, and another of its
    /// nodes depends on that node), if the nodes are not of one sorted graph, refer to attributes of a function around them or
    /// have no results that are used, or if the identity of the function is that of another function, of an operator that ONNX
    /// or the registry has in any version, or of an operator that a node of the model names.
    pub fn outline(&mut self, nodes: &[NodeId], domain: &str, name: &str) -> Result<NodeId, Reason> {
        let region = Region::new(self.model(), nodes)?;
        let registry = self.cx.options.registry;
        match region.make_function(self.cx.model, (domain, name, ""), registry) {
            Ok(function) => self.draft.functions.push(function),
            Err(reason) if !self.has_equal_function(&region, domain, name) => return Err(reason.into()),
            Err(_) => {}
        }
        let imported = normalize_domain(self.cx.model.intern(domain));
        if self.model().versions_in(region.graph).get(imported).is_none() {
            self.set_version(imported, 1);
        }
        for &node in &region.nodes {
            self.source(node);
            // A constant that becomes a part of the function keeps its elements on both sides.
            let outputs = self.model().node(node).outputs().to_vec();
            for value in outputs.into_iter().flatten() {
                if self.model().constant_tensor(value).is_some() {
                    self.record(Recorded::Constant(value));
                }
            }
        }
        for &input in &region.inputs {
            self.tap(input);
        }
        let present = vec![true; region.outputs.len()];
        let results = self.build(region.at, |build| {
            build.call(domain, name, region.inputs.iter().copied()).outputs_if(&present)
        })?;
        for (&old, new) in region.outputs.iter().zip(results.iter().flatten()) {
            self.replace(old, *new);
        }
        let call = results.first().copied().flatten().and_then(|value| self.model().value(value).producer());
        call.ok_or_else(|| "the call was not made".into())
    }
}

impl Patch<'_, '_> {
    /// Whether the model has a function of this domain and name that equals one of the nodes.
    fn has_equal_function(&mut self, region: &Region, domain: &str, name: &str) -> bool {
        let registry = self.cx.options.registry;
        let domain_symbol = normalize_domain(self.cx.model.intern(domain));
        let wanted = self.cx.model.intern(name);
        let model = self.model();
        let is_wanted = |&function: &onnx_ir::FunctionId| {
            let function = model.function(function);
            (function.domain(), function.name()) == (domain_symbol, wanted) && function.overload().is_empty()
        };
        let Some(known) = model.functions().iter().copied().find(is_wanted) else { return false };
        let fresh = self.cx.model.fresh_name(name);
        let fresh = self.model().str(fresh).to_owned();
        let Ok(made) = region.make_function(self.cx.model, (domain, &fresh, ""), registry) else {
            return false;
        };
        let is_equal = same_function(self.model(), known, made, self.cx.options.data);
        // Nothing calls it.
        let _ = self.cx.model.remove_function(made);
        is_equal
    }
}

/// Gives nodes, with everything nested in them, and their results names that nothing else has.
fn give_fresh_names(model: &mut Model, nodes: &[NodeId]) {
    let all: Vec<NodeId> =
        nodes.iter().flat_map(|&node| model.walk_node(node).nodes().collect::<Vec<_>>()).collect();
    for node in all {
        let record = model.node(node);
        let name = record.name();
        let mut values: Vec<ValueId> = record.outputs().iter().flatten().copied().collect();
        let nested: Vec<GraphId> = record.nested_graphs().collect();
        values.extend(nested.iter().flat_map(|&graph| model.graph(graph).inputs().iter().copied()));
        values.extend(nested.iter().flat_map(|&graph| model.initializers(graph).collect::<Vec<_>>()));
        if !name.is_empty() {
            let prefix = model.str(name).to_owned();
            let fresh = model.fresh_name(&prefix);
            model.set_node_name(node, fresh);
        }
        for value in values {
            let prefix = model.str(model.value(value).name()).to_owned();
            if !prefix.is_empty() {
                let fresh = model.fresh_name(&prefix);
                model.set_value_name(value, fresh);
            }
        }
    }
}
