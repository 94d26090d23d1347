//! Reductions and pooling: operations for each element that is read.

use onnx_ops::kind;
use onnx_schema::attr;
use onnx_types::Dim;

use super::{Cx, Formula, Why, Work};

pub(super) fn formula(op: &str) -> Option<Formula> {
    Some(match op {
        "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin" | "ArgMax" | "ArgMin" | "GlobalMaxPool" => {
            reduction::<1, 0>
        }
        "CumSum" | "CumProd" => reduction::<1, 0>,
        "ReduceMean" | "ReduceLogSum" | "GlobalAveragePool" => reduction::<1, 1>,
        "ReduceL1" | "ReduceSumSquare" => reduction::<2, 0>,
        "ReduceL2" | "ReduceLogSumExp" | "GlobalLpPool" => reduction::<2, 1>,
        "MaxPool" => pooling::<1, 0>,
        "AveragePool" => pooling::<1, 1>,
        "LpPool" => pooling::<2, 1>,
        _ => return None,
    })
}

/// Operations for each element of the input, and for each element of the output.
fn reduction<const READ: i64, const MADE: i64>(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let read = cx.input_elements(0)?;
    let made = cx.output_elements(0)?;
    let (read, made) = (cx.scaled(read, READ), cx.scaled(made, MADE));
    Ok(Work::operations(cx.add(read, made)))
}

/// The same with the elements of a window for each element of the output, padding included.
fn pooling<const READ: i64, const MADE: i64>(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let window = cx.call()?.attr::<kind::Ints>(attr::KERNEL_SHAPE).known();
    let window = window.ok_or(Why::Attribute("kernel_shape"))?;
    let window: Vec<Dim> = window.iter().map(|&size| Dim::Known(size)).collect();
    let made = cx.output_elements(0)?;
    let window = cx.product(&window);
    let read = cx.mul(made, window);
    let (read, made) = (cx.scaled(read, READ), cx.scaled(made, MADE));
    Ok(Work::operations(cx.add(read, made)))
}
