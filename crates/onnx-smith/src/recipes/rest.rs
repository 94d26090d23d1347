//! Signals, quantization, sequences, training, images and what else has operands of its own kind.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(&[op::DFT], fourier),
    row(&[op::STFT], short_fourier),
    row(&[op::MEL_WEIGHT_MATRIX], mel),
    row(&[op::BLACKMAN_WINDOW, op::HAMMING_WINDOW, op::HANN_WINDOW], window),
    row(&[op::IMAGE_DECODER], image),
    row(&[op::QUANTIZE_LINEAR, op::DEQUANTIZE_LINEAR], quantize),
    row(&[op::RESIZE, op::UPSAMPLE], resize),
    row(&[op::CONCAT_FROM_SEQUENCE], concat_sequence),
    row(&[op::SEQUENCE_AT, op::SEQUENCE_ERASE], sequence_at),
    row(&[op::SPLIT_TO_SEQUENCE], split_sequence),
    row(&[op::ADAGRAD, op::ADAM, op::MOMENTUM], optimizer),
    row(&[op::GRADIENT], gradient),
    row(&[op::RANDOM_NORMAL, op::RANDOM_UNIFORM], random),
    row(&[op::BIT_CAST], bit_cast),
    row(&[op::STRING_NORMALIZER], string_normalizer),
];

/// A signal with one number, or a real and an imaginary part, for each moment.
fn fourier(draft: &mut Draft<'_, '_>) -> Option<()> {
    let parts = draft.smith.choices.int(1, 2);
    draft.operand(
        |dims| {
            dims.len() >= 3 && dims.last() == Some(&Dim::Known(parts)) && dims.get(1) != Some(&Dim::Known(0))
        },
        |smith| {
            let mut dims = smith.dims(1);
            dims.push(Dim::Known(smith.choices.int(2, 6)));
            dims.push(Dim::Known(parts));
            dims
        },
    )?;
    draft.leave(&[attr::AXIS, attr::ONESIDED, attr::INVERSE]);
    if parts == 1 && draft.smith.choices.chance(40) {
        draft.set(attr::ONESIDED, 1_i64);
    } else if draft.smith.choices.chance(30) && parts == 2 {
        draft.set(attr::INVERSE, 1_i64);
    }
    if draft.since() < 20 {
        draft.set(attr::AXIS, 1_i64);
        return Some(());
    }
    draft.skip();
    draft.scalar(1)
}

fn short_fourier(draft: &mut Draft<'_, '_>) -> Option<()> {
    let length = draft.smith.choices.int(6, 10);
    let batch = *draft.smith.dims(1).first()?;
    draft.shaped(&[batch, Dim::Known(length), Dim::Known(1)])?;
    draft.scalar(2)?;
    draft.skip();
    // The reference takes another default than the schema has.
    let is_onesided = draft.smith.choices.int(0, 1);
    draft.set(attr::ONESIDED, is_onesided);
    draft.scalar(4)
}

fn mel(draft: &mut Draft<'_, '_>) -> Option<()> {
    for number in [4, 16, 8000, 0, 4000] {
        if draft.count() == 0 {
            draft.prefer(&[ElemType::Int64, ElemType::Int32])?;
        } else if draft.count() == 3 {
            draft.prefer(&[ElemType::Float, ElemType::Double])?;
        }
        draft.scalar(number)?;
    }
    Some(())
}

fn window(draft: &mut Draft<'_, '_>) -> Option<()> {
    let size = draft.smith.choices.int(1, 8);
    draft.scalar(size)
}

fn image(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(1, 1).map(drop)
}

fn quantize(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    draft.leave(&[attr::BLOCK_SIZE, attr::PRECISION, attr::OUTPUT_DTYPE, attr::SATURATE]);
    let is_by_axis = draft.since() >= 13 && draft.smith.choices.chance(40);
    let scale = if is_by_axis {
        let axis = draft.smith.choices.below(dims.len());
        draft.set(attr::AXIS, i64::try_from(axis).ok()?);
        vec![*dims.get(axis)?]
    } else {
        draft.leave(&[attr::AXIS]);
        Vec::new()
    };
    draft.shaped(&scale)?;
    if draft.wants(50) {
        draft.shaped(&scale)?;
    }
    Some(())
}

