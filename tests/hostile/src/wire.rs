//! Bytes that are not protobuf, or protobuf that no sane writer writes.

use super::Case;
use super::write::{attribute, header, info, inside, message, model_of, model_with, node, node_with, opset};
use crate::encoding::{put_tag, put_varint};

/// Ways into a model, by field numbers, and what errors call them.
const PLACES: [(&[u32], &str); 10] = [
    (&[], ""),
    (&[7], " in `graph`"),
    (&[7, 1], " in `graph.node[0]`"),
    (&[7, 1, 5], " in `graph.node[0].attribute[0]`"),
    (&[7, 1, 5, 5], " in `graph.node[0].attribute[0]`"),
    (&[7, 5], " in `graph.initializer[0]`"),
    (&[7, 15, 1], " in `graph.sparse_initializer.values`"),
    (&[7, 11, 2, 1], " in `graph.input[0]`"),
    (&[8], ""),
    (&[25], " in `functions[0]`"),
];

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = broken();
    cases.extend(lengths());
    cases.extend(varints());
    cases.extend(packed());
    cases.extend(twice());
    cases
}

/// Records that are not valid fields, in every kind of message.
fn broken() -> Vec<Case> {
    let records: [(&str, &[u8], &str); 9] = [
        ("wire-type-6", b"\x0e", ": a field has wire type 6, which does not exist"),
        ("wire-type-7", b"\x0f", ": a field has wire type 7, which does not exist"),
        ("group-end", b"\x0c", ": group 1 ends but was not open"),
        ("group-open", b"\xfb\x01", ": group 31 is not closed"),
        ("group-other-end", b"\xfb\x01\xf4\x01", ": group 30 ends but was not open"),
        ("field-0", b"\x00\x00", ": a field has number 0"),
        ("field-0-padded", b"\x82\x00\x00", ": a field has number 0"),
        ("field-too-large", b"\x80\x80\x80\x80\x10", ": a field number is over 536870911 or its tag"),
        ("tag-6-bytes", b"\x88\x80\x80\x80\x80\x00", ": a field number is over 536870911 or its tag"),
    ];
    let mut cases = Vec::new();
    for (name, record, error) in records {
        for (path, place) in PLACES {
            let bytes = inside(path, record);
            // Missing bytes are reported at the end, wrong bytes at their offset.
            let at = match name {
                "group-open" => bytes.len(),
                "group-other-end" => bytes.len() - 2,
                _ => bytes.len() - record.len(),
            };
            let error = format!("at byte {at}{place}{error}");
            cases.push(Case::refused(format!("{name} at {path:?}"), bytes, error));
        }
    }
    cases
}

/// Lengths that go beyond the message or the machine.
fn lengths() -> Vec<Case> {
    let mut cases = Vec::new();
    for length in [3, 1 << 20, 1 << 31, (1 << 32) + 1, (1 << 62) + 1, 1 << 63, u64::MAX - 1, u64::MAX] {
        for (path, place) in PLACES {
            // A field with two bytes of content in every kind of message, and the same for one that is not known.
            for number in [1, 2, 31] {
                let mut record = Vec::new();
                put_tag(&mut record, number, 2, 0);
                put_varint(&mut record, length, 0);
                record.extend_from_slice(b"ab");
                let bytes = inside(path, &record);
                let at = bytes.len() - 2;
                let error = format!("at byte {at}{place}: {length} bytes are needed and 2 are left");
                cases.push(Case::refused(format!("len {length} of {number} at {path:?}"), bytes, error));
            }
        }
    }
    for (path, place) in PLACES {
        let record: &[u8] = b"\x09\x01\x02";
        let bytes = inside(path, record);
        let error = format!("at byte {}{place}: 8 bytes are needed and 2 are left", bytes.len() - 2);
        cases.push(Case::refused(format!("fixed64 cut at {path:?}"), bytes, error));
    }
    cases
}

/// Varints that are too long, or longer than they need to be.
fn varints() -> Vec<Case> {
    let mut cases = Vec::new();
    for (path, place) in PLACES {
        let record: Vec<u8> = [&[0xf8, 0x01][..], &[0x80; 10], &[0x01]].concat();
        let bytes = inside(path, &record);
        let error = format!("at byte {}{place}: a varint is longer than 10 bytes", bytes.len() - 11);
        cases.push(Case::refused(format!("varint of 11 bytes at {path:?}"), bytes, error));
        let bytes = inside(path, b"\xf8\x01\x80");
        let error = format!("at byte {}{place}: 2 bytes are needed and 1 are left", bytes.len() - 1);
        cases.push(Case::refused(format!("varint cut at {path:?}"), bytes, error));
    }
    // The version of a model as 10, in ten bytes, and with bits that are lost.
    let padded = [&[0x08, 0x8a][..], &[0x80; 8], &[0x00], &inside(&[7], b"\x12\x01g")].concat();
    cases.push(Case::read("non-canonical version", padded));
    let overflowing = [&[0x08, 0x8a][..], &[0x80; 8], &[0x7e], &inside(&[7], b"\x12\x01g")].concat();
    cases.push(Case::read("overflowing version", overflowing));
    cases.push(Case::read("non-canonical tag", b"\x88\x80\x80\x80\x00\x0a\x3a\x03\x12\x01g".as_slice()));
    cases.push(Case::read("non-canonical length", b"\x08\x0a\x3a\x83\x80\x00\x12\x01g".as_slice()));
    cases
}

