//! Many elements that become one.

mod arg;
mod reduce;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[arg::RECIPES, reduce::RECIPES];
