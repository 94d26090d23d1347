//! The types of all values, and a separate function for each combination of types in which one is called.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{
    Attribute, CopyMap, EditError, FunctionId, GraphId, Model, NodeId, Position, ValueId, ValueTypes,
};
use onnx_schema::{AttrKind, Registry};
use onnx_shape_infer::{InferOptions, Inference, infer, infer_function};
use onnx_types::{Interrupt, Shape, Stopped, Symbol, Type, Watch};

use super::slots::Kept;
use super::want::WideReason;
use crate::types::{inner_elem, with_elem};

/// Values between two checks of the interrupt.
const WATCHED_VALUES: u64 = 1 << 12;

/// The types of values.
pub(crate) type Types = HashMap<ValueId, Type, RandomState>;

/// The types of all values of a model whose functions are each called in one way.
pub(crate) struct Typed {
    pub(crate) types: Types,
    /// The functions that are called.
    pub(crate) functions: Vec<FunctionId>,
}

/// Finds the types of all values. A function that is called with different types, or by nodes that are kept and by others, is
/// copied: each copy has one type for each of its values. The nodes of a function that a kept node calls are kept.
///
/// # Errors
///
/// Returns an error if a function cannot be copied, or the work must end.
pub(crate) fn specialize(
    model: &mut Model,
    options: &InferOptions<'_>,
    kept: &mut Kept,
) -> Result<Typed, EditError> {
    let interrupt = &options.execution.interrupt;
    let inference = infer(model, options);
    interrupt.check()?;
    if let Some((typed, all_kept)) = uniform(model, &inference, options, kept)? {
        *kept = all_kept;
        return Ok(typed);
    }
    let mut typed = Typed { types: Types::default(), functions: Vec::new() };
    collect(model, model.main_graph(), &inference, &mut typed.types, interrupt)?;
    let mut known: HashMap<(FunctionId, String), FunctionId, RandomState> = HashMap::default();
    let mut is_original_taken: HashMap<FunctionId, bool, RandomState> = HashMap::default();
    let mut open = vec![model.main_graph()];
    while let Some(root) = open.pop() {
        for (node, function) in calls(model, root, options.registry) {
            let reason = kept.get(&node).copied();
            let (given, text) = signature(model, node, &typed.types, reason);
            if let Some(&target) = known.get(&(function, text.clone())) {
                redirect(model, node, function, target);
                continue;
            }
            let taken = is_original_taken.entry(function).or_insert(false);
            let target = if *taken { copy(model, function)? } else { function };
            *taken = true;
            known.insert((function, text), target);
            redirect(model, node, function, target);
            let attributes: Vec<Attribute> = model.node(node).attributes().to_vec();
            let found = infer_function(model, target, &given, &attributes, options);
            let body = model.function(target).body();
            collect(model, body, &found, &mut typed.types, interrupt)?;
            if let Some(reason) = reason {
                let nodes: Vec<NodeId> = model.nodes_in(body).collect();
                nodes.into_iter().for_each(|node| _ = kept.insert(node, reason));
            }
            typed.functions.push(target);
            open.push(body);
        }
    }
    Ok(typed)
}

/// The types of a model in which no function needs a copy, and the kept nodes with those of functions that they call. `None` if one needs a
/// copy, or if a type is not known in all calls. One inference knows the types of all calls then; one for each function would visit
/// the functions that it calls once more.
fn uniform(
    model: &Model,
    inference: &Inference,
    options: &InferOptions<'_>,
    kept: &Kept,
) -> Result<Option<(Typed, Kept)>, Stopped> {
    let interrupt = &options.execution.interrupt;
    let mut typed = Typed { types: Types::default(), functions: Vec::new() };
    collect(model, model.main_graph(), inference, &mut typed.types, interrupt)?;
    let mut kept = kept.clone();
    let mut known: HashMap<FunctionId, String, RandomState> = HashMap::default();
    let mut open = vec![model.main_graph()];
    while let Some(root) = open.pop() {
        for (node, function) in calls(model, root, options.registry) {
            let reason = kept.get(&node).copied();
            let text = signature(model, node, &typed.types, reason).1;
            if let Some(before) = known.get(&function) {
                if *before != text {
                    return Ok(None);
                }
                continue;
            }
            known.insert(function, text);
            let body = model.function(function).body();
            let results = model.nodes_in(body).flat_map(|node| model.node(node).outputs().iter().flatten());
            if !results.copied().all(|value| inference.type_of(model, value).is_some()) {
                return Ok(None);
            }
            collect(model, body, inference, &mut typed.types, interrupt)?;
            if let Some(reason) = reason {
                kept.extend(model.nodes_in(body).map(|node| (node, reason)));
            }
            typed.functions.push(function);
            open.push(body);
        }
    }
    Ok(Some((typed, kept)))
}

