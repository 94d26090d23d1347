//! Gathering rows, also of tables that are quantized in blocks.
//!
//! A byte holds several elements of a table with fewer than 8 bits, side by side on the last axis.

use onnx_schema::onnxruntime::microsoft;
use onnx_schema::{domain, op};
use onnx_types::{Dim, ElemType};

use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::GATHER_BLOCK_QUANTIZED, &[since(1, block_quantized)]),
    infer(microsoft::GATHER_ND, &[since(1, |cx| cx.infer_as(domain::ONNX, op::GATHER_ND, 11))]),
    infer(microsoft::GATHER_PACKED, &[since(1, packed)]),
    infer(microsoft::TORCH_EMBEDDING, &[since(1, embed)]),
];

fn embed(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(1)?;
    dims.push(at(&cx.dims_of_rank(0, 2)?, 1));
    cx.set_dims(0, dims);
    Ok(())
}

fn packed(cx: &mut Cx<'_, '_>) -> Outcome {
    let code = cx.int_or("output_dtype", 16)?;
    if let Some(elem) = i32::try_from(code).ok().and_then(ElemType::from_code) {
        cx.set_elem(0, elem);
    }
    let mut dims = cx.shape(1)?;
    dims.push(cx.int("K")?.map_or(Dim::Unknown, Dim::Known));
    cx.set_dims(0, dims);
    Ok(())
}

fn block_quantized(cx: &mut Cx<'_, '_>) -> Outcome {
    let (mut data, indices) = (cx.shape_of_min_rank(0, 1)?, cx.shape(1)?);
    match cx.elem(0) {
        Ok(ElemType::Uint8) => {
            let bits = cx.int_or("bits", 4)?;
            let count = 8_i64.checked_div(bits).filter(|_| matches!(bits, 2 | 4 | 8));
            if let Some(last) = data.last_mut() {
                *last = cx.dims().mul(*last, count.map_or(Dim::Unknown, Dim::Known));
            }
        }
        Ok(_) => {}
        Err(_) => {
            if let Some(last) = data.last_mut() {
                *last = Dim::Unknown;
            }
        }
    }
    let axis = cx.int_or("gather_axis", 0)?;
    let axis = cx.axis(axis, data.len())?;
    let (before, behind) = (data.get(..axis), data.get(axis.saturating_add(1)..));
    let parts = before.into_iter().flatten().chain(&indices).chain(behind.into_iter().flatten());
    let dims: Dims = parts.copied().collect();
    cx.set_dims(0, dims);
    Ok(())
}
