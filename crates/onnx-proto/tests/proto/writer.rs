//! The writer against the plainest possible encoder.

use bytes::Bytes;
use onnx_proto::wire::Writer;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Item {
    Varint(u32, u64),
    Bytes(u32, usize),
    Raw(usize),
    Message(u32, Vec<Item>),
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![1_u32..20, 1_u32..=(1 << 29) - 1]
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![0_usize..300, 4000_usize..4200, Just(20_000)]
}

fn item() -> impl Strategy<Value = Item> {
    let leaf = prop_oneof![
        (number(), prop_oneof![0_u64..300, any::<u64>()])
            .prop_map(|(number, value)| Item::Varint(number, value)),
        (number(), length()).prop_map(|(number, length)| Item::Bytes(number, length)),
        length().prop_map(Item::Raw),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        (number(), proptest::collection::vec(inner, 0..6))
            .prop_map(|(number, items)| Item::Message(number, items))
    })
}

fn payload(length: usize) -> Bytes {
    (0..length).map(|index| index as u8).collect()
}

fn write(writer: &mut Writer, items: &[Item]) {
    for item in items {
        match item {
            Item::Varint(number, value) => writer.uint64(*number, *value),
            Item::Bytes(number, length) => writer.bytes(*number, &payload(*length)),
            Item::Raw(length) => writer.raw(&payload(*length)),
            Item::Message(number, items) => writer.message(*number, |writer| write(writer, items)),
        }
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn plain(items: &[Item]) -> Vec<u8> {
    let field = |number: u32, content: &[u8]| {
        [&varint(u64::from(number) << 3 | 2), &varint(content.len() as u64), content].concat()
    };
    let bytes = |item: &Item| match item {
        Item::Varint(number, value) => [varint(u64::from(*number) << 3), varint(*value)].concat(),
        Item::Bytes(number, length) => field(*number, &payload(*length)),
        Item::Raw(length) => payload(*length).to_vec(),
        Item::Message(number, items) => field(*number, &plain(items)),
    };
    items.iter().flat_map(bytes).collect()
}

proptest! {
    #[test]
    fn same_bytes_as_the_plain_encoder(items in proptest::collection::vec(item(), 0..6)) {
        let mut writer = Writer::new();
        write(&mut writer, &items);
        let segments = writer.finish();
        let expected = plain(&items);
        prop_assert_eq!(segments.len(), expected.len() as u64);
        prop_assert!(segments.iter().all(|segment| !segment.is_empty()));
        prop_assert!(segments.to_vec() == expected && segments.into_bytes() == expected);
    }
}

#[test]
fn large_payloads_are_shared() {
    let weights = payload(1 << 20);
    let mut writer = Writer::with_capacity(64);
    writer.message(7, |graph| graph.message(5, |tensor| tensor.bytes(9, &weights)));
    let segments = writer.finish();
    assert_eq!(segments.iter().filter(|segment| segment.as_ptr() == weights.as_ptr()).count(), 1);
    assert_eq!(segments.iter().map(Bytes::len).sum::<usize>(), (1 << 20) + 12);
}

#[test]
fn deep_nesting_is_linear() {
    // Every level is longer than what is moved, so a writer that moved content would need terabytes of traffic.
    let mut writer = Writer::new();
    let marks: Vec<_> = (0..1_000_000).map(|_| writer.begin(1)).collect();
    marks.into_iter().rev().for_each(|mark| writer.end(mark));
    assert!(writer.finish().len() > 4_000_000);
}

#[test]
fn packed_fields_are_those_of_prost() {
    use onnx_proto::messages::TensorProto;
    use prost::Message;
    let tensor = TensorProto {
        float_data: vec![1.5, -0.0, f32::INFINITY],
        double_data: vec![2.5, f64::MIN],
        int32_data: vec![-1, 0, 300],
        int64_data: vec![i64::MIN, 7],
        uint64_data: (0..5000).collect(),
        ..Default::default()
    };
    let mut writer = Writer::new();
    writer.packed_float(4, tensor.float_data.iter().copied());
    writer.packed_int32(5, tensor.int32_data.iter().copied());
    writer.packed_int64(7, tensor.int64_data.iter().copied());
    writer.packed_double(10, tensor.double_data.iter().copied());
    writer.packed_uint64(11, tensor.uint64_data.iter().copied());
    assert_eq!(writer.finish().to_vec(), tensor.encode_to_vec());
}
