//! Recurrent layers.

mod recurrent;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[recurrent::GRU, recurrent::LSTM, recurrent::RNN];
