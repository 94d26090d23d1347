//! `Resize`: axes scaled to given sizes, or by given scales.
//!
//! Interpolation is separable: one axis after the other, in `double`, rounded once at the end; integers to the nearest,
//! ties to even. A size is `floor(size * scale)`, computed exactly from the 32-bit scale. Coordinates use the given
//! scale, and lengths that are not rounded, as the recorded tests of the standard do. An axis that keeps its size by
//! scale 1 is unchanged, and a neighbor of weight 0 is skipped, so that an infinity next to a sampled element has no
//! effect. Where one scale is kept for all axes, sizes are rounded, halves up. Version 10 samples without a shift;
//! `nearest` takes the element before the coordinate, or the one after it if the axis shrinks, as runtimes do, because
//! the specification does not define it. Before version 13, if both sizes and scales are given, the sizes count.
//! Strings and complex numbers can be moved, by `nearest`, and not interpolated.

use onnx_schema::{attr, op};
use onnx_types::ElemClass;

use crate::cx::{Cx, Dims, Operand, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::number::{Number, Unit, by_number, by_unit};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::RESIZE, &[since(10, |cx| by_scales(cx, 1)), since(11, resize)]).open().takes(&[(2, Takes::ONE)]);

/// The interpolation between the elements of an axis.
#[derive(Clone, Copy)]
enum Mode {
    Nearest(Nearest),
    Linear { antialias: bool },
    Cubic { antialias: bool, a: f64 },
}

#[derive(Clone, Copy)]
enum Nearest {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
    /// Up where the axis shrinks, down where it grows.
    Simple,
}

/// The mapping from output coordinates to input coordinates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transform {
    HalfPixel,
    HalfPixelSymmetric,
    HalfPixelOfMany,
    HalfPixelForNearest,
    AlignCorners,
    Asymmetric,
    Crop,
}

/// The sampling of one axis.
#[derive(Clone, Copy)]
struct Plan {
    axis: usize,
    from: usize,
    to: usize,
    scale: f64,
    /// The part of the axis that is sampled by [`Transform::Crop`].
    region: (f64, f64),
}

struct Settings {
    mode: Mode,
    transform: Transform,
    excludes_outside: bool,
    extrapolation: f64,
}

/// The elements of the input that make one of the output, with their weights; `None` beyond a region.
type Taps = Vec<Option<Vec<(usize, f64)>>>;

/// All axes scaled by an input, without the attributes of later versions.
pub(super) fn by_scales(cx: &mut Cx<'_, '_>, input: usize) -> Outcome {
    let scales = cx.tensor(input)?;
    let scales = cx.read_f64(&scales)?.into_vec();
    scaled(cx, &scales)
}

/// All axes scaled, without the attributes of later versions.
pub(super) fn scaled(cx: &mut Cx<'_, '_>, scales: &[f64]) -> Outcome {
    let x = cx.tensor(0)?;
    let mode = match cx.text(attr::MODE)? {
        "nearest" => Mode::Nearest(Nearest::Simple),
        "linear" | "bilinear" => Mode::Linear { antialias: false },
        _ => return Err(Stop::failed("`mode` names no interpolation")),
    };
    let settings =
        Settings { mode, transform: Transform::Asymmetric, excludes_outside: false, extrapolation: 0.0 };
    let all: Vec<usize> = (0..x.rank()).collect();
    let plans = scaled_axes(&x, &all, scales)?;
    apply(cx, &x, &plans, &settings)
}

fn resize(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let settings = settings(cx)?;
    let all: Vec<i64> = (0..x.rank() as i64).collect();
    let listed = if cx.since() >= 18 { cx.ints(attr::AXES)? } else { None };
    let axes = axes::axes(&listed.unwrap_or(all), x.rank())?;
    let given = |cx: &Cx<'_, '_>, input| -> Outcome<Option<Operand>> {
        Ok(cx.optional(input)?.filter(|operand| operand.count > 0 || axes.is_empty()))
    };
    let (scales, sizes) = (given(cx, 2)?, given(cx, 3)?);
    let mut plans = match (scales, sizes) {
        (Some(_), Some(_)) if cx.since() >= 13 => {
            return Err(Stop::failed("`scales` and `sizes` are both given"));
        }
        (_, Some(_)) => sized_axes(cx, &x, &axes)?,
        (Some(scales), None) => {
            let scales = cx.read_f64(&scales)?;
            scaled_axes(&x, &axes, &scales)?
        }
        (None, None) => return Err(Stop::failed("neither `scales` nor `sizes` is given")),
    };
    if settings.transform == Transform::Crop {
        let region = cx.tensor(1)?;
        let region = cx.read_f64(&region)?;
        if region.len() != 2 * axes.len() {
            return Err(Stop::failed("`roi` has not two elements for each axis"));
        }
        for (at, plan) in plans.iter_mut().enumerate() {
            plan.region = (region[at], region[axes.len() + at]);
        }
    }
    apply(cx, &x, &plans, &settings)
}

