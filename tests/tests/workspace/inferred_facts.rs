//! Facts that inference concludes about dimensions, in addition to the shapes.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, Inference, Relation, Strength, Violation, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Dim;

fn inferred(text: &str) -> (Model, Inference) {
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let inference = infer(&model, &InferOptions::default());
    (model, inference)
}

/// A model that adds the first `S` of `rows` rows to a sequence of length `S`.
fn table_of(rows: i64) -> String {
    format!(
        r#"<ir_version: 10, opset_import: ["": 18]>
        g (float[B, S, 8] x, float[{rows}, 8] table) => (y)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}> {{
           shape = Shape (x)
           length = Slice (shape, one, two)
           cut = Slice (table, zero, length, zero)
           y = Add (x, cut)
        }}"#
    )
}

#[test]
fn a_size_that_broadcasts_with_its_own_minimum_is_at_most_the_rest() {
    for (rows, bounds) in [(512, true), (2, true), (1, false)] {
        let (mut model, inference) = inferred(&table_of(rows));
        let length = Dim::Var(model.names_mut().intern("S"));
        let relation = Relation::AtMost(length, Dim::Known(rows));
        let fact = inference.facts().all().iter().find(|fact| fact.relation == relation);
        assert_eq!(fact.is_some(), bounds, "{rows} rows");
        if let Some(fact) = fact {
            let op = model.node(fact.node.unwrap()).op();
            assert_eq!((model.str(op), fact.strength), ("Add", Strength::Proved));
            assert_eq!(inference.facts().le(inference.exprs(), length, Dim::Known(rows)), Some(true));
        }
    }
}

/// A reshape to sizes that the model computes from the shape of its input, in every order, with -1 at every place.
fn reshape_to(order: [usize; 4], rest: usize, allowzero: i64) -> String {
    let names = ["s", "a", "b", "c"];
    let mut parts: Vec<&str> = order.iter().map(|&at| names[at]).collect();
    parts[rest] = "open";
    format!(
        r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[S, 3, 2, 2] x) => (y)
        <int64[1] open = {{-1}}, int64[1] i0 = {{0}}, int64[1] i1 = {{1}}, int64[1] i2 = {{2}}, int64[1] i3 = {{3}}> {{
           shape = Shape (x)
           s = Gather (shape, i0)
           a = Gather (shape, i1)
           b = Gather (shape, i2)
           c = Gather (shape, i3)
           q = Concat <axis = 0> ({})
           y = Reshape <allowzero = {allowzero}> (x, q)
        }}"#,
        parts.join(", ")
    )
}

/// Whether the node of [`reshape_to`] has a valid run, by the text of the operator.
fn reshapes(order: [usize; 4], rest: usize, allowzero: i64, size: i64) -> bool {
    let input = [size, 3, 2, 2];
    let wanted = order.map(|at| input[at]);
    let copied = |at: usize| if wanted[at] == 0 && allowzero == 0 { input[at] } else { wanted[at] };
    let others: i64 = (0..4).filter(|&at| at != rest).map(copied).product();
    others != 0 && input.iter().product::<i64>() % others == 0
}

#[test]
fn a_size_of_0_that_copies_another_proves_nothing() {
    let orders =
        [[3, 0, 2, 0], [1, 0, 2, 3], [0, 1, 2, 3], [3, 1, 2, 0], [2, 3, 0, 1], [0, 0, 1, 2], [2, 0, 0, 3]];
    let mut valid_at_0 = 0;
    for order in orders {
        for (rest, allowzero) in (0..4).flat_map(|rest| [(rest, 0), (rest, 1)]) {
            let (model, inference) = inferred(&reshape_to(order, rest, allowzero));
            let input = model.graph(model.main_graph()).inputs()[0];
            for size in [0, 1, 2, 3, 5, 1 << 20] {
                if !reshapes(order, rest, allowzero, size) {
                    continue;
                }
                valid_at_0 += usize::from(size == 0);
                let (_, violations) = inference.solve(&model, &[(input, &[size, 3, 2, 2])]);
                let refused = violations.iter().find(
                    |violation| matches!(violation, Violation::Fact(fact) if fact.strength == Strength::Proved),
                );
                assert_eq!(refused, None, "{order:?}, -1 at {rest}, allowzero {allowzero}, S = {size}");
            }
        }
    }
    assert!(valid_at_0 >= 8, "{valid_at_0} valid runs at size 0");
}
