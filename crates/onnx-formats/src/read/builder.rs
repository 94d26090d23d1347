//! Writing the messages that a text describes.

use bytes::Bytes;
use onnx_proto::wire::{Mark, Writer};
use onnx_types::{Execution, Limits, Watch};

use crate::error::SyntaxError;
use crate::schema::{Field, Message};

/// The messages that enclose each other, and what is encoded of them so far.
pub(super) struct Builder {
    writer: Writer,
    stack: Vec<Open>,
    limits: Limits,
    watch: Watch,
}

/// Number of bytes of the text between two checks of the interrupt.
const WATCHED_BYTES: u64 = 64 << 10;

/// A message that is not yet at its end.
struct Open {
    message: &'static Message,
    /// Nothing for the whole message, which has no length.
    mark: Option<Mark>,
    /// The fields that were named.
    seen: u64,
    /// The record of packed numbers that more of them are added to.
    packed: Option<(u32, Mark)>,
}

impl Builder {
    pub(super) fn new(
        message: &'static Message,
        text: &[u8],
        execution: &Execution,
    ) -> Result<Self, SyntaxError> {
        let limits = execution.limits;
        let (limit, wanted) = (limits.input_bytes, text.len() as u64);
        if wanted > limit {
            return Err(SyntaxError::limit(0, "input_bytes", exceeds(limit, wanted)));
        }
        let whole = Open { message, mark: None, seen: 0, packed: None };
        Ok(Self {
            writer: Writer::new(),
            stack: vec![whole],
            limits,
            watch: Watch::new(execution, "read", wanted, WATCHED_BYTES),
        })
    }

    /// Records the number of bytes read; returns an error if the work must end.
    #[inline]
    pub(super) fn reach(&mut self, at: usize) -> Result<(), SyntaxError> {
        self.watch.reach(at as u64).map_err(|stopped| SyntaxError::stopped(at, stopped))
    }

    /// The innermost message.
    pub(super) fn message(&self) -> Option<&'static Message> {
        self.stack.last().map(|open| open.message)
    }

    /// Records that a field is named; returns an error if it must not be named again.
    pub(super) fn name(&mut self, field: &'static Field, at: usize, twice: bool) -> Result<(), SyntaxError> {
        self.reach(at)?;
        let Some(open) = self.stack.last_mut() else { return Ok(()) };
        let seen = open.seen;
        open.seen = seen | field.bit();
        if seen & field.bit() != 0 && !(field.repeated && twice) {
            return Err(SyntaxError::new(at, format!("`{}` is already set", field.name)));
        }
        Ok(())
    }

    /// Fails where another member of the same `oneof` was set.
    pub(super) fn choose(&mut self, field: &'static Field, at: usize) -> Result<(), SyntaxError> {
        let Some(open) = self.stack.last() else { return Ok(()) };
        match open.message.seen_member(field.oneof, open.seen & !field.bit()) {
            None => Ok(()),
            Some(other) => {
                let message = format!("`{}` is set, and `{}` excludes it", other.name, field.name);
                Err(SyntaxError::new(at, message))
            }
        }
    }

    /// Begins a message.
    pub(super) fn enter(
        &mut self,
        field: &'static Field,
        message: &'static Message,
        at: usize,
    ) -> Result<(), SyntaxError> {
        if self.stack.len() as u64 > u64::from(self.limits.message_depth) {
            let limit = self.limits.message_depth;
            let message = format!("messages nest more than {limit} deep");
            return Err(SyntaxError::limit(at, "message_depth", message));
        }
        self.close_packed();
        let mark = Some(self.writer.begin(field.number));
        self.stack.push(Open { message, mark, seen: 0, packed: None });
        Ok(())
    }

    /// Ends the innermost message.
    pub(super) fn leave(&mut self) {
        self.close_packed();
        if let Some(mark) = self.stack.pop().and_then(|open| open.mark) {
            self.writer.end(mark);
        }
    }

    pub(super) fn finish(mut self) -> Bytes {
        while !self.stack.is_empty() {
            self.leave();
        }
        self.writer.finish_contiguous()
    }

    pub(super) fn varint(&mut self, field: &'static Field, value: u64) {
        if self.open_packed(field) {
            self.writer.raw_varint(value);
        } else {
            self.writer.uint64(field.number, value);
        }
    }

    pub(super) fn float(&mut self, field: &'static Field, value: f32) {
        if self.open_packed(field) {
            self.writer.raw_slice(&value.to_le_bytes());
        } else {
            self.writer.float(field.number, value);
        }
    }

    pub(super) fn double(&mut self, field: &'static Field, value: f64) {
        if self.open_packed(field) {
            self.writer.raw_slice(&value.to_le_bytes());
        } else {
            self.writer.double(field.number, value);
        }
    }

    /// Begins a `string` or `bytes` field, whose content is [added](Self::add) in pieces.
    pub(super) fn begin(&mut self, field: &'static Field) -> Content {
        self.close_packed();
        let mark = self.writer.begin(field.number);
        Content { mark, start: self.writer.len() }
    }

    #[inline]
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.writer.raw_slice(bytes);
    }

    pub(super) fn end(&mut self, content: Content) {
        self.writer.end(content.mark);
    }

    /// Fails when a `string` has become too long.
    pub(super) fn check_string(&self, content: &Content, at: usize) -> Result<(), SyntaxError> {
        let (limit, wanted) = (self.limits.string_bytes, self.writer.len().saturating_sub(content.start));
        if wanted <= limit {
            return Ok(());
        }
        Err(SyntaxError::limit(at, "string_bytes", exceeds(limit, wanted)))
    }

    /// Whether a number belongs into a packed record, which is then open.
    #[inline]
    fn open_packed(&mut self, field: &'static Field) -> bool {
        if self
            .stack
            .last()
            .is_some_and(|open| open.packed.as_ref().is_some_and(|(number, _)| *number == field.number))
        {
            return true;
        }
        self.close_packed();
        if field.packed
            && let Some(open) = self.stack.last_mut()
        {
            open.packed = Some((field.number, self.writer.begin(field.number)));
        }
        field.packed
    }

    fn close_packed(&mut self) {
        if let Some((_, mark)) = self.stack.last_mut().and_then(|open| open.packed.take()) {
            self.writer.end(mark);
        }
    }
}

/// A `string` or `bytes` field that was begun.
pub(super) struct Content {
    mark: Mark,
    /// The length of everything before the content.
    start: u64,
}

fn exceeds(limit: u64, wanted: u64) -> String {
    format!("{wanted} bytes exceed the limit of {limit}")
}
