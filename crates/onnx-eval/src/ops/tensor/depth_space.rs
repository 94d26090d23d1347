//! `DepthToSpace`, `SpaceToDepth`: conversion between blocks of an image and channels; the mode selects whether the
//! channel or the index in the block varies fastest.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::family::layout::transposed;
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const DEPTH_TO_SPACE: OpKernels = eval(op::DEPTH_TO_SPACE, &[since(1, to_space)]);

pub(super) const SPACE_TO_DEPTH: OpKernels = eval(op::SPACE_TO_DEPTH, &[since(1, to_depth)]);

/// The four sizes of the input and the size of a block.
fn sizes(cx: &Cx<'_, '_>) -> Outcome<([usize; 4], usize)> {
    let x = cx.tensor(0)?;
    let sizes =
        <[usize; 4]>::try_from(&x.dims[..]).map_err(|_| Stop::failed("the input has not four axes"))?;
    let block = axes::size(cx.int_or(attr::BLOCKSIZE, 0)?)?;
    if block == 0 {
        return Err(Stop::failed("`blocksize` is missing or 0"));
    }
    Ok((sizes, block))
}

fn to_space(cx: &mut Cx<'_, '_>) -> Outcome {
    let ([n, c, h, w], b) = sizes(cx)?;
    let area = b.checked_mul(b).ok_or(Stop::Limit("run_elements"))?;
    if c % area != 0 {
        return Err(Stop::failed(format_args!("{c} channels do not divide by {area}")));
    }
    let channels = c / area;
    // Without elements, nothing bounds the size of a block.
    let (rows, columns) = (h.saturating_mul(b), w.saturating_mul(b));
    cx.count(&[n, channels, rows, columns])?;
    if cx.text(attr::MODE)? == "CRD" {
        return moved(cx, &[n, channels, b, b, h, w], &[0, 1, 4, 2, 5, 3], &[n, channels, rows, columns]);
    }
    moved(cx, &[n, b, b, channels, h, w], &[0, 3, 4, 1, 5, 2], &[n, channels, rows, columns])
}

fn to_depth(cx: &mut Cx<'_, '_>) -> Outcome {
    let ([n, c, h, w], b) = sizes(cx)?;
    if h % b != 0 || w % b != 0 {
        return Err(Stop::failed(format_args!("{h} by {w} elements do not make blocks of {b}")));
    }
    let (rows, columns) = (h / b, w / b);
    let depth = [c, b, b].iter().try_fold(1_usize, |depth, &size| depth.checked_mul(size));
    let depth = depth.ok_or(Stop::Limit("run_elements"))?;
    if cx.text(attr::MODE)? == "CRD" {
        return moved(cx, &[n, c, rows, b, columns, b], &[0, 1, 3, 5, 2, 4], &[n, depth, rows, columns]);
    }
    moved(cx, &[n, c, rows, b, columns, b], &[0, 3, 5, 1, 2, 4], &[n, depth, rows, columns])
}

/// The input as a tensor of other sizes, with its axes in another order, again as one of other sizes.
fn moved(cx: &mut Cx<'_, '_>, from: &[usize], perm: &[usize], to: &[usize]) -> Outcome {
    let x = cx.tensor(0)?;
    let dims: Dims = to.into();
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let out = transposed::<U>(cx, &elements, from, perm)?;
        cx.put_units(0, x.elem, &dims, out)
    })
}
