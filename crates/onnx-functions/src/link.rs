//! Linking: the functions of a library that a model calls become functions of the model.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{
    AttrValue, CallGraph, Constant, EditError, FunctionId, Importer, Model, NodeId, OpsetScope, SparseTensor,
};
use onnx_schema::Registry;
use onnx_types::Symbol;
use onnx_types::tensor::Tensor;
use slotmap::SecondaryMap;

use crate::expand::add_imports;
use crate::housekeeping::{Identity, Taken, identity_of};
use crate::inline::{Calls, all_calls, graphs_of, identity};
use crate::reason::FunctionReason;
use crate::sizes::endless;
use crate::versions::missing_imports;

/// A function that was linked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkedFunction {
    /// The function of the model.
    pub function: FunctionId,
    /// Domain, name and overload in the library, as symbols of the model; `None` if they are the same in the model. They differ if
    /// the model already has another function with them: the linked one gets a new name, and calls in linked functions are changed.
    pub renamed_from: Option<Identity>,
}

/// The reason why nothing was linked. The functions of the model are unchanged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A function of the library that would be linked calls itself, directly or through others, which may be of the model.
    #[error("the function {function} of the library calls itself, directly or through others")]
    Recursive {
        /// The identity of the function, quoted.
        function: String,
    },
    /// A function of the library imports an operator set in another version than the model, and an operator that it uses changed.
    #[error("the function {function} of the library does not fit the model: {reason}")]
    Version {
        /// The identity of the function, quoted.
        function: String,
        /// The reason.
        reason: FunctionReason,
    },
    /// A function of the library has tensors in other files, at locations relative to the library.
    #[error("the function {function} of the library has external data: embed it first")]
    ExternalData {
        /// The identity of the function, quoted.
        function: String,
    },
    /// A function of the library cannot be copied.
    #[error("the function {function} of the library cannot be copied: {source}")]
    Import {
        /// The identity of the function, quoted.
        function: String,
        /// The reason.
        source: EditError,
    },
}

/// Adds the functions of a library to a model that the model calls and does not define, with the functions that they call in turn.
/// Returns them, callees first.
///
/// A function of the model is never replaced. If a function of the library calls one whose identity a different
/// function of the model has, that one gets another name. Domains that nodes of the model call and that are not
/// imported are imported, and the IR version is raised to one that has all features of the functions. Graphs of the
/// library that are not in functions are ignored.
///
/// # Errors
///
/// Returns an error if such a function calls itself, has external data, uses values that nothing defines, or uses operators that
/// have another meaning in the versions that the model imports. The functions of
/// the model are unchanged then.
pub fn link(
    model: &mut Model,
    library: &Model,
    registry: &Registry,
) -> Result<Vec<LinkedFunction>, LinkError> {
    let wanted = wanted(model, library, registry);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut library = library.clone();
    let calls = all_calls(&library, registry);
    let graph = CallGraph::of_calls(&library, |node| calls.get(node).copied());
    let reached = reached(&library, &graph, wanted.iter().map(|&(_, function)| function))?;
    let nodes = reached.keys().flat_map(|function| graphs_of(&library, function));
    let callers = callers(&calls, nodes.flat_map(|graph| library.nodes_in(graph)));
    let order: Vec<FunctionId> =
        graph.callees_first().iter().copied().filter(|&function| reached.contains_key(function)).collect();
    let linked = add_all(model, &mut library, callers, order, registry)?;
    if let Err(error) = judge(model, &linked, registry) {
        let added: Vec<FunctionId> = linked.iter().map(|linked| linked.function).collect();
        model.remove_functions(&added);
        return Err(error);
    }
    import_domains(model, &library, &wanted);
    raise_ir_version(model, &linked);
    Ok(linked)
}

/// Adds all functions of another model to a model. Returns those that were added, callees first.
///
/// A function that the model has already, and that means the same, is used as it is. One of the identity of another function of the
/// model gets another name, also in the nodes of `other` that call it: these can be imported afterwards. Operator sets and the IR
/// version of the model are not changed.
///
/// # Errors
///
/// Returns an error if a function uses values that nothing defines. The functions of the model are unchanged then; those of
/// `other` may have other names.
pub fn import_functions(
    model: &mut Model,
    other: &mut Model,
    registry: &Registry,
) -> Result<Vec<LinkedFunction>, LinkError> {
    let calls = all_calls(other, registry);
    let callers = callers(&calls, other.all_graphs().flat_map(|graph| other.nodes(graph)));
    let graph = CallGraph::of_calls(other, |node| calls.get(node).copied());
    add_all(model, other, callers, graph.callees_first().to_vec(), registry)
}

