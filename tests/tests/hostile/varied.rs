//! One model with everything in it, damaged in every place.

use std::collections::BTreeSet;

use bytes::Bytes;
use onnx_codec::{DecodeOptions, FileSource, decode};
use onnx_hostile::gauntlet::{STACK, on_thread};
use onnx_hostile::models::everywhere;
use onnx_hostile::tensors::{ADDRESS_MARKER, external_everywhere};
use onnx_tests::conformance::generate;
use onnx_tests::conformance::rewrite::Rewrite;
use onnx_tests::conformance::schema::{Field, FieldType, MessageId, Schema};
use onnx_tests::conformance::suites::roundtrip::{RoundTrip, Verdict};
use onnx_tests::conformance::tree::{Node, Tree};
use onnx_tests::conformance::wire::{Records, Value};

fn complete(suite: &RoundTrip) -> Vec<u8> {
    generate::complete(suite.schema(), suite.model())
}

/// Cut anywhere, a file is read or refused as other readers do, and the error is inside what is left.
#[test]
fn cut_at_every_byte() {
    let suite = RoundTrip::new().unwrap();
    let whole = Bytes::from(complete(&suite));
    // Every byte of a small model, and a thousand places of a large one.
    cut(&everywhere("name"), 1);
    cut(&whole, whole.len() / 1000 + 1);
    let step = whole.len() / 50 + 1;
    for end in (0..whole.len()).step_by(step) {
        suite.file(&whole.slice(..end), &mut Vec::new()).unwrap();
    }
}

fn cut(whole: &Bytes, step: usize) {
    let cuts = whole.clone();
    let refused = on_thread(STACK, move || {
        let mut refused = 0;
        for end in (0..cuts.len()).step_by(step) {
            if let Err(error) = decode(cuts.slice(..end), &DecodeOptions::default()) {
                refused += 1;
                if error.wire().offset() > end {
                    return Err(format!("cut at {end}: {error}"));
                }
            }
        }
        Ok(refused)
    });
    assert!(refused.unwrap() > whole.len() / step / 2);
}

/// Every string field that is not UTF-8 comes back byte for byte.
#[test]
fn no_string_needs_to_be_text() {
    let suite = RoundTrip::new().unwrap();
    let whole = complete(&suite);
    let mut places = Vec::new();
    strings(suite.schema(), suite.model(), &whole, 0, &mut places);
    let mut fields = BTreeSet::new();
    let all: Vec<u8> = places.iter().fold(whole.clone(), |mut bytes, &(_, at)| {
        bytes[at] = 0xff;
        bytes
    });
    assert_eq!(suite.file(&all.into(), &mut Vec::new()).unwrap(), Verdict::Identical);
    for (field, at) in places {
        // One place for each field of each message type.
        if fields.insert(field.clone()) {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            assert_eq!(suite.file(&bytes.into(), &mut Vec::new()).unwrap(), Verdict::Identical, "{field}");
        }
    }
    // Of a `oneof` only the first member is in the model; the others are tried by generated models.
    let mut known = fields_of(&suite, |field| field.ty == FieldType::String);
    known.retain(|field| !fields.contains(field));
    assert_eq!(
        known,
        [
            "SimpleShardedDimProto.dim_param",
            "TensorShapeProto.Dimension.dim_param",
            "TypeProto.Opaque.domain",
            "TypeProto.Opaque.name"
        ]
    );
}

/// The fields of all types of messages that a model can hold, in the order of their names.
fn fields_of(suite: &RoundTrip, select: impl Fn(&Field) -> bool) -> Vec<String> {
    let mut messages = vec![suite.model()];
    let mut fields = Vec::new();
    let mut next = 0;
    while let Some(&id) = messages.get(next) {
        next += 1;
        let message = suite.schema().message(id);
        for field in &message.fields {
            if let FieldType::Message(inner) = field.ty
                && !messages.contains(&inner)
            {
                messages.push(inner);
            }
            if select(field) {
                fields.push(format!("{}.{}", message.name, field.name));
            }
        }
    }
    fields.sort();
    fields
}

/// The offsets of the first bytes of all strings, with the names of their fields.
fn strings(
    schema: &Schema,
    message: MessageId,
    bytes: &[u8],
    base: usize,
    places: &mut Vec<(String, usize)>,
) {
    let ty = schema.message(message);
    let mut at = base;
    for record in Records::new(bytes, 100) {
        let record = record.unwrap();
        let content = at + record.head;
        at += record.raw.len();
        let (Some(field), Value::Len(inner)) = (ty.field(record.number), record.value) else { continue };
        match field.ty {
            FieldType::Message(id) => strings(schema, id, inner, content, places),
            FieldType::String if !inner.is_empty() => {
                places.push((format!("{}.{}", ty.name, field.name), content));
            }
            _ => {}
        }
    }
}

/// The same fields in every other form, among them unknown fields in every message and everything in two pieces.
#[test]
fn every_form_is_read() {
    let suite = RoundTrip::new().unwrap();
    let whole = complete(&suite);
    for rewrite in Rewrite::ALL {
        let bytes = Bytes::from(rewrite.apply(suite.schema(), suite.model(), &whole).unwrap());
        let again = bytes.clone();
        let read = move || {
            let decoded = decode(again, &DecodeOptions::default());
            decoded.map(drop).map_err(|error| error.to_string())
        };
        on_thread(STACK, read).unwrap();
        suite.file(&bytes, &mut Vec::new()).unwrap();
    }
}

/// T9: the visitor of tensors sees every tensor of a model that has one wherever one can be, as a walk by the descriptors
/// finds them, and none of them is read from the address that its location stands for.
#[test]
fn t9_no_tensor_escapes() {
    let bytes = external_everywhere();
    let suite = RoundTrip::new().unwrap();
    let tensor = suite.schema().find("TensorProto").unwrap();
    let tree = Tree::read(suite.schema(), suite.model(), &bytes).unwrap();
    let (mut count, mut kinds) = (0, BTreeSet::new());
    tensors(suite.schema(), suite.model(), &tree, tensor, &mut count, &mut kinds);
    let all = fields_of(&suite, |field| field.ty == FieldType::Message(tensor));
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
    drop(tree);
    let decoded = decode(bytes.clone(), &DecodeOptions::default()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let source = FileSource::in_directory(directory.path()).unwrap();
    let mut visited = 0;
    decoded.model.for_each_tensor(|_, tensor| {
        visited += 1;
        let error = tensor.bytes(&source).unwrap_err().to_string();
        assert!(error.contains(ADDRESS_MARKER), "{error}");
    });
    assert_eq!(visited, count);
}

fn tensors(
    schema: &Schema,
    message: MessageId,
    tree: &Tree<'_>,
    tensor: MessageId,
    count: &mut usize,
    kinds: &mut BTreeSet<String>,
) {
    let ty = schema.message(message);
    for (number, node) in &tree.fields {
        let Some(field) = ty.field(*number) else { continue };
        let (FieldType::Message(inner), Node::Messages(list)) = (&field.ty, node) else { continue };
        for child in list {
            if *inner == tensor {
                *count += 1;
                kinds.insert(format!("{}.{}", ty.name, field.name));
            }
            tensors(schema, *inner, child, tensor, count, kinds);
        }
    }
}
