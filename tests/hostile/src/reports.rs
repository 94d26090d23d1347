//! Files in which nothing is known, so that the report of inference is long: chains, shapes of many axes, and both.

use onnx_proto::wire::Writer;

use super::Case;
use super::write::{info, model_of, node};

/// How long the chains are; shorter where code is not optimized.
const COUNT: usize = if cfg!(debug_assertions) { 5_000 } else { 20_000 };

/// The greatest rank that inference takes from a declaration of these cases.
const RANK: usize = 1024;

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    [wide(), chains(), texts()]
        .into_iter()
        .flatten()
        .map(|case| Case { growth: case.growth.max(200), ..case })
        .collect()
}

/// An input of floats with this many axes of unknown size.
fn unnamed_axes(graph: &mut Writer, name: &str, rank: usize) {
    graph.message(11, |info| {
        info.string(1, name);
        info.message(2, |ty| {
            ty.message(1, |tensor| {
                tensor.int32(1, 1);
                tensor.message(2, |shape| (0..rank).for_each(|_| shape.message(1, |_| ())));
            });
        });
    });
}

/// A chain of nodes of one operator after the value `y0`.
fn chain(graph: &mut Writer, op: &str, length: usize) {
    for index in 0..length {
        node(graph, op, &[&format!("y{index}")], &[&format!("y{}", index + 1)]);
    }
}

/// Shapes of 1024 axes.
fn wide() -> Vec<Case> {
    let of_axes = |name: &str, op: &'static str, length: usize| {
        let bytes = model_of(|g| {
            chain(g, op, length);
            unnamed_axes(g, "y0", RANK);
        });
        Case::read(name, bytes)
    };
    vec![
        of_axes("rep1024_100", "Abs", 100),
        of_axes("rep1024_2000", "Abs", 2000),
        // Every second shape is new, so nothing can be shared: 1024 axes for the 31 bytes of a node.
        of_axes("rep1024_transposed", "Transpose", 300).growth(2000).steps(3000),
        // Each axis is lost at a separate input.
        Case::read(
            "1024 origins",
            model_of(|g| {
                let names: Vec<String> = (0..RANK).map(|axis| format!("d{axis}")).collect();
                for (axis, name) in names.iter().enumerate() {
                    let input = format!("i{axis}");
                    unnamed_axes(g, &input, 1);
                    node(g, "Shape", &[&input], &[name]);
                }
                g.message(1, |n| {
                    names.iter().for_each(|name| n.string(1, name));
                    n.string(2, "shape");
                    n.string(4, "Concat");
                    super::write::attribute(n, "axis", 2, |a| a.int64(3, 0));
                });
                node(g, "Expand", &["one", "shape"], &["y0"]);
                info(g, 11, "one");
                chain(g, "Abs", 200);
            }),
        ),
    ]
}

/// Values without a type.
fn chains() -> Vec<Case> {
    let many = |kind: &'static str| (0..COUNT).map(move |index| format!("{kind}{index}"));
    vec![
        Case::read(
            "unk20000",
            model_of(|g| {
                node(g, "Strange", &["x"], &["y0"]);
                chain(g, "Relu", COUNT);
                info(g, 11, "x");
            }),
        )
        .check_finds("unknown-operator"),
        Case::read(
            "cyc20000",
            model_of(|g| {
                chain(g, "Relu", COUNT - 1);
                node(g, "Relu", &[&format!("y{}", COUNT - 1)], &["y0"]);
            }),
        ),
        Case::read("ei200000", model_of(|g| (0..10 * COUNT).for_each(|_| g.message(5, |_| ())))).growth(400),
        Case::read(
            "diamonds",
            model_of(|g| {
                node(g, "Strange", &["x"], &["y0"]);
                for index in 0..COUNT {
                    let (above, below) = (format!("y{index}"), format!("y{}", index + 1));
                    node(g, "Relu", &[&above], &[&format!("l{index}")]);
                    node(g, "Abs", &[&above], &[&format!("r{index}")]);
                    node(g, "Add", &[&format!("l{index}"), &format!("r{index}")], &[&below]);
                }
                info(g, 11, "x");
            }),
        )
        .check_finds("unknown-operator"),
        Case::read(
            "one unknown node of many inputs and outputs",
            model_of(|g| {
                many("i").for_each(|name| info(g, 11, &name));
                g.message(1, |n| {
                    many("i").for_each(|name| n.string(1, &name));
                    many("o").for_each(|name| n.string(2, &name));
                    n.string(4, "Strange");
                });
                many("o").for_each(|name| node(g, "Relu", &[&name], &[&format!("r{name}")]));
            }),
        )
        .check_finds("unknown-operator"),
        Case::read(
            "values of one name without a type",
            model_of(|g| (0..COUNT).for_each(|_| node(g, "Strange", &["a"], &["a"]))),
        )
        .check_finds("value-defined-twice"),
    ]
}

/// Nested graphs, loops and functions.
fn texts() -> Vec<Case> {
    let head = "<ir_version: 10, opset_import: [\"\": 18, \"f\": 1]>";
    let signature = "g (float[?, ?, 4] x, bool c, int64 n) => (z)";
    let mut nested = "z = Strange (x)".to_owned();
    for _ in 0..12 {
        nested = format!(
            "z = If (c) <then_branch = t () => (z) {{ {nested} w = Relu (z) }}, else_branch = e () => (v) {{ v = Neg (x) }}>"
        );
    }
    let growing = "z = Loop (n, c, x) <body = b (i, k, a) => (k, s) { s = Concat <axis = 0> (a, a) }>";
    let scanned = "z, all = Loop (n, c, x) <body = b (i, k, a) => (k, a, u) { u = NonZero (a) }>";
    let chain: String = (0..200).map(|index| format!("y{} = f.a (y{index}) ", index + 1)).collect();
    let functions = format!(
        "{head}\n{signature} {{ y0 = NonZero (x) {chain} z = Relu (y200) }}\n\
         <domain: \"f\", opset_import: [\"\": 18]> a (p) => (q) {{ q = Abs (p) }}"
    );
    let mut cases: Vec<Case> =
        [("nested graphs", nested.as_str()), ("a growing loop", growing), ("a scanned loop", scanned)]
            .map(|(name, nodes)| Case::text(name, format!("{head}\n{signature} {{ {nodes} }}"), &[]))
            .into();
    cases.push(Case::text("functions", functions, &[]));
    cases
}
