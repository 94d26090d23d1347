//! Tests of generated inputs.

use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::NoData;

use super::*;

/// The generated elements of the first input of the model `g {text}`, whose axes get the sizes `dims`.
#[track_caller]
fn first(text: &str, dims: &[i64], seed: u64) -> Vec<f64> {
    let text = format!("<ir_version: 10, opset_import: [\"\": 20]> g {text}");
    let model = parse_model(&text, &ParseOptions::default()).unwrap();
    let sizes = |_| Some(dims.iter().map(|&dim| Some(dim)).collect());
    let input = model.graph(model.main_graph()).inputs()[0];
    let value = Generator::new(&model, seed, &sizes).value(input, &Limits::default()).unwrap();
    let tensor = value.tensor().unwrap();
    assert_eq!(tensor.dims(), dims);
    tensor.validate().unwrap();
    tensor.iter_f64(&NoData).unwrap().collect()
}

#[test]
fn an_element_depends_on_seed_name_and_index_only() {
    let of = |text, dims: &[i64], seed| first(text, dims, seed);
    let small = of("(float[N] x) => (float[N] y) { y = Relu (x) }", &[3], 1);
    let large = of("(float[N, 2] x, float z) => (float[N, 2] y) { y = Tanh (x) }", &[2, 2], 1);
    assert_eq!(small[..], large[..3]);
    assert_ne!(small, of("(float[N] x) => (float[N] y) { y = Relu (x) }", &[3], 2));
    assert_ne!(small, of("(float[N] z) => (float[N] y) { y = Relu (z) }", &[3], 1));
    // The first draws of a splitmix64 generator, computed with another implementation.
    let draws = Draws(0);
    assert_eq!(draws.unit(0), (0xe220_a839_7b1d_cdaf_u64 >> 11) as f64 / (1_u64 << 53) as f64);
    assert_eq!(draws.unit(1), (0x6e78_9e6a_a1b9_65f4_u64 >> 11) as f64 / (1_u64 << 53) as f64);
}

#[test]
fn indices_are_within_the_axis() {
    let text = "(int64[N] i) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
        j = Cast <to = 7> (i)
        y = Gather (w, j)
    }";
    let found = first(text, &[200], 0);
    let mut seen: Vec<i64> = found.iter().map(|&index| index as i64).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn types_have_ranges() {
    for (elem, low, high) in
        [("int64", 0, 9), ("uint8", 0, 255), ("int8", -128, 127), ("bool", 0, 1), ("int4", -8, 7)]
    {
        let text = format!("({elem}[N] x) => ({elem}[N] y) {{ y = Identity (x) }}");
        let found = first(&text, &[5000], 3);
        let min = found.iter().copied().fold(f64::INFINITY, f64::min);
        let max = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!((min as i64, max as i64), (low, high), "{elem}");
    }
}

#[test]
fn operands_of_functions_with_a_domain() {
    let divisor = first("(float[N] x) => (float[N] y) { y = Div (x, x) }", &[100], 0);
    assert!(divisor.iter().all(|&number| (1.0..2.0).contains(&number)));
    let shape = first(
        "(int64[3] s) => (float[A, B, C] y) <float[4] w = {1, 2, 3, 4}> { y = Reshape (w, s) }",
        &[3],
        0,
    );
    assert_eq!(shape, [1.0, 1.0, -1.0]);
}

#[test]
fn what_is_too_large_or_unknown_is_refused() {
    let text = "<ir_version: 10, opset_import: [\"\": 20]> g (float[N] x) => (float[N] y) { y = Relu (x) }";
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let input = model.graph(model.main_graph()).inputs()[0];
    let with =
        |sizes: &SizesOf<'_>| Generator::new(&model, 0, sizes).value(input, &Limits::default()).map(|_| ());
    assert_eq!(with(&|_| Some(vec![Some(i64::MAX)])), Err(GenerateError::Limit("run_elements")));
    assert!(matches!(with(&|_| Some(vec![None])), Err(GenerateError::Type(_))));
    assert!(matches!(with(&|_| None), Err(GenerateError::Type(_))));
}

/// Keys are those that the operator knows, so the model runs.
#[test]
fn maps_have_the_keys_of_their_operator() {
    for (body, keys) in [
        (
            "(map(string, float) x) => (float[1, 2] y) { y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"p\", \"q\"]> (x) }",
            2,
        ),
        (
            "(map(int64, string) x) => (string[1, 3] y) { y = ai.onnx.ml.DictVectorizer <int64_vocabulary = [7, 9, 8]> (x) }",
            3,
        ),
        (
            "(map(int64, float) x) => (float[1, 5] y) { y = ai.onnx.ml.CastMap <map_form = \"SPARSE\", max_map = 5> (x) }",
            5,
        ),
        ("(map(int64, float) x) => (float[1, 3] y) { y = ai.onnx.ml.CastMap (x) }", 3),
    ] {
        let text = format!("<ir_version: 10, opset_import: [\"\": 20, \"ai.onnx.ml\": 3]> g {body}");
        let model = parse_model(&text, &ParseOptions::default()).unwrap();
        let input = model.graph(model.main_graph()).inputs()[0];
        let value = Generator::new(&model, 0, &|_| None).value(input, &Limits::default()).unwrap();
        let Value::Map(entries) = &value else { panic!("{value:?}") };
        assert_eq!(entries.len(), keys, "{body}");
        let evaluator = crate::Evaluator::new(&model, &crate::EvalOptions::default()).unwrap();
        let outputs = evaluator.run(&[("x", value.clone())]).unwrap();
        assert_eq!(outputs[0].tensor().unwrap().dims()[1], keys as i64);
    }
}
