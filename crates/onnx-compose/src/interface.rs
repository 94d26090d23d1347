//! The inputs and outputs of the main graph, and the types of values that become such.

use std::sync::Arc;

use onnx_ir::{Constant, Def, GraphId, Model, User, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, MergePolicy, Ty, infer};
use onnx_types::{Execution, Symbol, Type};

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

/// Gives values that have no declared type the inferred one. No other value gets a type.
pub(crate) fn declare(
    model: &mut Model,
    values: &[ValueId],
    registry: &Registry,
    execution: &Execution,
) -> Result<(), ComposeError> {
    let open: Vec<ValueId> = values.iter().copied().filter(|&value| !is_declared(model, value)).collect();
    if open.is_empty() {
        return Ok(());
    }
    // The element type of an initializer is that of its tensor.
    for &value in &open {
        if let Some(constant) = model.value(value).initializer()
            && let Constant::Dense(tensor) = &**constant
            && let Some(shape) = dims(tensor.dims())
        {
            let ty = Type::tensor(tensor.elem(), Some(shape));
            model.set_type(value, Some(ty));
        }
    }
    let open: Vec<ValueId> = open.into_iter().filter(|&value| !is_declared(model, value)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let options = InferOptions::default().with_registry(registry).with_execution(execution.clone());
    let mut inference = infer(model, &options);
    let unknown: Vec<ValueId> =
        open.iter().copied().filter(|&value| is_unknown(&inference.ty(value))).collect();
    if !unknown.is_empty() {
        let names = unknown.iter().map(|&value| name(model, value)).collect();
        return Err(ComposeError::UnknownType(unknown, names));
    }
    // What is applied to other values is taken back.
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let mut before: Vec<(ValueId, Option<Arc<Type>>)> = Vec::new();
    for graph in graphs {
        let values = model.definitions(graph);
        before.extend(values.map(|value| (value, model.value(value).shared_ty().cloned())));
    }
    if inference.apply(model, MergePolicy::Keep).is_ok() {
        for (value, ty) in before.into_iter().filter(|(value, _)| !open.contains(value)) {
            if !same_type(model.value(value).shared_ty(), ty.as_ref()) {
                model.set_type(value, ty);
            }
        }
    }
    Ok(())
}

/// Whether a type does not suffice for an input or output, where tensors need an element type and a rank.
fn is_unknown(ty: &Ty) -> bool {
    ty.is_unknown() || matches!(ty, Ty::Tensor(onnx_types::ElemType::Undefined, _) | Ty::Tensor(_, None))
}

fn same_type(a: Option<&Arc<Type>>, b: Option<&Arc<Type>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn is_declared(model: &Model, value: ValueId) -> bool {
    let main = model.main_graph();
    // What the interface of the model says is what its author wants.
    let is_interface = matches!(model.value(value).def(), Def::Input { graph, .. } if graph == main)
        || model.value(value).uses().iter().any(|at| at.user == User::Graph(main));
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

fn dims(dims: &[i64]) -> Option<onnx_types::Shape> {
    dims.iter().all(|&dim| dim >= 0).then(|| onnx_types::Shape::known(dims))
}

/// A new input of the main graph that takes the place of a value: with its name, type, documentation and metadata. The value
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
