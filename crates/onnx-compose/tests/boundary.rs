//! Inputs, outputs and descriptions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::sync::Arc;

use onnx_check::{CheckOptions, check};
use onnx_compose::{
    ComposeError, EditOptions, MetadataEdit, add_input, edit_metadata, initializer_to_input, remove_input,
    set_inputs, set_outputs,
};
use onnx_ir::{Constant, Model, ValueId};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Shape, Type};

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

fn values(model: &Model, names: &[&str]) -> Vec<ValueId> {
    names.iter().map(|name| model.find_value(model.main_graph(), name).unwrap()).collect()
}

fn valid(model: &Model) -> String {
    model.verify().unwrap();
    let found = check(model, &CheckOptions::default());
    assert!(!found.has_errors(), "{:?}\n{}", found.diagnostics(), print(model));
    print(model)
}

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21, "acme": 1], metadata_props: ["author": "me"]>
g (float[N, 4] x, float[4] bias, bool unused) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}> {
   a = Relu (x)
   b = Add (a, w)
   y = Add (b, bias)
   z = Neg (a)
   o = acme.Op (a)
}"#;

#[test]
fn outputs_are_chosen_and_get_types() {
    let mut model = model(MODEL);
    let before = print(&model);
    let wanted = values(&model, &["z", "b", "x"]);
    set_outputs(&mut model, &wanted, &EditOptions::default()).unwrap();
    let text = valid(&model);
    assert!(text.contains("=> (float[N,4] z, float[N,4] b, float[N,4] x)"), "{text}");
    let wanted = values(&model, &["y", "z"]);
    set_outputs(&mut model, &wanted, &EditOptions::default()).unwrap();
    let text = valid(&model);
    // The type of the former output stays.
    assert_eq!(text.replace(",\n   float[N,4] b\n", "\n"), before);
    for names in [&["o"][..], &["y", "y"], &[]] {
        let wanted = values(&model, names);
        let error = set_outputs(&mut model, &wanted, &EditOptions::default()).unwrap_err();
        assert_eq!(matches!(error, ComposeError::UnknownType(..)), names == ["o"], "{error}");
        assert_eq!(print(&model), text);
    }
}

#[test]
fn inputs_are_reordered_and_removed_if_nothing_uses_them() {
    let mut model = model(MODEL);
    let before = print(&model);
    let wanted = values(&model, &["x", "unused"]);
    let error = set_inputs(&mut model, &wanted).unwrap_err();
    assert!(error.to_string().contains("`bias` is used and has no default"), "{error}");
    assert_eq!(print(&model), before);
    let wanted = values(&model, &["bias", "w", "x"]);
    set_inputs(&mut model, &wanted).unwrap();
    let text = valid(&model);
    assert!(
        text.contains("(float[4] bias, float[4] w = {1,2,3,4}, float[N,4] x)")
            || text.contains("(float[4] bias, float[4] w, float[N,4] x)"),
        "{text}"
    );
    let wanted = values(&model, &["x", "bias"]);
    set_inputs(&mut model, &wanted).unwrap();
    assert_eq!(valid(&model), before.replace(", bool unused", ""));
}

#[test]
fn initializers_become_inputs_and_inputs_constants() {
    let mut model = model(MODEL);
    let [w, bias, x] = values(&model, &["w", "bias", "x"])[..] else { panic!() };
    initializer_to_input(&mut model, w, false).unwrap();
    assert!(valid(&model).contains("bool unused, float[4] w) =>"), "{}", print(&model));
    let zeros = |size: usize| Some(Arc::new(Constant::Dense(Tensor::vector(&vec![0.5_f32; size]))));
    let error = remove_input(&mut model, bias, zeros(3)).unwrap_err();
    assert!(error.to_string().contains("of another type"), "{error}");
    assert!(remove_input(&mut model, x, None).is_err());
    remove_input(&mut model, bias, zeros(4)).unwrap();
    remove_input(&mut model, w, zeros(4)).unwrap();
    let text = valid(&model);
    assert!(text.contains("(float[N,4] x, bool unused) =>") && text.contains("bias = "), "{text}");
    assert!(initializer_to_input(&mut model, x, true).is_err());
}

#[test]
fn inputs_are_added() {
    let mut model = model(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Add (x, missing) }"#,
    );
    let ty = || Type::tensor(ElemType::Float, Some(Shape::new([Dim::Known(2)])));
    add_input(&mut model, "missing", ty()).unwrap();
    assert!(valid(&model).contains("(float[2] x, float[2] missing)"));
    assert!(add_input(&mut model, "y", ty()).is_err());
    add_input(&mut model, "other", ty()).unwrap();
    valid(&model);
}

#[test]
fn descriptions_are_set_and_removed() {
    let mut model = model(MODEL);
    let edits = [
        MetadataEdit::Set("author".to_owned(), "you".to_owned()),
        MetadataEdit::Set("license".to_owned(), "MIT".to_owned()),
        MetadataEdit::Set("license".to_owned(), "MIT".to_owned()),
        MetadataEdit::Remove("none".to_owned()),
        MetadataEdit::ProducerName("onnx".to_owned()),
        MetadataEdit::ModelVersion(7),
        MetadataEdit::Doc("words".to_owned()),
        MetadataEdit::GraphName("main".to_owned()),
    ];
    assert_eq!(edit_metadata(&mut model, &edits), 6);
    let text = valid(&model);
    assert!(text.contains(r#""author": "you", "license": "MIT""#) && text.contains("main (float"), "{text}");
    assert_eq!(edit_metadata(&mut model, &[MetadataEdit::RemoveMetadata, MetadataEdit::RemoveDocs]), 3);
    assert!(!valid(&model).contains("license"));
}
