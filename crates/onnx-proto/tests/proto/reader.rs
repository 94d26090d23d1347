//! What the reader accepts, what it refuses, and where it says the fault is.

use bytes::Bytes;
use onnx_proto::wire::{Input, Payload, Reader, Value, WireError, WireErrorKind as Kind, WireLimits};
use proptest::prelude::*;

/// The fields of the bytes in a short notation, or the fault and its offset.
fn fields(bytes: &[u8]) -> Result<String, (Kind, usize)> {
    let input = Input::new(Bytes::copy_from_slice(bytes), WireLimits::default());
    let text = input.and_then(|input| describe(&mut input.reader()));
    text.map_err(|error| (error.kind(), error.offset()))
}

fn describe(reader: &mut Reader<'_>) -> Result<String, WireError> {
    let mut text = String::new();
    while let Some(field) = reader.next_field()? {
        assert_eq!(field.end, reader.offset());
        assert_eq!(reader.raw_record(&field), reader.input().bytes()[field.range()]);
        text += &format!("{}@{}=", field.number, field.start);
        text += &match field.value {
            Value::Varint(value) => format!("{value} "),
            Value::Fixed64(value) => format!("{value:#x}L "),
            Value::Fixed32(value) => format!("{value:#x} "),
            Value::Len(payload) => format!("{:?} ", owned(reader, payload)),
            Value::Group(payload) => format!("group {:?} ", owned(reader, payload)),
        };
    }
    Ok(text.trim_end().into())
}

/// The payload as owned bytes, which must be those at its offsets.
fn owned<'a>(reader: &Reader<'a>, payload: Payload<'a>) -> Bytes {
    assert_eq!(payload.as_slice(), &reader.input().bytes()[payload.offset()..payload.end()]);
    let owned = reader.share(payload);
    assert_eq!(owned.as_ptr(), payload.as_slice().as_ptr(), "nothing is copied");
    owned
}

#[test]
fn accepted() {
    let check = |bytes: &[u8], expected: &str| assert_eq!(fields(bytes).unwrap(), expected, "{bytes:x?}");
    check(b"", "");
    check(b"\x08\x96\x01", "1@0=150");
    check(b"\x08\x01\x10\x02", "1@0=1 2@2=2");
    check(b"\x09\x01\0\0\0\0\0\0\x80", "1@0=0x8000000000000001L");
    check(b"\x0d\x01\0\0\x80", "1@0=0x80000001");
    check(b"\x0a\x02hi\x0a\0", "1@0=b\"hi\" 1@4=b\"\"");
    check(b"\x0b\x10\x05\x0c", "1@0=group b\"\\x10\\x05\"");
    check(b"\x0b\x0b\x0c\x13\x14\x0c\x08\x01", "1@0=group b\"\\x0b\\x0c\\x13\\x14\" 1@6=1");
    check(b"\xf8\xff\xff\xff\x0f\x01", "536870911@0=1");
    check(b"\x88\x80\x80\x80\x00\x01", "1@0=1");
    check(b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "1@0=9223372036854775808");
    check(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "1@0=18446744073709551615");
}

