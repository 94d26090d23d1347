//! Recipe of `DeformConv`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::family::image::{image, weights};
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::DEFORM_CONV], deformed_convolution)];

fn deformed_convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 2, 2)?;
    let sizes: Vec<i64> = image.dims.iter().skip(2).map(|dim| dim.known()).collect::<Option<_>>()?;
    let kernel = image.kernel(draft);
    let maps = draft.smith.choices.int(1, 3);
    weights(draft, [maps, image.channels], &kernel)?;
    let area = kernel.iter().product::<i64>();
    let made = sizes.iter().zip(&kernel).map(|(size, kernel)| Dim::Known(size - kernel + 1));
    let made: Vec<Dim> = made.collect();
    let with = |channels: i64| -> Vec<Dim> {
        [*image.dims.first().unwrap_or(&Dim::Unknown), Dim::Known(channels)]
            .into_iter()
            .chain(made.iter().copied())
            .collect()
    };
    draft.shaped(&with(2 * area))?;
    draft.leave(&[
        attr::STRIDES,
        attr::PADS,
        attr::DILATIONS,
        attr::GROUP,
        attr::OFFSET_GROUP,
        attr::KERNEL_SHAPE,
    ]);
    draft.set(attr::PADS, vec![0_i64; 4]);
    if draft.wants(40) {
        draft.shaped(&[Dim::Known(maps)])?;
        if draft.wants(40) {
            draft.shaped(&with(area))?;
        }
    }
    Some(())
}
