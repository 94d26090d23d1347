//! `Adagrad`, `Adam` and `Momentum`: one step for several tensors.
//!
//! The rate and the count of steps come first, then all tensors, all gradients, and all of each kind of state. The outputs
//! are the new tensors, then the new states. A tensor is computed in its own type: attributes, the rate and factors of them
//! are computed as `double` and rounded to it once. The signature allows states, or a gradient, of another type than the tensor:
//! then all is computed as `double`, and each output has the type of its input.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::{Elems, Float, by_float};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const ADAGRAD: OpKernels =
    eval(op::ADAGRAD, &[since(1, |cx| adagrad(cx).and_then(|rule| step(cx, &rule)))])
        .open()
        .of(domain::PREVIEW_TRAINING);
pub(super) const ADAM: OpKernels =
    eval(op::ADAM, &[since(1, |cx| adam(cx).and_then(|rule| step(cx, &rule)))])
        .open()
        .of(domain::PREVIEW_TRAINING);
pub(super) const MOMENTUM: OpKernels =
    eval(op::MOMENTUM, &[since(1, |cx| momentum(cx).and_then(|rule| step(cx, &rule)))])
        .open()
        .of(domain::PREVIEW_TRAINING);

/// The update of an element and its states.
trait Rule {
    /// Number of states of a tensor, 1 or 2.
    const STATES: usize;
    /// The new element and states, of the element, its gradient and its states.
    fn apply<T: Float>(&self, x: T, gradient: T, states: [T; 2]) -> [T; 3];
}

struct Adagrad {
    rate: f64,
    norm: f64,
    epsilon: f64,
}

fn adagrad(cx: &mut Cx<'_, '_>) -> Outcome<Adagrad> {
    let (rate, steps) = rate(cx)?;
    let decay = f64::from(cx.float_or(attr::DECAY_FACTOR, 0.0)?);
    Ok(Adagrad {
        rate: rate / (1.0 + steps as f64 * decay),
        norm: cx.float_or(attr::NORM_COEFFICIENT, 0.0)?.into(),
        epsilon: cx.float_or(attr::EPSILON, 1e-6)?.into(),
    })
}

impl Rule for Adagrad {
    const STATES: usize = 1;

    fn apply<T: Float>(&self, x: T, gradient: T, [squares, _]: [T; 2]) -> [T; 3] {
        let gradient = T::of(self.norm).times(x).plus(gradient);
        let squares = squares.plus(gradient.times(gradient));
        let change = ratio(T::of(self.rate).times(gradient), squares.root().plus(T::of(self.epsilon)));
        [x.minus(change), squares, T::ZERO]
    }
}

struct Adam {
    rate: f64,
    norm: f64,
    norm_after: f64,
    epsilon: f64,
    alpha: f64,
    beta: f64,
}

fn adam(cx: &mut Cx<'_, '_>) -> Outcome<Adam> {
    let (rate, steps) = rate(cx)?;
    let alpha = f64::from(cx.float_or(attr::ALPHA, 0.9)?);
    let beta = f64::from(cx.float_or(attr::BETA, 0.999)?);
    let power = |base: f64| libm::pow(base, steps as f64);
    let adjusted = if steps > 0 { rate * (1.0 - power(beta)).sqrt() / (1.0 - power(alpha)) } else { rate };
    Ok(Adam {
        rate: adjusted,
        norm: cx.float_or(attr::NORM_COEFFICIENT, 0.0)?.into(),
        norm_after: cx.float_or(attr::NORM_COEFFICIENT_POST, 0.0)?.into(),
        epsilon: cx.float_or(attr::EPSILON, 1e-6)?.into(),
        alpha,
        beta,
    })
}

impl Rule for Adam {
    const STATES: usize = 2;

    fn apply<T: Float>(&self, x: T, gradient: T, [mean, squares]: [T; 2]) -> [T; 3] {
        let gradient = T::of(self.norm).times(x).plus(gradient);
        let mean = T::of(self.alpha).times(mean).plus(T::of(1.0 - self.alpha).times(gradient));
        let fresh = T::of(1.0 - self.beta).times(gradient).times(gradient);
        let squares = T::of(self.beta).times(squares).plus(fresh);
        let change = ratio(T::of(self.rate).times(mean), squares.root().plus(T::of(self.epsilon)));
        [T::of(1.0 - self.norm_after).times(x.minus(change)), mean, squares]
    }
}

struct Momentum {
    rate: f64,
    norm: f64,
    alpha: f64,
    beta: f64,
    is_nesterov: bool,
}

