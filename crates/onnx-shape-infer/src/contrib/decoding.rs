//! Generation of text by running a decoder in a loop, and helpers of it.
//!
//! The generated tokens have the length of input `max_length`, whatever is generated before. The graphs of the decoder and
//! encoder are not visited: what they get is built by the runtime.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::at;

pub(super) const RULES: &[OpRules] = &[
    infer(microsoft::BEAM_SEARCH, &[since(1, beams)]),
    infer(microsoft::BIFURCATION_DETECTOR, &[since(1, bifurcation)]),
    infer(microsoft::GREEDY_SEARCH, &[since(1, greedy)]),
    infer(microsoft::N_GRAM_REPEAT_BLOCK, &[since(1, |cx| cx.copy_shape(1, 0))]),
    infer(microsoft::SAMPLING, &[since(1, greedy)]),
    infer(microsoft::SPECULATIVE_PREFIX_COMMIT, &[since(1, commit)]),
    infer(microsoft::WHISPER_BEAM_SEARCH, &[since(1, beams)]),
];

/// The size that an input says.
fn size(cx: &mut Cx<'_, '_>, input: usize) -> Dim {
    let size = cx.scalar(input).unwrap_or_default();
    if cx.is_size(size) { size } else { Dim::Unknown }
}

fn vocabulary(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    Ok(match cx.int_or("vocab_size", -1)? {
        size @ 1.. => Dim::Known(size),
        _ => Dim::Unknown,
    })
}

/// The prompt of an encoder need not be tokens, so only its batch counts.
fn beams(cx: &mut Cx<'_, '_>) -> Outcome {
    let batch = at(&cx.shape(0)?, 0);
    let [length, beams, returned] = [1, 3, 4].map(|input| size(cx, input));
    cx.set_shape(0, [batch, returned, length]);
    cx.set_shape(1, [batch, returned]);
    let vocabulary = vocabulary(cx)?;
    cx.set_shape(2, [Dim::Unknown, batch, beams, vocabulary]);
    Ok(())
}

fn greedy(cx: &mut Cx<'_, '_>) -> Outcome {
    let batch = at(&cx.shape_of_rank(0, 2)?, 0);
    let length = size(cx, 1);
    cx.set_shape(0, [batch, length]);
    let vocabulary = vocabulary(cx)?;
    cx.set_shape(1, [batch, vocabulary]);
    Ok(())
}

fn bifurcation(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, [Dim::Unknown]);
    cx.copy_shape(2, 1)
}

/// One control record for each request; predictions without a batch axis are those of one request.
fn commit(cx: &mut Cx<'_, '_>) -> Outcome {
    for (state, output) in [(3, 1), (4, 2)] {
        // Unknown as long as the state is.
        let _ = cx.copy_shape(state, output);
    }
    let tokens = cx.shape(0)?;
    let batch = if tokens.len() == 1 { Dim::Known(1) } else { at(&tokens, 0) };
    cx.set_shape(0, [batch]);
    Ok(())
}
