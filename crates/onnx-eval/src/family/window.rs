//! Windows that slide along the spatial axes of a tensor: convolution and pooling.
//!
//! With padding `p` before and `q` after, a stride `s`, and an extent `e = d*(k-1) + 1` of a kernel of `k` elements that are `d`
//! apart, an axis of size `H` has room for `(H + p + q - e)//s + 1` windows. If the number is rounded up, a window that begins
//! in the padding after the axis does not count, as in runtimes and by the text since version 22. `SAME_UPPER` and
//! `SAME_LOWER` compute the padding for `ceil(H / s)` windows; an odd element is at the end and at the beginning.

use onnx_schema::attr;

use crate::cx::axes::{product, size, strides};
use crate::cx::{Cx, Dims, Outcome, Stop};

/// The window along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
    /// Number of windows.
    pub(crate) windows: usize,
}

impl Axis {
    /// The index on the axis of an element of a window; `None` in the padding.
    pub(crate) fn index(&self, window: usize, element: usize) -> Option<usize> {
        let place = self.place(window, element);
        place.checked_sub(self.before).filter(|&index| index < self.size)
    }

    /// The index of an element of a window, counted from the beginning of the padding.
    const fn place(&self, window: usize, element: usize) -> usize {
        // Bounded by the size with padding, which was checked.
        window.saturating_mul(self.stride).saturating_add(element.saturating_mul(self.dilation))
    }
}

/// The window along all spatial axes.
pub(crate) struct Windows {
    pub(crate) axes: Vec<Axis>,
}

impl Windows {
    /// Reads the attributes of a convolution or pool with a kernel of these sizes.
    pub(crate) fn read(
        cx: &mut Cx<'_, '_>,
        spatial: &[usize],
        kernel: &[usize],
        rounds_up: bool,
    ) -> Outcome<Self> {
        let count = spatial.len();
        if kernel.len() != count {
            return Err(Stop::failed("the kernel has another number of axes than the input"));
        }
        let list = |cx: &Cx<'_, '_>, name, count: usize, least: i64, otherwise: i64| -> Outcome<Vec<usize>> {
            let values = cx.ints(name)?.unwrap_or_else(|| vec![otherwise; count]);
            if values.len() != count || values.iter().any(|&value| value < least) {
                let name = cx.model.str(name);
                return Err(Stop::failed(format_args!(
                    "attribute `{name}` has the wrong length or a wrong value"
                )));
            }
            values.into_iter().map(size).collect()
        };
        let steps = list(cx, attr::STRIDES, count, 1, 1)?;
        let dilations = list(cx, attr::DILATIONS, count, 1, 1)?;
        let padding = cx.text(attr::AUTO_PAD)?.to_owned();
        let pads = match padding.as_str() {
            "" | "NOTSET" => list(cx, attr::PADS, 2 * count, 0, 0)?,
            "SAME_UPPER" | "SAME_LOWER" | "VALID" => vec![0; 2 * count],
            _ => return Err(Stop::failed("`auto_pad` names no padding")),
        };
        let mut axes = Vec::with_capacity(count);
        for at in 0..count {
            if kernel[at] == 0 {
                return Err(Stop::failed("a kernel has no elements"));
            }
            let mut axis = Axis {
                size: spatial[at],
                kernel: kernel[at],
                stride: steps[at],
                dilation: dilations[at],
                before: pads[at],
                after: pads[at + count],
                windows: 0,
            };
            match padding.as_str() {
                "SAME_UPPER" => same(&mut axis, false)?,
                "SAME_LOWER" => same(&mut axis, true)?,
                _ => slide(&mut axis, rounds_up)?,
            }
            axes.push(axis);
        }
        Ok(Self { axes })
    }

    /// The number of windows along each axis.
    pub(crate) fn counts(&self) -> Dims {
        self.axes.iter().map(|axis| axis.windows).collect()
    }

