//! Sequences and optional values.
//!
//! The type of a sequence says what holds for each of its elements: a size that may differ from element to element is not
//! known from it. Where a sequence is built in the graph, its elements are followed one by one as well.

mod concat_from_sequence;
mod optional;
mod optional_get_element;
mod optional_has_element;
mod sequence_at;
mod sequence_construct;
mod sequence_empty;
mod sequence_erase;
mod sequence_insert;
mod sequence_length;
mod split_to_sequence;

use onnx_types::{Type, TypeKind};

use crate::cx::{Cx, Outcome};
use crate::engine::control::Known;
use crate::family::join::join_ty;
use crate::fault::{TYPES_DIFFER, WRONG_KIND};
use crate::registry::OpRules;
use crate::sequence::Members;
use crate::ty::Ty;

pub(in crate::ops) const RULES: &[OpRules] = &[
    concat_from_sequence::RULES,
    optional::RULES,
    optional_get_element::RULES,
    optional_has_element::RULES,
    sequence_at::RULES,
    sequence_construct::RULES,
    sequence_empty::RULES,
    sequence_erase::RULES,
    sequence_insert::RULES,
    sequence_length::RULES,
    split_to_sequence::RULES,
];

/// The type of the elements of an input that must be a sequence; unknown when the input is.
fn element(cx: &mut Cx<'_, '_>, index: usize) -> Outcome<Ty> {
    match cx.ty(index) {
        Ty::Unknown => Ok(Ty::Unknown),
        Ty::Other(ty) if matches!(ty.kind, TypeKind::Sequence(_)) => {
            Ok(ty.inner().map_or(Ty::Unknown, Ty::from))
        }
        _ => Err(cx.fail(&WRONG_KIND, format_args!("input {index} is not a sequence"))),
    }
}

/// Says that the first output is a sequence of these elements, and of the type that they have in common; of `empty` where
/// there are none.
fn listed_sequence(cx: &mut Cx<'_, '_>, empty: &Ty, list: Vec<Known>) -> Outcome {
    let mut types = list.iter().map(|known| &known.ty);
    let mut common = types.next().unwrap_or(empty).clone();
    for ty in types {
        match join_ty(cx, &common, ty) {
            Ok(joined) => common = joined,
            Err(_) => return Err(cx.fail(&TYPES_DIFFER, "the elements of a sequence must have one type")),
        }
    }
    set_sequence(cx, &common);
    cx.set_members(0, Members::Listed(list));
    Ok(())
}

/// Says that the first output is a sequence of elements of this type.
fn set_sequence(cx: &mut Cx<'_, '_>, element: &Ty) {
    if let Some(ty) = element.to_type() {
        cx.set_ty(0, Type::sequence(ty));
    }
}
