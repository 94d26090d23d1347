//! A tensor in a few numbers.

use onnx_diag::Locus;
use onnx_types::tensor::{Complex, DataSource, Element, NoData, Payload, Tensor, TensorView, bf16, f16};
use onnx_types::{ElemClass, ElemType, Interrupt};

use crate::cx::{Outcome, Stop};
use crate::fault::Failure;

/// Number of intervals of a [`Histogram`].
pub const HISTOGRAM_BINS: usize = 16;

/// Elements between two checks of the interrupt.
const INTERVAL: usize = 1 << 18;

/// The smallest or the greatest element.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Extremum {
    /// Of floats.
    Float(f64),
    /// Of integers and `bool`.
    Int(i128),
}

impl Extremum {
    /// The number; integers beyond 2⁵³ are rounded.
    #[must_use]
    pub const fn to_f64(self) -> f64 {
        match self {
            Self::Float(number) => number,
            Self::Int(number) => number as f64,
        }
    }
}

/// Number of finite elements in intervals of equal width from the minimum to the maximum, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// Number of elements in each interval.
    pub counts: [u64; HISTOGRAM_BINS],
}

/// Statistics of the elements of a tensor, or of several. Complex numbers count by their absolute value, strings by their
/// length in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of elements.
    pub elements: u64,
    /// Bytes of the elements.
    pub bytes: u64,
    /// The smallest finite element.
    pub min: Option<Extremum>,
    /// The greatest finite element.
    pub max: Option<Extremum>,
    /// The mean of the finite elements.
    pub mean: Option<f64>,
    /// The standard deviation of the finite elements.
    pub deviation: Option<f64>,
    /// Number of elements that are not a number.
    pub nans: u64,
    /// Number of infinite elements.
    pub infinities: u64,
    /// Number of elements that are 0; of strings, of those that are empty.
    pub zeros: u64,
    /// Number of floats that are not 0 and smaller than the smallest normal number of the type.
    pub subnormal: u64,
    /// How the finite elements are distributed. Not for several tensors together.
    pub histogram: Option<Histogram>,
}

impl Statistics {
    /// Number of elements that are finite.
    #[must_use]
    pub const fn finite(&self) -> u64 {
        self.elements.saturating_sub(self.nans).saturating_sub(self.infinities)
    }

    /// The statistics of the elements of both, without a histogram.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let pick = |a: Option<Extremum>, b: Option<Extremum>, is_better: fn(f64, f64) -> bool| match (a, b) {
            (Some(a), Some(b)) => Some(if is_better(b.to_f64(), a.to_f64()) { b } else { a }),
            (a, b) => a.or(b),
        };
        let (mean, deviation) = joined(self, other);
        Self {
            elements: self.elements.saturating_add(other.elements),
            bytes: self.bytes.saturating_add(other.bytes),
            min: pick(self.min, other.min, |b, a| b < a),
            max: pick(self.max, other.max, |b, a| b > a),
            mean,
            deviation,
            nans: self.nans.saturating_add(other.nans),
            infinities: self.infinities.saturating_add(other.infinities),
            zeros: self.zeros.saturating_add(other.zeros),
            subnormal: self.subnormal.saturating_add(other.subnormal),
            histogram: None,
        }
    }
}

/// Mean and deviation of two sets of numbers together.
fn joined(a: &Statistics, b: &Statistics) -> (Option<f64>, Option<f64>) {
    if a.finite() == 0 || b.finite() == 0 {
        return if b.finite() == 0 { (a.mean, a.deviation) } else { (b.mean, b.deviation) };
    }
    let (Some(mean_a), Some(mean_b)) = (a.mean, b.mean) else { return (None, None) };
    let (count_a, count_b) = (a.finite() as f64, b.finite() as f64);
    let count = count_a + count_b;
    let mean = mean_a * (count_a / count) + mean_b * (count_b / count);
    let extremes = [a.min, a.max, b.min, b.max].into_iter().flatten();
    let (least, greatest) =
        extremes.map(Extremum::to_f64).fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), end| {
            (least.min(end), greatest.max(end))
        });
    let scale = scale(least, greatest);
    let square = |deviation: f64, mean_of: f64| {
        let (deviation, distance) = (deviation * scale, mean_of * scale - mean * scale);
        deviation * deviation + distance * distance
    };
    let deviation = a.deviation.zip(b.deviation).map(|(a, b)| {
        let variance = square(a, mean_a) * (count_a / count) + square(b, mean_b) * (count_b / count);
        unscaled(variance.sqrt(), scale, (least, greatest))
    });
    (Some(mean), deviation)
}

