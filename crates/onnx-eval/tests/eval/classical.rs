//! Operators without official tests: those of `ai.onnx.ml`, texts, and random numbers.
//!
//! Unless a test says otherwise, the expected numbers are those of onnxruntime 1.31.1 for the same node, computed once with
//! `InferenceSession.run`; floats are compared to 1e-6.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_eval::{EvalOptions, Evaluator, FailureKind, MapKey, Value};
use onnx_types::tensor::{NoData, Tensor};

fn model(graph: &str) -> onnx_ir::Model {
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.ml\": 4, \"ai.onnx.preview.training\": 1]>\n{graph}"
    );
    onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap()
}

#[track_caller]
fn run(graph: &str, inputs: &[(&str, Value)]) -> Vec<Value> {
    let model = model(graph);
    Evaluator::new(&model, &EvalOptions::default()).unwrap().run(inputs).unwrap_or_else(|failure| {
        panic!("{failure} {:?}", failure.diagnostic().notes);
    })
}

#[track_caller]
fn failure(graph: &str, inputs: &[(&str, Value)]) -> FailureKind {
    let model = model(graph);
    Evaluator::new(&model, &EvalOptions::default()).unwrap().run(inputs).unwrap_err().kind()
}

fn matrix(rows: i64, elements: &[f32]) -> Value {
    let columns = elements.len() as i64 / rows;
    Tensor::from_slice([rows, columns], elements).unwrap().into()
}

fn vector(elements: &[f32]) -> Value {
    Tensor::vector(elements).into()
}

fn words(elements: &[&str]) -> Value {
    Tensor::from_strings([elements.len() as i64], elements.iter().copied()).unwrap().into()
}

#[track_caller]
fn is_near(value: &Value, dims: &[i64], expected: &[f64]) {
    let tensor = value.tensor().unwrap();
    assert_eq!(tensor.dims(), dims);
    let found: Vec<f64> = tensor.iter_f64(&NoData).unwrap().collect();
    assert_eq!(found.len(), expected.len());
    let equal = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= 1e-6);
    assert!(equal, "{found:?}");
}

fn texts(value: &Value) -> Vec<String> {
    value.tensor().unwrap().strings().unwrap().map(|text| text.unwrap().to_owned()).collect()
}

const ROWS: [f32; 6] = [1.0, 2.0, -3.0, 0.5, 0.0, 0.0];
const SMALL: [f32; 6] = [0.1, 0.2, 0.3, 0.05, 0.0, 0.0];

/// Runs one operator on a matrix of three rows.
#[track_caller]
fn rows(op: &str, elements: &[f32], expected: &[f64]) {
    let graph = format!("g (float[3,2] x) => (float[3,2] y) {{ y = ai.onnx.ml.{op} (x) }}");
    is_near(&run(&graph, &[("x", matrix(3, elements))])[0], &[3, 2], expected);
}

