//! Recipe of `DepthToSpace` and `SpaceToDepth`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::DEPTH_TO_SPACE, op::SPACE_TO_DEPTH], blocks)];

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