/// A power of two: multiplied by it, numbers between two ends have squares that neither overflow nor become 0. It is 1 for
/// most numbers.
fn scale(least: f64, greatest: f64) -> f64 {
    match least.abs().max(greatest.abs()) {
        size if size.is_finite() && size > exp2(500) => exp2(-600),
        size if size < exp2(-500) => exp2(600),
        _ => 1.0,
    }
}

fn exp2(exponent: i32) -> f64 {
    2.0_f64.powi(exponent)
}

/// A deviation that was computed from scaled numbers. It is at most half of the distance of the ends, also where rounding
/// would make it infinite.
fn unscaled(deviation: f64, scale: f64, (least, greatest): (f64, f64)) -> f64 {
    if scale == 1.0 { deviation } else { (deviation / scale).min(greatest / 2.0 - least / 2.0) }
}

impl Statistics {
    /// The statistics of a tensor with its elements in memory.
    ///
    /// # Errors
    ///
    /// Returns a failure if the elements cannot be read, or the interrupt ends the work.
    pub fn of(tensor: &Tensor, interrupt: &Interrupt) -> Result<Self, Failure> {
        Self::read(tensor, &NoData, interrupt)
    }

    /// The statistics of a tensor, whose elements are read from `source` if they are stored in another file. A tensor of one
    /// repeated element is not written out.
    ///
    /// # Errors
    ///
    /// Returns a failure if the elements cannot be read, or the interrupt ends the work.
    pub fn read(tensor: &Tensor, source: &dyn DataSource, interrupt: &Interrupt) -> Result<Self, Failure> {
        let found = match tensor.payload() {
            Payload::Splat(_) => of_splat(tensor, interrupt),
            _ => of_elements(tensor, source, interrupt),
        };
        found.map_err(|stop| Failure::of_stop(stop, None, Locus::model()))
    }
}

/// The statistics of a tensor of one repeated element: those of the element, as often as it occurs.
fn of_splat(tensor: &Tensor, interrupt: &Interrupt) -> Outcome<Statistics> {
    tensor.validate()?;
    let count = tensor.element_count().unwrap_or_default();
    let bytes = tensor.byte_len().unwrap_or_default();
    if count == 0 {
        return Ok(Statistics::default());
    }
    let mut one = tensor.clone();
    one.set_dims([]);
    let mut found = of_elements(&one, &NoData, interrupt)?;
    (found.elements, found.bytes) = (count, bytes);
    let tallies = [&mut found.nans, &mut found.infinities, &mut found.zeros, &mut found.subnormal];
    tallies.into_iter().for_each(|tally| *tally = tally.saturating_mul(count));
    let counts = found.histogram.iter_mut().flat_map(|histogram| &mut histogram.counts);
    counts.for_each(|tally| *tally = tally.saturating_mul(count));
    Ok(found)
}

