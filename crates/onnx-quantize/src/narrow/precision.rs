//! Constants whose relative error counts: scales, and factors.
//!
//! A narrow type has fewer bits for numbers near zero, and none below its least positive number. An epsilon stays what it is there, a small
//! positive number; a scale or a factor becomes another one, and the result changes as much.

use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Traits, op};

use super::slots::Kept;
use super::want::WideReason;
use super::{ConstantLosses, Half, RoundingLosses, keep_maker};

/// The part of a factor that may be lost: its product is wrong by as much.
const MOST_OF_FACTOR: f64 = 1.0 / 16.0;
/// Number of nodes that only move elements and are followed from a constant.
const DEPTH: usize = 16;

/// What a node does with an operand.
enum Role {
    /// The step of quantized numbers: each of them is wrong by as much.
    Scale {
        /// Whether the numbers are divided by it, so that it cannot be zero.
        divides: bool,
    },
    /// It multiplies or divides.
    Factor,
    /// It moves the elements.
    Moves,
    Other,
}

impl Role {
    fn of(model: &Model, node: NodeId, index: usize) -> Self {
        let record = model.node(node);
        let name = model.str(record.op());
        let is_standard = record.domain().is_empty();
        let traits = newest(record.op()).filter(|_| is_standard);
        match (name, index) {
            ("QuantizeLinear", 1) => Self::Scale { divides: true },
            ("DequantizeLinear", 1) | ("MatMulNBits", 2) => Self::Scale { divides: false },
            _ if is_standard && (record.is(op::MUL) || record.is(op::DIV)) => Self::Factor,
            (name, 1) if name.ends_with("Normalization") => Self::Factor,
            (_, 0 | 1) if traits.is_some_and(Traits::contracts) => Self::Factor,
            (_, 0) if traits.is_some_and(Traits::keeps_elements) => Self::Moves,
            _ => Self::Other,
        }
    }

    /// Whether a constant with these losses is not what the node needs.
    fn is_lost(&self, losses: &RoundingLosses, half: Half, rank: usize) -> bool {
        match self {
            // Of scales for blocks, those of the largest numbers matter.
            Self::Scale { divides } => {
                let error = if rank > 1 { losses.error } else { losses.worst_error };
                error > half.precision() || (*divides && losses.zeros > 0)
            }
            Self::Factor => losses.error > MOST_OF_FACTOR,
            Self::Moves | Self::Other => false,
        }
    }
}

/// Keeps the nodes with a scale or a factor that the type would not hold. Returns the names of these constants, each with the relative error
/// that it would have.
pub(super) fn keep(
    model: &Model,
    half: Half,
    losses: &ConstantLosses,
    kept: &mut Kept,
) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for value in model.all_graphs().flat_map(|graph| model.definitions(graph)) {
        let known = losses.get(&value).filter(|losses| losses.worst_error > half.precision());
        if known.is_some_and(|losses| keep_users(model, value, (losses, half), kept, DEPTH)) {
            keep_maker(model, value, WideReason::Precision, kept);
            let name = model.str(model.value(value).name()).to_owned();
            found.push((name, known.map_or(0.0, |losses| losses.worst_error)));
        }
    }
    found
}

/// Keeps the users of a constant, or of one that has its elements. Returns `true` if there are such.
fn keep_users(
    model: &Model,
    value: ValueId,
    (losses, half): (&RoundingLosses, Half),
    kept: &mut Kept,
    depth: usize,
) -> bool {
    let rank = model.constant_tensor(value).map_or(0, |tensor| tensor.rank());
    let mut is_any = false;
    for (node, index) in model.node_uses(value) {
        let role = Role::of(model, node, index);
        let is_lost = match (&role, model.node(node).output(0)) {
            (Role::Moves, Some(moved)) if depth > 0 => {
                keep_users(model, moved, (losses, half), kept, depth - 1)
            }
            _ => role.is_lost(losses, half, rank),
        };
        if is_lost {
            kept.entry(node).or_insert(WideReason::Precision);
            is_any = true;
        }
    }
    is_any
}
