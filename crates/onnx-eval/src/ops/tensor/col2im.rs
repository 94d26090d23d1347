//! `Col2Im`: blocks of an image, which are columns of a matrix, added up where they overlap.
//!
//! Sums have the order of the elements of a block, and then of the blocks. Integers wrap; of truth values, one that is true
//! makes the sum true.

use onnx_schema::{attr, op};
use onnx_types::{ElemClass, ElemType, Symbol};

use crate::cx::axes::{product, size, sizes, strides};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::window::{Axis, advance};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::COL2IM, &[since(18, col2im)]).open();

fn col2im(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (image, block) = (sizes(&cx.vector(1)?)?, sizes(&cx.vector(2)?)?);
    let &[batch, rows, columns] = &x.dims[..] else {
        return Err(Stop::failed("the input has not three axes"));
    };
    let elements = cx.count(&block)?;
    // Limits the elements of the image; also needed without channels.
    cx.count(&image)?;
    if block.len() != image.len() || elements == 0 || rows % elements != 0 {
        return Err(Stop::failed(format_args!(
            "blocks of {} axes and {elements} elements of an image of {} axes do not fit an input {:?}",
            block.len(),
            image.len(),
            x.dims
        )));
    }
    let axes = axes(cx, &image, &block)?;
    let counts: Dims = axes.iter().map(|axis| axis.windows).collect();
    if cx.count(&counts)? != columns {
        return Err(Stop::failed(format_args!("the image has not {columns} blocks")));
    }
    let channels = rows / elements;
    let mut dims: Dims = [batch, channels].as_slice().into();
    dims.extend_from_slice(&image);
    let (count, plane) = (cx.count(&dims)?, product(&image));
    cx.work(x.count.max(elements.saturating_mul(columns)).saturating_mul(image.len().max(1)))?;
    let mut places: Vec<Option<usize>> = cx.buffer(elements.saturating_mul(columns))?;
    let steps = strides(&image);
    let mut element: Dims = block.iter().map(|_| 0).collect();
    for _ in 0..elements {
        let mut window: Dims = counts.iter().map(|_| 0).collect();
        for _ in 0..columns {
            let found = axes.iter().zip(&window).zip(&element).zip(&steps);
            let place =
                found.map(|(((axis, &window), &element), step)| Some(axis.index(window, element)? * step));
            places.push(place.sum());
            advance(&mut window, &counts);
        }
        advance(&mut element, &block);
    }
    if x.elem.class() == ElemClass::Complex {
        let [real, imaginary] = cx.complex_parts(&x)?;
        let mut parts = [cx.filled(count, 0.0)?, cx.filled(count, 0.0)?];
        add_blocks(&real, &places, plane, &mut parts[0]);
        add_blocks(&imaginary, &places, plane, &mut parts[1]);
        return cx.put_complex(0, x.elem, &dims, &parts);
    }
    by_number!(x.elem, T => {
        let values = cx.read::<T>(&x)?;
        let mut out = cx.filled(count, T::ZERO)?;
        add_blocks(&values, &places, plane, &mut out);
        if x.elem == ElemType::Bool {
            out.iter_mut().filter(|value| **value != T::ZERO).for_each(|value| *value = T::ONE);
        }
        cx.put::<T>(0, x.elem, &dims, out)
    })
}

/// Adds the elements of the blocks of each channel to their places in the image.
fn add_blocks<T: Number>(values: &[T], places: &[Option<usize>], plane: usize, out: &mut [T]) {
    if out.is_empty() || places.is_empty() {
        return;
    }
    for (values, out) in values.chunks_exact(places.len()).zip(out.chunks_exact_mut(plane)) {
        for (&value, place) in values.iter().zip(places) {
            if let Some(slot) = place.and_then(|place| out.get_mut(place)) {
                *slot = slot.plus(value);
            }
        }
    }
}

fn axes(cx: &Cx<'_, '_>, image: &[usize], block: &[usize]) -> Outcome<Vec<Axis>> {
    let list = |name: Symbol, count: usize, least: i64| -> Outcome<Vec<usize>> {
        let values = cx.ints(name)?.unwrap_or_else(|| vec![least; count]);
        if values.len() != count || values.iter().any(|&value| value < least) {
            return Err(Stop::failed("`strides`, `pads` or `dilations` has a wrong length or value"));
        }
        values.into_iter().map(size).collect()
    };
    let count = image.len();
    let (strides, dilations) = (list(attr::STRIDES, count, 1)?, list(attr::DILATIONS, count, 1)?);
    let pads = list(attr::PADS, 2 * count, 0)?;
    let axis = |at: usize| {
        let mut axis = Axis {
            size: image[at],
            kernel: block[at],
            stride: strides[at],
            dilation: dilations[at],
            before: pads[at],
            after: pads[count + at],
            windows: 0,
        };
        let extent = axis.dilation.checked_mul(axis.kernel.checked_sub(1)?)?.checked_add(1)?;
        let padded = axis.size.checked_add(axis.before)?.checked_add(axis.after)?;
        axis.windows = padded.checked_sub(extent)? / axis.stride + 1;
        Some(axis)
    };
    let axes: Option<Vec<Axis>> = (0..count).map(axis).collect();
    axes.ok_or_else(|| Stop::failed("a block does not fit the image with its padding"))
}