fn momentum(cx: &mut Cx<'_, '_>) -> Outcome<Momentum> {
    let (rate, steps) = rate(cx)?;
    let needed =
        |name| cx.float(name)?.ok_or_else(|| Stop::failed("a coefficient is missing")).map(f64::from);
    Ok(Momentum {
        rate,
        norm: needed(attr::NORM_COEFFICIENT)?,
        alpha: needed(attr::ALPHA)?,
        beta: if steps > 0 { needed(attr::BETA)? } else { 1.0 },
        is_nesterov: match cx.text(attr::MODE)? {
            "nesterov" => true,
            "standard" => false,
            _ => return Err(Stop::failed("attribute `mode` is neither `standard` nor `nesterov`")),
        },
    })
}

impl Rule for Momentum {
    const STATES: usize = 1;

    fn apply<T: Float>(&self, x: T, gradient: T, [mean, _]: [T; 2]) -> [T; 3] {
        let gradient = T::of(self.norm).times(x).plus(gradient);
        let mean = T::of(self.alpha).times(mean).plus(T::of(self.beta).times(gradient));
        let way = if self.is_nesterov { gradient.plus(T::of(self.alpha).times(mean)) } else { mean };
        [x.minus(T::of(self.rate).times(way)), mean, T::ZERO]
    }
}

/// The quotient of two floats.
fn ratio<T: Float>(a: T, b: T) -> T {
    a.over(b).unwrap_or(T::ZERO)
}

/// The rate and the count of steps.
fn rate(cx: &mut Cx<'_, '_>) -> Outcome<(f64, i64)> {
    let rate = cx.tensor(0)?;
    match *cx.read_f64(&rate)? {
        [rate] => Ok((rate, cx.scalar_int(1)?)),
        _ => Err(Stop::failed("the rate must have one element")),
    }
}

fn step<R: Rule>(cx: &mut Cx<'_, '_>, rule: &R) -> Outcome {
    let given = cx.input_count().saturating_sub(2);
    if !given.is_multiple_of(R::STATES + 2) {
        return Err(Stop::failed(format_args!(
            "{given} tensors are given where each needs {}",
            R::STATES + 2
        )));
    }
    let tensors = given / (R::STATES + 2);
    (0..tensors).try_for_each(|index| step_of(cx, rule, index, tensors))
}

/// The step of one of several tensors.
fn step_of<R: Rule>(cx: &mut Cx<'_, '_>, rule: &R, index: usize, tensors: usize) -> Outcome {
    let x = cx.tensor(2 + index)?;
    let mut parts: Vec<Operand> = Vec::new();
    for part in 0..R::STATES + 2 {
        parts.push(cx.tensor(2 + index + tensors * part)?);
    }
    if parts.iter().any(|part| part.dims != x.dims) {
        return Err(Stop::failed("a tensor, its gradient and its states have different shapes"));
    }
    // The tensor and the states, without the gradient.
    let outputs: Vec<ElemType> =
        [x.elem].into_iter().chain(parts.iter().skip(2).map(|part| part.elem)).collect();
    if parts.iter().any(|part| part.elem != x.elem) {
        let outs = apply::<R, f64>(rule, x.count, &read_all(&parts, |part| cx.read_f64(part))?, cx)?;
        for (state, (elem, out)) in outputs.into_iter().zip(outs).enumerate() {
            put_real(cx, index + tensors * state, elem, &x.dims, &out)?;
        }
        return Ok(());
    }
    by_float!(x.elem, T => {
        let outs = apply::<R, T>(rule, x.count, &read_all(&parts, |part| cx.read::<T>(part))?, cx)?;
        for (state, (elem, out)) in outputs.into_iter().zip(outs).enumerate() {
            cx.put(index + tensors * state, elem, &x.dims, out)?;
        }
        Ok(())
    })
}

fn read_all<T>(
    parts: &[Operand],
    mut read: impl FnMut(&Operand) -> Outcome<Elems<T>>,
) -> Outcome<Vec<Elems<T>>> {
    parts.iter().map(&mut read).collect()
}

/// The new tensor and states, of the tensor, its gradient and its states.
fn apply<R: Rule, T: Float>(
    rule: &R,
    count: usize,
    parts: &[Elems<T>],
    cx: &mut Cx<'_, '_>,
) -> Outcome<[Vec<T>; 3]> {
    let mut outs = [cx.buffer(count)?, cx.buffer(count)?, cx.buffer(count)?];
    let [values, gradients, first, rest @ ..] = parts else {
        return Err(Stop::failed("a tensor has other parts"));
    };
    // If there is one state only, it is read twice.
    let second = rest.first().unwrap_or(first);
    let states = first.iter().zip(second.iter());
    for ((&value, &gradient), (&first, &second)) in values.iter().zip(gradients.iter()).zip(states) {
        let new = rule.apply::<T>(value, gradient, [first, second]);
        outs.iter_mut().zip(new).for_each(|(out, value)| out.push(value));
    }
    Ok(outs)
}
