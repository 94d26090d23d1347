//! `CausalConvWithState`: a convolution of each channel with its own kernel. The input is preceded by the state of an
//! earlier run, or by zeros; its last elements are the next state.
//!
//! The activation is computed in `float` at least. The convolution is the sum of the products of shifted inputs and the
//! elements of the kernel, so the number of elements of the kernel must be known. The reference uses `Conv`, which
//! requires a known number of channels and an input that is at least as long as the window, so it fails for an input
//! without steps.

use onnx_schema::attr;
use onnx_types::ElemType;

use crate::bodies::draft::{Draft, Made, V};

/// Maximum number of elements of a kernel, each of which becomes a product in the body.
const MAX_TAPS: i64 = 64;

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, weights, elem) = (draft.input(0)?, draft.input(1)?, draft.elem(0)?);
    let taps = draft.size(1, 2)?;
    if !(1..=MAX_TAPS).contains(&taps) {
        return Err(crate::FunctionReason::new(format!("the kernel has {taps} elements")));
    }
    let past = match draft.optional(3) {
        Some(past) => past,
        None => {
            let outer = draft.sizes(x, 0, Some(2))?;
            let before = draft.ints(&[taps - 1])?;
            let sizes = draft.concat(&[outer, before], 0)?;
            draft.filled(sizes, elem, 0.0)?
        }
    };
    let line = draft.concat(&[past, x], 2)?;
    let length = draft.dim(x, 2)?;
    let wide = if elem == ElemType::Double { elem } else { ElemType::Float };
    let (values, kernel) = (draft.cast(line, elem, wide)?, draft.cast(weights, elem, wide)?);
    // `[C, 1, k]`: the elements of the channels for one tap are a column.
    let mut sum = None;
    for tap in 0..taps {
        let start = draft.ints(&[tap])?;
        let end = draft.add(start, length)?;
        let part = draft.slice(values, start, end, 2)?;
        let place = draft.int64(tap)?;
        let column = draft.gather(kernel, place, 2)?;
        let product = draft.mul(part, column)?;
        sum = Some(match sum {
            Some(sum) => draft.add(sum, product)?,
            None => product,
        });
    }
    let mut y = sum.ok_or("the kernel has no elements")?;
    if let Some(bias) = draft.optional(2) {
        let bias = draft.cast(bias, elem, wide)?;
        let bias = draft.unsqueeze(bias, &[1])?;
        y = draft.add(y, bias)?;
    }
    match draft.text(attr::ACTIVATION)?.as_str() {
        "" | "none" => {}
        "silu" | "swish" => {
            let sigmoid = draft.sigmoid(y)?;
            y = draft.mul(y, sigmoid)?;
        }
        _ => return Err(draft.wrong(attr::ACTIVATION, "names no activation")),
    }
    let y = draft.cast(y, wide, elem)?;
    let end = draft.dim(line, 2)?;
    let state = draft.slice(line, length, end, 2)?;
    Ok(vec![y, state])
}
