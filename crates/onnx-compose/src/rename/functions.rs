//! New identities of functions: calls and imports of domains follow.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{FunctionId, Model, NodeId, OpsetImport, OpsetScope};
use onnx_schema::domain;
use onnx_types::Symbol;

use super::{FunctionName, NameCollision};

type Identity = (Symbol, Symbol, Symbol);

/// The identities that other functions or operators have.
pub(super) fn collisions(model: &Model, changed: &[(FunctionId, FunctionName)]) -> Vec<NameCollision> {
    let moved: HashMap<FunctionId, &FunctionName, RandomState> =
        changed.iter().map(|(function, new)| (*function, new)).collect();
    let mut owners: HashMap<FunctionName, FunctionId, RandomState> = HashMap::default();
    for &function in model.functions().iter().filter(|function| !moved.contains_key(*function)) {
        owners.entry(normalized(FunctionName::of(model, function))).or_insert(function);
    }
    let called = called_operators(model, changed);
    let mut collisions = Vec::new();
    for (function, new) in changed {
        let old = FunctionName::of(model, *function);
        let key = normalized(new.clone());
        let mut add = |other: String| {
            let (old, new) = (old.to_string(), new.to_string());
            collisions.push(NameCollision { kind: "function", old, new, other, value: None, node: None });
        };
        match owners.get(&key) {
            // Of several functions of one identity, the first one is called.
            Some(&other) if FunctionName::of(model, other) != old => {
                add(FunctionName::of(model, other).to_string());
            }
            Some(_) => {}
            None if called.contains(&key) || is_standard(&key) => add(String::new()),
            None => {
                owners.insert(key, *function);
            }
        }
    }
    collisions
}

fn normalized(mut name: FunctionName) -> FunctionName {
    if name.domain == "ai.onnx" {
        name.domain.clear();
    }
    name
}

/// Whether a standard operator has the name, which takes precedence over a function.
fn is_standard(name: &FunctionName) -> bool {
    let known = onnx_schema::domain_symbol(&name.domain).zip(onnx_schema::op_symbol(&name.name));
    name.overload.is_empty()
        && known.is_some_and(|(domain, op)| !onnx_schema::versions(domain, op).is_empty())
}

/// The operators that nodes call and that are not functions of the model.
fn called_operators(
    model: &Model,
    changed: &[(FunctionId, FunctionName)],
) -> HashSet<FunctionName, RandomState> {
    let mut called = HashSet::default();
    if changed.is_empty() {
        return called;
    }
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        let record = model.node(node);
        if model.function_called(record).is_none() {
            let [domain, name, overload] =
                [record.domain(), record.op(), record.overload()].map(|part| model.str(part).to_owned());
            called.insert(normalized(FunctionName { domain, name, overload }));
        }
    }
    called
}

/// Renames functions, with their calls.
pub(super) fn apply(model: &mut Model, changed: &[(FunctionId, FunctionName)]) {
    if changed.is_empty() {
        return;
    }
    let new: HashMap<FunctionId, Identity, RandomState> = changed
        .iter()
        .map(|(function, name)| {
            let FunctionName { domain, name, overload } = name;
            (*function, (model.intern(domain), model.intern(name), model.intern(overload)))
        })
        .collect();
    let mut calls: Vec<(NodeId, OpsetScope, Identity)> = Vec::new();
    for graph in model.all_graphs() {
        let scope = model.scope(graph);
        for node in model.nodes(graph) {
            let called = model.function_called(model.node(node));
            if let Some(&identity) = called.and_then(|function| new.get(&function)) {
                calls.push((node, scope, identity));
            }
        }
    }
    let mut moved: Vec<(OpsetScope, Symbol, Symbol)> = Vec::new();
    let mut seen = HashSet::<(OpsetScope, Symbol, Symbol), RandomState>::default();
    for (node, scope, (domain, op, overload)) in calls {
        let old = model.node(node).domain();
        if old != domain && seen.insert((scope, old, domain)) {
            moved.push((scope, old, domain));
        }
        model.set_op(node, domain, op, overload);
    }
    model.set_function_identities(
        changed.iter().filter_map(|(function, _)| Some((*function, *new.get(function)?))),
    );
    let moved: Vec<(OpsetScope, Symbol, OpsetImport)> = moved
        .into_iter()
        .map(|(scope, old, domain)| {
            let version = model.versions_of(scope).get(old).unwrap_or(1);
            (scope, old, OpsetImport::new(domain, version))
        })
        .collect();
    if moved.is_empty() {
        return;
    }
    let used = used_domains(model);
    for (scope, old, new) in moved.iter().cloned() {
        import(model, scope, old, new, used.contains(&(scope, old)));
    }
    // Runtimes look up the domains of all nodes, those of functions included, in the imports of the model.
    let mut done: HashSet<(Symbol, Symbol), RandomState> = HashSet::default();
    for (_, old, new) in moved {
        if done.insert((old, new.domain())) {
            import(model, OpsetScope::Model, old, new, used.contains(&(OpsetScope::Model, old)));
        }
    }
}

/// The domains of nodes, by the function that contains them; for the model, those of all nodes and functions.
fn used_domains(model: &Model) -> HashSet<(OpsetScope, Symbol), RandomState> {
    let mut used = HashSet::default();
    for graph in model.all_graphs() {
        let scope = model.scope(graph);
        for node in model.nodes(graph) {
            let domain = model.node(node).domain();
            used.insert((scope, domain));
            used.insert((OpsetScope::Model, domain));
        }
    }
    let functions = model.functions().iter().map(|&function| model.function(function).domain());
    used.extend(functions.map(|domain| (OpsetScope::Model, domain)));
    used
}

/// Imports a domain that calls were moved to. It replaces the old one if nothing uses that any more.
fn import(model: &mut Model, scope: OpsetScope, old: Symbol, new: OpsetImport, is_used: bool) {
    let is_imported = model.versions_of(scope).exact(new.domain()).is_some();
    let is_needed = is_used || onnx_schema::normalize_domain(old) == domain::ONNX;
    let edit = |imports: &mut Vec<OpsetImport>| match imports
        .iter()
        .position(|import| import.domain() == old)
        .filter(|_| !is_needed)
    {
        Some(index) if is_imported => drop(imports.remove(index)),
        Some(index) => {
            if let Some(place) = imports.get_mut(index) {
                *place = new;
            }
        }
        None if is_imported => {}
        None => imports.push(new),
    };
    match scope {
        OpsetScope::Model => edit(&mut model.info_mut().opset_imports),
        OpsetScope::Function(function) => edit(&mut model.function_mut(function).opset_imports),
    }
}
