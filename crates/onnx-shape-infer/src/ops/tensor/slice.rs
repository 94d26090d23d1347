//! `Slice`: parts of axes from a start to an end by a step, attributes until version 9 and inputs from version 10 on.
//!
//! Starts and ends count from the end where they are negative and are clamped to the axis. With sizes that are not numbers
//! the result is the clamped difference, as far as the signs are known: `min(N, 5)` for `:5`, `(N + 1)//2` for `::2`. That
//! an axis has at least one element is assumed, with a guard, where all but one of them are taken, as the result is
//! `N - 1` then and not a maximum. Starts and ends as large as the largest 32-bit integer stand for "all", and that sizes
//! stay below is assumed in the same way.
//!
//! The reference takes a start or end that is not known for 0, which is wrong; here the size is a new symbol, at most that
//! of the input. For negative steps a start before the first element counts as the first, as the specification says.
//! With a negative step, onnxruntime takes an end of 2147483647 or 9223372036854775807 for "to the very beginning", where
//! the specification clamps it to the last element and takes nothing. The size is unknown then if results must hold in
//! onnxruntime.
//! Faults are lists of different lengths, axes outside the rank or named twice, and a step of 0.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Ints, Outcome, Param, Stop};
use crate::facts::Relation;
use crate::family::comparison::positive;
use crate::family::layout::{Sizes, Small, fill};
use crate::fault::{BAD_VALUE, MISSING};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules =
    infer(op::SLICE, &[since(1, |cx| slice(cx, by_attributes)), since(10, |cx| slice(cx, by_inputs))])
        .values(&[since(1, |cx| values(cx, by_attributes)), since(10, |cx| values(cx, by_inputs))]);

/// Stands for "all of it" in models that were written with 32-bit integers.
const ALL: i64 = i32::MAX as i64;

/// What is cut, as far as it is known.
struct Cuts {
    starts: Dims,
    ends: Dims,
    /// Which axis each cut is for.
    axes: Ints,
    /// Unknown steps are [`Dim::Unknown`].
    steps: Option<Dims>,
}

fn by_attributes(cx: &mut Cx<'_, '_>) -> Outcome<Cuts> {
    let (Some(starts), Some(ends)) = (cx.ints(attr::STARTS)?, cx.ints(attr::ENDS)?) else {
        return Err(cx.fail(&MISSING, "attributes `starts` and `ends` are needed"));
    };
    let dims = |values: &[i64]| values.iter().map(|&value| Dim::Known(value)).collect();
    let axes = cx.param(Param::Attr(attr::AXES))?;
    Ok(Cuts { starts: dims(starts), ends: dims(ends), axes, steps: None })
}

fn by_inputs(cx: &mut Cx<'_, '_>) -> Outcome<Cuts> {
    if !cx.has_input(1) || !cx.has_input(2) {
        return Err(cx.fail(&MISSING, "inputs `starts` and `ends` are needed"));
    }
    let (starts, ends) = (cx.elements(1)?, cx.elements(2)?);
    // One list tells how long the other one must be.
    let unknown =
        |other: &Option<Dims>| other.as_ref().map(|other| Dims::from_elem(Dim::Unknown, other.len()));
    let (Some(starts), Some(ends)) =
        (starts.clone().or_else(|| unknown(&ends)), ends.or_else(|| unknown(&starts)))
    else {
        return Err(Stop::Unknown);
    };
    let axes = cx.param(Param::Input(3))?;
    let steps = match cx.elements(4)? {
        None if cx.has_input(4) => Some(Dims::from_elem(Dim::Unknown, starts.len())),
        steps => steps,
    };
    Ok(Cuts { starts, ends, axes, steps })
}

impl Cuts {
    /// Compares the lengths of the lists.
    fn check(&self, cx: &mut Cx<'_, '_>) -> Outcome {
        let count = self.starts.len();
        let axes = if let Ints::Known(axes) = &self.axes { axes.len() } else { count };
        let steps = self.steps.as_ref().map_or(count, |steps| steps.len());
        for (what, len) in [("ends", self.ends.len()), ("axes", axes), ("steps", steps)] {
            if len != count {
                // Lists of which nothing else is known are not counted, as in the reference.
                let is_open = |list: &&Dims| !list.is_empty() && list.iter().all(|place| place.is_unknown());
                if [&self.starts, &self.ends].iter().any(is_open) {
                    return Err(Stop::Unknown);
                }
                return Err(cx.fail(&BAD_VALUE, format_args!("there are {count} starts and {len} {what}")));
            }
        }
        if self.steps.as_ref().is_some_and(|steps| steps.contains(&Dim::Known(0))) {
            return Err(cx.fail(&BAD_VALUE, "a step is 0"));
        }
        Ok(())
    }

