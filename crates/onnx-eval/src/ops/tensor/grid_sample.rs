//! `GridSample`: an image sampled at the places that a grid holds; the last axis of the grid has the coordinate along the last
//! spatial axis first.
//!
//! Places are computed in `double`; the nearest element of a place between two is the even one. Padding applies to each
//! neighbor of a place, as in runtimes, so `cubic` with `border` differs from the reference, which moves the place. A place
//! that is NaN lies outside. Integers are rounded to nearest, ties to even. Strings can be moved, by `nearest`, and not
//! interpolated.

use onnx_schema::{attr, op};
use onnx_types::ElemClass;
use smallvec::{SmallVec, smallvec};

use super::resize::cubic;
use crate::cx::axes::{product, strides};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::number::{Unit, by_unit};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::GRID_SAMPLE, &[since(16, sample)]).open();

/// Neighbors of a place and their weights: as many as linear interpolation of four axes and cubic interpolation of two have.
type Taps = SmallVec<[(usize, f64); 16]>;

/// The values outside the image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

struct Settings {
    mode: Mode,
    padding: Padding,
    aligned: bool,
}

fn settings(cx: &Cx<'_, '_>) -> Outcome<Settings> {
    let mode = match cx.text(attr::MODE)? {
        "nearest" => Mode::Nearest,
        "linear" | "bilinear" => Mode::Linear,
        "cubic" | "bicubic" => Mode::Cubic,
        _ => return Err(Stop::failed("`mode` names no interpolation")),
    };
    let padding = match cx.text(attr::PADDING_MODE)? {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        _ => return Err(Stop::failed("`padding_mode` names no padding")),
    };
    Ok(Settings { mode, padding, aligned: cx.flag(attr::ALIGN_CORNERS)? })
}

fn sample(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, grid) = (cx.tensor(0)?, cx.tensor(1)?);
    let settings = settings(cx)?;
    let (&[batch, channels, ref spatial @ ..], &[grids, ref places @ .., depth]) =
        (&x.dims[..], &grid.dims[..])
    else {
        return Err(Stop::failed("the image or the grid has too few axes"));
    };
    if spatial.is_empty() || spatial.len() != places.len() || depth != spatial.len() || grids != batch {
        return Err(Stop::failed(format_args!("a grid {:?} does not fit an image {:?}", grid.dims, x.dims)));
    }
    let mut dims: Dims = [batch, channels].as_slice().into();
    dims.extend_from_slice(places);
    let count = cx.count(&dims)?;
    let width: usize = match settings.mode {
        Mode::Nearest => 1,
        Mode::Linear => 2,
        Mode::Cubic => 4,
    };
    let taps = width.saturating_pow(u32::try_from(depth).unwrap_or(u32::MAX));
    cx.work(count.max(product(places).saturating_mul(batch)).saturating_mul(taps))?;
    let coordinates = cx.read_f64(&grid)?;
    if count > 0 && x.count == 0 && settings.padding != Padding::Zeros {
        return Err(Stop::failed("an image without elements has no border"));
    }
    if settings.mode == Mode::Nearest {
        return by_unit!(x.elem, U => {
            let elements = cx.units::<U>(&x)?;
            let out = cx.buffer(count)?;
            let out = each(cx, &x, &coordinates, &settings, out, |taps, plane| match taps {
                [(place, _)] => elements[plane + place].clone(),
                _ => U::zero(),
            })?;
            cx.put_units::<U>(0, x.elem, &dims, out)
        });
    }
    if x.elem.class() == ElemClass::String {
        return Err(Stop::failed("strings cannot be interpolated, only `nearest` is possible"));
    }
    let blend = |cx: &mut Cx<'_, '_>, elements: &[f64]| {
        let out = cx.buffer(count)?;
        each(cx, &x, &coordinates, &settings, out, |taps, plane| {
            // The iterator's `sum` of nothing is -0.0.
            taps.iter().fold(0.0, |sum, &(place, weight)| sum + elements[plane + place] * weight)
        })
    };
    if x.elem.class() == ElemClass::Complex {
        let [real, imaginary] = cx.complex_parts(&x)?;
        let parts = [blend(cx, &real)?, blend(cx, &imaginary)?];
        return cx.put_complex(0, x.elem, &dims, &parts);
    }
    let elements = cx.read_f64(&x)?;
    let out = blend(cx, &elements)?;
    put_real(cx, 0, x.elem, &dims, &out)
}

