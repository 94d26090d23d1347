//! `STFT`: the Fourier transforms of frames of a signal, `[batch, frames, bins, 2]`.
//!
//! Frame `f` begins at element `f*frame_step`; there are `(L - frame_length)/frame_step + 1` frames, without padding. A frame
//! is multiplied by the window before it is transformed, in `double`, and the result is rounded once. The signal is real
//! (`[batch, L, 1]` or, as runtimes take it, `[batch, L]`) or complex (`[batch, L, 2]`), where `onesided`, which is the
//! default, fails.

use onnx_schema::{attr, op};

use crate::cx::axes::size;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::fourier::{Fourier, Number};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::STFT, &[since(17, transform)]).open().takes(&[(1, Takes::ONE)]);

fn transform(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (batch, length, parts) = match *x.dims {
        [batch, length] => (batch, length, 1),
        [batch, length, parts @ (1 | 2)] => (batch, length, parts),
        _ => return Err(Stop::failed("the signal has not the sizes [batch, length, 1 or 2]")),
    };
    let is_onesided = cx.int_or(attr::ONESIDED, 1)? != 0;
    if is_onesided && parts == 2 {
        return Err(Stop::failed("the transform of a complex signal has two sides"));
    }
    let step = size(cx.scalar_int(1)?)?;
    let (window, frame) = frame(cx, length)?;
    let room = length.checked_sub(frame).filter(|_| frame > 0 && step > 0);
    let room = room.ok_or_else(|| Stop::failed("a frame has no elements, no step, or does not fit"))?;
    let (frames, bins) = (room / step + 1, if is_onesided { frame / 2 + 1 } else { frame });
    let dims = [batch, frames, bins, 2];
    let elements = cx.read_f64(&x)?;
    let mut out = cx.buffer(cx.count(&dims)?)?;
    let mut fourier = Fourier::new(cx, frame, false)?;
    let mut line = cx.filled(frame, Number::default())?;
    for (n, f) in (0..batch).flat_map(|n| (0..frames).map(move |f| (n, f))) {
        for (k, number) in line.iter_mut().enumerate() {
            let at = (n * length + f * step + k) * parts;
            let factor = window.as_ref().map_or(1.0, |window| window[k]);
            number.re = elements[at] * factor;
            number.im = if parts == 2 { elements[at + 1] * factor } else { 0.0 };
        }
        fourier.apply(cx, &mut line)?;
        out.extend(line.iter().take(bins).flat_map(|number| [number.re, number.im]));
    }
    put_real(cx, 0, x.elem, &dims, &out)
}

/// The window, and the number of elements of a frame.
fn frame(cx: &mut Cx<'_, '_>, length: usize) -> Outcome<(Option<Vec<f64>>, usize)> {
    let given = if cx.has_input(3) { Some(size(cx.scalar_int(3)?)?) } else { None };
    let Some(window) = cx.optional(2)? else { return Ok((None, given.unwrap_or(length))) };
    if window.rank() != 1 || given.is_some_and(|given| given != window.count) {
        return Err(Stop::failed("the window is not a vector of the length of a frame"));
    }
    Ok((Some(cx.read_f64(&window)?.into_vec()), window.count))
}