fn of_elements(tensor: &Tensor, source: &dyn DataSource, interrupt: &Interrupt) -> Outcome<Statistics> {
    let scan = Scan { interrupt, smallest_normal: smallest_normal(tensor.elem()) };
    let mut found = match tensor.elem() {
        ElemType::String => strings(tensor, &scan)?,
        ElemType::Float => scan.view(&tensor.view::<f32>(source)?, f64::from)?,
        ElemType::Double => scan.view(&tensor.view::<f64>(source)?, |number| number)?,
        ElemType::Float16 => scan.view(&tensor.view::<f16>(source)?, f16::to_f64)?,
        ElemType::Bfloat16 => scan.view(&tensor.view::<bf16>(source)?, bf16::to_f64)?,
        ElemType::Complex64 => scan
            .view(&tensor.view::<Complex<f32>>(source)?, |z| libm::hypot(f64::from(z.re), f64::from(z.im)))?,
        ElemType::Complex128 => {
            scan.view(&tensor.view::<Complex<f64>>(source)?, |z| libm::hypot(z.re, z.im))?
        }
        ElemType::Int8 => scan.integers(&tensor.view::<i8>(source)?, i128::from)?,
        ElemType::Uint8 => scan.integers(&tensor.view::<u8>(source)?, i128::from)?,
        ElemType::Int64 => scan.integers(&tensor.view::<i64>(source)?, i128::from)?,
        ElemType::Uint64 => scan.integers(&tensor.view::<u64>(source)?, i128::from)?,
        elem => {
            let numbers = other_numbers(tensor, source, interrupt)?;
            match elem.class() {
                ElemClass::Int | ElemClass::Uint | ElemClass::Bool => {
                    scan.counted(numbers.len(), |index| numbers.get(index).map(|&number| number as i128))?
                }
                _ => scan.floats(numbers.len(), |index| numbers.get(index).copied())?,
            }
        }
    };
    found.bytes = tensor.byte_len().unwrap_or_else(|| tensor.payload().resident_bytes());
    Ok(found)
}

/// The elements of the less common types, all of which `f64` represents.
fn other_numbers(tensor: &Tensor, source: &dyn DataSource, interrupt: &Interrupt) -> Outcome<Vec<f64>> {
    let mut numbers = Vec::new();
    for (index, number) in tensor.iter_f64(source)?.enumerate() {
        if index.is_multiple_of(INTERVAL) {
            interrupt.check().map_err(Stop::Interrupted)?;
        }
        numbers.push(number);
    }
    Ok(numbers)
}

fn strings(tensor: &Tensor, scan: &Scan<'_>) -> Outcome<Statistics> {
    let strings = tensor.string_bytes()?;
    let length = |index: usize| strings.get(index).map(|text| text.len() as i128);
    scan.counted(strings.len(), length)
}

/// The smallest normal number of a float type that has subnormal ones.
fn smallest_normal(elem: ElemType) -> f64 {
    match elem {
        ElemType::Float | ElemType::Bfloat16 | ElemType::Complex64 => f64::from(f32::MIN_POSITIVE),
        ElemType::Double | ElemType::Complex128 => f64::MIN_POSITIVE,
        ElemType::Float16 | ElemType::Float8E5M2 => f16::MIN_POSITIVE.to_f64(),
        ElemType::Float8E5M2Fnuz => f16::MIN_POSITIVE.to_f64() / 2.0,
        ElemType::Float8E4M3Fn => 1.0 / 64.0,
        ElemType::Float8E4M3Fnuz => 1.0 / 128.0,
        ElemType::Float4E2M1 | ElemType::Float6E2M3 => 1.0,
        ElemType::Float6E3M2 => 0.25,
        _ => 0.0,
    }
}

/// A pass over the elements of a tensor.
struct Scan<'a> {
    interrupt: &'a Interrupt,
    smallest_normal: f64,
}

/// Sums of a pass.
struct Sums {
    found: Statistics,
    sum: f64,
    /// What was lost when `sum` was rounded.
    lost: f64,
    least: f64,
    greatest: f64,
}

impl Sums {
    fn new(len: usize) -> Self {
        Self {
            found: Statistics { elements: len as u64, ..Statistics::default() },
            sum: 0.0,
            lost: 0.0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
        }
    }

