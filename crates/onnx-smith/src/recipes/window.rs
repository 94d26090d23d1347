//! Convolutions, pooling, and what else moves over the axes of images.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(&[op::CONV, op::CONV_INTEGER], convolution),
    row(&[op::Q_LINEAR_CONV], quantized_convolution),
    row(&[op::CONV_TRANSPOSE], transposed_convolution),
    row(&[op::DEFORM_CONV], deformed_convolution),
    row(&[op::CAUSAL_CONV_WITH_STATE], causal_convolution),
    row(&[op::AVERAGE_POOL, op::LP_POOL, op::MAX_POOL], pool),
    row(&[op::GLOBAL_AVERAGE_POOL, op::GLOBAL_LP_POOL, op::GLOBAL_MAX_POOL], global_pool),
    row(&[op::MAX_UNPOOL], unpool),
    row(&[op::MAX_ROI_POOL, op::ROI_ALIGN], regions),
    row(&[op::COL2IM], columns),
    row(&[op::GRID_SAMPLE], grid_sample),
    row(&[op::AFFINE_GRID], affine_grid),
    row(&[op::DEPTH_TO_SPACE, op::SPACE_TO_DEPTH], blocks),
];

/// The sizes of an image: how many channels there are, and its other axes.
struct Image {
    dims: Vec<Dim>,
    channels: i64,
}

impl Image {
    /// How many axes come after batch and channels.
    fn axes(&self) -> usize {
        self.dims.len().saturating_sub(2)
    }

    /// A size of a window along each axis, as large as it may be without padding, and 3 at most.
    fn kernel(&self, draft: &mut Draft<'_, '_>) -> Vec<i64> {
        let sizes = self.dims.iter().skip(2);
        sizes.map(|dim| draft.smith.choices.int(1, dim.known().unwrap_or(1).clamp(1, 3))).collect()
    }
}

/// An image as the next operand, with `least` to `most` axes besides batch and channels.
fn image(draft: &mut Draft<'_, '_>, least: usize, most: usize) -> Option<Image> {
    let dims = draft.operand(
        |dims| {
            let is_some = |dim: &Dim| dim.known().is_none_or(|size| size > 0);
            dims.len() >= least + 2
                && dims.len() <= most + 2
                && dims.get(1).is_some_and(|dim| dim.known().is_some())
                && dims.iter().all(is_some)
        },
        |smith| {
            let mut dims = smith.dims(1);
            let channels = [1, 2, 4, 3];
            dims.push(Dim::Known(smith.choices.pick(&channels).unwrap_or(1)));
            for _ in 0..smith.choices.between(least, most) {
                dims.push(Dim::Known(smith.choices.int(3, 8)));
            }
            dims
        },
    )?;
    let channels = dims.get(1)?.known().filter(|&channels| channels > 0)?;
    Some(Image { dims, channels })
}

/// Strides, padding and the like, of which inference says later whether the window fits.
fn window_attributes(draft: &mut Draft<'_, '_>, axes: usize, kernel: &[i64]) {
    draft.leave(&[
        attr::STRIDES,
        attr::PADS,
        attr::AUTO_PAD,
        attr::DILATIONS,
        attr::KERNEL_SHAPE,
        attr::OUTPUT_SHAPE,
        attr::OUTPUT_PADDING,
        attr::GROUP,
    ]);
    let is_required = draft.schema.attribute(attr::KERNEL_SHAPE).is_some_and(|formal| formal.is_required);
    if is_required || draft.smith.choices.chance(50) {
        draft.set(attr::KERNEL_SHAPE, kernel.to_vec());
    }
    if draft.smith.choices.chance(40) {
        let strides: Vec<i64> = (0..axes).map(|_| draft.smith.choices.int(1, 2)).collect();
        draft.set(attr::STRIDES, strides);
    }
    if draft.smith.choices.chance(20) {
        let dilations: Vec<i64> = (0..axes).map(|_| draft.smith.choices.int(1, 2)).collect();
        draft.set(attr::DILATIONS, dilations);
    } else if draft.smith.choices.chance(25) {
        let word = draft.smith.choices.pick(&["SAME_UPPER", "SAME_LOWER", "VALID"]).unwrap_or("VALID");
        draft.set(attr::AUTO_PAD, word);
    }
    if !draft.has(attr::AUTO_PAD) && draft.smith.choices.chance(50) {
        // A window never lies in the padding as a whole.
        let pads: Vec<i64> = (0..2 * axes)
            .map(|at| i64::from(draft.smith.choices.chance(50) && kernel.get(at % axes.max(1)) > Some(&1)))
            .collect();
        draft.set(attr::PADS, pads);
    }
}

/// The number of groups, as a divisor of the channels.
fn groups(draft: &mut Draft<'_, '_>, channels: i64) -> i64 {
    let group = if draft.smith.choices.chance(30) { channels } else { 1 };
    if group > 1 {
        draft.set(attr::GROUP, group);
    }
    group
}

fn known(sizes: &[i64]) -> Vec<Dim> {
    sizes.iter().map(|&size| Dim::Known(size)).collect()
}

fn weights(draft: &mut Draft<'_, '_>, front: [i64; 2], kernel: &[i64]) -> Option<()> {
    let mut sizes = front.to_vec();
    sizes.extend_from_slice(kernel);
    draft.shaped(&known(&sizes))
}

