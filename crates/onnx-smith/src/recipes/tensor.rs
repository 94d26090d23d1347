//! Operators that rearrange tensors, with operands that say how.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use super::{Row, row};
use crate::draft::Draft;
use crate::elements;

pub(super) static ROWS: &[Row] = &[
    row(&[op::RESHAPE], reshape),
    row(&[op::TILE], tile),
    row(&[op::PAD], pad),
    row(&[op::SLICE], slice),
    row(&[op::SPLIT], split),
    row(&[op::CONCAT], concat),
    row(&[op::CENTER_CROP_PAD], center_crop_pad),
    row(&[op::TENSOR_SCATTER], tensor_scatter),
    row(&[op::ONE_HOT], one_hot),
    row(&[op::RANGE], range),
    row(&[op::TOP_K], top_k),
    row(&[op::CUM_SUM, op::CUM_PROD], cumulative),
    row(&[op::COMPRESS], compress),
    row(&[op::REVERSE_SEQUENCE], reverse_sequence),
    row(&[op::SQUEEZE, op::UNSQUEEZE], squeeze),
    row(&[op::FLATTEN], flatten),
    row(&[op::TRILU], trilu),
    row(&[op::EYE_LIKE], eye_like),
    row(&[op::CONSTANT_OF_SHAPE], constant_of_shape),
    row(&[op::CONSTANT], constant),
    row(&[op::CLIP], clip),
    row(&[op::TRANSPOSE], transpose),
];

/// The sizes as numbers, where all are.
pub(super) fn numbers(dims: &[Dim]) -> Option<Vec<i64>> {
    dims.iter().map(|dim| dim.known()).collect()
}

/// The number of elements, where that is known.
fn count(dims: &[Dim]) -> Option<i64> {
    numbers(dims)?.iter().try_fold(1_i64, |all, &size| all.checked_mul(size))
}

fn reshape(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    draft.leave(&[attr::ALLOWZERO]);
    let sizes = match (count(&dims), draft.smith.choices.below(4)) {
        (Some(all), 0) => vec![all],
        (Some(all), 1) if all > 0 => {
            let factor = [2, 3, 4, 5, 1].into_iter().find(|factor| all % factor == 0).unwrap_or(1);
            vec![factor, all / factor]
        }
        (Some(all), 2) if all > 0 => vec![1, -1, 1],
        (None, 0) => vec![-1],
        // A zero copies the size at its place.
        _ if dims.iter().all(|dim| *dim != Dim::Known(0)) && !dims.is_empty() => {
            let last = dims.len().saturating_sub(1);
            (0..dims.len()).map(|at| if at == last { -1 } else { 0 }).collect()
        }
        (Some(all), _) => vec![all],
        (None, _) => vec![-1],
    };
    draft.ints(attr::SHAPE, &sizes)
}

fn tile(draft: &mut Draft<'_, '_>) -> Option<()> {
    if draft.since() < 6 {
        draft.of_rank(1, 3)?;
        draft.constant(&[], &[2])?;
        return draft.constant(&[], &[0]);
    }
    let dims = draft.any()?;
    let repeats: Vec<i64> = dims.iter().map(|_| draft.smith.choices.int(1, 3)).collect();
    draft.vector(&repeats)
}

fn pad(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let is_constant =
        draft.smith.choices.chance(70) || dims.iter().any(|dim| dim.known().is_none_or(|size| size < 3));
    draft.set(attr::MODE, if is_constant { "constant" } else { "reflect" });
    let pads: Vec<i64> = (0..2 * dims.len()).map(|_| draft.smith.choices.int(0, 2)).collect();
    // The first version calls them otherwise.
    if draft.since() < 2 {
        draft.set(attr::PADDINGS, pads);
        return Some(());
    }
    draft.ints(attr::PADS, &pads)?;
    if draft.wants(40) {
        draft.scalar(1)?;
    }
    Some(())
}

