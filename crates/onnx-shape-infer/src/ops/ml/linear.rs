//! `LinearRegressor` and `LinearClassifier`: a matrix of coefficients for each row of features.
//!
//! A classifier has as many scores as intercepts, but two for two labels with one intercept. The reference infers nothing
//! about the shape of a regressor's output.

use onnx_schema::{attr, domain, op};
use onnx_types::Dim;

use super::{labels, rows, size};
use crate::cx::{Cx, Outcome};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const REGRESSOR: OpRules = infer(op::LINEAR_REGRESSOR, &[since(1, regressor)]).of(domain::ML);
pub(super) const CLASSIFIER: OpRules = infer(op::LINEAR_CLASSIFIER, &[since(1, classifier)]).of(domain::ML);

fn regressor(cx: &mut Cx<'_, '_>) -> Outcome {
    let rows = rows(cx)?;
    let targets = cx.int(attr::TARGETS)?.filter(|&targets| targets > 0);
    cx.set_shape(0, [rows, targets.map_or(Dim::Unknown, Dim::Known)]);
    Ok(())
}

fn classifier(cx: &mut Cx<'_, '_>) -> Outcome {
    let labels = labels(cx, attr::CLASSLABELS_INTS, attr::CLASSLABELS_STRINGS)?;
    if let Ok(rank) = cx.rank(0)
        && !(1..=2).contains(&rank)
    {
        return Err(cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where 1 or 2 is needed")));
    }
    let rows = rows(cx).unwrap_or_default();
    let classes = match cx.floats(attr::INTERCEPTS)?.map_or(0, <[f32]>::len) {
        0 => Dim::Unknown,
        1 if labels == 2 => Dim::Known(2),
        classes => size(classes),
    };
    cx.set_shape(0, [rows]);
    cx.set_shape(1, [rows, classes]);
    Ok(())
}
