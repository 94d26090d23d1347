//! Windows that slide along the spatial axes of a tensor: convolution, pooling, and the transposes of both.
//!
//! With padding `p` before and `q` behind, a stride `s`, and an extent `e = d*(k-1) + 1` of a kernel of `k` elements at
//! distances of `d`, an axis of size `H` has room for `(H + p + q - e)//s + 1` windows. If the dividend is negative, no
//! window fits. A convolution then has no valid run; onnxruntime pools nevertheless, and divides towards zero, as the
//! reference does. A number is therefore inferred only if both roundings agree, and a symbolic result of a pool with a
//! stride depends on a guard that a window fits. Computed padding (`SAME_UPPER`, `SAME_LOWER`) gives `ceil(H / s)`,
//! which is 0 for 0. The specification defines the same for dilated windows, for which onnxruntime pads a pool less.
//!
//! What is not guessed: padding that is both given and computed, where the two give different sizes, as runtimes disagree
//! on which counts; and the last window of a pool that rounds up, as long as the version leaves it open (see [`Rounding`]).

use onnx_schema::attr;
use onnx_types::{Dim, Symbol};
use smallvec::SmallVec;

use crate::cx::{Cx, Outcome};
use crate::facts::Relation;
use crate::fault::{BAD_ATTRIBUTE, NEGATIVE_SIZE, TOO_LARGE};
use crate::ty::Dims;

/// How many windows there are where they do not fill the axis evenly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    /// Those that fit.
    Down,
    /// One more that begins inside and ends behind the padding. Whether one that begins in the padding behind counts is
    /// open: by the text of the versions before 22 it does, in runtimes it does not.
    Up,
    /// The same, where one that begins in the padding behind never counts.
    UpInside,
}

/// Where the padding comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Padding {
    /// From the attribute `pads`, none when it is missing.
    Given,
    /// As much as the result needs to have the size of the input over the stride.
    Same,
    /// None.
    Valid,
    /// The node asks for something that no operator defines.
    Undefined,
}

/// What is done along one axis.
#[derive(Clone, Copy, Debug)]
struct Window {
    kernel: Dim,
    stride: i64,
    dilation: i64,
    before: i64,
    after: i64,
}

/// What the attributes of a node say about its spatial axes.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    axes: SmallVec<[Window; 3]>,
    padding: Padding,
    /// Whether the node gives `pads`.
    padded: bool,
}

/// The integers of an attribute with one for each of `count` places; `otherwise` each when the node does not have it.
///
/// # Errors
///
/// With a finding when there is another number of them, or one is less than `least`.
pub(crate) fn ints_of(
    cx: &mut Cx<'_, '_>,
    name: Symbol,
    count: usize,
    least: i64,
    otherwise: i64,
) -> Outcome<SmallVec<[i64; 6]>> {
    let Some(values) = cx.ints(name)? else { return Ok(SmallVec::from_elem(otherwise, count)) };
    let found = values.len();
    if found != count {
        let name = cx.names().resolve(name).to_owned();
        return Err(cx.fail(
            &BAD_ATTRIBUTE,
            format_args!("attribute `{name}` has {found} numbers where {count} are needed"),
        ));
    }
    if let Some(value) = values.iter().find(|&&value| value < least) {
        let name = cx.names().resolve(name).to_owned();
        return Err(cx.fail(
            &BAD_ATTRIBUTE,
            format_args!("attribute `{name}` has {value} where at least {least} is needed"),
        ));
    }
    Ok(SmallVec::from_slice(values))
}

/// The size, unless it is a negative number; that a symbolic one is not negative is a fact from here on.
///
/// # Errors
///
/// With a finding for a negative number.
pub(crate) fn not_negative(cx: &mut Cx<'_, '_>, size: Dim) -> Outcome<Dim> {
    match size {
        Dim::Known(number) if number < 0 => {
            Err(cx.fail(&NEGATIVE_SIZE, format_args!("a size of the output would be {number}")))
        }
        Dim::Known(_) | Dim::Unknown => Ok(size),
        _ => {
            if cx.dims_le(Dim::Known(0), size) != Some(true) {
                cx.prove(Relation::AtMost(Dim::Known(0), size));
            }
            Ok(size)
        }
    }
}

/// The size that two readings of a node agree on.
const fn agreed(a: Dim, b: Dim) -> Dim {
    match (a, b) {
        (Dim::Known(left), Dim::Known(right)) if left == right => a,
        (Dim::Var(left), Dim::Var(right)) if left.index() == right.index() => a,
        (Dim::Expr(left), Dim::Expr(right)) if left.index() == right.index() => a,
        _ => Dim::Unknown,
    }
}

