//! Tensors whose parts contradict each other, at every site of a tensor.

use bytes::Bytes;
use onnx_proto::wire::Writer;

use super::Case;
use super::write::{Fields, attribute, message, model_of, model_with, node_with, opset};

const FLOAT: i32 = 1;
const INT64: i32 = 7;
const STRING: i32 = 8;

/// The marker with which one runtime passes addresses in its memory.
pub const ADDRESS_MARKER: &str = "*/_ORT_MEM_ADDR_/*";

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(dimensions());
    cases.extend(types());
    cases.extend(dual());
    cases.push(Case::read("ext-everywhere", external_everywhere()));
    cases
}

fn initializer(name: &str, tensor: impl FnOnce(&mut Writer)) -> Bytes {
    model_of(|graph| {
        graph.message(5, |writer| {
            writer.string(8, name);
            tensor(writer);
        });
    })
}

fn sized(elem: i32, dims: &[i64], raw: &[u8]) -> Bytes {
    initializer("w", |tensor| {
        dims.iter().for_each(|&dim| tensor.int64(1, dim));
        tensor.int32(2, elem);
        tensor.slice(9, raw);
    })
}

/// Raw data of every length from nothing to more than enough, for elements of every width.
fn sizes() -> Vec<Case> {
    let mut cases = Vec::new();
    // Three elements of 1/4, 1/2, 1, 2, 4, 8 and 16 bytes.
    for (elem, right) in [(25, 1), (22, 2), (2, 3), (10, 6), (FLOAT, 12), (INT64, 24), (15, 48)] {
        for length in (0..=right + 17).chain([1000]) {
            let case =
                Case::read(format!("raw {length} of type {elem}"), sized(elem, &[3], &vec![0; length]));
            cases.push(if length == right { case } else { case.check_finds("tensor-data-size") });
        }
    }
    let strings = Case::read("raw strings", sized(STRING, &[3], b"abc"));
    cases.push(strings.check_finds("tensor-data-in-wrong-field"));
    cases
}

fn dimensions() -> Vec<Case> {
    let size = "tensor-data-size";
    let mut cases = vec![
        Case::read("dim_neg", sized(FLOAT, &[-1], b"abcd")).check_finds("negative-tensor-dimension"),
        Case::read("dim_min", sized(FLOAT, &[i64::MIN, -1], b"abcd"))
            .check_finds("negative-tensor-dimension"),
        Case::read("dim_two_neg", sized(FLOAT, &[-2, -2], &[0; 16])).check_finds("negative-tensor-dimension"),
        Case::read("dim_ovf", sized(FLOAT, &[1 << 32, 1 << 32], b"abcd")).check_finds(size),
        // The product is 2^64 + 1 elements, which is 1 for those who do not look.
        Case::read("dim_ovf_to_1", sized(FLOAT, &[274_177, 67_280_421_310_721], b"abcd")).check_finds(size),
        Case::read("dim_ovf_bytes", sized(FLOAT, &[1 << 62], b"abcd")).check_finds(size),
        Case::read("dim_max", sized(2, &[i64::MAX], b"abcd")).check_finds(size),
        Case::read("dim_huge", sized(FLOAT, &[1 << 40], b"")).check_finds(size),
        Case::read("dim_ovf_to_0", sized(FLOAT, &[1 << 32, 1 << 32, 0], b"")),
        Case::read("dim_zero", sized(FLOAT, &[0], b"")),
    ];
    for rank in [1024, 1025, 1_000_000] {
        cases.push(Case::read(format!("rank{rank}"), sized(FLOAT, &vec![1; rank], &[0; 4])));
        cases.push(
            Case::read(format!("rank{rank}-twos"), sized(FLOAT, &vec![2; rank], &[0; 4])).check_finds(size),
        );
        let shape = model_of(|graph| {
            graph.message(11, |info| {
                info.string(1, "x");
                info.message(2, |ty| {
                    ty.message(1, |tensor| {
                        tensor.int32(1, FLOAT);
                        tensor.message(2, |shape| {
                            (0..rank).for_each(|_| shape.message(1, |dim| dim.int64(1, 1)))
                        });
                    });
                });
            });
        });
        cases.push(Case::read(format!("rank{rank}-type"), shape));
    }
    cases
}

fn types() -> Vec<Case> {
    let mut cases = Vec::new();
    for code in [0, 27, 28, 77, 1000, i32::MAX, -1, i32::MIN] {
        let case = Case::read(format!("dtype{code}"), sized(code, &[1], b"abcd"));
        cases.push(case);
        let ty = model_of(|graph| {
            graph.message(11, |info| {
                info.string(1, "x");
                info.message(2, |ty| ty.message(1, |tensor| tensor.int32(1, code)));
            });
        });
        let known = (0..=28).contains(&code);
        let case = Case::read(format!("dtype{code}-type"), ty);
        cases.push(if known { case } else { case.decode_finds("unknown-element-type") });
    }
    let wide = message(|model| {
        model.message(7, |graph| {
            graph.message(5, |tensor| {
                tensor.uint64(2, (1 << 32) + 1);
                tensor.string(8, "w");
            });
        });
    });
    cases.push(Case::read("dtype-wide", wide).check_finds("tensor-data-size"));
    cases
}

