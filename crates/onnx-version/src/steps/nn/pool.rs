//! Pooling: the exponent of `LpPool` is a float in version 1; version 19 gives `AveragePool` dilations; from version 22 on,
//! windows that begin in the padding at the end do not count.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::reason::{Cause, VersionReason};
use crate::step::{Step, float_list, float_splat};

/// The exponent as an integer.
pub(crate) fn integral_exponent(step: &mut Step<'_>) -> Result<(), VersionReason> {
    // The default is 2 in both versions, written in two kinds.
    let exponent = step.float(attr::P)?.unwrap_or(2.0);
    if exponent.fract() != 0.0 || exponent.abs() > 1e6 {
        return Err(format!("the exponent {exponent} is not an integer").into());
    }
    step.remove(attr::P);
    step.set(attr::P, exponent as i64)
}

/// Downwards: the exponent as a float.
pub(crate) fn float_exponent(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let exponent = step.int(attr::P)?.unwrap_or(2);
    if exponent.unsigned_abs() > 1 << 24 {
        return Err(format!("the exponent {exponent} is not a float").into());
    }
    step.remove(attr::P);
    step.set(attr::P, exponent as f32)
}

/// Upwards: refuses a window that is known to begin in the padding at the end.
pub(crate) fn no_window_in_padding(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match begins_in_padding(step)? {
        Some(true) => {
            Err("a window begins in the padding at the end, which counts before version 22 only".into())
        }
        _ => Ok(()),
    }
}

/// Downwards: a window that begins in the padding at the end must not count, so the padding is cut.
pub(crate) fn windows_in_data(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match begins_in_padding(step)? {
        Some(true) => {
            let counts = step.old.op() == op::AVERAGE_POOL && step.flag(attr::COUNT_INCLUDE_PAD)?;
            let mut axes = axes(step)?;
            let before: Vec<i64> = axes.iter().map(|axis| axis.end).collect();
            round_down(&mut axes)?;
            if counts && axes.iter().zip(before).any(|(axis, before)| axis.end > before) {
                let version = step.version;
                let text = format!(
                    "with `ceil_mode`, the last window extends beyond the padding, where elements do not count; version {version} \
                     can express it by greater `pads` only, which count (`count_include_pad`)"
                );
                return Err(text.into());
            }
            step.set(attr::PADS, pads(&axes))?;
            step.remove(attr::CEIL_MODE);
            Ok(())
        }
        Some(false) => Ok(()),
        None => Err(size_unknown()),
    }
}

/// Downwards: the average of elements that are not adjacent is a convolution.
pub(crate) fn without_dilations(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let dilations = step.given_ints(attr::DILATIONS)?.unwrap_or_default();
    if dilations.iter().all(|&dilation| dilation == 1) {
        return Ok(());
    }
    if step.text(attr::AUTO_PAD)?.is_some_and(|pad| pad != "NOTSET" && pad != "VALID") {
        return Err("it has dilations, and the padding is computed".into());
    }
    let x = step.operand(0)?;
    let elem = step.elem(x)?;
    let channels = step.sizes(x).and_then(|sizes| sizes.get(1).copied().flatten());
    let channels = channels.filter(|&channels| channels > 0).ok_or_else(|| {
        VersionReason::new(Cause::ShapeUnknown, "it has dilations, and the number of channels is unknown")
    })?;
    let (counts, mut axes) = (step.flag(attr::COUNT_INCLUDE_PAD)?, axes(step)?);
    let kernel: Vec<i64> = axes.iter().map(|axis| axis.kernel).collect();
    let elements = kernel.iter().try_fold(1_i64, |product, &size| product.checked_mul(size));
    let elements = elements.filter(|&elements| (1..=MOST / channels.min(MOST)).contains(&elements));
    let elements = elements.ok_or("it has dilations, and the kernel is too large")?;
    let factors = factors(&axes, counts, rounds_up(step)?)?;
    if rounds_up(step)? {
        round_down(&mut axes)?;
    }
    let mut dims = vec![channels, 1];
    dims.extend(&kernel);
    let weights = float_splat(dims, 1.0 / elements as f64, elem)?;
    let weights = step.constant(weights)?;
    let attributes = [
        (attr::DILATIONS, AttrValue::Ints(axes.iter().map(|axis| axis.dilation).collect())),
        (attr::GROUP, AttrValue::Int(channels)),
        (attr::KERNEL_SHAPE, AttrValue::Ints(kernel)),
        (attr::PADS, AttrValue::Ints(pads(&axes))),
        (attr::STRIDES, AttrValue::Ints(axes.iter().map(|axis| axis.stride).collect())),
    ];
    let mut made = step.like(x, op::CONV, &[x, weights], &attributes)?;
    if let Some((sizes, factors)) = factors {
        let factors = step.constant(float_list(sizes, &factors, elem)?)?;
        made = step.like(x, op::MUL, &[made, factors], &[])?;
    }
    step.replace(made)
}