#[test]
fn features_are_scaled_imputed_and_normalized() {
    rows("Scaler <scale = [2.0, 3.0], offset = [1.0, -1.0]>", &ROWS, &[0.0, 9.0, -8.0, 4.5, -2.0, 3.0]);
    rows(
        "Imputer <imputed_value_floats = [8.0, 9.0], replaced_value_float = 0.0>",
        &ROWS,
        &[1.0, 2.0, -3.0, 0.5, 8.0, 9.0],
    );
    rows("Binarizer <threshold = 0.5>", &ROWS, &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let graph = |norm: &str| {
        format!("g (float[4,3] x) => (float[4,3] y) {{ y = ai.onnx.ml.Normalizer <norm = \"{norm}\"> (x) }}")
    };
    let x = matrix(4, &[1.0, -2.0, 0.5, -3.0, -1.0, -4.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0]);
    let max = [1.0, -2.0, 0.5, 3.0, 1.0, 4.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0];
    is_near(&run(&graph("MAX"), &[("x", x.clone())])[0], &[4, 3], &max);
    let l1 = [0.285_714_3, -0.571_428_6, 0.142_857_15, -0.375, -0.125, -0.5, 0.0, 0.0, 0.0, 0.5, -0.5, 0.0];
    is_near(&run(&graph("L1"), &[("x", x.clone())])[0], &[4, 3], &l1);
    let l2 = [
        0.436_435_79,
        -0.872_871_58,
        0.218_217_89,
        -0.588_348_39,
        -0.196_116_12,
        -0.784_464_54,
        0.0,
        0.0,
        0.0,
        0.707_106_77,
        -0.707_106_77,
        0.0,
    ];
    is_near(&run(&graph("L2"), &[("x", x)])[0], &[4, 3], &l2);
}

#[test]
fn linear_models_score_rows() {
    let two = |transform: &str| {
        format!(
            "LinearRegressor <coefficients = [1.0, 2.0, -0.5, 1.0], intercepts = [0.25, 0.0], targets = 2, \
             post_transform = \"{transform}\">"
        )
    };
    rows(&two("NONE"), &SMALL, &[0.75, 0.15, 0.65, -0.1, 0.25, 0.0]);
    let softmax = [0.645_656_29, 0.354_343_68, 0.679_178_71, 0.320_821_29, 0.562_176_53, 0.437_823_5];
    rows(&two("SOFTMAX"), &SMALL, &softmax);
    let logistic = [0.679_178_71, 0.537_429_87, 0.657_010_44, 0.475_020_83, 0.562_176_53, 0.5];
    rows(&two("LOGISTIC"), &SMALL, &logistic);
    let zero = [0.645_656_29, 0.354_343_68, 0.679_178_71, 0.320_821_29, 1.0, 0.0];
    rows(&two("SOFTMAX_ZERO"), &SMALL, &zero);
}

#[test]
fn linear_classifiers_choose_labels() {
    let one = |transform: &str| {
        format!(
            "g (float[3,2] x) => (int64[3] l, float[3,2] y) {{ l, y = ai.onnx.ml.LinearClassifier <coefficients = \
             [1.0, -2.0], intercepts = [0.25], classlabels_ints = [5, 7], post_transform = \"{transform}\"> (x) }}"
        )
    };
    let found = run(&one("NONE"), &[("x", matrix(3, &SMALL))]);
    is_near(&found[0], &[3], &[5.0, 7.0, 7.0]);
    is_near(&found[1], &[3, 2], &[1.05, -0.05, 0.55, 0.45, 0.75, 0.25]);
    let found = run(&one("LOGISTIC"), &[("x", matrix(3, &SMALL))]);
    let logistic = [0.512_497_43, 0.487_502_57, 0.389_360_73, 0.610_639_27, 0.437_823_47, 0.562_176_53];
    is_near(&found[1], &[3, 2], &logistic);
    assert_eq!(failure(&one("SOFTMAX"), &[("x", matrix(3, &SMALL))]), FailureKind::Missing);
    let three = "g (float[3,2] x) => (string[3] l, float[3,3] y) { l, y = ai.onnx.ml.LinearClassifier <coefficients = \
        [1.0, -2.0, -1.0, 2.0, 0.5, 0.25], intercepts = [0.25, 0.0, 0.125], classlabels_strings = [\"a\", \"b\", \"c\"], \
        post_transform = \"SOFTMAX\"> (x) }";
    let found = run(three, &[("x", matrix(3, &SMALL))]);
    assert_eq!(texts(&found[0]), ["b", "a", "a"]);
    let softmax = [
        0.267_694_74,
        0.379_876_94,
        0.352_428_35,
        0.421_574_18,
        0.220_081,
        0.358_344_85,
        0.375_756_56,
        0.292_639_49,
        0.331_604,
    ];
    is_near(&found[1], &[3, 3], &softmax);
}

#[test]
fn maps_become_rows_and_rows_become_maps() {
    let scalar = |value: f32| Value::from(Tensor::scalar(value));
    let entries = BTreeMap::from([(MapKey::Int(3), scalar(1.5)), (MapKey::Int(1), scalar(-2.75))]);
    let map = Value::Map(Arc::new(entries));
    let cast = |attributes: &str, ty: &str| {
        format!("g (map(int64, float) x) => ({ty}[1,N] y) {{ y = ai.onnx.ml.CastMap {attributes} (x) }}")
    };
    is_near(&run(&cast("", "float"), &[("x", map.clone())])[0], &[1, 2], &[-2.75, 1.5]);
    let found = run(&cast("<cast_to = \"TO_INT64\">", "int64"), &[("x", map.clone())]);
    is_near(&found[0], &[1, 2], &[-2.0, 1.0]);
    let sparse = cast("<map_form = \"SPARSE\", max_map = 4>", "float");
    is_near(&run(&sparse, &[("x", map.clone())])[0], &[1, 4], &[0.0, -2.75, 0.0, 1.5]);
    // The specification forbids keys beyond the row.
    let short = cast("<map_form = \"SPARSE\", max_map = 2>", "float");
    assert_eq!(failure(&short, &[("x", map)]), FailureKind::Operator);

    let key = |text: &'static str| MapKey::Text(text.into());
    let map = Value::Map(Arc::new(BTreeMap::from([(key("a"), scalar(4.0)), (key("c"), scalar(8.0))])));
    let graph = "g (map(string, float) x) => (float[1,4] y) {
        y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"a\", \"c\", \"b\", \"z\"]> (x)
    }";
    is_near(&run(graph, &[("x", map)])[0], &[1, 4], &[4.0, 8.0, 0.0, 0.0]);

    let graph = "g (float[2,2] x) => (seq(map(string, float)) y) {
        y = ai.onnx.ml.ZipMap <classlabels_strings = [\"b\", \"a\"]> (x)
    }";
    let found = run(graph, &[("x", matrix(2, &[1.0, 2.0, -3.0, 0.5]))]);
    let expected =
        |b, a| Value::Map(Arc::new(BTreeMap::from([(key("a"), scalar(a)), (key("b"), scalar(b))])));
    assert!(found[0].sequence() == Some(&[expected(1.0, 2.0), expected(-3.0, 0.5)]));
}