    #[inline]
    fn add(&mut self, number: f64, smallest_normal: f64) {
        let size = number.abs();
        if !size.is_finite() {
            self.found.nans += u64::from(number.is_nan());
            self.found.infinities += u64::from(!number.is_nan());
            return;
        }
        self.found.zeros += u64::from(number == 0.0);
        self.found.subnormal += u64::from(size < smallest_normal && number != 0.0);
        self.least = self.least.min(number);
        self.greatest = self.greatest.max(number);
        // Neumaier's sum.
        let sum = self.sum + number;
        self.lost +=
            if self.sum.abs() >= size { (self.sum - sum) + number } else { (number - sum) + self.sum };
        self.sum = sum;
    }
}

impl Scan<'_> {
    fn view<T: Element>(&self, view: &TensorView<T>, number: impl Fn(T) -> f64) -> Outcome<Statistics> {
        self.floats(view.len(), |index| view.get(index).map(&number))
    }

    fn integers<T: Element>(&self, view: &TensorView<T>, number: impl Fn(T) -> i128) -> Outcome<Statistics> {
        self.counted(view.len(), |index| view.get(index).map(&number))
    }

    /// Calls `visit` with the elements of a tensor, in order.
    fn each<N>(&self, len: usize, get: &impl Fn(usize) -> Option<N>, mut visit: impl FnMut(N)) -> Outcome {
        let mut start = 0_usize;
        while start < len {
            self.interrupt.check().map_err(Stop::Interrupted)?;
            let end = start.saturating_add(INTERVAL).min(len);
            (start..end).filter_map(get).for_each(&mut visit);
            start = end;
        }
        Ok(())
    }

    fn floats(&self, len: usize, get: impl Fn(usize) -> Option<f64>) -> Outcome<Statistics> {
        let mut sums = Sums::new(len);
        self.each(len, &get, |number| sums.add(number, self.smallest_normal))?;
        let finite = sums.found.finite();
        if finite == 0 {
            return Ok(sums.found);
        }
        let mean = (sums.sum + sums.lost) / finite as f64;
        let mean = if sums.sum.is_finite() { mean } else { self.mean_of_large(len, &get, &sums)? };
        let scale = scale(sums.least, sums.greatest);
        let scaled_mean = mean * scale;
        let (mut squares, mut counts) = (0.0, [0_u64; HISTOGRAM_BINS]);
        let bins = Bins { least: sums.least, greatest: sums.greatest };
        self.each(len, &get, |number| {
            if number.is_finite() {
                let distance = number * scale - scaled_mean;
                squares += distance * distance;
                bins.count(number, &mut counts);
            }
        })?;
        let mut found = sums.found;
        found.min = Some(Extremum::Float(sums.least));
        found.max = Some(Extremum::Float(sums.greatest));
        found.mean = Some(mean);
        let deviation = (squares / finite as f64).sqrt();
        found.deviation = Some(unscaled(deviation, scale, (sums.least, sums.greatest)));
        found.histogram = Some(Histogram { counts });
        Ok(found)
    }

    /// The mean of numbers whose sum is beyond the range of `f64`.
    fn mean_of_large(&self, len: usize, get: &impl Fn(usize) -> Option<f64>, of: &Sums) -> Outcome<f64> {
        // 2⁶⁴ numbers fit.
        let scale = exp2(-64);
        let mut sums = Sums::new(len);
        self.each(len, get, |number| sums.add(number * scale, 0.0))?;
        let mean = (sums.sum + sums.lost) / of.found.finite() as f64 / scale;
        // Rounding must not make it infinite.
        Ok(mean.max(of.least).min(of.greatest))
    }

    fn counted(&self, len: usize, get: impl Fn(usize) -> Option<i128>) -> Outcome<Statistics> {
        let mut found = Statistics { elements: len as u64, ..Statistics::default() };
        let (mut sum, mut least, mut greatest) = (0_i128, i128::MAX, i128::MIN);
        self.each(len, &get, |number: i128| {
            found.zeros += u64::from(number == 0);
            least = least.min(number);
            greatest = greatest.max(number);
            // 2⁶³ numbers of 64 bits fit.
            sum = sum.saturating_add(number);
        })?;
        if len == 0 {
            return Ok(found);
        }
        let mean = sum as f64 / len as f64;
        let (mut squares, mut counts) = (0.0, [0_u64; HISTOGRAM_BINS]);
        let bins = Bins { least: least as f64, greatest: greatest as f64 };
        self.each(len, &get, |number: i128| {
            let number = number as f64;
            squares += (number - mean) * (number - mean);
            bins.count(number, &mut counts);
        })?;
        found.min = Some(Extremum::Int(least));
        found.max = Some(Extremum::Int(greatest));
        found.mean = Some(mean);
        found.deviation = Some((squares / len as f64).sqrt());
        found.histogram = Some(Histogram { counts });
        Ok(found)
    }
}

