//! An equivalence with floats of 64 bits in the place of narrower ones, so that rounding shrinks and a real difference does
//! not.

use std::sync::Arc;

use onnx_ir::{AttrValue, Attribute, Constant, GraphId, Model, NodeId, ValueId};
use onnx_schema::{AttrDefault, Registry, attr, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Symbol, Type, TypeKind};

use crate::equivalence::Equivalence;

/// The attributes that name the element type of a result, or of a computation inside an operator. A narrow type in one of
/// them would round where the claim is about real numbers.
const ELEM_ATTRIBUTES: [Symbol; 7] = [
    attr::TO,
    attr::DTYPE,
    attr::OUTPUT_DTYPE,
    attr::OUTPUT_DATATYPE,
    attr::STASH_TYPE,
    attr::SOFTMAX_PRECISION,
    attr::PRECISION,
];

/// The equivalence over `double`; `None` if it holds no floats that can be widened.
///
/// Operators that do not exist for `double` fail when the result runs: the caller then runs the original.
pub(crate) fn widen(eq: &Equivalence, registry: &Registry) -> Option<Equivalence> {
    let mut wide = eq.clone();
    let graphs: Vec<GraphId> = wide.model.all_graphs().collect();
    let mut has_changed = false;
    for graph in graphs {
        let values: Vec<ValueId> = {
            let record = wide.model.graph(graph);
            let outputs = record.outputs().iter().map(onnx_ir::GraphOutput::value);
            record.inputs().iter().copied().chain(outputs).chain(wide.model.initializers(graph)).collect()
        };
        for value in values {
            has_changed |= widen_value(&mut wide.model, graph, value)?;
        }
        let nodes: Vec<NodeId> = wide.model.nodes(graph).collect();
        for node in nodes {
            has_changed |= widen_node(&mut wide.model, node, registry)?;
        }
    }
    has_changed.then_some(wide)
}

/// Number of significand bits of a float that is widened, including the leading one.
pub(crate) const fn precision(elem: ElemType) -> Option<i32> {
    match elem {
        ElemType::Float => Some(24),
        ElemType::Float16 => Some(11),
        ElemType::Bfloat16 => Some(8),
        _ => None,
    }
}

fn is_narrow(elem: ElemType) -> bool {
    precision(elem).is_some()
}

fn is_narrow_code(code: i64) -> bool {
    i32::try_from(code).ok().and_then(ElemType::from_code).is_some_and(is_narrow)
}

/// The tensor with elements of 64 bits; itself if its elements are not narrow floats. `None` if they cannot be read.
fn widen_tensor(tensor: &Tensor) -> Option<Option<Tensor>> {
    if !is_narrow(tensor.elem()) {
        return Some(None);
    }
    let elements: Vec<f64> = tensor.iter_f64(&NoData).ok()?.collect();
    let wide = Tensor::from_slice(tensor.dims().iter().copied(), &elements).ok()?;
    Some(Some(wide))
}

fn widen_value(model: &mut Model, graph: GraphId, value: ValueId) -> Option<bool> {
    let mut has_changed = false;
    if let Some(ty) = model.ty(value)
        && let TypeKind::Tensor(tensor) = &ty.kind
        && is_narrow(tensor.elem)
    {
        let ty = Type::tensor(ElemType::Double, tensor.shape.clone());
        model.set_type(value, Some(ty));
        has_changed = true;
    }
    let constant = model.value(value).initializer().cloned();
    if let Some(tensor) = constant.as_deref().and_then(Constant::dense)
        && let Some(wide) = widen_tensor(tensor)?
    {
        model.set_initializer(graph, value, Some(Arc::new(wide.into())));
        has_changed = true;
    }
    Some(has_changed)
}

fn widen_node(model: &mut Model, node: NodeId, registry: &Registry) -> Option<bool> {
    let double = i64::from(ElemType::Double.code());
    let record = model.node(node);
    let is_constant = record.is(op::CONSTANT);
    let mut changed: Vec<Attribute> = Vec::new();
    let mut removed = Vec::new();
    for attribute in record.attributes() {
        match attribute.value() {
            AttrValue::Tensor(tensor) => {
                if let Some(wide) = widen_tensor(tensor)? {
                    changed.push(Attribute::new(attribute.name(), wide));
                }
            }
            AttrValue::Float(number) if is_constant => {
                removed.push(attribute.name());
                changed.push(Attribute::new(attr::VALUE, Tensor::scalar(f64::from(*number))));
            }
            AttrValue::Floats(numbers) if is_constant => {
                let numbers: Vec<f64> = numbers.iter().map(|&number| f64::from(number)).collect();
                removed.push(attribute.name());
                changed.push(Attribute::new(attr::VALUE, Tensor::vector(&numbers)));
            }
            AttrValue::Int(code) if ELEM_ATTRIBUTES.contains(&attribute.name()) && is_narrow_code(*code) => {
                changed.push(Attribute::new(attribute.name(), double));
            }
            _ => {}
        }
    }
    if let Some(schema) = model.callee(node, registry).standard() {
        for name in ELEM_ATTRIBUTES {
            let default = schema.attribute(name).and_then(|formal| formal.default);
            let is_narrow = matches!(default, Some(AttrDefault::Int(code)) if is_narrow_code(code));
            if is_narrow && record.attribute(name).is_none() {
                changed.push(Attribute::new(name, double));
            }
        }
    }
    let has_changed = !changed.is_empty();
    for name in removed {
        model.remove_attribute(node, name);
    }
    for attribute in changed {
        model.set_attribute(node, attribute).ok()?;
    }
    Some(has_changed)
}
