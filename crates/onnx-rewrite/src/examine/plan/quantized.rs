//! Scales for the tensor, for an axis, and for blocks of an axis.

use super::{Given, Planner, axes, axis_of};
use crate::examine::sizes;

/// The scales of `QuantizeLinear` and `DequantizeLinear`.
enum Scales {
    Whole,
    Axis,
    Blocks,
}

pub(super) fn linear(planner: &mut Planner<'_>) -> Option<()> {
    let names = if planner.op == "QuantizeLinear" {
        ["x", "y_scale", "y_zero_point"]
    } else {
        ["x", "x_scale", "x_zero_point"]
    };
    let [operand, scale, _] = names;
    let known_scale = planner.known(scale);
    let mut sizes = match planner.known(operand) {
        Some(sizes) => sizes,
        None => {
            let rank = planner.rng.pick(&[0, 1, 2, 2, 3, 3, 4])?;
            sizes::any(planner.rng, rank)
        }
    };
    let rank = sizes.len();
    let scales = scales(planner, known_scale.as_deref(), rank)?;
    // What an attribute says does not matter for one scale, but rules may name the axis.
    if let Scales::Whole = scales {
        if planner.version >= 13 {
            planner.int("axis", 1, &axes(rank.max(1)));
        } else {
            planner.leave_out("axis");
        }
        planner.leave_out("block_size");
        finish(planner, names, &sizes, known_scale.as_deref().unwrap_or_default());
        return Some(());
    }
    let axis = planner.int("axis", 1, &axes(rank));
    let axis = axis_of(axis, rank)?;
    let wanted = if let Scales::Blocks = scales {
        let is_known = planner.known(operand).is_some();
        let block = block(planner, &mut sizes, axis, known_scale.as_deref(), is_known)?;
        let mut wanted = sizes.clone();
        let size = wanted.get_mut(axis)?;
        *size = size.saturating_add(block.checked_sub(1)?).checked_div(block)?;
        wanted
    } else {
        planner.leave_out("block_size");
        vec![*sizes.get(axis)?]
    };
    let scale = known_scale.unwrap_or(wanted);
    finish(planner, names, &sizes, &scale);
    Some(())
}

/// Which scales a node has: blocks need version 21, axes version 13.
fn scales(planner: &mut Planner<'_>, known: Option<&[i64]>, rank: usize) -> Option<Scales> {
    let is_blocked = match planner.given("block_size") {
        Given::Value(value) => Some(super::integers(&value)?.first().copied()? > 0),
        Given::Any if planner.version >= 21 => None,
        _ => Some(false),
    };
    if let Some(known) = known {
        return Some(match (known.len(), is_blocked) {
            (0, _) => Scales::Whole,
            (1, None) if rank == 1 && planner.rng.chance(50) => Scales::Blocks,
            (1, Some(true)) if rank == 1 => Scales::Blocks,
            (1, Some(false) | None) => Scales::Axis,
            (_, Some(false)) => return None,
            _ => Scales::Blocks,
        });
    }
    Some(match is_blocked {
        _ if rank == 0 => Scales::Whole,
        Some(true) => Scales::Blocks,
        None if planner.rng.chance(55) => Scales::Blocks,
        _ if planner.version >= 13 && planner.rng.chance(50) => Scales::Axis,
        _ => Scales::Whole,
    })
}

/// The elements of a block. The operand has at least two blocks along the axis, if its sizes are free.
fn block(
    planner: &mut Planner<'_>,
    sizes: &mut [i64],
    axis: usize,
    scale: Option<&[i64]>,
    is_known: bool,
) -> Option<i64> {
    let size = sizes.get_mut(axis)?;
    if let Some(scale) = scale {
        // As many blocks as the scale has.
        let blocks = *scale.get(axis)?;
        let block = size.saturating_add(blocks.checked_sub(1)?).checked_div(blocks)?;
        let given = planner.int("block_size", 0, &[block]);
        return (given > 0).then_some(given);
    }
    let all = match is_known {
        false => vec![1, 2, 2, 3, 4],
        true => {
            let divisors = (1..=*size).filter(|&block| size.checked_rem(block) == Some(0));
            divisors.filter(|&block| block < *size || *size == 1).collect()
        }
    };
    let given = planner.int("block_size", 0, &all);
    if given <= 0 {
        return None;
    }
    if !is_known {
        // The last block may have fewer elements.
        let blocks = planner.rng.pick(&[2, 2, 3])?;
        *size = given.saturating_mul(blocks);
    }
    Some(given)
}

fn finish(planner: &mut Planner<'_>, [operand, scale, zero]: [&'static str; 3], sizes: &[i64], own: &[i64]) {
    if planner.known(operand).is_none() {
        planner.sizes(operand, sizes);
    }
    if planner.known(scale).is_none() {
        planner.sizes(scale, own);
    }
    if planner.known(zero).is_none() && planner.has(zero) {
        planner.sizes(zero, own);
    }
}
