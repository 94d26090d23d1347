//! A second simplification of a model changes nothing.

use onnx_codec::{EncodeOptions, encode};
use onnx_ir::Model;
use onnx_pass::{Level, PassOptions};
use onnx_rewrite::{RuleSet, fused_simplification};
use onnx_schema::Registry;
use onnx_smith::SmithOptions;

fn bytes(model: &Model) -> impl PartialEq + use<> {
    encode(model, &EncodeOptions::default()).unwrap().into_bytes()
}

#[test]
fn a_second_simplification_of_generated_models_changes_nothing() {
    let (rules, fusions) = (RuleSet::standard().unwrap(), RuleSet::fusions().unwrap());
    let pipeline = fused_simplification(rules, fusions, Registry::STANDARD).unwrap();
    let options = PassOptions::default().with_level(Level::Types);
    let (mut edited, mut with_functions) = (0, 0);
    for seed in 0..400 {
        let mut model = onnx_smith::from_seed(seed, &SmithOptions::default()).model;
        let has_functions = !model.functions().is_empty();
        let done = pipeline.run(&mut model, &options);
        edited += usize::from(done.edits() > 0);
        with_functions += usize::from(has_functions && done.edits() > 0);
        let before = bytes(&model);
        let again = pipeline.run(&mut model, &options);
        let edits: Vec<&str> = again.journal.iter().map(|entry| entry.pass.as_str()).collect();
        assert!(edits.is_empty(), "seed {seed}: {edits:?}");
        assert!(bytes(&model) == before, "seed {seed}");
    }
    println!("{edited} models edited, {with_functions} of them with functions");
    assert!(edited > 100 && with_functions > 20, "{edited}, {with_functions}");
}
