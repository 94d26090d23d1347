//! Recipe of `GridSample`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::family::image::image;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::GRID_SAMPLE], grid_sample)];

fn grid_sample(draft: &mut Draft<'_, '_>) -> Option<()> {
    let most = if draft.since() < 20 { 2 } else { 3 };
    let image = image(draft, 2, most)?;
    let mut dims = vec![*image.dims.first()?];
    for _ in 0..image.axes() {
        dims.push(Dim::Known(draft.smith.choices.int(1, 4)));
    }
    dims.push(Dim::Known(i64::try_from(image.axes()).ok()?));
    if image.axes() == 3 {
        // Cubic interpolation is for two axes.
        let word = draft.smith.choices.pick(&["linear", "nearest"])?;
        draft.set(attr::MODE, word);
    }
    draft.shaped(&dims)
}
