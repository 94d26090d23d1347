//! Gathering text before it is written.

use std::io::Write;

use onnx_types::{Execution, Watch};

use crate::ConvertError;

/// The minimum number of bytes before the buffer is written.
const FULL: usize = 1 << 18;

/// What indentation is taken from. Messages nest 100 deep unless a limit was raised; deeper ones are not indented further,
/// so that indentation does not grow with the square of the depth.
const SPACES: &[u8; 512] = &[b' '; 512];

pub(super) struct Output<'w> {
    buffer: Vec<u8>,
    to: &'w mut dyn Write,
    watch: Watch,
}

impl<'w> Output<'w> {
    pub(super) fn new(to: &'w mut dyn Write, execution: &Execution) -> Self {
        let watch = Watch::new(execution, "write", 0, FULL as u64);
        Self { buffer: Vec::with_capacity(FULL.saturating_mul(2)), to, watch }
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The number of bytes in the buffer.
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// The bytes that were added since the buffer had length `len`.
    pub(super) fn since(&self, len: usize) -> &[u8] {
        self.buffer.get(len..).unwrap_or_default()
    }

    pub(super) fn indent(&mut self, level: usize) {
        self.put(SPACES.get(..level.saturating_mul(2)).unwrap_or(SPACES));
    }

    /// Writes what was gathered, once it is worth it.
    #[inline]
    pub(super) fn pass_on(&mut self) -> Result<(), ConvertError> {
        if self.buffer.len() >= FULL { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<(), ConvertError> {
        self.watch.work(self.buffer.len() as u64)?;
        self.to.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