fn settings(cx: &Cx<'_, '_>) -> Outcome<Settings> {
    let antialias = cx.since() >= 18 && cx.flag(attr::ANTIALIAS)?;
    let mode = match cx.text(attr::MODE)? {
        "nearest" if antialias => return Err(Stop::failed("`nearest` has no antialiasing")),
        "nearest" => Mode::Nearest(match cx.text(attr::NEAREST_MODE)? {
            "round_prefer_floor" => Nearest::PreferFloor,
            "round_prefer_ceil" => Nearest::PreferCeil,
            "floor" => Nearest::Floor,
            "ceil" => Nearest::Ceil,
            _ => return Err(Stop::failed("`nearest_mode` names no rounding")),
        }),
        "linear" => Mode::Linear { antialias },
        "cubic" => Mode::Cubic { antialias, a: f64::from(cx.float_or(attr::CUBIC_COEFF_A, -0.75)?) },
        _ => return Err(Stop::failed("`mode` names no interpolation")),
    };
    let transform = match cx.text(attr::COORDINATE_TRANSFORMATION_MODE)? {
        "half_pixel" => Transform::HalfPixel,
        "half_pixel_symmetric" => Transform::HalfPixelSymmetric,
        "pytorch_half_pixel" => Transform::HalfPixelOfMany,
        "align_corners" => Transform::AlignCorners,
        "asymmetric" => Transform::Asymmetric,
        "tf_crop_and_resize" => Transform::Crop,
        "tf_half_pixel_for_nn" => Transform::HalfPixelForNearest,
        _ => return Err(Stop::failed("`coordinate_transformation_mode` names no transformation")),
    };
    let extrapolation = f64::from(cx.float_or(attr::EXTRAPOLATION_VALUE, 0.0)?);
    Ok(Settings { mode, transform, excludes_outside: cx.flag(attr::EXCLUDE_OUTSIDE)?, extrapolation })
}

fn scaled_axes(x: &Operand, axes: &[usize], scales: &[f64]) -> Outcome<Vec<Plan>> {
    if scales.len() != axes.len() {
        return Err(Stop::failed(format_args!("there are {} scales for {} axes", scales.len(), axes.len())));
    }
    let plan = |(&axis, &scale): (&usize, &f64)| {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Stop::failed(format_args!("{scale} is not a scale")));
        }
        let from = x.dims[axis];
        // A size beyond the limit is rejected before memory is allocated.
        let to = (from as f64 * scale).floor() as usize;
        Ok(Plan { axis, from, to, scale, region: (0.0, 1.0) })
    };
    axes.iter().zip(scales).map(plan).collect()
}

fn sized_axes(cx: &Cx<'_, '_>, x: &Operand, axes: &[usize]) -> Outcome<Vec<Plan>> {
    let sizes = axes::sizes(&cx.vector(3)?)?;
    if sizes.len() != axes.len() {
        return Err(Stop::failed(format_args!("there are {} sizes for {} axes", sizes.len(), axes.len())));
    }
    let plan = |(&axis, &to): (&usize, &usize)| {
        let from = x.dims[axis];
        Plan { axis, from, to, scale: to as f64 / from as f64, region: (0.0, 1.0) }
    };
    let mut plans: Vec<Plan> = axes.iter().zip(&sizes).map(plan).collect();
    let policy = if cx.since() >= 18 { cx.text(attr::KEEP_ASPECT_RATIO_POLICY)? } else { "stretch" };
    let scales = plans.iter().map(|plan| plan.scale);
    let kept = match policy {
        "stretch" => return Ok(plans),
        "not_larger" => scales.fold(f64::INFINITY, f64::min),
        "not_smaller" => scales.fold(0.0, f64::max),
        _ => return Err(Stop::failed("`keep_aspect_ratio_policy` names no policy")),
    };
    for plan in &mut plans {
        plan.scale = kept;
        plan.to = (kept * plan.from as f64 + 0.5).floor() as usize;
    }
    Ok(plans)
}

