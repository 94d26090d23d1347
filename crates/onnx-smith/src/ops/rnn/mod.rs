//! Networks that go through a sequence.

mod recurrent;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[recurrent::RECIPES];