#[test]
fn labels_become_others() {
    let run_words = |op: &str, ty: &str| {
        let graph = format!("g (string[4] x) => ({ty}[4] y) {{ y = ai.onnx.ml.{op} (x) }}");
        run(&graph, &[("x", words(&["a", "b", "a", "q"]))])
    };
    let mapper =
        "CategoryMapper <cats_strings = [\"a\", \"b\", \"a\"], cats_int64s = [1, 2, 3], default_int64 = -9>";
    is_near(&run_words(mapper, "int64")[0], &[4], &[3.0, 2.0, 3.0, -9.0]);
    // The specification: the last of equal keys counts, and NaN matches NaN.
    let encoder = "LabelEncoder <keys_strings = [\"a\", \"b\", \"a\"], values_int64s = [1, 2, 3]>";
    is_near(&run_words(encoder, "int64")[0], &[4], &[3.0, 2.0, 3.0, -1.0]);
    let graph = "g (float[3] x) => (string[3] y) {
        y = ai.onnx.ml.LabelEncoder <keys_tensor = float[2] {nan, 0.0}, values_strings = [\"n\", \"z\"]> (x)
    }";
    let found = run(graph, &[("x", vector(&[f32::NAN, -0.0, 7.0]))]);
    assert_eq!(texts(&found[0]), ["n", "z", "_Unused"]);
}

#[test]
fn features_are_picked_joined_and_encoded() {
    let graph =
        "g (float[3] x, int64[2,1] i) => (float[1,2] y) { y = ai.onnx.ml.ArrayFeatureExtractor (x, i) }";
    let indices = |second: i64| Value::from(Tensor::from_slice([2, 1], &[2_i64, second]).unwrap());
    let x = vector(&[1.0, 2.0, 3.0]);
    is_near(&run(graph, &[("x", x.clone()), ("i", indices(0))])[0], &[1, 2], &[3.0, 1.0]);
    assert_eq!(failure(graph, &[("x", x.clone()), ("i", indices(3))]), FailureKind::Operator);
    assert_eq!(failure(graph, &[("x", x), ("i", indices(-1))]), FailureKind::Operator);

    let graph = "g (float[3,2] x) => (float[3,4] y) {
        y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [1, 3]> (x, x)
    }";
    let joined = [1.0, 1.0, 2.0, 0.0, -3.0, -3.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0];
    is_near(&run(graph, &[("x", matrix(3, &ROWS))])[0], &[3, 4], &joined);

    let graph = |zeros: i64| {
        format!(
            "g (float[4] x) => (float[4,3] y) {{
                y = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2, -3], zeros = {zeros}> (x)
            }}"
        )
    };
    let x = vector(&[1.7, 2.0, -3.0, 9.0]);
    let encoded = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    is_near(&run(&graph(1), &[("x", x.clone())])[0], &[4, 3], &encoded);
    assert_eq!(failure(&graph(0), &[("x", x.clone())]), FailureKind::Operator);
    // One list is defined, which can be empty.
    let graph = |lists: &str| {
        format!("g (float[4] x) => (float[4,N] y) {{ y = ai.onnx.ml.OneHotEncoder <{lists}> (x) }}")
    };
    is_near(&run(&graph("cats_int64s: ints = []"), &[("x", x.clone())])[0], &[4, 0], &[]);
    let both = graph("cats_int64s = [1], cats_strings: strings = []");
    assert_eq!(failure(&both, &[("x", x)]), FailureKind::Operator);
}

