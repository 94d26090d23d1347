//! Targets: what a text must be to be one.

use onnx_compose::{QUANTIZATIONS, Quantization, TARGETS, Target, unsupported};
use onnx_ir::DeclaredTypes;
use onnx_schema::Registry;
use onnx_text::{ParseOptions, parse_model};

fn target(parts: &str) -> String {
    format!("{{\"schema\": \"onnx-target/1\", \"name\": \"t\", \"version\": \"1\",\n{parts}}}")
}

#[test]
fn targets_of_the_crate_are_read() {
    for (name, _) in TARGETS {
        let target = Target::named(name).unwrap();
        assert!(!target.operators.is_empty() && target.name == *name, "{name}");
        assert_eq!(target.idioms.len(), 1, "{name}");
    }
}

#[test]
fn tables_of_quantization_are_read() {
    for (name, _) in QUANTIZATIONS {
        let table = Quantization::named(name).unwrap();
        assert!(table.operator("Conv").is_some() && !table.activations.is_empty(), "{name}");
    }
    assert_eq!(Quantization::named("none"), None);
    assert!(Target::named("onnxruntime").unwrap().quantization.is_some());
}

#[test]
fn the_default_domain_has_two_names() {
    let text = target(
        r#""opset": {"ai.onnx": 17}, "operators": [{"domain": "ai.onnx", "name": "Relu", "kernels": [{"since": 6}]}]"#,
    );
    let text_model =
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[2] x) => (float[2] y) { y = Relu (x) }"#;
    let model = parse_model(text_model, &ParseOptions::default()).unwrap();
    let found = unsupported(&model, &Target::parse(&text).unwrap(), &DeclaredTypes, Registry::STANDARD);
    let messages: Vec<&str> = found.diagnostics().iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages, ["t 1 reads `ai.onnx` up to version 17, not 20"]);
}

/// A misspelled name would be something that the target lacks.
#[test]
fn misspelled_names_are_errors_with_their_line() {
    let cases = [
        (r#""operator": []"#, "unknown field `operator`"),
        (
            r#""opset": {"": 1, "ai.onnx": 2}, "operators": []"#,
            "`ai.onnx` and the empty text are the same domain",
        ),
        (
            r#""casts": [["tensor(float16)", "float"]], "operators": []"#,
            "`tensor(float16)` is not an element type",
        ),
        (r#""operators": [{"name": "Rellu"}]"#, "ONNX has no operator `Rellu`; did you mean `Relu`?"),
        (r#""operators": [{"name": "Relu"}, {"name": "Relu", "domain": ""}]"#, "`Relu` is listed twice"),
        (r#""operators": [{"name": "Relu", "kernel": []}]"#, "unknown field `kernel`"),
        (
            r#""operators": [{"name": "Relu", "kernels": [{"since": 13, "until": 6}]}]"#,
            "`Relu` has a kernel until version 6, but since 13",
        ),
        (
            r#""operators": [{"name": "Relu", "kernels": [{"since": 13, "types": [{"T": ["float"]}]}]}]"#,
            "`float` of `Relu` is not a type; types are written `tensor(float)`",
        ),
        (
            r#""operators": [{"name": "Relu", "kernels": [{"since": 13, "types": [{"T": ["seq(tensor(flaot))"]}]}]}]"#,
            "`seq(tensor(flaot))` of `Relu` is not a type",
        ),
        (
            r#""quantization": {"activations": ["int8"], "weights": ["flaot"], "operators": []}, "operators": []"#,
            "`flaot` is not an element type",
        ),
        (
            r#""quantization": {"activations": [], "weights": [], "operators": [{"name": "Konv"}]}, "operators": []"#,
            "ONNX has no operator `Konv`; did you mean `Conv`?",
        ),
        (
            r#""quantization": {"activations": [], "weights": [], "operators": [{"name": "Conv"}, {"name": "Conv"}]}, "operators": []"#,
            "`Conv` is listed twice",
        ),
        (
            r#""operators": [{"name": "Relu", "kernels": [{"since": 13, "types": [{"X2": ["tensor(float)"]}]}]}]"#,
            "`Relu` has no type variable `X2`, but `T`, from version 13 on",
        ),
    ];
    for (parts, expected) in cases {
        let error = Target::parse(&target(parts)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("at line 2"), "{parts}: {error}");
    }
}
