//! Transformations of the scores of a row.
//!
//! `PROBIT` is the exact quantile of the normal distribution, which runtimes approximate to four digits. `SOFTMAX_ZERO` is
//! `SOFTMAX` over the scores that differ from 0 by more than 1e-7, and keeps the others at 0.

use crate::cx::{Outcome, Stop};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transform {
    None,
    Softmax,
    Logistic,
    SoftmaxZero,
    Probit,
}

impl Transform {
    pub(super) fn named(name: &str) -> Outcome<Self> {
        Ok(match name {
            "" | "NONE" => Self::None,
            "SOFTMAX" => Self::Softmax,
            "LOGISTIC" => Self::Logistic,
            "SOFTMAX_ZERO" => Self::SoftmaxZero,
            "PROBIT" => Self::Probit,
            _ => return Err(Stop::failed("attribute `post_transform` names no transform")),
        })
    }

    /// Transforms the scores of a row.
    pub(super) fn apply(self, scores: &mut [f64]) {
        match self {
            Self::None => {}
            Self::Softmax => softmax(scores, |_| true),
            Self::Logistic => scores.iter_mut().for_each(|score| *score = logistic(*score)),
            Self::SoftmaxZero => softmax(scores, is_counted),
            Self::Probit => scores.iter_mut().for_each(|score| *score = probit(*score)),
        }
    }
}

/// Whether `SOFTMAX_ZERO` takes a score into account.
pub(super) fn is_counted(score: f64) -> bool {
    !(-1e-7..=1e-7).contains(&score)
}

/// Softmax over the scores that count; the others become 0.
fn softmax(scores: &mut [f64], counts: impl Fn(f64) -> bool) {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = if counts(*score) { libm::exp(*score - most) } else { 0.0 };
        sum += *score;
    }
    if sum != 0.0 {
        scores.iter_mut().for_each(|score| *score /= sum);
    }
}

/// The logistic function.
pub(super) fn logistic(value: f64) -> f64 {
    let near = 1.0 / (1.0 + libm::exp(-value.abs()));
    if value < 0.0 { 1.0 - near } else { near }
}

/// The quantile of the normal distribution: NaN outside [0, 1].
fn probit(chance: f64) -> f64 {
    if !(0.0..=1.0).contains(&chance) {
        return f64::NAN;
    }
    if chance == 0.0 || chance == 1.0 {
        return if chance == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // The lower tail, where the distribution function has full precision.
    let tail = chance.min(1.0 - chance);
    let below = |value: f64| 0.5 * libm::erfc(-value / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (-40.0, 0.0);
    // Each step halves the interval; after 60 it is below the distance of neighbors.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if below(middle) < tail { low = middle } else { high = middle }
    }
    let quantile = 0.5 * (low + high);
    if chance < 0.5 { quantile } else { -quantile }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from tables of the normal distribution.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [(0.5, 0.0), (0.75, 0.674_489_750_196_081_7), (0.975, 1.959_963_984_540_054)];
        for (chance, quantile) in table {
            assert!((probit(chance) - quantile).abs() < 1e-12, "{chance}");
            assert!((probit(1.0 - chance) + quantile).abs() < 1e-12, "{chance}");
        }
        assert!(probit(-0.1).is_nan() && probit(1.0) == f64::INFINITY);
    }
}
