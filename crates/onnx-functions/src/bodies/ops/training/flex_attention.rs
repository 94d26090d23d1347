//! `FlexAttention`: attention with a graph that changes the scores and one that changes the probabilities.
//!
//! Scores and results are computed in `float` at least, and the softmax with the graphs in the `softmax_precision`. The
//! reference multiplies queries and keys by the root of the scale in the element type, which rounds before the product, is NaN
//! for a negative scale, and does not work for inputs without elements.

use onnx_schema::attr;
use onnx_types::{ElemType, Symbol};

use crate::bodies::draft::{Draft, Made, V};
use crate::bodies::ops::math::softmax::softmax;
use crate::bodies::ops::nn::heads;

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (q, k, v) = (draft.input(0)?, draft.input(1)?, draft.input(2)?);
    let (elem, value_elem) = (draft.elem(0)?, draft.elem(2)?);
    let wide = if elem == ElemType::Double { elem } else { ElemType::Float };
    let precision = draft.elem_attribute(attr::SOFTMAX_PRECISION)?.unwrap_or(wide);
    if !precision.is_float() {
        return Err(draft.wrong(attr::SOFTMAX_PRECISION, "is not a float type"));
    }
    let (k, v) = (heads::repeat(draft, k, q)?, heads::repeat(draft, v, q)?);
    let (queries, keys) = (draft.cast(q, elem, wide)?, draft.cast(k, elem, wide)?);
    let keys = draft.transpose(keys, &[0, 1, 3, 2])?;
    let scores = draft.matmul(queries, keys)?;
    let scale = heads::scale(draft, q, wide)?;
    let scores = draft.mul(scores, scale)?;
    let scores = draft.cast(scores, wide, precision)?;
    let scores = changed(draft, attr::SCORE_MOD, scores)?;
    let parts = softmax(draft, scores, 3)?;
    let parts = changed(draft, attr::PROB_MOD, parts)?;
    let parts = draft.cast(parts, precision, wide)?;
    let values = draft.cast(v, value_elem, wide)?;
    let y = draft.matmul(parts, values)?;
    Ok(vec![draft.cast(y, wide, elem)?])
}

/// The result of a graph of the node for an operand; the operand if the node does not have the graph.
fn changed(draft: &mut Draft<'_>, name: Symbol, x: V) -> Made {
    let Some(graph) = draft.optional_graph(name)? else { return Ok(x) };
    let outputs = draft.paste(graph, &[x])?;
    match outputs[..] {
        [output] => Ok(output),
        _ => Err(draft.wrong(name, "has not one output")),
    }
}
