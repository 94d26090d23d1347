//! Formats of quantized numbers.

use onnx_eval::compare::Noise;
use onnx_types::tensor::{
    DataSource, F4E2M1, F8E4M3Fn, F8E5M2, Payload, Tensor, TensorError, TensorFault, filled, require_memory,
    reserved,
};
use onnx_types::{ElemClass, ElemType, Interrupt, Stopped};

use super::layout::{Layout, Run};
use super::{NoScale, QuantizeError};

/// The numbers of a quantized type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Format {
    pub(crate) elem: ElemType,
    /// The least and the greatest number.
    pub(crate) low: f32,
    pub(crate) high: f32,
    bits: u32,
    is_float: bool,
}

impl Format {
    /// The format of a type; `None` if weights are not quantized to it.
    pub(crate) fn of(elem: ElemType) -> Option<Self> {
        let bits = elem.bits()?;
        let of = |low: f32, high: f32, is_float| Some(Self { elem, low, high, bits, is_float });
        match (elem, elem.class()) {
            (ElemType::Float8E4M3Fn, _) => of(-448.0, 448.0, true),
            (ElemType::Float8E5M2, _) => of(-57344.0, 57344.0, true),
            (ElemType::Float4E2M1, _) => of(-6.0, 6.0, true),
            (_, ElemClass::Int) if bits <= 16 => {
                let half = (1_u32 << (bits - 1)) as f32;
                of(-half, half - 1.0, false)
            }
            (_, ElemClass::Uint) if bits <= 16 => of(0.0, ((1_u32 << bits) - 1) as f32, false),
            _ => None,
        }
    }

    /// Returns `true` if the range has as many negative numbers as positive ones, so that zero needs no offset.
    pub(crate) const fn is_signed(&self) -> bool {
        self.low < 0.0
    }

    /// Returns `true` if the numbers are floats, which have no zero point.
    pub(crate) const fn is_float(&self) -> bool {
        self.is_float
    }

    /// The scale and the zero point for numbers of a range. What the ends become is finite, as they are.
    pub(crate) fn parameters(&self, range: (f32, f32), symmetric: bool) -> (f32, f32) {
        let (scale, zero) = self.nearest_parameters(range, symmetric);
        let steps = [range.0, range.1].map(|end| (self.quantize(end, scale, zero) - zero).abs());
        let steps = steps[0].max(steps[1]);
        if (steps * scale).is_finite() || !(range.0.is_finite() && range.1.is_finite()) {
            return (scale, zero);
        }
        let most = f32::MAX / steps;
        (if (most * steps).is_finite() { most } else { most.next_down() }, zero)
    }

    fn nearest_parameters(&self, (min, max): (f32, f32), symmetric: bool) -> (f32, f32) {
        if symmetric || self.is_float {
            let (magnitude, middle) =
                (min.abs().max(max.abs()), if self.is_signed() { 0.0 } else { self.middle() });
            return (scale(magnitude, self.high - middle), middle);
        }
        // The range has zero, so that zero is exact.
        let (min, max) = (min.min(0.0), max.max(0.0));
        let (range, steps) = (max - min, self.high - self.low);
        // The range of finite numbers can be more than `float` has.
        let scale = match range.is_finite() {
            true => scale(range, steps),
            false => max / steps - min / steps,
        };
        let zero = (self.low - min / scale).round_ties_even().clamp(self.low, self.high);
        (scale, zero)
    }

    /// Returns `true` if `float` has a scale with all its bits for numbers of a range: smaller ones would share the least scale, with few
    /// steps or none.
    pub(crate) fn has_scale(&self, (min, max): (f32, f32), symmetric: bool) -> bool {
        let magnitude = min.abs().max(max.abs());
        let scaled = match symmetric || self.is_float {
            true => magnitude / (self.high - if self.is_signed() { 0.0 } else { self.middle() }),
            false => max.max(0.0) / (self.high - self.low) - min.min(0.0) / (self.high - self.low),
        };
        magnitude == 0.0 || scaled >= f32::MIN_POSITIVE
    }

    const fn middle(&self) -> f32 {
        ((self.high + 1.0) / 2.0).floor()
    }

