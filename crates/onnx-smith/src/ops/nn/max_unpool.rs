//! Recipe of `MaxUnpool`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::image::image;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::MAX_UNPOOL], unpool)];

fn unpool(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 2)?;
    draft.shaped(&image.dims)?;
    draft.leave(&[attr::STRIDES, attr::PADS]);
    draft.set(attr::KERNEL_SHAPE, vec![2_i64; image.axes()]);
    draft.set(attr::STRIDES, vec![2_i64; image.axes()]);
    Some(())
}
