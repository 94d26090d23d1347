//! Operand types for which a body of the generated table is not valid.
//!
//! Some operators allow more types than the operators of their body: `ReduceLogSum` allows integers, and `Log` does not. The
//! types of all values of a body follow from those of the operands by the signatures of its nodes.

use std::collections::HashMap;

use onnx_ir::{AttrValue, Attribute, Model, NodeId, ValueTypes};
use onnx_schema::{AttrKind, FormalType, Schema, attr, domain, op};
use onnx_types::tensor::NoData;
use onnx_types::{Dim, ElemType, Shape, Type};

use super::facts::{StaticAttr, StaticBody, StaticNode};
use crate::reason::FunctionReason;

/// Most elements of the operand `size` of `AffineGrid` that are read.
const MAX_AXES: usize = 8;

/// The types of values; `None` for one that is not known.
type Types = HashMap<&'static str, Option<ElemType>>;

/// Returns `true` if the validity of the body of an operator depends on sizes.
pub(crate) fn depends_on_sizes(schema: &Schema) -> bool {
    schema.op() == op::AFFINE_GRID
}

/// The reason if the body does not work for operands of these types. An element type that is not known may be any that the
/// operator allows.
pub(crate) fn refuse_types(
    body: &StaticBody,
    schema: &'static Schema,
    version: i64,
    operands: &[Option<Type>],
) -> Result<(), FunctionReason> {
    let known = |index: usize| {
        let elem = operands.get(index).and_then(Option::as_ref).map(Type::elem);
        elem.filter(|&elem| elem != ElemType::Undefined)
    };
    if schema.op() == op::SHRINK && known(0).is_none_or(|elem| !elem.is_float()) {
        return Err(
            "the body converts the bias to the element type first, which is wrong for integers".into()
        );
    }
    if schema.op() == op::AFFINE_GRID {
        let size = |index: usize, axis: usize| {
            let shape = operands.get(index).and_then(Option::as_ref).and_then(Type::shape);
            shape.and_then(|shape: &Shape| shape.dim(axis)).and_then(Dim::known)
        };
        // The rows of matrices of two dimensions are squeezed without axes.
        if size(1, 0) != Some(5) && size(0, 0).is_none_or(|batch| batch == 1) {
            return Err("the body squeezes the batch, too, which fails for a batch of 1".into());
        }
    }
    let allows = |index: usize, elem: ElemType| {
        schema.input_for(index).is_some_and(|formal| schema.types_of(formal).contains_tensor(elem))
    };
    let check = |other: Option<ElemType>| {
        let of = |index: usize| known(index).or(other.filter(|&elem| allows(index, elem)));
        let types = body.inputs.iter().enumerate().map(|(index, &name)| (name, of(index))).collect();
        check(body.nodes, version, types)
    };
    if (0..operands.len()).all(|index| known(index).is_some()) {
        return check(None);
    }
    let candidates = ElemType::all().filter(|&elem| allows(0, elem));
    for elem in candidates {
        check(Some(elem)).map_err(|reason| {
            FunctionReason::new(format!(
                "the element types of the operands are not known, and for {elem} {reason}"
            ))
        })?;
    }
    Ok(())
}

/// The reason if the body of `AffineGrid` may divide by 0. With `align_corners`, the distance of two pixels is 2
/// divided by one less than their number, so for a height or width of 1 the body computes 0 times infinity, which is
/// NaN; the operator gives -1. The body handles a depth of 1.
pub(crate) fn refuse_single_pixels(
    model: &Model,
    node: NodeId,
    types: &dyn ValueTypes,
) -> Result<(), FunctionReason> {
    let record = model.node(node);
    let corners = record.attribute(attr::ALIGN_CORNERS).map(Attribute::value);
    if !record.is(op::AFFINE_GRID) || matches!(corners, None | Some(AttrValue::Int(0))) {
        return Ok(());
    }
    let size = record.input(1).and_then(|value| model.constant_tensor(value));
    let given = size.and_then(|size| size.get_i64s(&NoData, MAX_AXES).ok());
    let result = record.output(0).and_then(|value| types.type_of(model, value));
    let inferred = result.as_ref().and_then(Type::shape);
    // Height and width are the last two sizes, and the result has an axis after them.
    let is_several = |from_end: usize| {
        let given = given.as_ref().and_then(|sizes| sizes.iter().rev().nth(from_end).copied());
        let axis = inferred.and_then(|shape| shape.rank().checked_sub(from_end.saturating_add(2)));
        let inferred = inferred.and_then(|shape| shape.dim(axis?)).and_then(Dim::known);
        given.or(inferred).is_some_and(|size| size != 1)
    };
    if is_several(0) && is_several(1) {
        return Ok(());
    }
    Err("with `align_corners`, the body divides by 0 for a height or width of 1, which is not excluded"
        .into())
}

/// Infers types through nodes. Nested graphs are not examined: the types of their results are not known.
fn check(nodes: &'static [StaticNode], version: i64, mut types: Types) -> Result<(), FunctionReason> {
    for node in nodes {
        let Some(schema) = onnx_schema::lookup(domain::ONNX, node.op, version) else { continue };
        let mut bound: HashMap<u8, ElemType> = HashMap::new();
        for (index, name) in node.inputs.iter().enumerate() {
            let (Some(elem), Some(formal)) = (types.get(name).copied().flatten(), schema.input_for(index))
            else {
                continue;
            };
            if !schema.types_of(formal).contains_tensor(elem) {
                return Err(FunctionReason::new(format!(
                    "the body uses `{}`, which does not have {elem} in version {version}",
                    schema.name()
                )));
            }
            if let FormalType::Variable(variable) = formal.ty {
                bound.insert(variable, elem);
            }
        }
        for (index, &name) in node.outputs.iter().enumerate() {
            types.insert(name, result(node, schema, index, &bound, &types));
        }
    }
    Ok(())
}

/// The element type of a result.
fn result(
    node: &StaticNode,
    schema: &Schema,
    index: usize,
    bound: &HashMap<u8, ElemType>,
    types: &Types,
) -> Option<ElemType> {
    let attribute = |name| node.attributes.iter().find(|&&(other, _)| other == name).map(|(_, value)| value);
    if node.op == op::CAST_LIKE {
        return types.get(node.inputs.get(1)?).copied().flatten();
    }
    if node.op == op::CAST {
        let Some(StaticAttr::Int(code)) = attribute(attr::TO) else { return None };
        return i32::try_from(*code).ok().and_then(ElemType::from_code);
    }
    if node.op == op::CONSTANT {
        return match node.attributes.first()?.1 {
            StaticAttr::Scalar(_) | StaticAttr::Float(_) | StaticAttr::Ref(_, AttrKind::Float) => {
                Some(ElemType::Float)
            }
            StaticAttr::Int(_) | StaticAttr::Ints(_) => Some(ElemType::Int64),
            StaticAttr::Ref(_, AttrKind::Int | AttrKind::Ints) => Some(ElemType::Int64),
            _ => None,
        };
    }
    let formal = schema.output_for(index)?;
    if let FormalType::Variable(variable) = formal.ty
        && let Some(&elem) = bound.get(&variable)
    {
        return Some(elem);
    }
    let allowed = schema.types_of(formal);
    allowed.single()?;
    ElemType::all().find(|&elem| allowed.contains_tensor(elem))
}
