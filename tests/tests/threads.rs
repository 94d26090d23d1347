//! Large graphs, which two threads may read and check, with everything that makes one wait for the other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, decode};
use onnx_diag::Caps;
use onnx_ir::Model;
use onnx_tests::properties::threads::{files, texts};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::Symbol;

/// A field that holds bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(content);
    out
}

/// `count` nodes of a graph, every one with an input, a name, an output and an operator, and each 17th with something rarer.
fn nodes(count: usize, seed: usize, rare: fn(usize) -> Vec<u8>) -> Vec<u8> {
    let mut graph = Vec::new();
    for index in 0..count {
        let mut node = field(1, format!("x{}", index.saturating_sub(seed % 5)).as_bytes());
        node.extend(field(2, format!("x{}", index + 1).as_bytes()));
        node.extend(field(3, format!("node {index}").as_bytes()));
        node.extend(field(4, [&b"Relu"[..], b"Frobnicate"][index % 2]));
        if (index + seed).is_multiple_of(17) {
            node.extend(rare(index / 17));
        }
        graph.extend(field(1, &node));
    }
    graph
}

/// A model with this graph.
fn model(mut graph: Vec<u8>) -> Bytes {
    graph.extend(field(2, b"g"));
    let mut model = vec![8, 10];
    model.extend(field(7, &graph));
    model.extend(field(8, &[&field(1, b"")[..], &[16, 20]].concat()));
    model.into()
}

/// An attribute that holds a graph of one node, which uses names of the graph around it.
fn nested(index: usize) -> Vec<u8> {
    let graph = [nodes(1, index, |_| Vec::new()), field(2, format!("inner {index}").as_bytes())].concat();
    field(5, &[field(1, b"body"), field(6, &graph), vec![0xa0, 1, 5]].concat())
}

/// Something rare of every kind.
fn mixed(index: usize) -> Vec<u8> {
    match index % 9 {
        0 => field(5, &[field(1, format!("unknown {index}").as_bytes()), vec![24, 1, 0xa0, 1, 2]].concat()),
        1 => field(5, &[field(1, b"unknown"), vec![24, 1, 0xa0, 1, 2]].concat()),
        2 => field(9, &[field(1, format!("key {}", index % 40).as_bytes()), field(2, b"value")].concat()),
        3 => field(6, "ein Käse".as_bytes()),
        4 => field(7, b"some.domain"),
        5 => field(13, b"not known"),
        6 => vec![0x1a, 0x81, 0, b'n'],
        7 if index.is_multiple_of(4) => field(6, b"no \xff text"),
        8 if index.is_multiple_of(5) => nested(index),
        _ => field(5, &[field(1, b"axis"), vec![24, 3, 0xa0, 1, 2]].concat()),
    }
}

#[test]
fn a_large_file_is_read_alike() {
    for (seed, rare) in [mixed, nested, |_| Vec::new()].into_iter().enumerate() {
        let bytes = model(nodes(9000, seed, rare));
        files(&bytes).unwrap();
        let model = decode(bytes, &DecodeOptions::default()).unwrap().model;
        assert_eq!(model.graph(model.main_graph()).node_count(), 9000);
    }
}

#[test]
fn a_damaged_large_file_is_read_alike() {
    let bytes = model(nodes(5000, 3, mixed));
    for step in 1..40 {
        files(&bytes.slice(..bytes.len() * step / 40)).unwrap();
        let mut changed = bytes.to_vec();
        let place = changed.len() * step / 40;
        changed[place] ^= 1 << (step % 8);
        files(&changed.into()).unwrap();
    }
}

#[test]
fn a_large_graph_is_checked_alike() {
    for (seed, rare) in [mixed, nested, |_| Vec::new()].into_iter().enumerate() {
        let mut model = decode(model(nodes(9000, seed, rare)), &DecodeOptions::default()).unwrap().model;
        // Without the operator that does not exist, nothing is to be said of most nodes.
        let (relu, nodes) = (model.intern("Relu"), model.nodes(model.main_graph()).collect::<Vec<_>>());
        nodes.iter().for_each(|&node| model.set_op(node, Symbol::EMPTY, relu, Symbol::EMPTY));
        let checked = |model: &Model, two_threads_from| {
            let found =
                check(model, &CheckOptions { two_threads_from, caps: Caps::NONE, ..CheckOptions::default() });
            found.into_diagnostics().iter().map(|one| format!("{} {}", one.locus, one.message)).collect()
        };
        let found: Vec<String> = checked(&model, usize::MAX);
        assert_eq!(checked(&model, 1), found);
        // The same name for the results of two nodes, each in another half.
        let (first, last) = (nodes[10], nodes[8990]);
        let name = model.value(model.node(first).outputs()[0].unwrap()).name();
        let value = model.node(last).outputs()[0].unwrap();
        model.set_value_name(value, name);
        model.set_name_as_read(value);
        let found_now: Vec<String> = checked(&model, usize::MAX);
        assert!(found_now.iter().any(|one| !found.contains(one)), "the name is defined twice");
        assert_eq!(checked(&model, 1), found_now);
    }
}

#[test]
fn a_large_text_is_read_alike() {
    let options = DecodeOptions::default();
    for (seed, rare) in [mixed, nested, |_| Vec::new()].into_iter().enumerate() {
        let model = decode(model(nodes(9000, seed, rare)), &options).unwrap().model;
        let text = print_model(&model, &PrintOptions::full()).unwrap().text;
        assert!(text.len() > ParseOptions::LARGE, "two threads are worth it");
        texts(text.as_bytes()).unwrap();
        let parsed = parse_model(&text, &ParseOptions::default()).unwrap();
        assert_eq!(parsed.node_count(), model.node_count());
        for step in 1..20 {
            texts(&text.as_bytes()[..text.len() * step / 20]).unwrap();
        }
    }
}
