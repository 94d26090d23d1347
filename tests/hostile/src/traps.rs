//! Files that take quadratic time if a reader looks something up by a linear search.
//!
//! A linear reader takes a fraction of a second for these cases, and a quadratic one minutes.

use onnx_proto::wire::Writer;

use super::Case;
use super::write::{attribute, info, inside, message, model_of, model_with, node, node_with, opset};
use crate::encoding::put_tag;

/// Number of repeated elements; fewer in unoptimized builds, to finish in seconds.
const COUNT: usize = if cfg!(debug_assertions) { 20_000 } else { 100_000 };

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    [names(), references(), scopes(), pieces()]
        .into_iter()
        .flatten()
        .map(|case| Case { growth: case.growth.max(200), ..case })
        .collect()
}

fn repeat(mut write: impl FnMut(usize)) {
    (0..COUNT).for_each(&mut write);
}

/// Many entities with the same name.
#[expect(clippy::too_many_lines, reason = "a list of cases: long, but nothing to follow")]
fn names() -> Vec<Case> {
    let twice = "value-defined-twice";
    vec![
        Case::read("node outputs of one name", model_of(|g| repeat(|_| node(g, "Relu", &["a"], &["a"]))))
            .check_finds(twice),
        Case::read("nodes of one name", model_of(|g| repeat(|_| g.message(1, |n| n.string(3, "a"))))),
        Case::read("initializers of one name", model_of(|g| repeat(|_| g.message(5, |t| t.string(8, "a")))))
            .check_finds(twice),
        Case::read("inputs of one name", model_of(|g| repeat(|_| info(g, 11, "a")))).check_finds(twice),
        Case::read(
            "one node with outputs of one name",
            model_of(|g| {
                node_with(g, "Op", &[], &[], |n| repeat(|_| n.string(2, "a")));
            }),
        ),
        Case::read(
            "one node with inputs of one name",
            model_of(|g| {
                node_with(g, "Op", &[], &[], |n| repeat(|_| n.string(1, "a")));
            }),
        ),
        Case::read(
            "attributes of one name",
            model_of(|g| {
                node_with(g, "Relu", &["a"], &["b"], |n| repeat(|_| attribute(n, "a", 2, |a| a.int64(3, 1))));
            }),
        ),
        Case::read(
            "attributes of many names",
            model_of(|g| {
                node_with(g, "Relu", &["a"], &["b"], |n| {
                    repeat(|index| attribute(n, &format!("a{index}"), 2, |a| a.int64(3, 1)));
                });
            }),
        ),
        Case::read(
            "functions of one name",
            model_with(
                |_| (),
                |m| {
                    repeat(|_| m.message(25, |f| f.string(1, "f")));
                },
            ),
        )
        .growth(300),
        Case::read(
            "metadata of one key",
            model_with(
                |_| (),
                |m| {
                    repeat(|_| m.message(14, |entry| entry.string(1, "k")));
                },
            ),
        ),
        Case::read(
            "attribute names of a function",
            model_with(
                |_| (),
                |m| {
                    m.message(25, |f| repeat(|index| f.string(6, &format!("a{index}"))));
                },
            ),
        ),
        Case::read(
            "near misses of a name",
            model_of(|g| {
                repeat(|index| node(g, "Relu", &[&format!("missing{index}")], &[&format!("missed{index}")]));
            }),
        )
        .check_finds("value-never-defined"),
        Case::read(
            "unknown operators",
            model_of(|g| {
                repeat(|index| node(g, &format!("Rel{index}"), &[], &[&format!("y{index}")]));
            }),
        )
        .check_finds("unknown-operator"),
    ]
}

/// Many references to one entity, or to many entities in a list.
#[expect(clippy::too_many_lines, reason = "a list of cases: long, but nothing to follow")]
fn references() -> Vec<Case> {
    let bindings = |key: &dyn Fn(usize) -> String| {
        model_with(
            |_| (),
            |model| {
                model.message(20, |training| {
                    training.message(1, |g| repeat(|index| info(g, 12, &format!("o{index}"))));
                    training.message(2, |g| repeat(|index| info(g, 12, &format!("a{index}"))));
                    for number in [3, 4] {
                        repeat(|index| {
                            training.message(number, |binding| {
                                binding.string(1, &key(index));
                                binding.string(2, &key(index));
                            });
                        });
                    }
                });
            },
        )
    };
    let annotation = |g: &mut Writer, name: &str| {
        g.message(14, |annotation| {
            annotation.string(1, name);
            annotation.message(2, |entry| {
                entry.string(1, "SCALE_TENSOR");
                entry.string(2, name);
            });
        });
    };
    vec![
        Case::read(
            "outputs of one value",
            model_of(|g| {
                node(g, "Relu", &["x"], &["y"]);
                info(g, 11, "x");
                repeat(|_| info(g, 12, "y"));
            }),
        ),
        Case::read("value infos of one value", model_of(|g| repeat(|_| info(g, 13, "y")))),
        Case::read(
            "different value infos of one value",
            model_of(|g| {
                repeat(|index| {
                    g.message(13, |info| {
                        info.string(1, "y");
                        info.string(3, &index.to_string());
                    });
                });
            }),
        ),
        Case::read(
            "uses of one value",
            model_of(|g| {
                info(g, 11, "x");
                repeat(|index| node(g, "Relu", &["x"], &[&format!("y{index}")]));
            }),
        ),
        Case::read(
            "nodes in reverse",
            model_of(|g| {
                repeat(|index| node(g, "Relu", &[&format!("v{}", index + 1)], &[&format!("v{index}")]));
            }),
        )
        .check_finds("node-not-sorted"),
        Case::read("annotations of one value", model_of(|g| repeat(|_| annotation(g, "y")))),
        Case::read(
            "annotations of many values",
            model_of(|g| {
                repeat(|index| annotation(g, &format!("v{index}")));
            }),
        ),
        Case::read("bindings of many values", bindings(&|index| format!("o{}", COUNT - 1 - index))),
        Case::read("bindings of nothing", bindings(&|index| format!("missing{index}"))),
        Case::read(
            "imports and functions",
            model_with(
                |_| (),
                |m| {
                    (0..1000).for_each(|index| opset(m, 8, &format!("d{index}"), 1));
                    repeat(|index| m.message(25, |f| f.string(1, &format!("f{index}"))));
                },
            ),
        )
        .growth(300),
    ]
}

