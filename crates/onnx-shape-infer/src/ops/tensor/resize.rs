//! `Resize`: axes scaled to given sizes, or by given scales.
//!
//! A scaled size is `floor(size * scale)`. Runtimes compute it in 32-bit floats, and the reference exactly: 0.7 times 10 is
//! 7 there and 6 here, so a number is known only where both agree. A scale that is an integer has nothing to round: where 32 bits
//! are too few for the product, it is known unless results must hold in onnxruntime. For other sizes it is followed where the scale is an integer or a small power of two below one, so that no rounding can matter. The region of
//! interest does not change the shape. Which of the two inputs counts is not decided before version 13 where both are
//! given: the sizes do. With an aspect ratio that is kept, sizes follow where all sizes are numbers and no quotient is close
//! to where its rounding changes. onnxruntime leaves the size unchanged if such axes are negative numbers; it is unknown then
//! if results must hold there.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::content::Elem;
use crate::cx::{Cx, Ints, Outcome, Param, Stop};
use crate::family::arithmetic::{Op, join, round};
use crate::family::layout::Sizes;
use crate::fault::{BAD_ATTRIBUTE, BAD_VALUE, MISSING};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(
    op::RESIZE,
    &[
        since(10, |cx| by_scales(cx, 1)),
        since(11, |cx| all_axes(cx, false)),
        since(13, |cx| all_axes(cx, true)),
        since(18, resize),
    ],
);

/// All axes are scaled by an input.
pub(super) fn by_scales(cx: &mut Cx<'_, '_>, input: usize) -> Outcome {
    let rank = cx.rank(0)?;
    let all: Sizes = (0..rank).collect();
    scale_axes(cx, input, &all)
}

fn all_axes(cx: &mut Cx<'_, '_>, exactly_one: bool) -> Outcome {
    let by_sizes = by_sizes(cx, exactly_one)?;
    let rank = cx.rank(0)?;
    let axes: Sizes = (0..rank).collect();
    to_size(cx, by_sizes, &axes, Policy::Stretch)
}

/// Whether sizes are given instead of scales; `None` if neither is.
fn by_sizes(cx: &mut Cx<'_, '_>, exactly_one: bool) -> Outcome<Option<bool>> {
    let (scales, sizes) = (is_given(cx, 2), is_given(cx, 3));
    if exactly_one && scales == sizes {
        return Err(cx.fail(&MISSING, "exactly one of `scales` and `sizes` must be given"));
    }
    Ok((scales || sizes).then_some(sizes))
}

fn resize(cx: &mut Cx<'_, '_>) -> Outcome {
    let by_sizes = by_sizes(cx, true)?;
    let policy = policy(cx)?;
    if by_sizes == Some(false) && policy != Policy::Stretch {
        return Err(cx.fail(&BAD_ATTRIBUTE, "scales leave no aspect ratio to be kept"));
    }
    let rank = cx.rank(0)?;
    let axes: Sizes = match cx.param(Param::Attr(attr::AXES))? {
        Ints::Known(axes) => {
            cx.axes(&axes, rank)?;
            axes.iter().map(|&axis| cx.axis(axis, rank)).collect::<Outcome<_>>()?
        }
        _ => (0..rank).collect(),
    };
    to_size(cx, by_sizes, &axes, policy)
}

/// Returns `true` if the node names an axis by a negative number.
fn has_negative_axis(cx: &mut Cx<'_, '_>) -> Outcome<bool> {
    Ok(cx.ints(attr::AXES)?.is_some_and(|axes| axes.iter().any(|&axis| axis < 0)))
}

fn to_size(cx: &mut Cx<'_, '_>, by_sizes: Option<bool>, axes: &[usize], policy: Policy) -> Outcome {
    let dims = cx.shape(0)?;
    match by_sizes {
        Some(true) => to_sizes(cx, dims, axes, policy),
        Some(false) => scale_axes(cx, 2, axes),
        None => {
            cx.set_shape(0, Dims::from_elem(Dim::Unknown, dims.len()));
            Ok(())
        }
    }
}

/// Whether an input is there and not empty.
fn is_given(cx: &Cx<'_, '_>, input: usize) -> bool {
    cx.has_input(input) && cx.shape(input).ok().as_deref() != Some(&[Dim::Known(0)])
}

/// What happens to the aspect ratio.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    Stretch,
    NotLarger,
    NotSmaller,
}

fn policy(cx: &mut Cx<'_, '_>) -> Outcome<Policy> {
    Ok(match cx.text(attr::KEEP_ASPECT_RATIO_POLICY)? {
        None | Some("stretch") => Policy::Stretch,
        Some("not_larger") => Policy::NotLarger,
        Some("not_smaller") => Policy::NotSmaller,
        Some(_) => return Err(cx.fail(&BAD_ATTRIBUTE, "`keep_aspect_ratio_policy` has an unknown value")),
    })
}

fn count_differs(cx: &mut Cx<'_, '_>, what: &str, count: usize, axes: usize) -> Stop {
    cx.fail(&BAD_VALUE, format_args!("there are {count} {what} for {axes} axes"))
}

