//! Numbers as small integers with a scale and a zero point.

mod linear;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[linear::RECIPES];
