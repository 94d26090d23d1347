//! `SwiGLU`: one tensor gated by another of the same shape: `gate * sigmoid(alpha * gate) * linear`.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Number, by_float};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::SWI_GLU, &[since(28, swiglu)]).open();

fn swiglu(cx: &mut Cx<'_, '_>) -> Outcome {
    let (gate, linear) = (cx.tensor(0)?, cx.tensor(1)?);
    if gate.dims != linear.dims {
        return Err(Stop::wrong_sizes("the second operand", &linear.dims, &gate.dims));
    }
    let alpha = f64::from(cx.float_or(attr::ALPHA, 1.0)?);
    by_float!(gate.elem, T => {
        let (gates, lines) = (cx.read::<T>(&gate)?, cx.read::<T>(&linear)?);
        let mut out = cx.buffer(gate.count)?;
        out.extend(gates.iter().zip(lines.iter()).map(|(gate, linear)| {
            let gate = gate.f64();
            T::of_f64(gate / (1.0 + libm::exp(-alpha * gate)) * linear.f64())
        }));
        cx.put::<T>(0, gate.elem, &gate.dims, out)
    })
}