/// The most elements of a constant that a step makes.
const MOST: i64 = 1 << 20;

fn size_unknown() -> VersionReason {
    VersionReason::new(
        Cause::ShapeUnknown,
        "the size of the operand, on which the number of windows depends with `ceil_mode`, is unknown",
    )
}

/// The windows along one axis.
struct Axis {
    size: Option<i64>,
    begin: i64,
    end: i64,
    kernel: i64,
    stride: i64,
    dilation: i64,
}

impl Axis {
    /// Number of elements from the first one of a window to the last one.
    const fn extent(&self) -> i64 {
        self.kernel.saturating_sub(1).saturating_mul(self.dilation).saturating_add(1)
    }

    /// Number of windows of an axis of known size, rounded up, with those that begin in the padding at the end.
    const fn rounded_up(&self, size: i64) -> i64 {
        let room = size.saturating_add(self.begin).saturating_add(self.end).saturating_sub(self.extent());
        room.saturating_add(self.stride.saturating_sub(1)).div_euclid(self.stride).saturating_add(1)
    }

    /// Whether the last window begins in the padding at the end; `None` if that depends on the size.
    fn begins_in_padding(&self) -> Option<bool> {
        let Some(size) = self.size else {
            // The last window exceeds the padded data by less than a stride.
            return (self.end.saturating_add(self.stride) <= self.extent()).then_some(false);
        };
        let last = self.rounded_up(size).saturating_sub(1);
        Some(last >= 0 && last.saturating_mul(self.stride) >= size.saturating_add(self.begin))
    }

    /// Number of windows of an axis of known size in version 22.
    fn windows(&self, size: i64, rounds_up: bool) -> i64 {
        let room = size.saturating_add(self.begin).saturating_add(self.end).saturating_sub(self.extent());
        match rounds_up {
            true => self.rounded_up(size).saturating_sub(i64::from(self.begins_in_padding() == Some(true))),
            false => room.div_euclid(self.stride).saturating_add(1),
        }
    }

    /// Number of elements that each window covers, in the data or also in the padding.
    fn covered(&self, size: i64, counts: bool, rounds_up: bool) -> Option<Vec<i64>> {
        let windows = self.windows(size, rounds_up);
        if windows < 1 || windows.checked_mul(self.kernel)? > MOST {
            return None;
        }
        let padding = if counts { (self.begin, self.end) } else { (0, 0) };
        let range = padding.0.checked_neg()?..size.checked_add(padding.1)?;
        let place = |window: i64, index: i64| -> Option<i64> {
            let first = window.checked_mul(self.stride)?.checked_sub(self.begin)?;
            first.checked_add(index.checked_mul(self.dilation)?)
        };
        let count = |window: i64| {
            let places = (0..self.kernel).filter_map(|index| place(window, index));
            i64::try_from(places.filter(|place| range.contains(place)).count()).ok()
        };
        (0..windows).map(count).collect()
    }
}

fn rounds_up(step: &Step<'_>) -> Result<bool, VersionReason> {
    step.flag(attr::CEIL_MODE)
}