fn slice(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axes = draft.axes(dims.len());
    let starts: Vec<i64> = axes.iter().map(|_| draft.smith.choices.int(0, 2)).collect();
    let ends: Vec<i64> = starts.iter().map(|start| draft.smith.choices.int(start + 1, start + 3)).collect();
    if draft.since() < 10 {
        draft.set(attr::STARTS, starts);
        draft.set(attr::ENDS, ends);
        draft.set(attr::AXES, axes);
        return Some(());
    }
    draft.prefer(&[ElemType::Int64, ElemType::Int32])?;
    draft.vector(&starts)?;
    draft.vector(&ends)?;
    draft.vector(&axes)?;
    if draft.wants(40) {
        let steps: Vec<i64> = axes.iter().map(|_| draft.smith.choices.int(1, 2)).collect();
        draft.vector(&steps)?;
    }
    Some(())
}

fn split(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    draft.leave(&[attr::NUM_OUTPUTS, attr::SPLIT]);
    let size = dims.get(axis)?.known();
    let outputs = draft.smith.choices.int(1, 3);
    let parts = usize::try_from(outputs).ok()?;
    draft.make(parts);
    let is_even = size.is_none_or(|size| size % outputs == 0);
    if is_even && draft.smith.choices.chance(50) {
        draft.set(attr::NUM_OUTPUTS, outputs);
        return Some(());
    }
    let size = size.filter(|&size| size >= outputs)?;
    let mut sizes = vec![1; parts];
    *sizes.last_mut()? = size - (outputs - 1);
    draft.ints(attr::SPLIT, &sizes)
}

fn concat(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    for _ in 0..draft.smith.choices.below(3) {
        let size = *draft.smith.dims(1).first()?;
        let others = dims.clone();
        draft.operand(
            |found| {
                found.len() == dims.len()
                    && (0..dims.len()).all(|at| at == axis || found.get(at) == dims.get(at))
            },
            |_| others.iter().enumerate().map(|(at, &dim)| if at == axis { size } else { dim }).collect(),
        )?;
    }
    Some(())
}

fn center_crop_pad(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axes = draft.axes(dims.len());
    let sizes: Vec<i64> = axes.iter().map(|_| draft.smith.choices.int(1, 5)).collect();
    draft.set(attr::AXES, axes);
    draft.vector(&sizes)
}

fn tensor_scatter(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(2, 4)?;
    let axis = draft.smith.choices.between(1, dims.len().saturating_sub(1));
    let whole = dims.get(axis)?.known().filter(|&size| size > 0)?;
    let part = draft.smith.choices.int(1, whole);
    let update: Vec<Dim> =
        dims.iter().enumerate().map(|(at, &dim)| if at == axis { Dim::Known(part) } else { dim }).collect();
    draft.shaped(&update)?;
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    if draft.wants(40) {
        let batch = usize::try_from(dims.first()?.known()?).ok()?;
        draft.vector(&vec![0; batch])?;
    }
    Some(())
}

fn one_hot(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 3)?;
    let depth = draft.smith.choices.int(1, 5);
    if draft.smith.choices.chance(50) {
        draft.scalar(depth)?
    } else {
        draft.vector(&[depth])?
    }
    draft.vector(&[0, 1])?;
    let rank = i64::try_from(dims.len()).ok()?;
    let axis = draft.smith.choices.int(-rank - 1, rank);
    draft.set(attr::AXIS, axis);
    Some(())
}

fn range(draft: &mut Draft<'_, '_>) -> Option<()> {
    for (least, most) in [(0, 2), (2, 6), (1, 2)] {
        let number = draft.smith.choices.int(least, most);
        draft.scalar(number)?;
    }
    Some(())
}

fn top_k(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    let most = dims.get(axis)?.known().filter(|&size| size > 0)?;
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    let count = draft.smith.choices.int(1, most);
    if draft.schema.attribute(attr::K).is_some() {
        draft.set(attr::K, count);
        return Some(());
    }
    draft.vector(&[count])
}

fn cumulative(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = i64::try_from(draft.smith.choices.below(dims.len())).ok()?;
    draft.scalar(axis)
}

fn compress(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 3)?;
    if draft.smith.choices.chance(70) {
        let axis = draft.smith.choices.below(dims.len());
        draft.set(attr::AXIS, i64::try_from(axis).ok()?);
        return draft.shaped(&[*dims.get(axis)?]);
    }
    draft.leave(&[attr::AXIS]);
    draft.of_rank(1, 1).map(drop)
}

fn reverse_sequence(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(2, 4)?;
    let batch = draft.smith.choices.int(0, 1);
    draft.set(attr::BATCH_AXIS, batch);
    draft.set(attr::TIME_AXIS, 1 - batch);
    draft.shaped(&[*dims.get(usize::try_from(batch).ok()?)?])
}

