//! `Attention`: scores, their normalization, and the weighted sum of the values.

use onnx_ops::kind;
use onnx_schema::attr;
use onnx_types::Dim;

use super::{Cx, Why, Work};

/// For each head: a product of the queries with all keys, a scale, a softmax of five operations, and a product with the values.
/// Masks that are added are one operation for each score.
pub(super) fn attention(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let (query, key) = (cx.input(0)?, cx.input(1)?);
    let (heads, queries) = match *query {
        [_, heads, queries, _] => (heads, queries),
        [_, queries, _] => {
            let heads = cx.call()?.attr::<kind::Int>(attr::Q_NUM_HEADS).known();
            (Dim::Known(heads.ok_or(Why::Attribute("q_num_heads"))?), queries)
        }
        _ => return Err(Why::Input(0)),
    };
    let batch = *query.first().ok_or(Why::Input(0))?;
    let axis = key.len().checked_sub(2).ok_or(Why::Input(1))?;
    let mut keys = *key.get(axis).ok_or(Why::Input(1))?;
    if cx.has_input(4) {
        let past = *cx.input(4)?.get(2).ok_or(Why::Input(4))?;
        keys = cx.add(keys, past);
    }
    // The elements of queries and results are those of all heads, each times the keys.
    let (queried, made) = (cx.input_elements(0)?, cx.output_elements(0)?);
    let both = cx.add(queried, made);
    let macs = cx.mul(both, keys);
    let scores = cx.product(&[batch, heads, queries, keys]);
    let each = if cx.has_input(3) { 7 } else { 6 };
    let others = cx.scaled(scores, each);
    Ok(cx.macs(macs, others))
}
