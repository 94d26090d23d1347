//! Operators that make tensors out of few inputs or none.

mod constant;
mod constant_of_shape;
mod eye_like;
mod random;
mod range;
mod window;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[
    constant::RECIPES,
    constant_of_shape::RECIPES,
    eye_like::RECIPES,
    random::RECIPES,
    range::RECIPES,
    window::RECIPES,
];
