//! A second, small reader of the wire format, so that tests do not ask the reader that they test.
//!
//! It is written for clearness: every record says how it was written, not only what it says.

/// One encoded field of a message.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The field number.
    pub number: u32,
    /// What it holds.
    pub value: Value<'a>,
    /// The whole record, tag included.
    pub raw: &'a [u8],
    /// How many bytes of `raw` come before the content of a length-delimited field.
    pub head: usize,
    /// Whether tag, length and number take as few bytes as they can.
    pub minimal: bool,
    /// Whether the number has bits beyond the 64th.
    pub overflows: bool,
}

/// The value of a field by wire type.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2.
    Len(&'a [u8]),
    /// Wire type 3: the fields of the group, without its end tag.
    Group(&'a [u8]),
    /// Wire type 5.
    Fixed32(u32),
}

/// The bytes are not protobuf; the number is the offset in the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub usize);

/// A varint: its value, how many bytes it takes, and whether it loses bits.
#[derive(Clone, Copy)]
struct Varint {
    value: u64,
    len: usize,
    overflows: bool,
}

impl Varint {
    fn minimal(self) -> bool {
        self.len == varint_len(self.value) && !self.overflows
    }
}

/// How many bytes the shortest varint of a number takes.
#[must_use]
pub fn varint_len(value: u64) -> usize {
    let mut len = 1;
    let mut rest = value >> 7;
    while rest > 0 {
        len += 1;
        rest >>= 7;
    }
    len
}

fn varint(bytes: &[u8]) -> Option<Varint> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some(Varint { value, len: index + 1, overflows: index == 9 && byte > 1 });
        }
    }
    None
}

/// The records of a message, one after the other.
///
/// `levels` is how many more levels of groups may be opened.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    levels: u32,
}

impl<'a> Records<'a> {
    /// The records of a message.
    #[must_use]
    pub const fn new(bytes: &'a [u8], levels: u32) -> Self {
        Self { bytes, at: 0, levels }
    }

    fn read(&mut self) -> Result<Record<'a>, Malformed> {
        let start = self.at;
        let (number, wire_type, mut minimal) = self.tag()?;
        let mut overflows = false;
        let mut head = self.at - start;
        let value = match wire_type {
            0 => {
                let read = self.varint()?;
                minimal &= read.minimal();
                overflows = read.overflows;
                Value::Varint(read.value)
            }
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                minimal &= length.minimal();
                overflows = length.overflows;
                head = self.at - start;
                Value::Len(self.take(usize::try_from(length.value).unwrap_or(usize::MAX))?)
            }
            3 => Value::Group(self.group(number)?),
            _ => return Err(Malformed(start)),
        };
        let raw = self.bytes.get(start..self.at).ok_or(Malformed(start))?;
        Ok(Record { number, value, raw, head, minimal, overflows })
    }

    fn tag(&mut self) -> Result<(u32, u8, bool), Malformed> {
        let start = self.at;
        let tag = self.varint()?;
        let number = u32::try_from(tag.value >> 3).map_err(|_| Malformed(start))?;
        // As in upb, a tag takes five bytes at most.
        if number == 0 || number >= 1 << 29 || tag.len > 5 {
            return Err(Malformed(start));
        }
        Ok((number, (tag.value & 7) as u8, tag.minimal()))
    }

    fn varint(&mut self) -> Result<Varint, Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let read = varint(rest).ok_or(Malformed(self.at))?;
        self.at += read.len;
        Ok(read)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(length).ok_or(Malformed(self.at))?;
        let taken = self.bytes.get(self.at..end).ok_or(Malformed(self.at))?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let start = self.at;
        self.take(N)?.try_into().map_err(|_| Malformed(start))
    }

    /// Skips to the end of a group whose start tag was read.
    fn group(&mut self, number: u32) -> Result<&'a [u8], Malformed> {
        let start = self.at;
        let mut open = vec![number];
        loop {
            let here = self.at;
            if open.len() > self.levels as usize {
                return Err(Malformed(here));
            }
            let (number, wire_type, _) = self.tag()?;
            match wire_type {
                0 => drop(self.varint()?),
                1 => drop(self.take(8)?),
                5 => drop(self.take(4)?),
                2 => {
                    let length = self.varint()?.value;
                    self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
                }
                3 => open.push(number),
                4 if open.pop() == Some(number) => {
                    if open.is_empty() {
                        return self.bytes.get(start..here).ok_or(Malformed(here));
                    }
                }
                _ => return Err(Malformed(here)),
            }
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let record = self.read();
        if record.is_err() {
            self.at = self.bytes.len();
        }
        Some(record)
    }
}

/// The numbers of a packed field of varints; each with whether it is written as short as it can be and keeps all bits.
///
/// # Errors
///
/// When the last one is cut off, or one takes more than ten bytes.
pub fn packed_varints(bytes: &[u8]) -> Result<Vec<(u64, bool, bool)>, Malformed> {
    let mut values = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let read = varint(rest).ok_or(Malformed(at))?;
        values.push((read.value, read.minimal(), read.overflows));
        at += read.len;
    }
    Ok(values)
}

/// Appends a varint, with `padding` bytes that say nothing.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64, padding: usize) {
    let padding = padding.min(10 - varint_len(value));
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 | if padding > 0 { 0x80 } else { 0 });
    for left in (0..padding).rev() {
        out.push(if left > 0 { 0x80 } else { 0 });
    }
}

/// Appends a tag.
pub fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: u8, padding: usize) {
    let tag = u64::from(number) << 3 | u64::from(wire_type);
    put_varint(out, tag, padding.min(5 - varint_len(tag).min(5)));
}

/// Appends a length-delimited field.
pub fn put_len(out: &mut Vec<u8>, number: u32, content: &[u8]) {
    put_tag(out, number, 2, 0);
    put_varint(out, content.len() as u64, 0);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padded_numbers_say_the_same() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            for padding in 0..12 {
                let mut bytes = Vec::new();
                put_tag(&mut bytes, 7, 0, padding);
                put_varint(&mut bytes, value, padding);
                let records: Vec<_> = Records::new(&bytes, 0).map(Result::unwrap).collect();
                let [record] = records.as_slice() else { panic!("{} records", records.len()) };
                assert_eq!(record.number, 7);
                assert!(matches!(record.value, Value::Varint(read) if read == value));
                assert_eq!(record.minimal, padding == 0, "{value} {padding}");
                assert_eq!(record.raw, bytes);
            }
        }
    }

    #[test]
    fn what_is_no_protobuf_is_refused() {
        for (bytes, at) in [
            (&b"\x00\x00"[..], 0),
            (b"\x08", 1),
            (b"\x0a\x05abc", 2),
            (b"\x0b", 1),
            (b"\x0b\x14", 1),
            (b"\x0c", 0),
            (b"\x0e", 0),
            (b"\x08\x01\x0d\x01", 3),
            (b"\x88\x80\x80\x80\x80\x00\x01", 0),
        ] {
            let error = Records::new(bytes, 9).find_map(Result::err);
            assert_eq!(error, Some(Malformed(at)), "{bytes:?}");
        }
    }

    #[test]
    fn groups_nest_as_deep_as_allowed() {
        let nested = [[0x0b; 3], [0x0c; 3]].concat();
        assert!(Records::new(&nested, 2).any(|record| record.is_err()));
        let record = Records::new(&nested, 3).next().unwrap().unwrap();
        assert!(matches!(record.value, Value::Group(content) if content.len() == 4));
    }
}
