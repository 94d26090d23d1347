//! Printing into a stream: text is passed on piece by piece, so that memory does not grow with the weights.

use std::fmt;
use std::io::{self, Write};

use onnx_diag::Sink;
use onnx_ir::Model;

use super::{PrintOptions, Printer};
use crate::error::WriteError;

/// Minimum number of bytes before text is flushed.
const FULL: usize = 1 << 17;

/// The destination of the text.
pub(super) struct Stream<'m> {
    to: &'m mut dyn Write,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("failure", &self.failure).finish_non_exhaustive()
    }
}

/// Prints a model into a stream, as [`print_model`](crate::print_model) does into a string, and returns what the reference's
/// syntax could not express. Memory does not grow with the text: elements of large tensors are passed on as they are printed.
///
/// # Errors
///
/// If graphs or types are nested too deeply, or `out` fails. What was written until then is of no use.
pub fn print_model_to(
    model: &Model,
    options: &PrintOptions<'_>,
    out: &mut dyn Write,
) -> Result<Sink, WriteError> {
    let stream = Stream { to: out, failure: None };
    let mut printer = Printer::new(model, options, FULL.saturating_mul(2), Some(stream));
    let printed = printer.model();
    printer.flush();
    match printer.stream.and_then(|stream| stream.failure) {
        Some(error) => Err(WriteError::Io(error)),
        None => {
            printed?;
            Ok(printer.left_out)
        }
    }
}

impl Printer<'_> {
    /// Passes the text on if it is large enough. Returns `true` if the stream failed, so that printing more is useless.
    #[inline]
    pub(super) fn pass_on(&mut self) -> bool {
        self.out.len() >= FULL && self.flush()
    }

    /// Writes `=` before the value of a tensor that does not begin with a brace: a word or a bracket after the type would be
    /// taken for something else.
    pub(super) fn settle_value(&mut self) {
        if let Some(start) = self.value_start.take()
            && !self.out.get(start..).unwrap_or_default().starts_with('{')
        {
            self.out.insert_str(start, "= ");
        }
    }

    /// Reserves memory for text, but not for more than is passed on at once.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.out.reserve(if self.stream.is_some() { bytes.min(FULL) } else { bytes });
    }

    #[inline(never)]
    fn flush(&mut self) -> bool {
        self.settle_value();
        let Some(stream) = &mut self.stream else { return false };
        if stream.failure.is_none() {
            stream.failure = stream.to.write_all(self.out.as_bytes()).err();
        }
        self.out.clear();
        stream.failure.is_some()
    }
}
