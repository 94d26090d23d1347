//! Windows that slide along the spatial axes of a tensor: convolution and pooling.
//!
//! With padding `p` before and `q` after, a stride `s`, and an extent `e = d*(k-1) + 1` of a kernel of `k` elements that are `d`
//! apart, an axis of size `H` has room for `(H + p + q - e)//s + 1` windows. If the number is rounded up, a window that begins
//! in the padding after the axis does not count, as in runtimes and by the text since version 22. `SAME_UPPER` and
//! `SAME_LOWER` compute the padding for `ceil(H / s)` windows; an odd element is at the end and at the beginning.

use std::ops::Range;

use onnx_schema::attr;

use crate::cx::axes::size;
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

    /// The windows that have an element of the kernel in the input: the first, and the one after the last.
    fn inside(&self, element: usize) -> (usize, usize) {
        let offset = element.saturating_mul(self.dilation);
        let below = |place: usize| place.saturating_sub(offset).div_ceil(self.stride).min(self.windows);
        (below(self.before), below(self.before.saturating_add(self.size)))
    }

    /// The number of elements of a window before a place, which is counted from the beginning of the padding.
    fn below(&self, window: usize, place: usize) -> usize {
        place.saturating_sub(self.place(window, 0)).div_ceil(self.dilation).min(self.kernel)
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
            return Err(Stop::failed(format_args!(
                "the kernel has {} axes, the input has {count} spatial ones",
                kernel.len()
            )));
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

    /// The runs of the windows in some rows, for each element of the kernel in row-major order, and row after row. A row is
    /// the windows along the last axis.
    pub(crate) fn runs(&self, cx: &mut Cx<'_, '_>, rows: Range<usize>) -> Outcome<Vec<Run>> {
        let one = Axis { size: 1, kernel: 1, stride: 1, dilation: 1, before: 0, after: 0, windows: 1 };
        let (last, outer) = self.axes.split_last().map_or((&one, &[][..]), |(last, outer)| (last, outer));
        let counts: Dims = outer.iter().map(|axis| axis.windows).collect();
        let kernel: Dims = outer.iter().map(|axis| axis.kernel).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let elements = cx.count(&kernel)?.saturating_mul(last.kernel);
        let mut runs = cx.buffer(elements.saturating_mul(rows.len()))?;
        let mut first: Dims = counts.iter().map(|_| 0).collect();
        let mut rest = rows.start;
        for (slot, &count) in first.iter_mut().zip(&counts).rev() {
            (*slot, rest) = (rest % count.max(1), rest / count.max(1));
        }
        let mut outer_element: Dims = kernel.iter().map(|_| 0).collect();
        for element in 0..elements {
            let along = element % last.kernel;
            let (begin, end) = last.inside(along);
            let from = last.place(begin, along).saturating_sub(last.before);
            let mut window = first.clone();
            cx.poll().step(rows.len())?;
            for row in rows.clone() {
                let mut places = outer.iter().zip(&window).zip(&outer_element);
                let start = places.try_fold(0, |start, ((axis, &window), &element)| {
                    Some(start * axis.size + axis.index(window, element)?)
                });
                if let Some(start) = start.filter(|_| begin < end) {
                    let (to, from) = (row * last.windows + begin, start * last.size + from);
                    runs.push(Run { element, to, from, step: last.stride, length: end - begin });
                }
                advance(&mut window, &counts);
            }
            if along + 1 == last.kernel {
                advance(&mut outer_element, &kernel);
            }
        }
        Ok(runs)
    }

    /// The number of rows of windows.
    pub(crate) fn rows(&self) -> usize {
        self.axes.split_last().map_or(1, |(_, outer)| outer.iter().map(|axis| axis.windows).product())
    }

    /// The number of elements of each window that are in the input.
    pub(crate) fn inside(&self, cx: &mut Cx<'_, '_>) -> Outcome<Vec<usize>> {
        self.elements(cx, |axis, window| {
            axis.below(window, axis.before.saturating_add(axis.size)) - axis.below(window, axis.before)
        })
    }

    /// The number of elements of each window that are in the input or in its padding.
    pub(crate) fn covered(&self, cx: &mut Cx<'_, '_>) -> Outcome<Vec<usize>> {
        self.elements(cx, |axis, window| {
            axis.below(window, axis.before.saturating_add(axis.size).saturating_add(axis.after))
        })
    }

    /// The product over the axes of a number of elements of each window.
    fn elements(&self, cx: &mut Cx<'_, '_>, along: impl Fn(&Axis, usize) -> usize) -> Outcome<Vec<usize>> {
        let counts = self.counts();
        let count = cx.count(&counts)?;
        let mut products = cx.buffer(count)?;
        let mut window: Dims = counts.iter().map(|_| 0).collect();
        for _ in 0..count {
            products.push(self.axes.iter().zip(&window).map(|(axis, &window)| along(axis, window)).product());
            advance(&mut window, &counts);
        }
        Ok(products)
    }
}

/// Neighboring windows of a row, and where in the input they have one element of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// The element of the kernel.
    pub(crate) element: usize,
    /// The first window.
    pub(crate) to: usize,
    /// The offset of its element in the spatial axes of the input.
    pub(crate) from: usize,
    /// The distance of the elements of neighboring windows.
    pub(crate) step: usize,
    /// Number of windows.
    pub(crate) length: usize,
}

impl Run {
    /// Updates the results of the windows by their elements of the input, given with their offsets.
    #[inline]
    pub(crate) fn update<T: Copy, R>(
        self,
        input: &[T],
        results: &mut [R],
        update: impl Fn(&mut R, usize, T),
    ) {
        let results = results.get_mut(self.to..self.to + self.length).unwrap_or_default();
        let input = input.get(self.from..).unwrap_or_default();
        if self.step == 1 {
            // The compiler makes vector instructions of loops over neighbors only.
            let pairs = results.iter_mut().zip(input).enumerate();
            pairs.for_each(|(at, (result, &element))| update(result, self.from + at, element));
        } else {
            let pairs = results.iter_mut().zip(input.iter().step_by(self.step)).enumerate();
            pairs.for_each(|(at, (result, &element))| update(result, self.from + at * self.step, element));
        }
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

fn extent(axis: &Axis) -> Outcome<usize> {
    let extent = axis.dilation.checked_mul(axis.kernel - 1).and_then(|extent| extent.checked_add(1));
    extent.ok_or_else(|| Stop::failed("the kernel is too large"))
}

fn slide(axis: &mut Axis, rounds_up: bool) -> Outcome {
    let extent = extent(axis)?;
    let padded = axis.size.checked_add(axis.before).and_then(|size| size.checked_add(axis.after));
    let padded = padded.ok_or_else(|| Stop::failed("the padding is too large"))?;
    // The formula of the standard, `(padded - extent) / stride + 1`, also gives a number if no whole window fits: rounded down,
    // it is 0 for at most a step that is missing, and rounded up, 1 for less than a step and 0 for less than two.
    let windows = match padded.checked_sub(extent) {
        Some(room) if rounds_up => Some(room.div_ceil(axis.stride) + 1),
        Some(room) => Some(room / axis.stride + 1),
        None if rounds_up => 1_usize.checked_sub((extent - padded) / axis.stride),
        None => 1_usize.checked_sub((extent - padded).div_ceil(axis.stride)),
    };
    axis.windows = windows.ok_or_else(|| {
        Stop::failed(format_args!("a window of {extent} elements does not fit {padded} elements"))
    })?;
    if rounds_up
        && axis.windows > 0
        && (axis.windows - 1).saturating_mul(axis.stride) >= axis.size + axis.before
    {
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
