//! `Dropout`: in inference, the input itself and a mask that is all true. In training, each element is 0 with the probability
//! `ratio`, and otherwise divided by `1 - ratio`; the mask contains the remaining elements.
//!
//! With the attribute `seed`, which may not be negative, the mask is that of the reference: an element remains if its number in
//! the sequence of MT19937 is not less than the ratio. Without it, the numbers are those of the other random operators, for the
//! seed of the run and the name of the node. Elements are scaled in `double` and rounded once. A ratio outside [0, 1) fails in
//! training; 0 copies the input. Versions 1 and 6 train unless `is_test` is set, and their mask has the type of the data.

use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::ops::generator::mersenne::Mersenne;
use crate::ops::generator::random::Draws;
use crate::ops::math::cast::{put_real, round_to};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::DROPOUT, &[since(1, with_flag), since(7, inference), since(12, with_inputs)])
        .takes(&[(1, Takes::Within(0.0, 0.5))]);

/// `is_test` is 0 by default, which means training.
fn with_flag(cx: &mut Cx<'_, '_>) -> Outcome {
    let ratio = f64::from(cx.float_or(attr::RATIO, 0.5)?);
    if cx.flag(attr::IS_TEST)? || ratio == 0.0 { inference(cx) } else { train(cx, ratio) }
}

fn with_inputs(cx: &mut Cx<'_, '_>) -> Outcome {
    let is_training = match cx.optional(2)? {
        Some(mode) => cx.read::<i64>(&mode)?.first().is_some_and(|&mode| mode != 0),
        None => false,
    };
    let ratio = match cx.optional(1)? {
        Some(ratio) => cx.read_f64(&ratio)?.first().copied(),
        None => None,
    };
    let ratio = ratio.unwrap_or(0.5);
    if is_training && ratio != 0.0 { train(cx, ratio) } else { inference(cx) }
}

fn inference(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    cx.put_value(0, x.tensor.clone())?;
    if !cx.wants(1) {
        return Ok(());
    }
    if cx.since() < 10 {
        let mask = cx.filled(x.count, 1_u8)?;
        return put_mask(cx, &x, mask);
    }
    let mask = Tensor::splat(x.tensor.dims().iter().copied(), true)?;
    debug_assert_eq!(mask.elem(), ElemType::Bool);
    cx.put_value(1, mask)
}

fn train(cx: &mut Cx<'_, '_>, ratio: f64) -> Outcome {
    let x = cx.tensor(0)?;
    if !(0.0..1.0).contains(&ratio) {
        return Err(Stop::failed(format_args!("the ratio {ratio} is not in [0, 1)")));
    }
    let mut mask = cx.buffer::<u8>(x.count)?;
    match cx.int(attr::SEED)? {
        Some(seed) => {
            let seed = u32::try_from(seed).map_err(|_| Stop::failed("`seed` is not a number of 32 bits"))?;
            let mut sequence = Mersenne::new(seed);
            cx.poll().generate(x.count, &mut mask, |_| u8::from(sequence.unit() >= ratio))?;
        }
        None => {
            let draws = Draws::seeded(cx, None);
            cx.poll().generate(x.count, &mut mask, |index| u8::from(draws.unit(index, 53) >= ratio))?;
        }
    }
    let elements = cx.read_f64(&x)?;
    let mut out = cx.buffer(x.count)?;
    let scale = 1.0 / (1.0 - ratio);
    out.extend(elements.iter().zip(&mask).map(|(value, &bit)| if bit == 0 { 0.0 } else { value * scale }));
    put_real(cx, 0, x.elem, &x.dims, &out)?;
    put_mask(cx, &x, mask)
}

/// Sets the second output to a mask, which has the type of the data before version 10.
fn put_mask(cx: &mut Cx<'_, '_>, x: &Operand, mask: Vec<u8>) -> Outcome {
    if cx.since() >= 10 {
        return cx.put_units(1, ElemType::Bool, &x.dims, mask);
    }
    let numbers = cx.collect(mask.iter().map(|&bit| f64::from(bit)))?;
    let payload = round_to(x.elem, &numbers, true, Default::default());
    let mask = cx.tensor_of(x.elem, &x.dims, payload)?;
    cx.put_value(1, mask)
}
