//! `Range`: `start + i * delta` for each index below `(limit - start) / delta`, rounded up. Both are computed in `double` for
//! floats, and the element is rounded once; integers are exact. The function body of the standard adds `delta` repeatedly and
//! counts in `float`, which is wrong beyond 2²⁴. A `delta` of 0 fails the run.

use onnx_schema::op;

use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::RANGE, &[since(11, range)]).takes(&[(2, Takes::ONE)]);

fn range(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.tensor(0)?.elem;
    let missing = || Stop::failed("an operand is missing");
    by_number!(elem, T => {
        let start = cx.optional_scalar::<T>(0)?.ok_or_else(missing)?;
        let limit = cx.optional_scalar::<T>(1)?.ok_or_else(missing)?;
        let delta = cx.optional_scalar::<T>(2)?.ok_or_else(missing)?;
        if delta == T::ZERO {
            return Err(Stop::failed("the step is 0"));
        }
        let count = if T::IS_FLOAT {
            let count = libm::ceil((limit.f64() - start.f64()) / delta.f64());
            if count.is_nan() {
                return Err(Stop::failed("the number of elements is not a number"));
            }
            count.max(0.0) as u128
        } else {
            let exact = |value: T| value.exact();
            let (distance, step) = (exact(limit) - exact(start), exact(delta));
            // Rounded up: toward positive infinity for either sign of the step.
            let (distance, step) = if step < 0 { (-distance, -step) } else { (distance, step) };
            if distance <= 0 { 0 } else { ((distance + step - 1) / step).unsigned_abs() }
        };
        let count = usize::try_from(count).map_err(|_| Stop::Limit("run_elements"))?;
        let count = cx.count(&[count])?;
        let mut out = cx.buffer(count)?;
        cx.poll().generate(count, &mut out, |at| {
            if T::IS_FLOAT {
                T::of_f64(start.f64() + at as f64 * delta.f64())
            } else {
                start.plus(T::of_i64(at as i64).times(delta))
            }
        })?;
        cx.put(0, elem, &[count], out)
    })
}
