//! `FeatureVectorizer`: rows of several inputs joined. Each input gives as many columns as `inputdimensions` says, cut or
//! padded.
//!
//! The reference infers nothing about the shape.

use onnx_schema::{attr, domain, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::FEATURE_VECTORIZER, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let sizes = cx.ints(attr::INPUTDIMENSIONS)?.unwrap_or_default();
    let columns = sizes.iter().try_fold(0_i64, |sum, &size| sum.checked_add(size).filter(|_| size >= 0));
    let columns = match columns {
        Some(columns) if !sizes.is_empty() => Dim::Known(columns),
        _ => Dim::Unknown,
    };
    let mut rows = Dim::Unknown;
    for index in 0..cx.input_count() {
        let own = match cx.shape(index).as_deref() {
            Ok([_]) => Dim::Known(1),
            Ok([first, _, ..]) => *first,
            _ => Dim::Unknown,
        };
        rows = cx.same(rows, own, "the numbers of rows")?;
    }
    cx.set_shape(0, [rows, columns]);
    Ok(())
}
