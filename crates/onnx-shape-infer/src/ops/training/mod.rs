//! The operators of training and the preview domains.

mod flex_attention;
mod gradient;
mod optimizers;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] =
    &[flex_attention::RULES, gradient::RULES, optimizers::ADAGRAD, optimizers::ADAM, optimizers::MOMENTUM];
