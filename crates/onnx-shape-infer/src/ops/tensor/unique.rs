//! `Unique`: the distinct elements, or the distinct slices along an axis, with the index of their first occurrence, the
//! inverse mapping, and the number of occurrences.
//!
//! How many there are is one new symbol for all outputs, where the reference makes one for each: at most as many as there
//! are elements or slices. Elements that are all known integers are counted, and few that are computed from sizes, too.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::comparison::not_zero;
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::UNIQUE, &[since(11, unique)]).values(&[since(11, values)]);

fn unique(cx: &mut Cx<'_, '_>) -> Outcome {
    for output in 1..cx.output_count() {
        cx.set_shape(output, [Dim::Unknown]);
    }
    let axis = cx.int(attr::AXIS)?;
    let (mut dims, at, all) = match (axis, cx.shape(0)) {
        (None, dims) => {
            let all = dims.map_or(Dim::Unknown, |dims| cx.product(&dims));
            (Dims::from_slice(&[all]), 0, all)
        }
        (Some(axis), dims) => {
            let dims = dims?;
            let at = cx.axis(axis, dims.len())?;
            let all = dims.get(at).copied().unwrap_or_default();
            (dims, at, all)
        }
    };
    let count = match distinct(cx) {
        Ok(distinct) => i64::try_from(distinct.list.len()).map_or(Dim::Unknown, Dim::Known),
        Err(_) => match (different(cx, axis), (0..cx.output_count()).find(|&output| cx.has_output(output))) {
            // One place for the symbol that all outputs share.
            (Dim::Unknown, Some(output)) => cx.size_at_most(output, at, all),
            (count, _) => count,
        },
    };
    if let Some(slot) = dims.get_mut(at) {
        *slot = count;
    }
    cx.set_dims(0, dims);
    for (output, size) in [(1, count), (2, all), (3, count)] {
        cx.set_shape(output, [size]);
    }
    Ok(())
}

/// More elements that depend on sizes are not compared with each other in an expression.
const MAX_COMPARED: usize = 4;

/// How many different elements there are, where they depend on sizes: each counts that differs from all before it.
fn different(cx: &mut Cx<'_, '_>, axis: Option<i64>) -> Dim {
    let content = cx.content(0).filter(|content| axis.is_none() && content.len() <= MAX_COMPARED);
    let Some(content) = content else { return Dim::Unknown };
    let mut count = Dim::Known(0);
    for (at, elem) in content.iter().enumerate() {
        let mut is_new = Dim::Known(1);
        for other in content.iter().take(at) {
            let difference = cx.dims().sub(elem.dim(), other.dim());
            let differs = not_zero(cx, difference);
            is_new = cx.dims().mul(is_new, differs);
        }
        // A single element must be known as well: NaN differs from itself.
        is_new = if elem.dim().is_unknown() { Dim::Unknown } else { is_new };
        count = cx.dims().add(count, is_new);
    }
    count
}

/// The different integers of the input.
struct Distinct {
    /// Each with the index of its first occurrence and the number of occurrences, in the order of the output.
    list: Vec<(i64, usize, usize)>,
    all: Vec<i64>,
}

fn distinct(cx: &mut Cx<'_, '_>) -> Outcome<Distinct> {
    if cx.int(attr::AXIS)?.is_some() {
        return Err(Stop::Unknown);
    }
    let all = cx.numbers(0)?.into_vec();
    let mut list: Vec<(i64, usize, usize)> = Vec::new();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| (all.get(at).copied(), at));
    for at in order {
        let Some(&value) = all.get(at) else { continue };
        match list.last_mut() {
            Some((last, _, count)) if *last == value => *count = count.saturating_add(1),
            _ => list.push((value, at, 1)),
        }
    }
    if cx.int_or(attr::SORTED, 1)? == 0 {
        list.sort_by_key(|&(_, first, _)| first);
    }
    Ok(Distinct { list, all })
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let Distinct { list, all } = distinct(cx)?;
    let place = |at: usize| i64::try_from(at).map_or(Elem::Unknown, |at| Elem::Int(Dim::Known(at)));
    cx.set_content(0, list.iter().map(|&(value, _, _)| Elem::Int(Dim::Known(value))));
    cx.set_content(1, list.iter().map(|&(_, first, _)| place(first)));
    let found = |value: &i64| list.iter().position(|(other, _, _)| other == value);
    cx.set_content(2, all.iter().map(|value| found(value).map_or(Elem::Unknown, place)));
    cx.set_content(3, list.iter().map(|&(_, _, count)| place(count)));
    Ok(())
}
