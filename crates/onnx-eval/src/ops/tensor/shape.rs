//! `Shape`: the sizes of a tensor; from version 15 on, of the axes from `start` to `end`.
//!
//! Bounds are counted from the end if negative, then clamped to the rank.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::SHAPE, &[since(1, shape)]);

fn shape(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let rank = x.rank() as i64;
    let bound = |value: i64| {
        let value = if value < 0 { value.saturating_add(rank) } else { value };
        value.clamp(0, rank) as usize
    };
    let start = bound(cx.int_or(attr::START, 0)?);
    let end = cx.int(attr::END)?.map_or(x.rank(), bound);
    let sizes = x.dims.get(start..end.max(start)).unwrap_or_default();
    let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
    cx.put(0, ElemType::Int64, &[sizes.len()], sizes)
}
