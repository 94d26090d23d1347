//! The iterative traversal of the fields of a message and of nested messages, with an explicit stack.
//!
//! Text lists the fields of a message in the order of their numbers, the values of a repeated field together, and a
//! singular field once. Writers of the wire format do the same, so one pass is enough; each message is first looked over,
//! without its content, to see whether it is so. Otherwise it is passed over once for each field that it has: fields may come
//! in any order, the last value of a number or text counts, and messages in several parts are read as one.

use std::io::Write;

use onnx_proto::wire::{WireError, WireErrorKind};
use onnx_types::{Execution, Limits};

use super::output::Output;
use super::{Entry, Form};
use crate::pieces::{Pieces, Span, Value};
use crate::schema::{Field, Kind, Message};
use crate::{ConvertError, LossKind, Losses};

/// The bits of the NaN that `nan` means.
const PLAIN_F32: u32 = 0x7fc0_0000;
const PLAIN_F64: u64 = 0x7ff8_0000_0000_0000;

pub(super) fn write<F: Form>(
    message: &'static Message,
    pieces: &Pieces<'_>,
    execution: &Execution,
    form: F,
    to: &mut dyn Write,
) -> Result<Losses, ConvertError> {
    let limits = execution.limits;
    if pieces.len() > limits.input_bytes {
        let (limit, wanted) = (limits.input_bytes, pieces.len());
        return Err(WireError::new(WireErrorKind::Limit { name: "input_bytes", limit, wanted }, 0).into());
    }
    let whole = Span { start: pieces.start(), end: pieces.len() };
    let mut walk = Walk {
        stack: Vec::new(),
        form,
        out: Output::new(to, execution),
        losses: Losses::default(),
        limits,
        copy: Vec::new(),
    };
    walk.run(message, whole).map_err(|error| match error {
        ConvertError::Bytes(error) => ConvertError::Bytes(walk.located(error)),
        other => other,
    })?;
    walk.out.flush()?;
    Ok(walk.losses)
}

struct Walk<'a, 'p, 'w, F> {
    /// The messages that enclose each other, outermost first.
    stack: Vec<Frame<'a, 'p>>,
    form: F,
    out: Output<'w>,
    losses: Losses,
    limits: Limits,
    /// The buffer in which strings in several pieces are joined.
    copy: Vec<u8>,
}

/// A message that is being written.
struct Frame<'a, 'p> {
    message: &'static Message,
    /// The field that it is a value of, and the position among the values of a repeated one.
    via: Option<(&'static Field, Option<u64>)>,
    /// Its parts: one, unless a singular message is encoded several times.
    parts: Vec<Span<'a, 'p>>,
    plan: Plan,
    /// The position of the pass.
    at: Position<'a, 'p>,
    /// The repeated field whose values are being written, and how many are.
    list: Option<&'static Field>,
    index: u64,
    has_members: bool,
}

/// Information about a message before it is written.
#[derive(Default)]
struct Plan {
    /// The fields that it has.
    present: u64,
    /// The index of the first record whose value counts, for each field of a message that needs one pass per field:
    /// later records replace those before it. Empty if one pass is enough.
    live_from: Vec<u64>,
}

/// A position in the parts of a message.
#[derive(Clone, Copy)]
struct Position<'a, 'p> {
    part: usize,
    rest: Span<'a, 'p>,
    /// Number of records that were passed.
    records: u64,
    /// The field of the pass, where there is one for each.
    field: u8,
}

impl<'a, 'p> Position<'a, 'p> {
    fn start(parts: &[Span<'a, 'p>], otherwise: Span<'a, 'p>, field: u8) -> Self {
        Self { part: 0, rest: parts.first().copied().unwrap_or(otherwise), records: 0, field }
    }