/// Intervals of a histogram.
struct Bins {
    least: f64,
    greatest: f64,
}

impl Bins {
    #[inline]
    fn count(&self, number: f64, counts: &mut [u64; HISTOGRAM_BINS]) {
        // Halves, so that the difference is finite.
        let width = self.greatest / 2.0 - self.least / 2.0;
        let part = if width > 0.0 { (number / 2.0 - self.least / 2.0) / width } else { 0.0 };
        // The conversion saturates.
        let bin = (part * HISTOGRAM_BINS as f64) as usize;
        if let Some(count) = counts.get_mut(bin.min(HISTOGRAM_BINS - 1)) {
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::Splat;

    use super::*;

    fn of(tensor: &Tensor) -> Statistics {
        Statistics::of(tensor, &Interrupt::NEVER).unwrap()
    }

    #[test]
    fn one_repeated_element_takes_no_time() {
        let splat = |element: f32| {
            let payload = Payload::Splat(Splat::new(&element.to_le_bytes()).unwrap());
            Tensor::from_parts(1, [1 << 40].into_iter().collect(), payload)
        };
        let found = of(&splat(2.5));
        assert_eq!(
            (found.elements, found.min, found.mean, found.max),
            (1 << 40, Some(Extremum::Float(2.5)), Some(2.5), Some(Extremum::Float(2.5)))
        );
        assert_eq!(of(&splat(f32::NAN)).nans, 1 << 40);
    }

    #[test]
    fn an_interrupt_ends_the_work() {
        let interrupt = Interrupt::new();
        interrupt.cancel();
        let failure = Statistics::of(&Tensor::vector(&[1.0_f32]), &interrupt).unwrap_err();
        assert_eq!(failure.kind(), crate::FailureKind::Stopped);
    }

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let tensor = Tensor::vector(&[1.0_f32, f32::NAN, 3.0, f32::INFINITY, f32::NEG_INFINITY, -1.0]);
        let found = of(&tensor);
        assert_eq!((found.elements, found.nans, found.infinities), (6, 1, 2));
        let extremes = (Some(Extremum::Float(-1.0)), Some(Extremum::Float(3.0)));
        assert_eq!(((found.min, found.max), found.mean), (extremes, Some(1.0)));
    }

    #[test]
    fn nothing_has_no_extremes() {
        let empty = of(&Tensor::vector::<f32>(&[]));
        assert_eq!(empty, Statistics::default());
        let texts = Tensor::from_strings([2], ["a", "b"]).unwrap();
        let found = of(&texts);
        assert_eq!((found.elements, found.bytes, found.min), (2, 2, Some(Extremum::Int(1))));
    }

    #[test]
    fn integers_are_exact() {
        let found = of(&Tensor::vector(&[i64::MIN, i64::MAX, 0]));
        let extremes = (Some(Extremum::Int(i64::MIN.into())), Some(Extremum::Int(i64::MAX.into())));
        assert_eq!((found.min, found.max), extremes);
        assert_eq!((found.zeros, found.mean), (1, Some(-1.0 / 3.0)));
    }

    #[test]
    fn narrow_types_and_complex_numbers() {
        use onnx_types::tensor::{F8E4M3Fn, I4};
        let found = of(&Tensor::vector(&[I4::new(-8).unwrap(), I4::new(7).unwrap(), I4::new(0).unwrap()]));
        assert_eq!((found.min, found.max, found.bytes), (Some(Extremum::Int(-8)), Some(Extremum::Int(7)), 2));
        let float8 = [F8E4M3Fn::from_f32(1.5, true), F8E4M3Fn::from_bits(0x7f), F8E4M3Fn::from_bits(1)];
        let found = of(&Tensor::vector(&float8));
        assert_eq!((found.nans, found.subnormal, found.max), (1, 1, Some(Extremum::Float(1.5))));
        let found = of(&Tensor::vector(&[Complex::new(3.0_f32, -4.0), Complex::new(0.0, 0.0)]));
        assert_eq!((found.zeros, found.max), (1, Some(Extremum::Float(5.0))));
    }

    #[test]
    fn a_histogram_counts_every_finite_element_once() {
        let found = of(&Tensor::vector(&[-1.0_f32, -1.0, 0.0, 1.0, f32::NAN]));
        let counts = found.histogram.unwrap().counts;
        assert_eq!((counts[0], counts[8], counts[15], counts.iter().sum::<u64>()), (2, 1, 1, 4));
        // The difference of the extremes is not a number of the type.
        let found = of(&Tensor::vector(&[f64::MIN, f64::MAX]));
        let counts = found.histogram.unwrap().counts;
        assert_eq!((counts[0], counts[15]), (1, 1));
    }

    #[test]
    fn statistics_of_parts_are_joined() {
        let (a, b) = ([1.0_f32, 2.0, f32::NAN], [5.0_f32, 0.0, 7.0, 3.0]);
        let joined = of(&Tensor::vector(&a)).and(&of(&Tensor::vector(&b)));
        let whole = of(&Tensor::vector(&[a.as_slice(), &b].concat()));
        assert_eq!((joined.min, joined.max, joined.nans), (whole.min, whole.max, whole.nans));
        assert!((joined.mean.unwrap() - whole.mean.unwrap()).abs() < 1e-12);
        assert!((joined.deviation.unwrap() - whole.deviation.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn statistics_of_numbers_with_sums_and_squares_beyond_the_range() {
        let close = |a: Option<f64>, b: f64| assert!((a.unwrap() / b - 1.0).abs() < 1e-12, "{a:?} {b}");
        let large = of(&Tensor::vector(&[1e300, -1e300, 0.0, 0.0]));
        assert_eq!(large.mean, Some(0.0));
        close(large.deviation, 1e300 / 2.0_f64.sqrt());
        let small = of(&Tensor::vector(&[3e-300, -3e-300]));
        close(small.deviation, 3e-300);
        // The sum overflows, and the mean is not in the middle.
        let found = of(&Tensor::vector(&[1.6e308, 1.6e308, 1.6e308, 0.0]));
        close(found.mean, 1.2e308);
        close(found.deviation, 1.6e308 * 0.75_f64.sqrt() / 2.0);
        let found = of(&Tensor::vector(&[f64::MAX, f64::MAX]));
        assert_eq!((found.mean, found.deviation), (Some(f64::MAX), Some(0.0)));
        let ends = of(&Tensor::vector(&[f64::MAX, f64::MIN]));
        close(ends.deviation, f64::MAX);
        // Together with others.
        let others = of(&Tensor::vector(&[1.0_f32; 4]));
        for both in [large.and(&others), others.and(&large)] {
            close(both.mean, 0.5);
            close(both.deviation, 1e300 / 2.0);
        }
        close(ends.and(&ends).deviation, f64::MAX);
        close(small.and(&small).deviation, 3e-300);
        assert_eq!(Statistics::default().and(&large).deviation, large.deviation);
        // What is not known of one is not known of both.
        let unknown = Statistics { deviation: None, ..large };
        assert_eq!((unknown.and(&others).deviation, others.and(&unknown).deviation), (None, None));
    }
}