    /// The elements that each window covers, for all windows in order.
    pub(crate) fn taps(&self, cx: &mut Cx<'_, '_>) -> Outcome<Taps> {
        let kernel: Dims = self.axes.iter().map(|axis| axis.kernel).collect();
        let sizes: Dims = self.axes.iter().map(|axis| axis.size).collect();
        let (counts, steps) = (self.counts(), strides(&sizes));
        let windows = cx.count(&counts)?;
        let most = windows.saturating_mul(cx.count(&kernel)?);
        cx.work(most)?;
        let mut taps = Taps { ends: cx.buffer(windows)?, places: Vec::new(), covered: cx.buffer(windows)? };
        let mut window: Dims = counts.iter().map(|_| 0).collect();
        for _ in 0..windows {
            let mut element: Dims = kernel.iter().map(|_| 0).collect();
            for _ in 0..product(&kernel) {
                let places = self.axes.iter().zip(&window).zip(&element).zip(&steps);
                let place = places
                    .map(|(((axis, &window), &element), &step)| Some(axis.index(window, element)? * step));
                taps.places.extend(place.sum::<Option<usize>>());
                advance(&mut element, &kernel);
            }
            cx.budget.allocate(product(&kernel), size_of::<usize>())?;
            taps.ends.push(taps.places.len());
            let covered = self.axes.iter().zip(&window).map(|(axis, &window)| {
                let end = axis.before.saturating_add(axis.size).saturating_add(axis.after);
                (0..axis.kernel).filter(|&element| axis.place(window, element) < end).count()
            });
            taps.covered.push(covered.product());
            advance(&mut window, &counts);
        }
        Ok(taps)
    }
}

/// Moves an index to the next one in row-major order.
pub(crate) fn advance(index: &mut [usize], dims: &[usize]) {
    for (at, &dim) in index.iter_mut().zip(dims).rev() {
        *at += 1;
        if *at < dim {
            return;
        }
        *at = 0;
    }
}

/// The elements that windows cover, as offsets in the spatial axes.
pub(crate) struct Taps {
    /// The end of the offsets of each window.
    ends: Vec<usize>,
    places: Vec<usize>,
    /// Number of elements of each window that are in the input or in its padding.
    covered: Vec<usize>,
}

impl Taps {
    /// The offsets of each window, with the number of its elements that are in the input or in its padding.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[usize], usize)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        ranges.zip(&self.covered).map(|((start, &end), &covered)| (&self.places[start..end], covered))
    }
}

fn extent(axis: &Axis) -> Outcome<usize> {
    let extent = axis.dilation.checked_mul(axis.kernel - 1).and_then(|extent| extent.checked_add(1));
    extent.ok_or_else(|| Stop::failed("the kernel is too large"))
}

fn slide(axis: &mut Axis, rounds_up: bool) -> Outcome {
    let extent = extent(axis)?;
    let padded = axis.size.checked_add(axis.before).and_then(|size| size.checked_add(axis.after));
    let padded = padded.ok_or_else(|| Stop::failed("the padding is too large"))?;
    let Some(room) = padded.checked_sub(extent) else {
        return Err(Stop::failed(format_args!(
            "a window of {extent} elements does not fit {padded} elements"
        )));
    };
    axis.windows = if rounds_up { room.div_ceil(axis.stride) } else { room / axis.stride } + 1;
    if rounds_up && (axis.windows - 1).saturating_mul(axis.stride) >= axis.size + axis.before {
        axis.windows -= 1;
    }
    Ok(())
}

fn same(axis: &mut Axis, is_lower: bool) -> Outcome {
    let extent = extent(axis)?;
    axis.windows = axis.size.div_ceil(axis.stride);
    let covered = (axis.windows.saturating_sub(1) * axis.stride).saturating_add(extent);
    let total = covered.saturating_sub(axis.size);
    let (half, rest) = (total / 2, total - total / 2);
    (axis.before, axis.after) = if is_lower { (rest, half) } else { (half, rest) };
    Ok(())
}