impl Windows {
    /// Reads the attributes that say how windows of these kernel sizes move. `kernel` has one size for each spatial axis.
    ///
    /// # Errors
    ///
    /// With a finding when an attribute has a wrong number of integers, or one that is out of range.
    pub(crate) fn read(cx: &mut Cx<'_, '_>, kernel: &[Dim], dilates: bool) -> Outcome<Self> {
        let count = kernel.len();
        let strides = ints_of(cx, attr::STRIDES, count, 1, 1)?;
        let dilations =
            if dilates { ints_of(cx, attr::DILATIONS, count, 1, 1)? } else { SmallVec::from_elem(1, count) };
        let padded = cx.ints(attr::PADS)?.is_some();
        let pads = ints_of(cx, attr::PADS, count.saturating_mul(2), 0, 0)?;
        let (before, after) = pads.split_at(count);
        let padding = match cx.text(attr::AUTO_PAD)? {
            None | Some("NOTSET" | "") => Padding::Given,
            Some("SAME_UPPER" | "SAME_LOWER") => Padding::Same,
            Some("VALID") => Padding::Valid,
            Some(_) => Padding::Undefined,
        };
        let axes = kernel
            .iter()
            .zip(strides.iter().zip(&dilations))
            .zip(before.iter().zip(after))
            .map(|((&kernel, (&stride, &dilation)), (&before, &after))| Window {
                kernel,
                stride,
                dilation,
                before,
                after,
            })
            .collect();
        let windows = Self { axes, padding, padded };
        windows.check_extents(cx)?;
        Ok(windows)
    }

    /// Whether the distance of the ends of a window is a number of 64 bits.
    fn check_extents(&self, cx: &mut Cx<'_, '_>) -> Outcome {
        for window in &self.axes {
            let Dim::Known(kernel @ 1..) = window.kernel else { continue };
            let span = kernel.saturating_sub(1).checked_mul(window.dilation);
            if span.and_then(|span| span.checked_add(1)).is_none() {
                let dilation = window.dilation;
                let message =
                    format_args!("{kernel} elements at distances of {dilation} do not fit in 64 bits");
                return Err(cx.fail(&TOO_LARGE, message));
            }
        }
        Ok(())
    }

    /// Requires that each number of elements that a transposed convolution appends is less than the stride or the dilation.
    ///
    /// # Errors
    ///
    /// With a finding when one is not.
    pub(crate) fn check_added(&self, cx: &mut Cx<'_, '_>, added: &[i64]) -> Outcome {
        for (window, &added) in self.axes.iter().zip(added) {
            let bound = window.stride.max(window.dilation);
            if added >= bound {
                let message = format_args!("the output padding {added} is not less than the stride, {bound}");
                return Err(cx.fail(&BAD_ATTRIBUTE, message));
            }
        }
        Ok(())
    }

    /// Whether the node both gives padding and asks for it to be computed.
    pub(crate) fn pads_twice(&self) -> bool {
        self.padded && self.padding != Padding::Given
    }

    /// The sizes of the result of a convolution along the spatial axes `sizes`.
    ///
    /// # Errors
    ///
    /// With a finding when one would be negative.
    pub(crate) fn convolve(&self, cx: &mut Cx<'_, '_>, sizes: &[Dim]) -> Outcome<Dims> {
        self.slide(cx, sizes, Rounding::Down, false)
    }

    /// The sizes of the result of a pool along the spatial axes `sizes`.
    ///
    /// # Errors
    ///
    /// With a finding when one would be negative.
    pub(crate) fn pool(&self, cx: &mut Cx<'_, '_>, sizes: &[Dim], rounding: Rounding) -> Outcome<Dims> {
        self.slide(cx, sizes, rounding, true)
    }

    /// `guarded`: the node may run although no window fits.
    fn slide(&self, cx: &mut Cx<'_, '_>, sizes: &[Dim], rounding: Rounding, guarded: bool) -> Outcome<Dims> {
        let mut dims = Dims::with_capacity(sizes.len());
        for (&size, window) in sizes.iter().zip(&self.axes) {
            window.check_padded(cx, size)?;
            let computed = match self.padding {
                Padding::Given => window.count(cx, size, rounding, guarded),
                Padding::Valid => window.bare().count(cx, size, rounding, guarded),
                Padding::Same if guarded && window.dilation > 1 && cx.for_onnxruntime() => Dim::Unknown,
                Padding::Same => cx.dims().ceil_div(size, Dim::Known(window.stride)),
                Padding::Undefined => Dim::Unknown,
            };
            let size = if self.pads_twice() {
                let given = window.count(cx, size, rounding, guarded);
                agreed(computed, given)
            } else {
                computed
            };
            dims.push(not_negative(cx, size)?);
        }
        Ok(dims)
    }

    /// The sizes of the result of a transposed convolution along the spatial axes `sizes`, with `added` elements
    /// appended to each.
    ///
    /// With computed padding the result is the input times the stride, unless even without padding it is less. The
    /// reference adds the elements behind to that, onnxruntime takes them off the padding, so it is not known where both
    /// occur and make a difference.
    ///
    /// # Errors
    ///
    /// With a finding when one would be negative.
    pub(crate) fn transpose(&self, cx: &mut Cx<'_, '_>, sizes: &[Dim], added: &[i64]) -> Outcome<Dims> {
        let mut dims = Dims::with_capacity(sizes.len());
        for ((&size, window), &added) in sizes.iter().zip(&self.axes).zip(added) {
            window.check_spread(cx, size, added)?;
            let size = match self.padding {
                Padding::Given => window.spread(cx, size, added),
                Padding::Valid => window.bare().spread(cx, size, added),
                Padding::Same => window.spread_same(cx, size, added),
                Padding::Undefined => Dim::Unknown,
            };
            dims.push(not_negative(cx, size)?);
        }
        Ok(dims)
    }
}

