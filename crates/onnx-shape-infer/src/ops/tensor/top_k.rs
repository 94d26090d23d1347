//! `TopK`: the `k` largest or smallest elements along an axis and their indices; `k` is an attribute until version 9 and an
//! input from version 10 on.
//!
//! A `k` that is computed from sizes is propagated; the reference uses only constants. The axis has at least `k`
//! elements because the node is valid. A `k` larger than the axis is a fault at version 1 as well.
//!
//! The elements of a short vector are sorted as far as their order is known: numbers and sizes whose difference has a sign. Two
//! others are the larger and the smaller one, whose indices are unknown. Of equal elements, the one with the lower index comes
//! first. Without `sorted`, the order is undefined, and so are the elements here.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::facts::Relation;
use crate::family::comparison::{at_most, equal, is_small};
use crate::fault::{BAD_ATTRIBUTE, BAD_VALUE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::TOP_K, &[since(1, |cx| top_k(cx, by_attribute)), since(10, |cx| top_k(cx, by_input))]).values(
        &[
            since(1, |cx| values(cx, Order::LargestFirst)),
            since(11, |cx| {
                let order = Order::of(cx)?;
                values(cx, order)
            }),
        ],
    );

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    match cx.int(attr::K)? {
        Some(k) if k > 0 => Ok(Dim::Known(k)),
        k => Err(cx.fail(&BAD_ATTRIBUTE, format_args!("`k` is {}", k.unwrap_or(0)))),
    }
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    if let Ok(shape) = cx.shape(1)
        && (shape.len() != 1
            || cx.dims_eq(shape.first().copied().unwrap_or_default(), Dim::Known(1)) == Some(false))
    {
        return Err(cx.fail(&WRONG_RANK, "`K` must be a vector of one number"));
    }
    Ok(match cx.scalar(1).unwrap_or_default() {
        Dim::Known(count @ ..0) => {
            return Err(cx.fail(&BAD_VALUE, format_args!("`K` is {count}, and must not be negative")));
        }
        k => {
            if !k.is_unknown() && !cx.is_size(k) {
                cx.prove(Relation::AtMost(Dim::Known(0), k));
            }
            k
        }
    })
}

fn top_k(cx: &mut Cx<'_, '_>, read: fn(&mut Cx<'_, '_>) -> Outcome<Dim>) -> Outcome {
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, -1)?;
    let axis = cx.axis(axis, dims.len())?;
    let k = read(cx)?;
    let Some(&dim) = dims.get(axis) else { return Err(Stop::Unknown) };
    if let (Dim::Known(k), Dim::Known(size)) = (k, dim)
        && k > size
    {
        return Err(cx.fail(&BAD_VALUE, format_args!("{k} of {size} elements are wanted")));
    }
    let size = if k.is_unknown() {
        match (0..2).find(|&output| cx.has_output(output)) {
            Some(output) => cx.size_at_most(output, axis, dim),
            None => k,
        }
    } else {
        if cx.dims_le(k, dim) != Some(true) {
            cx.prove(Relation::AtMost(k, dim));
        }
        k
    };
    if let Some(slot) = dims.get_mut(axis) {
        *slot = size;
    }
    for output in 0..2 {
        cx.set_shape(output, dims.iter().copied());
    }
    Ok(())
}

/// The order of the results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    LargestFirst,
    SmallestFirst,
}

impl Order {
    fn of(cx: &mut Cx<'_, '_>) -> Outcome<Self> {
        if cx.int_or(attr::SORTED, 1)? == 0 {
            return Err(Stop::Unknown);
        }
        Ok(if cx.int_or(attr::LARGEST, 1)? == 0 { Self::SmallestFirst } else { Self::LargestFirst })
    }

    /// Whether the first may precede the second, which has the higher index if they are equal.
    fn is_kept(self, cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Option<bool> {
        match self {
            Self::LargestFirst => at_most(cx, b, a),
            Self::SmallestFirst => at_most(cx, a, b),
        }
    }
}

/// An element and its index, if that is known.
type Place = (Elem, Elem);

/// Vectors of more elements are not sorted: each pair of them is compared.
const MAX_SORTED: usize = 6;

fn values(cx: &mut Cx<'_, '_>, order: Order) -> Outcome {
    if cx.rank(0)? != 1 {
        return Err(Stop::Unknown);
    }
    let content = cx.content(0).filter(|content| content.len() <= MAX_SORTED).ok_or(Stop::Unknown)?;
    // NaN is not ordered.
    if content.iter().any(|elem| matches!(elem, Elem::Float(number) if number.is_nan())) {
        return Err(Stop::Unknown);
    }
    let k = match cx.int(attr::K)? {
        Some(k) => k,
        None => cx.scalar(1)?.known().ok_or(Stop::Unknown)?,
    };
    let count = usize::try_from(k).ok().filter(|&count| count <= content.len()).ok_or(Stop::Unknown)?;
    let places = (0_i64..).map(|index| Elem::Int(Dim::Known(index)));
    let mut sorted: Vec<Place> = content.iter().copied().zip(places).collect();
    // Neighbours are exchanged only where the second has to come first, so equal elements stay in their order.
    for end in (1..sorted.len()).rev() {
        for at in 0..end {
            let (Some(&a), Some(&b)) = (sorted.get(at), sorted.get(at.saturating_add(1))) else { continue };
            let pair = in_order(cx, order, a, b);
            for (slot, place) in sorted.iter_mut().skip(at).zip(pair) {
                *slot = place;
            }
        }
    }
    cx.set_content(0, sorted.iter().take(count).map(|&(elem, _)| elem));
    cx.set_content(1, sorted.iter().take(count).map(|&(_, index)| index));
    Ok(())
}

/// Two neighbours in their order.
fn in_order(cx: &mut Cx<'_, '_>, order: Order, a: Place, b: Place) -> [Place; 2] {
    match order.is_kept(cx, a.0, b.0) {
        Some(true) => return [a, b],
        Some(false) => return [b, a],
        None if equal(cx, a.0, b.0) == Some(false) && order.is_kept(cx, b.0, a.0) == Some(true) => {
            return [b, a];
        }
        None => {}
    }
    let unknown = (Elem::Unknown, Elem::Unknown);
    let (a, b) = (a.0.dim(), b.0.dim());
    if !is_small(cx, a) || !is_small(cx, b) {
        return [unknown, unknown];
    }
    let larger = (Elem::int(cx.max(a, b)), Elem::Unknown);
    let smaller = (Elem::int(cx.min(a, b)), Elem::Unknown);
    match order {
        Order::LargestFirst => [larger, smaller],
        Order::SmallestFirst => [smaller, larger],
    }
}
