//! Tests of comparisons.

use std::sync::Arc;

use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::{F8E4M3Fn, Tensor, f16};

use super::*;
use crate::MapKey;

fn differ(a: impl Into<Value>, b: impl Into<Value>) -> Difference {
    compare_values(&a.into(), &b.into(), &Tolerances::default())
}

fn floats(elements: &[f32]) -> Tensor {
    Tensor::vector(elements)
}

#[test]
fn nan_equals_nan_and_nothing_else() {
    let nan = f32::NAN;
    assert_eq!(differ(floats(&[nan, 1.0]), floats(&[-nan, 1.0])).differing, 0);
    let found = differ(floats(&[1.0, nan]), floats(&[1.0, 2.0]));
    assert_eq!((found.exceeding, found.max_abs), (1, f64::INFINITY));
    let first = found.first.unwrap();
    assert_eq!((first.index, first.a.as_str(), first.b.as_str()), (vec![1], "NaN", "2.0"));
}

#[test]
fn infinities_are_equal_to_themselves_only() {
    let infinity = f32::INFINITY;
    assert!(differ(floats(&[infinity]), floats(&[infinity])).agrees());
    assert!(!differ(floats(&[infinity]), floats(&[-infinity])).agrees());
    let loose = Tolerances::default().with_rtol(Some(1e9)).with_atol(Some(1e9));
    let found = compare_values(&floats(&[infinity]).into(), &floats(&[3.0]).into(), &loose);
    assert_eq!(found.exceeding, 1);
}

#[test]
fn distances_are_counted_in_values_of_the_type() {
    let next = f32::from_bits(1.0_f32.to_bits() + 1);
    let found = differ(floats(&[1.0, -0.0]), floats(&[next, f32::from_bits(2)]));
    assert_eq!((found.differing, found.exceeding, found.max_ulps), (2, 0, 2));
    assert_eq!(found.max_abs, f64::from(next) - 1.0);
    let found =
        differ(Tensor::vector(&[f16::from_f32(1.0)]), Tensor::vector(&[f16::from_f32(1.0 + 3.0 / 1024.0)]));
    assert_eq!((found.max_ulps, found.agrees()), (3, true));
    let narrow = |code| Tensor::vector(&[F8E4M3Fn::from_bits(code)]);
    assert!(differ(narrow(0x38), narrow(0x39)).agrees());
    let found = differ(narrow(0x38), narrow(0x3a));
    assert_eq!((found.max_ulps, found.exceeding), (2, 1));
}

#[test]
fn integers_strings_and_truth_values_are_exact() {
    let found = differ(Tensor::vector(&[i64::MIN, 5]), Tensor::vector(&[i64::MIN, 6]));
    assert_eq!((found.exceeding, found.max_abs, found.max_ulps), (1, 1.0, 1));
    let found = differ(Tensor::vector(&[u64::MAX]), Tensor::vector(&[u64::MAX - 1]));
    assert_eq!(found.exceeding, 1);
    let first = found.first.unwrap();
    assert_eq!((first.a.as_str(), first.b.as_str()), ("18446744073709551615", "18446744073709551614"));
    let found = differ(Tensor::vector(&[-1_i8]), Tensor::vector(&[1_i8]));
    assert_eq!((found.exceeding, found.max_abs), (1, 2.0));
    let found = differ(Tensor::vector(&[true, false]), Tensor::vector(&[true, true]));
    assert_eq!(found.first.map(|first| (first.index, first.a)), Some((vec![1], "false".to_owned())));
    let texts = |b| Tensor::from_strings([2], ["a", b]).unwrap();
    assert_eq!(differ(texts("b"), texts("c")).exceeding, 1);
    assert!(differ(texts("b"), texts("b")).agrees());
}

#[test]
fn types_and_shapes_must_be_equal() {
    let found = differ(floats(&[1.0]), Tensor::vector(&[1.0_f64]));
    assert_eq!(found.mismatch.as_deref(), Some("double[1] instead of float[1]"));
    let found = differ(floats(&[1.0]), Tensor::from_slice([1, 1], &[1.0_f32]).unwrap());
    assert_eq!((found.agrees(), found.mismatch.as_deref()), (false, Some("float[1,1] instead of float[1]")));
}

#[test]
fn values_in_sequences_and_maps() {
    let sequence = |last| Value::Sequence(Arc::new(vec![floats(&[1.0]).into(), floats(&[0.0, last]).into()]));
    let found = differ(sequence(1.0), sequence(2.0));
    let first = found.first.unwrap();
    assert_eq!((first.path.as_str(), first.index, found.elements), ("[1]", vec![1], 3));
    let map = |key| Value::Map(Arc::new([(MapKey::Int(key), floats(&[1.0]).into())].into()));
    assert!(differ(map(1), map(1)).agrees());
    assert!(!differ(map(1), map(2)).agrees());
}

