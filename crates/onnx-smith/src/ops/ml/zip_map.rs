//! Recipe of `ZipMap`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::family::samples::{labels, samples};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ZIP_MAP], zip_map)];

fn zip_map(draft: &mut Draft<'_, '_>) -> Option<()> {
    let width = usize::try_from(samples(draft)?).ok()?;
    labels(draft, width);
    Some(())
}
