//! How the numbers of a value are distributed, over any number of runs.

use super::Method;
use crate::weights::Format;

/// Most intervals of a histogram.
const MOST: i64 = 2048;
/// Candidates for an end of a range.
const CANDIDATES: u32 = 64;
/// The part of the numbers that may be beyond a range by the divergence. The counts of few numbers, or of numbers of a few kinds, say too
/// little about a distribution to cut more of it off.
const MOST_BEYOND: f64 = 0.001;

/// Numbers of elements in intervals whose width is a power of two. When a number is out of range, neighboring intervals are joined, so
/// that the counts are exact, whatever the order of the numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// The width of an interval is two to this power.
    exponent: i32,
    /// The number of the first interval: it begins at this many widths.
    first: i64,
    counts: Vec<u64>,
    /// The least and the greatest number; `None` without numbers.
    ends: Option<(f32, f32)>,
    /// Whether there was a number that is not finite.
    pub(crate) has_other: bool,
}

impl Histogram {
    /// Adds numbers; `is_counted` is `false` if only the ends are needed.
    pub(crate) fn add(&mut self, numbers: &[f32], is_counted: bool) {
        let (least, greatest, is_finite) = ends(numbers);
        self.has_other |= !is_finite;
        if least > greatest {
            return;
        }
        let ends = self.ends.unwrap_or((least, greatest));
        self.ends = Some((ends.0.min(least), ends.1.max(greatest)));
        if is_counted {
            self.cover();
            let width = self.width();
            for &number in numbers.iter().filter(|number| number.is_finite()) {
                let index = (f64::from(number) / width).floor() as i64 - self.first;
                if let Some(count) = usize::try_from(index).ok().and_then(|index| self.counts.get_mut(index))
                {
                    *count += 1;
                }
            }
        }
    }

    /// The least and the greatest number.
    #[cfg(test)]
    const fn ends(&self) -> Option<(f32, f32)> {
        self.ends
    }

    fn width(&self) -> f64 {
        2.0_f64.powi(self.exponent)
    }

    /// Makes room for all numbers between the ends.
    fn cover(&mut self) {
        let Some((least, greatest)) = self.ends else { return };
        let (least, greatest) = (f64::from(least), f64::from(greatest));
        let size = least.abs().max(greatest.abs()).max(f64::from(f32::MIN_POSITIVE));
        if self.counts.is_empty() {
            let finest = ((greatest - least).max(f64::from(f32::MIN_POSITIVE)) / MOST as f64).log2().ceil();
            // The number of an interval has at most 40 bits.
            self.exponent = finest.max((size.log2() - 40.0).ceil()) as i32;
            self.first = (least / self.width()).floor() as i64;
        }
        loop {
            let width = self.width();
            let ends = [(least / width).floor(), (greatest / width).floor()];
            if ends.iter().all(|end| end.abs() < 1e15) {
                let from = (ends[0] as i64).min(self.first);
                let to = (ends[1] as i64).max(self.first + self.counts.len() as i64 - 1);
                if to - from < MOST {
                    let before = usize::try_from(self.first - from).unwrap_or(0);
                    self.counts.splice(0..0, std::iter::repeat_n(0, before));
                    self.counts.resize(usize::try_from(to - from + 1).unwrap_or(1), 0);
                    self.first = from;
                    return;
                }
            }
            self.join();
        }
    }

    /// Joins neighboring intervals.
    fn join(&mut self) {
        let first = self.first.div_euclid(2);
        let mut counts = vec![0; self.counts.len() / 2 + 1];
        for (number, count) in (self.first..).zip(&self.counts) {
            let index = usize::try_from(number.div_euclid(2) - first).unwrap_or(0);
            if let Some(joined) = counts.get_mut(index) {
                *joined += count;
            }
        }
        (self.exponent, self.first, self.counts) = (self.exponent + 1, first, counts);
    }

    /// The range for quantization; `None` without numbers.
    pub(crate) fn range(&self, method: Method, format: &Format, symmetric: bool) -> Option<(f32, f32)> {
        let ends = self.ends?;
        let range = match method {
            Method::MinMax => ends,
            Method::Percentile(part) => self.percentile(part),
            Method::Entropy => self.entropy(format),
            Method::Mse => self.least_error(format, symmetric),
        };
        Some((range.0.max(ends.0), range.1.min(ends.1)))
    }

    /// The middles of the intervals with their counts.
    fn middles(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let width = self.width();
        (self.first..).zip(&self.counts).map(move |(number, &count)| ((number as f64 + 0.5) * width, count))
    }

    /// The range that has this part of the numbers, in percent, with as many below it as above.
    fn percentile(&self, part: f64) -> (f32, f32) {
        let total: u64 = self.counts.iter().sum();
        let cut = total as f64 * (100.0 - part).max(0.0) / 200.0;
        let end = |counts: &mut dyn Iterator<Item = &u64>| {
            let mut sum = 0;
            counts
                .take_while(|&&count| {
                    sum += count;
                    sum as f64 <= cut
                })
                .count() as i64
        };
        let low = end(&mut self.counts.iter());
        let high = self.counts.len() as i64 - end(&mut self.counts.iter().rev());
        let width = self.width();
        (((self.first + low) as f64 * width) as f32, ((self.first + high) as f64 * width) as f32)
    }

