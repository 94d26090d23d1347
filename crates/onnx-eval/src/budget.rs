//! The budget of a run: elements of a tensor, live bytes, and work.

use onnx_types::{Execution, Watch};

use crate::cx::{Outcome, Stop};

/// The remaining budget of a run.
pub(crate) struct Budget {
    elements: u64,
    bytes: u64,
    steps: u64,
    /// Bytes of the values that are stored.
    live: u64,
    /// Bytes that the kernel that runs has allocated.
    scratch: u64,
    watch: Watch,
}

/// Operations on elements between two checks of the interrupt.
const WATCHED_STEPS: u64 = 1 << 16;

impl Budget {
    pub(crate) fn new(execution: &Execution) -> Self {
        let limits = &execution.limits;
        Self {
            elements: limits.run_elements,
            bytes: limits.run_bytes,
            steps: limits.run_steps,
            live: 0,
            scratch: 0,
            watch: Watch::new(execution, "run", 0, WATCHED_STEPS),
        }
    }

    /// Counts work, in element operations.
    pub(crate) fn work(&mut self, steps: u64) -> Outcome {
        self.steps = self.steps.checked_sub(steps).ok_or(Stop::Limit("run_steps"))?;
        self.watch.work(steps).map_err(Stop::Interrupted)
    }

    /// The number of elements of a tensor.
    pub(crate) fn count(&self, dims: &[usize]) -> Outcome<usize> {
        if dims.contains(&0) {
            return Ok(0);
        }
        let count = dims.iter().try_fold(1_usize, |count, &dim| count.checked_mul(dim));
        match count {
            Some(count) if count as u64 <= self.elements => Ok(count),
            _ => Err(Stop::Limit("run_elements")),
        }
    }

    /// Counts memory that the kernel allocates.
    pub(crate) fn allocate(&mut self, count: usize, size: usize) -> Outcome {
        if count as u64 > self.elements {
            return Err(Stop::Limit("run_elements"));
        }
        let bytes = (count as u64).saturating_mul(size as u64);
        self.scratch = self.scratch.saturating_add(bytes);
        if self.live.saturating_add(self.scratch) > self.bytes {
            return Err(Stop::Limit("run_bytes"));
        }
        self.work(count as u64)
    }

    /// Bytes of the values that are stored.
    pub(crate) const fn live(&self) -> u64 {
        self.live
    }

    /// Ends the accounting of a kernel.
    pub(crate) const fn end_kernel(&mut self) {
        self.scratch = 0;
    }

    /// Counts a value that is stored.
    pub(crate) fn keep(&mut self, bytes: u64) -> Outcome {
        self.live = self.live.saturating_add(bytes);
        if self.live > self.bytes { Err(Stop::Limit("run_bytes")) } else { Ok(()) }
    }

    /// Counts a value that is dropped.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.live = self.live.saturating_sub(bytes);
    }
}
