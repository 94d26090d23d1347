//! Attention of queries in groups over a cache of keys and values, contiguous or in pages.
//!
//! Queries `[batch, length, heads*head]` come with keys and values, or packed with them as
//! `[batch, length, (heads + 2*kv_heads)*head]`. A contiguous cache `[batch, kv_heads, length, head]` has the larger of
//! its length and `total_sequence_length`, which is a number at run time; a cache in pages keeps its shape.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::{Dim, ElemType};

use super::{heads, of_head};
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::at;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::DYNAMIC_SPARSE_ATTENTION, &[since(1, selected)]),
    infer(microsoft::GROUP_QUERY_ATTENTION, &[since(1, grouped)]),
    infer(microsoft::PAGED_ATTENTION, &[since(1, paged)]),
    infer(microsoft::SPARSE_ATTENTION, &[since(1, sparse)]),
    infer(microsoft::SPARSE_PAGED_ATTENTION, &[since(1, sparse_paged)]),
];

/// The width of the result of all heads, and the size of one: without keys, the queries are packed.
fn widths(cx: &mut Cx<'_, '_>, width: Dim) -> Outcome<(Dim, Dim)> {
    let (heads, shared) = (heads(cx, "num_heads")?, heads(cx, "kv_num_heads")?);
    if cx.has_input(1) {
        return Ok((width, of_head(cx, width, heads)));
    }
    let both = cx.dims().mul(shared, Dim::Known(2));
    let all = cx.dims().add(heads, both);
    let head = of_head(cx, width, all);
    Ok((cx.dims().mul(heads, head), head))
}

/// The result for queries of rank 3; returns the size of a head.
fn result(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    let query = cx.shape_of_rank(0, 3)?;
    let (width, head) = widths(cx, at(&query, 2))?;
    cx.set_shape(0, [at(&query, 0), at(&query, 1), width]);
    Ok(head)
}

fn grouped(cx: &mut Cx<'_, '_>) -> Outcome {
    let head = result(cx)?;
    let query = cx.shape(0)?;
    let shared = heads(cx, "kv_num_heads")?;
    let total = cx.scalar(6).unwrap_or_default();
    let queries = heads(cx, "num_heads")?;
    cx.set_shape(3, [at(&query, 0), queries, at(&query, 1), total]);
    let is_plain = !cx.flag("sliding_window_cache")? && !cx.has_input(16);
    for (past, present) in [(3, 1), (4, 2)] {
        if !cx.has_input(past) {
            // Without a cache, one is quantized only by attributes, and its layout is not declared.
            let is_quantized = cx.flag("kv_cache_bit_width")?;
            let head = if is_quantized { Dim::Unknown } else { head };
            let total = if is_plain { total } else { Dim::Unknown };
            cx.set_shape(present, [at(&query, 0), shared, total, head]);
            continue;
        }
        let cache = cx.dims_of_rank(past, 4)?;
        let length = if is_plain && !total.is_unknown() && !at(&cache, 2).is_unknown() {
            cx.max(at(&cache, 2), total)
        } else {
            Dim::Unknown
        };
        cx.set_shape(present, [at(&query, 0), shared, length, at(&cache, 3)]);
    }
    Ok(())
}

fn sparse(cx: &mut Cx<'_, '_>) -> Outcome {
    let done = result(cx).map(|_| ());
    cx.copy_shape(3, 1)?;
    cx.copy_shape(4, 2)?;
    done
}

/// The kernels append to the cache or write into it, which attributes do not say.
fn selected(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.flag("output_bf16")? {
        cx.set_elem(0, ElemType::Bfloat16);
    }
    cx.set_shape(3, [Dim::Unknown]);
    result(cx)?;
    let (batch, shared) = (at(&cx.shape(0)?, 0), heads(cx, "kv_num_heads")?);
    for (past, present) in [(3, 1), (4, 2)] {
        let head = if cx.has_input(past) { at(&cx.dims_of_rank(past, 4)?, 3) } else { Dim::Unknown };
        cx.set_shape(present, [batch, shared, Dim::Unknown, head]);
    }
    Ok(())
}

/// Tokens `[tokens, width]`; the caches keep their shapes.
fn tokens(cx: &mut Cx<'_, '_>) -> Outcome<(Dim, Dim, Dim)> {
    for (cache, out) in [(3, 1), (4, 2)] {
        if cx.has_input(cache) {
            // Unknown as long as the cache is.
            let _ = cx.copy_shape(cache, out);
        }
    }
    let query = cx.shape_of_rank(0, 2)?;
    let (width, head) = widths(cx, at(&query, 1))?;
    Ok((at(&query, 0), width, head))
}

fn paged(cx: &mut Cx<'_, '_>) -> Outcome {
    let (count, width, _) = tokens(cx)?;
    let is_latent = cx.text("kv_cache_layout")? == Some("LATENT");
    let narrow = cx.int_or("v_head_size", 0)?;
    let width = match (is_latent, narrow) {
        (false, _) => width,
        (true, 1..) => {
            let heads = heads(cx, "num_heads")?;
            cx.dims().mul(heads, Dim::Known(narrow))
        }
        (true, _) => Dim::Unknown,
    };
    cx.set_shape(0, [count, width]);
    Ok(())
}

fn sparse_paged(cx: &mut Cx<'_, '_>) -> Outcome {
    let (count, width, _) = tokens(cx)?;
    cx.set_shape(0, [count, width]);
    Ok(())
}
