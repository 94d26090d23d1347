//! Sequences and optional values.
//!
//! The type of a sequence says what holds for each of its elements: a size that may differ from element to element is not
//! known.

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
use crate::fault::WRONG_KIND;
use crate::registry::OpRules;
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
        _ => Err(cx.fail(&WRONG_KIND, format_args!("input {index} is no sequence"))),
    }
}

/// Says that the first output is a sequence of elements of this type.
fn set_sequence(cx: &mut Cx<'_, '_>, element: &Ty) {
    if let Some(ty) = element.to_type() {
        cx.set_ty(0, Type::sequence(ty));
    }
}
