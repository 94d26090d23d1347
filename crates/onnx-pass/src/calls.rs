//! Calls of functions: inlining, and its inverse.

use onnx_diag::Quoted;
use onnx_ir::{
    AttrValue, Attribute, CopyMap, FunctionId, GraphId, Model, NodeId, OpsetImport, Position, User, ValueId,
};
use onnx_schema::{Registry, normalize_domain};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use crate::determinism::has_references;
use crate::extract::Recorded;
use crate::patch::Patch;
use crate::query::{Reason, label};
use crate::structure::function_around;

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
    /// body has another meaning in the versions at the call. So does an attribute with a default for which the call refers to an
    /// attribute of the function around it that has none: which value counts is known only where that function is called.
    pub fn inline_call(&mut self, node: NodeId) -> Result<(), Reason> {
        let registry = self.cx.options.registry;
        let model = self.model();
        let record = model.get_node(node).ok_or("the node is gone")?;
        let function = model.callee(node, registry).function().ok_or("the node calls no function")?;
        let body = model.function(function).body();
        let inputs: Vec<Option<ValueId>> = record.inputs().collect();
        let outputs: Vec<Option<ValueId>> = record.outputs().to_vec();
        let formals = model.graph(body).inputs().to_vec();
        let results: Vec<ValueId> = model.graph(body).outputs().iter().map(|output| output.value()).collect();
        if inputs.len() > formals.len() || outputs.len() > results.len() {
            return Err("the call has more inputs or outputs than the function".into());
        }
        refuse_hidden_default(model, node, function)?;
        let mut arguments: Vec<Attribute> = record.attributes().to_vec();
        arguments.extend(model.function(function).defaults.iter().cloned());
        let missing = missing_imports(self, function, record.graph())?;
        let mut map = CopyMap::new();
        for (index, &formal) in formals.iter().enumerate() {
            map.map(formal, inputs.get(index).copied().flatten());
        }
        map.set_attributes(arguments);
        for (domain, version) in missing {
            self.set_version(domain, version);
        }
        self.source(node);
        for input in inputs.into_iter().flatten() {
            self.tap(input);
        }
        let start = self.draft.nodes.len();
        self.copy_nodes(body, Position::Before(node), &mut map)?;
        let new = self.draft.nodes.get(start..).unwrap_or_default().to_vec();
        give_fresh_names(self.cx.model, &new);
        for (old, result) in outputs.into_iter().zip(results) {
            if let Some(old) = old {
                self.replace(old, map.get(result));
            }
        }
        Ok(())
    }

    /// Moves nodes of one graph into a new function of the model, and replaces them by a call of it. Values that the nodes use
    /// become inputs of the function in the order of first use, and those of their results that are used elsewhere become
    /// outputs. Returns the call. The domain is imported at version 1 if it is not imported yet.
    ///
    /// # Errors
    ///
    /// Returns the reason if the set of nodes is not convex (a node outside it depends on one of its nodes, and another of its
    /// nodes depends on that node), if the nodes are not of one sorted graph, refer to attributes of a function around them or
    /// have no results that are used, or if the identity of the function is that of another function, of an operator that ONNX
    /// or the registry has in any version, or of an operator that a node of the model names.
    pub fn outline(&mut self, nodes: &[NodeId], domain: &str, name: &str) -> Result<NodeId, Reason> {
        let region = Region::new(self.model(), nodes)?;
        let model = &mut *self.cx.model;
        let symbols = (normalize_domain(model.intern(domain)), model.intern(name));
        refuse_taken_identity(model, self.cx.options.registry, symbols)?;
        let function = model.add_function(symbols.0, symbols.1, Symbol::EMPTY);
        self.draft.functions.push(function);
        fill(model, function, &region)?;
        if model.versions_in(region.graph).get(symbols.0).is_none() {
            self.set_version(symbols.0, 1);
        }
        for &node in &region.nodes {
            self.source(node);
            // A constant that moves keeps its elements on both sides.
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

/// The reason if a function with this domain and name would be something else already, or what a node of the model calls.
fn refuse_taken_identity(
    model: &Model,
    registry: &Registry,
    (domain, name): (Symbol, Symbol),
) -> Result<(), Reason> {
    if domain.is_empty() {
        return Err("the function needs a domain".into());
    }
    if name.is_empty() {
        return Err("the function needs a name".into());
    }
    let quoted = Quoted(model.str(name));
    if model.find_function(domain, name, Symbol::EMPTY).is_some() {
        return Err(Reason::new(format!("the function {quoted} exists")));
    }
    let is_declared = registry.declared_history(model.str(domain), model.str(name)).next().is_some();
    if is_declared || !onnx_schema::versions(domain, name).is_empty() {
        return Err(Reason::new(format!("the operator {quoted} exists")));
    }
    let is_it = |node: NodeId| {
        let record = model.node(node);
        record.op() == name && record.domain() == domain && record.overload().is_empty()
    };
    if model.all_graphs().any(|graph| model.nodes(graph).any(is_it)) {
        return Err(Reason::new(format!("a node of the model calls another operator {quoted}")));
    }
    Ok(())
}

/// Makes the body of a function from the nodes of a region.
fn fill(model: &mut Model, function: FunctionId, region: &Region) -> Result<(), Reason> {
    let body = model.function(function).body();
    let mut map = CopyMap::new();
    for &input in &region.inputs {
        let name = model.str(model.value(input).name()).to_owned();
        let inner = model.add_graph_input(body, &name, None);
        map.map(input, inner);
    }
    let mut imports: Vec<OpsetImport> = Vec::new();
    for &node in &region.nodes {
        for inner in model.walk_node(node).nodes() {
            let record = model.node(inner);
            let domain = record.domain();
            if imports.iter().all(|import| import.domain() != domain)
                && let Some(version) = model.versions_in(record.graph()).get(domain)
            {
                imports.push(OpsetImport::new(domain, version));
            }
        }
    }
    model.function_mut(function).opset_imports = imports;
    model.copy_each(&region.nodes, Position::End(body), &mut map)?;
    for &output in &region.outputs {
        model.push_graph_output(body, map.get(output));
    }
    Ok(())
}

/// Nodes that become a function.
struct Region {
    graph: GraphId,
    /// In the order of the graph.
    nodes: Vec<NodeId>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    /// The insertion point of the call.
    at: Position,
}

impl Region {
    fn new(model: &Model, nodes: &[NodeId]) -> Result<Self, Reason> {
        let mut members: SecondaryMap<NodeId, ()> = SecondaryMap::new();
        let first =
            nodes.first().and_then(|&node| model.get_node(node)).ok_or("the list of nodes is empty")?;
        let graph = first.graph();
        for &node in nodes {
            if model.get_node(node).is_none_or(|record| record.graph() != graph) {
                return Err("the nodes are not of one graph".into());
            }
            if has_references(model, node) {
                return Err("a node refers to an attribute of the function around it".into());
            }
            members.insert(node, ());
        }
        if !model.is_sorted(graph) {
            return Err("the nodes of the graph are not sorted".into());
        }
        let nodes: Vec<NodeId> = model.nodes(graph).filter(|&node| members.contains_key(node)).collect();
        let at = insertion_point(model, graph, &members)?;
        let inputs = operands(model, graph, &nodes, &members);
        let outputs = nodes.iter().flat_map(|&node| model.node(node).outputs().iter().flatten().copied());
        let outputs: Vec<ValueId> =
            outputs.filter(|&value| is_used_outside(model, graph, value, &members)).collect();
        if outputs.is_empty() {
            return Err("no result of the nodes is used".into());
        }
        Ok(Self { graph, nodes, inputs, outputs, at })
    }
}

/// Where the call of a convex set of nodes is inserted: before the first node that depends on the set.
fn insertion_point(
    model: &Model,
    graph: GraphId,
    members: &SecondaryMap<NodeId, ()>,
) -> Result<Position, Reason> {
    // Nodes outside of the set that depend on it.
    let mut dependent: SecondaryMap<NodeId, ()> = SecondaryMap::new();
    let (mut first, mut last) = (None, None);
    for node in model.nodes(graph) {
        let (mut uses_member, mut used) = (false, None);
        model.for_each_use_within(node, |value| {
            let Some(producer) = model.value(value).producer() else { return };
            uses_member |= members.contains_key(producer);
            if dependent.contains_key(producer) {
                used = Some(value);
            }
        });
        if members.contains_key(node) {
            if let Some(value) = used {
                let value = label(model, value);
                let text = "the nodes are not convex: one of them needs";
                return Err(Reason::new(format!("{text} {value}, which depends on another one")));
            }
            last = Some(node);
        } else if uses_member || used.is_some() {
            dependent.insert(node, ());
            first = first.or(Some(node));
        }
    }
    Ok(match (first, last) {
        (Some(first), _) => Position::Before(first),
        (None, Some(last)) => Position::After(last),
        (None, None) => Position::End(graph),
    })
}

/// The values from outside that nodes use, in the order of first use.
fn operands(
    model: &Model,
    graph: GraphId,
    nodes: &[NodeId],
    members: &SecondaryMap<NodeId, ()>,
) -> Vec<ValueId> {
    let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
    let mut operands = Vec::new();
    for &node in nodes {
        model.for_each_use_within(node, |value| {
            let home = model.graph_of(value);
            let is_nested = home != graph && model.is_inside(home, graph);
            let is_made =
                model.value(value).producer().is_some_and(|producer| members.contains_key(producer));
            if !is_nested && !is_made && seen.insert(value, ()).is_none() {
                operands.push(value);
            }
        });
    }
    operands
}

/// Returns `true` if a value is an output of the graph, or if a node that is not in a set uses it.
fn is_used_outside(
    model: &Model,
    graph: GraphId,
    value: ValueId,
    members: &SecondaryMap<NodeId, ()>,
) -> bool {
    model.value(value).uses().iter().any(|at| {
        let user = match at.user {
            User::Node(node) => Some(node),
            User::Graph(nested) => model.owner_node(nested).filter(|_| nested != graph),
        };
        let user = user.and_then(|user| model.ancestor_in(user, graph));
        !user.is_some_and(|user| members.contains_key(user))
    })
}

/// The reason if a call refers to an attribute that can be omitted, of the function around it, for one that has a default in
/// the called function: a reference in the body cannot stand for both.
fn refuse_hidden_default(model: &Model, call: NodeId, function: FunctionId) -> Result<(), Reason> {
    let record = model.node(call);
    let has_default = |function: FunctionId, name: Symbol| {
        model.function(function).defaults.iter().any(|default| default.name() == name)
    };
    let around = function_around(model, record.graph());
    for attribute in record.attributes() {
        let AttrValue::Ref(target) = *attribute.value() else { continue };
        if has_default(function, attribute.name())
            && !around.is_some_and(|around| has_default(around, target))
        {
            let [attribute, target] =
                [attribute.name(), target].map(|name| Quoted(model.str(name)).to_string());
            let text = "the function has a default, which counts where";
            return Err(Reason::new(format!(
                "for its attribute {attribute} {text} the function around the call is called without {target}"
            )));
        }
    }
    Ok(())
}

/// The operator sets that a function imports and the place of a call does not; the reason if an operator of the function has
/// another meaning there.
fn missing_imports(
    patch: &Patch<'_, '_>,
    function: FunctionId,
    place: GraphId,
) -> Result<Vec<(Symbol, i64)>, Reason> {
    let model = patch.model();
    let mut missing: Vec<(Symbol, i64)> = Vec::new();
    for node in model.nodes_in(model.function(function).body()) {
        let record = model.node(node);
        let domain = record.domain();
        let imported = missing.iter().find(|(other, _)| *other == domain).map(|&(_, version)| version);
        let planned = patch.draft.version(domain).or(imported);
        let here = planned.or_else(|| model.versions_in(place).get(domain));
        let there = model.versions_in(record.graph()).get(domain);
        let op = Quoted(model.str(record.op()));
        let Some(there) = there else {
            return Err(Reason::new(format!("the function does not import the operator set of {op}")));
        };
        let Some(here) = here else {
            missing.push((domain, there));
            continue;
        };
        let schema =
            |version: i64| onnx_schema::lookup(domain, record.op(), version).map(onnx_schema::Schema::id);
        let is_function = model.function_called(record).is_some();
        let is_same =
            here == there || schema(here) == schema(there) && (is_function || schema(here).is_some());
        if !is_same {
            let text = format!("{op} can have another meaning in version {here}, which applies to the call,");
            return Err(Reason::new(format!("{text} than in version {there}, which the function imports")));
        }
    }
    Ok(missing)
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
