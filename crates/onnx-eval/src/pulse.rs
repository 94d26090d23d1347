//! Checks of the interrupt within a kernel.

use onnx_types::Interrupt;

use crate::cx::{Outcome, Stop};

/// Element operations between two checks.
const STEPS: usize = 1 << 20;

/// Checks the interrupt at intervals of work that [`Cx::work`](crate::Cx::work) counts as a whole, before the loops of a kernel.
/// Parts of a kernel on other threads have clones.
#[derive(Clone)]
pub(crate) struct Pulse {
    interrupt: Interrupt,
    /// Steps to the next check.
    rest: usize,
}

impl Pulse {
    pub(crate) const fn new(interrupt: Interrupt) -> Self {
        Self { interrupt, rest: STEPS }
    }

    /// Goes on to work of a number of steps that is about to be done.
    #[inline]
    pub(crate) fn step(&mut self, steps: usize) -> Outcome {
        match self.rest.checked_sub(steps) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => self.check(),
        }
    }

    #[cold]
    fn check(&mut self) -> Outcome {
        self.rest = STEPS;
        self.interrupt.check().map_err(Stop::Interrupted)
    }
}
