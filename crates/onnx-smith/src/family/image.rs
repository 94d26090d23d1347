//! Images: batch, channels and spatial axes, with windows that move over them.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;

/// The sizes of an image: how many channels there are, and its other axes.
pub(crate) struct Image {
    pub(crate) dims: Vec<Dim>,
    pub(crate) channels: i64,
}

impl Image {
    /// How many axes come after batch and channels.
    pub(crate) fn axes(&self) -> usize {
        self.dims.len().saturating_sub(2)
    }

    /// A size of a window along each axis, as large as it may be without padding, and 3 at most.
    pub(crate) fn kernel(&self, draft: &mut Draft<'_, '_>) -> Vec<i64> {
        let sizes = self.dims.iter().skip(2);
        sizes.map(|dim| draft.smith.choices.int(1, dim.known().unwrap_or(1).clamp(1, 3))).collect()
    }
}

/// An image as the next operand, with `least` to `most` axes in addition to batch and channels.
pub(crate) fn image(draft: &mut Draft<'_, '_>, least: usize, most: usize) -> Option<Image> {
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
pub(crate) fn window_attributes(draft: &mut Draft<'_, '_>, axes: usize, kernel: &[i64]) {
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
pub(crate) fn groups(draft: &mut Draft<'_, '_>, channels: i64) -> i64 {
    let group = if draft.smith.choices.chance(30) { channels } else { 1 };
    if group > 1 {
        draft.set(attr::GROUP, group);
    }
    group
}

pub(crate) fn known(sizes: &[i64]) -> Vec<Dim> {
    sizes.iter().map(|&size| Dim::Known(size)).collect()
}

pub(crate) fn weights(draft: &mut Draft<'_, '_>, front: [i64; 2], kernel: &[i64]) -> Option<()> {
    let mut sizes = front.to_vec();
    sizes.extend_from_slice(kernel);
    draft.shaped(&known(&sizes))
}

pub(crate) fn regions(draft: &mut Draft<'_, '_>) -> Option<()> {
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
