//! Functions that would be expanded without end, or nearly so. To read and check a file expands nothing.

use onnx_proto::wire::Writer;

use super::Case;
use super::write::{Fields, attribute, model_with, node_with, opset};

/// How deep the towers of doubling functions are.
pub const DEPTHS: std::ops::RangeInclusive<usize> = 10..=63;

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> =
        DEPTHS.map(|depth| Case::read(format!("fn{depth}"), doubling(depth)).growth(GROWTH)).collect();
    let cycles: [(&str, Fields); 7] = [
        ("self", |model| function(model, "f", "", |body| call(body, "f", ""))),
        ("mutual", |model| {
            function(model, "f", "", |body| call(body, "h", ""));
            function(model, "h", "", |body| call(body, "f", ""));
        }),
        ("chain", |model| {
            for index in 0..100 {
                let next = format!("f{}", (index + 1) % 100);
                function(model, &format!("f{index}"), "", |body| call(body, &next, ""));
            }
        }),
        ("if", |model| function(model, "f", "", |body| nested(body, "If", "then_branch", "f"))),
        ("loop", |model| function(model, "f", "", |body| nested(body, "Loop", "body", "f"))),
        ("overload", |model| {
            function(model, "f", "", |body| call(body, "f", "a"));
            function(model, "f", "a", |body| call(body, "f", ""));
        }),
        ("default", |model| {
            function(model, "f", "", |function| {
                function.message(11, |default| {
                    default.string(1, "body");
                    default.message(6, |graph| graph.message(1, |node| call_fields(node, "f", "")));
                    default.int32(20, 5);
                });
            });
        }),
    ];
    for (name, functions) in cycles {
        let bytes = model_with(main_graph("f"), functions);
        cases.push(Case::read(format!("fncycle-{name}"), bytes).growth(GROWTH));
    }
    cases.push(Case::read("fn-same-identity", same_identity(1000)).growth(GROWTH));
    cases
}

/// A function takes some fifty bytes and some hundred of them for each node, value and name.
const GROWTH: usize = 100;

/// Functions of which each calls the one before it twice: 2^depth calls when expanded.
#[must_use]
pub fn doubling(depth: usize) -> Vec<u8> {
    let top = format!("f{depth}");
    model_with(main_graph(&top), |model| {
        for index in 0..=depth {
            function(model, &format!("f{index}"), "", |body| {
                let Some(below) = index.checked_sub(1).map(|below| format!("f{below}")) else { return };
                call(body, &below, "");
                call(body, &below, "");
            });
        }
    })
    .to_vec()
}

/// Many functions of one identity, each called by the others' name.
fn same_identity(count: usize) -> Vec<u8> {
    let functions =
        |model: &mut Writer| (0..count).for_each(|_| function(model, "f", "", |body| call(body, "f", "")));
    model_with(main_graph("f"), functions).to_vec()
}

fn main_graph(callee: &str) -> impl FnOnce(&mut Writer) {
    let callee = callee.to_owned();
    move |graph| graph.message(1, |node| call_fields(node, &callee, ""))
}

fn function(model: &mut Writer, name: &str, overload: &str, body: impl FnOnce(&mut Writer)) {
    model.message(25, |function| {
        function.string(1, name);
        function.string(4, "x");
        function.string(5, "y");
        body(function);
        opset(function, 9, "", 21);
        opset(function, 9, "d", 1);
        function.string(10, "d");
        if !overload.is_empty() {
            function.string(13, overload);
        }
    });
}

/// A call in the body of a function.
fn call(function: &mut Writer, callee: &str, overload: &str) {
    function.message(7, |node| call_fields(node, callee, overload));
}

fn call_fields(node: &mut Writer, callee: &str, overload: &str) {
    node.string(1, "x");
    node.string(2, "y");
    node.string(4, callee);
    node.string(7, "d");
    if !overload.is_empty() {
        node.string(8, overload);
    }
}

/// A call in a graph of a node of the body.
fn nested(function: &mut Writer, op: &str, name: &str, callee: &str) {
    function.message(7, |node| {
        node.string(1, "x");
        node.string(2, "y");
        node.string(4, op);
        attribute(node, name, 5, |attribute| {
            attribute.message(6, |graph| {
                node_with(graph, "Identity", &["x"], &["inner"], |_| ());
                graph.message(1, |node| call_fields(node, callee, ""));
            });
        });
    });
}
