//! Indexers, which select the entries that sparse attention reads.
//!
//! With policy `qsa` there is room for `token_budget + compress_ratio - 1` entries for each query; that of other policies
//! depends on more than attributes and stays unknown.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::at;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::PACKED_SPARSE_ATTENTION_INDEXER, &[since(1, packed)]),
    infer(microsoft::PACKED_SPARSE_ATTENTION_INDEXER_MERGE, &[since(1, merge)]),
    infer(microsoft::SPARSE_ATTENTION_INDEXER, &[since(1, indexer)]),
];

fn capacity(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    if cx.text("policy_mode")? != Some("qsa") {
        return Ok(Dim::Unknown);
    }
    let (budget, ratio) = (cx.int_or("token_budget", 0)?, cx.int_or("compress_ratio", 0)?);
    let is_valid = budget > 0 && ratio > 0;
    Ok(if is_valid {
        budget.checked_add(ratio).map_or(Dim::Unknown, |sum| Dim::Known(sum.saturating_sub(1)))
    } else {
        Dim::Unknown
    })
}

fn indexer(cx: &mut Cx<'_, '_>) -> Outcome {
    let capacity = capacity(cx)?;
    let query = cx.shape_of_rank(0, 3)?;
    cx.set_shape(0, [at(&query, 0), at(&query, 1), capacity]);
    let past = cx.dims_of_rank(7, 3)?;
    cx.set_shape(1, [at(&query, 0), Dim::Unknown, at(&past, 2)]);
    cx.set_shape(2, [Dim::Known(2), at(&query, 0), Dim::Unknown, Dim::Unknown]);
    Ok(())
}

/// The states keep their shapes.
fn packed(cx: &mut Cx<'_, '_>) -> Outcome {
    for (past, present) in [(12, 2), (13, 3), (14, 4), (15, 5)] {
        // Unknown as long as the state is.
        let _ = cx.copy_shape(past, present);
    }
    let capacity = capacity(cx)?;
    let count = at(&cx.dims_of_rank(0, 2)?, 0);
    let batch = at(&cx.dims_of_rank(7, 1)?, 0);
    cx.set_shape(0, [count, capacity]);
    cx.set_shape(1, [count]);
    cx.set_shape(6, [batch, Dim::Unknown, Dim::Unknown]);
    cx.set_shape(7, [count]);
    cx.set_shape(8, [batch]);
    Ok(())
}

fn merge(cx: &mut Cx<'_, '_>) -> Outcome {
    let most = cx.int("max_output_entries")?.map_or(Dim::Unknown, Dim::Known);
    let count = at(&cx.dims_of_rank(2, 1)?, 0);
    cx.set_shape(0, [count, most]);
    cx.set_shape(1, [count]);
    cx.set_shape(2, [count]);
    Ok(())
}
