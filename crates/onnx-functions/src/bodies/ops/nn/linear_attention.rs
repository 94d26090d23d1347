//! `LinearAttention`: a `Scan` over the steps, which changes a state of `key × value` elements for each head.
//!
//! Steps are computed in `float`. The result is the scaled product of query and state; a scale of 0 stands for 1 divided by the
//! root of the width of keys. Groups of queries share a state. The graph of the `Scan` declares the sizes that are known, so
//! that it has a result without any steps.

use onnx_ir::Attribute;
use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType, Shape, Symbol, Type};

use crate::bodies::draft::{Draft, Made, V};

/// The operands of the steps, with steps as the first axis, and the optional ones that are among them.
struct Steps {
    operands: Vec<V>,
    has_decay: bool,
    has_beta: bool,
}

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (query, key, value) = (draft.input(0)?, draft.input(1)?, draft.input(2)?);
    let elem = draft.elem(0)?;
    let (all, shared) = (heads(draft, attr::Q_NUM_HEADS)?, heads(draft, attr::KV_NUM_HEADS)?);
    if all % shared != 0 {
        return Err(draft.wrong(attr::Q_NUM_HEADS, "is not a multiple of the number of heads of keys"));
    }
    let steps = steps(draft, [query, key, value], shared, all / shared)?;
    let (batch, shared) = (draft.dim(query, 0)?, draft.ints(&[shared])?);
    let (keys, values) = (draft.dim(key, 2)?, draft.dim(value, 2)?);
    let (keys, values) = (draft.div(keys, shared)?, draft.div(values, shared)?);
    let (state, state_elem) = match draft.optional(3) {
        Some(past) => {
            let past_elem = draft.elem(3)?;
            (draft.cast(past, past_elem, ElemType::Float)?, past_elem)
        }
        None => {
            let sizes = draft.concat(&[batch, shared, keys, values], 0)?;
            (draft.filled(sizes, ElemType::Float, 0.0)?, elem)
        }
    };
    let scale = match draft.optional_float(attr::SCALE)? {
        None | Some(0.0) => {
            let width = draft.squeeze(keys, &[0])?;
            let width = draft.cast_to(width, ElemType::Float)?;
            let root = draft.sqrt(width)?;
            draft.reciprocal(root)?
        }
        Some(scale) => draft.number(ElemType::Float, f64::from(scale))?,
    };
    let dims = result_dims(draft, heads(draft, attr::KV_NUM_HEADS)?, all);
    let graph = step(draft, &steps, scale, dims)?;
    let mut inputs = vec![Some(state)];
    inputs.extend(steps.operands.iter().copied().map(Some));
    let count = steps.operands.len() as i64;
    let attributes = vec![Attribute::new(attr::BODY, graph), Attribute::new(attr::NUM_SCAN_INPUTS, count)];
    let results = draft.node(op::SCAN, &inputs, attributes, 2)?;
    let [state, outputs] = results[..] else { return Err("a scan has two outputs".into()) };
    let outputs = draft.transpose(outputs, &[1, 0, 2, 3, 4])?;
    let (outer, all) = (draft.sizes(query, 0, Some(2))?, draft.ints(&[all])?);
    let width = draft.mul(all, values)?;
    let sizes = draft.concat(&[outer, width], 0)?;
    let outputs = draft.reshape(outputs, sizes)?;
    Ok(vec![draft.cast(outputs, ElemType::Float, elem)?, draft.cast(state, ElemType::Float, state_elem)?])
}

/// A number of heads.
fn heads(draft: &Draft<'_>, name: Symbol) -> Made<i64> {
    let heads = draft.int(name)?;
    if heads > 0 { Ok(heads) } else { Err(draft.wrong(name, "is not a number of heads")) }
}

