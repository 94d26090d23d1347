//! `Col2Im`: columns of blocks put together to images of a given size.
//!
//! The channels are those of the columns over the number of elements of a block, which divides them in every valid run.
//! The reference infers the sizes of the image only where all of them are constant. The lists of strides, dilations and
//! pads, the image and the block have as many spatial axes as each other.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::Windows;
use crate::fault::{BAD_VALUE, SIZES_DIFFER};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

use super::depth_space::{area_of, divided};

pub(super) const RULES: OpRules = infer(op::COL2IM, &[since(18, col2im)]);

fn col2im(cx: &mut Cx<'_, '_>) -> Outcome {
    let axes = spatial_axes(cx)?;
    let columns = cx.shape_of_rank(0, 3)?;
    let &[batch, channels, count] = columns.as_slice() else { return Err(Stop::Unknown) };
    let unknown = |axes: Option<usize>| Ok(Dims::from_elem(Dim::Unknown, axes.ok_or(Stop::Unknown)?));
    let (sizes, block) = (cx.elements(1)?, cx.elements(2)?);
    if block.iter().flatten().any(|&size| matches!(size, Dim::Known(..1))) {
        return Err(cx.fail(&BAD_VALUE, "a size of a block is less than 1"));
    }
    let image = sizes.clone().map_or_else(|| unknown(axes), Ok)?;
    let channels = match &block {
        Some(block) if block.iter().all(|&size| cx.dims_le(Dim::Known(1), size) == Some(true)) => {
            let area = area_of(cx, block, channels)?;
            divided(cx, channels, area, "channels")?
        }
        _ => Dim::Unknown,
    };
    if let (Some(sizes), Some(block)) = (sizes, block)
        && sizes.len() == block.len()
        && block.iter().all(|size| matches!(size, Dim::Known(1..)))
    {
        let places = Windows::read(cx, &block, true)?.convolve(cx, &sizes)?;
        let places = cx.product(&places);
        cx.agree(places, count, "the places of a block in the image and the blocks")?;
    }
    let mut dims = Dims::from_slice(&[batch, channels]);
    for size in image {
        dims.push(if cx.is_size(size) { size } else { Dim::Unknown });
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// How many spatial axes there are, by whatever tells it; all that do must agree.
fn spatial_axes(cx: &mut Cx<'_, '_>) -> Outcome<Option<usize>> {
    let mut found: Option<usize> = None;
    let mut counts = smallvec::SmallVec::<[usize; 5]>::new();
    for input in [1, 2] {
        counts.extend(cx.elements(input)?.map(|sizes| sizes.len()));
    }
    for (name, of_each) in [(attr::DILATIONS, 1), (attr::STRIDES, 1), (attr::PADS, 2)] {
        counts.extend(cx.ints(name)?.map(|list| list.len().checked_div(of_each).unwrap_or_default()));
    }
    for count in counts {
        if let Some(other) = found
            && other != count
        {
            return Err(cx.fail(&SIZES_DIFFER, format_args!("there are {other} and {count} spatial axes")));
        }
        found = Some(count);
    }
    Ok(found)
}
