//! Kinds of attributes: a value that no version of the operator accepts never matches.

use onnx_schema::{AttrKind, Schema};

use crate::ast::{AttributeTerm, FlatNode};
use crate::fault::Mistake;

/// Each value of an attribute has the kind that some version of the operator declares; `versions` are those of the operator.
pub(super) fn attributes(node: &FlatNode, versions: &[Schema], mistakes: &mut Vec<Mistake>) {
    for (name, term) in &node.attributes {
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
        let has_kind = declared.iter().any(|&kind| accepts(kind, given));
        if has_kind || (is_operand && is_numeric && declared.is_empty()) {
            continue;
        }
        if let Some(&kind) = declared.first() {
            let message = format!("`{}` has the attribute `{name}` of kind {kind}, not {given}", node.op);
            mistakes.push(Mistake::meaning(node.at, message));
        }
    }
}

/// Whether a value that is written as one kind can stand for another: integers are numbers, too.
fn accepts(declared: AttrKind, given: AttrKind) -> bool {
    declared == given
        || matches!((declared, given), (AttrKind::Float, AttrKind::Int) | (AttrKind::Floats, AttrKind::Ints))
}
