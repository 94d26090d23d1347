//! Common subexpressions far apart.

use onnx_pass::passes::unique_subexpressions;
use onnx_pass::{Exactness, Level};

use crate::{check, refuses, value};

#[test]
fn equal_nodes_far_apart_are_merged_by_congruence() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x, float[N] w) => (float[N] y) {
            a = Mul (x, w)
            b = Exp (a)
            c = Relu (b)
            d = Mul (x, w)
            e = Exp (d)
            y = Sub (c, e)
        }"#,
        unique_subexpressions,
        &["a = Mul (x, w)", "b = Exp (a)", "c = Relu (b)", "y = Sub (c, b)"],
        &["proved by congruence", "proved by congruence"],
    );
}

#[test]
fn equal_outputs_become_copies_of_the_first() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y0, float[N] y1, float[N] y2, float[N] y3) {
            y0 = Relu (x)
            y1 = Relu (x)
            y2 = Relu (x)
            y3 = Relu (x)
        }"#,
        unique_subexpressions,
        &["y0 = Relu (x)", "y1 = Identity (y0)", "y2 = Identity (y0)", "y3 = Identity (y0)"],
        &["proved by congruence", "proved by congruence", "proved by congruence"],
    );
}

/// Copies of one value that are outputs stay as they are: one instead of another would save nothing.
#[test]
fn equal_outputs_take_one_edit_each() {
    for (count, op) in [(100, "Relu"), (100, "Identity")] {
        let list = |item: &dyn Fn(usize) -> String, by| (0..count).map(item).collect::<Vec<_>>().join(by);
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x) => ({}) {{ t = Exp (x) {} }}"#,
            list(&|index| format!("float[N] y{index}"), ", "),
            list(&|index| format!("y{index} = {op} (t)"), " "),
        );
        let mut model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
        let pipeline =
            onnx_pass::Pipeline::named(&["unique-subexpressions"], onnx_schema::Registry::STANDARD);
        let done = pipeline.unwrap().repeated().unwrap().run(&mut model, &onnx_pass::PassOptions::default());
        let expected = if op == "Relu" { count - 1 } else { 0 };
        assert_eq!((done.edits(), done.journal.len(), done.ended), (expected, expected, None));
        // Every output is made from one value, so nothing is a chain.
        let first = model.graph(model.main_graph()).outputs()[0].value();
        let source = if op == "Relu" { first } else { model.input_of(first) };
        for output in &model.graph(model.main_graph()).outputs()[1..] {
            assert_eq!(model.input_of(output.value()), source);
        }
    }
}

trait InputOf {
    /// The first operand of the node that makes a value.
    fn input_of(&self, value: onnx_ir::ValueId) -> onnx_ir::ValueId;
}

impl InputOf for onnx_ir::Model {
    fn input_of(&self, value: onnx_ir::ValueId) -> onnx_ir::ValueId {
        self.node(self.value(value).producer().unwrap()).input(0).unwrap()
    }
}

#[test]
fn equal_constants_are_merged() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) <float[2] w1 = {1, 2}, float[2] w2 = {1, 2}, float[2] w3 = {1, 3}> {
            c1 = Constant <value = float[1] {2.5}> ()
            a = Mul (x, c1)
            c2 = Constant <value = float[1] {2.5}> ()
            b = Mul (x, c2)
            d = Add (a, w1)
            e = Add (b, w2)
            f = Add (b, w3)
            g = Sub (d, e)
            y = Sub (g, f)
        }"#,
        unique_subexpressions,
        &[
            "c1 = Constant <value = float[1] {2.5}> ()",
            "a = Mul (x, c1)",
            "d = Add (a, w1)",
            "f = Add (a, w3)",
            "g = Sub (d, d)",
            "y = Sub (g, f)",
        ],
        &["proved by congruence", "proved by congruence", "proved by congruence"],
    );
}

#[test]
fn constants_that_differ_are_not_merged() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) {
            a = Constant <value = float[1] {2.5}> ()
            b = Constant <value = float[1] {2.25}> ()
            c = Mul (x, a)
            y = Mul (c, b)
        }"#;
    refuses(
        text,
        Exactness::Exact,
        |patch| {
            let (a, b) = (value(patch.model(), "a"), value(patch.model(), "b"));
            patch.replace(b, a);
        },
        Level::Values,
        &["the results differ", "b[0] is 2.25 before and 2.5 after"],
    );
}

#[test]
fn a_node_in_a_branch_uses_the_equal_node_around_it() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (bool c, float[N] x) => (float[N] y) <float[N] a> {
            a = Exp (x)
            b = If (c) <
                then_branch = t () => (float[N] p) { p1 = Exp (x) p = Neg (p1) },
                else_branch = e () => (float[N] q) { q = Exp (x) }
            >
            y = Add (a, b)
        }"#,
        unique_subexpressions,
        &[
            "a = Exp (x)",
            "b = If (c) <",
            "then_branch = t () => (float[N] p) {",
            "p = Neg (a)",
            "},",
            "else_branch = e () => (float[N] val_0) {",
            "val_0 = Identity (a)",
            ">",
            "y = Add (a, b)",
        ],
        &["proved by congruence", "proved by congruence"],
    );
}

#[test]
fn random_nodes_stay() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) {
            a = RandomNormalLike (x)
            b = RandomNormalLike (x)
            y = Sub (a, b)
        }"#;
    check(
        text,
        unique_subexpressions,
        &["a = RandomNormalLike (x)", "b = RandomNormalLike (x)", "y = Sub (a, b)"],
        &[],
    );
    refuses(
        text,
        Exactness::Exact,
        |patch| {
            let (a, b) = (value(patch.model(), "a"), value(patch.model(), "b"));
            patch.replace(b, a);
        },
        Level::Structure,
        &["it replaces the result of a node that is not known to be deterministic"],
    );
}

#[test]
fn merging_without_comparing_attributes_is_refuted() {
    refuses(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) {
            a = LeakyRelu <alpha = 0.5> (x)
            b = LeakyRelu <alpha = 0.25> (x)
            y = Sub (a, b)
        }"#,
        Exactness::Exact,
        |patch| {
            let [x, a, b] = ["x", "a", "b"].map(|name| value(patch.model(), name));
            patch.tap(x);
            patch.replace(b, a);
        },
        Level::Values,
        &["the results differ", "x = float[2] {0.375, -4.0}", "b[1] is -1.0 before and -2.0 after"],
    );
}
