//! Reductions and pooling: operations for each element that is read.

use onnx_ops::kind;
use onnx_schema::attr;
use onnx_types::Dim;

use super::{Cx, Why, Work};

/// Operations for each element of the input, and for each element of the output.
pub(super) fn reduction(cx: &mut Cx<'_, '_>, counts: (u8, u8)) -> Result<Work, Why> {
    let read = cx.input_elements(0)?;
    let made = cx.output_elements(0)?;
    Ok(of_both(cx, read, made, counts))
}

/// The same with the elements of a window for each element of the output, padding included.
pub(super) fn pooling(cx: &mut Cx<'_, '_>, counts: (u8, u8)) -> Result<Work, Why> {
    let window = cx.call()?.attr::<kind::Ints>(attr::KERNEL_SHAPE).known();
    let window = window.ok_or(Why::Attribute("kernel_shape"))?;
    let window: Vec<Dim> = window.iter().map(|&size| Dim::Known(size)).collect();
    let made = cx.output_elements(0)?;
    let window = cx.product(&window);
    let read = cx.mul(made, window);
    Ok(of_both(cx, read, made, counts))
}

/// Numbers of operations for each element that is read and for each that is made.
fn of_both(cx: &mut Cx<'_, '_>, read: Dim, made: Dim, counts: (u8, u8)) -> Work {
    let (read, made) = (cx.scaled(read, i64::from(counts.0)), cx.scaled(made, i64::from(counts.1)));
    Work::operations(cx.add(read, made))
}
