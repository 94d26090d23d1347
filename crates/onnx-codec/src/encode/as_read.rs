//! Nodes that nobody touched since they were read: their bytes are taken over.
//!
//! A model keeps the bytes of its main graph until a node is edited ([`onnx_ir::Model::graph_as_read`]). Where these
//! bytes are just what writing the nodes would give, they are shared, not written again. They are when every message in
//! them is canonical: its fields in the order of their numbers, no singular field twice, no number longer than it must
//! be, no field that is unknown. To check that takes a third of the time of writing; anything rare, such as a nested
//! graph or a sparse tensor, is left to the general way, too.

use bytes::Bytes;

/// The records of the nodes in the bytes of a graph, if there are `count` of them and writing them gives the same bytes.
pub(super) fn nodes(graph: &Bytes, count: usize) -> Option<Bytes> {
    let mut rest: &[u8] = graph;
    let mut seen = 0_usize;
    while let Some((&NODE, after)) = rest.split_first() {
        rest = after;
        canonical(&TABLES.node, payload(&mut rest)?)?;
        seen = seen.saturating_add(1);
    }
    // Nodes behind other fields of the graph are missing.
    let end = graph.len().checked_sub(rest.len())?;
    (seen == count).then(|| graph.slice(..end))
}

/// The tag of a node in a graph.
const NODE: u8 = 1 << 3 | LEN;

/// The wire types.
const VARINT: u8 = 0;
const LEN: u8 = 2;
const FIXED32: u8 = 5;

/// What a field holds, and how often a message may have it. 0 stands for fields that are not taken over.
type Form = u8;

/// Text, or bytes of any kind. Entries of metadata are among them, as they are always written as they were read.
const BYTES: Form = 1;
/// An `AttributeProto` or a `TensorProto`.
const ATTRIBUTE: Form = 2;
const TENSOR: Form = 3;
/// A number of 64 bits.
const NUMBER: Form = 4;
/// A number of one byte: an enumeration.
const SMALL: Form = 5;
/// Four bytes.
const FOUR: Form = 6;
/// Packed numbers, at least one: of four or eight bytes, of 64 or 32 bits.
const PACKED4: Form = 7;
const PACKED8: Form = 8;
const PACKED_NUMBERS: Form = 9;
const PACKED_INT32S: Form = 10;
/// May stand several times.
const MANY: Form = 0x40;
/// Is one of those of which a message has only one: the value of an attribute, the elements of a tensor.
const VALUE: Form = 0x80;

/// The forms of a message's fields by their tags. All tags are below 256.
type Table = [Form; 256];

/// The messages that may be taken over. A node holds attributes, which hold tensors; no message holds one of its own
/// kind, so nothing that a file says makes the check go deeper.
struct Tables {
    node: Table,
    attribute: Table,
    tensor: Table,
}

static TABLES: Tables = Tables {
    node: table(&[
        (1, LEN, BYTES | MANY),
        (2, LEN, BYTES | MANY),
        (3, LEN, BYTES),
        (4, LEN, BYTES),
        (5, LEN, ATTRIBUTE | MANY),
        (6, LEN, BYTES),
        (7, LEN, BYTES),
        (8, LEN, BYTES),
        (9, LEN, BYTES | MANY),
    ]),
    attribute: table(&[
        (1, LEN, BYTES),
        (2, FIXED32, FOUR | VALUE),
        (3, VARINT, NUMBER | VALUE),
        (4, LEN, BYTES | VALUE),
        (5, LEN, TENSOR | VALUE),
        (7, FIXED32, FOUR | MANY | VALUE),
        (8, VARINT, NUMBER | MANY | VALUE),
        (9, LEN, BYTES | MANY | VALUE),
        (10, LEN, TENSOR | MANY | VALUE),
        (13, LEN, BYTES),
        (20, VARINT, SMALL),
    ]),
    tensor: table(&[
        (1, VARINT, NUMBER | MANY),
        (2, VARINT, SMALL),
        (4, LEN, PACKED4 | VALUE),
        (5, LEN, PACKED_INT32S | VALUE),
        (6, LEN, BYTES | MANY | VALUE),
        (7, LEN, PACKED_NUMBERS | VALUE),
        (8, LEN, BYTES),
        (9, LEN, BYTES | VALUE),
        (10, LEN, PACKED8 | VALUE),
        (11, LEN, PACKED_NUMBERS | VALUE),
        (12, LEN, BYTES),
        (16, LEN, BYTES | MANY),
    ]),
};

