//! Files of tiny records that become much larger in memory: the memory for each byte is bounded.

use super::Case;
use super::write::{inside, message, model_of};

/// How many bytes of tiny records each file has.
const BYTES: usize = 120_000;

/// How many bytes of memory a byte of empty tensors may cost; the limit `tensors` bounds the sum.
const TENSORS: usize = 260;

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    // What is repeated, in which message, and how many bytes one of the file may cost.
    let records: [(&str, &[u32], &[u8], usize); 27] = [
        ("empty nodes", &[7], b"\x0a\x00", 150),
        ("empty initializers", &[7], b"\x2a\x00", TENSORS),
        ("empty sparse initializers", &[7], b"\x7a\x00", TENSORS),
        ("empty inputs", &[7], b"\x5a\x00", 100),
        ("empty outputs", &[7], b"\x62\x00", 100),
        ("empty value infos", &[7], b"\x6a\x00", 100),
        ("empty annotations", &[7], b"\x72\x00", 100),
        ("empty metadata", &[7], b"\x82\x01\x00", 100),
        ("empty inputs of a node", &[7, 1], b"\x0a\x00", 32),
        ("empty outputs of a node", &[7, 1], b"\x12\x00", 32),
        ("empty attributes", &[7, 1], b"\x2a\x00", 100),
        ("empty tensors", &[7, 1, 5], b"\x52\x00", 200),
        ("empty sparse tensors", &[7, 1, 5], b"\xba\x01\x00", 200),
        ("sparse tensors of empty tensors", &[7, 1, 5], b"\xba\x01\x04\x0a\x00\x12\x00", 200),
        ("empty graphs", &[7, 1, 5], b"\x5a\x00", 280),
        ("empty types", &[7, 1, 5], b"\x7a\x00", 170),
        ("empty strings", &[7, 1, 5], b"\x4a\x00", 64),
        ("integers", &[7, 1, 5], b"\x40\x00", 32),
        ("empty dimensions", &[7, 11, 2, 1, 2], b"\x0a\x00", 64),
        ("integers of a tensor", &[7, 5], b"\x38\x00", 32),
        ("dimensions of a tensor", &[7, 5], b"\x08\x00", 32),
        ("empty external data", &[7, 5], b"\x6a\x00", 200),
        ("empty opset imports", &[], b"\x42\x00", 100),
        ("empty functions", &[], b"\xca\x01\x00", 360),
        ("empty training", &[], b"\xa2\x01\x00", 200),
        ("empty devices", &[], b"\xd2\x01\x00", 100),
        ("unknown fields", &[], b"\xf8\x01\x00", 64),
    ];
    let mut cases: Vec<Case> = records
        .into_iter()
        .map(|(name, path, record, growth)| {
            Case::read(name, inside(path, &record.repeat(BYTES / record.len()))).growth(growth)
        })
        .map(|case| if case.bytes.starts_with(b"\x3a") { case } else { case.decode_finds("no-graph") })
        .collect();
    // Limits are named by the error.
    let many = |record: &[u8], count: usize| inside(&[7], &record.repeat(count));
    cases.push(Case::refused(
        "1e7+1 nodes",
        many(b"\x0a\x00", 10_000_001),
        "10000001 exceeds the limit of 10000000: raise the limit `nodes`",
    ));
    cases.push(Case::refused("1e6+1 functions", b"\xca\x01\x00".repeat(1_000_001), "`functions`"));
    let tensors = "raise the limit `tensors`";
    cases.push(Case::refused("1e6+1 tensors", many(b"\x2a\x00", 1_000_001), tensors).growth(TENSORS));
    cases.push(Case::refused("1e6 sparse tensors", many(b"\x7a\x00", 500_001), tensors).growth(TENSORS));
    let text = "x".repeat((64 << 20) + 1);
    let long = model_of(|graph| graph.string(10, &text));
    cases.push(Case::refused("a string of 64 MiB and a byte", long, "`string_bytes`"));
    let splat = message(|model| model.message(7, |graph| graph.slice(31, &[0; BYTES])));
    cases.push(Case::read("an unknown field", splat));
    cases
}
