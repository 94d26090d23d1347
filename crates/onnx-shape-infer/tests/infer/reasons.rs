//! Whatever a node leaves unknown has a reason.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;
use std::path::Path;

use onnx_schema::Registry;
use onnx_shape_infer::{Gap, InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Limits;

/// The reason for the first part of a value that is not known.
fn reason(body: &str, name: &str) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {body}");
    let model = parse_model(&text, &ParseOptions::default()).unwrap();
    let inference = infer(&model, &InferOptions::default());
    let outputs = model.graph(model.main_graph()).outputs().iter().map(onnx_ir::GraphOutput::value);
    let value = outputs.into_iter().find(|&value| model.str(model.value(value).name()) == name).unwrap();
    let gap = inference.gaps(value)[0];
    inference.reason(&model, Registry::STANDARD, value, gap).unwrap()
}

#[test]
fn reasons_name_what_decides() {
    let elements = "the number depends on the elements of";
    for (body, expected) in [
        ("(float[N] x) => (y) { y = NonZero (x) }", format!("{elements} `x`")),
        ("(float[N] x, bool[N] c) => (y) { y = Compress (x, c) }", format!("{elements} `c`")),
        ("(float[N] x) => (y) { y = Unique (x) }", format!("{elements} `x`")),
        (
            "(float[1, N, 4] b, float[1, 2, N] s) => (y) { y = NonMaxSuppression (b, s) }",
            format!("{elements} `b` and `s`"),
        ),
        (
            "(float[2] x, int64[2] s) => (y) { y = Reshape (x, s) }",
            "the size depends on the elements of `s`".to_owned(),
        ),
        (
            "(float[2] x, int64[n] s) => (y) { y = Reshape (x, s) }",
            "the rank is the number of elements of `s` or depends on them".to_owned(),
        ),
        (
            "(bool c, float[2] a, float[3] b) => (y) { y = If (c) <then_branch = t () => (u) { u = Identity (a) }, \
             else_branch = e () => (v) { v = Identity (b) }> }",
            "the branches have different shapes: float[2] and float[3]".to_owned(),
        ),
        (
            "(int64 n, bool c, float[2] x) => (y) { y = Loop (n, c, x) <body = b (int64 i, bool d, float[k] s) => (d2, t) \
             { d2 = Identity (d) t = Concat <axis = 0> (s, x) }> }",
            "the iterations can change it: the body gets float[unk__0] and returns float[unk__0 + 2]".to_owned(),
        ),
        (
            "(int64 n, bool c, float[2] x) => (y) { y = Loop (n, c) <body = b (int64 i, bool d) => (d2, t) \
             { d2 = Identity (d) t = Identity (x) }> }",
            "it is the number of iterations, which depends on the trip count and on conditions that are computed"
                .to_owned(),
        ),
        (
            "(float[2] x) => (y) { y = Strange (x) }",
            "version 21 of its operator set, which is imported, has no operator `Strange`".to_owned(),
        ),
    ] {
        assert_eq!(reason(body, "y"), expected, "{body}");
    }
}

/// The general reason, which names the types of the operands.
const GENERAL: &str = "the types of the operands and the attributes do not decide it";

/// Operators whose results have sizes that depend on elements, or on what nested graphs compute.
const DATA_DEPENDENT: &[&str] = &[
    "AffineGrid",
    "CenterCropPad",
    "Col2Im",
    "Compress",
    "ConcatFromSequence",
    "ConstantOfShape",
    "DFT",
    "Expand",
    "If",
    "ImageDecoder",
    "Loop",
    "MaxUnpool",
    "MelWeightMatrix",
    "NonMaxSuppression",
    "NonZero",
    "OneHot",
    "Pad",
    "Range",
    "ReduceSum",
    "Reshape",
    "Resize",
    "STFT",
    "Scan",
    "SequenceAt",
    "Slice",
    "Split",
    "Squeeze",
    "StringNormalizer",
    "StringSplit",
    "Tile",
    "TopK",
    "Unique",
    "Unsqueeze",
    "Upsample",
];

/// The other operators of the tests whose results can have sizes that are not known.
const OF_SIZES: &[&str] = &[
    "AveragePool",
    "Compress",
    "Conv",
    "ConvTranspose",
    "FeatureVectorizer",
    "LinearClassifier",
    "LpPool",
    "MaxPool",
    "Range",
    "Resize",
    "STFT",
    "SVMClassifier",
    "SpaceToDepth",
    "Split",
    "TfIdfVectorizer",
    "Thing",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
];

#[test]
fn every_operator_has_reasons() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests")];
    let (mut special, mut general, mut count) = (BTreeSet::new(), BTreeSet::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let Ok(model) = parse_model(&text, &ParseOptions::default()) else { continue };
            let inference = infer(&model, &InferOptions::default());
            for unknown in inference.report(&model, &Limits::default()).unknown {
                let Some(node) = unknown.node else { continue };
                for gap in inference.gaps(unknown.origin) {
                    let reason = inference.reason(&model, Registry::STANDARD, unknown.origin, gap).unwrap();
                    let op = model.str(model.node(node).op()).to_owned();
                    assert!(reason.len() > 10, "{op}: {reason}");
                    count += 1;
                    if !reason.starts_with(GENERAL) {
                        special.insert(op);
                    } else if matches!(gap, Gap::Size(_)) {
                        general.insert(op);
                    }
                }
            }
        }
    }
    assert!(count > 300, "{count}");
    let missing: Vec<&&str> = DATA_DEPENDENT.iter().filter(|&&op| !special.contains(op)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // Sizes that are computed of others, of which too little is known, or of elements that are known.
    let general: Vec<&str> = general.iter().map(String::as_str).collect();
    assert_eq!(general, OF_SIZES);
}
