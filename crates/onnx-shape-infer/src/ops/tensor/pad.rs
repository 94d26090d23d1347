//! `Pad`: elements before and behind each axis, or less of them where a number is negative.
//!
//! The numbers are the attribute `paddings` at version 1, `pads` until version 10, and an input from version 11 on, for
//! all axes or, from version 18 on, for the named ones. The mode does not matter for the shape. A size that would be
//! negative is a fault, which the reference writes down as it is. That there are two numbers for each axis is checked where
//! some are known.

use onnx_schema::{attr, op};
use onnx_types::{Dim, Symbol};

use crate::content::Elem;
use crate::cx::{Cx, Ints, Outcome, Param, Stop};
use crate::family::layout::{Sizes, Small, fill};
use crate::fault::{BAD_VALUE, MISSING, NEGATIVE_SIZE};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(
    op::PAD,
    &[
        since(1, |cx| pad(cx, Param::Attr(attr::PADDINGS))),
        since(2, |cx| pad(cx, Param::Attr(attr::PADS))),
        since(11, |cx| pad(cx, Param::Input(1))),
    ],
)
.values(&[since(11, values)]);

/// The numbers before each named axis, and those behind.
struct Pads {
    axes: Sizes,
    numbers: Dims,
}

impl Pads {
    /// The numbers before and behind the axis that is named at `nth`.
    fn nth(&self, nth: usize) -> (Dim, Dim) {
        let get = |at: usize| self.numbers.get(at).copied().unwrap_or_default();
        (get(nth), get(nth.saturating_add(self.axes.len())))
    }
}

fn pad(cx: &mut Cx<'_, '_>, numbers: Param) -> Outcome {
    let mut dims = cx.shape(0)?;
    let pads = match pads(cx, numbers, dims.len()) {
        Err(Stop::Unknown) => {
            cx.set_shape(0, Dims::from_elem(Dim::Unknown, dims.len()));
            return Err(Stop::Unknown);
        }
        pads => pads?,
    };
    for (nth, &axis) in pads.axes.iter().enumerate() {
        let (before, behind) = pads.nth(nth);
        let Some(slot) = dims.get_mut(axis) else { continue };
        let size = cx.sum_of_sizes(&[*slot, before, behind])?;
        *slot = size;
        if let Dim::Known(size) = size
            && size < 0
        {
            return Err(cx.fail(&NEGATIVE_SIZE, format_args!("axis {axis} would have the size {size}")));
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn pads(cx: &mut Cx<'_, '_>, numbers: Param, rank: usize) -> Outcome<Pads> {
    let axes = axes(cx, rank)?;
    let numbers = match numbers {
        Param::Attr(name) => attribute(cx, name)?,
        // An input of unknown length has as many as are needed.
        Param::Input(index) => match cx.elements(index)? {
            Some(numbers) => numbers,
            None => Dims::from_elem(Dim::Unknown, axes.len().saturating_mul(2)),
        },
    };
    if numbers.len() != axes.len().saturating_mul(2) {
        if numbers.iter().all(|number| number.is_unknown()) && !numbers.is_empty() {
            return Err(Stop::Unknown);
        }
        let (count, axes) = (numbers.len(), axes.len());
        return Err(cx.fail(&BAD_VALUE, format_args!("there are {count} numbers for {axes} axes")));
    }
    Ok(Pads { axes, numbers })
}

fn attribute(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome<Dims> {
    match cx.ints(name)? {
        Some(numbers) => Ok(numbers.iter().map(|&number| Dim::Known(number)).collect()),
        None => Err(cx.fail(&MISSING, "the attribute that says how much to pad is missing")),
    }
}

/// The axes that are named by the fourth input, which all versions before it do without.
fn axes(cx: &mut Cx<'_, '_>, rank: usize) -> Outcome<Sizes> {
    match cx.param(Param::Input(3))? {
        Ints::Absent => Ok((0..rank).collect()),
        Ints::Unknown => Err(Stop::Unknown),
        Ints::Known(axes) => {
            cx.axes(&axes, rank)?;
            axes.iter().map(|&axis| cx.axis(axis, rank)).collect()
        }
    }
}

/// Of the modes only the constant one is followed.
fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.text(attr::MODE)? != Some("constant") {
        return Err(Stop::Unknown);
    }
    let data = Small::of(cx, 0)?;
    let filler = match (cx.has_input(2), cx.content(2).as_deref()) {
        (false, _) => Elem::Int(Dim::Known(0)),
        (true, Some(&[filler])) => filler,
        _ => Elem::Unknown,
    };
    let pads = pads(cx, Param::Input(1), data.sizes.len())?;
    let mut before: smallvec::SmallVec<[i64; 6]> = smallvec::SmallVec::from_elem(0, data.sizes.len());
    for (nth, &axis) in pads.axes.iter().enumerate() {
        if let Some(slot) = before.get_mut(axis) {
            *slot = pads.nth(nth).0.known().ok_or(Stop::Unknown)?;
        }
    }
    fill(cx, 0, |at| {
        let place: Option<Sizes> = at
            .iter()
            .zip(&before)
            .zip(&data.sizes)
            .map(|((&at, &before), &size)| {
                let at = i64::try_from(at).ok()?.checked_sub(before)?;
                usize::try_from(at).ok().filter(|&at| at < size)
            })
            .collect();
        place.map_or(filler, |place| data.at(&place))
    })
}
