//! Models with parts that are missing, odd or huge, and ambiguous names.

use bytes::Bytes;

use super::Case;
use super::write::{attribute, info, message, model_of, model_with, node, node_with, opset};

/// What names may hold that a terminal must never see: escapes that recolour, move, retitle and reverse.
pub const TERMINAL: &str = "a\x1b[31m\x1b]0;title\x07\r\n\u{9b}2J\u{202e}\0\u{7f}`\"";

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = parts();
    cases.extend(opsets());
    cases.extend(same_names());
    cases.extend(odd_names());
    cases.push(findings());
    cases
}

fn parts() -> Vec<Case> {
    let named = message(|model| model.message(7, |graph| graph.string(2, "g")));
    vec![
        Case::read("empty", "").decode_finds("no-graph").check_finds("ir-version-missing"),
        Case::read("nograph", message(|model| model.int64(1, 10))).decode_finds("no-graph"),
        Case::read("empty graph", b"\x08\x0a\x3a\x00".as_slice()).check_finds("graph-name-missing"),
        Case::read("no ir_version", named).check_finds("ir-version-missing"),
        Case::read("ir_version -1", message(|model| model.int64(1, -1))).decode_finds("no-graph"),
        Case::read("ir_version max", message(|model| model.int64(1, i64::MAX))).decode_finds("no-graph"),
        Case::read(
            "all versions wrong",
            message(|model| {
                model.int64(1, i64::MIN);
                model.int64(5, i64::MIN);
                model.message(7, |_| ());
                opset(model, 8, "", i64::MIN);
            }),
        ),
        Case::refused("text", "ir_version: 10\n", "at byte"),
        Case::refused("zip", b"PK\x03\x04\x14\x00\x00\x00".as_slice(), "at byte"),
    ]
}

fn opsets() -> Vec<Case> {
    let with = |versions: &[i64]| {
        message(|model| {
            model.int64(1, 10);
            model.message(7, |graph| {
                node(graph, "Relu", &["x"], &["y"]);
                graph.string(2, "g");
                info(graph, 11, "x");
                info(graph, 12, "y");
            });
            versions.iter().for_each(|&version| opset(model, 8, "", version));
        })
    };
    let mut cases = vec![
        Case::read("no opset", with(&[])).check_finds("opset-import-missing"),
        Case::read("two opsets", with(&[1, 21])),
        Case::read("1e6 opsets", with(&vec![21; 1_000_000])),
        Case::refused("1e6+1 opsets", with(&vec![21; 1_000_001]), "`entries`"),
    ];
    for version in [0, -1, i64::MAX, i64::MIN, 1 << 32, 29] {
        cases.push(Case::read(format!("opset {version}"), with(&[version])));
    }
    let domains = message(|model| {
        model.message(7, |_| ());
        (0..20_000).for_each(|index| opset(model, 8, &format!("d{index}"), 1));
    });
    cases.push(Case::read("2e4 domains", domains));
    cases
}

/// One name for several values: what it means depends on the order of reading.
fn same_names() -> Vec<Case> {
    let scalar = |graph: &mut onnx_proto::wire::Writer, name: &str| {
        graph.message(5, |tensor| {
            tensor.int32(2, 1);
            tensor.string(8, name);
            tensor.slice(9, &[0; 4]);
        });
    };
    let twice = "value-defined-twice";
    let all = model_of(|graph| {
        node(graph, "Relu", &["a"], &["a"]);
        node(graph, "Relu", &["a"], &["a", "a"]);
        (0..2).for_each(|_| scalar(graph, "a"));
        (0..2).for_each(|_| info(graph, 11, "a"));
        (0..2).for_each(|_| info(graph, 12, "a"));
        (0..2).for_each(|_| info(graph, 13, "a"));
        graph.message(15, |sparse| sparse.message(1, |values| values.string(8, "a")));
    });
    let shadow = model_of(|graph| {
        node_with(graph, "If", &["a"], &["a"], |node| {
            attribute(node, "then_branch", 5, |value| {
                value.message(6, |inner| {
                    self::node(inner, "Relu", &["a"], &["a"]);
                    scalar(inner, "a");
                    info(inner, 11, "a");
                    info(inner, 12, "a");
                });
            });
        });
        scalar(graph, "a");
        info(graph, 11, "a");
        info(graph, 12, "a");
    });
    let later = model_of(|graph| {
        node_with(graph, "If", &["c"], &["y"], |node| {
            attribute(node, "then_branch", 5, |value| {
                value.message(6, |inner| self::node(inner, "Relu", &["late"], &["late"]));
            });
        });
        node(graph, "Relu", &["late"], &["late"]);
    });
    let cycle = model_of(|graph| {
        node(graph, "Relu", &["b"], &["a"]);
        node(graph, "Relu", &["a"], &["b"]);
        node(graph, "Relu", &["c"], &["c"]);
    });
    vec![
        Case::read("same name everywhere", all).check_finds(twice),
        Case::read("same name in an inner graph", shadow).check_finds(twice),
        Case::read("name of a later value", later),
        Case::read("cycle of values", cycle).check_finds("node-not-sorted"),
    ]
}

