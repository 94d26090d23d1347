//! Checks of the interrupt within a kernel.

use onnx_types::Interrupt;

use crate::cx::{Outcome, Stop};

/// Element operations between two checks.
pub(crate) const STEPS: usize = 1 << 20;

/// Checks the interrupt at intervals of work that [`Cx::work`](crate::Cx::work) counts as a whole, before the loops of a kernel.
/// Parts of a kernel on other threads have clones.
#[derive(Clone)]
pub(crate) struct InterruptPoll {
    interrupt: Interrupt,
    /// Steps to the next check.
    rest: usize,
}

impl InterruptPoll {
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

    /// Appends copies of elements to a vector.
    #[inline]
    pub(crate) fn copy<T: Clone>(&mut self, elements: &[T], out: &mut Vec<T>) -> Outcome {
        for part in elements.chunks(STEPS) {
            self.step(part.len())?;
            out.extend_from_slice(part);
        }
        Ok(())
    }

    /// Appends a function of each element to a vector.
    #[inline]
    pub(crate) fn map<T, R>(
        &mut self,
        elements: &[T],
        out: &mut Vec<R>,
        function: impl Fn(&T) -> R,
    ) -> Outcome {
        for part in elements.chunks(STEPS) {
            self.step(part.len())?;
            out.extend(part.iter().map(&function));
        }
        Ok(())
    }

    /// A function of each element. The caller has counted the memory.
    pub(crate) fn mapped<T, R>(&mut self, elements: &[T], function: impl Fn(&T) -> R) -> Outcome<Vec<R>> {
        let mut out = Vec::with_capacity(elements.len());
        self.map(elements, &mut out, function)?;
        Ok(out)
    }

    /// Appends a function of each index below `count` to a vector.
    pub(crate) fn generate<R>(
        &mut self,
        count: usize,
        out: &mut Vec<R>,
        mut function: impl FnMut(usize) -> R,
    ) -> Outcome {
        for start in (0..count).step_by(STEPS) {
            let end = count.min(start.saturating_add(STEPS));
            self.step(end - start)?;
            out.extend((start..end).map(&mut function));
        }
        Ok(())
    }

    #[cold]
    fn check(&mut self) -> Outcome {
        self.rest = STEPS;
        self.interrupt.check().map_err(Stop::Interrupted)
    }
}