/// The table of a message with these fields: number, wire type and form.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
const fn table(fields: &[(u8, u8, Form)]) -> Table {
    let mut table = [0; 256];
    let mut rest = fields;
    while let [(number, wire, form), later @ ..] = rest {
        table[(*number << 3 | *wire) as usize] = *form;
        rest = later;
    }
    table
}

/// Whether a message is written again as it stands here.
fn canonical(table: &'static Table, mut rest: &[u8]) -> Option<()> {
    // No field has the tag 0.
    let (mut last, mut value) = (0, 0);
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let tag = if first < 0x80 { first } else { second_half(first, &mut rest)? };
        let form = *table.get(usize::from(tag))?;
        if tag <= last && !(tag == last && form & MANY != 0) {
            return None;
        }
        last = tag;
        if form & VALUE != 0 {
            if value != 0 && value != tag {
                return None;
            }
            value = tag;
        }
        match form & !(MANY | VALUE) {
            BYTES => drop(payload(&mut rest)?),
            ATTRIBUTE => canonical(&TABLES.attribute, payload(&mut rest)?)?,
            TENSOR => canonical(&TABLES.tensor, payload(&mut rest)?)?,
            NUMBER => drop(varint(&mut rest)?),
            SMALL => rest.split_off_first().filter(|&&byte| byte < 0x80).map(drop)?,
            FOUR => rest.split_off(..4).map(drop)?,
            form => packed(form, payload(&mut rest)?)?,
        }
    }
    Some(())
}

/// A tag of two bytes.
#[inline]
fn second_half(first: u8, rest: &mut &[u8]) -> Option<u8> {
    // The bit that says that a byte follows is the one that the second byte adds.
    (*rest.split_off_first()? == 1).then_some(first)
}

/// Whether packed numbers are as they are written: there are some, in their fewest bytes.
fn packed(form: Form, mut rest: &[u8]) -> Option<()> {
    let is_whole = match form {
        PACKED4 => rest.len().is_multiple_of(4),
        PACKED8 => rest.len().is_multiple_of(8),
        PACKED_NUMBERS | PACKED_INT32S => true,
        _ => false,
    };
    if rest.is_empty() || !is_whole {
        return None;
    }
    while matches!(form, PACKED_NUMBERS | PACKED_INT32S) && !rest.is_empty() {
        let number = varint(&mut rest)?.cast_signed();
        if form == PACKED_INT32S && i32::try_from(number).is_err() {
            return None;
        }
    }
    Some(())
}

/// The payload behind its length.
#[inline(always)]
fn payload<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint(rest)?).ok()?;
    rest.split_off(..length)
}

/// A number in the fewest bytes that can hold it.
#[inline(always)]
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    if first < 0x80 {
        *rest = after;
        return Some(first.into());
    }
    long_varint(rest)
}

