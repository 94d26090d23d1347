//! Reasons of refusals: what they name is in the model, and their help is possible there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_text::{ParseOptions, parse_model};
use onnx_version::{Cause, ConvertOptions, VersionError, convert};

/// The error of a conversion, with the help of the first diagnostic.
fn refused(text: &str, to: i64) -> (VersionError, String) {
    let mut model =
        parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let error = convert(&mut model, to, &ConvertOptions::default()).unwrap_err();
    let found = error.findings(&model);
    let help = found.diagnostics().first().and_then(|found| found.help.clone());
    (error, help.unwrap_or_default())
}

#[track_caller]
fn refuses(graph: &str, (from, to): (i64, i64), cause: Cause, message: &str) {
    let text = format!("<ir_version: 8, opset_import: [\"\": {from}, \"custom\": 1]>\n{graph}");
    let (error, help) = refused(&text, to);
    let VersionError::Refused(refusals) = error else { panic!("{error}") };
    let refusal = refusals.first().unwrap();
    assert_eq!((refusal.reason.cause(), refusal.to_string().as_str()), (cause, message));
    assert_eq!(help, cause.help());
}

#[test]
fn the_step_of_an_operator_gives_the_reason_and_not_its_body() {
    let clip = "g (float[2] x, float a) => (float[2] y) { t = custom.Unknown (x) y = Clip (t, a) }";
    let text =
        "`Clip` cannot be converted to version 12: the type of `t` is unknown, and version 12 allows fewer";
    refuses(clip, (13, 12), Cause::TypeUnknown, text);
    let prelu = "g (float[2] x) => (float[2] y) { t = custom.Unknown (x) y = PRelu (t, x) }";
    let text =
        "`PRelu` cannot be converted to version 15: the type of `t` is unknown, and version 15 allows fewer";
    refuses(prelu, (16, 15), Cause::TypeUnknown, text);
}

#[test]
fn bodies_that_depend_on_unknown_types_are_refused_for_these() {
    let graph = "g (float[2] x) => (float[2] y) { t = custom.Unknown (x) y = CastLike (x, t) }";
    let text =
        "`CastLike` cannot be converted to version 14: the element type of input `target_type` is not known";
    refuses(graph, (15, 14), Cause::TypeUnknown, text);
}

#[test]
fn functions_are_inlined_where_operands_are_unknown() {
    let inline = "inline the function first, with `onnx inline`";
    let twice = r#"<ir_version: 8, opset_import: ["": 13, "my": 1]>
        g (float[2, 3] x, float[2, 3, 4] z) => (float[2, 3] y, float[2, 3, 4] w) { y = my.F (x) w = my.F (z) }
        <domain: "my", opset_import: ["": 13]> F (p) => (q) { q = Hardmax <axis = 0> (p) }"#;
    assert_eq!(refused(twice, 12).1, inline);
    let axes = r#"<ir_version: 8, opset_import: ["": 13, "my": 1]>
        g (float[2, 3] x) => (float[3] y) <int64[1] a = {0}> { y = my.F (x, a) }
        <domain: "my", opset_import: ["": 13]> F (p, axes) => (q) { q = ReduceSum <keepdims = 0> (p, axes) }"#;
    assert_eq!(refused(axes, 12).1, inline);
    let later = r#"<ir_version: 9, opset_import: ["": 17]>
        g (float[2, 3] x) => (float[2, 3] y) { y = Gelu (x) }
        <domain: "", opset_import: ["": 17]> Gelu (p) => (q) { q = Neg (p) }"#;
    assert_eq!(refused(later, 20).1, inline);
}

#[test]
fn operator_sets_without_known_versions_are_named() {
    let text = r#"<ir_version: 8, opset_import: ["": 13, "com.example": 1]>
        g (float[2] x) => (float[2] y) { y = com.example.F (x) }"#;
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let domain = model.intern("com.example");
    let options = ConvertOptions::default().with_domain(domain);
    let error = convert(&mut model, 2, &options).unwrap_err();
    let expected = "no versions of the operator set `com.example` are known, so it has no steps between them";
    assert_eq!(error.to_string(), expected);
    let absent = model.intern("com.absent");
    let options = ConvertOptions::default().with_domain(absent);
    assert!(matches!(convert(&mut model, 2, &options), Err(VersionError::NotImported)));
}

#[test]
fn scales_for_each_channel_are_not_taken_for_those_of_groups() {
    let graph = "g (float[1, 4, 2] x, float[4] s, float[2] b) => (float[1, 4, 2] y) {
                   y = GroupNormalization <num_groups = 2> (x, s, b) }";
    let text = "`GroupNormalization` cannot be converted to version 21: scale and bias have not one element for each group, as \
                version 18 takes them; if they have one for each channel, `onnx edit --import 21` is the repair";
    refuses(graph, (18, 21), Cause::Meaning, text);
    let bias = graph.replace("float[4] s, float[2] b", "float[2] s, float[4] b");
    refuses(&bias, (18, 21), Cause::Meaning, text);
}
