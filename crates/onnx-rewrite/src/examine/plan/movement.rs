//! Operators that move elements by indices, conditions and positions.

use onnx_types::tensor::Tensor;

use super::{Given, Planner, axes, axis_of, index_of};

/// The mean of one attribute that is one number for each spatial axis.
fn spatial(
    planner: &mut Planner<'_>,
    name: &'static str,
    count: usize,
    all: &[i64],
    default: i64,
) -> Vec<i64> {
    let numbers = planner.ints(name, |rng| (0..count).map(|_| rng.pick(all).unwrap_or(default)).collect());
    numbers.unwrap_or_else(|| vec![default; count])
}

/// `AffineGrid` of images and volumes.
pub(super) fn grid(planner: &mut Planner<'_>) -> Option<()> {
    let known = planner.known("theta");
    let axes = match known.as_deref() {
        Some(&[_, axes, _]) => axes,
        Some(_) => return None,
        None => planner.rng.pick(&[2, 2, 3])?,
    };
    let batch = known.as_ref().and_then(|sizes| sizes.first().copied());
    let batch = batch.unwrap_or_else(|| planner.size());
    if known.is_none() {
        planner.sizes("theta", &[batch, axes, axes.checked_add(1)?]);
    }
    let mut sizes = vec![batch, planner.size()];
    for _ in 0..axes {
        sizes.push(planner.size());
    }
    planner.elements("size", Tensor::vector(&sizes));
    Some(())
}

/// `Col2Im`: the number of blocks follows from the image, the block, and how blocks are placed.
pub(super) fn columns(planner: &mut Planner<'_>) -> Option<()> {
    let count = 2;
    let dilations = spatial(planner, "dilations", count, &[1, 1, 2], 1);
    let pads = spatial(planner, "pads", count.saturating_mul(2), &[0, 0, 1], 0);
    let strides = spatial(planner, "strides", count, &[1, 1, 2], 1);
    let block: Vec<i64> = (0..count).map(|_| planner.rng.pick(&[1, 2, 2, 3]).unwrap_or(2)).collect();
    let image: Vec<i64> = (0..count).map(|_| planner.rng.pick(&[5, 6, 7]).unwrap_or(5)).collect();
    let mut places = 1_i64;
    for axis in 0..count {
        let pad = pads.get(axis)?.checked_add(*pads.get(axis.checked_add(count)?)?)?;
        let extent = block.get(axis)?.checked_sub(1)?.checked_mul(*dilations.get(axis)?)?.checked_add(1)?;
        let free = image.get(axis)?.checked_add(pad)?.checked_sub(extent)?;
        let along = free.checked_div(*strides.get(axis)?)?.checked_add(1)?;
        places = places.checked_mul(along)?;
    }
    let elements = block.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
    let (batch, channels) = (planner.size(), planner.size());
    if planner.known("input").is_none() {
        planner.sizes("input", &[batch, channels.checked_mul(elements)?, places]);
    }
    planner.elements("image_shape", Tensor::vector(&image));
    planner.elements("block_shape", Tensor::vector(&block));
    Some(())
}

/// `GatherND` with any number of axes that data and indices share.
pub(super) fn gather(planner: &mut Planner<'_>) -> Option<()> {
    let data = planner.known("data");
    let rank =
        data.as_ref().map_or_else(|| planner.rng.pick(&[1, 2, 3, 3, 4, 4, 5]), |data| Some(data.len()))?;
    let most = rank.checked_sub(1)?;
    let all: Vec<i64> = (0..=most).filter_map(|count| i64::try_from(count).ok()).collect();
    let shared = if planner.version >= 12 { planner.int("batch_dims", 0, &all) } else { 0 };
    let shared = usize::try_from(shared).ok().filter(|&shared| shared < rank)?;
    let data = match data {
        Some(data) => data,
        None => planner.known_or("data", &[rank])?,
    };
    if planner.known("indices").is_some() {
        return Some(());
    }
    let depth = planner.rng.below(rank.checked_sub(shared)?).saturating_add(1);
    let mut sizes: Vec<i64> = data.get(..shared)?.to_vec();
    for _ in 0..planner.rng.below(3) {
        sizes.push(planner.rng.pick(&[1, 2, 3])?);
    }
    let count = sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
    sizes.push(i64::try_from(depth).ok()?);
    let mut indices = Vec::new();
    for _ in 0..count.min(512) {
        for &size in data.get(shared..shared.checked_add(depth)?)? {
            indices.push(index_of(planner.rng, size));
        }
    }
    planner.elements("indices", Tensor::from_slice(sizes, &indices).ok()?);
    Some(())
}

/// `Compress` along an axis, or of all elements.
pub(super) fn compress(planner: &mut Planner<'_>) -> Option<()> {
    let input = planner.known_or("input", &[1, 2, 2, 3, 4])?;
    let axis = match planner.given("axis") {
        // Without an axis, all elements are one.
        Given::Default => None,
        Given::Any if planner.rng.chance(25) => {
            planner.leave_out("axis");
            None
        }
        Given::Any => {
            let axis = planner.rng.pick(&axes(input.len()))?;
            planner.set("axis", axis);
            Some(axis)
        }
        Given::Value(value) => super::integers(&value)?.first().copied(),
    };
    let length = match axis {
        Some(axis) => *input.get(axis_of(axis, input.len())?)?,
        None => input.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?,
    };
    if planner.known("condition").is_none() {
        // A condition may be shorter.
        let length = if planner.rng.chance(70) { length } else { length.saturating_sub(1).max(1) };
        planner.sizes("condition", &[length]);
    }
    Some(())
}

/// Random tensors, whose sizes are an attribute.
pub(super) fn random(planner: &mut Planner<'_>) -> Option<()> {
    planner.required_list("shape", &[1, 2, 3], 2);
    Some(())
}
