//! `Gelu`: `x / 2 * (1 + Erf (x / √2))`, or the approximation `x / 2 * (1 + Tanh (√(2/π) * (x + 0.044715 * x³)))`.
//!
//! Constants are rounded once to the element type. Those of the reference are rounded to `float` first.

use onnx_schema::attr;

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, elem) = (draft.input(0)?, draft.elem(0)?);
    let [one, half] = [draft.number(elem, 1.0)?, draft.number(elem, 0.5)?];
    let bent = match draft.text(attr::APPROXIMATE)?.as_str() {
        "none" => {
            let root = draft.number(elem, std::f64::consts::SQRT_2)?;
            let scaled = draft.div(x, root)?;
            draft.erf(scaled)?
        }
        "tanh" => {
            let three = draft.number(elem, 3.0)?;
            let cube = draft.pow(x, three)?;
            let weight = draft.number(elem, 0.044_715)?;
            let correction = draft.mul(weight, cube)?;
            let sum = draft.add(x, correction)?;
            // √(2/π) is 2/√π divided by √2.
            let factor = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
            let factor = draft.number(elem, factor)?;
            let scaled = draft.mul(factor, sum)?;
            draft.tanh(scaled)?
        }
        _ => return Err(draft.wrong(attr::APPROXIMATE, "names no approximation")),
    };
    let part = draft.add(one, bent)?;
    let halved = draft.mul(half, x)?;
    Ok(vec![draft.mul(halved, part)?])
}