fn squeeze(draft: &mut Draft<'_, '_>) -> Option<()> {
    let is_squeeze = draft.schema.op() == op::SQUEEZE;
    if !is_squeeze {
        let dims = draft.any()?;
        let rank = dims.len().saturating_add(1 + draft.smith.choices.below(2));
        let mut axes: Vec<i64> = (0..i64::try_from(rank).ok()?).collect();
        while axes.len() > rank - dims.len() {
            let at = draft.smith.choices.below(axes.len());
            axes.remove(at);
        }
        return draft.ints(attr::AXES, &axes);
    }
    let dims = draft.operand(
        |dims| dims.contains(&Dim::Known(1)),
        |smith| {
            let rank = smith.choices.between(1, 3);
            let mut dims = smith.dims(rank);
            let at = smith.choices.below(rank);
            if let Some(dim) = dims.get_mut(at) {
                *dim = Dim::Known(1);
            }
            dims
        },
    )?;
    let axes: Vec<i64> =
        (0_i64..).zip(&dims).filter(|(_, dim)| **dim == Dim::Known(1)).map(|(at, _)| at).collect();
    draft.ints(attr::AXES, &axes)
}

fn flatten(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let rank = i64::try_from(dims.len()).ok()?;
    let axis = draft.smith.choices.int(0, rank);
    draft.set(attr::AXIS, axis);
    Some(())
}

fn trilu(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(2, 4)?;
    if draft.wants(40) {
        let diagonal = draft.smith.choices.int(-1, 2);
        draft.scalar(diagonal)?;
    }
    Some(())
}

fn eye_like(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(2, 2).map(drop)
}

fn constant_of_shape(draft: &mut Draft<'_, '_>) -> Option<()> {
    let sizes: Vec<i64> = (0..draft.smith.choices.below(4)).map(|_| draft.smith.choices.int(0, 4)).collect();
    if draft.smith.choices.chance(60) {
        let code = i32::try_from(draft.elem_code(0)?).ok()?;
        let value = elements::tensor(ElemType::from_code(code)?, &[1], &[1])?;
        draft.set(attr::VALUE, value);
    }
    draft.vector(&sizes)
}

fn constant(draft: &mut Draft<'_, '_>) -> Option<()> {
    // Every version gives its value by exactly one of its attributes.
    let names = draft.schema.attributes();
    names.iter().for_each(|formal| draft.leave(&[formal.name]));
    let formal = draft.smith.choices.pick(names)?;
    match formal.name {
        attr::VALUE_FLOAT => draft.set(attr::VALUE_FLOAT, 1.5_f32),
        attr::VALUE_FLOATS => draft.set_floats(attr::VALUE_FLOATS, 3),
        attr::VALUE_INT => draft.set(attr::VALUE_INT, -3_i64),
        attr::VALUE_INTS => draft.set(attr::VALUE_INTS, [2, 3, -1]),
        attr::VALUE_STRING => draft.set(attr::VALUE_STRING, "text"),
        attr::VALUE_STRINGS => draft.set_strings(attr::VALUE_STRINGS, ["a", "", "b c"]),
        attr::SPARSE_VALUE => {
            let sparse = draft.sparse()?;
            draft.set(attr::SPARSE_VALUE, std::sync::Arc::new(sparse));
        }
        _ => {
            let code = i32::try_from(draft.elem_code(0)?).ok()?;
            let sizes: Vec<i64> =
                (0..draft.smith.choices.below(3)).map(|_| draft.smith.choices.int(0, 4)).collect();
            let mut value = draft.random(ElemType::from_code(code)?, &sizes)?;
            if draft.smith.choices.chance(50) {
                value = elements::typed(&value).unwrap_or(value);
            }
            draft.set(attr::VALUE, value);
        }
    }
    Some(())
}

fn clip(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    for bound in [0, 2] {
        if draft.wants(60) {
            draft.scalar(bound)?;
        } else if draft.formal().is_some() {
            draft.skip();
        }
    }
    Some(())
}

fn transpose(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    if draft.smith.choices.chance(70) {
        let order = draft.permutation(dims.len());
        draft.set(attr::PERM, order);
    }
    draft.leave(&[attr::PERM]);
    Some(())
}
