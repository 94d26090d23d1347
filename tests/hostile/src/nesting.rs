//! Messages in messages.

use super::Case;
use super::write::{Nest, inside, message, node, opset};
use crate::encoding::put_tag;

const TOO_DEEP: &str = ": 101 exceeds the limit of 100: raise";

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    // A level is a graph, a node and an attribute.
    let mut cases = vec![Case::read("nest30", graphs(30)), Case::read("both-branches", branches(12))];
    for levels in [40, 200, 20_000] {
        // A graph, a node and an attribute on 33 levels, and one more node is one too many.
        let place = "attribute[0].node[0].attribute[0].node[0]`";
        cases.push(Case::refused(format!("nest{levels}"), graphs(levels), format!("{place}{TOO_DEEP}")));
    }
    cases.push(Case::read("sequence45", types(45, 4)));
    cases.push(Case::read("optional45", types(45, 9)));
    cases.push(Case::read("map45", maps(45)));
    for levels in [60, 20_000] {
        let place = format!(" in `graph.input[0]`{TOO_DEEP}");
        cases.push(Case::refused(format!("sequence{levels}"), types(levels, 4), &*place));
        cases.push(Case::refused(format!("optional{levels}"), types(levels, 9), &*place));
        cases.push(Case::refused(format!("map{levels}"), maps(levels), &*place));
    }
    for levels in [50, 100] {
        let case = Case::read(format!("group{levels}"), groups(levels, true));
        cases.push(case.decode_finds("no-graph"));
    }
    for levels in [101, 1_000_000] {
        let at = format!("at byte 202{TOO_DEEP}");
        cases.push(Case::refused(format!("group{levels}"), groups(levels, true), &*at));
        cases.push(Case::refused(format!("group{levels}-open"), groups(levels, false), &*at));
    }
    cases
}

/// `If` in `If`, with nothing in the other branches.
fn graphs(levels: usize) -> Vec<u8> {
    let leaf = message(|graph| {
        graph.string(2, "leaf");
        node(graph, "Identity", &["c"], &["leaf"]);
    });
    let node_head = message(|node| {
        node.string(1, "c");
        node.string(4, "If");
    });
    let (name, kind) = (message(|attribute| attribute.string(1, "then_branch")), message(|a| a.int32(20, 5)));
    let mut nest = Nest::new(leaf.to_vec());
    for _ in 0..levels {
        nest.wrap(&name, 6, &kind);
        nest.wrap(&node_head, 5, b"");
        nest.wrap(b"", 1, b"");
    }
    main_graph(nest)
}

/// A full binary tree of `If`s: as many graphs as its bytes have room for, each to be visited once.
fn branches(levels: usize) -> Vec<u8> {
    let mut graph = message(|graph| graph.string(2, "leaf")).to_vec();
    for _ in 0..levels {
        graph = message(|outer| {
            outer.message(1, |node| {
                node.string(1, "c");
                node.string(4, "If");
                for name in ["then_branch", "else_branch"] {
                    node.message(5, |attribute| {
                        attribute.string(1, name);
                        attribute.slice(6, &graph);
                        attribute.int32(20, 5);
                    });
                }
            });
        })
        .to_vec();
    }
    main_graph(Nest::new(graph))
}

/// A sequence (4) or optional (9) of the same, in the type of an input.
fn types(levels: usize, kind: u32) -> Vec<u8> {
    let mut nest = Nest::new(inside(&[1], b"\x08\x01"));
    for _ in 0..levels {
        nest.wrap(b"", 1, b"");
        nest.wrap(b"", kind, b"");
    }
    input(nest)
}

/// A map of maps.
fn maps(levels: usize) -> Vec<u8> {
    let mut nest = Nest::new(inside(&[1], b"\x08\x01"));
    for _ in 0..levels {
        nest.wrap(b"\x08\x07", 2, b"");
        nest.wrap(b"", 5, b"");
    }
    input(nest)
}

fn input(mut ty: Nest) -> Vec<u8> {
    ty.wrap(b"\x0a\x01x", 2, b"");
    ty.wrap(b"", 11, b"");
    main_graph(ty)
}

fn main_graph(mut nest: Nest) -> Vec<u8> {
    nest.wrap(b"\x08\x0a", 7, &message(|model| opset(model, 8, "", 21)));
    nest.finish()
}

/// Unknown groups in groups, which ONNX does not have at all.
fn groups(levels: usize, closed: bool) -> Vec<u8> {
    let mut out = Vec::new();
    // A number that no field of a model has, so that the group is unknown, with a tag of two bytes.
    (0..levels).for_each(|_| put_tag(&mut out, 31, 3, 0));
    (0..levels).filter(|_| closed).for_each(|_| put_tag(&mut out, 31, 4, 0));
    out
}