/// Gives functions of a model other names, with all nodes that call them. The names are those of no other function, node or
/// operator, and `is_free` accepts them. Returns the functions with their former identities.
pub fn rename_functions(
    model: &mut Model,
    functions: &[FunctionId],
    registry: &Registry,
    is_free: impl Fn(&Model, Identity) -> bool,
) -> Vec<(FunctionId, Identity)> {
    let calls = all_calls(model, registry);
    let callers = callers(&calls, model.all_graphs().flat_map(|graph| model.nodes(graph)));
    let mut taken = Taken::new(model);
    let mut renamed = Vec::with_capacity(functions.len());
    for &function in functions {
        let old = identity_of(model, function);
        let new = loop {
            let name = taken.free_name(model, registry, old.0, old.1);
            if is_free(model, (old.0, name, old.2)) {
                break (old.0, name, old.2);
            }
        };
        model.set_function_identities([(function, new)]);
        for &node in callers.get(function).into_iter().flatten() {
            model.set_op(node, new.0, new.1, new.2);
        }
        renamed.push((function, old));
    }
    renamed
}

/// The nodes that call each function, of some nodes.
fn callers(calls: &Calls, nodes: impl Iterator<Item = NodeId>) -> Callers {
    let mut callers = Callers::new();
    for node in nodes {
        if let Some(&callee) = calls.get(node)
            && let Some(entry) = callers.entry(callee)
        {
            entry.or_default().push(node);
        }
    }
    callers
}

/// The nodes that call a function.
type Callers = SecondaryMap<FunctionId, Vec<NodeId>>;

/// Adds functions of a library, callees first; none if one cannot be copied.
fn add_all(
    model: &mut Model,
    library: &mut Model,
    callers: Callers,
    order: Vec<FunctionId>,
    registry: &Registry,
) -> Result<Vec<LinkedFunction>, LinkError> {
    let mut linker = Linker { model, library, callers, registry, linked: Vec::new() };
    for function in order {
        if let Err(source) = linker.add(function) {
            let name = name_of(linker.library, function);
            let added: Vec<FunctionId> = linker.linked.iter().map(|linked| linked.function).collect();
            linker.model.remove_functions(&added);
            return Err(LinkError::Import { function: name, source });
        }
    }
    Ok(linker.linked)
}

/// An operator that nodes of a model name and that nothing defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingFunction {
    /// The domain, name and overload.
    pub function: Identity,
    /// The nodes that name it, in the order of the graphs.
    pub nodes: Vec<NodeId>,
}

/// The functions that a model calls and does not define, in the order of the first call of each: nodes of domains that have no
/// operators in ONNX or in the registry, and that have no function. Operators that only a runtime has are among them.
#[must_use]
pub fn missing_functions(model: &Model, registry: &Registry) -> Vec<MissingFunction> {
    let mut indices: HashMap<Identity, usize, RandomState> = HashMap::default();
    let mut missing: Vec<MissingFunction> = Vec::new();
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        let record = model.node(node);
        let domain = record.domain();
        let is_custom = onnx_schema::opset_versions(domain).is_none()
            && registry.declared_versions(model.str(domain)).is_none();
        if !is_custom || model.function_called(record).is_some() {
            continue;
        }
        let function = (domain, record.op(), record.overload());
        let index = *indices.entry(function).or_insert_with(|| {
            missing.push(MissingFunction { function, nodes: Vec::new() });
            missing.len().saturating_sub(1)
        });
        if let Some(entry) = missing.get_mut(index) {
            entry.nodes.push(node);
        }
    }
    missing
}

/// Returns an error if functions call themselves together with those of the model, or if their operators have another meaning
/// in the versions that the model imports: a model with such a function is not valid.
fn judge(model: &Model, linked: &[LinkedFunction], registry: &Registry) -> Result<(), LinkError> {
    let calls = all_calls(model, registry);
    let graph = CallGraph::of_calls(model, |node| calls.get(node).copied());
    let endless = endless(model, &graph);
    for &LinkedFunction { function, .. } in linked {
        if endless.contains_key(function) {
            return Err(LinkError::Recursive { function: name_of(model, function) });
        }
        missing_imports(model, function, model.main_graph(), &[], registry)
            .map_err(|reason| LinkError::Version { function: name_of(model, function), reason })?;
    }
    Ok(())
}

/// The nodes of a model that call functions of the library, and nothing that the model or the standard defines.
fn wanted(model: &Model, library: &Model, registry: &Registry) -> Vec<(NodeId, FunctionId)> {
    let in_library = |symbol: Symbol| library.names().get(model.str(symbol));
    let mut wanted = Vec::new();
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        let record = model.node(node);
        if model.function_called(record).is_some() || model.callee(node, registry).standard().is_some() {
            continue;
        }
        let function = || {
            let [domain, name, overload] = [record.domain(), record.op(), record.overload()].map(in_library);
            library.find_function(domain?, name?, overload?)
        };
        wanted.extend(function().map(|function| (node, function)));
    }
    wanted
}

