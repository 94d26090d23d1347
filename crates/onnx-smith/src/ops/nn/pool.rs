//! Recipe of `AveragePool`, `LpPool` and `MaxPool`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::image::{image, window_attributes};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::AVERAGE_POOL, op::LP_POOL, op::MAX_POOL], pool)];

fn pool(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 3)?;
    let kernel = image.kernel(draft);
    window_attributes(draft, image.axes(), &kernel);
    // No weights have its sizes, also where the schema does not require it.
    draft.set(attr::KERNEL_SHAPE, kernel);
    // Until version 21 the reference counts a window that begins in the padding behind, and runtimes do not.
    if draft.since() < 22 {
        draft.leave(&[attr::CEIL_MODE]);
    }
    Some(())
}
