//! Imports from which a conversion starts: those that do not tell what nodes mean are refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_ir::{Model, OpsetScope};
use onnx_schema::domain;
use onnx_text::{ParseOptions, parse_model};
use onnx_version::{ConvertOptions, VersionError, convert, imported_version, plan, set_ir_version};

fn parsed(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A model with imports, and a function with others.
fn with_imports(model: &str, function: &str) -> Model {
    parsed(&format!(
        "<ir_version: 8, opset_import: [{model}, \"my\": 1]>
        g (float[2, 3] x) => (float[2, 3] y) {{ a = Softmax <axis = 1> (x) y = my.F (a) }}
        <domain: \"my\", opset_import: [{function}]> F (p) => (q) {{ q = Softmax <axis = 1> (p) }}"
    ))
}

#[track_caller]
fn refuses(mut model: Model, message: &str) {
    let options = ConvertOptions::default();
    let planned = plan(&model, 12, &options).map(|_| ()).unwrap_err();
    let error = convert(&mut model, 12, &options).unwrap_err();
    assert!(matches!(error, VersionError::Imports { .. }), "{error}");
    assert_eq!((planned.to_string().as_str(), error.to_string().as_str()), (message, message));
    let found = error.findings(&model);
    assert_eq!(found.diagnostics().len(), 1);
    assert!(found.has_errors());
}

#[test]
fn an_operator_set_in_two_versions_is_refused() {
    let text = "the model imports `ai.onnx` in version 11 and in version 13";
    refuses(with_imports(r#""": 11, "ai.onnx": 13"#, r#""": 13"#), text);
    refuses(with_imports(r#""": 11, "": 13"#, r#""": 13"#), text);
    let text = "the function `F` imports `ai.onnx` in version 13 and in version 11";
    refuses(with_imports(r#""": 13"#, r#""ai.onnx": 13, "": 11"#), text);
    // Both names of the operators are changed.
    let mut model = with_imports(r#""": 13, "ai.onnx": 13"#, r#""ai.onnx": 13, "": 13"#);
    convert(&mut model, 12, &ConvertOptions::default()).unwrap();
    let function = model.functions()[0];
    for imports in [&model.info().opset_imports, &model.function(function).opset_imports] {
        let versions = imports.iter().filter(|import| import.domain() == domain::ONNX);
        assert!(versions.clone().count() == 2 && versions.clone().all(|import| import.version() == 12));
    }
}

#[test]
fn imports_of_unknown_versions_are_named() {
    for version in ["29", "0", "-3", "1000000"] {
        let rest =
            format!("imports version {version} of `ai.onnx`, which is not known; versions 1 to 28 are");
        let import = format!(r#""": {version}"#);
        refuses(with_imports(&import, r#""": 13"#), &format!("the model {rest}"));
        refuses(with_imports(r#""": 13"#, &import), &format!("the function `F` {rest}"));
    }
    // A version that is requested is not imported.
    let error = plan(&with_imports(r#""": 13"#, r#""": 13"#), 29, &ConvertOptions::default()).unwrap_err();
    assert!(matches!(error, VersionError::NoVersion(29, 28)), "{error}");
}

#[test]
fn functions_are_converted_if_only_they_import_the_operators() {
    let text = r#"<ir_version: 8, opset_import: ["l": 1]>
        g (float[2, 3] x) => (float[2, 3] y) { y = l.F (x) }
        <domain: "l", opset_import: ["": 18]> F (x) => (y) { y = Softmax <axis = 1> (x) }"#;
    let mut model = parsed(text);
    assert_eq!(imported_version(&model, domain::ONNX), Some(18));
    let converted = convert(&mut model, 11, &ConvertOptions::default()).unwrap();
    assert_eq!(converted.from, 18);
    assert_eq!(model.opset_version(domain::ONNX), None);
    let function = model.functions()[0];
    assert_eq!(model.versions_of(OpsetScope::Function(function)).get(domain::ONNX), Some(11));
    // Nothing imports the operators.
    let text = r#"<ir_version: 8, opset_import: ["l": 1]> g (float[2] x) => (float[2] y) { y = l.F (x) }"#;
    let error = plan(&parsed(text), 11, &ConvertOptions::default()).unwrap_err();
    assert!(matches!(error, VersionError::NotImported), "{error}");
}

#[test]
fn an_implied_import_is_written() {
    let text = r#"<ir_version: 8, opset_import: ["": 1]>
        g (float[2] x) => (float[2] y) { y = Relu (x) }"#;
    let mut old = parsed(text);
    old.info_mut().ir_version = 2;
    old.info_mut().opset_imports.clear();
    let mut newer = old.clone();
    set_ir_version(&mut newer, 8).unwrap();
    assert_eq!((newer.info().opset_imports.len(), newer.opset_version(domain::ONNX)), (1, Some(1)));
    let mut newer = old.clone();
    convert(&mut newer, 13, &ConvertOptions::default()).unwrap();
    assert_eq!((newer.info().opset_imports.len(), newer.opset_version(domain::ONNX)), (1, Some(13)));
    assert_eq!(newer.info().ir_version, 7);
}