/// The nodes of a graph and of those nested in it that call functions of the model.
fn calls(model: &Model, root: GraphId, registry: &Registry) -> Vec<(NodeId, FunctionId)> {
    let nodes = model.nodes_in(root);
    nodes.filter_map(|node| Some((node, model.callee(node, registry).function()?))).collect()
}

/// The types of the operands of a call, and a text that differs for calls that need different functions.
fn signature(
    model: &Model,
    node: NodeId,
    types: &Types,
    reason: Option<WideReason>,
) -> (Vec<Option<Type>>, String) {
    let record = model.node(node);
    let given: Vec<Option<Type>> =
        record.inputs().map(|value| types.get(&value?).cloned().map(without_sizes)).collect();
    let shape_free: Vec<Option<Type>> = given.iter().map(|ty| ty.as_ref().map(shapeless)).collect();
    // Attributes that could be element types.
    let codes: Vec<(Symbol, Option<i64>)> = record
        .attributes()
        .iter()
        .filter(|attribute| attribute.kind() == AttrKind::Int)
        .map(|attribute| (attribute.name(), attribute.as_int()))
        .collect();
    let text = format!("{shape_free:?} {codes:?} {reason:?}");
    (given, text)
}

/// The type with the rank, for calls with other sizes.
fn without_sizes(mut ty: Type) -> Type {
    if let onnx_types::TypeKind::Tensor(tensor) = &mut ty.kind {
        tensor.shape = None;
    }
    ty.source = None;
    ty
}

/// The structure of the type.
fn shapeless(ty: &Type) -> Type {
    let mut ty = match inner_elem(ty) {
        Some(elem) => with_elem(ty, elem),
        None => ty.clone(),
    };
    let mut at = Some(&mut ty);
    while let Some(ty) = at {
        at = match &mut ty.kind {
            onnx_types::TypeKind::Tensor(tensor) | onnx_types::TypeKind::SparseTensor(tensor) => {
                tensor.shape = None::<Shape>;
                None
            }
            onnx_types::TypeKind::Sequence(inner)
            | onnx_types::TypeKind::Optional(inner)
            | onnx_types::TypeKind::Map { value: inner, .. } => inner.as_deref_mut(),
            _ => None,
        };
    }
    ty
}

/// Adds the types of the values of a graph, and of those nested in it.
///
/// # Errors
///
/// Returns an error if the work must end.
pub(crate) fn collect(
    model: &Model,
    root: GraphId,
    inference: &Inference,
    types: &mut Types,
    interrupt: &Interrupt,
) -> Result<(), Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED_VALUES);
    let mut add = |value: ValueId| -> Result<(), Stopped> {
        watch.work(1)?;
        if let Some(ty) = inference.type_of(model, value).or_else(|| model.ty(value).cloned()) {
            types.insert(value, ty);
        }
        Ok(())
    };
    for graph in model.graphs_in(root) {
        model.definitions(graph).try_for_each(&mut add)?;
        for node in model.nodes(graph) {
            model.node(node).outputs().iter().copied().flatten().try_for_each(&mut add)?;
        }
    }
    Ok(())
}

/// Lets a node call a copy of the function that it calls.
fn redirect(model: &mut Model, node: NodeId, from: FunctionId, to: FunctionId) {
    if from != to {
        let function = model.function(to);
        let (domain, name, overload) = (function.written_domain(), function.name(), function.overload());
        model.set_op(node, domain, name, overload);
    }
}

/// Copies a function under another name.
fn copy(model: &mut Model, function: FunctionId) -> Result<FunctionId, EditError> {
    let record = model.function(function);
    let (domain, name, from) = (record.written_domain(), record.name(), record.body());
    let (attributes, imports) = (record.attributes.clone(), record.opset_imports.clone());
    let defaults = record.defaults.clone();
    let prefix = model.str(name).to_owned();
    let name = model.fresh_name(&prefix);
    let copy = model.add_function(domain, name, Symbol::EMPTY);
    {
        let mut info = model.function_mut(copy);
        info.attributes = attributes;
        info.opset_imports = imports;
    }
    let body = model.function(copy).body();
    let mut map = CopyMap::new();
    for formal in model.graph(from).inputs().to_vec() {
        let name = model.str(model.value(formal).name()).to_owned();
        let ty = model.ty(formal).cloned();
        let new = model.add_graph_input(body, &name, ty);
        map.map(formal, new);
    }
    model.copy_nodes(from, Position::End(body), &mut map)?;
    let outputs: Vec<ValueId> =
        model.graph(from).outputs().iter().map(|output| map.get(output.value())).collect();
    outputs.into_iter().for_each(|output| model.push_graph_output(body, output));
    for default in defaults {
        model.push_function_default(copy, default)?;
    }
    Ok(copy)
}
