//! Anomalies: properties of weights that most weights do not have.

use std::cmp::Ordering;

use onnx_eval::{Extremum, Statistics};

/// The severity of an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnomalySeverity {
    /// Common in some models.
    Note,
    /// Results are likely to suffer.
    Warning,
    /// Results are wrong, or the weight has no effect.
    Error,
}

/// A property of the elements of a tensor that most weights do not have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Anomaly {
    /// Elements that are not a number.
    Nan,
    /// Infinite elements.
    Infinite,
    /// All elements are 0.
    AllZero,
    /// All elements are the same, and not 0.
    Constant,
    /// An element is this many standard deviations away from the mean.
    Outlier(f64),
    /// This part of the elements is subnormal: many processors are slow with them, and some take them for 0.
    Subnormal(f64),
}

/// Tensors with fewer elements are often constant on purpose, and have no distribution.
const LEAST_ELEMENTS: u64 = 16;
/// Distance of an element from the mean that is an anomaly, in standard deviations.
const OUTLIER: f64 = 20.0;
/// Part of the elements.
const MANY: f64 = 0.01;

impl Anomaly {
    /// The severity.
    #[must_use]
    pub const fn severity(self) -> AnomalySeverity {
        match self {
            Self::Nan | Self::Infinite => AnomalySeverity::Error,
            Self::AllZero | Self::Outlier(_) | Self::Subnormal(_) => AnomalySeverity::Warning,
            Self::Constant => AnomalySeverity::Note,
        }
    }

    /// The name, as reports have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nan => "nan",
            Self::Infinite => "infinite",
            Self::AllZero => "all-zero",
            Self::Constant => "constant",
            Self::Outlier(_) => "outlier",
            Self::Subnormal(_) => "subnormal",
        }
    }

    /// A size within its severity, for sorting: greater is worse.
    fn degree(self) -> f64 {
        match self {
            Self::Outlier(distance) => distance,
            Self::Subnormal(part) => part,
            Self::AllZero => 1e6,
            Self::Nan | Self::Infinite | Self::Constant => 0.0,
        }
    }
}

/// The anomalies of a tensor of numbers with these statistics, the most severe first.
#[must_use]
pub fn anomalies(found: &Statistics) -> Vec<Anomaly> {
    let mut all = Vec::new();
    if found.nans > 0 {
        all.push(Anomaly::Nan);
    }
    if found.infinities > 0 {
        all.push(Anomaly::Infinite);
    }
    if found.elements >= LEAST_ELEMENTS {
        match (found.min, found.max) {
            _ if found.zeros == found.elements => all.push(Anomaly::AllZero),
            (Some(min), Some(max)) if min == max && found.finite() == found.elements => {
                all.push(Anomaly::Constant);
            }
            _ => {}
        }
        all.extend(outlier(found).map(Anomaly::Outlier));
        let subnormal = found.subnormal as f64 / found.elements as f64;
        if subnormal > MANY {
            all.push(Anomaly::Subnormal(subnormal));
        }
    }
    all.sort_by(|a, b| b.severity().cmp(&a.severity()).then(b.degree().total_cmp(&a.degree())));
    all
}

/// The distance of the farthest element of a float tensor from the mean, if it is an anomaly.
fn outlier(found: &Statistics) -> Option<f64> {
    let (Extremum::Float(min), Extremum::Float(max)) = (found.min?, found.max?) else { return None };
    let (mean, deviation) = (found.mean?, found.deviation?);
    // Halves, so that the difference is finite.
    let half = (max / 2.0 - mean / 2.0).max(mean / 2.0 - min / 2.0);
    let distance = half / deviation * 2.0;
    (deviation > 0.0 && distance > OUTLIER).then_some(distance)
}

/// An order by anomaly: the most severe first.
#[must_use]
pub fn anomaly_order(a: &Statistics, b: &Statistics) -> Ordering {
    let key = |found: &Statistics| {
        let worst = anomalies(found).first().copied();
        (worst.map(Anomaly::severity), worst.map_or(0.0, Anomaly::degree))
    };
    let ((severity_a, degree_a), (severity_b, degree_b)) = (key(a), key(b));
    severity_b.cmp(&severity_a).then(degree_b.total_cmp(&degree_a))
}