impl Window {
    /// The same without padding.
    const fn bare(self) -> Self {
        Self { before: 0, after: 0, ..self }
    }

    /// Whether the size of an axis with its padding is a number of 64 bits.
    fn check_padded(self, cx: &mut Cx<'_, '_>, size: Dim) -> Outcome {
        cx.sum_of_sizes(&[size, Dim::Known(self.before), Dim::Known(self.after)]).map(drop)
    }

    /// Whether the size that a transposed convolution makes of an axis is a number of 64 bits.
    fn check_spread(self, cx: &mut Cx<'_, '_>, size: Dim, added: i64) -> Outcome {
        let (Some(size), Some(kernel)) = (size.known(), self.kernel.known()) else { return Ok(()) };
        let [size, kernel, stride, dilation, added] =
            [size, kernel, self.stride, self.dilation, added].map(i128::from);
        let span = stride.saturating_mul(size.saturating_sub(1));
        let extent = dilation.saturating_mul(kernel.saturating_sub(1));
        match i64::try_from(span.saturating_add(extent).saturating_add(added)) {
            Ok(_) => Ok(()),
            Err(_) => Err(cx.fail(&TOO_LARGE, "the size of an axis does not fit in 64 bits")),
        }
    }

    /// From the first element under the window to the last.
    fn extent(self, cx: &mut Cx<'_, '_>) -> Dim {
        let steps = cx.dims().sub(self.kernel, Dim::Known(1));
        let span = cx.dims().mul(steps, Dim::Known(self.dilation));
        cx.dims().add(span, Dim::Known(1))
    }

    /// How many windows an axis has.
    fn count(self, cx: &mut Cx<'_, '_>, size: Dim, rounding: Rounding, guarded: bool) -> Dim {
        let extent = self.extent(cx);
        let stride = Dim::Known(self.stride);
        let (before, after) = (Dim::Known(self.before), Dim::Known(self.after));
        let inner = cx.dims().add(size, before);
        let padded = cx.dims().add(inner, after);
        let room = cx.dims().sub(padded, extent);
        if rounding == Rounding::Down {
            let steps = match room {
                Dim::Known(room) => self.steps(room),
                _ => {
                    let fits = cx.dims_le(extent, padded);
                    // Without a window, the result depends on how the division rounds.
                    if self.stride > 1 && fits == Some(false) {
                        return Dim::Unknown;
                    }
                    let fitting = Relation::AtMost(extent, padded);
                    if guarded
                        && self.stride > 1
                        && fits.is_none()
                        && !cx.may_assume(fitting, "a window must fit into the padded axis")
                    {
                        return Dim::Unknown;
                    }
                    cx.dims().floor_div(room, stride)
                }
            };
            return cx.dims().add(steps, Dim::Known(1));
        }
        let steps = cx.dims().ceil_div(room, stride);
        let all = cx.dims().add(steps, Dim::Known(1));
        // The last of them begins in the padding behind only if the padding and a stride are more than the extent.
        let reach = cx.dims().add(after, stride);
        match cx.dims_le(reach, extent) {
            Some(true) => all,
            Some(false) => {
                let inside = cx.dims().ceil_div(inner, stride);
                let inside = cx.min(inside, all);
                if rounding == Rounding::UpInside { inside } else { agreed(all, inside) }
            }
            None => Dim::Unknown,
        }
    }

    /// The strides in a number of elements: where it is negative, only if rounding down and towards zero give the same, or
    /// both give a negative number of windows.
    fn steps(self, room: i64) -> Dim {
        let (down, to_zero) = (room.checked_div_euclid(self.stride), room.checked_div(self.stride));
        match (down, to_zero) {
            (Some(down), Some(to_zero)) if down == to_zero || to_zero < -1 => Dim::Known(down),
            _ => Dim::Unknown,
        }
    }

    /// The size that a transposed convolution makes of an axis.
    fn spread(self, cx: &mut Cx<'_, '_>, size: Dim, added: i64) -> Dim {
        let extent = self.extent(cx);
        let steps = cx.dims().sub(size, Dim::Known(1));
        let span = cx.dims().mul(steps, Dim::Known(self.stride));
        let full = cx.dims().sum(&[span, extent, Dim::Known(added)]);
        let cut = cx.dims().add(Dim::Known(self.before), Dim::Known(self.after));
        cx.dims().sub(full, cut)
    }

    fn spread_same(self, cx: &mut Cx<'_, '_>, size: Dim, added: i64) -> Dim {
        let stride = Dim::Known(self.stride);
        let extent = self.extent(cx);
        let grown = cx.dims().add(extent, Dim::Known(added));
        if cx.dims_le(grown, stride) == Some(true) {
            return self.bare().spread(cx, size, added);
        }
        if added == 0 && cx.dims_le(stride, extent) == Some(true) {
            return cx.dims().mul(size, stride);
        }
        Dim::Unknown
    }
}
