//! Networks that go through a sequence.

mod cells;
mod recurrent;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[recurrent::GRU, recurrent::LSTM, recurrent::RNN];