fn convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 3)?;
    let kernel = image.kernel(draft);
    let group = groups(draft, image.channels);
    let maps = group.checked_mul(draft.smith.choices.int(1, 3))?;
    weights(draft, [maps, image.channels.checked_div(group)?], &kernel)?;
    window_attributes(draft, image.axes(), &kernel);
    if draft.wants(40) {
        // A bias, or the zero points of integers.
        let is_integer = draft.schema.op() == op::CONV_INTEGER;
        draft.shaped(&known(if is_integer { &[] } else { std::slice::from_ref(&maps) }))?;
        if is_integer && draft.wants(50) {
            draft.shaped(&[])?;
        }
    }
    Some(())
}

fn quantized_convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 2)?;
    draft.shaped(&[])?;
    draft.shaped(&[])?;
    let kernel = image.kernel(draft);
    let group = groups(draft, image.channels);
    let maps = group.checked_mul(draft.smith.choices.int(1, 3))?;
    weights(draft, [maps, image.channels.checked_div(group)?], &kernel)?;
    for _ in 0..4 {
        draft.shaped(&[])?;
    }
    window_attributes(draft, image.axes(), &kernel);
    if draft.wants(40) {
        draft.shaped(&[Dim::Known(maps)])?;
    }
    Some(())
}

fn transposed_convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 3)?;
    let kernel = image.kernel(draft);
    let group = groups(draft, image.channels);
    let maps = draft.smith.choices.int(1, 3);
    weights(draft, [image.channels, maps], &kernel)?;
    window_attributes(draft, image.axes(), &kernel);
    if draft.wants(40) {
        draft.shaped(&[Dim::Known(maps.checked_mul(group)?)])?;
    }
    Some(())
}

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

fn causal_convolution(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 1)?;
    let kernel = image.kernel(draft);
    let size = kernel.first().copied()?;
    weights(draft, [image.channels, 1], &kernel)?;
    if draft.wants(40) {
        draft.shaped(&[Dim::Known(image.channels)])?;
        if size > 1 && draft.wants(40) {
            draft.shaped(&[*image.dims.first()?, Dim::Known(image.channels), Dim::Known(size - 1)])?;
        }
    }
    Some(())
}

fn pool(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 3)?;
    let kernel = image.kernel(draft);
    window_attributes(draft, image.axes(), &kernel);
    // Until version 21 the reference counts a window that begins in the padding behind, and runtimes do not.
    if draft.since() < 22 {
        draft.leave(&[attr::CEIL_MODE]);
    }
    Some(())
}

fn global_pool(draft: &mut Draft<'_, '_>) -> Option<()> {
    image(draft, 1, 3).map(drop)
}

fn unpool(draft: &mut Draft<'_, '_>) -> Option<()> {
    let image = image(draft, 1, 2)?;
    draft.shaped(&image.dims)?;
    draft.leave(&[attr::STRIDES, attr::PADS]);
    draft.set(attr::KERNEL_SHAPE, vec![2_i64; image.axes()]);
    draft.set(attr::STRIDES, vec![2_i64; image.axes()]);
    Some(())
}

fn regions(draft: &mut Draft<'_, '_>) -> Option<()> {
    image(draft, 2, 2)?;
    let count = draft.smith.choices.int(1, 3);
    let is_align = draft.schema.op() == op::ROI_ALIGN;
    draft.shaped(&[Dim::Known(count), Dim::Known(if is_align { 4 } else { 5 })])?;
    if is_align {
        let zeros = vec![0; usize::try_from(count).ok()?];
        draft.vector(&zeros)?;
    }
    Some(())
}

fn columns(draft: &mut Draft<'_, '_>) -> Option<()> {
    let (height, width) = (draft.smith.choices.int(2, 5), draft.smith.choices.int(2, 5));
    let block = [draft.smith.choices.int(1, 2), draft.smith.choices.int(1, 2)];
    let channels = draft.smith.choices.int(1, 3);
    let area: i64 = block.iter().product();
    let steps = (height - block[0] + 1) * (width - block[1] + 1);
    let batch = draft.smith.dims(1);
    draft.shaped(&[*batch.first()?, Dim::Known(channels * area), Dim::Known(steps)])?;
    draft.vector(&[height, width])?;
    draft.vector(&block)?;
    draft.leave(&[attr::STRIDES, attr::PADS, attr::DILATIONS]);
    Some(())
}

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

fn affine_grid(draft: &mut Draft<'_, '_>) -> Option<()> {
    let axes = draft.smith.choices.int(2, 3);
    let batch = draft.smith.choices.int(1, 3);
    draft.shaped(&known(&[batch, axes, axes + 1]))?;
    let mut size = vec![batch, draft.smith.choices.int(1, 3)];
    for _ in 0..axes {
        size.push(draft.smith.choices.int(1, 5));
    }
    draft.vector(&size)
}

fn blocks(draft: &mut Draft<'_, '_>) -> Option<()> {
    let block = draft.smith.choices.int(1, 3);
    let divisor = if draft.schema.op() == op::DEPTH_TO_SPACE { [block * block, 1] } else { [1, block] };
    draft.set(attr::BLOCKSIZE, block);
    let divides = |dim: Option<&Dim>, by: i64| {
        dim.is_some_and(|dim| dim.known().is_some_and(|size| size > 0 && size.checked_rem(by) == Some(0)))
    };
    draft.operand(
        |dims| {
            dims.len() == 4
                && divides(dims.get(1), divisor[0])
                && divides(dims.get(2), divisor[1])
                && divides(dims.get(3), divisor[1])
        },
        |smith| {
            let mut dims = smith.dims(1);
            for factor in [divisor[0], divisor[1], divisor[1]] {
                dims.push(Dim::Known(factor * smith.choices.int(1, 3)));
            }
            dims
        },
    )?;
    Some(())
}
