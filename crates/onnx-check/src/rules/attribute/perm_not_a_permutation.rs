//! The rule `perm-not-a-permutation`: the `perm` of a Transpose does not name each axis once.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2414,
    "perm-not-a-permutation",
    Severity::Error,
    "The `perm` of a Transpose does not name each axis once.",
)
.with_spec("Operators")
.with_explain(include_str!("perm_not_a_permutation.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let is_perm = cx.attribute.name() == attr::PERM;
    if !is_perm || cx.schema.is_none_or(|schema| schema.op() != op::TRANSPOSE) {
        return;
    }
    let AttrValue::Ints(perm) = cx.attribute.value() else { return };
    let rank = cx.input_rank(0).filter(|&rank| rank != perm.len());
    // Some writers leave the list empty and mean that there is none.
    if perm.is_empty() || is_permutation(perm) && rank.is_none() {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let message = match rank {
            Some(rank) if is_permutation(perm) => {
                format!("`perm` has {} axes, but the input has rank {rank}", perm.len())
            }
            _ => format!("`perm` does not name each axis from 0 to {} once", perm.len().saturating_sub(1)),
        };
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help("write every axis of the input once, in the order of the output")
    });
}

/// Returns `true` if the list contains each number from 0 to its length minus 1 once.
fn is_permutation(perm: &[i64]) -> bool {
    let mut seen = smallvec::SmallVec::<[bool; 16]>::from_elem(false, perm.len());
    perm.iter().all(|&axis| {
        let slot = usize::try_from(axis).ok().and_then(|axis| seen.get_mut(axis));
        slot.is_some_and(|slot| !std::mem::replace(slot, true))
    })
}