    /// The range with the least expected square of the error: first the greater end is moved, then the other one.
    fn least_error(&self, format: &Format, symmetric: bool) -> (f32, f32) {
        let Some(mut best) = self.ends else { return (0.0, 0.0) };
        for is_high in [true, false, true] {
            let (from, mut least) = (best, f64::INFINITY);
            for step in 1..=CANDIDATES {
                let part = step as f32 / CANDIDATES as f32;
                let Some(ends) = self.ends else { continue };
                let candidate = match (is_high, symmetric) {
                    (_, true) => (ends.0 * part, ends.1 * part),
                    (true, _) => (from.0, ends.1 * part),
                    (false, _) => (ends.0 * part, from.1),
                };
                let error = self.error(candidate, format, symmetric);
                if error <= least {
                    (best, least) = (candidate, error);
                }
            }
        }
        best
    }

    /// The expected sum of the squares of the errors.
    fn error(&self, range: (f32, f32), format: &Format, symmetric: bool) -> f64 {
        let (scale, zero) = format.parameters(range, symmetric);
        let (low, high) = ((format.low - zero) * scale, (format.high - zero) * scale);
        let (low, high, step) = (f64::from(low), f64::from(high), f64::from(scale));
        let error = |number: f64| {
            if format.is_float() {
                let number = number as f32;
                return f64::from(format.quantize(number, scale, zero) * scale - number);
            }
            let beyond = (number - number.clamp(low, high)).abs();
            // A number within the range is half a step away at most, a third of the square of that on average.
            if beyond > 0.0 { beyond } else { step / 12.0_f64.sqrt() }
        };
        self.middles().map(|(number, count)| error(number).powi(2) * count as f64).sum()
    }

    /// The range of magnitudes whose quantized distribution is nearest to the distribution, by the divergence of Kullback and Leibler.
    fn entropy(&self, format: &Format) -> (f32, f32) {
        let Some((least, greatest)) = self.ends else { return (0.0, 0.0) };
        let magnitude = f64::from(least.abs().max(greatest.abs()));
        let bins = MOST as usize;
        let mut counts = vec![0.0_f64; bins];
        for (number, count) in self.middles() {
            let bin = (number.abs() / magnitude * bins as f64) as usize;
            if let Some(sum) = counts.get_mut(bin.min(bins - 1)) {
                *sum += count as f64;
            }
        }
        // Zero is exact in every range, and most numbers behind a `Relu` are zero: as one level with its neighbors, they would count as an
        // error of wide ranges.
        if let [zero, next, ..] = counts.as_mut_slice() {
            *zero = *next;
        }
        let levels = f64::from(format.high - format.low) + 1.0;
        let levels = (if least < 0.0 { levels / 2.0 } else { levels }) as usize;
        let (mut best, mut limit) = (f64::INFINITY, magnitude);
        let most_beyond = counts.iter().sum::<f64>() * MOST_BEYOND;
        for end in (levels.min(bins)..=bins).step_by(16) {
            if counts.iter().skip(end).sum::<f64>() > most_beyond {
                continue;
            }
            let divergence = divergence(&counts, end, levels);
            if divergence < best {
                (best, limit) = (divergence, magnitude * end as f64 / bins as f64);
            }
        }
        (-limit as f32, limit as f32)
    }
}

/// The divergence between counts up to `end`, with all others added to the last one, and their average over `levels` groups.
fn divergence(counts: &[f64], end: usize, levels: usize) -> f64 {
    let (inside, outside) = counts.split_at(end.min(counts.len()));
    let outside: f64 = outside.iter().sum();
    let total: f64 = inside.iter().sum::<f64>();
    if total == 0.0 || levels == 0 {
        return f64::INFINITY;
    }
    let mut sum = 0.0;
    for level in 0..levels {
        let (from, to) = (level * end / levels, (level + 1) * end / levels);
        let Some(group) = inside.get(from..to) else { continue };
        let used = group.iter().filter(|&&count| count > 0.0).count().max(1) as f64;
        let average = group.iter().sum::<f64>() / used / total;
        for (bin, &count) in (from..).zip(group) {
            let count = if bin + 1 == end { count + outside } else { count };
            let part = count / (total + outside);
            if part > 0.0 {
                // A number beyond the range is where the quantized distribution has none.
                sum += part * (part / average.max(1e-12)).ln();
            }
        }
    }
    sum
}

