//! Operators whose operands broadcast to each other.

use onnx_schema::{attr, op};

use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(
        &[
            op::ADD,
            op::AND,
            op::BITWISE_AND,
            op::BITWISE_OR,
            op::BITWISE_XOR,
            op::BIT_SHIFT,
            op::DIV,
            op::EQUAL,
            op::GREATER,
            op::GREATER_OR_EQUAL,
            op::LESS,
            op::LESS_OR_EQUAL,
            op::MOD,
            op::MUL,
            op::OR,
            op::POW,
            op::STRING_CONCAT,
            op::SUB,
            op::SWI_GLU,
            op::XOR,
            op::P_RELU,
        ],
        binary,
    ),
    row(&[op::MAX, op::MEAN, op::MIN, op::SUM], variadic),
    row(&[op::WHERE], choice),
    row(&[op::EXPAND], expand),
];

fn binary(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    if draft.schema.op() == op::MOD {
        let is_float = draft.ty(0).is_some_and(|ty| ty.elem().is_float());
        draft.set(attr::FMOD, i64::from(is_float));
    }
    // Until version 6, an attribute says whether the second broadcasts to the first.
    if draft.schema.attribute(attr::BROADCAST).is_some() {
        draft.leave(&[attr::BROADCAST, attr::AXIS]);
        if draft.smith.choices.chance(60) {
            return draft.shaped(&dims);
        }
        draft.set(attr::BROADCAST, 1_i64);
        let start = draft.smith.choices.below(dims.len().saturating_add(1));
        return draft.shaped(dims.get(start..)?);
    }
    if draft.since() < 7 && draft.schema.domain().is_empty() && draft.schema.op() != op::P_RELU {
        return draft.shaped(&dims);
    }
    let found = draft.partner(&dims)?;
    debug_assert!(found.len() <= dims.len(), "a partner broadcasts to the first operand");
    Some(())
}

fn variadic(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    for _ in 0..draft.smith.choices.below(3) {
        if draft.since() < 8 {
            draft.shaped(&dims)?;
        } else {
            draft.partner(&dims)?;
        }
    }
    Some(())
}

fn choice(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    draft.partner(&dims)?;
    draft.partner(&dims)?;
    Some(())
}

fn expand(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    let mut sizes: Vec<i64> = Vec::new();
    for _ in 0..draft.smith.choices.below(2) {
        sizes.push(draft.smith.choices.int(1, 3));
    }
    for dim in &dims {
        sizes.push(match dim.known() {
            Some(1) => draft.smith.choices.int(1, 4),
            Some(size) if draft.smith.choices.chance(50) => size,
            _ => 1,
        });
    }
    draft.vector(&sizes)
}
