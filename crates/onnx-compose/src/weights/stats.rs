//! Statistics of elements.

use onnx_types::tensor::{Complex, DataSource, Tensor, TensorError, View, bf16, f16};
use onnx_types::{ElemClass, ElemType, Interrupt, Stopped};

use super::replace::WeightError;

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
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
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
    pub nan: u64,
    /// Number of infinite elements.
    pub infinite: u64,
    /// Number of elements that are 0; of strings, of those that are empty.
    pub zeros: u64,
    /// Number of floats that are not 0 and smaller than the smallest normal number of the type.
    pub subnormal: u64,
    /// How the finite elements are distributed. Not for several tensors together.
    pub histogram: Option<Histogram>,
}

impl Stats {
    /// Statistics of no elements.
    pub const EMPTY: Self = Self {
        elements: 0,
        bytes: 0,
        min: None,
        max: None,
        mean: None,
        deviation: None,
        nan: 0,
        infinite: 0,
        zeros: 0,
        subnormal: 0,
        histogram: None,
    };

    /// Number of elements that are finite.
    #[must_use]
    pub const fn finite(&self) -> u64 {
        self.elements.saturating_sub(self.nan).saturating_sub(self.infinite)
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
            nan: self.nan.saturating_add(other.nan),
            infinite: self.infinite.saturating_add(other.infinite),
            zeros: self.zeros.saturating_add(other.zeros),
            subnormal: self.subnormal.saturating_add(other.subnormal),
            histogram: None,
        }
    }
}

/// Mean and deviation of two sets of numbers together.
fn joined(a: &Stats, b: &Stats) -> (Option<f64>, Option<f64>) {
    let (Some(mean_a), Some(mean_b)) = (a.mean, b.mean) else {
        return if a.mean.is_some() { (a.mean, a.deviation) } else { (b.mean, b.deviation) };
    };
    let (count_a, count_b) = (a.finite() as f64, b.finite() as f64);
    let count = count_a + count_b;
    let mean = mean_a * (count_a / count) + mean_b * (count_b / count);
    let square = |stats: &Stats, mean_of: f64| {
        let deviation = stats.deviation.unwrap_or_default();
        deviation * deviation + (mean_of - mean) * (mean_of - mean)
    };
    let variance = square(a, mean_a) * (count_a / count) + square(b, mean_b) * (count_b / count);
    (Some(mean), Some(variance.sqrt()))
}

/// The statistics of a tensor, which reads its elements from `source` if they are stored in another file.
///
/// # Errors
///
/// Returns an error if the tensor is invalid, its elements cannot be read, or the work is interrupted.
pub fn stats(tensor: &Tensor, source: &dyn DataSource, interrupt: &Interrupt) -> Result<Stats, WeightError> {
    let scan = Scan { interrupt, smallest_normal: smallest_normal(tensor.elem()) };
    let mut stats = match tensor.elem() {
        ElemType::String => strings(tensor, &scan)?,
        ElemType::Float => scan.view(&tensor.view::<f32>(source)?, f64::from)?,
        ElemType::Double => scan.view(&tensor.view::<f64>(source)?, |number| number)?,
        ElemType::Float16 => scan.view(&tensor.view::<f16>(source)?, f16::to_f64)?,
        ElemType::Bfloat16 => scan.view(&tensor.view::<bf16>(source)?, bf16::to_f64)?,
        ElemType::Complex64 => {
            scan.view(&tensor.view::<Complex<f32>>(source)?, |z| f64::from(z.re).hypot(f64::from(z.im)))?
        }
        ElemType::Complex128 => scan.view(&tensor.view::<Complex<f64>>(source)?, |z| z.re.hypot(z.im))?,
        ElemType::Int8 => scan.integers(&tensor.view::<i8>(source)?, i128::from)?,
        ElemType::Uint8 => scan.integers(&tensor.view::<u8>(source)?, i128::from)?,
        ElemType::Int64 => scan.integers(&tensor.view::<i64>(source)?, i128::from)?,
        ElemType::Uint64 => scan.integers(&tensor.view::<u64>(source)?, i128::from)?,
        elem => {
            let numbers: Vec<f64> = other_numbers(tensor, source, interrupt)?;
            match elem.class() {
                ElemClass::Int | ElemClass::Uint | ElemClass::Bool => {
                    scan.counted(numbers.len(), |index| numbers.get(index).map(|&number| number as i128))?
                }
                _ => scan.floats(numbers.len(), |index| numbers.get(index).copied())?,
            }
        }
    };
    stats.bytes = tensor.byte_len().unwrap_or_else(|| tensor.payload().resident_bytes());
    Ok(stats)
}

/// The elements of the less common types, all of which `f64` represents.
fn other_numbers(
    tensor: &Tensor,
    source: &dyn DataSource,
    interrupt: &Interrupt,
) -> Result<Vec<f64>, WeightError> {
    let mut numbers = Vec::new();
    for (index, number) in tensor.iter_f64(source)?.enumerate() {
        if index % INTERVAL == 0 {
            interrupt.check()?;
        }
        numbers.push(number);
    }
    Ok(numbers)
}