/// Packed and unpacked lists, each in the encoding that is not the default, mixed, and truncated.
fn packed() -> Vec<Case> {
    let tensor = |name: &str, fields: &[u8]| Case::read(name, inside(&[7, 1, 5, 5], fields));
    let ints = |name: &str, fields: &[u8]| Case::read(name, inside(&[7, 1, 5], fields));
    let refused = |name: &str, path: &[u32], fields: &[u8], back: usize, error: &str| {
        let bytes = inside(path, fields);
        let error = format!("at byte {}{error}", bytes.len() - back);
        Case::refused(name, bytes, error)
    };
    let place = " in `graph.node[0].attribute[0]`";
    vec![
        tensor("dims packed", b"\x0a\x02\x02\x03\x10\x01"),
        tensor("dims mixed", b"\x08\x02\x0a\x01\x03\x10\x01"),
        tensor("dims packed and empty", b"\x0a\x00\x10\x01"),
        tensor("floats unpacked", b"\x08\x01\x10\x01\x25\x00\x00\x80\x3f"),
        tensor("floats mixed", b"\x08\x02\x10\x01\x25\x00\x00\x80\x3f\x22\x04\x00\x00\x80\x3f"),
        tensor("int64s unpacked", b"\x08\x02\x10\x07\x38\x01\x38\x02"),
        tensor("int64s mixed", b"\x08\x03\x10\x07\x3a\x01\x01\x38\x02\x3a\x02\x80\x01"),
        tensor("int64s padded", b"\x08\x01\x10\x07\x3a\x03\x81\x80\x00"),
        ints("ints packed", b"\x0a\x01a\x42\x02\x01\x02\xa0\x01\x07"),
        ints("ints mixed", b"\x0a\x01a\x40\x01\x42\x01\x02\xa0\x01\x07"),
        ints("floats packed", b"\x0a\x01a\x3a\x04\x00\x00\x80\x3f\xa0\x01\x06"),
        refused(
            "floats of 3 bytes",
            &[7, 1, 5, 5],
            b"\x22\x03abc",
            3,
            &format!("{place}: a packed field of 4-byte"),
        ),
        refused(
            "doubles of 9 bytes",
            &[7, 1, 5, 5],
            b"\x52\x09abcdefghi",
            9,
            &format!("{place}: a packed field of 8"),
        ),
        refused("packed varint cut", &[7, 1, 5, 5], b"\x3a\x02\x01\x80", 1, place),
        refused("dims cut", &[7, 1, 5, 5], b"\x0a\x02\x01\x80", 1, place),
        refused("ints cut", &[7, 1, 5], b"\x42\x02\x01\x80", 1, place),
        refused("attribute floats of 5 bytes", &[7, 1, 5], b"\x3a\x05abcde", 5, place),
    ]
}

/// Singular fields that occur several times: the last scalar counts, messages are merged.
#[expect(clippy::too_many_lines, reason = "a list of cases: long, but nothing to follow")]
fn twice() -> Vec<Case> {
    let pieces: Vec<u8> = [
        &[0x08, 0x03][..],
        &inside(&[7], &message(|graph| graph.string(2, "first"))),
        &[0x08, 0x0a],
        &inside(&[7], &message(|graph| node(graph, "Relu", &["x"], &["y"]))),
        &inside(
            &[7],
            &message(|graph| {
                graph.string(2, "last");
                info(graph, 11, "x");
                info(graph, 12, "y");
            }),
        ),
        &message(|model| opset(model, 8, "", 21)),
    ]
    .concat();
    let split_type = model_of(|graph| {
        graph.message(11, |info| {
            info.string(1, "x");
            info.message(2, |ty| ty.message(1, |tensor| tensor.int32(1, 1)));
            info.message(2, |ty| ty.message(1, |tensor| tensor.message(2, |shape| shape.message(1, |_| ()))));
        });
    });
    let two_kinds = model_of(|graph| {
        graph.message(11, |info| {
            info.string(1, "x");
            info.message(2, |ty| ty.message(1, |tensor| tensor.int32(1, 1)));
            info.message(2, |ty| ty.message(4, |_| ()));
        });
    });
    let split_tensor = model_of(|graph| {
        node_with(graph, "Constant", &[], &["y"], |node| {
            attribute(node, "value", 4, |value| {
                value.message(5, |tensor| tensor.int64(1, 2));
                value.message(5, |tensor| tensor.int32(2, 1));
                value.message(5, |tensor| tensor.slice(9, &[0; 8]));
            });
        });
    });
    let split_graph = model_of(|graph| {
        node_with(graph, "If", &["c"], &["y"], |node| {
            attribute(node, "then_branch", 5, |value| {
                value.message(6, |graph| node_in(graph, "a"));
                value.message(6, |graph| node_in(graph, "b"));
            });
        });
    });
    let function = model_with(
        |_| (),
        |model| {
            model.message(25, |function| {
                for name in ["first", "last"] {
                    function.string(1, name);
                    function.string(10, name);
                }
            });
        },
    );
    vec![
        Case::read("graph in pieces", pieces),
        Case::read("type in pieces", split_type),
        Case::read("type of two kinds", two_kinds).decode_finds("type-with-several-kinds"),
        Case::read("tensor in pieces", split_tensor),
        Case::read("subgraph in pieces", split_graph),
        Case::read("function named twice", function),
        Case::read("wrong form of a known field", [&header(1, 1)[..], b"x"].concat())
            .decode_finds("field-of-other-type")
            .decode_finds("no-graph"),
    ]
}

fn node_in(graph: &mut onnx_proto::wire::Writer, name: &str) {
    node(graph, "Relu", &["c"], &[name]);
}
