//! The budget of a run: elements of a tensor, live bytes, and work.

use std::cell::Cell;

use onnx_types::tensor::{Payload, Tensor, require_memory};
use onnx_types::{Execution, Watch};

use crate::cx::{Outcome, Stop, axes};
use crate::interrupt_poll::InterruptPoll;
use crate::value::Value;

/// The remaining budget of a run.
pub(crate) struct Budget {
    elements: u64,
    bytes: u64,
    steps: u64,
    splat: u64,
    /// Bytes of the values that are stored.
    live: u64,
    /// Bytes that the kernel that runs has allocated.
    scratch: u64,
    /// Bytes of operands that are part of a result of the kernel.
    reused: u64,
    /// Work that is counted with the next.
    pending: Cell<u64>,
    watch: Watch,
    poll: InterruptPoll,
}

/// Operations on elements between two checks of the interrupt.
const WATCHED_STEPS: u64 = 1 << 16;

/// What a kernel may allocate for each step along the axes of a tensor without elements.
const EXTENT_BYTES: u64 = 16;

/// What a tensor takes in memory in addition to its elements.
pub(crate) const RECORD_BYTES: u64 = 128;

/// What kernels allocate for an element of an operand without counting it: two elements of 64 bits.
const CONVERTED_BYTES: usize = 16;

/// Smaller requests take no time that counts.
const PROBED_BYTES: usize = 1 << 20;

/// Bytes of large memory that the system provides in the time of an operation.
const BYTES_OF_STEP: u64 = 8;

impl Budget {
    pub(crate) fn new(execution: &Execution) -> Self {
        let limits = &execution.limits;
        Self {
            elements: limits.run_elements,
            bytes: limits.run_bytes,
            steps: limits.run_steps,
            splat: limits.splat_bytes,
            live: 0,
            scratch: 0,
            reused: 0,
            pending: Cell::new(0),
            watch: Watch::new(execution, "run", 0, WATCHED_STEPS),
            poll: InterruptPoll::new(execution.interrupt.clone()),
        }
    }

    /// Counts work, in element operations.
    pub(crate) fn work(&mut self, steps: u64) -> Outcome {
        let steps = steps.saturating_add(self.pending.take());
        self.steps = self.steps.checked_sub(steps).ok_or(Stop::Limit("run_steps"))?;
        self.watch.work(steps).map_err(Stop::Interrupted)
    }

    /// The operations that are left.
    pub(crate) const fn steps_left(&self) -> u64 {
        self.steps
    }

    /// The checks of the interrupt within a kernel.
    pub(crate) const fn poll(&mut self) -> &mut InterruptPoll {
        &mut self.poll
    }

    /// The number of elements of a tensor. Kernels walk the axes of a tensor without elements and allocate by them, so the product
    /// of the others is bounded, too, and is counted as work.
    pub(crate) fn count(&self, dims: &[usize]) -> Outcome<usize> {
        let mut others = dims.iter().filter(|&&dim| dim != 0);
        let extent = others.try_fold(1_u64, |extent, &dim| extent.checked_mul(dim as u64));
        let extent = extent.filter(|&extent| extent <= self.elements).ok_or(Stop::Limit("run_elements"))?;
        if dims.contains(&0) {
            if extent.saturating_mul(EXTENT_BYTES) > self.bytes {
                return Err(Stop::Limit("run_bytes"));
            }
            self.pending.set(self.pending.get().saturating_add(extent));
            return Ok(0);
        }
        Ok(extent as usize)
    }

    /// Counts memory that the kernel allocates by means that end the process if the system has none: there must be as much at the
    /// moment.
    pub(crate) fn allocate(&mut self, count: usize, size: usize) -> Outcome {
        self.account(count, size)?;
        probe(count, size)
    }

    /// Counts memory for elements that the kernel has made, in another form: no further work.
    pub(crate) fn convert(&mut self, count: usize, size: usize) -> Outcome {
        self.hold(count, size)?;
        probe(count, size)
    }

    /// Counts memory that the kernel then requests by means that can fail.
    pub(crate) fn account(&mut self, count: usize, size: usize) -> Outcome {
        if count as u64 > self.elements {
            return Err(Stop::Limit("run_elements"));
        }
        self.hold(count, size)?;
        let bytes = (count as u64).saturating_mul(size as u64);
        let pages = if bytes < PROBED_BYTES as u64 { 0 } else { bytes / BYTES_OF_STEP };
        self.work((count as u64).saturating_add(pages))
    }

    fn hold(&mut self, count: usize, size: usize) -> Outcome {
        let bytes = (count as u64).saturating_mul(size as u64);
        self.scratch = self.scratch.saturating_add(bytes);
        if self.live.saturating_add(self.scratch) > self.bytes {
            Err(Stop::Limit("run_bytes"))
        } else {
            Ok(())
        }
    }

    /// Counts the work of reading and writing the elements of an operand in place.
    pub(crate) fn reuse(&mut self, count: usize, size: usize) -> Outcome {
        self.reused = self.reused.saturating_add((count as u64).saturating_mul(size as u64));
        self.work((count as u64).saturating_mul(2))
    }

    /// Bytes that are both in an operand and in a result of the last kernel.
    pub(crate) const fn take_reused(&mut self) -> u64 {
        std::mem::replace(&mut self.reused, 0)
    }

    /// Counts the work of reading an operand without elements; kernels count that of elements. The system must have memory for a
    /// conversion of the elements, because kernels convert operands by means that end the process if it has none.
    pub(crate) fn operand(&mut self, tensor: &Tensor) -> Outcome {
        match tensor.element_count() {
            Some(0) => self.count(&axes::sizes(tensor.dims())?).map(drop),
            Some(_) if matches!(tensor.payload(), Payload::Splat(_)) => Ok(()),
            count => probe(usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX), CONVERTED_BYTES),
        }
    }

    /// Bytes of a value that is kept: its elements and a record for each tensor. Counts the work of adding them up.
    pub(crate) fn bytes_of(&mut self, value: &Value) -> Outcome<u64> {
        let (records, strings) = (value.record_count(), value.string_count());
        self.work(records.saturating_add(strings))?;
        Ok(value.resident_bytes().saturating_add(records.saturating_mul(RECORD_BYTES)))
    }

    /// Bytes of a tensor of one repeated element that a kernel writes out.
    pub(crate) fn write_out(&self, bytes: u64) -> Outcome {
        if bytes > self.splat { Err(Stop::Limit("splat_bytes")) } else { Ok(()) }
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

/// Tries whether the system has memory for elements of a size, in addition to what is in use.
pub(crate) fn probe(count: usize, size: usize) -> Outcome {
    require_memory::<u8>(count.saturating_mul(size)).map_err(|_| Stop::out_of_memory(count, size))
}
