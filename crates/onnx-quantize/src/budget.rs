//! Which of several parts are quantized, so that the outputs have a quality: chosen by what each part does to the outputs.

use onnx_diag::Quoted;

use crate::measure::{MeasuredOutput, least_ratio};
use crate::weights::QuantizeError;

/// The most runs of the quantized model on the inputs that a choice takes.
pub(crate) const MOST_RUNS: usize = 40;
/// The parts that are measured on their own at first.
const FIRST_PARTS: usize = 8;
/// The runs that remain for whole choices.
const CHECKS: usize = 8;

/// How a trial is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trial {
    /// To compare parts: some inputs are enough.
    Part,
    /// Whether the outputs are within the budget: on all inputs.
    Whole,
}

/// What was chosen.
pub(crate) struct Chosen {
    /// Whether each item is quantized.
    pub(crate) quantized: Vec<bool>,
    /// How far the outputs are apart then.
    pub(crate) outputs: Vec<MeasuredOutput>,
    /// Number of trials.
    pub(crate) runs: usize,
}

/// A measurement of the outputs if some items are quantized.
pub(crate) type Measure<'a> = dyn FnMut(&[bool], Trial) -> Result<Vec<MeasuredOutput>, QuantizeError> + 'a;

/// Items that follow one another.
struct Part {
    start: usize,
    end: usize,
    /// The noise that only they add to each output, as a part of its signal.
    noise: Vec<f64>,
}

impl Part {
    const fn len(&self) -> usize {
        self.end - self.start
    }

    /// The noise for each item.
    fn density(&self) -> f64 {
        self.noise.iter().copied().fold(0.0, f64::max) / self.len() as f64
    }
}

/// Chooses from items in the order of the model. Errors do not add up by the errors of the parts: those of some disappear, and those of
/// others grow on their way. So each part of the model is quantized while the rest stays, and the outputs are measured; a part with too
/// much noise is halved. The parts with the least noise for each item are quantized, as many as the budget permits, which is measured again.
pub(crate) fn choose(count: usize, snr: f64, measure: &mut Measure<'_>) -> Result<Chosen, QuantizeError> {
    let mut search = Search { count, snr, measure, runs: 0, best: None };
    let all = vec![true; count];
    if search.is_within(&all)? || count == 0 {
        return Ok(search.finish());
    }
    if count > 1 {
        let parts = search.parts()?;
        search.check(parts)?;
    }
    if search.best.is_none() {
        search.keep_all()?;
    }
    Ok(search.finish())
}

struct Search<'a, 'b> {
    count: usize,
    snr: f64,
    measure: &'a mut Measure<'b>,
    runs: usize,
    /// The best choice that is within the budget.
    best: Option<(Vec<bool>, Vec<MeasuredOutput>)>,
}

impl Search<'_, '_> {
    /// The noise that the budget permits, as a part of the signal.
    fn limit(&self) -> f64 {
        10_f64.powf(-self.snr / 10.0)
    }

    fn is_within(&mut self, quantized: &[bool]) -> Result<bool, QuantizeError> {
        self.runs += 1;
        let outputs = (self.measure)(quantized, Trial::Whole)?;
        let least = least_ratio(&outputs);
        if least.is_none() && !outputs.is_empty() {
            return Err(match outputs.iter().find(|output| output.is_never_finite()) {
                Some(output) => QuantizeError::NotMeasured(format!(
                    "no number of the output {} is finite, before quantization and after it",
                    Quoted(&output.name)
                )),
                None => QuantizeError::NoRatio,
            });
        }
        let is_within = least.is_none_or(|least| least >= self.snr);
        let number = |quantized: &[bool]| quantized.iter().filter(|&&is| is).count();
        let is_better = || self.best.as_ref().is_none_or(|(best, _)| number(best) < number(quantized));
        if is_within && is_better() || self.count == 0 {
            self.best = Some((quantized.to_vec(), outputs));
        }
        Ok(is_within)
    }

    fn part(&mut self, start: usize, end: usize) -> Result<Part, QuantizeError> {
        let quantized: Vec<bool> = (0..self.count).map(|index| (start..end).contains(&index)).collect();
        self.runs += 1;
        let outputs = (self.measure)(&quantized, Trial::Part)?;
        let noise = outputs.iter().filter_map(|output| match output.ratio()? {
            snr if snr.is_nan() => Some(f64::INFINITY),
            snr => Some(10_f64.powf(-snr / 10.0)),
        });
        Ok(Part { start, end, noise: noise.collect() })
    }

