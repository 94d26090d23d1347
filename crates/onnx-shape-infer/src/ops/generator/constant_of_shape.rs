//! `ConstantOfShape`: a tensor of a computed shape, full of one element, which is the float 0 unless given.
//!
//! The shape is a vector, and the element a vector of one element; the reference counts only the latter's dimensions. A size
//! that is a negative number is a fault. A size that depends on symbols is taken as it is: where it is negative the node
//! does not run.

use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType};

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BAD_ATTRIBUTE, NEGATIVE_SIZE, TYPE_NOT_ALLOWED};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::CONSTANT_OF_SHAPE, &[since(9, fill)]).values(&[since(9, values)]);

fn fill(cx: &mut Cx<'_, '_>) -> Outcome {
    let value = cx.tensor_attr(attr::VALUE)?;
    if let Some(value) = value
        && value.rank() != 1
    {
        let rank = value.rank();
        return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("attribute `value` has rank {rank}, not 1")));
    }
    cx.set_elem(0, value.map_or(ElemType::Float, |value| value.elem()));
    match cx.constant(0).map(Tensor::elem) {
        None | Some(ElemType::Int64) => {}
        Some(ElemType::Undefined) => {
            return Err(cx.fail(&TYPE_NOT_ALLOWED, "the shape is a tensor without an element type"));
        }
        Some(other) => {
            return Err(
                cx.fail(&TYPE_NOT_ALLOWED, format_args!("the shape is of {other}, and must be of int64"))
            );
        }
    }
    cx.shape_of_rank(0, 1)?;
    let sizes = cx.elements(0)?.ok_or(Stop::Unknown)?;
    if let Some(size) = sizes.iter().filter_map(|dim| dim.known()).find(|&size| size < 0) {
        return Err(cx.fail(&NEGATIVE_SIZE, format_args!("a size of the shape is {size}")));
    }
    cx.set_shape(0, sizes);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = match cx.tensor_attr(attr::VALUE)? {
        None => Elem::Int(Dim::Known(0)),
        Some(value) => match cx.state.elements_of(value, 1, (Some(cx.id), None)).as_deref() {
            Some(&[elem]) => elem,
            _ => return Err(Stop::Unknown),
        },
    };
    let count = match cx.output_ty(0).dims().map(|dims| dims.iter().map(|dim| dim.known())) {
        Some(mut sizes) => sizes.try_fold(1_i64, |count, size| count.checked_mul(size?)),
        None => None,
    };
    let count = count.and_then(|count| usize::try_from(count).ok()).ok_or(Stop::Unknown)?;
    if count > cx.content_limit() {
        return Err(Stop::Unknown);
    }
    cx.set_content(0, std::iter::repeat_n(elem, count));
    Ok(())
}