fn resize(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.operand(
        |dims| {
            (1..=4).contains(&dims.len()) && dims.iter().all(|dim| dim.known().is_some_and(|size| size > 0))
        },
        |smith| (0..smith.choices.between(2, 4)).map(|_| Dim::Known(smith.choices.int(1, 4))).collect(),
    )?;
    draft.leave(&[
        attr::AXES,
        attr::KEEP_ASPECT_RATIO_POLICY,
        attr::COORDINATE_TRANSFORMATION_MODE,
        attr::ANTIALIAS,
        attr::EXCLUDE_OUTSIDE,
        attr::MODE,
    ]);
    if draft.schema.attribute(attr::MODE).is_some_and(|formal| formal.is_required) {
        draft.set(attr::MODE, "nearest");
    }
    if draft.schema.attribute(attr::WIDTH_SCALE).is_some() {
        draft.set(attr::WIDTH_SCALE, 2.0_f32);
        draft.set(attr::HEIGHT_SCALE, 2.0_f32);
        return Some(());
    }
    let scales: Vec<i64> = dims.iter().map(|_| draft.smith.choices.int(1, 2)).collect();
    if draft.schema.attribute(attr::SCALES).is_some() {
        draft.set(attr::SCALES, scales.iter().map(|&scale| scale as f32).collect::<Vec<f32>>());
        return Some(());
    }
    if draft.schema.op() == op::UPSAMPLE || draft.since() < 11 {
        return draft.vector(&scales);
    }
    // The first version with sizes takes empty operands for those that are left out.
    if draft.since() < 13 {
        draft.prefer(&[ElemType::Float])?;
        draft.vector(&[])?;
        return draft.vector(&scales);
    }
    draft.skip();
    if draft.smith.choices.chance(50) {
        return draft.vector(&scales);
    }
    draft.skip();
    let sizes: Option<Vec<i64>> = dims
        .iter()
        .zip(&scales)
        .map(|(dim, scale)| dim.known().and_then(|size| size.checked_mul(*scale)))
        .collect();
    draft.vector(&sizes?)
}

fn concat_sequence(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let rank = draft.ty(0)?.inner()?.shape()?.rank();
    let is_new = rank == 0 || draft.smith.choices.chance(50);
    draft.set(attr::NEW_AXIS, i64::from(is_new));
    let axis = draft.smith.choices.below(rank.saturating_add(usize::from(is_new)));
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    Some(())
}

fn sequence_at(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    draft.scalar(0)
}

fn split_sequence(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 3)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    if draft.wants(50) {
        draft.scalar(1)?;
    }
    Some(())
}

/// One tensor with its gradient and its state.
fn optimizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.shaped(&[])?;
    draft.shaped(&[])?;
    let dims = draft.any()?;
    let is_adam = draft.schema.op() == op::ADAM;
    for _ in 0..if is_adam { 3 } else { 2 } {
        let elem = draft.ty(2)?.elem();
        draft.prefer(&[elem])?;
        draft.shaped(&dims)?;
    }
    draft.make(if is_adam { 3 } else { 2 });
    Some(())
}

/// The derivatives of a value by the operands.
fn gradient(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.prefer(&[ElemType::Float])?;
    draft.any()?;
    let name = draft.operand_name(0)?;
    draft.set_strings(attr::XS, [name.as_str()]);
    draft.set(attr::Y, name.as_str());
    draft.leave(&[attr::ZS]);
    draft.make(1);
    Some(())
}

fn random(draft: &mut Draft<'_, '_>) -> Option<()> {
    let sizes: Vec<i64> = (0..draft.smith.choices.below(4)).map(|_| draft.smith.choices.int(0, 4)).collect();
    draft.set(attr::SHAPE, sizes);
    Some(())
}

/// To a type of the same width.
fn bit_cast(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let bits = draft.ty(0)?.elem().bits()?;
    for _ in 0..12 {
        let code = draft.elem_code(0)?;
        if ElemType::from_code(i32::try_from(code).ok()?).and_then(ElemType::bits) == Some(bits) {
            draft.set(attr::TO, code);
            return Some(());
        }
    }
    None
}

/// Some texts, or one row of them.
fn string_normalizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    let is_some = |dim: Option<&Dim>| dim.is_some_and(|dim| dim.known().is_some_and(|size| size > 0));
    draft.operand(
        |dims| {
            is_some(dims.last())
                && (dims.len() == 1 || (dims.len() == 2 && dims.first() == Some(&Dim::Known(1))))
        },
        |smith| {
            let count = Dim::Known(smith.choices.int(1, 4));
            if smith.choices.chance(50) { vec![count] } else { vec![Dim::Known(1), count] }
        },
    )?;
    Some(())
}