#[test]
fn the_index_has_an_entry_for_each_axis() {
    let of = |element| Tensor::from_slice([2, 3], &[0.0_f32, 0.0, 0.0, 0.0, 0.0, element]).unwrap();
    assert_eq!(differ(of(0.0), of(1.0)).first.unwrap().index, [1, 2]);
}

fn model(body: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\": 20]> g {body}");
    parse_model(&text, &ParseOptions::default()).unwrap()
}

fn compared(a: &Model, b: &Model) -> Result<Comparison, CompareFailure> {
    let options = EvalOptions::default();
    let inputs = [("x", Value::from(floats(&[1.0, -2.0])))];
    compare((a, &options), (b, &options), &inputs, &CompareOptions::default().with_inner(true))
}

#[test]
fn the_first_node_that_differs_is_found() {
    let a = model("(float[2] x) => (float[2] y) { s = Neg (x) t = Exp (s) u = Relu (t) y = Add (u, s) }");
    let b = model("(float[2] x) => (float[2] y) { s = Neg (x) t = Abs (s) u = Relu (t) y = Add (u, s) }");
    let found = compared(&a, &b).unwrap();
    assert!(!found.agrees());
    let names: Vec<&str> = found.inner.iter().map(|compared| compared.name.as_str()).collect();
    assert_eq!(names, ["s", "t", "u", "y"]);
    assert_eq!(found.divergence().unwrap().name, "t");
    assert!(compared(&a, &a).unwrap().divergence().is_none());
}

#[test]
fn a_part_is_compared_with_the_whole() {
    let whole = model("(float[2] x) => (float[2] y) { s = Neg (x) t = Exp (s) y = Relu (t) }");
    let part = model("(float[2] s) => (float[2] t) { t = Exp (s) }");
    let found = compared(&whole, &part).unwrap();
    assert_eq!((found.agrees(), found.agrees_in_common()), (false, true));
    assert_eq!((found.outputs.len(), found.only_in_a, found.only_in_b), (1, vec!["y".to_owned()], vec![]));
    let other = model("(float[2] s) => (float[2] z) { z = Exp (s) }");
    let found = compared(&whole, &other).unwrap();
    assert_eq!((found.agrees(), found.agrees_in_common()), (false, false));
    assert_eq!(found.only_in_b, ["z"]);
}

/// A pair that is planned once gives the results of separate comparisons.
#[test]
fn a_pair_runs_several_times() {
    let random = "(float[2] x) => (float[2] y) { r = RandomUniformLike (x) y = Add (r, x) }";
    let (a, b) = (model(random), model(random));
    let options = EvalOptions::default();
    let pair = Pair::new((&a, &options), (&b, &options), &CompareOptions::default()).unwrap();
    for seed in 0..3 {
        let inputs = [("x", Value::from(floats(&[1.0, seed as f32])))];
        assert!(pair.run(&inputs, seed).unwrap().agrees());
        let (one, other) = (options.clone().with_seed(seed), options.clone().with_seed(7));
        let found = compare((&a, &one), (&b, &other), &inputs, &CompareOptions::default()).unwrap();
        assert!(!found.agrees(), "{seed}");
    }
}

#[test]
fn the_model_that_fails_is_named() {
    let runs = model("(float[2] x) => (float[2] y) { y = Neg (x) }");
    let fails = model("(float[2] x) => (float[2] y) { y = Concat <axis = 5> (x) }");
    assert_eq!(compared(&runs, &fails).unwrap_err().side, Side::B);
    assert_eq!(compared(&fails, &runs).unwrap_err().side, Side::A);
}

#[test]
fn inner_values_are_within_a_limit() {
    let a = model("(float[2] x) => (float[2] y) { s = Neg (x) t = Exp (s) u = Abs (t) y = Exp (u) }");
    let limits = crate::Limits { run_bytes: 16, ..crate::Limits::DEFAULT };
    let options = EvalOptions::default().with_limits(limits);
    let inputs = [("x", Value::from(floats(&[1.0, -2.0])))];
    let inner = CompareOptions::default().with_inner(true);
    let failure = compare((&a, &options), (&a, &options), &inputs, &inner).unwrap_err();
    assert_eq!(failure.failure.kind(), FailureKind::Limit);
}