    /// The axes in the order of the cuts; the first ones when the node does not name them.
    fn axes(&self, cx: &mut Cx<'_, '_>, rank: usize) -> Outcome<Sizes> {
        let named: smallvec::SmallVec<[i64; 6]> = match &self.axes {
            Ints::Unknown => return Err(Stop::Unknown),
            Ints::Absent => (0_i64..).take(self.starts.len()).collect(),
            Ints::Known(axes) => axes.clone(),
        };
        cx.axes(&named, rank)?;
        named.iter().map(|&axis| cx.axis(axis, rank)).collect()
    }

    fn nth(&self, nth: usize) -> Cut {
        let get = |dims: &Dims| dims.get(nth).copied().unwrap_or_default();
        let step = self.steps.as_ref().map_or(Some(1), |steps| get(steps).known());
        Cut { start: get(&self.starts), end: get(&self.ends), step }
    }
}

fn slice(cx: &mut Cx<'_, '_>, read: fn(&mut Cx<'_, '_>) -> Outcome<Cuts>) -> Outcome {
    let cuts = read(cx);
    if cuts.as_ref().err() == Some(&Stop::Failed) {
        return Err(Stop::Failed);
    }
    let mut dims = cx.shape(0)?;
    let axes = match &cuts {
        Ok(cuts) => cuts.check(cx).and_then(|()| cuts.axes(cx, dims.len())),
        Err(stop) => Err(*stop),
    };
    let (Ok(cuts), Ok(axes)) = (cuts, &axes) else {
        // Any axis may be cut.
        let at_most: Dims =
            dims.iter().enumerate().map(|(axis, &dim)| cx.size_at_most(0, axis, dim)).collect();
        cx.set_shape(0, at_most);
        return axes.map(|_| ());
    };
    for (nth, &axis) in axes.iter().enumerate() {
        let Some(&dim) = dims.get(axis) else { continue };
        let size = match cuts.nth(nth).size(cx, dim) {
            Dim::Unknown => cx.size_at_most(0, axis, dim),
            size => size,
        };
        if let Some(slot) = dims.get_mut(axis) {
            *slot = size;
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// A cut of one axis. A step of nothing is not known.
#[derive(Clone, Copy)]
struct Cut {
    start: Dim,
    end: Dim,
    step: Option<i64>,
}

impl Cut {
    /// How many elements are left of `dim`: unknown when it cannot be said exactly.
    fn size(self, cx: &mut Cx<'_, '_>, dim: Dim) -> Dim {
        let Some(step) = self.step else { return Dim::Unknown };
        let Some(width) = step.checked_abs() else { return Dim::Unknown };
        if dim == Dim::Known(0) {
            return dim;
        }
        if step < 0 && cx.for_onnxruntime() && !is_portable_end(self.end) {
            return Dim::Unknown;
        }
        let taken = if step > 0 { self.forward(cx, dim) } else { self.backward(cx, dim) };
        cx.dims().ceil_div(taken, Dim::Known(width))
    }

    /// How many elements lie between the start and the end.
    fn forward(self, cx: &mut Cx<'_, '_>, dim: Dim) -> Dim {
        let end = match self.end {
            Dim::Known(end) if end >= ALL && dim.known().is_none() => {
                if within(cx, dim, end) {
                    dim
                } else {
                    cx.min(dim, Dim::Known(end))
                }
            }
            end => match position(cx, end, dim) {
                Dim::Unknown => return Dim::Unknown,
                end => cx.min(end, dim),
            },
        };
        let start = match self.start {
            Dim::Known(start) if start <= -ALL && dim.known().is_none() => {
                if !within(cx, dim, start.saturating_neg()) {
                    return Dim::Unknown;
                }
                Dim::Known(0)
            }
            // The start is behind the last element; `dim - start` could overflow.
            Dim::Known(start) if start >= ALL && dim.known().is_none() => {
                return if within(cx, dim, start) { Dim::Known(0) } else { Dim::Unknown };
            }
            // The last ones.
            Dim::Known(start) if start < 0 && end == dim => {
                return cx.min(Dim::Known(start.saturating_neg()), dim);
            }
            start => match position(cx, start, dim) {
                Dim::Unknown => return Dim::Unknown,
                start => cx.max(start, Dim::Known(0)),
            },
        };
        between(cx, start, end, dim)
    }

    /// How many elements lie between the end and the start, where the start is taken and the end is not.
    fn backward(self, cx: &mut Cx<'_, '_>, dim: Dim) -> Dim {
        let last = cx.dims().sub(dim, Dim::Known(1));
        let start = match self.start {
            Dim::Known(-1) => last,
            Dim::Known(start) if start >= ALL && dim.known().is_none() => {
                if !within(cx, last, start) {
                    return Dim::Unknown;
                }
                last
            }
            start if cx.is_size(start) => cx.min(start, last),
            start => match position(cx, start, dim) {
                Dim::Unknown => return Dim::Unknown,
                start => {
                    // Before the first element is at the first one, if there is any.
                    let start = cx.max(start, Dim::Known(0));
                    cx.min(start, last)
                }
            },
        };
        let end = match self.end {
            Dim::Known(end) if end <= -ALL && dim.known().is_none() => {
                if !within(cx, dim, end.saturating_neg()) {
                    return Dim::Unknown;
                }
                Dim::Known(-1)
            }
            end => match position(cx, end, dim) {
                Dim::Unknown => return Dim::Unknown,
                end => cx.max(end, Dim::Known(-1)),
            },
        };
        between(cx, end, start, dim)
    }
}

/// Returns `false` if onnxruntime may take an end for "to the very beginning" when the step is negative.
const fn is_portable_end(end: Dim) -> bool {
    match end {
        Dim::Known(end) => end != ALL && end != i64::MAX,
        Dim::Unknown => false,
        Dim::Var(_) | Dim::Expr(_) => true,
    }
}

/// Returns `true` if a size is at most a number which stands for "all", or is assumed to be.
fn within(cx: &mut Cx<'_, '_>, dim: Dim, most: i64) -> bool {
    let reason = "the end of the slice stands for the end of the axis";
    most == i64::MAX
        || cx.dims_le(dim, Dim::Known(most)) == Some(true)
        || cx.may_assume(Relation::AtMost(dim, Dim::Known(most)), reason)
}

/// A place on an axis, counted from its beginning. It may lie outside. Where its sign depends on sizes, so does from which
/// end it is counted.
fn position(cx: &mut Cx<'_, '_>, at: Dim, dim: Dim) -> Dim {
    if cx.is_size(at) {
        return at;
    }
    if cx.dims_le(at, Dim::Known(-1)) == Some(true) {
        return cx.dims().add(dim, at);
    }
    // Where the place before the last element is negative, the axis is empty, and both ways to count are the same.
    let last = cx.dims().sub(dim, Dim::Known(1));
    if cx.dims_le(last, at) == Some(true) {
        return at;
    }
    let negated = cx.dims().neg(at);
    let from_end = positive(cx, negated);
    let origin = cx.dims().select(from_end, dim, Dim::Known(0));
    cx.dims().add(at, origin)
}

/// `max(0, high - low)`, by what is known.
fn between(cx: &mut Cx<'_, '_>, low: Dim, high: Dim, dim: Dim) -> Dim {
    let gap = cx.dims().sub(high, low);
    if cx.is_size(gap) || cx.dims_le(low, high) == Some(true) {
        return gap;
    }
    // All but one: `N - 1` is the exact number of an axis that has any.
    if cx.dims().sub(dim, gap) == Dim::Known(1) {
        let has_any = Relation::AtMost(Dim::Known(1), dim);
        if cx.dims_le(Dim::Known(1), dim) == Some(true)
            || cx.may_assume(has_any, "the slice omits one element of the axis")
        {
            return gap;
        }
    }
    cx.max(gap, Dim::Known(0))
}

fn values(cx: &mut Cx<'_, '_>, read: fn(&mut Cx<'_, '_>) -> Outcome<Cuts>) -> Outcome {
    let data = Small::of(cx, 0)?;
    let cuts = read(cx)?;
    let axes = cuts.axes(cx, data.sizes.len())?;
    let mut from: smallvec::SmallVec<[(i64, i64); 6]> =
        smallvec::SmallVec::from_elem((0, 1), data.sizes.len());
    for (nth, &axis) in axes.iter().enumerate() {
        let Cut { start, step, .. } = cuts.nth(nth);
        let size = data.sizes.get(axis).and_then(|&size| i64::try_from(size).ok());
        let (Some(start), Some(step), Some(size)) = (start.known(), step, size) else {
            return Err(Stop::Unknown);
        };
        let counted = if start < 0 { start.saturating_add(size) } else { start };
        if let Some(slot) = from.get_mut(axis) {
            *slot = (counted.clamp(0, if step < 0 { size.saturating_sub(1).max(0) } else { size }), step);
        }
    }
    fill(cx, 0, |at| {
        let place: Option<Sizes> = at
            .iter()
            .zip(&from)
            .map(|(&at, &(start, step))| {
                let steps = i64::try_from(at).ok()?.checked_mul(step)?;
                usize::try_from(start.checked_add(steps)?).ok()
            })
            .collect();
        place.map_or(Elem::Unknown, |place| data.at(&place))
    })
}
