//! The rule `axis-out-of-range`: an axis is none of those that the input has.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::attr;
use onnx_schema::traits::AxisDomain;

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
    let Some(domain) = cx.schema.and_then(|schema| schema.axis_domain(name)) else { return };
    let Some(rank) = cx.input_rank(0) else { return };
    let Some((least, most)) = bounds(domain, rank, axes.len()) else { return };
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

/// The least and the largest axis; `None` where readers differ.
fn bounds(domain: AxisDomain, rank: usize, count: usize) -> Option<(i64, i64)> {
    let rank = i64::try_from(rank).ok()?;
    let own = |rank: i64| (rank.saturating_neg(), rank.saturating_sub(1));
    match domain {
        AxisDomain::OneMore => Some(own(rank.saturating_add(1))),
        AxisDomain::Inserted => Some(own(rank.saturating_add(i64::try_from(count).ok()?))),
        // Many take a scalar for a vector of one element.
        _ if rank == 0 => None,
        AxisDomain::Own => Some(own(rank)),
        AxisDomain::Cuts => Some((rank.saturating_neg(), rank)),
        AxisDomain::CutsFromFront => Some((0, rank)),
        _ => None,
    }
}
