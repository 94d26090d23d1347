//! `MaxUnpool`: elements put back to the places that `MaxPool` found them at; all others are zero.
//!
//! Indices count in the tensor of the sizes that follow from the kernel. Given sizes add zeros at the ends of the axes. Of equal
//! indices, the last one counts.

use onnx_schema::{attr, op};
use onnx_types::Symbol;

use crate::cx::axes::{product, sizes};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::number::{Unit, by_unit};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::MAX_UNPOOL, &[since(9, unpool)]);

/// The sizes that the kernel, the strides and the padding give.
fn inferred(cx: &Cx<'_, '_>, dims: &[usize]) -> Outcome<Dims> {
    let Some((outer, spatial)) = dims.split_at_checked(2) else {
        return Err(Stop::failed("the input has fewer than two axes"));
    };
    let list = |name: Symbol, count: usize, otherwise: i64| -> Outcome<Vec<i64>> {
        let values = cx.ints(name)?.unwrap_or_else(|| vec![otherwise; count]);
        if values.len() == count {
            return Ok(values);
        }
        let (name, found) = (cx.names().resolve(name), values.len());
        Err(Stop::failed(format_args!("attribute `{name}` has {found} elements, not {count}")))
    };
    let count = spatial.len();
    let kernel = list(attr::KERNEL_SHAPE, count, 1)?;
    let (strides, pads) = (list(attr::STRIDES, count, 1)?, list(attr::PADS, 2 * count, 0)?);
    let mut found: Dims = outer.into();
    for (at, &size) in spatial.iter().enumerate() {
        let padding = i128::from(pads[at]) + i128::from(pads[count + at]);
        let length = (size as i128 - 1) * i128::from(strides[at]) - padding + i128::from(kernel[at]);
        let length =
            usize::try_from(length).map_err(|_| Stop::failed(format_args!("{length} is not a size")));
        found.push(length?);
    }
    Ok(found)
}

fn unpool(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    if x.dims != indices.dims {
        return Err(Stop::wrong_sizes("the tensor of indices", &indices.dims, &x.dims));
    }
    let inner = inferred(cx, &x.dims)?;
    let dims = match cx.optional_list(2)? {
        Some(given) => sizes(&given)?,
        None => inner.clone(),
    };
    if dims.len() != inner.len() || dims.iter().zip(&inner).any(|(size, inner)| size < inner) {
        return Err(Stop::failed(format_args!("`output_shape` is smaller than what is unpooled, {inner:?}")));
    }
    let (count, known) = (cx.count(&dims)?, product(&inner));
    let indices = cx.read::<i64>(&indices)?;
    cx.work(x.count.saturating_mul(dims.len()))?;
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.filled(count, U::zero())?;
        for (element, &index) in elements.iter().zip(indices.iter()) {
            let outside = || Stop::failed(format_args!("index {index} is outside a tensor of {known} elements"));
            let mut rest = usize::try_from(index).ok().filter(|&at| at < known).ok_or_else(outside)?;
            let (mut place, mut step) = (0, 1);
            for (&size, &inner) in dims.iter().zip(&inner).rev() {
                place += rest % inner * step;
                rest /= inner;
                step *= size;
            }
            out[place] = element.clone();
        }
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}
