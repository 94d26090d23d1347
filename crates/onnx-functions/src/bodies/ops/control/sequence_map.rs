//! `SequenceMap`: a `Loop` over the elements of the first sequence. The body of the loop is the graph of the node,
//! preceded by `SequenceAt` and followed by `SequenceInsert`. Further sequences give an element to each iteration, and
//! tensors are the same in all.
//!
//! A graph that uses values of outer graphs has no body, because a function cannot capture them.

use onnx_ir::Attribute;
use onnx_schema::{attr, op};
use onnx_types::{ElemType, Shape, Type, TypeKind};

use crate::FunctionReason;
use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let graph = draft.optional_graph(attr::BODY)?.ok_or_else(|| draft.wrong(attr::BODY, "is missing"))?;
    let sequence = draft.input(0)?;
    let mut operands: Vec<(V, bool)> = Vec::new();
    for index in 0..draft.input_count() {
        let value = draft.input(index)?;
        let kind = draft.ty(index).map(|ty| &ty.kind);
        operands.push(match kind {
            Some(TypeKind::Sequence(_)) => (value, true),
            Some(TypeKind::Tensor(_)) => (value, false),
            _ => {
                return Err(FunctionReason::new(format!(
                    "it is not known whether input {index} is a sequence"
                )));
            }
        });
    }
    let results = draft.model().graph(graph).outputs().len();
    let elems: Vec<ElemType> = (0..results).map(|index| elem(draft, graph, index)).collect::<Made<_>>()?;
    let length = draft.op(op::SEQUENCE_LENGTH, &[sequence], Vec::new())?;
    let mut inputs = vec![Some(length), None];
    for &elem in &elems {
        let dtype = Attribute::new(attr::DTYPE, i64::from(elem.code()));
        inputs.push(Some(draft.op(op::SEQUENCE_EMPTY, &[], vec![dtype])?));
    }
    let scalar = |elem| Some(Type::tensor(elem, Some(Shape::scalar())));
    let mut formals = vec![("iteration", scalar(ElemType::Int64)), ("condition", scalar(ElemType::Bool))];
    formals.extend(elems.iter().map(|&elem| ("collected", Some(Type::sequence(Type::tensor(elem, None))))));
    let inner = draft.graph(&formals, |draft, formals| {
        let [iteration, condition, collected @ ..] = formals else {
            return Err("the graph of a loop begins with two inputs".into());
        };
        let mut outputs = vec![draft.identity(*condition)?];
        let mut items = Vec::new();
        for &(value, is_sequence) in &operands {
            items.push(if is_sequence {
                draft.op(op::SEQUENCE_AT, &[value, *iteration], Vec::new())?
            } else {
                value
            });
        }
        let made = draft.paste(graph, &items)?;
        for (&list, result) in collected.iter().zip(made) {
            outputs.push(draft.op(op::SEQUENCE_INSERT, &[list, result], Vec::new())?);
        }
        Ok(outputs)
    })?;
    draft.node(op::LOOP, &inputs, vec![Attribute::new(attr::BODY, inner)], results)
}

/// The element type of the tensors of a result.
fn elem(draft: &mut Draft<'_>, graph: onnx_ir::GraphId, index: usize) -> Made<ElemType> {
    let of = |ty: Option<&Type>| {
        let elem = ty.and_then(Type::tensor_type).map(|tensor| tensor.elem);
        elem.filter(|&elem| elem != ElemType::Undefined)
    };
    let inferred = of(draft.result_ty(index).and_then(Type::inner));
    let model = draft.model();
    let output = model.graph(graph).outputs().get(index).map(|output| output.value());
    let declared = of(output.and_then(|output| model.ty(output)));
    inferred
        .or(declared)
        .ok_or_else(|| FunctionReason::new(format!("the element type of result {index} is not known")))
}
