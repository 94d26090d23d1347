//! Comparison, logic and bits, element by element.

mod bits;
mod choose;
mod compare;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[bits::RECIPES, choose::RECIPES, compare::RECIPES];