#[inline(never)]
fn long_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    // A number has at most ten bytes, and the last of ten has room for one bit.
    for shift in (0_u32..64).step_by(7) {
        let byte = *rest.split_off_first()?;
        if shift == 63 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            // The last byte of several is 0 only where there is one too many.
            return (byte != 0).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::nodes;

    /// A record with a tag and a payload of less than 128 bytes.
    fn record(tag: u8, payload: &[u8]) -> Vec<u8> {
        [&[tag, payload.len() as u8], payload].concat()
    }

    /// A graph of one node with this attribute, and a name behind it.
    fn graph(attribute: &[u8]) -> Bytes {
        let node = [record(0x0a, b"x"), record(0x12, b"y"), record(0x22, b"Relu"), record(0x2a, attribute)];
        [record(0x0a, &node.concat()), record(0x12, b"g")].concat().into()
    }

    fn is_taken_over(attribute: &[u8]) -> bool {
        let graph = graph(attribute);
        let taken = nodes(&graph, 1);
        assert!(taken.as_ref().is_none_or(|nodes| *nodes == graph[..graph.len() - 3]));
        taken.is_some()
    }

    #[test]
    fn what_would_be_written_is_taken_over() {
        assert!(is_taken_over(b"\x0a\x01a\x18\x05\xa0\x01\x02"), "an integer");
        assert!(is_taken_over(b"\x0a\x01a\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x02"), "-1");
        assert!(is_taken_over(b"\x0a\x01a\x15\0\0\x80\x3f\xa0\x01\x01"), "a float");
        assert!(is_taken_over(b"\x0a\x01a\x40\x01\x40\x80\x02\xa0\x01\x07"), "integers");
        assert!(
            is_taken_over(b"\x0a\x01a\x2a\x0a\x08\x02\x10\x07\x3a\x04\x01\xac\x02\0\xa0\x01\x04"),
            "a tensor"
        );
    }

    #[test]
    fn what_would_be_written_otherwise_is_not() {
        assert!(!is_taken_over(b"\x18\x05\x0a\x01a\xa0\x01\x02"), "fields in another order");
        assert!(!is_taken_over(b"\x0a\x01a\x0a\x01a\x18\x05"), "a singular field twice");
        assert!(!is_taken_over(b"\x0a\x01a\x18\x85\x00\xa0\x01\x02"), "a number that is too long");
        assert!(!is_taken_over(b"\x0a\x81\x00a\x18\x05\xa0\x01\x02"), "a length that is too long");
        assert!(!is_taken_over(b"\x0a\x01a\x18\x05\xa0\x81\x00\x02"), "a tag that is too long");
        assert!(
            !is_taken_over(b"\x0a\x01a\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
            "a number of 65 bits"
        );
        assert!(!is_taken_over(b"\x0a\x01a\x15\0\0\x80\x3f\x18\x05\xa0\x01\x01"), "two values");
        assert!(!is_taken_over(b"\x0a\x01a\x42\x02\x01\x02\xa0\x01\x07"), "packed attributes");
        assert!(!is_taken_over(b"\x0a\x01a\x32\x00\xa0\x01\x05"), "a nested graph");
        assert!(!is_taken_over(b"\x0a\x01a\x18\x05\xa0\x01\x02\xf2\x07\x00"), "an unknown field");
        assert!(!is_taken_over(b"\x0a\x01a\x2a\x06\x08\x01\x28\x01\x10\x06"), "an unpacked tensor");
        assert!(
            !is_taken_over(b"\x0a\x01a\x2a\x0b\x2a\x05\xff\xff\xff\xff\x0f"),
            "an integer beyond 32 bits"
        );
        assert!(!is_taken_over(b"\x0a\x01a\x2a\x02\x2a\x00"), "an empty packed field");
        assert!(!is_taken_over(b"\x0a\x01a\x18"), "a field without its end");
    }

    #[test]
    fn nodes_behind_other_fields_are_missed() {
        let whole = graph(b"\x0a\x01a\x18\x05");
        let apart: Bytes = [&whole[..], &record(0x0a, b"")].concat().into();
        assert!(nodes(&apart, 2).is_none());
        assert!(nodes(&whole, 1).is_some());
        assert_eq!(nodes(&Bytes::from_static(b"\x12\x01g"), 0), Some(Bytes::new()));
    }
}
