//! Mixtures of experts: the result has the shape of the input, whatever the experts are.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use super::like_first;
use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::{Dims, at};

pub(super) const RULES: &[OpRules] = &[
    infer(microsoft::MO_E, &[since(1, like_first)]),
    infer(microsoft::MO_E_GROUP_ROUTER, &[since(1, group_router)]),
    infer(microsoft::MO_E_PACKED, &[since(1, like_first)]),
    infer(microsoft::Q_MO_E, &[since(1, like_first)]),
    infer(microsoft::ROUTER_GATE_UP_PROJ, &[since(1, router)]),
];

/// Logits `[…, experts]`, or activations that are projected to them, give scores `[tokens, experts]`.
fn group_router(cx: &mut Cx<'_, '_>) -> Outcome {
    let input = cx.shape_of_min_rank(0, 1)?;
    let (last, lead) = input.split_last().map_or((Dim::Unknown, &[][..]), |(&last, lead)| (last, lead));
    let tokens = cx.product_of_sizes(lead)?;
    let experts = if cx.has_input(2) { at(&cx.dims_of_rank(2, 2)?, 0) } else { last };
    for output in 0..3 {
        cx.set_shape(output, [tokens, experts]);
    }
    Ok(())
}

/// The weights have the columns of the router before those of the gate and of the other half.
fn router(cx: &mut Cx<'_, '_>) -> Outcome {
    let size = Dim::Known(cx.int_or("router_size", 0)?);
    let mut dims = cx.shape_of_min_rank(0, 1)?;
    dims.pop();
    let both = cx.dims_of_rank(1, 2)?;
    let halves = cx.dims().sub(at(&both, 1), size);
    let half = cx.dims().floor_div(halves, Dim::Known(2));
    let half = if cx.is_size(half) { half } else { Dim::Unknown };
    let routed: Dims = dims.iter().copied().chain([size]).collect();
    dims.push(half);
    cx.set_dims(0, routed);
    cx.set_dims(1, dims);
    Ok(())
}
