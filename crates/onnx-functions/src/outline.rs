//! Outlining: nodes become a function and a call of it.

use onnx_diag::Quoted;
use onnx_ir::{
    AttrValue, CopyMap, FunctionId, GraphId, Model, NodeId, OpsetImport, OpsetScope, Position, User, ValueId,
};
use onnx_schema::{Registry, normalize_domain};
use slotmap::SecondaryMap;

use crate::housekeeping::Identity;
use crate::reason::FunctionReason;
use crate::references::{differentiated, has_devices, referred};

/// Moves nodes of one graph into a new function of the model, and replaces them by a call of it. Outside values that
/// the nodes use become inputs of the function in the order of first use, and those of their results that are used
/// elsewhere become outputs. The function is given by domain, name and overload. Returns the call. The domain is
/// imported at version 1 if it is not imported yet, and the IR version is raised to 8, the first one with functions, or
/// to 10, the first one with overloads.
///
/// # Errors
///
/// Returns the reason if the nodes cannot become a function, see [`Region::new`], or if the identity of the function is taken,
/// see [`Region::make_function`], or if a quantization annotation, a binding of the training or a device configuration refers to a
/// result of the nodes, which would be lost. The model is unchanged then.
pub fn outline(
    model: &mut Model,
    nodes: &[NodeId],
    (domain, name, overload): (&str, &str, &str),
    registry: &Registry,
) -> Result<NodeId, FunctionReason> {
    let region = Region::new(model, nodes)?;
    refuse_referred(model, &region.nodes)?;
    let function = region.make_function(model, (domain, name, overload), registry)?;
    let call = region.replace(model, function)?;
    let needed = if overload.is_empty() { IR_WITH_FUNCTIONS } else { IR_WITH_OVERLOADS };
    if model.info().ir_version < needed {
        model.info_mut().ir_version = needed;
    }
    Ok(call)
}

/// The first IR version with functions.
pub(crate) const IR_WITH_FUNCTIONS: i64 = 8;

/// The first IR version with overloads of functions.
pub(crate) const IR_WITH_OVERLOADS: i64 = 10;

/// Nodes of one graph that can become a function.
///
/// [`outline`] makes the function and the call. This type is for editors that apply an edit in separate steps.
#[derive(Clone, Debug)]
pub struct Region {
    /// The graph of the nodes.
    pub graph: GraphId,
    /// The nodes in the order of the graph.
    pub nodes: Vec<NodeId>,
    /// The outside values that the nodes use, in the order of first use: the inputs of the function.
    pub inputs: Vec<ValueId>,
    /// The results that are used elsewhere: the outputs of the function.
    pub outputs: Vec<ValueId>,
    /// The insertion point of the call.
    pub at: Position,
}