fn to_sizes(cx: &mut Cx<'_, '_>, mut dims: Dims, axes: &[usize], policy: Policy) -> Outcome {
    let sizes = cx.elements(3)?.unwrap_or_else(|| Dims::from_elem(Dim::Unknown, axes.len()));
    if sizes.len() != axes.len() {
        return Err(count_differs(cx, "sizes", sizes.len(), axes.len()));
    }
    let sizes = match policy {
        Policy::Stretch => sizes,
        _ if cx.for_onnxruntime() && has_negative_axis(cx)? => Dims::from_elem(Dim::Unknown, axes.len()),
        policy => kept_ratio(&dims, axes, &sizes, policy, cx.for_onnxruntime())
            .unwrap_or_else(|| Dims::from_elem(Dim::Unknown, axes.len())),
    };
    for (&axis, &size) in axes.iter().zip(&sizes) {
        if let Some(slot) = dims.get_mut(axis) {
            *slot = if size != Dim::Known(0) && cx.is_size(size) { size } else { Dim::Unknown };
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// The sizes that all axes get by one scale: the least of those that the given sizes mean, or the largest.
#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "the sizes have 28 bits at most, so 64 hold two of them multiplied, and one shifted by 20"
    )
)]
fn kept_ratio(
    dims: &[Dim],
    axes: &[usize],
    sizes: &[Dim],
    policy: Policy,
    for_onnxruntime: bool,
) -> Option<Dims> {
    // Products of two sizes do not overflow, even with the shift below.
    let max: i64 = if for_onnxruntime { 1 << 20 } else { 1 << 28 };
    let mut pairs: smallvec::SmallVec<[(i64, i64); 6]> = smallvec::SmallVec::new();
    for (&axis, size) in axes.iter().zip(sizes) {
        let (from, to) = (dims.get(axis)?.known()?, size.known()?);
        if !(1..=max).contains(&from) || !(1..=max).contains(&to) {
            return None;
        }
        pairs.push((from, to));
    }
    let compare = |a: &&(i64, i64), b: &&(i64, i64)| (a.1 * b.0).cmp(&(b.1 * a.0));
    let &(from, to) = match policy {
        Policy::NotLarger => pairs.iter().min_by(compare)?,
        _ => pairs.iter().max_by(compare)?,
    };
    // A scale whose denominator is a power of two has no rounding before the last one, which goes up from a half.
    let is_exact = from.max(to) <= 1 << 24 && (0..=20).any(|shift| (to << shift) % from == 0);
    let scaled = |&(size, _): &(i64, i64)| {
        // size * to / from, rounded to the next integer.
        let (whole, rest) = (size * to / from, size * to % from);
        let is_integer = to % from == 0 && !for_onnxruntime;
        if is_integer || is_exact && size * to / from < 1 << 20 {
            return Some(Dim::Known(if 2 * rest >= from { whole + 1 } else { whole }));
        }
        let exact = size as f64 * to as f64 / from as f64;
        let distance = (2 * rest - from).unsigned_abs() as f64 / (2.0 * from as f64);
        // Five roundings to 32-bit floats move the value by less than this.
        let margin = exact / f64::from(1 << 21);
        (distance > margin).then_some(Dim::Known(if 2 * rest > from { whole + 1 } else { whole }))
    };
    pairs.iter().map(scaled).collect()
}

/// Scales the given axes by the elements of an input, in their order.
fn scale_axes(cx: &mut Cx<'_, '_>, input: usize, axes: &[usize]) -> Outcome {
    let mut dims = cx.shape(0)?;
    let scales = cx.content(input);
    if let (None, Ok(&[Dim::Known(count)])) = (&scales, cx.shape(input).as_deref())
        && let Ok(count) = usize::try_from(count)
        && count != axes.len()
    {
        return Err(count_differs(cx, "scales", count, axes.len()));
    }
    if let Some(scales) = &scales
        && scales.len() != axes.len()
    {
        return Err(count_differs(cx, "scales", scales.len(), axes.len()));
    }
    for scale in scales.iter().flat_map(|scales| scales.iter()) {
        if let Some(scale) = scale.to_f64().filter(|&scale| scale <= 0.0) {
            return Err(cx.fail(&BAD_VALUE, format_args!("a scale is {scale}, and must be greater than 0")));
        }
    }
    for (nth, &axis) in axes.iter().enumerate() {
        let scale = scales.as_ref().and_then(|scales| scales.get(nth)).copied().unwrap_or_default();
        if let Some(slot) = dims.get_mut(axis) {
            *slot = scaled(cx, *slot, scale);
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// `floor(dim * scale)`; unknown where rounding could matter.
pub(super) fn scaled(cx: &mut Cx<'_, '_>, dim: Dim, scale: Elem) -> Dim {
    const MAX: f64 = 9e15;
    if let (Dim::Known(dim), Some(scale)) = (dim, scale.to_f64()) {
        if scale.fract() == 0.0 && (1.0..MAX).contains(&scale) && !cx.for_onnxruntime() {
            let size = dim.checked_mul(scale as i64);
            return size.map_or(Dim::Unknown, Dim::Known);
        }
        let size = f64::from((dim as f32 * scale as f32).floor());
        let is_exact = size == (dim as f64 * f64::from(scale as f32)).floor();
        return if is_exact && scale > 0.0 && (0.0..MAX).contains(&size) {
            Dim::Known(size as i64)
        } else {
            Dim::Unknown
        };
    }
    match scale {
        Elem::Int(Dim::Known(1)) => return dim,
        Elem::Int(Dim::Known(..=0)) => return Dim::Unknown,
        Elem::Float(scale) if scale.is_nan() || scale <= 0.0 => return Dim::Unknown,
        _ => {}
    }
    let product = join(cx, ElemType::Float, Op::Mul, Elem::int(dim), scale);
    let size = round(cx, product, false).dim();
    if cx.is_size(size) { size } else { Dim::Unknown }
}