/// A model that computes in `float16` between inputs and outputs of `float`, and one that does not.
#[test]
fn inner_values_of_two_float_types_are_compared_as_numbers() {
    let a = model(
        "(float[2] x) => (float[2] y) <float k = {300}> {
            h = Identity (x) s = Mul (h, k) t = Mul (s, s) u = Abs (t) y = Sqrt (u) }",
    );
    let b = model(
        "(float[2] x) => (float[2] y) <float k = {300}> {
            k16 = Cast <to = 10> (k)
            h = Cast <to = 10> (x) s = Mul (h, k16) t = Mul (s, s) u = Abs (t) v = Cast <to = 1> (u) y = Sqrt (v) }",
    );
    let found = compared(&a, &b).unwrap();
    let divergence = found.divergence().unwrap();
    assert_eq!((divergence.name.as_str(), divergence.ty.as_str()), ("t", "float[2]"));
    assert_eq!(divergence.ty_in_b.as_deref(), Some("float16[2]"));
    let first = divergence.difference.first.as_ref().unwrap();
    assert_eq!((first.a.as_str(), first.b.as_str()), ("90000.0", "inf"));
    let h = &found.inner[0];
    assert_eq!((h.name.as_str(), h.difference.agrees()), ("h", true));
    let of_node = |model: &Model, node: Option<NodeId>| model.str(model.node(node.unwrap()).op()).to_owned();
    assert_eq!((of_node(&a, h.node_in_a), of_node(&b, h.node)), ("Identity".to_owned(), "Cast".to_owned()));
    assert!(found.inner.last().is_some_and(|y| y.is_output && y.ty_in_b.is_none()));
}

#[test]
fn the_tolerance_for_two_float_types_is_that_of_the_narrower_one() {
    let of = |a: &Tensor, b: &Tensor, tolerances: Tolerances| {
        compare_numbers(&a.clone().into(), &b.clone().into(), &tolerances, &Interrupt::NEVER).unwrap()
    };
    let (wide, narrow) = (floats(&[0.1, 1.0]), Tensor::vector(&[f16::from_f32(0.1), f16::from_f32(1.009)]));
    for (a, b) in [(&wide, &narrow), (&narrow, &wide)] {
        let found = of(a, b, Tolerances::default());
        assert_eq!((found.differing, found.exceeding, found.max_ulps), (2, 0, 9), "{found:?}");
        assert_eq!(of(a, b, Tolerances::default().with_rtol(Some(1e-4))).exceeding, 1);
        assert_eq!(of(a, b, Tolerances::EXACT).exceeding, 2);
        assert_eq!(of(a, b, Tolerances::EXACT.with_ulps(Some(1))).exceeding, 1);
    }
    let found = of(
        &floats(&[f32::NAN, f32::INFINITY]),
        &Tensor::vector(&[f64::NAN, f64::INFINITY]),
        Tolerances::EXACT,
    );
    assert_eq!((found.differing, found.elements), (0, 2));
    // Beyond the range of the narrower type.
    let infinite = Tensor::vector(&[f16::from_f32(f32::INFINITY)]);
    assert_eq!(of(&floats(&[65_520.0]), &infinite, Tolerances::EXACT.with_ulps(Some(1000))).exceeding, 1);
    // Integers and shapes are as before.
    assert!(of(&floats(&[1.0]), &Tensor::vector(&[1_i32]), Tolerances::default()).mismatch.is_some());
    let column = Tensor::from_slice([2, 1], &[f16::from_f32(0.1); 2]).unwrap();
    assert!(of(&wide, &column, Tolerances::default()).mismatch.is_some());
    // Sequences have the rule of their tensors.
    let sequence = |tensor: &Tensor| Value::Sequence(Arc::new(vec![tensor.clone().into()]));
    let found =
        compare_numbers(&sequence(&wide), &sequence(&narrow), &Tolerances::default(), &Interrupt::NEVER);
    assert!(found.unwrap().agrees());
}

#[test]
fn outputs_of_another_type_differ() {
    let a = model("(float[2] x) => (float[2] y) { y = Neg (x) }");
    let b = model("(float[2] x) => (float16[2] y) { h = Cast <to = 10> (x) y = Neg (h) }");
    let found = compared(&a, &b).unwrap();
    assert!(!found.agrees());
    assert_eq!(found.outputs[0].difference.mismatch.as_deref(), Some("float16[2] instead of float[2]"));
    assert_eq!(found.outputs[0].ty_in_b.as_deref(), Some("float16[2]"));
    // As a value of a node, it does not diverge.
    assert!(found.divergence().is_none());
}