fn strings(tensor: &Tensor, scan: &Scan<'_>) -> Result<Stats, WeightError> {
    let strings = tensor.string_bytes()?;
    let length = |index: usize| strings.get(index).map(|text| text.len() as i128);
    Ok(scan.counted(strings.len(), length)?)
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
    stats: Stats,
    sum: f64,
    /// What was lost when `sum` was rounded.
    lost: f64,
    least: f64,
    greatest: f64,
}

impl Sums {
    #[inline]
    fn add(&mut self, number: f64, smallest_normal: f64) {
        let size = number.abs();
        if !size.is_finite() {
            self.stats.nan += u64::from(number.is_nan());
            self.stats.infinite += u64::from(!number.is_nan());
            return;
        }
        self.stats.zeros += u64::from(number == 0.0);
        self.stats.subnormal += u64::from(size < smallest_normal && number != 0.0);
        self.least = self.least.min(number);
        self.greatest = self.greatest.max(number);
        // Neumaier's sum.
        let sum = self.sum + number;
        self.lost += if self.sum.abs() >= size { (self.sum - sum) + number } else { (number - sum) + self.sum };
        self.sum = sum;
    }
}

impl Scan<'_> {
    fn view<T: onnx_types::tensor::Element>(
        &self,
        view: &View<T>,
        number: impl Fn(T) -> f64,
    ) -> Result<Stats, Stopped> {
        self.floats(view.len(), |index| view.get(index).map(&number))
    }

    fn integers<T: onnx_types::tensor::Element>(
        &self,
        view: &View<T>,
        number: impl Fn(T) -> i128,
    ) -> Result<Stats, Stopped> {
        self.counted(view.len(), |index| view.get(index).map(&number))
    }

    /// Calls `visit` with the elements of a tensor, in order.
    fn each<N>(&self, len: usize, get: &impl Fn(usize) -> Option<N>, mut visit: impl FnMut(N)) -> Result<(), Stopped> {
        let mut start = 0_usize;
        while start < len {
            self.interrupt.check()?;
            let end = start.saturating_add(INTERVAL).min(len);
            (start..end).filter_map(get).for_each(&mut visit);
            start = end;
        }
        Ok(())
    }

    fn floats(&self, len: usize, get: impl Fn(usize) -> Option<f64>) -> Result<Stats, Stopped> {
        let mut sums = Sums {
            stats: Stats { elements: len as u64, ..Stats::EMPTY },
            sum: 0.0,
            lost: 0.0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
        };
        self.each(len, &get, |number| sums.add(number, self.smallest_normal))?;
        let mut stats = sums.stats;
        let finite = stats.finite();
        if finite == 0 {
            return Ok(stats);
        }
        // Sums beyond the range of `f64` have no mean.
        let mean = (sums.sum + sums.lost) / finite as f64;
        let mean = if sums.sum.is_finite() { mean } else { sums.least / 2.0 + sums.greatest / 2.0 };
        let (mut squares, mut counts) = (0.0, [0_u64; HISTOGRAM_BINS]);
        let bins = Bins { least: sums.least, greatest: sums.greatest };
        self.each(len, &get, |number| {
            if number.is_finite() {
                squares += (number - mean) * (number - mean);
                bins.count(number, &mut counts);
            }
        })?;
        stats.min = Some(Extremum::Float(sums.least));
        stats.max = Some(Extremum::Float(sums.greatest));
        stats.mean = sums.sum.is_finite().then_some(mean);
        stats.deviation = Some((squares / finite as f64).sqrt()).filter(|deviation| deviation.is_finite());
        stats.histogram = Some(Histogram { counts });
        Ok(stats)
    }

    fn counted(&self, len: usize, get: impl Fn(usize) -> Option<i128>) -> Result<Stats, Stopped> {
        let mut stats = Stats { elements: len as u64, ..Stats::EMPTY };
        let (mut sum, mut least, mut greatest) = (0_i128, i128::MAX, i128::MIN);
        self.each(len, &get, |number: i128| {
            stats.zeros += u64::from(number == 0);
            least = least.min(number);
            greatest = greatest.max(number);
            // 2⁶³ numbers of 64 bits fit.
            sum = sum.saturating_add(number);
        })?;
        if len == 0 {
            return Ok(stats);
        }
        let mean = sum as f64 / len as f64;
        let (mut squares, mut counts) = (0.0, [0_u64; HISTOGRAM_BINS]);
        let bins = Bins { least: least as f64, greatest: greatest as f64 };
        self.each(len, &get, |number: i128| {
            let number = number as f64;
            squares += (number - mean) * (number - mean);
            bins.count(number, &mut counts);
        })?;
        stats.min = Some(Extremum::Int(least));
        stats.max = Some(Extremum::Int(greatest));
        stats.mean = Some(mean);
        stats.deviation = Some((squares / len as f64).sqrt());
        stats.histogram = Some(Histogram { counts });
        Ok(stats)
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

impl From<TensorError> for WeightError {
    fn from(error: TensorError) -> Self {
        Self::Tensor(error)
    }
}
