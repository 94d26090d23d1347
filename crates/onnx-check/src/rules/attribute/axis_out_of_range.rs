//! The rule `axis-out-of-range`: an axis is none of those that the input has.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::{Schema, attr, op};
use onnx_types::Symbol;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule =
    Rule::new(2413, "axis-out-of-range", Severity::Error, "An axis is none of those that the input has.")
        .with_spec("Operators")
        .with_explain(include_str!("axis_out_of_range.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let name = cx.attribute.name();
    if name != attr::AXIS && name != attr::AXES {
        return;
    }
    let axes = match cx.attribute.value() {
        AttrValue::Int(axis) => std::slice::from_ref(axis),
        AttrValue::Ints(axes) => axes,
        _ => return,
    };
    let Some(reach) = cx.schema.and_then(|schema| reach(schema, name)) else { return };
    let Some(rank) = cx.input_rank(0) else { return };
    let Some((least, most)) = reach.bounds(rank, axes.len()) else { return };
    let wrong = axes.iter().enumerate().find(|&(_, axis)| !(least..=most).contains(axis));
    let Some((index, axis)) = wrong else { return };
    let is_list = matches!(cx.attribute.value(), AttrValue::Ints(_));
    let node = cx.node;
    cx.report(&RULE, |places| {
        let place = places.attribute(node, name);
        let message = format!("axis {axis} is out of range: the first input has rank {rank}");
        Diagnostic::new(&RULE, if is_list { place.element(index) } else { place }, message)
            .label(places.input(node, 0), "its type is declared")
            .help(format!("write an axis from {least} to {most}, or correct the declared type"))
    });
}

/// Which axes an operator takes for an input of rank r.
#[derive(Clone, Copy)]
enum Reach {
    /// Those of the input: -r to r - 1.
    Own,
    /// One more, as it says where to cut: -r to r.
    Cuts,
    /// The same without counting from the back: 0 to r.
    CutsFromFront,
    /// Those of an output that has one axis more: -r - 1 to r.
    OneMore,
    /// Those of an output that has an axis more for each one in the list.
    Inserted,
}

impl Reach {
    /// The least and the largest axis; `None` where readers differ.
    fn bounds(self, rank: usize, count: usize) -> Option<(i64, i64)> {
        let rank = i64::try_from(rank).ok()?;
        let own = |rank: i64| (rank.saturating_neg(), rank.saturating_sub(1));
        match self {
            Self::OneMore => Some(own(rank.saturating_add(1))),
            Self::Inserted => Some(own(rank.saturating_add(i64::try_from(count).ok()?))),
            // Many take a scalar for a vector of one element.
            _ if rank == 0 => None,
            Self::Own => Some(own(rank)),
            Self::Cuts => Some((rank.saturating_neg(), rank)),
            Self::CutsFromFront => Some((0, rank)),
        }
    }
}

/// The axes of an attribute, where the documentation of this version states a range.
fn reach(schema: &Schema, name: Symbol) -> Option<Reach> {
    let (since, is_axis) = (schema.since_version(), name == attr::AXIS);
    let from = |first: i64, reach| (since >= first).then_some(reach);
    match schema.op() {
        op::FLATTEN if is_axis => Some(if since < 11 { Reach::CutsFromFront } else { Reach::Cuts }),
        op::ONE_HOT if is_axis => from(11, Reach::OneMore),
        op::UNSQUEEZE if !is_axis => from(11, Reach::Inserted),
        op::GATHER if is_axis => Some(Reach::Own),
        op::ARG_MAX
        | op::ARG_MIN
        | op::COMPRESS
        | op::CONCAT
        | op::GATHER_ELEMENTS
        | op::HARDMAX
        | op::LOG_SOFTMAX
        | op::SCATTER_ELEMENTS
        | op::SOFTMAX
        | op::SPLIT
        | op::SPLIT_TO_SEQUENCE
        | op::TENSOR_SCATTER
        | op::TOP_K
        | op::UNIQUE
            if is_axis =>
        {
            from(11, Reach::Own)
        }
        op::SCATTER | op::LAYER_NORMALIZATION | op::RMS_NORMALIZATION if is_axis => Some(Reach::Own),
        op::CENTER_CROP_PAD
        | op::REDUCE_L1
        | op::REDUCE_L2
        | op::REDUCE_LOG_SUM
        | op::REDUCE_LOG_SUM_EXP
        | op::REDUCE_MAX
        | op::REDUCE_MEAN
        | op::REDUCE_MIN
        | op::REDUCE_PROD
        | op::REDUCE_SUM
        | op::REDUCE_SUM_SQUARE
        | op::RESIZE
        | op::SQUEEZE
            if !is_axis =>
        {
            from(11, Reach::Own)
        }
        _ => None,
    }
}
