//! Recipe of `Reshape`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::family::sizes::numbers;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::RESHAPE], reshape)];

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
