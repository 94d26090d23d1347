//! Arithmetic, element by element, and what else is mathematics.

mod binary;
mod bit_cast;
mod clip;
mod cumulative;
mod prelu;
mod swiglu;
mod variadic;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[
    binary::RECIPES,
    bit_cast::RECIPES,
    clip::RECIPES,
    cumulative::RECIPES,
    prelu::RECIPES,
    swiglu::RECIPES,
    variadic::RECIPES,
];
