//! The cells of `RNN`, `GRU` and `LSTM`, and their activation functions.

use crate::cx::{Outcome, Stop};
use crate::number::Float;

/// An activation function with its parameters.
#[derive(Clone, Copy)]
pub(super) struct Activation {
    function: Function,
    alpha: f64,
    beta: f64,
    /// Bound of the argument.
    clip: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Affine,
    Elu,
    HardSigmoid,
    LeakyRelu,
    Relu,
    ScaledTanh,
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu,
}

impl Function {
    fn named(name: &[u8]) -> Outcome<Self> {
        Ok(match name.to_ascii_lowercase().as_slice() {
            b"affine" => Self::Affine,
            b"elu" => Self::Elu,
            b"hardsigmoid" => Self::HardSigmoid,
            b"leakyrelu" => Self::LeakyRelu,
            b"relu" => Self::Relu,
            b"scaledtanh" => Self::ScaledTanh,
            b"sigmoid" => Self::Sigmoid,
            b"softplus" => Self::Softplus,
            b"softsign" => Self::Softsign,
            b"tanh" => Self::Tanh,
            b"thresholdedrelu" => Self::ThresholdedRelu,
            _ => {
                let name = onnx_diag::Quoted(&String::from_utf8_lossy(name)).to_string();
                return Err(Stop::failed(format_args!("`activations` has {name}, which is not a function")));
            }
        })
    }

    /// The defaults of the parameters that the function has.
    const fn defaults(self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Affine => (Some(1.0), Some(0.0)),
            Self::ScaledTanh => (Some(1.0), Some(1.0)),
            Self::HardSigmoid => (Some(0.2), Some(0.5)),
            Self::LeakyRelu => (Some(0.01), None),
            Self::Elu | Self::ThresholdedRelu => (Some(1.0), None),
            Self::Relu | Self::Sigmoid | Self::Softplus | Self::Softsign | Self::Tanh => (None, None),
        }
    }
}

/// The functions of these names; each takes the next of the given parameters that it has.
pub(super) fn activations(
    names: &[&[u8]],
    alphas: &[f32],
    betas: &[f32],
    clip: f64,
) -> Outcome<Vec<Activation>> {
    let (mut alphas, mut betas) = (alphas.iter().copied(), betas.iter().copied());
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let function = Function::named(name)?;
        let (alpha, beta) = function.defaults();
        let alpha = alpha.map_or(0.0, |otherwise| alphas.next().map_or(otherwise, f64::from));
        let beta = beta.map_or(0.0, |otherwise| betas.next().map_or(otherwise, f64::from));
        found.push(Activation { function, alpha, beta, clip });
    }
    Ok(found)
}

impl Activation {
    /// The value of the function.
    pub(super) fn of<T: Float>(&self, x: T) -> T {
        x.map(|x| self.value(x.clamp(-self.clip, self.clip)))
    }

    /// The value of the function of an argument without a bound.
    pub(super) fn unbounded<T: Float>(&self, x: T) -> T {
        x.map(|x| self.value(x))
    }

    fn value(&self, x: f64) -> f64 {
        let (alpha, beta) = (self.alpha, self.beta);
        match self.function {
            Function::Affine => alpha * x + beta,
            Function::Elu if x < 0.0 => alpha * libm::expm1(x),
            Function::HardSigmoid => (alpha * x + beta).clamp(0.0, 1.0),
            Function::LeakyRelu if x < 0.0 => alpha * x,
            Function::Relu if x < 0.0 => 0.0,
            Function::Elu | Function::LeakyRelu | Function::Relu => x,
            Function::ScaledTanh => alpha * libm::tanh(beta * x),
            Function::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
            Function::Softplus => x.max(0.0) + libm::log1p(libm::exp(-x.abs())),
            Function::Softsign => x / (1.0 + x.abs()),
            Function::Tanh => libm::tanh(x),
            Function::ThresholdedRelu if x > alpha => x,
            Function::ThresholdedRelu => 0.0,
        }
    }
}

/// The inputs of a cell in addition to the products of the input and of the state with the weights.
pub(super) struct Cell<'a, T> {
    /// Size of the state.
    pub(super) hidden: usize,
    pub(super) functions: &'a [Activation],
    /// Biases of the input, then of the state, of all gates.
    pub(super) bias: &'a [T],
    /// Weights of the state of the cell in the gates i, o, f.
    pub(super) peepholes: &'a [T],
}

impl<T: Float> Cell<'_, T> {
    fn bias(&self, at: usize) -> T {
        self.bias.get(at).copied().unwrap_or(T::ZERO)
    }

    /// The argument of a gate: what comes from the input, the state and both biases.
    fn sum(&self, x: &[T], r: &[T], at: usize) -> T {
        let gates = x.len();
        x[at].plus(r[at]).plus(self.bias(at).plus(self.bias(gates + at)))
    }

    /// `RNN`: the new state of one row.
    pub(super) fn rnn(&self, x: &[T], r: &[T], state: &mut [T]) {
        for (at, slot) in state.iter_mut().enumerate() {
            *slot = self.functions[0].of(self.sum(x, r, at));
        }
    }

    /// `LSTM`: the new states of one row. The gates are i, o, f, c.
    pub(super) fn lstm(&self, x: &[T], r: &[T], state: &mut [T], memory: &mut [T], forgets_input: bool) {
        let (h, [f, g, last]) = (self.hidden, [0, 1, 2].map(|at| self.functions[at]));
        let peephole = |gate: usize, at: usize| self.peepholes.get(gate * h + at).copied();
        let seen = |sum: T, gate: usize, at: usize, memory: T| match peephole(gate, at) {
            Some(weight) => sum.plus(weight.times(memory)),
            None => sum,
        };
        for at in 0..h {
            let old = memory[at];
            let input = f.of(seen(self.sum(x, r, at), 0, at, old));
            let forget = if forgets_input {
                T::ONE.minus(input)
            } else {
                f.of(seen(self.sum(x, r, 2 * h + at), 2, at, old))
            };
            let new = g.of(self.sum(x, r, 3 * h + at));
            memory[at] = forget.times(old).plus(input.times(new));
            let output = f.of(seen(self.sum(x, r, h + at), 1, at, memory[at]));
            state[at] = output.times(last.unbounded(memory[at]));
        }
    }

    /// `GRU`: the gates z and r of one row, in place of what comes from the state; the state times r replaces `reset`.
    pub(super) fn gru_gates(&self, x: &[T], r: &mut [T], state: &[T], reset: &mut [T]) {
        for at in 0..2 * self.hidden {
            r[at] = self.functions[0].of(self.sum(x, r, at));
        }
        for (at, slot) in reset.iter_mut().enumerate() {
            *slot = state[at].times(r[self.hidden + at]);
        }
    }

    /// `GRU`: the new state of one row; `candidate` is the product of the state, reset before or not, with the last weights.
    pub(super) fn gru(&self, x: &[T], gates: &[T], candidate: &[T], state: &mut [T], resets_after: bool) {
        let h = self.hidden;
        for at in 0..h {
            let (own, other) = (self.bias(2 * h + at), self.bias(5 * h + at));
            let sum = if resets_after {
                x[2 * h + at].plus(gates[h + at].times(candidate[at].plus(other))).plus(own)
            } else {
                x[2 * h + at].plus(candidate[at]).plus(own).plus(other)
            };
            let (z, new) = (gates[at], self.functions[1].of(sum));
            state[at] = T::ONE.minus(z).times(new).plus(z.times(state[at]));
        }
    }
}
