//! Facts that inference concludes about dimensions, in addition to the shapes.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, Inference, Relation, Strength, infer};
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