/// The functions that are called, directly or through others, if they can be linked.
fn reached(
    library: &Model,
    graph: &CallGraph,
    start: impl Iterator<Item = FunctionId>,
) -> Result<SecondaryMap<FunctionId, ()>, LinkError> {
    let endless = endless(library, graph);
    let mut reached = SecondaryMap::new();
    let mut open: Vec<FunctionId> = start.collect();
    while let Some(function) = open.pop() {
        if reached.insert(function, ()).is_some() {
            continue;
        }
        if endless.contains_key(function) {
            return Err(LinkError::Recursive { function: name_of(library, function) });
        }
        if has_external_data(library, function) {
            return Err(LinkError::ExternalData { function: name_of(library, function) });
        }
        open.extend(graph.callees(function).map(|(callee, _)| callee));
    }
    Ok(reached)
}

fn name_of(model: &Model, function: FunctionId) -> String {
    let (domain, name, overload) = identity_of(model, function);
    identity(model, domain, name, overload)
}

/// Returns `true` if elements of a tensor of a function are in another file.
fn has_external_data(model: &Model, function: FunctionId) -> bool {
    let of_value = |value: &AttrValue| match value {
        AttrValue::Tensor(tensor) => tensor.is_external(),
        AttrValue::Tensors(tensors) => tensors.iter().any(|tensor| tensor.is_external()),
        AttrValue::SparseTensor(sparse) => is_external_sparse(sparse),
        AttrValue::SparseTensors(list) => list.iter().any(|sparse| is_external_sparse(sparse)),
        _ => false,
    };
    let record = model.function(function);
    record.defaults.iter().any(|default| of_value(default.value()))
        || graphs_of(model, function).flat_map(|graph| model.graphs_in(graph)).any(|graph| {
            let mut nodes = model.nodes(graph);
            let mut constants =
                model.initializers(graph).filter_map(|value| model.value(value).initializer());
            constants.any(|constant| is_external(constant))
                || nodes.any(|node| {
                    model.node(node).attributes().iter().any(|attribute| of_value(attribute.value()))
                })
        })
}

fn is_external(constant: &Constant) -> bool {
    match constant {
        Constant::Dense(tensor) => tensor.is_external(),
        Constant::Sparse(sparse) => is_external_sparse(sparse),
    }
}

fn is_external_sparse(sparse: &SparseTensor) -> bool {
    [&sparse.values, &sparse.indices].into_iter().flatten().any(Tensor::is_external)
}

struct Linker<'a> {
    model: &'a mut Model,
    library: &'a mut Model,
    /// The nodes of the library that call a function.
    callers: Callers,
    registry: &'a Registry,
    linked: Vec<LinkedFunction>,
}

impl Linker<'_> {
    /// Adds a function whose callees were added.
    fn add(&mut self, function: FunctionId) -> Result<(), EditError> {
        let count = self.model.functions().len();
        let added = match Importer::new(self.library).function(self.model, function) {
            Err(EditError::FunctionExists) => return self.add_renamed(function),
            added => added?,
        };
        // An equal function of the model is used as it is.
        if self.model.functions().len() > count {
            self.linked.push(LinkedFunction { function: added, renamed_from: None });
        }
        Ok(())
    }

    /// Adds a function under another name, which those who call it in the library use then.
    fn add_renamed(&mut self, function: FunctionId) -> Result<(), EditError> {
        let (domain, name, overload) = identity_of(self.library, function);
        let [of_domain, of_name, of_overload] =
            [domain, name, overload].map(|symbol| self.model.intern(self.library.str(symbol)));
        let free = Taken::new(self.model).free_name(self.model, self.registry, of_domain, of_name);
        let new = self.library.intern(self.model.str(free));
        self.library.set_function_identities([(function, (domain, new, overload))]);
        for &node in self.callers.get(function).into_iter().flatten() {
            self.library.set_op(node, domain, new, overload);
        }
        let added = Importer::new(self.library).function(self.model, function)?;
        let renamed_from = Some((of_domain, of_name, of_overload));
        self.linked.push(LinkedFunction { function: added, renamed_from });
        Ok(())
    }
}

/// Imports the domains of calls where they are not imported, in the version that the library has.
fn import_domains(model: &mut Model, library: &Model, wanted: &[(NodeId, FunctionId)]) {
    for &(node, _) in wanted {
        let (graph, domain) = (model.node(node).graph(), model.node(node).domain());
        let version = library.names().get(model.str(domain));
        let version = version.and_then(|domain| library.versions_of(OpsetScope::Model).get(domain));
        add_imports(model, graph, &[(domain, version.unwrap_or(1))]);
    }
}

/// Raises the IR version to the first one that has functions, defaults of their attributes, and overloads with metadata.
fn raise_ir_version(model: &mut Model, linked: &[LinkedFunction]) {
    let needed = linked.iter().map(|linked| {
        let record = model.function(linked.function);
        match (record.overload().is_empty() && record.metadata.is_empty(), record.defaults.is_empty()) {
            (false, _) => 10,
            (true, false) => 9,
            (true, true) => 8,
        }
    });
    let needed = needed.max().unwrap_or_default();
    if model.info().ir_version < needed {
        model.info_mut().ir_version = needed;
    }
}
