//! `TfIdfVectorizer`: of `[C]` or `[N, C]` words a count for each n-gram: `[K]` or `[N, K]`, where the greatest of
//! `ngram_indexes` is the last of `K`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::fault::{BAD_ATTRIBUTE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::TF_IDF_VECTORIZER, &[since(9, count)]);

fn count(cx: &mut Cx<'_, '_>) -> Outcome {
    let indexes = cx.ints(attr::NGRAM_INDEXES)?.unwrap_or_default();
    let (least, greatest) = (indexes.iter().min(), indexes.iter().max());
    let (Some(0..), Some(&greatest)) = (least, greatest) else {
        return Err(cx.fail(&BAD_ATTRIBUTE, "attribute `ngram_indexes` has no elements or negative ones"));
    };
    let counts = cx.dims().add(Dim::Known(greatest), Dim::Known(1));
    let mut dims = cx.shape(0)?;
    let rank = dims.len();
    if !(1..=2).contains(&rank) {
        return Err(cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where 1 or 2 is needed")));
    }
    if let Some(last) = dims.last_mut() {
        *last = counts;
    }
    cx.set_dims(0, dims);
    Ok(())
}
