//! Recipe of `QuantizeLinear` and `DequantizeLinear`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::QUANTIZE_LINEAR, op::DEQUANTIZE_LINEAR], quantize)];

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
