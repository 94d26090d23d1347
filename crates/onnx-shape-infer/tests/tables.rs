//! The tables of names and expressions of a model stay with it, whatever a rule of a user does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use onnx_ir::{Changes, Model};
use onnx_schema::{Pack, Registry};
use onnx_shape_infer::{InferPack, Options, infer, infer_function, infer_node};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
    g (float[N, M] x) => (float[a, b] y) { r = Reshape (x, s) q = my.Op (r) y = Relu (q) }
    <domain: "my", opset_import: ["": 20, "other": 1]> F (u) => (v) { v = other.Op (u) }"#;

fn text(model: &Model) -> String {
    print_model(model, &PrintOptions::full()).unwrap().text
}

/// Runs `work` with rules that panic, and checks that the model is as it was.
fn check(work: impl Fn(&mut Model, &Options<'_>)) {
    let mut model = parse_model(MODEL, &ParseOptions::default()).unwrap();
    let pack = Pack::new()
        .with_rule("my", "Op", |cx| {
            assert_eq!(cx.names().resolve(cx.node().op()), "Op", "a rule sees the names");
            std::panic::panic_any("a rule")
        })
        .with_rule("other", "Op", |_| std::panic::panic_any("a rule"));
    let registry = Registry::standard().with(pack).unwrap();
    let mut options = Options::default();
    options.registry = &registry;
    let (before, names, revision) = (text(&model), model.names().len(), model.revision());
    let caught = catch_unwind(AssertUnwindSafe(|| work(&mut model, &options))).unwrap_err();
    assert_eq!(caught.downcast_ref(), Some(&"a rule"));
    assert_eq!(text(&model), before);
    assert!(model.names().len() >= names);
    assert!(model.changes_since(&revision).is_empty());
    model.verify().unwrap();
    // The model serves for another run.
    assert!(infer(&mut model, &Options::default()).findings().is_empty());
}

#[test]
fn a_rule_that_panics_leaves_the_model_as_it_was() {
    check(|model, options| drop(infer(model, options)));
    check(|model, options| {
        let inference = infer(model, &Options::default());
        drop(inference.update(model, options, &Changes::Everything));
    });
    check(|model, options| {
        let node = model.nodes(model.main_graph()).nth(1).unwrap();
        drop(infer_node(model, node, options));
    });
    check(|model, options| {
        let function = model.functions()[0];
        drop(infer_function(model, function, &[None], &[], options));
    });
}