impl Region {
    /// Examines a set of nodes.
    ///
    /// # Errors
    ///
    /// Returns the reason if the set of nodes is not convex (a node outside it depends on one of its nodes, and another
    /// of its nodes depends on that node), if the order of the nodes has no insertion point for the call, or if the
    /// nodes are not of one sorted graph, refer to attributes of a function around them, have no results that are used, or
    /// a `Gradient` is one of them or differentiates them.
    pub fn new(model: &Model, nodes: &[NodeId]) -> Result<Self, FunctionReason> {
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
        if differentiated(model, graph).keys().any(|node| members.contains_key(node)) {
            return Err(
                "a `Gradient` differentiates the nodes, or is one of them, and sees no node of a function"
                    .into(),
            );
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

    /// Makes a function of copies of the nodes, with this domain, name and overload; nothing calls it yet.
    ///
    /// # Errors
    ///
    /// Returns the reason if the function would have the identity of another one, of an operator that ONNX or the registry has in
    /// any version, or of an operator that a node of the model names.
    pub fn make_function(
        &self,
        model: &mut Model,
        (domain, name, overload): (&str, &str, &str),
        registry: &Registry,
    ) -> Result<FunctionId, FunctionReason> {
        let domain = normalize_domain(model.intern(domain));
        let (name, overload) = (model.intern(name), model.intern(overload));
        refuse_taken_identity(model, registry, (domain, name, overload))?;
        let function = model.add_function(domain, name, overload);
        if let Err(reason) = fill(model, function, self) {
            let _ = model.remove_function(function);
            return Err(reason);
        }
        Ok(function)
    }

    /// Replaces the nodes by a call of a function that computes the same.
    fn replace(&self, model: &mut Model, function: FunctionId) -> Result<NodeId, FunctionReason> {
        let record = model.function(function);
        let (domain, name, overload) = (record.domain(), record.name(), record.overload());
        let [domain_text, name_text] = [domain, name].map(|name| model.str(name).to_owned());
        if model.versions_in(self.graph).get(domain).is_none() {
            let import = OpsetImport::new(domain, 1);
            match model.scope(self.graph) {
                OpsetScope::Model => model.info_mut().opset_imports.push(import),
                OpsetScope::Function(around) => model.function_mut(around).opset_imports.push(import),
            }
        }
        let mut build = model.build_at(self.at).derive("outline", &self.nodes);
        let call = build.call(&domain_text, &name_text, self.inputs.iter().copied());
        let results = call.outputs_if(&vec![true; self.outputs.len()])?;
        let mut node = None;
        for (&old, new) in self.outputs.iter().zip(results.into_iter().flatten()) {
            node = model.value(new).producer();
            model.take_name(new, old);
            let ty = model.value(old).shared_ty().cloned();
            model.set_type(new, ty);
            model.replace_all_uses(old, new);
        }
        // Users are erased first; nodes outside of the region do not use the remaining ones.
        for &node in self.nodes.iter().rev() {
            model.erase_node(node)?;
        }
        let node = node.ok_or("the function has no outputs")?;
        model.set_op(node, domain, name, overload);
        Ok(node)
    }
}

/// The reason if a part of the model other than a node or an output refers to a result of these nodes.
fn refuse_referred(model: &Model, nodes: &[NodeId]) -> Result<(), FunctionReason> {
    let referred = referred(model);
    for &node in nodes {
        for &value in model.node(node).outputs().iter().flatten() {
            if referred.contains_key(value) {
                let value = Quoted(name(model, value));
                return Err(FunctionReason::new(format!(
                    "a quantization annotation or a binding of the training refers to {value}, and would be lost"
                )));
            }
        }
        if model.walk_node(node).nodes().any(|inner| has_devices(model, inner)) {
            let op = Quoted(model.str(model.node(node).op()));
            return Err(FunctionReason::new(format!(
                "{op} has a device configuration, which refers to values of the graph"
            )));
        }
    }
    Ok(())
}

/// Where the call of a convex set of nodes is inserted: before the first node that depends on the set.
fn insertion_point(
    model: &Model,
    graph: GraphId,
    members: &SecondaryMap<NodeId, ()>,
) -> Result<Position, FunctionReason> {
    // Nodes outside of the set that depend on it.
    let mut dependent: SecondaryMap<NodeId, ()> = SecondaryMap::new();
    let (mut first, mut last) = (None, None);
    // Nodes outside of the set that follow the first dependent one and do not depend on the set.
    let mut late: SecondaryMap<NodeId, ()> = SecondaryMap::new();
    for node in model.nodes(graph) {
        let (mut uses_member, mut used, mut needs_late) = (false, None, None);
        model.for_each_use_within(node, |value| {
            let Some(producer) = model.value(value).producer() else { return };
            uses_member |= members.contains_key(producer);
            if dependent.contains_key(producer) {
                used = Some(value);
            }
            if late.contains_key(producer) {
                needs_late = Some(value);
            }
        });
        if members.contains_key(node) {
            if let Some(value) = used {
                let value = Quoted(name(model, value));
                let text = "the nodes are not convex: one of them needs";
                return Err(FunctionReason::new(format!("{text} {value}, which depends on another one")));
            }
            if let Some(value) = needs_late {
                let value = Quoted(name(model, value));
                let text =
                    "no place for the call follows all operands and precedes all uses: move the node of";
                return Err(FunctionReason::new(format!("{text} {value} forward")));
            }
            last = Some(node);
        } else if uses_member || used.is_some() {
            dependent.insert(node, ());
            first = first.or(Some(node));
        } else if first.is_some() {
            late.insert(node, ());
        }
    }
    Ok(match (first, last) {
        (Some(first), _) => Position::Before(first),
        (None, Some(last)) => Position::After(last),
        (None, None) => Position::End(graph),
    })
}

/// The outside values that nodes use, in the order of first use.
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
            User::Node(node) | User::Attribute(node) => Some(node),
            User::Graph(nested) => model.owner_node(nested).filter(|_| nested != graph),
        };
        let user = user.and_then(|user| model.ancestor_in(user, graph));
        !user.is_some_and(|user| members.contains_key(user))
    })
}

/// The reason if a function with this domain and name would be identical to an existing function or operator, or to an
/// operator that a node of the model names.
fn refuse_taken_identity(
    model: &Model,
    registry: &Registry,
    (domain, name, overload): Identity,
) -> Result<(), FunctionReason> {
    if domain.is_empty() {
        return Err("`ai.onnx` is the domain of ONNX's own operators: choose another one".into());
    }
    if name.is_empty() {
        return Err("the function needs a name".into());
    }
    let quoted = Quoted(model.str(name));
    if model.find_function(domain, name, overload).is_some() {
        let function = crate::inline::identity(model, domain, name, overload);
        return Err(FunctionReason::new(format!("the function {function} already exists")));
    }
    let is_declared = registry.declared_history(model.str(domain), model.str(name)).next().is_some();
    if is_declared || !onnx_schema::versions(domain, name).is_empty() {
        return Err(FunctionReason::new(format!(
            "{quoted} is the name of an operator, which nodes would call instead of the function"
        )));
    }
    let is_it = |node: NodeId| {
        let record = model.node(node);
        record.op() == name && record.domain() == domain && record.overload() == overload
    };
    if model.all_graphs().any(|graph| model.nodes(graph).any(is_it)) {
        return Err(FunctionReason::new(format!("a node of the model calls another operator {quoted}")));
    }
    Ok(())
}

/// Makes the body of a function from the nodes of a region.
fn fill(model: &mut Model, function: FunctionId, region: &Region) -> Result<(), FunctionReason> {
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

/// Returns `true` if a node, or a node nested in it, refers to an attribute of the function around it.
fn has_references(model: &Model, node: NodeId) -> bool {
    model.walk_node(node).nodes().any(|node| {
        let attributes = model.node(node).attributes();
        attributes.iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)))
    })
}

fn name(model: &Model, value: ValueId) -> &str {
    model.str(model.value(value).name())
}