    /// Measures parts, and halves those that do not fit.
    fn parts(&mut self) -> Result<Vec<Part>, QuantizeError> {
        let first = FIRST_PARTS.min(self.count);
        let mut parts = Vec::new();
        for index in 0..first {
            parts.push(self.part(index * self.count / first, (index + 1) * self.count / first)?);
        }
        while self.runs + 2 + CHECKS <= MOST_RUNS {
            let fitting = self.fitting(&mut parts);
            // The largest part that is left out has the most to gain.
            let rest = parts.iter().enumerate().skip(fitting);
            let Some((index, _)) = rest.filter(|(_, part)| part.len() > 1).max_by_key(|(_, part)| part.len())
            else {
                break;
            };
            let part = parts.remove(index);
            let middle = part.start.midpoint(part.end);
            parts.push(self.part(part.start, middle)?);
            parts.push(self.part(middle, part.end)?);
        }
        Ok(parts)
    }

    /// Sorts parts by their noise, and counts the first ones that are within the budget together.
    fn fitting(&self, parts: &mut [Part]) -> usize {
        parts.sort_by(|a, b| a.density().total_cmp(&b.density()).then(a.start.cmp(&b.start)));
        let mut sums: Vec<f64> = Vec::new();
        let limit = self.limit();
        parts
            .iter()
            .take_while(|part| {
                sums.resize(part.noise.len().max(sums.len()), 0.0);
                sums.iter_mut().zip(&part.noise).for_each(|(sum, noise)| *sum += noise);
                sums.iter().all(|&sum| sum <= limit)
            })
            .count()
    }

    /// Measures the first parts together: from the number that should fit, up or down by bisection.
    fn check(&mut self, mut parts: Vec<Part>) -> Result<(), QuantizeError> {
        let fitting = self.fitting(&mut parts);
        // All parts together were measured first.
        let (mut low, mut high) = (0, parts.len().saturating_sub(1));
        let mut number = fitting.min(high);
        while low < high && number > 0 && self.runs < MOST_RUNS - 1 {
            let quantized = self.quantized(parts.iter().take(number));
            match self.is_within(&quantized)? {
                true => low = number,
                false => high = number - 1,
            }
            number = low + (high - low).div_ceil(2);
        }
        Ok(())
    }

    fn quantized<'p>(&self, parts: impl Iterator<Item = &'p Part>) -> Vec<bool> {
        let mut quantized = vec![false; self.count];
        for part in parts {
            quantized.iter_mut().take(part.end).skip(part.start).for_each(|is| *is = true);
        }
        quantized
    }

    /// Nothing is quantized: that is within every budget.
    fn keep_all(&mut self) -> Result<(), QuantizeError> {
        self.runs += 1;
        let none = vec![false; self.count];
        let outputs = (self.measure)(&none, Trial::Whole)?;
        self.best = Some((none, outputs));
        Ok(())
    }

    fn finish(self) -> Chosen {
        let (quantized, outputs) = self.best.unwrap_or_default();
        Chosen { quantized, outputs, runs: self.runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A choice for items that each add noise to one output.
    fn chosen(noise: &[f64], snr: f64) -> (Vec<usize>, usize) {
        let mut measure = |quantized: &[bool], _| {
            let sum: f64 = noise.iter().zip(quantized).filter(|(_, is)| **is).map(|(noise, _)| noise).sum();
            let snr = -10.0 * sum.log10();
            Ok(vec![MeasuredOutput {
                name: "y".to_owned(),
                elements: 1,
                differing: 1,
                max_error: sum,
                max: 1.0,
                snr: Some(snr),
                not_finite: 0,
                equal_not_finite: 0,
                is_exact: false,
            }])
        };
        let chosen = choose(noise.len(), snr, &mut measure).unwrap();
        assert!(chosen.runs <= MOST_RUNS, "{}", chosen.runs);
        assert!(chosen.outputs.iter().all(|output| output.snr >= Some(snr)));
        let kept = chosen.quantized.iter().enumerate().filter(|(_, is)| !**is).map(|(index, _)| index);
        (kept.collect(), chosen.runs)
    }

    #[test]
    fn what_makes_the_noise_is_found_and_kept() {
        let mut noise = vec![1e-6; 92];
        assert_eq!(chosen(&noise, 30.0), (vec![], 1));
        (noise[90], noise[41]) = (0.5, 0.2);
        assert_eq!(chosen(&noise, 30.0).0, [41, 90]);
        let all = vec![1.0; 92];
        assert_eq!(chosen(&all, 30.0).0.len(), 92);
        assert_eq!(chosen(&[1.0], 30.0), (vec![0], 2));
        assert_eq!(chosen(&[], 30.0), (vec![], 1));
        let steps: Vec<f64> = (0..40).map(|index| 1e-5 * f64::from(index)).collect();
        let kept = chosen(&steps, 30.0).0;
        assert!(kept.len() < 32 && kept.contains(&39), "{kept:?}");
    }
}
