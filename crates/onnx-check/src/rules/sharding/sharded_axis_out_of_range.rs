//! The rule `sharded-axis-out-of-range`: a sharding splits an axis that the tensor does not have.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::{Constant, ValueRef};

use crate::declaration_cx::ShardingCx;

pub(crate) static RULE: Rule = Rule::new(
    2852,
    "sharded-axis-out-of-range",
    Severity::Error,
    "A sharding splits an axis that the tensor does not have.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("sharded_axis_out_of_range.md"));

pub(crate) fn check(cx: &mut ShardingCx<'_, '_>) {
    for entry in &cx.sharding.shardings {
        let (tensor, Some(rank)) = (entry.tensor, rank(cx, entry.tensor)) else { continue };
        for dim in &entry.dims {
            let axis = dim.axis;
            if (rank.saturating_neg()..rank).contains(&axis) {
                continue;
            }
            let place = cx.place(Some(tensor));
            cx.report(&RULE, |places| {
                let name = Quoted(places.referred(tensor));
                let message = format!("axis {axis} of {name} is split, but the tensor has {rank} axes");
                Diagnostic::new(&RULE, place(places), message)
                    .help(format!(
                        "split an axis from {} to {}",
                        rank.saturating_neg(),
                        rank.saturating_sub(1)
                    ))
                    .beyond_reference(true)
            });
        }
    }
}

/// The rank of a tensor, if it is known and there are axes to choose from.
fn rank(cx: &ShardingCx<'_, '_>, tensor: ValueRef) -> Option<i64> {
    let ValueRef::Value(value) = tensor else { return None };
    // Another rule reports values that are not inputs or outputs.
    let value = cx.operands.contains(&value).then(|| cx.model.value(value))?;
    let constant = value.initializer().and_then(|constant| match constant.as_ref() {
        Constant::Dense(tensor) => Some(tensor.rank()),
        Constant::Sparse(_) => None,
    });
    let rank = constant.or_else(|| Some(value.ty()?.shape()?.rank()))?;
    i64::try_from(rank).ok()
}