/// The operands of the steps in `float`: queries as `[steps, batch, heads, group, width]`, all others without groups.
fn steps(draft: &mut Draft<'_>, [query, key, value]: [V; 3], shared: i64, group: i64) -> Made<Steps> {
    let (has_decay, has_beta) = match draft.text(attr::UPDATE_RULE)?.as_str() {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        _ => return Err(draft.wrong(attr::UPDATE_RULE, "names no rule")),
    };
    if draft.optional(4).is_some() != has_decay || draft.optional(5).is_some() != has_beta {
        return Err(draft.wrong(attr::UPDATE_RULE, "needs other inputs than the node has"));
    }
    let queries = by_head(draft, query, 0, &[shared, group])?;
    let (keys, values) = (by_head(draft, key, 1, &[shared])?, by_head(draft, value, 2, &[shared])?);
    let mut operands = vec![
        draft.transpose(queries, &[1, 0, 2, 3, 4])?,
        draft.transpose(keys, &[1, 0, 2, 3])?,
        draft.transpose(values, &[1, 0, 2, 3])?,
    ];
    if has_decay {
        let decay = draft.input(4)?;
        let decay = by_head(draft, decay, 4, &[shared])?;
        operands.push(draft.transpose(decay, &[1, 0, 2, 3])?);
    }
    if has_beta {
        // One element for each head, or for all.
        let (beta, elem) = (draft.input(5)?, draft.elem(5)?);
        let beta = draft.cast(beta, elem, ElemType::Float)?;
        operands.push(draft.transpose(beta, &[1, 0, 2])?);
    }
    Ok(Steps { operands, has_decay, has_beta })
}

/// An operand in `float` whose last axis is split into heads and the rest.
fn by_head(draft: &mut Draft<'_>, x: V, index: usize, heads: &[i64]) -> Made {
    let elem = draft.elem(index)?;
    let x = draft.cast(x, elem, ElemType::Float)?;
    let (outer, all) = (draft.sizes(x, 0, Some(2))?, draft.dim(x, 2)?);
    let count = draft.ints(&[heads.iter().product()])?;
    let (heads, rest) = (draft.ints(heads)?, draft.div(all, count)?);
    let sizes = draft.concat(&[outer, heads, rest], 0)?;
    draft.reshape(x, sizes)
}

/// The sizes of the result of a step: batch, heads, group and width.
fn result_dims(draft: &Draft<'_>, shared: i64, all: i64) -> [Dim; 4] {
    let dim = |index, axis| draft.size(index, axis).ok();
    let width = dim(2, 2).map(|width| width / shared);
    let dims = [dim(0, 0), Some(shared), Some(all / shared), width];
    dims.map(|size| size.map_or(Dim::Unknown, Dim::Known))
}

/// The graph of a step.
fn step(draft: &mut Draft<'_>, steps: &Steps, scale: V, dims: [Dim; 4]) -> Made<onnx_ir::GraphId> {
    let ty = |rank| Some(Type::tensor(ElemType::Float, Some(Shape::unknown(rank))));
    let mut formals = vec![("state", ty(4)), ("query", ty(4)), ("key", ty(3)), ("value", ty(3))];
    if steps.has_decay {
        formals.push(("decay", ty(3)));
    }
    if steps.has_beta {
        formals.push(("beta", ty(2)));
    }
    let (has_decay, has_beta) = (steps.has_decay, steps.has_beta);
    draft.graph(&formals, |draft, formals| {
        let [mut state, query, key, value] = *formals.first_chunk().ok_or("a step has four operands")?;
        if has_decay {
            let decay = *formals.get(4).ok_or("the decay is missing")?;
            let factor = draft.exp(decay)?;
            let factor = draft.unsqueeze(factor, &[3])?;
            state = draft.mul(state, factor)?;
        }
        let (row, column) = (draft.unsqueeze(key, &[2])?, draft.unsqueeze(key, &[3])?);
        let mut new = draft.unsqueeze(value, &[2])?;
        if has_beta {
            let beta = *formals.last().ok_or("the rate is missing")?;
            let beta = draft.unsqueeze(beta, &[2, 3])?;
            let known = draft.matmul(row, state)?;
            let rest = draft.sub(new, known)?;
            new = draft.mul(rest, beta)?;
        }
        let product = draft.matmul(column, new)?;
        let state = draft.add(state, product)?;
        let read = draft.matmul(query, state)?;
        let output = draft.mul(read, scale)?;
        draft.declare(state, Type::tensor(ElemType::Float, Some(Shape::unknown(4))));
        draft.declare(output, Type::tensor(ElemType::Float, Some(Shape::new(dims))));
        Ok(vec![state, output])
    })
}