    /// The next record with its number in the message.
    fn next(
        &mut self,
        parts: &[Span<'a, 'p>],
        depth_left: u32,
    ) -> Result<Option<(u64, u32, Value<'a, 'p>)>, WireError> {
        loop {
            if let Some(record) = self.rest.next_record(depth_left)? {
                let number = self.records;
                self.records = number.saturating_add(1);
                return Ok(Some((number, record.number, record.value)));
            }
            self.part = self.part.saturating_add(1);
            let Some(&next) = parts.get(self.part) else { return Ok(None) };
            self.rest = next;
        }
    }
}

/// The field of a record, if the value has the wire type of the schema.
fn known(message: &'static Message, number: u32, value: &Value<'_, '_>) -> Option<&'static Field> {
    let field = message.by_number(number)?;
    let fits = match (field.kind, value) {
        (Kind::String | Kind::Bytes | Kind::Message(_), Value::Len(_))
        | (Kind::Float, Value::Fixed32(_))
        | (Kind::Double, Value::Fixed64(_))
        | (Kind::Int32 | Kind::Int64 | Kind::Uint64 | Kind::Enum(_), Value::Varint(_)) => true,
        (Kind::String | Kind::Bytes | Kind::Message(_), _) => false,
        (_, Value::Len(_)) => field.repeated,
        _ => false,
    };
    fits.then_some(field)
}

impl<'a, 'p, F: Form> Walk<'a, 'p, '_, F> {
    fn run(&mut self, message: &'static Message, whole: Span<'a, 'p>) -> Result<(), ConvertError> {
        self.enter(message, None, vec![whole], Entry::Single { is_first: true })?;
        loop {
            match self.next()? {
                Some((field, value)) => self.value(field, value)?,
                None => {
                    self.close_list();
                    let Some(frame) = self.stack.pop() else { break };
                    self.form.end_message(&mut self.out, !frame.has_members);
                    if self.stack.is_empty() {
                        break;
                    }
                }
            }
            self.out.pass_on()?;
        }
        Ok(())
    }

    /// Begins a message.
    fn enter(
        &mut self,
        message: &'static Message,
        via: Option<(&'static Field, Option<u64>)>,
        parts: Vec<Span<'a, 'p>>,
        entry: Entry,
    ) -> Result<(), ConvertError> {
        let Some(&first) = parts.first() else { return Ok(()) };
        if self.stack.len() as u64 > u64::from(self.limits.message_depth) {
            let limit = u64::from(self.limits.message_depth);
            let kind = WireErrorKind::Limit { name: "message_depth", limit, wanted: limit.saturating_add(1) };
            let offset = usize::try_from(first.start.offset()).unwrap_or(usize::MAX);
            return Err(WireError::new(kind, offset).into());
        }
        let at = Position::start(&parts, first, 0);
        self.stack.push(Frame {
            message,
            via,
            parts,
            plan: Plan::default(),
            at,
            list: None,
            index: 0,
            has_members: false,
        });
        self.form.begin_message(&mut self.out, via.map(|(field, _)| (field, entry)));
        self.look_over()
    }

    fn depth_left(&self) -> u32 {
        let depth = u32::try_from(self.stack.len()).unwrap_or(u32::MAX).saturating_sub(1);
        self.limits.message_depth.saturating_sub(depth)
    }

    /// Finds out what the message just entered has, and how it has to be passed over.
    fn look_over(&mut self) -> Result<(), ConvertError> {
        let depth_left = self.depth_left();
        let Self { stack, losses, .. } = self;
        let Some((frame, outer)) = stack.split_last_mut() else { return Ok(()) };
        let (mut position, message) = (frame.at, frame.message);
        let (mut present, mut last, mut in_order) = (0_u64, 0, true);
        while let Some((_, number, value)) = position.next(&frame.parts, depth_left)? {
            let Some(field) = known(message, number, &value) else {
                losses.push(LossKind::UnknownField { number }, || path(outer, frame.via, None));
                continue;
            };
            let again = !field.repeated
                && (present & field.bit() != 0 || message.seen_member(field.oneof, present).is_some());
            in_order &= number >= last && !again;
            last = number;
            present |= field.bit();
        }
        frame.plan.present = present;
        if !in_order {
            frame.plan = plan(message, frame.at, &frame.parts, depth_left)?;
            // The first pass is for the first field that is present.
            frame.at.field = u8::try_from(frame.plan.present.trailing_zeros()).unwrap_or(u8::MAX);
        }
        Ok(())
    }

    /// The next value of the innermost message.
    fn next(&mut self) -> Result<Option<(&'static Field, Value<'a, 'p>)>, ConvertError> {
        let depth_left = self.depth_left();
        let Some(frame) = self.stack.last_mut() else { return Ok(None) };
        let Some(&first) = frame.parts.first() else { return Ok(None) };
        loop {
            let Some((record, number, value)) = frame.at.next(&frame.parts, depth_left)? else {
                let later = u64::MAX.checked_shl(u32::from(frame.at.field).saturating_add(1)).unwrap_or(0);
                let left = frame.plan.present & later;
                if frame.plan.live_from.is_empty() || left == 0 {
                    return Ok(None);
                }
                let field = u8::try_from(left.trailing_zeros()).unwrap_or(u8::MAX);
                frame.at = Position::start(&frame.parts, first, field);
                continue;
            };
            let Some(field) = known(frame.message, number, &value) else { continue };
            let is_live = match frame.plan.live_from.get(usize::from(field.index)) {
                None => true,
                Some(&from) => field.index == frame.at.field && record >= from,
            };
            if is_live {
                return Ok(Some((field, value)));
            }
        }
    }

    /// Writes a value, or enters it if it is a message.
    fn value(&mut self, field: &'static Field, value: Value<'a, 'p>) -> Result<(), ConvertError> {
        self.prepare_list(field);
        if let (Kind::Message(message), Value::Len(span)) = (field.kind, value) {
            let (entry, index) = self.next_entry(field);
            let parts = self.parts(field, span)?;
            return self.enter(message, Some((field, index)), parts, entry);
        }
        match value {
            Value::Len(span) if !matches!(field.kind, Kind::String | Kind::Bytes) => self.packed(field, span),
            value => self.scalar(field, value),
        }
    }

    /// All parts of a message of which one was found.
    fn parts(&mut self, field: &Field, first: Span<'a, 'p>) -> Result<Vec<Span<'a, 'p>>, ConvertError> {
        let mut parts = vec![first];
        let is_simple = self.stack.last().is_none_or(|frame| frame.plan.live_from.is_empty());
        if field.repeated || is_simple {
            return Ok(parts);
        }
        while let Some((_, value)) = self.next_of(field)? {
            if let Value::Len(span) = value {
                parts.push(span);
            }
        }
        Ok(parts)
    }

    /// The next value of the same field, in the pass for this field.
    fn next_of(&mut self, field: &Field) -> Result<Option<(&'static Field, Value<'a, 'p>)>, ConvertError> {
        let depth_left = self.depth_left();
        let Some(frame) = self.stack.last_mut() else { return Ok(None) };
        while let Some((_, number, value)) = frame.at.next(&frame.parts, depth_left)? {
            match known(frame.message, number, &value) {
                Some(found) if found.number == field.number => return Ok(Some((found, value))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Writes the numbers of one packed record. The separator between two numbers is always the same.
    fn packed(&mut self, field: &'static Field, mut span: Span<'a, 'p>) -> Result<(), ConvertError> {
        let Some(mut value) = next_number(field.kind, &mut span)? else { return Ok(()) };
        let (entry, index) = self.next_entry(field);
        let mut index = index.unwrap_or_default();
        self.form.begin_value(&mut self.out, field, entry);
        let mut between = Vec::new();
        loop {
            self.number(field, value, Some(index));
            self.out.pass_on()?;
            let Some(next) = next_number(field.kind, &mut span)? else { break };
            (value, index) = (next, index.saturating_add(1));
            if between.is_empty() {
                let start = self.out.len();
                self.form.end_value(&mut self.out);
                self.form.begin_value(&mut self.out, field, Entry::Element { is_first: false });
                between.extend_from_slice(self.out.since(start));
            } else {
                self.out.put(&between);
            }
        }
        self.form.end_value(&mut self.out);
        if let Some(frame) = self.stack.last_mut() {
            frame.index = index.saturating_add(1);
        }
        Ok(())
    }

    fn scalar(&mut self, field: &'static Field, value: Value<'a, 'p>) -> Result<(), ConvertError> {
        let (entry, index) = self.next_entry(field);
        self.form.begin_value(&mut self.out, field, entry);
        match (field.kind, value) {
            (Kind::String, Value::Len(span)) => self.string(field, index, span)?,
            (Kind::Bytes, Value::Len(mut span)) => {
                let (form, out) = (&mut self.form, &mut self.out);
                form.begin_bytes(out);
                while let Some(chunk) = span.next_chunk() {
                    for chunk in chunk.chunks(BLOCK) {
                        form.bytes(out, chunk);
                        out.pass_on()?;
                    }
                }
                form.end_bytes(out);
            }
            (_, value) => self.number(field, value, index),
        }
        self.form.end_value(&mut self.out);
        Ok(())
    }

    #[inline]
    fn number(&mut self, field: &'static Field, value: Value<'a, 'p>, index: Option<u64>) {
        let (form, out) = (&mut self.form, &mut self.out);
        match (field.kind, value) {
            (Kind::Float, Value::Fixed32(bits)) => {
                form.float(out, f32::from_bits(bits));
                if f32::from_bits(bits).is_nan() && bits != PLAIN_F32 {
                    self.losses.push(LossKind::NanBits, || path(&self.stack, None, Some((field, index))));
                }
            }
            (Kind::Double, Value::Fixed64(bits)) => {
                form.double(out, f64::from_bits(bits));
                if f64::from_bits(bits).is_nan() && bits != PLAIN_F64 {
                    self.losses.push(LossKind::NanBits, || path(&self.stack, None, Some((field, index))));
                }
            }
            // As in every reader of protobuf, only the lower half of the varint counts.
            (Kind::Int32, Value::Varint(varint)) => form.int32(out, varint as i32),
            (Kind::Enum(names), Value::Varint(varint)) => match names.name_of(varint as i32) {
                Some(name) => form.name(out, name),
                None => form.int32(out, varint as i32),
            },
            (Kind::Int64, Value::Varint(varint)) => form.int64(out, varint.cast_signed()),
            (Kind::Uint64, Value::Varint(varint)) => form.uint64(out, varint),
            // `known` lets nothing else pass.
            _ => {}
        }
    }

    fn string(
        &mut self,
        field: &'static Field,
        index: Option<u64>,
        span: Span<'a, 'p>,
    ) -> Result<(), ConvertError> {
        let (limit, wanted) = (self.limits.string_bytes, span.len());
        if wanted > limit {
            let offset = usize::try_from(span.start.offset()).unwrap_or(usize::MAX);
            let kind = WireErrorKind::Limit { name: "string_bytes", limit, wanted };
            return Err(WireError::new(kind, offset).into());
        }
        let (form, out) = (&mut self.form, &mut self.out);
        form.begin_string(out);
        let mut rest = span.contiguous(&mut self.copy);
        while !rest.is_empty() {
            let (part, others) = rest.split_at(end_of_part(rest));
            if !form.string(out, part) {
                return Err(ConvertError::NotUtf8 { path: path(&self.stack, None, Some((field, index))) });
            }
            out.pass_on()?;
            rest = others;
        }
        form.end_string(out);
        Ok(())
    }

    /// Ends the list of another field, and begins the one of this field.
    fn prepare_list(&mut self, field: &'static Field) {
        let Some(frame) = self.stack.last_mut() else { return };
        if frame.list.is_some_and(|list| list.number == field.number) {
            return;
        }
        self.close_list();
        if field.repeated
            && let Some(frame) = self.stack.last_mut()
        {
            frame.list = Some(field);
            frame.index = 0;
        }
    }

    fn close_list(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        if frame.list.take().is_some() && frame.index > 0 {
            self.form.end_list(&mut self.out);
        }
    }

    /// The index of the next value in its list.
    fn next_entry(&mut self, field: &'static Field) -> (Entry, Option<u64>) {
        let Some(frame) = self.stack.last_mut() else { return (Entry::Single { is_first: true }, None) };
        let is_first_member = !std::mem::replace(&mut frame.has_members, true);
        if !field.repeated {
            return (Entry::Single { is_first: is_first_member }, None);
        }
        let index = frame.index;
        frame.index = index.saturating_add(1);
        if index == 0 {
            // An empty packed record has no values, so the list begins with the first one.
            self.form.begin_list(&mut self.out, field, is_first_member);
        }
        (Entry::Element { is_first: index == 0 }, Some(index))
    }

    /// The error with the fields on the way to it.
    fn located(&self, mut error: WireError) -> WireError {
        for (field, index) in self.stack.iter().rev().filter_map(|frame| frame.via) {
            error = match index.and_then(|index| usize::try_from(index).ok()) {
                Some(index) => error.in_item(field.name, index),
                None => error.in_field(field.name),
            };
        }
        error
    }
}

/// The next number of a packed record.
#[inline]
fn next_number<'a, 'p>(kind: Kind, span: &mut Span<'a, 'p>) -> Result<Option<Value<'a, 'p>>, WireError> {
    Ok(match kind {
        Kind::Float => span.next_array()?.map(|bytes| Value::Fixed32(u32::from_le_bytes(bytes))),
        Kind::Double => span.next_array()?.map(|bytes| Value::Fixed64(u64::from_le_bytes(bytes))),
        _ => span.next_varint()?.map(Value::Varint),
    })
}

/// How many bytes of a value are written at once: a multiple of 3, so that base64 has no rest, and few enough that the
/// buffer of the output is large enough if each is written as an escape of 6 characters.
const BLOCK: usize = 3 << 13;

/// The length of the part of a string that is written at once, which ends between two characters.
fn end_of_part(string: &[u8]) -> usize {
    if string.len() <= BLOCK {
        return string.len();
    }
    let continues = |at: &usize| string.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // A character has at most 3 bytes that continue it: if there are more, they are not UTF-8.
    (BLOCK.saturating_sub(3)..=BLOCK).rev().find(|at| !continues(at)).unwrap_or(BLOCK)
}

/// The plan for a message whose fields are not in order.
fn plan<'a, 'p>(
    message: &'static Message,
    mut position: Position<'a, 'p>,
    parts: &[Span<'a, 'p>],
    depth_left: u32,
) -> Result<Plan, ConvertError> {
    let mut plan = Plan { present: 0, live_from: vec![0; message.fields.len()] };
    while let Some((record, number, value)) = position.next(parts, depth_left)? {
        let Some(field) = known(message, number, &value) else { continue };
        // Another member of a `oneof` is forgotten with all its parts.
        while let Some(other) =
            message.seen_member(field.oneof, plan.present & !field.bit()).filter(|_| field.oneof != 0)
        {
            plan.present &= !other.bit();
        }
        let is_new = plan.present & field.bit() == 0;
        let is_replaced = !field.repeated && (is_new || !matches!(field.kind, Kind::Message(_)));
        if is_replaced && let Some(from) = plan.live_from.get_mut(usize::from(field.index)) {
            *from = record;
        }
        plan.present |= field.bit();
    }
    Ok(plan)
}

/// The path to a message, and to a field of it.
fn path(
    outer: &[Frame<'_, '_>],
    via: Option<(&'static Field, Option<u64>)>,
    field: Option<(&'static Field, Option<u64>)>,
) -> String {
    let mut path = String::new();
    for (field, index) in outer.iter().filter_map(|frame| frame.via).chain(via).chain(field) {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(field.name);
        if let Some(index) = index {
            path.push_str(&format!("[{index}]"));
        }
    }
    path
}
