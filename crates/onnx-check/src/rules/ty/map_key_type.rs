//! The rule `map-key-type`: the keys of a map are neither integers nor strings.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_types::{ElemType, TypeKind};

use crate::cx::TypeCx;

pub(crate) static RULE: Rule =
    Rule::new(2904, "map-key-type", Severity::Error, "The keys of a map are neither integers nor strings.")
        .with_spec("IR: Input / Output Data Types")
        .with_explain(include_str!("map_key_type.md"));

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    for (level, ty) in cx.levels().enumerate() {
        let TypeKind::Map { key, .. } = ty.kind else { continue };
        if is_key(key) {
            continue;
        }
        let place = cx.place;
        cx.report(&RULE, |places| {
            let message = format!("keys of a map cannot be of type `{}`", key.name());
            Diagnostic::new(&RULE, place.locate(places, level), message)
                .help("use an integer type of 8 to 64 bits, or strings")
        });
    }
}

/// Whether keys can be of this type; of an undefined one another rule speaks.
const fn is_key(elem: ElemType) -> bool {
    use ElemType::{Int8, Int16, Int32, Int64, String, Uint8, Uint16, Uint32, Uint64, Undefined};
    matches!(elem, Undefined | Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64 | String)
}
