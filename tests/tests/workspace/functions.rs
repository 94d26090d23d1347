//! Inlining: generated models compute the same, bit for bit, and diagnostics name the calls.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

use onnx_eval::compare::{CompareOptions, Side, compare};
use onnx_eval::generate::Generator;
use onnx_eval::{EvalOptions, Limits, Value};
use onnx_functions::{InlineOptions, inline_all};
use onnx_ir::{Model, ValueId};
use onnx_text::{ParseOptions, parse_model};

/// Values for the inputs of a model; `None` if there are none for a type.
fn inputs(model: &Model) -> Option<Vec<(&str, Value)>> {
    let sizes = |value: ValueId| {
        let shape = model.ty(value)?.shape()?;
        Some(shape.dims().iter().map(|dim| dim.known().or(Some(2))).collect())
    };
    let generator = Generator::new(model, 1, &sizes);
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let value = |&input: &ValueId| {
        let name = model.str(model.value(input).name());
        Some((name, generator.value(input, &Limits::default()).ok()?))
    };
    inputs.map(value).collect()
}

#[test]
fn generated_models_compute_the_same_after_inlining() {
    let (mut inlined, mut compared) = (0, 0);
    for seed in 0..300 {
        let before = onnx_smith::from_seed(seed, &onnx_smith::SmithOptions::default()).model;
        let mut model = before.clone();
        let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
        assert_eq!(model.verify_sorted(), Ok(()), "seed {seed}");
        inlined += done.inlined();
        if done.inlined() == 0 {
            continue;
        }
        let Some(inputs) = inputs(&before) else { continue };
        let options = EvalOptions::default();
        match compare((&before, &options), (&model, &options), &inputs, &CompareOptions::default()) {
            // Generated values need not fit.
            Err(failure) => assert_eq!(failure.side, Side::A, "seed {seed}: {:?}", failure.failure),
            Ok(result) => {
                assert!(result.agrees() && result.only_in_a.is_empty(), "seed {seed}: {result:?}");
                compared += 1;
            }
        }
    }
    println!("{inlined} calls inlined, {compared} models compared");
    assert!(inlined > 40 && compared > 20, "{inlined} {compared}");
}

#[test]
fn a_diagnostic_in_inlined_code_names_the_call_and_the_function() {
    let mut model = parse_model(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { ["outer"] y = my.Twice (x) }
        <domain: "my", opset_import: ["": 20, "my": 1]> Twice (p) => (q) { ["inner"] q = my.Once (p) }
        <domain: "my", opset_import: ["": 20]> Once (p) => (q) { q = Relu <unknown = 1> (p) }"#,
        &ParseOptions::default(),
    )
    .unwrap();
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    let mut found = onnx_check::check(&model, &onnx_check::CheckOptions::default());
    let selectors = onnx_select::Selectors::new(&model);
    found.add_notes(|locus| selectors.derivation_of_locus(locus));
    let diagnostic = found.diagnostics().iter().find(|found| found.message.contains("unknown")).unwrap();
    assert_eq!(
        diagnostic.notes.last().map(String::as_str),
        Some(
            "made by inline from `Once` (`inner`) and `Relu`, which was made by inline from `Twice` (`outer`) and `Once` (`inner`)"
        )
    );
}
