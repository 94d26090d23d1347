//! Two levels of a proof that compare the sides of an equivalence without running them: rules of the checker, and types.

use std::collections::BTreeMap;

use onnx_check::{CheckOptions, check};
use onnx_diag::{Diagnostic, LocusStep, Reference, Severity};
use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, Ty, infer};
use onnx_types::{Dim, ElemType};

use crate::equivalence::{Equivalence, EquivalenceSide, SIDES};

/// An error of the checker that the new side has and the old one does not; `None` if there is none.
pub(crate) fn new_error(eq: &Equivalence, registry: &Registry) -> Option<String> {
    let registry = registry.clone();
    let options = CheckOptions::default().with_opset_compatibility(false).with_registry(registry);
    only_after(check(eq.model(), &options).diagnostics(), |found| found.severity == Severity::Error)
        .map(|found| format!("{} ({})", found.message, found.rule.slug))
}

/// The first error in the new side of an equivalence of a rule that finds more errors there than in the old side.
fn only_after(found: &[Diagnostic], is_error: fn(&Diagnostic) -> bool) -> Option<&Diagnostic> {
    let errors = || found.iter().filter(|found| is_error(found));
    let side = |found: &Diagnostic| {
        found.locus.steps().iter().find_map(|step| match step {
            LocusStep::Function { name, .. } => SIDES.iter().position(|side| *side == name.as_str()),
            _ => None,
        })
    };
    let mut balance: BTreeMap<u16, i64> = BTreeMap::new();
    for found in errors() {
        let change = match side(found) {
            Some(0) => -1,
            Some(1) => 1,
            _ => 0,
        };
        let count = balance.entry(found.rule.code).or_default();
        *count = count.saturating_add(change);
    }
    errors()
        .find(|found| side(found) == Some(1) && balance.get(&found.rule.code).is_some_and(|&count| count > 0))
}

/// The comparison of the inferred types of the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// The new type is at least as precise.
    Finer,
    /// The new type is less precise, at this output.
    Coarser(usize, String),
    /// The types contradict each other, at this output.
    Contradiction(usize, String),
    /// Inference finds an error in the new side that the old side does not have: its nodes cannot run.
    CannotRun(String),
}

/// Infers both sides and compares the types of their outputs.
pub(crate) fn types(eq: &Equivalence, registry: &Registry) -> Types {
    let options = InferOptions::default().with_check_types(true).with_registry(registry);
    let inference = infer(eq.model(), &options);
    let outputs = |side| eq.model().node(eq.call(side)).outputs().to_vec();
    let pairs = outputs(EquivalenceSide::Before).into_iter().zip(outputs(EquivalenceSide::After)).enumerate();
    let mut result = Types::Finer;
    for (index, (before, after)) in pairs {
        let (Some(before), Some(after)) = (before, after) else { continue };
        let (before, after) = (inference.ty(before), inference.ty(after));
        match compare(&inference, &before, &after) {
            Order::Finer => {}
            Order::Coarser(reason) => {
                if result == Types::Finer {
                    result = Types::Coarser(index, reason);
                }
            }
            Order::Contradiction(reason) => return Types::Contradiction(index, reason),
        }
    }
    // Limits and conditions say nothing about what runs.
    let is_error = |found: &Diagnostic| {
        found.rule.severity == Severity::Error && found.rule.reference != Reference::NotEnforced
    };
    match only_after(inference.findings().diagnostics(), is_error) {
        Some(found) => Types::CannotRun(found.message.clone()),
        None => result,
    }
}

/// Compares the inferred types of a value and of the one that replaces it, in the model itself. A new constant has the type
/// of its tensor.
pub(crate) fn types_in_place(model: &Model, inference: &Inference, pairs: &[(ValueId, ValueId)]) -> Types {
    let mut result = Types::Finer;
    for (index, &(old, new)) in pairs.iter().enumerate() {
        let before = inference.ty(old);
        let after = match model.constant_tensor(new) {
            Some(tensor) => Ty::tensor(tensor.elem(), tensor.dims().iter().copied().map(Dim::Known)),
            None => inference.ty(new),
        };
        match compare(inference, &before, &after) {
            Order::Finer => {}
            Order::Coarser(reason) if result == Types::Finer => result = Types::Coarser(index, reason),
            Order::Coarser(_) => {}
            Order::Contradiction(reason) => return Types::Contradiction(index, reason),
        }
    }
    result
}

enum Order {
    Finer,
    Coarser(String),
    Contradiction(String),
}

fn compare(inference: &Inference, before: &Ty, after: &Ty) -> Order {
    let (old, new) = match (before, after) {
        (Ty::Unknown, _) => return Order::Finer,
        (_, Ty::Unknown) => return Order::Coarser("its type is not known".to_owned()),
        (Ty::Tensor(old, _), Ty::Tensor(new, _)) => (*old, *new),
        (Ty::Other(old), Ty::Other(new)) if old.kind == new.kind => return Order::Finer,
        (Ty::Other(_), Ty::Other(_)) => return Order::Coarser("its type may be another".to_owned()),
        _ => return Order::Contradiction("it is a value of another kind".to_owned()),
    };
    if old != new && old != ElemType::Undefined && new != ElemType::Undefined {
        return Order::Contradiction(format!("its elements are {new}, not {old}"));
    }
    if new == ElemType::Undefined && old != new {
        return Order::Coarser("its element type is not known".to_owned());
    }
    match (before.dims(), after.dims()) {
        (None, _) => Order::Finer,
        (Some(_), None) => Order::Coarser("its rank is not known".to_owned()),
        (Some(old), Some(new)) if old.len() != new.len() => {
            Order::Contradiction(format!("its rank is {}, not {}", new.len(), old.len()))
        }
        (Some(old), Some(new)) => dims(inference, old, new),
    }
}

fn dims(inference: &Inference, old: &[Dim], new: &[Dim]) -> Order {
    let mut order = Order::Finer;
    for (axis, (&old, &new)) in old.iter().zip(new).enumerate() {
        match inference.facts().eq(inference.exprs(), old, new) {
            Some(true) => {}
            Some(false) => {
                return Order::Contradiction(format!("its size differs at axis {axis}"));
            }
            None => {
                let is_known = match old {
                    Dim::Unknown => false,
                    // The size of an operator's result that inference does not derive.
                    Dim::Var(symbol) => inference.origin(symbol).is_none(),
                    Dim::Known(_) | Dim::Expr(_) => true,
                };
                if is_known && !matches!(new, Dim::Known(_)) {
                    order = Order::Coarser(format!("its size at axis {axis} is not known"));
                }
            }
        }
    }
    order
}