fn apply(cx: &mut Cx<'_, '_>, x: &Operand, plans: &[Plan], settings: &Settings) -> Outcome {
    let mut dims = x.dims.clone();
    for plan in plans {
        dims[plan.axis] = plan.to;
    }
    let count = cx.count(&dims)?;
    if count > 0 && x.count == 0 {
        return Err(Stop::failed("an axis without elements cannot be resized"));
    }
    let is_kept = |plan: &&Plan| {
        let all = settings.transform != Transform::Crop || plan.region == (0.0, 1.0);
        !(plan.scale == 1.0 && plan.from == plan.to && all)
    };
    let mut passes = Vec::new();
    for plan in plans.iter().filter(is_kept).filter(|_| count > 0) {
        passes.push((plan, taps(cx, plan, settings)?));
    }
    let is_complex = x.elem.class() == ElemClass::Complex;
    let is_cut = passes.iter().any(|(_, taps)| taps.iter().any(Option::is_none));
    if !matches!(settings.mode, Mode::Nearest(_)) {
        if is_complex {
            let [real, imaginary] = cx.complex_parts(x)?;
            // The value outside of the image is a real number.
            let real = interpolated(cx, real, &x.dims, &passes, settings.extrapolation, count)?;
            let imaginary = interpolated(cx, imaginary, &x.dims, &passes, 0.0, count)?;
            return cx.put_complex(0, x.elem, &dims, &[real, imaginary]);
        }
        let values = cx.read_f64(x)?.into_vec();
        let values = interpolated(cx, values, &x.dims, &passes, settings.extrapolation, count)?;
        return put_real(cx, 0, x.elem, &dims, &values);
    }
    if is_cut && is_complex {
        let elements = cx.complex(x)?;
        let out = picked(cx, elements, &x.dims, &passes, &(settings.extrapolation, 0.0), count)?;
        let (real, imaginary) = out.into_iter().unzip();
        return cx.put_complex(0, x.elem, &dims, &[real, imaginary]);
    }
    if is_cut {
        return by_number!(x.elem, T => {
            let elements = cx.read::<T>(x)?.into_vec();
            let fill = T::of_f64(settings.extrapolation);
            let out = picked(cx, elements, &x.dims, &passes, &fill, count)?;
            cx.put::<T>(0, x.elem, &dims, out)
        });
    }
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(x)?.into_vec();
        let out = picked(cx, elements, &x.dims, &passes, &U::zero(), count)?;
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}

/// All passes of an interpolation.
fn interpolated(
    cx: &mut Cx<'_, '_>,
    mut values: Vec<f64>,
    dims: &Dims,
    passes: &[(&Plan, Taps)],
    fill: f64,
    count: usize,
) -> Outcome<Vec<f64>> {
    let mut sizes = dims.clone();
    for (plan, taps) in passes {
        values = blended(cx, &values, &sizes, plan, taps, fill)?;
        sizes[plan.axis] = plan.to;
    }
    values.truncate(count);
    Ok(values)
}

/// One pass of interpolation.
fn blended(
    cx: &mut Cx<'_, '_>,
    values: &[f64],
    dims: &Dims,
    plan: &Plan,
    taps: &Taps,
    fill: f64,
) -> Outcome<Vec<f64>> {
    let lines = Lines::new(dims, plan.axis);
    let weights: usize = taps.iter().flatten().map(Vec::len).sum();
    cx.work(weights.saturating_mul(lines.count()))?;
    let mut sizes = dims.clone();
    sizes[plan.axis] = plan.to;
    let mut out = cx.buffer(cx.count(&sizes)?)?;
    for outer in 0..lines.outer {
        for taps in taps {
            for inner in 0..lines.inner {
                cx.poll().step(taps.as_ref().map_or(1, Vec::len))?;
                let at = |index: usize| values[(outer * lines.length + index) * lines.inner + inner];
                out.push(match taps {
                    Some(taps) => taps.iter().map(|&(index, weight)| at(index) * weight).sum(),
                    None => fill,
                });
            }
        }
    }
    Ok(out)
}

/// All passes of `nearest`, which only moves elements.
fn picked<U: Clone>(
    cx: &mut Cx<'_, '_>,
    mut elements: Vec<U>,
    dims: &Dims,
    passes: &[(&Plan, Taps)],
    fill: &U,
    count: usize,
) -> Outcome<Vec<U>> {
    let mut dims = dims.clone();
    for (plan, taps) in passes {
        let lines = Lines::new(&dims, plan.axis);
        dims[plan.axis] = plan.to;
        let mut out = cx.buffer(cx.count(&dims)?)?;
        for outer in 0..lines.outer {
            for tap in taps {
                match tap.as_ref().and_then(|tap| tap.first()) {
                    Some(&(index, _)) => {
                        let start = (outer * lines.length + index) * lines.inner;
                        out.extend_from_slice(&elements[start..start + lines.inner]);
                    }
                    None => out.extend(std::iter::repeat_n(fill.clone(), lines.inner)),
                }
            }
        }
        elements = out;
    }
    elements.truncate(count);
    Ok(elements)
}

