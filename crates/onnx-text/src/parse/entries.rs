//! The entries of the fields that hold the data of tensors.

use std::ops::RangeInclusive;

use bytes::Bytes;
use onnx_types::tensor::{Payload, Varints};
use onnx_types::{ElemType, Storage};

use super::fast_number::{self, Stop};
use super::{Parser, Result};
use crate::elements::int32_range;
use crate::lexer::{Literal, Mark};
use crate::rules;

impl Parser<'_> {
    /// Parses the entries of a typed field in braces. `room` is the expected number of entries, a hint only.
    pub(super) fn entries(
        &mut self,
        storage: Storage,
        elem: ElemType,
        range: &RangeInclusive<i64>,
        room: usize,
    ) -> Result<Payload> {
        match storage {
            Storage::Float => {
                let mut list = Vec::with_capacity(room.saturating_mul(4));
                self.numbers(fast_number::f32, Self::f32, |value| {
                    list.extend_from_slice(&value.to_le_bytes())
                })?;
                Ok(some(list, |list| Payload::Floats(list.into())))
            }
            Storage::Double => {
                let mut list = Vec::with_capacity(room.saturating_mul(8));
                self.numbers(fast_number::f64, Self::f64, |value| {
                    list.extend_from_slice(&value.to_le_bytes())
                })?;
                Ok(some(list, |list| Payload::Doubles(list.into())))
            }
            Storage::Int32 => {
                let mut list = Vec::with_capacity(room);
                self.lex.peek();
                let mark = self.lex.mark();
                let values = self.int32s(elem, range, |value| list.push(value))?;
                self.refuse_mixed(mark, elem, values, list.len())?;
                Ok(some(list, |list| Payload::Int32s(Varints::from_i32s(list))))
            }
            Storage::Int64 => {
                let mut list = Vec::with_capacity(room);
                self.numbers(fast_number::int, Self::int, |value| list.push(value))?;
                Ok(some(list, |list| Payload::Int64s(Varints::from_i64s(list))))
            }
            Storage::Uint64 => {
                let all = i64::from(i32::MIN)..=i64::from(i32::MAX);
                let narrow = elem == ElemType::Uint32 && *range != all;
                let mut list = Vec::with_capacity(room);
                self.uint64s(narrow, |value| list.push(value))?;
                Ok(some(list, |list| Payload::Uint64s(Varints::from_u64s(list))))
            }
            Storage::String => {
                let mut list = Vec::new();
                self.braces(|parser| {
                    let string = parser.string("a string")?;
                    list.push(Bytes::from(string.into_owned()));
                    Ok(())
                })?;
                Ok(some(list, Payload::strings))
            }
            Storage::None => {
                let mut any = false;
                self.braces(|parser| {
                    any = true;
                    parser.literal("a literal").map(drop)
                })?;
                if any {
                    return Err(self.error(&rules::WRONG_LITERAL, || {
                        "a tensor without an element type takes no elements".to_owned()
                    }));
                }
                Ok(Payload::None)
            }
        }
    }

    /// Parses the elements of raw data of a type of 32 or 64 bits, and returns their bytes and the corresponding number
    /// of entries of the typed field. `room` is the expected number.
    pub(super) fn wide_elements(&mut self, elem: ElemType, room: usize) -> Result<(Vec<u8>, usize)> {
        let width = match elem.storage() {
            Storage::Float | Storage::Int32 => 4,
            Storage::Uint64 if elem == ElemType::Uint32 => 4,
            _ => 8,
        };
        let mut bytes = Vec::with_capacity(room.saturating_mul(width));
        match elem.storage() {
            Storage::Int32 => {
                self.int32s(elem, &int32_range(elem), |value| bytes.extend_from_slice(&value.to_le_bytes()))?;
            }
            Storage::Int64 => {
                self.numbers(fast_number::int, Self::int, |value| {
                    bytes.extend_from_slice(&value.to_le_bytes())
                })?;
            }
            Storage::Uint64 => {
                // The upper bytes of narrow elements are zero.
                self.uint64s(width == 4, |value| {
                    bytes.extend_from_slice(value.to_le_bytes().get(..width).unwrap_or_default());
                })?;
            }
            storage => match self.entries(storage, elem, &int32_range(elem), room)? {
                Payload::Floats(list) | Payload::Doubles(list) => bytes = list.into(),
                _ => {}
            },
        }
        let found = bytes.len().checked_div(width).unwrap_or_default();
        Ok((bytes, found))
    }

    /// Parses entries of `int32_data`, and returns how many of them are given by the value of a float.
    fn int32s(
        &mut self,
        elem: ElemType,
        range: &RangeInclusive<i64>,
        mut push: impl FnMut(i32),
    ) -> Result<usize> {
        let plain = |text: &[u8]| {
            let (value, length) = fast_number::int(text).filter(|(value, _)| range.contains(value))?;
            Some(((i32::try_from(value).ok()?, false), length))
        };
        let mut values = 0_usize;
        self.numbers(
            plain,
            |parser| parser.int32(elem, range),
            |(entry, is_value)| {
                values = values.saturating_add(usize::from(is_value));
                push(entry);
            },
        )?;
        Ok(values)
    }

    /// Refuses a list of a narrow float type with integers, which are bit patterns, and values: the 1 of `{1, 0.5}` would be the
    /// smallest number. The reference takes bit patterns only.
    pub(super) fn refuse_mixed(&mut self, mark: Mark, elem: ElemType, values: usize, count: usize) -> Result {
        if values == 0 || values == count {
            return Ok(());
        }
        Err(self.error_at(
            &rules::WRONG_LITERAL,
            mark,
            1,
            format!(
                "an integer is a bit pattern of {}, and a number with a point or exponent is a value; write all elements \
                 in one of both forms, such as `1.0` for the value 1",
                elem.name()
            ),
        ))
    }

    fn uint64s(&mut self, is_narrow: bool, push: impl FnMut(u64)) -> Result {
        let max = if is_narrow { u64::from(u32::MAX) } else { u64::MAX };
        let plain = |text: &[u8]| fast_number::uint(text).filter(|&(value, _)| value <= max);
        self.numbers(plain, |parser| parser.uint64(max), push)
    }

    /// Parses a list in braces.
    pub(super) fn braces(&mut self, mut item: impl FnMut(&mut Self) -> Result) -> Result {
        self.expect(b'{')?;
        if self.lex.eat(b'}') {
            return Ok(());
        }
        loop {
            self.work()?;
            item(self)?;
            if !self.lex.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Parses a list of numbers in braces: runs of those that `plain` reads, and each other one as `item`.
    pub(super) fn numbers<T>(
        &mut self,
        plain: impl Fn(&[u8]) -> Option<(T, usize)>,
        mut item: impl FnMut(&mut Self) -> Result<T>,
        mut push: impl FnMut(T),
    ) -> Result {
        self.expect(b'{')?;
        if self.lex.eat(b'}') {
            return Ok(());
        }
        loop {
            let (taken, stop) = fast_number::run(self.lex.rest(), &plain, &mut push);
            self.lex.skip(taken);
            if stop == Stop::Closed {
                return Ok(());
            }
            self.work()?;
            push(item(self)?);
            if !self.lex.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Parses a binary32.
    fn f32(&mut self) -> Result<f32> {
        self.lex.peek();
        let mark = self.lex.mark();
        let literal = self.literal("a number")?;
        self.literal_f32(mark, &literal)
    }

    /// The binary32 that a literal stands for.
    pub(super) fn literal_f32(&mut self, mark: Mark, literal: &Literal<'_>) -> Result<f32> {
        match *literal {
            Literal::Int(digits) | Literal::Float(digits) => match digits.parse::<f32>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(self.out_of_range(mark, digits, "a 32-bit float")),
            },
            Literal::Inf(negative) => Ok(if negative { f32::NEG_INFINITY } else { f32::INFINITY }),
            Literal::Nan(negative) => Ok(f32::from_bits(if negative { 0xffc0_0000 } else { 0x7fc0_0000 })),
            Literal::NanBits(bits) => match u32::try_from(bits).map(f32::from_bits) {
                Ok(value) if value.is_nan() => Ok(value),
                _ => Err(self.taken_out_of_range(mark, "a 32-bit float")),
            },
            Literal::String(_) => Err(self.wrong_literal(mark, "a number")),
        }
    }

    fn f64(&mut self) -> Result<f64> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.literal("a number")? {
            Literal::Int(digits) | Literal::Float(digits) => match digits.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(self.out_of_range(mark, digits, "a 64-bit float")),
            },
            Literal::Inf(negative) => Ok(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
            Literal::Nan(negative) => Ok(f64::from_bits(if negative { 0xfff8 << 48 } else { 0x7ff8 << 48 })),
            Literal::NanBits(bits) if f64::from_bits(bits).is_nan() => Ok(f64::from_bits(bits)),
            Literal::NanBits(_) => Err(self.taken_out_of_range(mark, "a 64-bit float")),
            Literal::String(_) => Err(self.wrong_literal(mark, "a number")),
        }
    }

    /// Parses an entry of `int32_data`: an integer, or the value of a float type of 6 to 16 bits. Returns whether it is a value.
    fn int32(&mut self, elem: ElemType, range: &RangeInclusive<i64>) -> Result<(i32, bool)> {
        self.lex.peek();
        let mark = self.lex.mark();
        let literal = self.literal("an integer")?;
        match literal {
            Literal::Int(digits) => match digits.parse::<i64>() {
                Ok(value) if range.contains(&value) => Ok((value as i32, false)),
                _ => match elem.bits().filter(|&bits| bits < 6) {
                    // The text has what the field has.
                    Some(_) => {
                        let what = format!(
                            "an entry of {}, which is a byte with several elements, from 0 to 255; `raw {{...}}` takes the elements",
                            elem.name()
                        );
                        Err(self.out_of_range(mark, digits, &what))
                    }
                    None => Err(self.out_of_range(mark, digits, elem.name())),
                },
            },
            Literal::String(_) => Err(self.wrong_literal(mark, "an integer")),
            _ if elem.is_float() && elem.bits().is_some_and(|bits| (6..=16).contains(&bits)) => {
                self.narrow(mark, elem, &literal).map(|code| (i32::from(code), true))
            }
            _ => Err(self.wrong_literal(mark, "an integer")),
        }
    }

    fn uint64(&mut self, max: u64) -> Result<u64> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.literal("an integer")? {
            Literal::Int(digits) => match digits.parse::<u64>() {
                Ok(value) if value <= max => Ok(value),
                _ => Err(self.out_of_range(mark, digits, "an unsigned integer of this type")),
            },
            _ => Err(self.wrong_literal(mark, "an integer")),
        }
    }
}

/// The payload of a list without elements: no data field.
fn some<T>(list: Vec<T>, make: impl FnOnce(Vec<T>) -> Payload) -> Payload {
    if list.is_empty() { Payload::None } else { make(list) }
}