    /// The quantized number, as a float.
    pub(crate) fn quantize(&self, number: f32, scale: f32, zero: f32) -> f32 {
        let scaled = number / scale;
        match self.elem {
            ElemType::Float8E4M3Fn => F8E4M3Fn::from_f32(scaled, true).to_f32(),
            ElemType::Float8E5M2 => F8E5M2::from_f32(scaled, true).to_f32(),
            ElemType::Float4E2M1 => F4E2M1::from_f32(scaled).to_f32(),
            _ => (rounded(scaled) + zero).clamp(self.low, self.high),
        }
    }

    /// A tensor of quantized numbers.
    pub(crate) fn tensor(&self, dims: &[i64], numbers: &[f32]) -> Result<Tensor, TensorError> {
        let mut codes = Codes::new(self, numbers.len())?;
        numbers.iter().for_each(|&number| codes.push(number));
        Ok(codes.finish(dims)?)
    }

    /// The low bits of the code of a number.
    fn code(&self, number: f32) -> u8 {
        match self.elem {
            ElemType::Float8E4M3Fn => F8E4M3Fn::from_f32(number, true).to_bits(),
            ElemType::Float8E5M2 => F8E5M2::from_f32(number, true).to_bits(),
            ElemType::Float4E2M1 => F4E2M1::from_f32(number).to_bits(),
            _ => number as i32 as u8,
        }
    }
}

/// A number rounded to the nearest integer, ties to even, or one beyond every range of integers of 16 bits: additions are faster than a
/// call of a function for each element.
fn rounded(number: f32) -> f32 {
    /// Numbers of this size are as far apart as integers.
    const INTEGERS: f32 = 12_582_912.0;
    (number.clamp(-2_097_152.0, 2_097_152.0) + INTEGERS) - INTEGERS
}

/// The codes of quantized numbers, packed as they arrive: a list of the numbers would be eight times as large.
struct Codes<'a> {
    format: &'a Format,
    bytes: Vec<u8>,
    /// The byte that is not full, and the bits that it has.
    open: (u8, u32),
}

impl<'a> Codes<'a> {
    fn new(format: &'a Format, count: usize) -> Result<Self, TensorError> {
        let bytes = reserved((count.saturating_mul(format.bits as usize)).div_ceil(8))?;
        Ok(Self { format, bytes, open: (0, 0) })
    }

    fn push(&mut self, number: f32) {
        match self.format.bits {
            16 => self.bytes.extend((number as i32 as u16).to_le_bytes()),
            8 => self.bytes.push(self.format.code(number)),
            bits => {
                let mask = (1_u8 << bits) - 1;
                let (byte, filled) = self.open;
                let byte = byte | ((self.format.code(number) & mask) << filled);
                self.open = (byte, filled + bits);
                if filled + bits >= 8 {
                    self.bytes.push(byte);
                    self.open = (0, 0);
                }
            }
        }
    }

    fn finish(mut self, dims: &[i64]) -> Result<Tensor, TensorFault> {
        if self.open.1 > 0 {
            self.bytes.push(self.open.0);
        }
        Tensor::from_raw(self.format.elem, dims.iter().copied(), self.bytes)
    }
}

/// A positive scale with all bits; 1 for numbers that are all zero.
fn scale(range: f32, steps: f32) -> f32 {
    if range == 0.0 { 1.0 } else { (range / steps).max(f32::MIN_POSITIVE) }
}

/// How weights are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// The source of external data.
    pub(crate) data: &'a dyn DataSource,
    /// Ends the work within a weight, too.
    pub(crate) interrupt: &'a Interrupt,
}

/// Why a weight is not read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadingError {
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<TensorFault> for ReadingError {
    fn from(fault: TensorFault) -> Self {
        Self::Tensor(fault.into())
    }
}

impl ReadingError {
    /// The error for the weight of a name.
    pub(crate) fn of(self, tensor: &str) -> QuantizeError {
        match self {
            Self::Tensor(reason) => QuantizeError::Weight { tensor: tensor.to_owned(), reason },
            Self::Stopped(stopped) => stopped.into(),
        }
    }
}

