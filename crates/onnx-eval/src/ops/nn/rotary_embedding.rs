//! `RotaryEmbedding`: pairs of the elements of each head, turned by angles that belong to their place in the sequence.
//!
//! The pairs are neighbors, or lie half of the turned part apart. What lies behind the turned part is copied. An input of three
//! axes has the heads one after the other in the last axis.

use onnx_schema::{attr, op};

use crate::cx::axes::size;
use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Number, by_float};
use crate::ops::tensor::gather::index;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::ROTARY_EMBEDDING, &[since(23, rotate)]).open().takes(&[(3, Takes::ZERO)]);

fn rotate(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, cosines, sines) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let heads = size(cx.int_or(attr::NUM_HEADS, 0)?)?;
    // Batch, heads, steps, elements of a head, and whether heads are inside of steps.
    let (batch, heads, steps, width, is_inside) = match x.dims[..] {
        [batch, heads, steps, width] => (batch, heads, steps, width, false),
        [batch, steps, all] if heads > 0 && all % heads == 0 => (batch, heads, steps, all / heads, true),
        _ => return Err(Stop::failed("the input has neither four axes nor three with a number of heads")),
    };
    let turned = match size(cx.int_or(attr::ROTARY_EMBEDDING_DIM, 0)?)? {
        0 => width,
        turned => turned,
    };
    let half = turned / 2;
    if turned > width || turned % 2 != 0 {
        return Err(Stop::failed(format_args!("{turned} of {width} elements cannot be turned")));
    }
    let positions = cx.optional_list(3)?;
    let fits = match (&positions, &cosines.dims[..]) {
        (Some(given), &[_, angles]) => given.len() == batch.saturating_mul(steps) && angles == half,
        (None, dims) => dims == [batch, steps, half],
        _ => false,
    };
    if !fits || cosines.dims != sines.dims {
        return Err(Stop::failed(format_args!(
            "cosines {:?} and sines {:?} do not fit a batch of {batch}, {steps} steps and {half} angles",
            cosines.dims, sines.dims
        )));
    }
    if x.count == 0 {
        return cx.put_reshaped(0, &x.tensor, &x.dims);
    }
    let is_interleaved = cx.flag(attr::INTERLEAVED)?;
    let places: Vec<usize> = match positions {
        Some(given) => given.iter().map(|&at| index(at, cosines.dims[0])).collect::<Outcome<_>>()?,
        None => cx.collect(0..batch * steps)?,
    };
    cx.work(x.count.saturating_mul(4))?;
    by_float!(x.elem, T => {
        let (cosines, sines) = (cx.read::<T>(&cosines)?, cx.read::<T>(&sines)?);
        let mut out = cx.read::<T>(&x)?.into_vec();
        for (at, head) in out.chunks_exact_mut(width.max(1)).enumerate() {
            let (n, step) = if is_inside {
                (at / (steps * heads), at / heads % steps)
            } else {
                (at / (heads * steps), at % steps)
            };
            let angles = places[n * steps + step] * half;
            for k in 0..half {
                let (one, two) = if is_interleaved { (2 * k, 2 * k + 1) } else { (k, half + k) };
                let (c, s, a, b) = (cosines[angles + k], sines[angles + k], head[one], head[two]);
                head[one] = c.times(a).minus(s.times(b));
                head[two] = s.times(a).plus(c.times(b));
            }
        }
        cx.put::<T>(0, x.elem, &x.dims, out)
    })
}
