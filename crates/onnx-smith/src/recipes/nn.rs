//! Normalizations, recurrent networks, attention and losses.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use super::tensor::numbers;
use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(&[op::BATCH_NORMALIZATION], batch_normalization),
    row(&[op::INSTANCE_NORMALIZATION], instance_normalization),
    row(&[op::LAYER_NORMALIZATION, op::RMS_NORMALIZATION], layer_normalization),
    row(&[op::GROUP_NORMALIZATION], group_normalization),
    row(&[op::LRN], local_response),
    row(&[op::RNN, op::GRU, op::LSTM], recurrent),
    row(&[op::ATTENTION], attention),
    row(&[op::LINEAR_ATTENTION], linear_attention),
    row(&[op::ROTARY_EMBEDDING], rotary),
    row(&[op::FLEX_ATTENTION], flex_attention),
    row(&[op::NEGATIVE_LOG_LIKELIHOOD_LOSS, op::SOFTMAX_CROSS_ENTROPY_LOSS], loss),
    row(&[op::DROPOUT], dropout),
    row(&[op::NON_MAX_SUPPRESSION], non_max_suppression),
    row(&[op::MULTINOMIAL], multinomial),
];

/// A batch of something with channels.
fn channels(draft: &mut Draft<'_, '_>, least: usize) -> Option<Vec<Dim>> {
    draft.operand(
        |dims| {
            dims.len() >= least
                && dims.len() <= 5
                && dims.get(1).is_some_and(|dim| dim.known().is_some_and(|size| size > 0))
        },
        |smith| {
            let mut dims = smith.dims(1);
            dims.push(Dim::Known(smith.choices.int(1, 4)));
            let more = smith.choices.between(least.saturating_sub(2), 2);
            dims.extend(smith.dims(more));
            dims
        },
    )
}

fn batch_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 2)?;
    for _ in 0..4 {
        draft.shaped(&[*dims.get(1)?])?;
    }
    // Early versions have a mode for training that nothing but an attribute tells from the other.
    draft.leave(&[attr::TRAINING_MODE, attr::IS_TEST, attr::CONSUMED_INPUTS, attr::SPATIAL]);
    if draft.since() < 7 {
        draft.set(attr::IS_TEST, 1_i64);
    }
    if draft.schema.attribute(attr::CONSUMED_INPUTS).is_some_and(|formal| formal.is_required) {
        draft.set(attr::CONSUMED_INPUTS, [0, 0, 0, 1, 1]);
    }
    draft.make(1);
    if draft.smith.choices.chance(30) && draft.schema.attribute(attr::TRAINING_MODE).is_some() {
        draft.set(attr::TRAINING_MODE, 1_i64);
        draft.make(3);
    }
    Some(())
}

fn instance_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 3)?;
    draft.shaped(&[*dims.get(1)?])?;
    draft.shaped(&[*dims.get(1)?])
}

fn layer_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    let rest = dims.get(axis..)?.to_vec();
    // The reference infers through a body that gives the result the type of the input, and the schema that of the scale.
    let elem = draft.ty(0)?.elem();
    draft.prefer(&[elem])?;
    draft.shaped(&rest)?;
    if draft.wants(50) {
        draft.shaped(&rest)?;
    }
    Some(())
}

fn group_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 3)?;
    let count = dims.get(1)?.known()?;
    let groups = if draft.smith.choices.chance(50) { count } else { 1 };
    draft.set(attr::NUM_GROUPS, groups);
    let size = if draft.since() < 21 { groups } else { count };
    draft.shaped(&[Dim::Known(size)])?;
    draft.shaped(&[Dim::Known(size)])
}

fn local_response(draft: &mut Draft<'_, '_>) -> Option<()> {
    channels(draft, 3)?;
    let size = draft.smith.choices.pick(&[1, 3, 5])?;
    draft.set(attr::SIZE, size);
    Some(())
}

fn recurrent(draft: &mut Draft<'_, '_>) -> Option<()> {
    let gates = match draft.schema.op() {
        op::GRU => 3,
        op::LSTM => 4,
        _ => 1,
    };
    let input = draft.of_rank(3, 3)?;
    let hidden = draft.smith.choices.int(1, 4);
    let is_both = draft.smith.choices.chance(30);
    let directions = if is_both { 2 } else { 1 };
    if is_both {
        draft.set(attr::DIRECTION, "bidirectional");
    } else if draft.smith.choices.chance(30) {
        draft.set(attr::DIRECTION, "reverse");
    }
    draft.leave(&[
        attr::DIRECTION,
        attr::LAYOUT,
        attr::ACTIVATIONS,
        attr::ACTIVATION_ALPHA,
        attr::ACTIVATION_BETA,
        attr::OUTPUT_SEQUENCE,
        attr::CLIP,
    ]);
    draft.set(attr::HIDDEN_SIZE, hidden);
    let (d, h, g) = (Dim::Known(directions), Dim::Known(hidden), Dim::Known(gates * hidden));
    draft.shaped(&[d, g, *input.get(2)?])?;
    draft.shaped(&[d, g, h])?;
    if draft.wants(50) {
        draft.shaped(&[d, Dim::Known(2 * gates * hidden)])?;
    } else {
        draft.skip();
    }
    draft.skip();
    if draft.wants(40) {
        draft.shaped(&[d, *input.get(1)?, h])?;
        if gates == 4 && draft.wants(60) {
            draft.shaped(&[d, *input.get(1)?, h])?;
        }
    }
    if draft.schema.min_outputs() == 0 && draft.since() < 3 {
        draft.set(attr::OUTPUT_SEQUENCE, 1_i64);
    }
    Some(())
}