/// Names that hide each other in graphs in graphs.
fn scopes() -> Vec<Case> {
    let chain = |levels: usize, each: &dyn Fn(usize, &mut Writer)| {
        let mut graph = message(|g| each(levels, g));
        for level in (0..levels).rev() {
            graph = message(|outer| {
                each(level, outer);
                node_with(outer, "If", &["c"], &[], |n| {
                    attribute(n, "then_branch", 5, |a| a.slice(6, &graph))
                });
            });
        }
        inside(&[7], &graph)
    };
    let per_level = COUNT / 30;
    let many = |write: &mut dyn FnMut(usize)| (0..per_level).for_each(write);
    let attribute_graphs = model_of(|g| {
        node_with(g, "Op", &[], &[], |n| {
            attribute(n, "bodies", 10, |a| {
                repeat(|index| a.message(11, |g| node(g, "Relu", &[&format!("u{index}")], &["hidden"])));
            });
        });
    });
    vec![
        Case::read(
            "hiding on 30 levels",
            chain(30, &|_, g| {
                many(&mut |index| node(g, "Relu", &["x"], &[&format!("v{index}")]));
            }),
        ),
        Case::read(
            "used on 30 levels, defined on none",
            chain(30, &|_, g| {
                many(&mut |index| node(g, "Relu", &[&format!("v{index}")], &[]));
            }),
        ),
        Case::read(
            "used on the innermost of 30 levels",
            chain(30, &|level, g| {
                if level == 30 {
                    repeat(|index| node(g, "Relu", &[&format!("v{index}")], &[]));
                }
            }),
        ),
        Case::read(
            "used inside, defined after",
            chain(30, &|level, g| {
                many(&mut |index| node(g, "Relu", &[&format!("v{}-{index}", level.saturating_sub(1))], &[]));
                many(&mut |index| node(g, "Relu", &[], &[&format!("v{level}-{index}")]));
            }),
        ),
        Case::read("many graphs of one attribute", attribute_graphs).growth(300),
    ]
}

/// One message with many occurrences, and many unknown fields.
fn pieces() -> Vec<Case> {
    let unknown = |path: &[u32]| {
        let mut fields = Vec::new();
        repeat(|index| {
            put_tag(&mut fields, 1000 + index as u32, 0, 0);
            fields.push(0);
        });
        inside(path, &fields)
    };
    let in_pieces = |path: &[u32], piece: &[u8]| inside(path, &piece.repeat(COUNT));
    vec![
        Case::read("graph in pieces", in_pieces(&[], b"\x3a\x03\x12\x01g")),
        Case::read("graph in pieces with nodes", in_pieces(&[], b"\x3a\x02\x0a\x00")),
        Case::read("segment in pieces", in_pieces(&[7, 5], b"\x1a\x02\x08\x01")),
        Case::read("type in pieces", in_pieces(&[7, 11], b"\x12\x04\x0a\x02\x08\x01")),
        Case::read("sequence in pieces", in_pieces(&[7, 11, 2], b"\x22\x06\x0a\x04\x0a\x02\x08\x01")),
        Case::read("shape in pieces", in_pieces(&[7, 11, 2, 1], b"\x12\x02\x0a\x00")),
        Case::read("tensor in pieces", in_pieces(&[7, 1, 5], b"\x2a\x02\x08\x01")),
        Case::read("raw data in pieces", in_pieces(&[7, 5], b"\x4a\x01x")),
        Case::read("floats in pieces", in_pieces(&[7, 5], b"\x22\x04\x00\x00\x00\x00")),
        Case::read("strings and floats in turn", in_pieces(&[7, 5], b"\x32\x01x\x22\x04\x00\x00\x00\x00"))
            .decode_finds("tensor-with-several-data-fields"),
        Case::read("sparse tensor in pieces", in_pieces(&[7, 15], b"\x0a\x02\x08\x01")),
        Case::read("values of attributes in turn", in_pieces(&[7, 1, 5], b"\x18\x01\x15\x00\x00\x00\x00"))
            .decode_finds("attribute-with-several-values"),
        Case::read("subgraph in pieces", in_pieces(&[7, 1, 5], b"\x32\x03\x12\x01g")),
        Case::read("denotations", in_pieces(&[7, 11, 2, 1, 2], b"\x0a\x03\x1a\x01x")),
        Case::read("unknown fields of a model", unknown(&[])).decode_finds("no-graph"),
        Case::read("unknown fields of a graph", unknown(&[7])),
        Case::read("unknown fields of a node", unknown(&[7, 1])),
        Case::read("unknown fields of an attribute", unknown(&[7, 1, 5])),
        Case::read("unknown fields of a tensor", unknown(&[7, 5])),
        Case::read("unknown fields of a type", unknown(&[7, 11, 2])),
        Case::read("unknown fields of a function", unknown(&[25])).decode_finds("no-graph"),
    ]
}
