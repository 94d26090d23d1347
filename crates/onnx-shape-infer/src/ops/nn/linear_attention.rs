//! `LinearAttention`: queries `[B, T, Hq*k]`, keys `[B, T, H*k]` and values `[B, T, H*v]` give `[B, T, Hq*v]` and the next
//! state `[B, H, k, v]`.
//!
//! The state has the type of the one before, or that of the query when there is none.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::heads::{count, grouped, share};
use crate::cx::{Cx, Outcome};
use crate::fault::{BAD_ATTRIBUTE, MISSING, SIZES_DIFFER};
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const RULES: OpRules = infer(op::LINEAR_ATTENTION, &[since(27, attend)]);

fn attend(cx: &mut Cx<'_, '_>) -> Outcome {
    if !cx.has_input(3)
        && let Ok(elem) = cx.elem(0)
    {
        cx.set_elem(1, elem);
    }
    let (heads, shared) = (count(cx, attr::Q_NUM_HEADS)?, count(cx, attr::KV_NUM_HEADS)?);
    grouped(cx, Dim::Known(heads), Dim::Known(shared))?;
    needed(cx)?;
    let (query, key, value) = (cx.dims_of_rank(0, 3)?, cx.dims_of_rank(1, 3)?, cx.dims_of_rank(2, 3)?);
    let state = cx.dims_of_rank(3, 4)?;
    let (decay, beta) = (cx.dims_of_rank(4, 3)?, cx.dims_of_rank(5, 3)?);

    let (mut batch, mut steps) = (at(&query, 0), at(&query, 1));
    batch = cx.same(batch, at(&state, 0), "the batch sizes of the inputs")?;
    for of in [&key, &value, &decay, &beta] {
        batch = cx.same(batch, at(of, 0), "the batch sizes of the inputs")?;
        steps = cx.same(steps, at(of, 1), "the lengths of the inputs")?;
    }
    cx.same(at(&state, 1), Dim::Known(shared), "the numbers of heads of the keys and of the state")?;
    let mut key_size = at(&state, 2);
    let of_query = share(cx, at(&query, 2), heads)?;
    let of_key = share(cx, at(&key, 2), shared)?;
    for of in [of_query, of_key] {
        key_size = cx.same(key_size, of, "the sizes of a query and of a key")?;
    }
    let of_value = share(cx, at(&value, 2), shared)?;
    let value_size = cx.same(at(&state, 3), of_value, "the sizes of a value")?;
    let packed = cx.dims().mul(Dim::Known(shared), key_size);
    one_of(cx, &decay, [Dim::Known(shared), packed], "decay")?;
    one_of(cx, &beta, [Dim::Known(shared), Dim::Known(1)], "beta")?;

    let result = cx.dims().mul(Dim::Known(heads), value_size);
    cx.set_shape(0, [batch, steps, result]);
    cx.set_shape(1, [batch, Dim::Known(shared), key_size, value_size]);
    Ok(())
}

/// The inputs that the update rule needs are there, and no others.
fn needed(cx: &mut Cx<'_, '_>) -> Outcome {
    let rule = cx.text(attr::UPDATE_RULE)?.unwrap_or("gated_delta");
    let (decay, beta) = match rule {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        _ => {
            let message = format_args!("attribute `update_rule` is {}", onnx_diag::Quoted(rule));
            return Err(cx.fail(&BAD_ATTRIBUTE, message));
        }
    };
    for (needed, input, name) in [(decay, 4, "decay"), (beta, 5, "beta")] {
        if needed && !cx.has_input(input) {
            return Err(cx.fail(&MISSING, format_args!("the update rule needs the input `{name}`")));
        }
        if !needed && cx.has_input(input) {
            return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("the update rule takes no input `{name}`")));
        }
    }
    Ok(())
}

/// The last size of an input is one of two.
fn one_of(cx: &mut Cx<'_, '_>, dims: &Dims, sizes: [Dim; 2], name: &str) -> Outcome {
    let found = at(dims, 2);
    if !found.is_unknown() && sizes.iter().all(|&size| cx.dims_eq(found, size) == Some(false)) {
        return Err(
            cx.fail(&SIZES_DIFFER, format_args!("the last size of `{name}` fits neither heads nor keys"))
        );
    }
    Ok(())
}
