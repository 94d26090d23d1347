//! Kinds of attributes: a value that no version of the operator accepts never matches.

use onnx_ir::AttrValue;
use onnx_schema::{AttrKind, Schema};
use onnx_types::{ElemType, TypeKind};

use super::Place;
use crate::ast::{AttributeTerm, FlatNode};
use crate::fault::Mistake;

/// Each value of an attribute has the kind that some version of the operator declares, and a string is one of its words;
/// `versions` are those that the rule applies to.
pub(super) fn attributes(node: &FlatNode, versions: &[Schema], mistakes: &mut Vec<Mistake>) {
    for (name, term, at) in node.placed_attributes() {
        let AttributeTerm::Value(value) = term else { continue };
        let Some(given) = value.kind() else { continue };
        let declared: Vec<AttrKind> = versions
            .iter()
            .flat_map(|schema| schema.attributes().iter().filter(|formal| formal.text() == name))
            .map(|formal| formal.kind)
            .collect();
        // An operand of some version: a number or a list of numbers, of a type that this check does not know.
        let is_operand =
            versions.iter().any(|schema| schema.inputs().iter().any(|formal| formal.name == name));
        let is_numeric = matches!(
            given,
            AttrKind::Int | AttrKind::Ints | AttrKind::Float | AttrKind::Floats | AttrKind::Tensor
        );
        if let AttrValue::String(string) = value {
            words(node, (name, at), string, versions, mistakes);
        }
        let has_kind = declared.iter().any(|&kind| accepts(kind, given));
        if has_kind || (is_operand && is_numeric && declared.is_empty()) {
            continue;
        }
        if let Some(&kind) = declared.first() {
            let help = element_type(value).filter(|_| kind == AttrKind::Int);
            let help = help.map(|code| format!("; write `{name} = {code}`")).unwrap_or_default();
            let message =
                format!("`{}` has the attribute `{name}` of kind {kind}, not {given}{help}", node.op);
            mistakes.push(Mistake::meaning(at, message));
        }
    }
}

/// The number of an element type that is written by its name, in or without quotes.
fn element_type(value: &AttrValue) -> Option<i32> {
    let elem = match value {
        AttrValue::String(name) => std::str::from_utf8(name).ok()?.parse::<ElemType>().ok()?,
        AttrValue::Type(ty) => match &ty.kind {
            TypeKind::Tensor(tensor) => tensor.elem,
            _ => return None,
        },
        _ => return None,
    };
    Some(elem as i32)
}

fn words(
    node: &FlatNode,
    (name, at): (&str, usize),
    string: &[u8],
    versions: &[Schema],
    mistakes: &mut Vec<Mistake>,
) {
    let mut symbols = versions.iter().filter_map(|schema| {
        let formal = schema.attributes().iter().find(|formal| formal.text() == name)?;
        Some((schema, formal.name))
    });
    let Some((latest, symbol)) = symbols.clone().next_back() else { return };
    if !symbols.any(|(schema, symbol)| schema.allows_string(symbol, string))
        && let Some(choices) = latest.choices(symbol)
    {
        let (op, string, choices) = (&node.op, String::from_utf8_lossy(string), choices.join("`, `"));
        let string = onnx_diag::Quoted(&string);
        let message = format!("`{name}` of `{op}` is {string}, not one of `{choices}`");
        mistakes.push(Mistake::meaning(at, message));
    }
}

/// Each attribute that the operator requires is given, or copied by `...`.
pub(super) fn required(node: &FlatNode, place: Place, versions: &[Schema], mistakes: &mut Vec<Mistake>) {
    let Some(latest) = versions.last() else { return };
    for formal in latest.attributes().iter().filter(|formal| formal.is_required && !node.is_open) {
        let name = formal.text();
        let is_required = |schema: &Schema| {
            schema.attributes().iter().any(|other| other.text() == name && other.is_required)
        };
        let is_given = node.attributes.iter().any(|(given, _)| given == name);
        if !is_given && (place == Place::New || versions.iter().all(is_required)) {
            let message = format!("`{}` requires the attribute `{name}`", node.op);
            mistakes.push(Mistake::meaning(node.at, message));
        }
    }
}

/// Whether a value that is written as one kind can stand for another: integers are numbers, too.
pub(super) fn accepts(declared: AttrKind, given: AttrKind) -> bool {
    declared == given
        || matches!((declared, given), (AttrKind::Float, AttrKind::Int) | (AttrKind::Floats, AttrKind::Ints))
}