#[test]
fn refused() {
    let check =
        |bytes: &[u8], expected: (Kind, usize)| assert_eq!(fields(bytes), Err(expected), "{bytes:x?}");
    let truncated = |needed, left, offset| (Kind::Truncated { needed, left }, offset);
    check(b"\x08", truncated(1, 0, 1));
    check(b"\x08\x80", truncated(2, 1, 1));
    check(b"\x80", truncated(2, 1, 0));
    check(b"\x0d\x01\x02", truncated(4, 2, 1));
    check(b"\x09\x01\x02", truncated(8, 2, 1));
    check(b"\x0a\x03hi", truncated(3, 2, 2));
    check(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", truncated(u64::MAX, 0, 11));
    check(b"\x00\x01", (Kind::FieldNumberZero, 0));
    check(b"\x08\x01\x82\x00\x00", (Kind::FieldNumberZero, 2));
    check(b"\x0e", (Kind::WireType(6), 0));
    check(b"\x0f", (Kind::WireType(7), 0));
    check(b"\x0c", (Kind::UnmatchedEndGroup { number: 1 }, 0));
    check(b"\x0b\x14", (Kind::UnmatchedEndGroup { number: 2 }, 1));
    check(b"\x0b\x13\x0c", (Kind::UnmatchedEndGroup { number: 1 }, 2));
    check(b"\x0b\x13\x14", (Kind::GroupNotClosed { number: 1 }, 3));
    check(b"\x0b\x0e", (Kind::WireType(6), 1));
    check(b"\xf8\xff\xff\xff\x1f\x01", (Kind::TagTooLarge, 0));
    check(b"\x88\x80\x80\x80\x80\x00\x01", (Kind::TagTooLarge, 0));
    check(b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", (Kind::VarintTooLong, 1));
}

#[test]
fn cut_off_anywhere_but_between_fields() {
    let whole = b"\x08\x96\x01\x0a\x02hi\x0d\x01\0\0\x80\x0b\x0b\x12\x01a\x0c\x0c\x09\x01\0\0\0\0\0\0\x80";
    let ends = [0, 3, 7, 12, 19, 28];
    assert_eq!(whole.len(), 28);
    for length in 0..=whole.len() {
        assert_eq!(fields(&whole[..length]).is_ok(), ends.contains(&length), "{length}");
    }
}

#[test]
fn million_groups_on_a_small_stack() {
    let bomb: Bytes = [[0x0b; 1_000_000], [0x0c; 1_000_000]].concat().into();
    let read =
        move |limits| Input::new(bomb.clone(), limits)?.reader().next_field().map(|field| field.is_some());
    let run = move || {
        let refused = read(WireLimits::default()).unwrap_err();
        assert_eq!(refused.kind(), Kind::Limit { name: "message_depth", limit: 100, wanted: 101 });
        assert_eq!(refused.offset(), 101);
        assert!(read(WireLimits { message_depth: u32::MAX, ..WireLimits::default() }).unwrap());
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(run).unwrap().join().unwrap();
}

/// Enters messages for as long as the first field is one, and says how deep that was.
fn nesting(bytes: Bytes) -> Result<u32, WireError> {
    let input = Input::new(bytes, WireLimits::default())?;
    let (mut reader, mut depth) = (input.reader(), 0);
    while let Some(field) = reader.next_field()? {
        let Value::Len(payload) = field.value else { break };
        reader = reader.message(payload)?;
        depth += 1;
    }
    Ok(depth)
}

#[test]
fn nesting_ends_where_other_readers_stop() {
    use onnx_proto::messages::{ModelProto, SequenceProto};
    use prost::Message;
    let nested = |depth| {
        let nest = |inner, _| SequenceProto { sequence_values: vec![inner], ..Default::default() };
        Bytes::from((0..depth).fold(SequenceProto::default(), nest).encode_to_vec())
    };
    assert_eq!(nesting(nested(100)).unwrap(), 100);
    assert!(SequenceProto::decode(nested(100)).is_ok());
    assert_eq!(
        nesting(nested(101)).unwrap_err().kind(),
        Kind::Limit { name: "message_depth", limit: 100, wanted: 101 }
    );
    assert!(SequenceProto::decode(nested(101)).is_err());
    // Groups count as messages do.
    let groups = |depth: usize| {
        Bytes::from(
            [vec![0xa3, 0x06], vec![0x0b; depth - 1], vec![0x0c; depth - 1], vec![0xa4, 0x06]].concat(),
        )
    };
    assert!(nesting(groups(100)).is_ok() && nesting(groups(101)).is_err());
    assert!(ModelProto::decode(groups(100)).is_ok() && ModelProto::decode(groups(101)).is_err());
}

#[test]
fn faults_say_where_and_what_to_do() {
    let limits = WireLimits { string_bytes: 4, input_bytes: 8, ..WireLimits::default() };
    let input = Input::new(Bytes::from_static(b"\x0a\x06ab\xffcde"), limits).unwrap();
    let Some(Value::Len(payload)) = input.reader().next_field().unwrap().map(|field| field.value) else {
        panic!("a field");
    };
    let error = input.reader().string(payload).unwrap_err().in_item("node", 12).in_field("graph");
    assert_eq!(
        error.to_string(),
        "at byte 2 in `graph.node[12]`: 6 exceeds the limit of 4: raise the limit `string_bytes` to accept it"
    );
    assert_eq!(size_of_val(&error), size_of::<usize>());
    let input = Input::new(input.bytes().clone(), WireLimits::default()).unwrap();
    let error = input.reader().string(payload).map(str::len).unwrap_err();
    assert_eq!(error.to_string(), "at byte 4: a string is not UTF-8");
    assert!(Input::new(Bytes::from_static(&[0; 9]), limits).is_err());
}

#[test]
fn longer_numbers_than_needed_are_noted() {
    let count = |bytes: &[u8]| {
        let input = Input::new(Bytes::copy_from_slice(bytes), WireLimits::default()).unwrap();
        let mut reader = input.reader();
        while let Some(field) = reader.next_field().unwrap() {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => drop(reader.int32(value)),
                (2, Value::Len(payload)) => drop(reader.packed_varints(payload).int32().count()),
                _ => {}
            }
        }
        input.non_minimal()
    };
    assert_eq!(count(b"\x18\x96\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02\x80\x01"), 0);
    assert_eq!(count(b"\x18\x96\x81\x00"), 1, "value");
    assert_eq!(count(b"\x98\x00\x01"), 1, "tag");
    assert_eq!(count(b"\x1a\x80\x00"), 1, "length");
    assert_eq!(count(b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03"), 1, "lost bits");
    assert_eq!(count(b"\x08\xff\xff\xff\xff\x0f"), 1, "int32 in 32 bits");
    assert_eq!(count(b"\x12\x02\x81\x00"), 1, "packed");
}

#[test]
fn packed_elements() {
    let input = Input::new(
        Bytes::from_static(b"\x0a\x08\x01\x96\x01\x80\x80\x80\x80\x10\x0a\x02\x05\x80"),
        WireLimits::default(),
    )
    .unwrap();
    let mut reader = input.reader();
    let mut payloads = Vec::new();
    while let Some(field) = reader.next_field().unwrap() {
        let Value::Len(payload) = field.value else { panic!("a packed field") };
        payloads.push(payload);
    }
    let [good, cut] = payloads[..] else { panic!("two fields") };
    assert_eq!(reader.packed_varints(good).count_elements(), 3);
    assert_eq!(reader.packed_varints(good).collect::<Result<Vec<_>, _>>().unwrap(), [1, 150, 1 << 32]);
    assert_eq!(reader.packed_varints(good).int32().collect::<Result<Vec<_>, _>>().unwrap(), [1, 150, 0]);
    let mut elements = reader.packed_varints(cut);
    assert_eq!(elements.next().unwrap().unwrap(), 5);
    let error = elements.next().unwrap().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (Kind::Truncated { needed: 2, left: 1 }, cut.offset() + 1));
    assert!(elements.next().is_none());
    assert_eq!(reader.packed_fixed64(good).unwrap().collect::<Vec<_>>(), [0x1080_8080_8001_9601]);
    assert_eq!(reader.packed_fixed32(good).unwrap().floats().len(), 2);
    assert_eq!(reader.packed_fixed32(cut).unwrap_err().kind(), Kind::PackedLength { length: 2, width: 4 });
}

proptest! {
    #[test]
    fn any_bytes_are_fields_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        // `fields` asserts the offsets of fields; that of an error is inside the input.
        if let Err((_, offset)) = fields(&bytes) {
            prop_assert!(offset <= bytes.len());
        }
    }
}