fn taps(cx: &mut Cx<'_, '_>, plan: &Plan, settings: &Settings) -> Outcome<Taps> {
    let mut taps = cx.buffer(plan.to)?;
    for at in 0..plan.to {
        let place = place(plan, settings.transform, at);
        let last = plan.from as f64 - 1.0;
        if settings.transform == Transform::Crop && !(place >= 0.0 && place <= last) {
            taps.push(None);
            continue;
        }
        let found = match settings.mode {
            Mode::Nearest(nearest) => vec![(clamped(rounded(place, nearest, plan.scale), plan.from), 1.0)],
            mode => weights(cx, plan, place, mode, settings.excludes_outside)?,
        };
        taps.push(Some(found));
    }
    Ok(taps)
}

/// The place on an axis of the input of an element of the output.
fn place(plan: &Plan, transform: Transform, at: usize) -> f64 {
    let (y, from) = (at as f64, plan.from as f64);
    let length = plan.scale * from;
    let half = (y + 0.5) / plan.scale - 0.5;
    match transform {
        Transform::HalfPixel => half,
        Transform::HalfPixelSymmetric => from / 2.0 * (1.0 - plan.to as f64 / length) + half,
        Transform::HalfPixelOfMany if plan.to <= 1 => 0.0,
        Transform::HalfPixelOfMany => half,
        Transform::HalfPixelForNearest => (y + 0.5) / plan.scale,
        Transform::AlignCorners if plan.to <= 1 => 0.0,
        Transform::AlignCorners => y * (from - 1.0) / (length - 1.0),
        Transform::Asymmetric => y / plan.scale,
        Transform::Crop => {
            let (start, end) = plan.region;
            if plan.to <= 1 {
                return 0.5 * (start + end) * (from - 1.0);
            }
            y * (end - start) * (from - 1.0) / (length - 1.0) + start * (from - 1.0)
        }
    }
}

fn rounded(place: f64, nearest: Nearest, scale: f64) -> f64 {
    match nearest {
        Nearest::PreferFloor => (place - 0.5).ceil(),
        Nearest::PreferCeil => (place + 0.5).floor(),
        Nearest::Simple if scale < 1.0 => place.ceil(),
        Nearest::Floor | Nearest::Simple => place.floor(),
        Nearest::Ceil => place.ceil(),
    }
}

/// The index of an axis that is not empty; NaN and what lies before it is the first.
fn clamped(index: f64, size: usize) -> usize {
    (index.max(0.0) as usize).min(size.saturating_sub(1))
}

/// The neighbors of a place, with their weights.
fn weights(
    cx: &mut Cx<'_, '_>,
    plan: &Plan,
    place: f64,
    mode: Mode,
    excludes_outside: bool,
) -> Outcome<Vec<(usize, f64)>> {
    let base = place.floor();
    // An element that is hit exactly is the right neighbor of the place.
    let (base, ratio) = if base == place { (base - 1.0, 1.0) } else { (base, place - base) };
    let (antialias, reach) = match mode {
        Mode::Cubic { antialias, .. } => (antialias, 2.0),
        Mode::Linear { antialias } => (antialias, 1.0),
        Mode::Nearest(_) => (false, 1.0),
    };
    let scale = if antialias { plan.scale.min(1.0) } else { 1.0 };
    let start = (-reach / scale).floor() + 1.0;
    let count = (2.0 - 2.0 * start) as usize;
    // One more vector of the same taps, which has room for four at least.
    cx.budget.account(count.max(4), size_of::<(usize, f64)>())?;
    let mut found: Vec<(f64, f64)> = cx.buffer(count)?;
    let weight = |offset: f64| {
        let distance = ((offset - ratio) * scale).abs();
        if let Mode::Cubic { a, .. } = mode { cubic(distance, a) } else { (1.0 - distance).clamp(0.0, 1.0) }
    };
    found.extend((0..count).map(|at| start + at as f64).map(|offset| (base + offset, weight(offset))));
    if antialias {
        normalize(&mut found);
    }
    if excludes_outside {
        let last = plan.from as f64 - 1.0;
        found.iter_mut().filter(|(index, _)| *index < 0.0 || *index > last).for_each(|tap| tap.1 = 0.0);
        normalize(&mut found);
    }
    let kept = found.into_iter().filter(|&(_, weight)| weight != 0.0);
    Ok(kept.map(|(index, weight)| (clamped(index, plan.from), weight)).collect())
}

fn normalize(taps: &mut [(f64, f64)]) {
    let sum: f64 = taps.iter().map(|tap| tap.1).sum();
    if sum != 0.0 {
        taps.iter_mut().for_each(|tap| tap.1 /= sum);
    }
}

/// The weight of an element at a distance from a place, by cubic convolution.
pub(super) fn cubic(distance: f64, a: f64) -> f64 {
    let x = distance;
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}