/// Queries, keys and values of four axes, which need no numbers of heads.
fn attention(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.prefer(&[ElemType::Float, ElemType::Float16, ElemType::Double])?;
    let (heads, size) = (draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 4));
    let (steps, keys) = (draft.smith.choices.int(1, 4), draft.smith.choices.int(1, 4));
    let batch = *draft.smith.dims(1).first()?;
    let shape = |length: i64, size: i64| [batch, Dim::Known(heads), Dim::Known(length), Dim::Known(size)];
    draft.shaped(&shape(steps, size))?;
    draft.shaped(&shape(keys, size))?;
    let elem = draft.ty(0)?.elem();
    draft.prefer(&[elem])?;
    draft.shaped(&shape(keys, size + 1))?;
    draft.leave(&[
        attr::Q_NUM_HEADS,
        attr::KV_NUM_HEADS,
        attr::QK_MATMUL_OUTPUT_MODE,
        attr::LEFT_WINDOW_SIZE,
        attr::RIGHT_WINDOW_SIZE,
        attr::SOFTMAX_PRECISION,
    ]);
    draft.make(1);
    if draft.smith.choices.chance(30) {
        draft.prefer(&[elem])?;
        draft.shaped(&[Dim::Known(steps), Dim::Known(keys)])?;
    }
    Some(())
}

fn linear_attention(draft: &mut Draft<'_, '_>) -> Option<()> {
    let (heads, size) = (draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 3));
    let front = draft.smith.dims(2);
    let with = |width: i64| -> Vec<Dim> { front.iter().copied().chain([Dim::Known(width)]).collect() };
    draft.set(attr::Q_NUM_HEADS, heads);
    draft.set(attr::KV_NUM_HEADS, heads);
    draft.set(attr::UPDATE_RULE, "linear");
    draft.leave(&[attr::CHUNK_SIZE]);
    draft.shaped(&with(heads * size))?;
    draft.shaped(&with(heads * size))?;
    draft.shaped(&with(heads * (size + 1)))
}

fn rotary(draft: &mut Draft<'_, '_>) -> Option<()> {
    let (batch, heads, length) =
        (draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 3), draft.smith.choices.int(1, 4));
    let half = draft.smith.choices.int(1, 3);
    let known = |sizes: &[i64]| -> Vec<Dim> { sizes.iter().map(|&size| Dim::Known(size)).collect() };
    draft.shaped(&known(&[batch, heads, length, 2 * half]))?;
    draft.leave(&[attr::NUM_HEADS, attr::ROTARY_EMBEDDING_DIM]);
    draft.shaped(&known(&[batch, length, half]))?;
    draft.shaped(&known(&[batch, length, half]))
}

fn flex_attention(draft: &mut Draft<'_, '_>) -> Option<()> {
    // The reference refuses values whose rank it does not infer, so these come from nowhere else.
    let dims: Vec<Dim> = (0..4).map(|_| Dim::Known(draft.smith.choices.int(1, 3))).collect();
    for _ in 0..3 {
        draft.fresh(&dims)?;
    }
    Some(())
}

fn loss(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 2)?;
    let sizes = numbers(&dims)?;
    let mut target = sizes;
    target.remove(1);
    let count =
        target.iter().try_fold(1_i64, |all, &size| all.checked_mul(size)).filter(|&count| count < 512)?;
    draft.constant(&target, &vec![0; usize::try_from(count).ok()?])?;
    draft.leave(&[attr::IGNORE_INDEX]);
    if draft.wants(40) {
        draft.shaped(&[*dims.get(1)?])?;
    }
    Some(())
}

fn dropout(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    if draft.wants(40) {
        draft.scalar(0)?;
        if draft.wants(50) {
            draft.scalar(0)?;
        }
    }
    Some(())
}

fn non_max_suppression(draft: &mut Draft<'_, '_>) -> Option<()> {
    let front = draft.smith.dims(2);
    let [batch, boxes] = *front.first_chunk::<2>()?;
    draft.shaped(&[batch, boxes, Dim::Known(4)])?;
    let classes = *draft.smith.dims(1).first()?;
    draft.shaped(&[batch, classes, boxes])?;
    if draft.wants(60) {
        draft.scalar(2)?;
    }
    Some(())
}

fn multinomial(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(2, 2).map(drop)
}
