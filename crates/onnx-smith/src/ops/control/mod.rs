//! Operators with graphs.

mod conditional;
mod loops;
mod scan;
mod sequence_map;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] =
    &[conditional::RECIPES, loops::RECIPES, scan::RECIPES, sequence_map::RECIPES];