/// The results of a function of the neighbors of each place and of the start of each channel.
fn each<R: Clone>(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    grid: &[f64],
    settings: &Settings,
    mut out: Vec<R>,
    function: impl Fn(&[(usize, f64)], usize) -> R,
) -> Outcome<Vec<R>> {
    let (batch, channels, spatial) = (x.dims[0], x.dims[1], &x.dims[2..]);
    let (plane, steps) = (product(spatial), strides(spatial));
    let each = grid.len() / batch.max(1);
    for n in 0..batch {
        let places = &grid[n * each..(n + 1) * each];
        // Neighbors are found again for each channel, so that the memory does not grow with the grid.
        for c in 0..channels {
            let start = (n * channels + c) * plane;
            for at in places.chunks_exact(spatial.len()) {
                let taps = taps(at, spatial, &steps, settings);
                cx.poll().step(taps.len() + 1)?;
                out.push(function(&taps, start));
            }
        }
    }
    Ok(out)
}

/// The neighbors of a place as offsets in the spatial axes, with their weights; what is zero is left out.
fn taps(place: &[f64], spatial: &[usize], steps: &[usize], settings: &Settings) -> Taps {
    let mut taps: Taps = smallvec![(0, 1.0)];
    for ((&coordinate, &size), &step) in place.iter().rev().zip(spatial).zip(steps) {
        let axis = along(coordinate, size, settings);
        let pairs = taps.iter().flat_map(|&(offset, weight)| {
            axis.iter().map(move |&(index, factor)| (offset + index * step, weight * factor))
        });
        taps = pairs.collect();
    }
    taps
}

/// The neighbors of a coordinate on an axis.
fn along(coordinate: f64, size: usize, settings: &Settings) -> SmallVec<[(usize, f64); 4]> {
    /// Beyond all sizes, and small enough that the neighbors are exact.
    const FAR: f64 = (1_u64 << 48) as f64;
    let length = size as f64;
    let place = if settings.aligned {
        (coordinate + 1.0) / 2.0 * (length - 1.0)
    } else {
        ((coordinate + 1.0) * length - 1.0) / 2.0
    };
    let place = if place.is_nan() { -FAR } else { place.clamp(-FAR, FAR) };
    let base = place.floor();
    let ratio = place - base;
    let near: SmallVec<[(f64, f64); 4]> = match settings.mode {
        Mode::Nearest => smallvec![(libm::rint(place), 1.0)],
        Mode::Linear => smallvec![(base, 1.0 - ratio), (base + 1.0, ratio)],
        Mode::Cubic => {
            let weight = |offset: f64| cubic((offset - ratio).abs(), -0.75);
            [-1.0, 0.0, 1.0, 2.0].map(|offset| (base + offset, weight(offset))).into()
        }
    };
    let inside = near.into_iter().filter(|&(_, weight)| weight != 0.0);
    inside.filter_map(|(index, weight)| Some((padded(index as i64, size, settings)?, weight))).collect()
}

/// The index of an element of the image, or of the one that stands for it outside.
fn padded(index: i64, size: usize, settings: &Settings) -> Option<usize> {
    // Sizes of tensors in memory are far below 2⁶².
    let size = size as i64;
    let inside = match settings.padding {
        Padding::Zeros => index,
        Padding::Border => index.clamp(0, (size - 1).max(0)),
        Padding::Reflection if size <= 1 => 0,
        Padding::Reflection if settings.aligned => {
            let folded = index.rem_euclid(2 * (size - 1));
            folded.min(2 * (size - 1) - folded)
        }
        Padding::Reflection => {
            let folded = index.rem_euclid(2 * size);
            folded.min(2 * size - 1 - folded)
        }
    };
    usize::try_from(inside).ok().filter(|_| inside < size)
}
