//! Operators with graphs.

mod conditional;
mod counting;
mod growth;
mod loops;
mod scan;
mod sequence_map;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] =
    &[conditional::RULES, loops::RULES, scan::RULES, sequence_map::RULES];
