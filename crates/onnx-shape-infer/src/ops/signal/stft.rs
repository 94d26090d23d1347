//! `STFT`: spectra `[B, frames, bins, 2]` of frames of a signal `[B, L, 1]`, `[B, L, 2]` or, as runtimes take it, `[B, L]`.
//!
//! There are `(L - frame)//step + 1` frames, and `frame//2 + 1` bins with `onesided`, which is the default. The reference
//! takes the default for 0 and gives `frame` bins then, which no runtime does; nor does it keep the batch.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::dft::parts_of_numbers;
use crate::cx::{Cx, Outcome};
use crate::family::window::not_negative;
use crate::fault::{BAD_VALUE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::STFT, &[since(17, transform)]);

fn transform(cx: &mut Cx<'_, '_>) -> Outcome {
    let signal = cx.shape(0).ok();
    if let Some(rank) = signal.as_ref().map(|dims| dims.len())
        && !(2..=3).contains(&rank)
    {
        return Err(cx.fail(&WRONG_RANK, format_args!("the signal has rank {rank} where 3 is needed")));
    }
    let signal = signal.unwrap_or_default();
    let is_onesided = cx.int_or(attr::ONESIDED, 1)? != 0;
    if let [_, _, parts] = signal[..] {
        parts_of_numbers(cx, parts.known())?;
    }
    let frame = frame(cx)?;
    let step = cx.scalar(1).unwrap_or(Dim::Unknown);
    if let Dim::Known(number) = step
        && number < 1
    {
        return Err(cx.fail(&BAD_VALUE, format_args!("`frame_step` is {number}, which is not positive")));
    }
    let frames = if cx.dims_le(Dim::Known(1), step) == Some(true) {
        let room = cx.dims().sub(at(&signal, 1), frame);
        let room = not_negative(cx, room)?;
        let steps = cx.dims().floor_div(room, step);
        cx.dims().add(steps, Dim::Known(1))
    } else {
        Dim::Unknown
    };
    // A complex signal has two sides: the text of the operator excludes `onesided` there, and still has it as the default.
    let is_complex = signal.get(2) == Some(&Dim::Known(2));
    let bins = match (is_onesided, is_complex) {
        (false, _) => frame,
        (true, true) => Dim::Unknown,
        (true, false) => {
            let half = cx.dims().floor_div(frame, Dim::Known(2));
            cx.dims().add(half, Dim::Known(1))
        }
    };
    cx.set_shape(0, [at(&signal, 0), frames, bins, Dim::Known(2)]);
    Ok(())
}

/// The number of elements of a frame, by the window and by the length.
fn frame(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    let window = cx.dims_of_rank(2, 1)?;
    let length = cx.scalar(3).unwrap_or(Dim::Unknown);
    if let Dim::Known(number) = length
        && number < 1
    {
        return Err(cx.fail(&BAD_VALUE, format_args!("`frame_length` is {number}, which is not positive")));
    }
    cx.same(length, at(&window, 0), "the sizes of a frame and of the window")
}
