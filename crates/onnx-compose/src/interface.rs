//! The inputs and outputs of the main graph, and the types of values that become such.

use onnx_ir::{Constant, Def, GraphId, Model, NodeId, User, ValueId, ValueRef};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Ty, infer};
use onnx_types::{Execution, Symbol, Type};
use slotmap::SecondaryMap;

use crate::error::ComposeError;

/// The name of a value in messages.
pub(crate) fn name(model: &Model, value: ValueId) -> String {
    model.str(model.value(value).name()).escape_debug().to_string()
}

/// Makes `wanted` the inputs of a graph, in this order; each is an input already or a value that nothing defines. Other inputs
/// are removed, and erased if nothing uses them.
pub(crate) fn set_inputs(model: &mut Model, graph: GraphId, wanted: &[ValueId]) -> Result<(), ComposeError> {
    let old = model.graph(graph).inputs().to_vec();
    if old == wanted {
        return Ok(());
    }
    model.set_graph_inputs(graph, wanted)?;
    for value in old {
        let is_plain = !matches!(model.value(value).def(), Def::Input { .. });
        if is_plain && !model.value(value).is_used() {
            model.erase_value(value)?;
        }
    }
    Ok(())
}

/// Makes `wanted` the outputs of a graph, in this order. Outputs that stay at the beginning keep what is written about them.
pub(crate) fn set_outputs(model: &mut Model, graph: GraphId, wanted: &[ValueId]) {
    let same = model.graph(graph).outputs().iter().zip(wanted);
    let same = same.take_while(|(output, value)| output.value() == **value).count();
    for index in (same..model.graph(graph).outputs().len()).rev() {
        model.remove_graph_output(graph, index);
    }
    for &value in wanted.iter().skip(same) {
        model.push_graph_output(graph, value);
    }
}

/// Gives values that have no declared type the inferred one. No other value gets a type, and none if one has none.
pub(crate) fn declare(
    model: &mut Model,
    values: &[ValueId],
    registry: &Registry,
    execution: &Execution,
) -> Result<(), ComposeError> {
    let open = values.iter().copied().filter(|&value| !is_declared(model, value));
    // The element type of an initializer is that of its tensor.
    let (weights, open): (Vec<_>, Vec<_>) =
        open.map(|value| (value, weight_type(model, value))).partition(|(_, ty)| ty.is_some());
    if !open.is_empty() {
        let options = InferOptions::default().with_registry(registry).with_execution(execution.clone());
        let mut inference = infer(model, &options);
        if let Some(stopped) = inference.stopped() {
            return Err(stopped.into());
        }
        let open: Vec<ValueId> = open.into_iter().map(|(value, _)| value).collect();
        let unknown: Vec<ValueId> =
            open.iter().copied().filter(|&value| is_unknown(&inference.ty(value))).collect();
        if !unknown.is_empty() {
            let names = unknown.iter().map(|&value| name(model, value)).collect();
            return Err(ComposeError::UnknownType(unknown, names));
        }
        for value in open {
            if let Some(ty) = inference.intern_type(model, value) {
                model.set_type(value, Some(ty));
            }
        }
    }
    for (value, ty) in weights {
        model.set_type(value, ty);
    }
    Ok(())
}

fn weight_type(model: &Model, value: ValueId) -> Option<Type> {
    match &**model.value(value).initializer()? {
        Constant::Dense(tensor) => Some(Type::tensor(tensor.elem(), Some(dims(tensor.dims())?))),
        Constant::Sparse(_) => None,
    }
}

/// Whether a type does not suffice for an input or output, where tensors need an element type and a rank.
pub(crate) fn is_unknown(ty: &Ty) -> bool {
    ty.is_unknown() || matches!(ty, Ty::Tensor(onnx_types::ElemType::Undefined, _) | Ty::Tensor(_, None))
}

pub(crate) fn is_declared(model: &Model, value: ValueId) -> bool {
    let main = model.main_graph();
    // A type that the model declares for its interface is accepted, because its author chose it.
    let is_interface = matches!(model.value(value).def(), Def::Input { graph, .. } if graph == main)
        || model.value(value).output_uses().iter().any(|at| at.user == User::Graph(main));
    let is_complete =
        |ty: &Type| ty.elem() != onnx_types::ElemType::Undefined && ty.shape().is_some() || !is_tensor(ty);
    model.ty(value).is_some_and(|ty| is_interface || is_complete(ty))
}

const fn is_tensor(ty: &Type) -> bool {
    matches!(
        ty.kind,
        onnx_types::TypeKind::Undefined
            | onnx_types::TypeKind::Tensor(_)
            | onnx_types::TypeKind::SparseTensor(_)
    )
}

pub(crate) fn dims(dims: &[i64]) -> Option<onnx_types::Shape> {
    dims.iter().all(|&dim| dim >= 0).then(|| onnx_types::Shape::known(dims))
}

/// A new input of the main graph that replaces a value: with its name, type, documentation and metadata. The value
/// loses its name.
pub(crate) fn new_input_like(model: &mut Model, value: ValueId) -> ValueId {
    let main = model.main_graph();
    let (name, ty) = (model.value(value).name(), model.value(value).shared_ty().cloned());
    let extras = model.value(value).extras().cloned();
    let new = model.new_value_in(main, name);
    model.set_type(new, ty);
    if let Some(extras) = extras {
        *model.value_extras_mut(new) = extras;
    }
    model.set_value_name(value, Symbol::EMPTY);
    new
}

/// Redirects annotations of a graph and shardings of nodes from replaced values to their replacements.
pub(crate) fn redirect(
    model: &mut Model,
    graph: GraphId,
    nodes: &[NodeId],
    replaced: &SecondaryMap<ValueId, ValueId>,
) {
    let redirect = |reference: &mut ValueRef| {
        if let ValueRef::Value(value) = reference
            && let Some(&new) = replaced.get(*value)
        {
            *value = new;
        }
    };
    if !model.graph(graph).quantization.is_empty() {
        for annotation in &mut model.graph_mut(graph).quantization {
            redirect(&mut annotation.tensor);
            annotation.parameters.iter_mut().for_each(|parameter| redirect(&mut parameter.value));
        }
    }
    for &node in nodes {
        if !model.node(node).device_configurations().is_empty() {
            let mut extras = model.node_extras_mut(node);
            let shardings = extras.device_configurations.iter_mut().flat_map(|entry| &mut entry.shardings);
            shardings.for_each(|sharding| redirect(&mut sharding.tensor));
        }
    }
}
