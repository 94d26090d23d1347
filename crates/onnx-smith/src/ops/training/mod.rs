//! Steps of training.

mod flex_attention;
mod gradient;
mod optimizers;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[flex_attention::RECIPES, gradient::RECIPES, optimizers::RECIPES];
