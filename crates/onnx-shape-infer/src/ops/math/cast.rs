//! `Cast`, `CastLike`: the same elements in another type. The shape stays.
//!
//! `Cast` names the type by an attribute, which is text in version 1, and `CastLike` by a second input. An absent or unknown
//! name is a fault from version 6 on. Elements are followed with the width of the type: the reference keeps numbers that do
//! not fit into it.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::broadcast::zip;
use crate::family::{arithmetic, element_type};
use crate::fault::{BAD_ATTRIBUTE, MISSING};
use crate::registry::{OpRules, infer, since};

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::CAST, &[since(1, by_name), since(6, by_code)]).values(&[since(1, values)]),
    infer(op::CAST_LIKE, &[since(15, like_second)]).values(&[since(15, values)]),
];

fn by_name(cx: &mut Cx<'_, '_>) -> Outcome {
    let name = cx.text(attr::TO)?.ok_or(Stop::Unknown)?;
    let found = ElemType::all().find(|elem| elem.proto_name() == name || elem.name() == name);
    match found {
        Some(elem) => {
            cx.set_elem(0, elem);
            cx.copy_shape(0, 0)
        }
        None => Err(cx.fail(&BAD_ATTRIBUTE, "attribute `to` names no element type")),
    }
}

fn by_code(cx: &mut Cx<'_, '_>) -> Outcome {
    match element_type::defined(cx, attr::TO)? {
        Some(elem) => cx.set_elem(0, elem),
        None => return Err(cx.fail(&MISSING, "attribute `to` is missing")),
    }
    cx.copy_shape(0, 0)
}

fn like_second(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Ok(elem) = cx.elem(1) {
        cx.set_elem(0, elem);
    }
    cx.copy_shape(0, 0)
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let (from, to) = (cx.elem(0)?, cx.output_ty(0).elem().ok_or(Stop::Unknown)?);
    zip(cx, &[0], |cx, elems| {
        elems.first().map_or(Elem::Unknown, |&value| arithmetic::cast(cx, value, from, to))
    })
}
