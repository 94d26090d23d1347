//! The tables of idioms: which forms each runtime fuses, and which edits they exclude.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use onnx_ir::Model;
use onnx_pass::{Idioms, PassOptions};
use onnx_rewrite::{IDIOM_FILES, IdiomSet, RuleSet, simplification};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Interrupt;
use onnx_types::tensor::NoData;

/// The forms: runtime, kernels and nodes.
const FORMS: &str = include_str!("corpus/idioms.tsv");

/// The constants of the models.
const CONSTANTS: &str = "<float[4] scale = {1, 2, 3, 4}, float[4] offset = {1, 2, 3, 4}, float e = {1e-5}, float zero = {0}, \
    float one = {1}, float two = {2}, float half = {0.5}, float three = {3}, float six = {6}, float sixth = {0.16666667}, \
    float minus = {-1}, float lower = {-0.5}, float root = {1.4142135}, float inverse = {0.70710677}, \
    float cubic = {0.044715}, float rate = {0.7978846}, int64[1] last = {-1}, int64[1] first = {1}, \
    int64[3] split = {0, 2, -1}, int64[3] whole = {0, 2, 4}, float[2] ones = {1, 1}, float[2] zeros = {0, 0}, \
    int64[2] halves = {2, 2}, float[3,2,1] kernel = {1, 2, 3, 4, 5, 6}>";

fn parse(nodes: &str) -> Model {
    let text = format!(
        "<ir_version: 8, opset_import: [\"\": 13]> g (float[N,2,4] x, float[1,2,4,4] z, float[1,2,4,4] z2, \
         float[1,2,4,4] z3, float[1,1,4,4] mask) => (y) {CONSTANTS} {{ {nodes} }}"
    );
    parse_model(&text, &ParseOptions::default()).unwrap()
}

fn idioms(runtime: &str) -> IdiomSet {
    let (_, text) = IDIOM_FILES.iter().find(|(name, _)| *name == runtime).unwrap();
    IdiomSet::parse(runtime, text).unwrap()
}

/// The occurrences in a model, sorted.
fn found(model: &Model, idioms: &IdiomSet) -> Vec<String> {
    let inference = infer(model, &InferOptions::default());
    let found = idioms.find(model, &inference, &NoData, &Interrupt::NEVER).into_iter();
    let mut found: Vec<String> =
        found.map(|idiom| format!("{} of {}", idiom.kernel, idiom.nodes.len())).collect();
    found.sort();
    found
}

/// Runtime, kernels and nodes of each form.
fn forms() -> impl Iterator<Item = (&'static str, Vec<&'static str>, &'static str)> {
    FORMS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let parts: [&str; 3] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let [runtime, kernels, nodes] = parts;
        (runtime, if kernels == "-" { vec![] } else { kernels.split(", ").collect() }, nodes)
    })
}

#[test]
fn all_tables_are_files_of_the_crate() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("idioms");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let files: BTreeSet<String> = entries.map(|name| name.into_string().unwrap()).collect();
    let names = IDIOM_FILES.iter().map(|(name, _)| format!("{name}.onnxidioms"));
    assert!(names.clone().is_sorted());
    assert_eq!(names.collect::<BTreeSet<_>>(), files);
}

#[test]
fn forms_are_found_that_a_runtime_fuses() {
    for (runtime, kernels, nodes) in forms() {
        assert_eq!(found(&parse(nodes), &idioms(runtime)), kernels, "{runtime}: {nodes}");
    }
}

#[test]
fn an_interrupt_ends_the_search() {
    let interrupt = Interrupt::new();
    interrupt.cancel();
    for (runtime, _, nodes) in forms() {
        let model = parse(nodes);
        let inference = infer(&model, &InferOptions::default());
        assert!(
            idioms(runtime).find(&model, &inference, &NoData, &interrupt).is_empty(),
            "{runtime}: {nodes}"
        );
    }
}

#[test]
fn every_kernel_of_a_table_has_a_form() {
    let tested: BTreeSet<(&str, &str)> = forms()
        .flat_map(|(runtime, kernels, _)| {
            kernels.into_iter().map(move |kernel| (runtime, kernel.split(' ').next().unwrap()))
        })
        .collect();
    // The tests of onnxruntime are in `idioms`.
    for (runtime, _) in IDIOM_FILES.iter().filter(|(runtime, _)| *runtime != "onnxruntime") {
        for kernel in idioms(runtime).kernels() {
            assert!(tested.contains(&(*runtime, kernel)), "{runtime}: {kernel}");
        }
    }
}

/// Without the idioms, simplification leaves another form.
#[test]
fn edits_that_break_a_form_are_not_made() {
    let cases = [
        // A factor moves into a convolution.
        (
            "openvino",
            "Gelu of 5",
            "p = Div (x, root) f = Erf (p) t = Add (f, one) u = Mul (x, t) v = Mul (u, half) y = Conv (v, kernel)",
        ),
        (
            "openvino",
            "HSwish of 4",
            "a = Add (x, three) b = Clip (a, zero, six) u = Mul (x, b) v = Mul (u, sixth) y = Conv (v, kernel)",
        ),
        (
            "tensorrt",
            "GELU of 5",
            "p = Mul (x, inverse) f = Erf (p) t = Add (f, one) u = Mul (x, t) v = Mul (u, half) y = Conv (v, kernel)",
        ),
        (
            "ncnn",
            "HardSigmoid of 3",
            "a = Add (x, three) b = Clip (a, zero, six) v = Mul (b, sixth) y = Conv (v, kernel)",
        ),
        // An expansion is not needed before a quotient.
        (
            "ncnn",
            "Normalize of 4",
            "l = ReduceL2 <axes = [1]> (x) k = Clip (l, e) n = Shape (x) f = Expand (k, n) y = Div (x, f)",
        ),
        // A product with a reciprocal becomes a quotient.
        (
            "ncnn",
            "RMSNorm of 7",
            "p = Pow (x, two) w = ReduceMean <axes = [-1]> (p) k = Add (w, e) r = Sqrt (k) i = Div (one, r) \
             n = Mul (x, i) y = Mul (n, scale)",
        ),
        // A power with the exponent 1 has no effect.
        ("ncnn", "Reduction of 4", "b = Abs (x) p = Pow (b, one) w = ReduceSum (p, last) y = Pow (w, one)"),
    ];
    for (runtime, kernel, nodes) in cases {
        let idioms = idioms(runtime);
        for (given, stays) in [(Some(&idioms as &dyn Idioms), true), (None, false)] {
            let mut model = parse(nodes);
            let pipeline = simplification(RuleSet::standard().unwrap(), Registry::STANDARD).unwrap();
            let done = pipeline.run(&mut model, &PassOptions::default().with_idioms(given));
            assert!(done.ended.is_none(), "{:?}", done.ended);
            let is_there = found(&model, &idioms).iter().any(|found| found == kernel);
            assert_eq!(is_there, stays, "{runtime}: {kernel}");
        }
    }
}