/// Two values where there may be one.
#[expect(clippy::too_many_lines, reason = "a list of cases: long, but nothing to follow")]
fn dual() -> Vec<Case> {
    let both = |tensor: &mut Writer| {
        tensor.int64(1, 1);
        tensor.int32(2, FLOAT);
        tensor.packed_float(4, [1.0]);
        tensor.slice(9, &[0; 4]);
    };
    let two = |attribute: &mut Writer| {
        attribute.float(2, 1.0);
        attribute.int64(3, 1);
    };
    let several_data = "tensor-with-several-data-fields";
    let several = "attribute-with-several-values";
    let in_attribute = |value: &dyn Fn(&mut Writer)| {
        model_of(|graph| {
            node_with(graph, "Constant", &[], &["y"], |node| attribute(node, "value", 4, |a| value(a)));
        })
    };
    let external_and_raw = initializer("w", |tensor| {
        tensor.int64(1, 1);
        tensor.int32(2, FLOAT);
        tensor.slice(9, &[0; 4]);
        external(tensor, "w.bin");
    });
    let in_function = |value: &dyn Fn(&mut Writer)| {
        model_with(
            |_| (),
            |model| {
                model.message(25, |function| {
                    function.string(1, "f");
                    function.message(11, |default| {
                        default.string(1, "a");
                        value(default);
                    });
                });
            },
        )
    };
    let sparse = model_of(|graph| {
        graph.message(15, |sparse| {
            sparse.message(1, |values| {
                both(values);
                values.string(8, "w");
            });
            sparse.message(2, both);
        });
    });
    let graph_and_tensor = in_attribute(&|attribute| {
        attribute.message(5, both);
        attribute.message(6, |graph| graph.string(2, "inner"));
    });
    let reference = in_attribute(&|attribute| {
        attribute.message(5, both);
        attribute.string(21, "outer");
    });
    vec![
        Case::read("dual-init", initializer("w", both)).decode_finds(several_data),
        Case::read("dual-external", external_and_raw).check_finds("data-beside-external"),
        Case::read("dual-attr", in_attribute(&two)).decode_finds(several),
        Case::read("dual-attrs", in_attribute(&|a| a.message(10, both))).decode_finds(several_data),
        Case::read("dual-attr-tensor", in_attribute(&|a| a.message(5, both))).decode_finds(several_data),
        Case::read("dual-graph", graph_and_tensor).decode_finds(several).decode_finds(several_data),
        Case::read("dual-ref", reference).decode_finds("reference-with-value"),
        Case::read("dual-fnattr", in_function(&two)).decode_finds(several),
        Case::read("dual-fnattr-tensor", in_function(&|a| a.message(5, both))).decode_finds(several_data),
        Case::read("dual-sparse", sparse).decode_finds(several_data),
    ]
}

fn external(tensor: &mut Writer, location: &str) {
    for (key, value) in [("location", location), ("offset", "94086241812480"), ("length", "4096")] {
        tensor.message(13, |entry| {
            entry.string(1, key);
            entry.string(2, value);
        });
    }
    tensor.int32(14, 1);
}

fn marked(tensor: &mut Writer) {
    tensor.int64(1, 1024);
    tensor.int32(2, FLOAT);
    external(tensor, ADDRESS_MARKER);
}

fn marked_sparse(sparse: &mut Writer) {
    sparse.message(1, marked);
    sparse.message(2, marked);
    sparse.int64(3, 1024);
}

/// Attributes with every kind of value that holds tensors, as fields of the given number.
fn marked_attributes(writer: &mut Writer, number: u32) {
    let kinds: [(&str, i32, Fields); 4] = [
        ("t", 4, |value| value.message(5, marked)),
        ("tensors", 9, |value| (0..2).for_each(|_| value.message(10, marked))),
        ("sparse_tensor", 11, |value| value.message(22, marked_sparse)),
        ("sparse_tensors", 12, |value| (0..2).for_each(|_| value.message(23, marked_sparse))),
    ];
    for (name, kind, value) in kinds {
        writer.message(number, |attribute| {
            attribute.string(1, name);
            value(attribute);
            attribute.int32(20, kind);
        });
    }
}

/// A graph with a tensor at every possible site, also in its nested graphs.
fn marked_graph(graph: &mut Writer, levels: usize) {
    graph.message(1, |node| {
        node.string(4, "Op");
        marked_attributes(node, 5);
        marked_nested(node, 5, levels);
    });
    graph.string(2, "marked");
    graph.message(5, marked);
    graph.message(15, marked_sparse);
}

/// Attributes with graphs.
fn marked_nested(writer: &mut Writer, number: u32, levels: usize) {
    let Some(levels) = levels.checked_sub(1) else { return };
    for (field, kind) in [(6, 5), (11, 10)] {
        writer.message(number, |attribute| {
            attribute.string(1, "nested");
            attribute.message(field, |graph| marked_graph(graph, levels));
            attribute.int32(20, kind);
        });
    }
}

/// External data with the marker of a memory address at every site of a tensor.
#[must_use]
pub fn external_everywhere() -> Bytes {
    message(|model| {
        model.int64(1, 10);
        model.message(7, |graph| marked_graph(graph, 2));
        opset(model, 8, "", 21);
        model.message(20, |training| {
            training.message(1, |graph| marked_graph(graph, 1));
            training.message(2, |graph| marked_graph(graph, 1));
        });
        model.message(25, |function| {
            function.string(1, "f");
            function.message(7, |node| {
                node.string(4, "Op");
                marked_attributes(node, 5);
                marked_nested(node, 5, 1);
            });
            marked_attributes(function, 11);
            marked_nested(function, 11, 1);
        });
    })
}