fn odd_names() -> Vec<Case> {
    let empty = model_of(|graph| {
        node_with(graph, "", &["", "", ""], &["", ""], |node| {
            node.string(3, "");
            node.string(7, "");
            attribute(node, "", 0, |_| ());
            attribute(node, "", 0, |_| ());
        });
        node(graph, "Relu", &[""], &[""]);
        graph.message(5, |tensor| tensor.string(8, ""));
        graph.message(5, |_| ());
        (0..2).for_each(|_| info(graph, 11, ""));
        (0..2).for_each(|_| info(graph, 12, ""));
        (0..2).for_each(|_| info(graph, 13, ""));
    });
    vec![
        Case::read("empty names", empty).check_finds("operator-missing"),
        Case::read("terminal escapes", everywhere(TERMINAL))
            .decode_finds("attribute-with-several-values")
            .check_finds("domain-not-imported"),
        Case::read("a name of 1 MB", everywhere(&TERMINAL.repeat(1 << 15)))
            .decode_finds("attribute-with-several-values")
            .check_finds("domain-not-imported"),
        Case::read("a name of 1 MB without escapes", everywhere(&"x".repeat(1 << 20)))
            .decode_finds("attribute-with-several-values"),
    ]
}

/// A model in which everything that has a name has this one, with something wrong everywhere.
#[must_use]
pub fn everywhere(name: &str) -> Bytes {
    model_with(
        |graph| {
            graph.string(2, name);
            graph.message(1, |writer| {
                (0..2).for_each(|_| writer.string(1, name));
                (0..2).for_each(|_| writer.string(2, name));
                writer.string(3, name);
                writer.string(4, name);
                for _ in 0..2 {
                    attribute(writer, name, 77, |value| {
                        value.int64(3, 1);
                        value.float(2, 1.0);
                        value.message(6, |inner| {
                            inner.string(2, name);
                            node(inner, name, &[name], &[name]);
                        });
                    });
                }
                writer.string(7, name);
                writer.string(8, name);
            });
            graph.message(5, |tensor| {
                tensor.int64(1, -1);
                tensor.int32(2, 77);
                tensor.string(8, name);
                tensor.message(13, |entry| {
                    entry.string(1, name);
                    entry.string(2, name);
                });
                tensor.int32(14, 1);
            });
            (0..2).for_each(|_| info(graph, 11, name));
            (0..2).for_each(|_| info(graph, 12, name));
            graph.string(10, name);
        },
        |model| {
            model.message(25, |function| {
                function.string(1, name);
                function.string(10, name);
                function.string(13, name);
                (0..2).for_each(|_| function.string(6, name));
                function.message(7, |node| node.string(4, name));
            });
            model.string(2, name);
        },
    )
}

/// A million defects: four for each node, in four bytes.
fn findings() -> Case {
    let bytes = model_of(|graph| {
        let node = message(|node| node.message(5, |_| ()));
        (0..250_000).for_each(|_| graph.slice(1, &node));
    });
    Case::read("1e6 findings", bytes).check_finds("operator-missing").growth(100)
}