/// The least and the greatest of the finite numbers, and whether all are finite. Numbers are compared in lanes, as processors do it.
fn ends(numbers: &[f32]) -> (f32, f32, bool) {
    const LANES: usize = 8;
    let mut lanes = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES], [true; LANES]);
    let mut join = |numbers: &[f32]| {
        let (least, greatest, is_finite) = &mut lanes;
        for (lane, &number) in numbers.iter().enumerate().take(LANES) {
            let finite = number.is_finite();
            is_finite[lane] &= finite;
            least[lane] = if finite & (number < least[lane]) { number } else { least[lane] };
            greatest[lane] = if finite & (number > greatest[lane]) { number } else { greatest[lane] };
        }
    };
    let (whole, rest) = numbers.as_chunks::<LANES>();
    whole.iter().for_each(|numbers| join(numbers));
    join(rest);
    let (least, greatest, is_finite) = lanes;
    let least = least.into_iter().fold(f32::INFINITY, f32::min);
    let greatest = greatest.into_iter().fold(f32::NEG_INFINITY, f32::max);
    (least, greatest, is_finite.into_iter().all(|finite| finite))
}

#[cfg(test)]
mod tests {
    use onnx_types::ElemType;

    use super::*;

    fn of(numbers: &[f32]) -> Histogram {
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|&number| histogram.add(&[number], true));
        histogram
    }

    #[test]
    fn ends_are_those_of_finite_numbers() {
        let all: Vec<f32> = (0..40_u16).map(|index| f32::from(index * 37 % 41) - 20.0).collect();
        for length in 0..all.len() {
            for other in [None, Some(f32::NAN), Some(f32::INFINITY), Some(f32::NEG_INFINITY)] {
                let mut numbers = all[..length].to_vec();
                let place = length / 2;
                if let Some(slot) = numbers.get_mut(place)
                    && let Some(other) = other
                {
                    *slot = other;
                }
                let finite = || numbers.iter().copied().filter(|number| number.is_finite());
                let least = finite().fold(f32::INFINITY, f32::min);
                let greatest = finite().fold(f32::NEG_INFINITY, f32::max);
                let is_finite = finite().count() == length;
                assert_eq!(ends(&numbers), (least, greatest, is_finite), "{length} numbers with {other:?}");
            }
        }
    }

    #[test]
    fn counts_are_exact_in_any_order() {
        let mut numbers: Vec<f32> = (0..500).map(|index| ((index as f32) * 0.7).sin() * 3.0).collect();
        numbers.extend([1000.0, -2.5, 0.0, 1e-30]);
        let forward = of(&numbers);
        numbers.reverse();
        let backward = of(&numbers);
        assert_eq!(forward.counts.iter().sum::<u64>(), 504);
        assert_eq!(backward.counts.iter().sum::<u64>(), 504);
        assert_eq!((forward.ends(), backward.ends()), (forward.ends(), forward.ends()));
        assert!(forward.counts.len() <= 2048);
        assert_eq!(of(&[0.0, 0.0]).ends(), Some((0.0, 0.0)));
        let mut other = of(&[f32::NAN]);
        assert_eq!((other.ends(), other.has_other), (None, true));
        other.add(&[f32::NEG_INFINITY, 2.0, f32::MAX, f32::MIN], true);
        assert_eq!(other.ends(), Some((f32::MIN, f32::MAX)));
    }

    #[test]
    fn zeros_do_not_narrow_a_range() {
        let mut numbers = vec![0.0; 18_000];
        numbers.extend((0..2000_u16).map(|number| f32::from(number) / 1000.0));
        let mut histogram = Histogram::default();
        histogram.add(&numbers, true);
        let uint8 = Format::of(ElemType::Uint8).unwrap();
        assert_eq!(histogram.range(Method::Entropy, &uint8, false), Some((0.0, 1.999)));
    }

    #[test]
    fn few_numbers_are_not_cut_off() {
        let digits: Vec<f32> = (0..32_000_u16).map(|index| f32::from(index % 10)).collect();
        let few: Vec<f32> = (0..48_u16).map(|index| (f32::from(index) / 7.0).sin().powi(3)).collect();
        let uint8 = Format::of(ElemType::Uint8).unwrap();
        for numbers in [digits, few] {
            let mut histogram = Histogram::default();
            histogram.add(&numbers, true);
            assert_eq!(histogram.range(Method::Entropy, &uint8, false), histogram.ends());
        }
    }

    #[test]
    fn methods_cut_outliers() {
        let mut numbers: Vec<f32> = (0..20_000).map(|index| (index % 200) as f32 / 100.0 - 1.0).collect();
        numbers.push(50.0);
        let mut histogram = Histogram::default();
        histogram.add(&numbers, true);
        let int8 = Format::of(ElemType::Int8).unwrap();
        let range = |method| histogram.range(method, &int8, false).unwrap();
        assert_eq!(range(Method::MinMax), (-1.0, 50.0));
        let (low, high) = range(Method::Percentile(99.9));
        assert!(low <= -0.9 && high < 1.1, "{low} {high}");
        let (low, high) = range(Method::Mse);
        assert!(low <= -0.9 && high < 50.0, "{low} {high}");
        let (low, high) = range(Method::Entropy);
        assert!(low == -1.0 && high < 50.0, "{low} {high}");
        assert!(Histogram::default().range(Method::Mse, &int8, false).is_none());
    }
}
