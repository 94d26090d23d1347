//! `AveragePool`, `MaxPool` and `LpPool`: the batch and the channels stay, windows slide along the other axes.
//!
//! A pool that rounds up has no window that begins in the padding behind. The texts before version 22 did not say so, and
//! the reference counts that window there while runtimes do not; the size is not known then, see [`Rounding`]. The indices of
//! `MaxPool` have the shape of its result. A negative size is a fault; the reference gives it.
//!
//! If no window fits, the specification rounds the number of steps down, and onnxruntime rounds towards 0: it gives one
//! window where the specification gives none. The size is unknown if no window ever fits; a guard excludes the case
//! otherwise. With `SAME_UPPER` and `SAME_LOWER`, onnxruntime ignores dilations, and gives fewer windows; the size is unknown
//! if results must hold there.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::{Rounding, Windows, ints_of};
use crate::fault::{MISSING, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const AVERAGE_POOL: OpRules =
    infer(op::AVERAGE_POOL, &[since(1, dilated), since(22, dilated_inside)]);
pub(super) const MAX_POOL: OpRules =
    infer(op::MAX_POOL, &[since(1, plain), since(10, dilated), since(22, dilated_inside)]);
pub(super) const LP_POOL: OpRules =
    infer(op::LP_POOL, &[since(1, open), since(2, plain), since(18, dilated), since(22, dilated_inside)]);

/// The first `LpPool` may leave out the sizes of the kernel, and nothing says what they are then.
fn open(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.has_attribute(attr::KERNEL_SHAPE) { plain(cx) } else { Err(Stop::Unknown) }
}

fn plain(cx: &mut Cx<'_, '_>) -> Outcome {
    pool(cx, false, Rounding::Up)
}

fn dilated(cx: &mut Cx<'_, '_>) -> Outcome {
    pool(cx, true, Rounding::Up)
}

fn dilated_inside(cx: &mut Cx<'_, '_>) -> Outcome {
    pool(cx, true, Rounding::UpInside)
}

/// The input, of a rank that the kernel says, and the sizes of the kernel.
///
/// # Errors
///
/// [`Stop::Unknown`] when neither says the rank, and a finding when they contradict each other or the attribute is missing.
pub(super) fn operands(cx: &mut Cx<'_, '_>) -> Outcome<(Dims, Dims)> {
    let Some(sizes) = cx.ints(attr::KERNEL_SHAPE)? else {
        return Err(cx.fail(&MISSING, "attribute `kernel_shape` is missing"));
    };
    let input = match cx.shape(0) {
        Ok(input) => input,
        Err(stop) if sizes.is_empty() => return Err(stop),
        Err(_) => Dims::from_elem(Dim::Unknown, sizes.len().saturating_add(2)),
    };
    let rank = input.len();
    let Some(count) = rank.checked_sub(2).filter(|&count| count > 0) else {
        return Err(
            cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where at least 3 is needed"))
        );
    };
    let sizes = ints_of(cx, attr::KERNEL_SHAPE, count, 1, 1)?;
    Ok((input, sizes.iter().map(|&size| Dim::Known(size)).collect()))
}

fn pool(cx: &mut Cx<'_, '_>, dilates: bool, rounding: Rounding) -> Outcome {
    let (input, kernel) = operands(cx)?;
    let windows = Windows::read(cx, &kernel, dilates)?;
    let rounding = if cx.int_or(attr::CEIL_MODE, 0)? == 0 { Rounding::Down } else { rounding };
    let spatial = windows.pool(cx, input.get(2..).ok_or(Stop::Unknown)?, rounding)?;
    let mut dims: Dims = [at(&input, 0), at(&input, 1)].into_iter().chain(spatial).collect();
    cx.name_sizes(0, &mut dims);
    cx.set_shape(1, dims.clone());
    cx.set_dims(0, dims);
    Ok(())
}