/// Calls a function with the elements of a tensor of `float` in order. External data is read a window at a time, so that memory does not
/// grow with the tensor.
fn windows(
    tensor: &Tensor,
    Reading { data, interrupt }: Reading<'_>,
    mut visit: impl FnMut(&[f32]),
) -> Result<(), ReadingError> {
    /// Bytes of a window.
    const WINDOW: u64 = 1 << 22;
    /// Elements between two checks of the interrupt.
    const WATCHED_ELEMENTS: usize = 1 << 18;
    let mut visit = |numbers: &[f32]| -> Result<(), Stopped> {
        numbers.chunks(WATCHED_ELEMENTS).try_for_each(|numbers| {
            interrupt.check()?;
            visit(numbers);
            Ok(())
        })
    };
    let (Payload::External(external), Some(length), true) =
        (tensor.payload(), tensor.byte_len(), tensor.faults().is_empty())
    else {
        let view = tensor.view::<f32>(data)?;
        visit(&view.to_slice()?)?;
        view.release(data);
        return Ok(());
    };
    let location = external.location().map_err(TensorFault::External)?;
    let offset = external.offset().map_err(TensorFault::External)?;
    let mut numbers: Vec<f32> = reserved(WINDOW as usize / size_of::<f32>())?;
    let mut at = 0;
    while at < length {
        let bytes = data
            .read(location, offset.saturating_add(at), Some(WINDOW.min(length - at)))
            .map_err(TensorError::from)?;
        numbers.clear();
        numbers.extend(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        visit(&numbers)?;
        data.release(&bytes);
        at += WINDOW;
    }
    Ok(())
}

/// A quantized tensor with its error.
pub(crate) struct Quantized {
    pub(crate) tensor: Tensor,
    pub(crate) scales: Vec<f32>,
    /// Empty if all are zero.
    pub(crate) zeros: Vec<f32>,
    pub(crate) max_error: f64,
    pub(crate) snr: f64,
}

/// Quantizes a tensor of `float`, or returns why it gets no scale.
pub(crate) fn quantize(
    tensor: &Tensor,
    format: &Format,
    layout: &Layout,
    symmetric: bool,
    reading: Reading<'_>,
) -> Result<Result<Quantized, NoScale>, ReadingError> {
    quantize_with(tensor, format, layout, symmetric, &[], reading)
}

/// Like [`quantize`], with scales that are not smaller than those of a list. One scale for all has to be at least the greatest.
pub(crate) fn quantize_with(
    tensor: &Tensor,
    format: &Format,
    layout: &Layout,
    symmetric: bool,
    least: &[f32],
    reading: Reading<'_>,
) -> Result<Result<Quantized, NoScale>, ReadingError> {
    let mut ranges = filled((f32::INFINITY, f32::NEG_INFINITY), layout.scales())?;
    let mut runs = layout.runs();
    windows(tensor, reading, |numbers| {
        runs.visit(numbers, |run, numbers| join(&mut ranges, run, numbers));
    })?;
    // A number that is not finite makes an end of the range that is not.
    let is_finite = |(least, greatest): &(f32, f32)| least.is_finite() && greatest.is_finite();
    if tensor.element_count() != Some(0) && !ranges.iter().all(is_finite) {
        return Ok(Err(NoScale::NotFinite));
    }
    // Others are zeros next to the greatest numbers.
    let size = |range: &(f32, f32)| range.0.abs().max(range.1.abs());
    let greatest = ranges.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    if greatest.is_some_and(|&range| !format.has_scale(range, symmetric)) {
        return Ok(Err(NoScale::TooSmall));
    }
    require_memory::<(f32, f32)>(layout.scales())?;
    let mut parameters: Vec<(f32, f32)> =
        ranges.iter().map(|&range| format.parameters(range, symmetric)).collect();
    let greatest = least.iter().copied().fold(0.0, f32::max);
    let is_one = parameters.len() == 1;
    for (index, (own, range)) in parameters.iter_mut().zip(&ranges).enumerate() {
        let least = if is_one { Some(greatest) } else { least.get(index).copied() }.unwrap_or(0.0);
        if size(range) == 0.0 && least > 0.0 {
            // Zeros have any scale.
            own.0 = least;
        } else if own.0 < least {
            // A wider range, which has the same zero point.
            let factor = least / own.0;
            let (scale, zero) = format.parameters((range.0 * factor, range.1 * factor), symmetric);
            *own = (scale.max(least), zero);
        }
    }
    Ok(Ok(quantized(tensor, format, layout, &parameters, reading)?))
}

/// The least and the greatest element of a tensor of `float`: zero if there are none, and not finite if one is not.
///
/// # Errors
///
/// Returns an error if the elements cannot be read, or the work is interrupted.
pub(crate) fn ends(tensor: &Tensor, reading: Reading<'_>) -> Result<(f32, f32), ReadingError> {
    let mut ends: Option<(f32, f32)> = None;
    windows(tensor, reading, |numbers| {
        for &number in numbers {
            let (least, greatest) = ends.unwrap_or((number, number));
            ends = Some((least_of(least, number), greatest_of(greatest, number)));
        }
    })?;
    Ok(ends.unwrap_or_default())
}

/// Joins the elements of a run to the ranges of their scales.
fn join(ranges: &mut [(f32, f32)], run: Run, numbers: &[f32]) {
    let ranges = ranges.get_mut(run.scale..).unwrap_or_default();
    let of = |range: (f32, f32), number: f32| (least_of(range.0, number), greatest_of(range.1, number));
    if run.advance == 0 {
        if let Some(range) = ranges.first_mut() {
            *range = numbers.iter().fold(*range, |range, &number| of(range, number));
        }
    } else {
        ranges.iter_mut().zip(numbers).for_each(|(range, &number)| *range = of(*range, number));
    }
}

/// The smaller one of two numbers, or the one that is not a number.
const fn least_of(a: f32, b: f32) -> f32 {
    if b < a || b.is_nan() { b } else { a }
}

/// The greater one of two numbers, or the one that is not a number.
const fn greatest_of(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

/// Quantizes a tensor of `float` with given scales and zero points; `None` if it has a number that is not finite.
pub(crate) fn quantize_to(
    tensor: &Tensor,
    format: &Format,
    layout: &Layout,
    parameters: &[(f32, f32)],
    reading: Reading<'_>,
) -> Result<Option<Quantized>, ReadingError> {
    let (least, greatest) = ends(tensor, reading)?;
    if !(least.is_finite() && greatest.is_finite()) {
        return Ok(None);
    }
    Ok(Some(quantized(tensor, format, layout, parameters, reading)?))
}

/// Quantizes finite numbers.
fn quantized(
    tensor: &Tensor,
    format: &Format,
    layout: &Layout,
    parameters: &[(f32, f32)],
    reading: Reading<'_>,
) -> Result<Quantized, ReadingError> {
    /// Elements that are rounded together.
    const TOGETHER: usize = 256;
    let count = usize::try_from(tensor.element_count().unwrap_or_default()).unwrap_or_default();
    let mut codes = Codes::new(format, count)?;
    require_memory::<(f32, f32)>(parameters.len())?;
    let mut sums = Noise::default();
    let mut found = [(0.0_f32, 0.0_f32); TOGETHER];
    let mut runs = layout.runs();
    windows(tensor, reading, |numbers| {
        runs.visit(numbers, |run, numbers| {
            for (index, numbers) in numbers.chunks(TOGETHER).enumerate() {
                let from = run.scale + index * TOGETHER * run.advance;
                let parameters = parameters.get(from..).unwrap_or_default();
                let round = |number: f32, (scale, zero): (f32, f32)| {
                    let code = format.quantize(number, scale, zero);
                    (code, (code - zero) * scale)
                };
                let numbers_and_found = numbers.iter().zip(&mut found);
                if run.advance == 0 {
                    let parameters = parameters.first().copied().unwrap_or((1.0, 0.0));
                    numbers_and_found.for_each(|(&number, found)| *found = round(number, parameters));
                } else {
                    numbers_and_found
                        .zip(parameters)
                        .for_each(|((&number, found), &parameters)| *found = round(number, parameters));
                }
                for (&number, &(code, rounded)) in numbers.iter().zip(&found) {
                    sums.add(f64::from(number), f64::from(rounded));
                    codes.push(code);
                }
            }
        });
    })?;
    let zeros: Vec<f32> = parameters.iter().map(|&(_, zero)| zero).collect();
    let has_zeros = zeros.iter().any(|&zero| zero != 0.0);
    Ok(Quantized {
        tensor: codes.finish(tensor.dims())?.held(reading.data),
        scales: parameters.iter().map(|&(scale, _)| scale).collect(),
        zeros: if has_zeros { zeros } else { Vec::new() },
        max_error: sums.max_error,
        snr: sums.ratio().unwrap_or(f64::NEG_INFINITY),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use onnx_types::tensor::NoData;

    use super::*;

    const READING: Reading<'_> = Reading { data: &NoData, interrupt: &Interrupt::NEVER };

    #[test]
    fn a_weight_is_not_quantized_to_its_end_after_the_interrupt() {
        let tensor = Tensor::vector(&vec![1.0_f32; 1 << 20]);
        let format = Format::of(ElemType::Int4).unwrap();
        let layout = Layout::blocked(&[1 << 20], 0, 32);
        // Two passes of four parts each.
        for (checks, is_complete) in [(0, false), (3, false), (6, false), (8, true)] {
            let left = std::sync::atomic::AtomicUsize::new(checks);
            let interrupt = Interrupt::when(move || {
                left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
            });
            let reading = Reading { data: &NoData, interrupt: &interrupt };
            let found = quantize(&tensor, &format, &layout, true, reading);
            let is_stopped = matches!(found, Err(ReadingError::Stopped(_)));
            assert_eq!(is_stopped, !is_complete, "{checks}");
        }
    }

    #[test]
    fn memory_that_is_refused_is_an_error() {
        let format = Format::of(ElemType::Int16).unwrap();
        let error = Codes::new(&format, usize::MAX / 2).err().unwrap();
        assert_eq!(error.limit(), Some(onnx_types::Limits::MEMORY));
        let error = ReadingError::from(error).of("w").to_string();
        assert!(
            error.starts_with("the elements of `w` cannot be read: the system has no memory for"),
            "{error}"
        );
    }

    #[test]
    fn formats_cover_their_range() {
        let of = |elem| Format::of(elem).map(|format| (format.low, format.high));
        assert_eq!(of(ElemType::Int4), Some((-8.0, 7.0)));
        assert_eq!(of(ElemType::Uint16), Some((0.0, 65535.0)));
        assert_eq!(of(ElemType::Uint2), Some((0.0, 3.0)));
        assert_eq!((of(ElemType::Int32), of(ElemType::Float16), of(ElemType::Bool)), (None, None, None));
    }

    #[test]
    fn ranges_beyond_float_have_finite_scales() {
        let format = Format::of(ElemType::Uint8).unwrap();
        let (scale, zero) = format.parameters((-2e38, 2e38), false);
        assert!((scale / (4e38 / 255.0_f64) as f32 - 1.0).abs() < 1e-5, "{scale}");
        let ends = (format.quantize(-2e38, scale, zero), format.quantize(2e38, scale, zero));
        assert!(ends.0 <= 1.0 && ends.1 >= 254.0, "{ends:?}");
    }

    #[test]
    fn scales_are_for_blocks_and_axes() {
        // The elements of [2, 5, 3] are their own numbers, so that their order is seen.
        let numbers: Vec<f32> = (0..30_u16).map(f32::from).collect();
        let scales = |layout: &Layout| -> Vec<usize> {
            let of = |window: usize| {
                let (mut found, mut seen) = (Vec::new(), Vec::new());
                let mut runs = layout.runs();
                for numbers in numbers.chunks(window) {
                    runs.visit(numbers, |run, numbers| {
                        assert_eq!(run.len, numbers.len());
                        found.extend((0..run.len).map(|index| run.scale + index * run.advance));
                        seen.extend_from_slice(numbers);
                    });
                }
                assert_eq!(seen, numbers);
                found
            };
            // Windows need not end where runs do.
            let whole = of(30);
            assert!([1, 2, 4, 7].iter().all(|&window| of(window) == whole));
            whole
        };
        let wanted = |of: &dyn Fn(usize, usize, usize) -> usize| -> Vec<usize> {
            (0..30).map(|element| of(element / 15, element / 3 % 5, element % 3)).collect()
        };
        let blocked = Layout::blocked(&[2, 5, 3], 1, 2);
        assert_eq!(blocked.scales(), 2 * 3 * 3);
        assert_eq!(scales(&blocked), wanted(&|outer, index, inner| (outer * 3 + index / 2) * 3 + inner));
        let last = Layout::blocked(&[2, 5, 3], 2, 2);
        assert_eq!(last.scales(), 2 * 5 * 2);
        assert_eq!(scales(&last), wanted(&|outer, index, inner| (outer * 5 + index) * 2 + inner / 2));
        let axis = Layout::per_axis(&[2, 5, 3], 1);
        assert_eq!((axis.scales(), scales(&axis)), (5, wanted(&|_, index, _| index)));
        let axis = Layout::per_axis(&[2, 5, 3], 2);
        assert_eq!((axis.scales(), scales(&axis)), (3, wanted(&|_, _, inner| inner)));
        assert_eq!((Layout::whole(30).scales(), scales(&Layout::whole(30))), (1, vec![0; 30]));
    }

    #[test]
    fn elements_are_packed_from_the_low_bits() {
        let format = Format::of(ElemType::Int4).unwrap();
        let tensor = format.tensor(&[3], &[-8.0, 7.0, -1.0]).unwrap();
        assert_eq!(tensor.iter_i64(&NoData).unwrap().collect::<Vec<_>>(), [-8, 7, -1]);
        let format = Format::of(ElemType::Uint2).unwrap();
        let tensor = format.tensor(&[5], &[3.0, 0.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(tensor.iter_i64(&NoData).unwrap().collect::<Vec<_>>(), [3, 0, 1, 2, 3]);
        let format = Format::of(ElemType::Uint16).unwrap();
        let tensor = format.tensor(&[2], &[65535.0, 1.0]).unwrap();
        assert_eq!(tensor.iter_i64(&NoData).unwrap().collect::<Vec<_>>(), [65535, 1]);
    }

    #[test]
    fn errors_are_at_most_half_a_step() {
        let numbers: Vec<f32> = (0..64).map(|number| (number as f32 * 0.37).sin() + 0.4).collect();
        for elem in [ElemType::Int8, ElemType::Uint8, ElemType::Int4, ElemType::Uint4, ElemType::Int16] {
            for symmetric in [true, false] {
                let format = Format::of(elem).unwrap();
                let layout = Layout::blocked(&[8, 8], 1, 4);
                let tensor = Tensor::from_slice([8, 8], &numbers).unwrap();
                let found = quantize(&tensor, &format, &layout, symmetric, READING).unwrap().unwrap();
                let step = found.scales.iter().copied().fold(0.0, f32::max);
                // The least number of a signed type has no counterpart, so the greatest one may be half a step beyond.
                assert!(
                    found.max_error <= f64::from(step) * 0.5001,
                    "{elem} {symmetric}: {}",
                    found.max_error
                );
            }
        }
        let zeros = Tensor::vector(&[0.0_f32; 4]);
        let format = Format::of(ElemType::Int8).unwrap();
        let found = quantize(&zeros, &format, &Layout::whole(4), true, READING).unwrap().unwrap();
        assert_eq!((found.scales, found.max_error), (vec![1.0], 0.0));
        let infinite = Tensor::vector(&[f32::INFINITY]);
        let found = quantize(&infinite, &format, &Layout::whole(1), true, READING).unwrap();
        assert_eq!(found.err(), Some(NoScale::NotFinite));
    }

    #[test]
    fn the_greatest_numbers_stay_finite() {
        for elem in
            [ElemType::Int8, ElemType::Uint8, ElemType::Uint4, ElemType::Uint2, ElemType::Float8E4M3Fn]
        {
            let format = Format::of(elem).unwrap();
            for (low, high) in [(f32::MIN, 1.0), (-1.0, f32::MAX), (-3.3e38, 3.3e38), (f32::MIN, f32::MAX)] {
                for symmetric in [true, false] {
                    let (scale, zero) = format.parameters((low, high), symmetric);
                    let of = |number: f32| (format.quantize(number, scale, zero) - zero) * scale;
                    assert!([low, high].into_iter().all(|end| of(end).is_finite()), "{elem} {low} {high}");
                    assert!(of(high.max(-low)).abs() > 2e38 || of(low) < -1.5e38, "{elem} {low} {high}");
                }
            }
        }
    }

    #[test]
    fn scales_are_not_subnormal() {
        for elem in [ElemType::Int8, ElemType::Uint8, ElemType::Int16, ElemType::Float8E4M3Fn] {
            let format = Format::of(elem).unwrap();
            let of = |numbers: &[f32], layout: &Layout| {
                quantize(&Tensor::vector(numbers), &format, layout, format.is_signed(), READING).unwrap()
            };
            for small in [1e-42, 1e-36 / format.high] {
                let found = of(&[small, -small], &Layout::whole(2));
                assert_eq!(found.err(), Some(NoScale::TooSmall), "{elem} {small}");
            }
            let held = of(&[1e-33, -1e-33], &Layout::whole(2)).unwrap();
            assert!(held.snr > 20.0 && held.scales[0].is_normal(), "{elem} {}", held.snr);
            // A channel of small numbers next to others is zero, and still has a scale.
            let held = of(&[1e-42, 1.0], &Layout::per_axis(&[2], 0)).unwrap();
            assert!(held.snr > 100.0 && held.scales.iter().all(|scale| scale.is_normal()), "{elem}");
        }
    }
}