#[test]
fn texts_are_split() {
    let split = |attributes: &str| {
        let graph = format!(
            "g (string[4] x) => (string[4,N] y, int64[4] n) {{ y, n = StringSplit {attributes} (x) }}"
        );
        let found = run(&graph, &[("x", words(&[" a  b c ", "a,b,c", "   ", "x "]))]);
        (texts(&found[0]).join("|"), found[1].tensor().unwrap().to_vec::<i64>(&NoData).unwrap())
    };
    assert_eq!(split(""), ("a|b|c|a,b,c||||||x||".to_owned(), vec![3, 1, 0, 1]));
    assert_eq!(split("<maxsplit = 1>"), ("a|b c|a,b,c||||x|".to_owned(), vec![2, 1, 0, 1]));
    assert_eq!(split("<maxsplit = 0>"), ("a  b c|a,b,c||x".to_owned(), vec![1, 1, 0, 1]));
    let (parts, counts) = split("<delimiter = \",\", maxsplit = 0>");
    assert_eq!((parts.as_str(), counts.as_slice()), (" a  b c |a,b,c|   |x ", &[1, 1, 1, 1][..]));
}

#[test]
fn weights_belong_to_grams() {
    let count = |mode: &str| {
        let graph = format!(
            "g (int64[5] x) => (float[4] y) {{ y = TfIdfVectorizer <mode = \"{mode}\", ngram_counts = [0, 3],
                ngram_indexes = [3, 1, 0, 2], pool_int64s = [1, 2, 3, 1, 2], weights = [10.0, 20.0, 30.0, 40.0],
                max_skip_count = 1, min_gram_length = 1, max_gram_length = 2> (x) }}"
        );
        run(&graph, &[("x", Tensor::vector(&[1_i64, 2, 1, 2, 3]).into())])
    };
    is_near(&count("TF")[0], &[4], &[1.0, 2.0, 2.0, 2.0]);
    is_near(&count("IDF")[0], &[4], &[30.0, 20.0, 40.0, 10.0]);
    is_near(&count("TFIDF")[0], &[4], &[30.0, 40.0, 80.0, 20.0]);
}

/// By the definition of the distributions: moments within five standard errors, and what must not depend on chance.
#[test]
fn random_numbers_have_their_distribution_and_are_reproducible() {
    let sample = |node: &str, ty: &str| {
        let found = run(&format!("g () => ({ty}[N] y) {{ y = {node} () }}"), &[]);
        found[0].tensor().unwrap().iter_f64(&NoData).unwrap().collect::<Vec<f64>>()
    };
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let normal = sample("RandomNormal <shape = [40000], mean = 3.0, scale = 2.0, seed = 1.0>", "float");
    assert!((mean(&normal) - 3.0).abs() < 0.05);
    let squares: Vec<f64> = normal.iter().map(|value| (value - 3.0).powi(2)).collect();
    assert!((mean(&squares) - 4.0).abs() < 0.15);
    let uniform = sample("RandomUniform <shape = [40000], seed = 1.0>", "float");
    assert!(uniform.iter().all(|value| (0.0..1.0).contains(value)) && (mean(&uniform) - 0.5).abs() < 0.008);
    assert_eq!(uniform, sample("RandomUniform <shape = [40000], seed = 1.0>", "float"));
    assert_ne!(uniform, sample("RandomUniform <shape = [40000], seed = 2.0>", "float"));

    let graph = "g (float[3] p) => (bool[3] y) { y = Bernoulli <dtype = 9> (p) }";
    let drawn = run(graph, &[("p", vector(&[0.0, 1.0, 0.0]))]);
    is_near(&drawn[0], &[3], &[0.0, 1.0, 0.0]);
    assert_eq!(failure(graph, &[("p", vector(&[0.0, 1.5, 0.0]))]), FailureKind::Operator);

    let graph =
        "g (float[1,3] p) => (int64[1,4000] y) { y = Multinomial <dtype = 7, sample_size = 4000> (p) }";
    let drawn = run(graph, &[("p", matrix(1, &[f32::NEG_INFINITY, 0.0, 3.0_f32.ln()]))]);
    let drawn = drawn[0].tensor().unwrap().to_vec::<i64>(&NoData).unwrap();
    assert!(drawn.iter().all(|class| (1..=2).contains(class)));
    let share = drawn.iter().filter(|&&class| class == 2).count() as f64 / 4000.0;
    assert!((share - 0.75).abs() < 0.035, "{share}");
}
