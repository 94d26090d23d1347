//! Operators on images whose operands are boxes, offsets and frames.

use onnx_types::tensor::Tensor;

use super::Planner;

/// Boxes of an image of this height and width, with a batch index before each for `MaxRoiPool`.
fn boxes(planner: &mut Planner<'_>, count: i64, batch: Option<i64>, extent: i64) -> Option<Tensor> {
    let mut numbers: Vec<f64> = Vec::new();
    for _ in 0..count {
        if let Some(batch) = batch {
            numbers.push(planner.rng.below(usize::try_from(batch).ok()?) as f64);
        }
        let corner = |planner: &mut Planner<'_>| planner.rng.pick(&[0.0, 0.5, 1.0]);
        let (x, y) = (corner(planner)?, corner(planner)?);
        let far = extent as f64 - 1.0;
        numbers.extend([x, y, far, far - 0.5]);
    }
    let columns = if batch.is_some() { 5 } else { 4 };
    Tensor::from_slice([count, columns], &numbers).ok()
}

/// The sizes of a batch of images.
fn images(planner: &mut Planner<'_>, name: &'static str) -> Option<Vec<i64>> {
    if let Some(sizes) = planner.known(name) {
        return (sizes.len() == 4).then_some(sizes);
    }
    let sizes = vec![planner.size(), planner.size(), 5, planner.rng.pick(&[4, 5, 6])?];
    planner.sizes(name, &sizes);
    Some(sizes)
}

/// `MaxRoiPool` and `RoiAlign`.
pub(super) fn pool(planner: &mut Planner<'_>) -> Option<()> {
    let image = images(planner, "X")?;
    let (batch, extent) = (*image.first()?, image.get(2)?.min(image.get(3)?));
    let (count, extent) = (planner.rng.pick(&[1, 2, 3])?, *extent);
    let is_align = planner.op == "RoiAlign";
    if planner.known("rois").is_none() {
        let rois = boxes(planner, count, (!is_align).then_some(batch), extent)?;
        planner.elements("rois", rois);
    }
    if is_align && planner.known("batch_indices").is_none() {
        let below = usize::try_from(batch).ok()?;
        let indices: Vec<i64> =
            (0..count).filter_map(|_| i64::try_from(planner.rng.below(below)).ok()).collect();
        planner.elements("batch_indices", Tensor::vector(&indices));
    }
    planner.required_list("pooled_shape", &[2, 2, 1, 3], 2);
    for name in ["output_height", "output_width"] {
        planner.int(name, 1, &[1, 2, 2]);
    }
    planner.int("sampling_ratio", 0, &[0, 1, 2]);
    Some(())
}

/// `NonMaxSuppression`: scores of each class for each box.
pub(super) fn suppression(planner: &mut Planner<'_>) -> Option<()> {
    let boxes =
        planner.known("boxes").or_else(|| Some(vec![planner.size(), planner.rng.pick(&[3, 4, 6])?, 4]))?;
    let &[batch, count, 4] = boxes.as_slice() else { return None };
    planner.place("boxes", &boxes);
    let classes = planner.size();
    planner.place("scores", &[batch, classes, count]);
    if planner.known("max_output_boxes_per_class").is_none() && planner.has("max_output_boxes_per_class") {
        let most = planner.rng.pick(&[1_i64, 2, 10])?;
        planner.elements("max_output_boxes_per_class", Tensor::scalar(most));
    }
    for name in ["iou_threshold", "score_threshold"] {
        if planner.known(name).is_none() && planner.has(name) {
            let threshold = planner.rng.pick(&[0.0_f32, 0.25, 0.5])?;
            planner.elements(name, Tensor::scalar(threshold));
        }
    }
    Some(())
}

/// `DeformConv` without groups: an offset for each element of the window at each place of the result.
pub(super) fn deformed(planner: &mut Planner<'_>) -> Option<()> {
    let image = images(planner, "X")?;
    let &[batch, channels, height, width] = image.as_slice() else { return None };
    let filters = planner.size();
    let kernel = match planner.known("W") {
        Some(sizes) => sizes.get(2..).map(<[i64]>::to_vec)?,
        None => {
            let kernel = vec![planner.rng.pick(&[1, 2])?, planner.rng.pick(&[1, 2])?];
            planner.sizes("W", &[filters, channels, *kernel.first()?, *kernel.get(1)?]);
            kernel
        }
    };
    for name in ["dilations", "group", "kernel_shape", "offset_group", "pads", "strides"] {
        planner.leave_out(name);
    }
    let along = |size: i64, axis: usize| size.checked_sub(*kernel.get(axis)?)?.checked_add(1);
    let (rows, columns) = (along(height, 0)?, along(width, 1)?);
    let elements = kernel.first()?.checked_mul(*kernel.get(1)?)?;
    planner.place("offset", &[batch, elements.checked_mul(2)?, rows, columns]);
    planner.place("B", &[planner.known("W").and_then(|sizes| sizes.first().copied()).unwrap_or(filters)]);
    planner.place("mask", &[batch, elements, rows, columns]);
    Some(())
}

/// `QLinearConv` with one scale for the weights, or one for each filter.
pub(super) fn convolved(planner: &mut Planner<'_>) -> Option<()> {
    let image = images(planner, "x")?;
    let (channels, filters) = (*image.get(1)?, planner.size());
    let kernel = planner.rng.pick(&[1, 2, 3])?;
    planner.place("w", &[filters, channels, kernel, kernel]);
    for name in ["group", "kernel_shape", "auto_pad"] {
        planner.leave_out(name);
    }
    let of_filters = if planner.rng.chance(40) { vec![filters] } else { Vec::new() };
    for name in ["w_scale", "w_zero_point"] {
        planner.place(name, &of_filters);
    }
    for name in ["x_scale", "x_zero_point", "y_scale", "y_zero_point"] {
        planner.place(name, &[]);
    }
    if planner.known("B").is_none() && planner.has("B") {
        planner.sizes("B", &[filters]);
    }
    Some(())
}

/// `MelWeightMatrix`: bins and frequencies that fit each other.
pub(super) fn mel(planner: &mut Planner<'_>) -> Option<()> {
    for (name, all) in
        [("num_mel_bins", [2_i64, 3, 4]), ("dft_length", [8, 16, 16]), ("sample_rate", [16, 32, 64])]
    {
        if planner.known(name).is_none() {
            let number = planner.rng.pick(&all)?;
            planner.elements(name, Tensor::scalar(number));
        }
    }
    for (name, all) in [("lower_edge_hertz", [0.0_f32, 1.0]), ("upper_edge_hertz", [6.0, 8.0])] {
        if planner.known(name).is_none() {
            let number = planner.rng.pick(&all)?;
            planner.elements(name, Tensor::scalar(number));
        }
    }
    Some(())
}

/// `STFT` with a window, a length of frames, or both.
pub(super) fn spectrum(planner: &mut Planner<'_>) -> Option<()> {
    let length = 8;
    if planner.known("signal").is_none() {
        let sizes = [planner.size(), length, 1];
        planner.sizes("signal", &sizes);
    }
    let frame = planner.rng.pick(&[2_i64, 4])?;
    if planner.known("frame_step").is_none() {
        let step = planner.rng.pick(&[1_i64, 2])?;
        planner.elements("frame_step", Tensor::scalar(step));
    }
    planner.place("window", &[frame]);
    if planner.known("frame_length").is_none() && planner.has("frame_length") {
        planner.elements("frame_length", Tensor::scalar(frame));
    }
    planner.int("onesided", 1, &[0, 1]);
    Some(())
}
