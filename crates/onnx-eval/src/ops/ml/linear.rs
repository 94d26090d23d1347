//! `LinearRegressor` and `LinearClassifier`: a matrix of coefficients for each row of features.
//!
//! A classifier of two labels with one set of coefficients has one score `s`: the second label if it is above 0, and
//! the scores `1 - s` and `s`, or with `LOGISTIC` the logistic function of `-s` and `s`, as in onnxruntime. Engines
//! disagree on the other transforms of a single score, so they are unsupported. A regressor also transforms a single
//! target, which onnxruntime leaves unchanged.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use super::like_input::doubles;
use super::scores::{Transform, logistic};
use super::{Labels, greatest, row, rows, transform};
use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::registry::{OpKernels, eval, since};

pub(super) const REGRESSOR: OpKernels =
    eval(op::LINEAR_REGRESSOR, &[since(1, regress)]).open().of(domain::ML);
pub(super) const CLASSIFIER: OpKernels =
    eval(op::LINEAR_CLASSIFIER, &[since(1, classify)]).open().of(domain::ML);

/// The products of each row with each of `targets` sets of coefficients.
fn products(cx: &mut Cx<'_, '_>, x: &Operand, targets: usize) -> Outcome<Vec<f64>> {
    let (count, features) = rows(x)?;
    let coefficients = cx.floats(attr::COEFFICIENTS)?.unwrap_or_default();
    if targets.checked_mul(features) != Some(coefficients.len()) {
        let found = coefficients.len();
        return Err(Stop::failed(format_args!(
            "there are {found} coefficients for {targets} targets of {features} features"
        )));
    }
    let intercepts = cx.floats(attr::INTERCEPTS)?.unwrap_or_default();
    if !intercepts.is_empty() && intercepts.len() != targets {
        return Err(Stop::failed(format_args!(
            "there are {} intercepts for {targets} targets",
            intercepts.len()
        )));
    }
    let elements = doubles(cx, x)?;
    let mut out = cx.buffer(cx.count(&[count, targets])?)?;
    cx.work(x.count.saturating_mul(targets))?;
    for index in 0..count {
        let values = row(&elements, index, features);
        for target in 0..targets {
            cx.poll().step(features)?;
            let own = row(&coefficients, target, features);
            let sum: f64 = values.iter().zip(own).map(|(value, &own)| value * f64::from(own)).sum();
            out.push(sum + f64::from(intercepts.get(target).copied().unwrap_or(0.0)));
        }
    }
    Ok(out)
}

fn regress(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let targets = axes::size(cx.int_or(attr::TARGETS, 1)?)?;
    let transform = transform(cx)?;
    let mut scores = products(cx, &x, targets)?;
    scores.chunks_mut(targets.max(1)).for_each(|scores| transform.apply(scores));
    let scores = scores.into_iter().map(|score| score as f32).collect();
    cx.put(0, ElemType::Float, &[rows(&x)?.0, targets], scores)
}

fn classify(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let labels = Labels::read(cx, attr::CLASSLABELS_INTS, attr::CLASSLABELS_STRINGS)?;
    let (count, features) = rows(&x)?;
    let coefficients = cx.floats(attr::COEFFICIENTS)?.unwrap_or_default().len();
    let classes = coefficients.checked_div(features).unwrap_or(0);
    let transform = transform(cx)?;
    let mut chosen = cx.buffer(count)?;
    let mut out = cx.buffer::<f32>(count.saturating_mul(labels.len()))?;
    if classes == 1 && labels.len() == 2 {
        for score in products(cx, &x, 1)? {
            let score = score as f32;
            chosen.push(usize::from(score > 0.0));
            match transform {
                Transform::None => out.extend([1.0 - score, score]),
                Transform::Logistic => {
                    out.extend([-score, score].map(|score| logistic(score.into()) as f32));
                }
                _ => return Err(Stop::unsupported("this transform of a single score")),
            }
        }
    } else if classes == labels.len() && classes > 1 {
        for scores in products(cx, &x, classes)?.chunks_mut(classes) {
            let before: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
            chosen.push(greatest(&before));
            transform.apply(scores);
            out.extend(scores.iter().map(|&score| score as f32));
        }
    } else {
        return Err(Stop::failed(format_args!(
            "there are {classes} sets of coefficients for {} labels",
            labels.len()
        )));
    }
    labels.put(cx, &chosen)?;
    cx.put(1, ElemType::Float, &[count, labels.len()], out)
}
