//! Operators that combine elements along an axis.
//!
//! With a batch of 1, every operator along the axis of the batch combines one row. If the size is free, the rows of a batch would
//! influence each other.

use onnx_ir::{Model, Node, NodeId};
use onnx_schema::{attr, domain, op};
use onnx_shape_infer::Inference;
use onnx_types::Symbol;

/// Reductions.
const REDUCTIONS: [Symbol; 10] = [
    op::REDUCE_SUM,
    op::REDUCE_MEAN,
    op::REDUCE_MAX,
    op::REDUCE_MIN,
    op::REDUCE_PROD,
    op::REDUCE_L1,
    op::REDUCE_L2,
    op::REDUCE_LOG_SUM,
    op::REDUCE_LOG_SUM_EXP,
    op::REDUCE_SUM_SQUARE,
];

/// Operators with the batch on the first axis of their first operand.
const BATCH_FIRST: [Symbol; 13] = [
    op::CONV,
    op::CONV_TRANSPOSE,
    op::CONV_INTEGER,
    op::Q_LINEAR_CONV,
    op::MAX_POOL,
    op::AVERAGE_POOL,
    op::LP_POOL,
    op::GLOBAL_AVERAGE_POOL,
    op::GLOBAL_MAX_POOL,
    op::INSTANCE_NORMALIZATION,
    op::GROUP_NORMALIZATION,
    op::LRN,
    op::DEPTH_TO_SPACE,
];

/// Returns `true` if a node combines the elements of its operand at an index along an axis.
pub(super) fn mixes(model: &Model, inference: &Inference, node: NodeId, index: usize, axis: usize) -> bool {
    let record = model.node(node);
    if onnx_schema::normalize_domain(record.domain()) != domain::ONNX {
        return false;
    }
    let Some(rank) = record.input(index).and_then(|value| inference.shape(value)).map(<[_]>::len) else {
        return false;
    };
    let version = model.versions_in(record.graph()).get(domain::ONNX).unwrap_or(1);
    let normal = |axis: i64| if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    let at = axis as i64;
    let has_axis = |default: i64| normal(int(record, attr::AXIS, default)) == at;
    match record.op() {
        op::SOFTMAX | op::LOG_SOFTMAX | op::HARDMAX if version >= 13 => has_axis(-1),
        op::SOFTMAX | op::LOG_SOFTMAX | op::HARDMAX => normal(int(record, attr::AXIS, 1)) <= at,
        op::LAYER_NORMALIZATION | op::RMS_NORMALIZATION if index == 0 => {
            normal(int(record, attr::AXIS, -1)) <= at
        }
        op::ARG_MAX | op::ARG_MIN => has_axis(0),
        op::TOP_K if index == 0 => has_axis(if version >= 10 { -1 } else { 0 }),
        op::CUM_SUM if index == 0 => {
            let axis =
                record.input(1).and_then(|axis| inference.content(axis)).and_then(|all| all.first()?.known());
            axis.is_none_or(|axis| normal(axis) == at)
        }
        op::GATHER if index == 0 => has_axis(0),
        op::LSTM | op::GRU | op::RNN if index == 0 => at != i64::from(int(record, attr::LAYOUT, 0) != 1),
        op::MAT_MUL | op::MAT_MUL_INTEGER => {
            // The inner axis: the last one of the first operand, and the one before the last of the second.
            let inner = if index == 0 || rank == 1 { rank.checked_sub(1) } else { rank.checked_sub(2) };
            index < 2 && inner == Some(axis)
        }
        op::GEMM if index < 2 => {
            let is_transposed = int(record, if index == 0 { attr::TRANS_A } else { attr::TRANS_B }, 0) != 0;
            let inner = usize::from((index == 0) != is_transposed);
            axis == inner
        }
        op::NON_ZERO | op::UNIQUE | op::COMPRESS => true,
        reduction if REDUCTIONS.contains(&reduction) => {
            index == 0 && reduces(model, inference, node, at, rank)
        }
        other if BATCH_FIRST.contains(&other) => index == 0 && axis != 0,
        _ => false,
    }
}

fn int(record: &Node, name: Symbol, default: i64) -> i64 {
    record.attribute(name).and_then(|found| found.as_int()).unwrap_or(default)
}

/// Whether a reduction has an axis; `true` if its axes are not known.
fn reduces(model: &Model, inference: &Inference, node: NodeId, axis: i64, rank: usize) -> bool {
    let record = model.node(node);
    let listed = record.attribute(attr::AXES).and_then(|axes| axes.as_ints()).map(<[i64]>::to_vec);
    let axes = match (listed, record.input(1)) {
        (Some(axes), _) => axes,
        (None, Some(axes)) => match inference.content(axes) {
            Some(content) => match content.iter().map(|elem| elem.known()).collect::<Option<Vec<i64>>>() {
                Some(axes) => axes,
                None => return true,
            },
            None => return true,
        },
        (None, None) => Vec::new(),
    };
    if axes.is_empty() {
        return int(record, attr::NOOP_WITH_EMPTY_AXES, 0) == 0;
    }
    let normal = |axis: i64| if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    axes.into_iter().any(|other| normal(other) == axis)
}