fn axes(step: &Step<'_>) -> Result<Vec<Axis>, VersionReason> {
    let kernel = step.given_ints(attr::KERNEL_SHAPE)?.ok_or("`kernel_shape` is omitted")?;
    let sizes = step.sizes(step.operand(0)?).unwrap_or_default();
    let count = kernel.len();
    let [pads, strides, dilations] = [attr::PADS, attr::STRIDES, attr::DILATIONS].map(|name| {
        let given = step.given_ints(name);
        given.map(Option::unwrap_or_default)
    });
    let (pads, strides, dilations) = (pads?, strides?, dilations?);
    let axis = |(index, kernel): (usize, i64)| Axis {
        size: sizes.get(index.saturating_add(2)).copied().flatten(),
        begin: pads.get(index).copied().unwrap_or(0),
        end: pads.get(index.saturating_add(count)).copied().unwrap_or(0),
        kernel,
        stride: strides.get(index).copied().unwrap_or(1).max(1),
        dilation: dilations.get(index).copied().unwrap_or(1).max(1),
    };
    Ok(kernel.iter().copied().enumerate().map(axis).collect())
}

fn pads(axes: &[Axis]) -> Vec<i64> {
    axes.iter().map(|axis| axis.begin).chain(axes.iter().map(|axis| axis.end)).collect()
}

/// Whether a window begins in the padding at the end, which only rounding up can cause; `None` if it depends on a size.
fn begins_in_padding(step: &Step<'_>) -> Result<Option<bool>, VersionReason> {
    if !rounds_up(step)? || step.text(attr::AUTO_PAD)?.is_some_and(|pad| pad != "NOTSET") {
        return Ok(Some(false));
    }
    let found: Vec<Option<bool>> = axes(step)?.iter().map(Axis::begins_in_padding).collect();
    if found.contains(&Some(true)) {
        return Ok(Some(true));
    }
    Ok((!found.contains(&None)).then_some(false))
}

/// Gives the padding at the end the size with which rounding down results in the same windows as rounding up.
fn round_down(axes: &mut [Axis]) -> Result<(), VersionReason> {
    for axis in axes {
        let size = axis.size.ok_or_else(size_unknown)?;
        let last = axis.windows(size, true).saturating_sub(1);
        if last < 0 {
            return Err("no window begins in the data".into());
        }
        let covered = last.saturating_mul(axis.stride).saturating_add(axis.extent());
        axis.end = covered.saturating_sub(size).saturating_sub(axis.begin).max(0);
    }
    Ok(())
}

/// Sizes and elements.
type Factors = (Vec<i64>, Vec<f64>);

/// The sizes and elements of the tensor with which a sum that was divided by the size of the kernel is multiplied, so that it
/// is divided by the number of elements that a window covers; `None` if that is the size of the kernel everywhere.
fn factors(axes: &[Axis], counts: bool, rounds_up: bool) -> Result<Option<Factors>, VersionReason> {
    let is_full = |axis: &Axis| !rounds_up && (counts || (axis.begin == 0 && axis.end == 0));
    if axes.iter().all(is_full) {
        return Ok(None);
    }
    let (mut sizes, mut factors) = (vec![1, 1], vec![1.0_f64]);
    for axis in axes {
        let size = axis.size.ok_or_else(size_unknown)?;
        let covered = axis.covered(size, counts, rounds_up).ok_or("the windows cannot be counted")?;
        if covered.contains(&0) {
            return Err("a window covers no element".into());
        }
        if factors.len().saturating_mul(covered.len()) > MOST as usize {
            return Err("it has dilations, and there are too many windows".into());
        }
        sizes.push(i64::try_from(covered.len()).unwrap_or(i64::MAX));
        let along =
            |&factor: &f64| covered.iter().map(move |&count| factor * axis.kernel as f64 / count as f64);
        factors = factors.iter().flat_map(along).collect();
    }
    Ok(factors.iter().any(|&factor| factor != 1.0).then_some((sizes, factors)))
}
