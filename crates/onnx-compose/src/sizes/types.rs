//! The dimensions of declared types.

use onnx_ir::{GraphOutput, InfoEntry, Model, OwnInfo, ValueId};
use onnx_types::{Dim, Type, TypeKind};

/// A function from a declared dimension of a value, at an axis, to the new one.
pub(super) type Change<'a> = dyn FnMut(&mut Model, ValueId, usize, Dim) -> Dim + 'a;

/// Changes the dimensions of all types that the main graph and the graphs nested in it declare. Returns the number of types that
/// have changed. Function bodies have separate dimension variables.
pub(super) fn change_dims(model: &mut Model, change: &mut Change<'_>) -> usize {
    let mut count = 0;
    let graphs: Vec<_> = model.graphs_in(model.main_graph()).collect();
    for graph in graphs {
        let values: Vec<ValueId> = model.definitions(graph).collect();
        for value in values {
            let Some(ty) = model.value(value).shared_ty().cloned() else { continue };
            if let Some(new) = changed(model, value, &ty, change) {
                model.set_type(value, Some(new));
                count += 1;
            }
        }
        // Values whose types are declared again, with another type.
        let own = |own: Option<&OwnInfo>| own.is_some_and(|own| own.ty.is_some());
        if model.value_info(graph).any(|entry| own(entry.own())) {
            let entries: Vec<InfoEntry> = model.value_info(graph).cloned().collect();
            model.retain_value_info(graph, |_| false);
            for entry in entries {
                let mut new = entry.own().cloned();
                if let Some(ty) = new.as_ref().and_then(|own| own.ty.clone())
                    && let Some(changed) = changed(model, entry.value(), &ty, change)
                    && let Some(own) = &mut new
                {
                    own.ty = Some(changed.into());
                    count += 1;
                }
                model.push_value_info(graph, entry.value(), new.map(Box::new));
            }
        }
        let outputs = model.graph(graph).outputs().to_vec();
        let first = outputs.iter().position(|output| {
            let ty = output.own().and_then(|own| own.ty.clone());
            ty.is_some_and(|ty| changed(model, output.value(), &ty, change).is_some())
        });
        // The declared type of the value applies then.
        if let Some(first) = first {
            let values: Vec<ValueId> = outputs.iter().skip(first).map(GraphOutput::value).collect();
            for index in (first..outputs.len()).rev() {
                model.remove_graph_output(graph, index);
            }
            values.into_iter().for_each(|value| model.push_graph_output(graph, value));
            count += 1;
        }
    }
    count
}

/// A type with other dimensions; `None` if they are unchanged.
fn changed(model: &mut Model, value: ValueId, ty: &Type, change: &mut Change<'_>) -> Option<Type> {
    map_dims(ty, |axis, dim| change(model, value, axis, dim))
}

/// A type with its dimensions replaced, also those of elements of sequences, optionals and maps. `replace` takes the axis and the
/// dimension. `None` if the dimensions are unchanged.
pub(crate) fn map_dims(ty: &Type, mut replace: impl FnMut(usize, Dim) -> Dim) -> Option<Type> {
    let mut new = ty.clone();
    let mut differs = false;
    let mut at = Some(&mut new);
    while let Some(ty) = at {
        // The bytes that the type was read from have the old sizes.
        ty.source = None;
        at = match &mut ty.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                for (axis, dim) in tensor.shape.iter_mut().flat_map(|shape| shape.dims_mut()).enumerate() {
                    let old = *dim;
                    *dim = replace(axis, old);
                    differs |= *dim != old;
                }
                None
            }
            TypeKind::Sequence(inner) | TypeKind::Optional(inner) | TypeKind::Map { value: inner, .. } => {
                inner.as_deref_mut()
            }
            TypeKind::Undefined | TypeKind::Opaque { .. } => None,
        };
    }
    differs.then_some(new)
}
