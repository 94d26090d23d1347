//! The function that ends a fused operator.

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::ops::math::cast::put_real;
use crate::value::Value;

/// A function of one number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Activation {
    None,
    Relu,
    Tanh,
    Sigmoid,
    LeakyRelu(f64),
    Clip(f64, f64),
    HardSigmoid(f64, f64),
    HardSwish,
}

impl Activation {
    /// The function of a name, with parameters in order; those that are not given are the defaults of the operator of ONNX.
    pub(super) fn named(name: &str, parameters: &[f64]) -> Outcome<Self> {
        let parameter = |index: usize, otherwise: f64| parameters.get(index).copied().unwrap_or(otherwise);
        Ok(match name {
            "" => Self::None,
            "Relu" => Self::Relu,
            "Tanh" => Self::Tanh,
            "Sigmoid" => Self::Sigmoid,
            "LeakyRelu" => Self::LeakyRelu(parameter(0, 0.01)),
            "Clip" => Self::Clip(parameter(0, f32::MIN.into()), parameter(1, f32::MAX.into())),
            "HardSigmoid" => Self::HardSigmoid(parameter(0, 0.2), parameter(1, 0.5)),
            "HardSwish" => Self::HardSwish,
            _ => return Err(Stop::unsupported(format_args!("the activation `{name}`"))),
        })
    }

    fn apply(self, x: f64) -> f64 {
        match self {
            Self::None => x,
            Self::Relu => {
                if x > 0.0 || x.is_nan() {
                    x
                } else {
                    0.0
                }
            }
            Self::Tanh => libm::tanh(x),
            Self::Sigmoid => sigmoid(x),
            Self::LeakyRelu(alpha) => {
                if x >= 0.0 {
                    x
                } else {
                    alpha * x
                }
            }
            // NaN stays, and the upper bound counts if the bounds are in the wrong order.
            Self::Clip(low, high) => {
                let raised = if x < low { low } else { x };
                if raised > high { high } else { raised }
            }
            Self::HardSigmoid(alpha, beta) => hard(alpha * x + beta),
            Self::HardSwish => x * hard(x / 6.0 + 0.5),
        }
    }

    /// Applies the function to the first output, which is set, after adding an operand of the same sizes.
    pub(super) fn finish(self, cx: &mut Cx<'_, '_>, added: Option<&Operand>) -> Outcome {
        if self == Self::None && added.is_none() {
            return Ok(());
        }
        let Some(Some(Value::Tensor(tensor))) = cx.outputs.first().cloned() else {
            return Err(Stop::failed("the first output is not a tensor"));
        };
        let y = Operand::new(tensor)?;
        let mut values = cx.read_f64(&y)?.into_vec();
        if let Some(added) = added {
            if added.dims != y.dims {
                return Err(Stop::failed("the added operand has other sizes than the result"));
            }
            let added = cx.read_f64(added)?;
            values.iter_mut().zip(added.iter()).for_each(|(value, added)| *value += added);
        }
        values.iter_mut().for_each(|value| *value = self.apply(*value));
        put_real(cx, 0, y.elem, &y.dims, &values)
    }
}

fn hard(x: f64) -> f64 {
    if x.is_nan() { x } else { x.clamp(0.0, 1.0) }
}

/// The logistic function.
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}
