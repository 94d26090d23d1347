//! Targets: which nodes that scale axes a runtime cannot load or cannot run.

#![allow(clippy::unwrap_used, reason = "a test")]

use onnx_compose::{Target, unsupported};
use onnx_ir::DeclaredTypes;
use onnx_schema::Registry;
use onnx_text::{ParseOptions, parse_model};

/// What the target of onnxruntime lacks for a model in text, without the name of the runtime.
fn lacks(text: &str) -> Vec<String> {
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let target = Target::named("onnxruntime").unwrap();
    let found = unsupported(&model, target, &DeclaredTypes, Registry::STANDARD);
    let start = format!("onnxruntime {} has ", target.version);
    let messages = found.diagnostics().iter();
    messages.map(|found| found.message.strip_prefix(&start).unwrap_or(&found.message).to_owned()).collect()
}

fn assert_lacks(text: &str, expected: Option<&str>) {
    assert_eq!(lacks(text), expected.into_iter().collect::<Vec<_>>(), "{text}");
}

const HEADER: &str = "<ir_version: 10, opset_import: [\"\": 21]>";
const LINEAR: &str = "only [*, *] or [*, *, *] or [1, 1, *, *] or [1, *, *, 1] or [1, 1, *, *, *]";
const CUBIC: &str = "only [*, *] or [1, 1, *, *] or [1, >=1, >=1, 1]";

fn scaled(ty: &str, attributes: &str, scales: &str) -> String {
    format!(
        "{HEADER} g ({ty} x) => (y) {{
            s = Constant <value_floats = {scales}> () y = Resize <{attributes}> (x, , s)
        }}"
    )
}

fn sized(ty: &str, attributes: &str, sizes: &str) -> String {
    format!(
        "{HEADER} g ({ty} x) => (y) {{
            s = Constant <value_ints = {sizes}> () y = Resize <{attributes}> (x, , , s)
        }}"
    )
}

/// Kernels compare constant scales when they are made.
#[test]
fn scales_have_the_forms_that_kernels_have() {
    let linear = |scales: &str| format!("no `Resize` with `mode` = linear and scales {scales}, {LINEAR}");
    let cubic = |scales: &str| format!("no `Resize` with `mode` = cubic and scales {scales}, {CUBIC}");
    for (attributes, scales, expected) in [
        ("mode = \"linear\"", "[0.5, 2.0, 2.0, 2.0]", Some(linear("[0.5, 2, 2, 2]"))),
        ("mode = \"linear\"", "[0.93, 1.06, 1.18, 1.0]", Some(linear("[0.93, 1.06, 1.18, 1]"))),
        ("mode = \"linear\"", "[1.0, 1.0, 2.0, 0.5]", None),
        ("mode = \"linear\"", "[1.0, 2.0, 0.5, 1.0]", None),
        ("mode = \"linear\"", "[1.0, 1.0, 2.0, 2.0, 2.0]", None),
        ("mode = \"linear\"", "[2.0]", Some(linear("[2]"))),
        ("mode = \"cubic\"", "[1.0, 1.0, 2.0, 2.0, 2.0]", Some(cubic("[1, 1, 2, 2, 2]"))),
        ("mode = \"cubic\"", "[1.0, 1.0, 2.0, 0.5]", None),
        ("mode = \"cubic\"", "[1.0, 2.0, 1.0, 1.0]", None),
        ("mode = \"cubic\"", "[1.0, 2.0, 0.5, 1.0]", Some(cubic("[1, 2, 0.5, 1]"))),
        ("mode = \"cubic\", antialias = 1", "[1.0, 2.0, 0.5, 1.0]", None),
        ("mode = \"nearest\"", "[2.0, 2.0, 2.0, 2.0]", None),
        ("mode = \"nearest\"", "[2.0]", None),
        ("mode = \"linear\", axes = [2, -1]", "[2.0, 2.0]", None),
        ("mode = \"linear\", axes = [0, -1]", "[2.0, 3.0]", Some(linear("[2, 1, 1, 3]"))),
    ] {
        assert_lacks(&scaled("float[2,3,4,4]", attributes, scales), expected.as_deref());
    }
    let computed = format!(
        "{HEADER} g (float[2,3,4,4] x, float[4] s) => (y) {{ y = Resize <mode = \"linear\"> (x, , s) }}"
    );
    assert_lacks(&computed, None);
}

/// Constant sizes are scales as far as the sizes of the operand are known, and every run compares them.
#[test]
fn sizes_have_the_forms_that_kernels_have() {
    let linear = |scales: &str| format!("no `Resize` with `mode` = linear and scales {scales}, {LINEAR}");
    let cubic = |scales: &str| format!("no `Resize` with `mode` = cubic and scales {scales}, {CUBIC}");
    for (ty, attributes, sizes, expected) in [
        ("float[2,3,8,8]", "mode = \"linear\"", "[4, 3, 16, 16]", Some(linear("[2, 1, 2, 2]"))),
        ("float[2,3,8,8]", "mode = \"linear\"", "[2, 3, 16, 4]", None),
        ("float[n,3,8,8]", "mode = \"linear\"", "[4, 3, 16, 16]", None),
        ("float[n,3,8,8]", "mode = \"linear\"", "[4, 6, 16, 16]", Some(linear("[*, 2, 2, 2]"))),
        ("float[1,1,a,b,c]", "mode = \"cubic\"", "[1, 1, 8, 8, 8]", Some(cubic("[1, 1, *, *, *]"))),
        ("float", "mode = \"cubic\"", "[1, 1, 8, 8, 8]", Some(cubic("[*, *, *, *, *]"))),
        ("float[2,4,4,3]", "mode = \"cubic\"", "[2, 8, 2, 3]", Some(cubic("[1, 2, 0.5, 1]"))),
        ("float[2,4,4,3]", "mode = \"cubic\", axes = [1, 2]", "[8, 8]", None),
        ("float[2,4,4,3]", "mode = \"nearest\"", "[4, 8, 8, 6]", None),
        (
            "float[2,4,4,3]",
            "mode = \"linear\", keep_aspect_ratio_policy = \"not_larger\"",
            "[4, 4, 8, 6]",
            None,
        ),
        (
            "float[2,4,4,3]",
            "mode = \"linear\", keep_aspect_ratio_policy = \"not_smaller\"",
            "[2, 4, 8, 3]",
            Some(linear("[2, 2, 2, 2]")),
        ),
    ] {
        assert_lacks(&sized(ty, attributes, sizes), expected.as_deref());
    }
}

#[test]
fn attributes_of_resize_are_compared_together() {
    for (attributes, expected) in [
        ("antialias = 1", Some("`antialias` = 1 and `mode` = nearest")),
        ("mode = \"nearest\", antialias = 0", None),
        ("mode = \"linear\", antialias = 1", None),
        ("mode = \"linear\", antialias = 1, exclude_outside = 1", None),
        ("mode = \"linear\", exclude_outside = 1", Some("`exclude_outside` = 1 and `mode` = linear")),
        ("exclude_outside = 1", Some("`exclude_outside` = 1 and `mode` = nearest")),
        ("mode = \"cubic\", exclude_outside = 1", None),
    ] {
        let expected = expected.map(|with| format!("no `Resize` with {with}"));
        assert_lacks(&scaled("float[1,3,4,4]", attributes, "[1.0, 1.0, 2.0, 2.0]"), expected.as_deref());
    }
    let before_antialias = "<ir_version: 7, opset_import: [\"\": 13]> g (float[2,2] x) => (y)
        <float[2] s = {2, 2}> { y = Resize <mode = \"linear\", exclude_outside = 1> (x, , s) }";
    let expected = "no `Resize` with `exclude_outside` = 1 and `mode` = linear";
    assert_lacks(before_antialias, Some(expected));
}

/// Integers are interpolated as `float`, which every run refuses that has something to compute.
#[test]
fn cubic_interpolation_of_integers_is_not_run() {
    let expected = "no `Resize` with `T1` = tensor(uint8) and `mode` = cubic and scales [1, 1, 2, 2], only [1, >1, >=1, 1]";
    let cubic = "mode = \"cubic\"";
    assert_lacks(&scaled("uint8[1,3,4,4]", cubic, "[1.0, 1.0, 2.0, 2.0]"), Some(expected));
    assert_lacks(&sized("uint8[1,3,4,4]", cubic, "[1, 3, 8, 8]"), Some(expected));
    assert_lacks(&scaled("uint8[1,3,4,4]", "mode = \"cubic\", antialias = 1", "[1.0, 1.0, 2.0, 2.0]"), None);
    assert_lacks(&scaled("uint8[1,3,4,4]", "mode = \"linear\"", "[1.0, 1.0, 2.0, 2.0]"), None);
    assert_lacks(&scaled("uint8[1,4,4,3]", cubic, "[1.0, 2.0, 2.0, 1.0]"), None);
    assert_lacks(&scaled("float16[1,3,4,4]", cubic, "[1.0, 1.0, 2.0, 2.0]"), None);
    // Nothing is computed if no size changes, or one becomes 0.
    for (from, scales, to) in [
        ("[1,3,4,4]", "[1.0, 1.0, 1.0, 1.0]", "[1,3,4,4]"),
        ("[1,3,4,4]", "[1.0, 1.0, 2.0, 0.1]", "[1,3,8,0]"),
        ("[n,3,h,w]", "[1.0, 1.0, 1.0, 1.0]", "[n,3,h,w]"),
        ("[n,3,h,w]", "[1.0, 1.0, 2.0, 0.1]", "[n,3,a,b]"),
    ] {
        let text = scaled(&format!("uint8{from}"), cubic, scales).replace("(y)", &format!("(uint8{to} y)"));
        assert_lacks(&text, None);
    }
    assert_lacks(&scaled("uint8[n,3,h,w]", cubic, "[1.0, 1.0, 2.0, 2.0]"), Some(expected));
}

#[test]
fn upsampling_does_not_make_axes_smaller() {
    let upsample = |version: i64, scales: &str, node: &str| {
        format!(
            "<ir_version: 4, opset_import: [\"\": {version}]> g (float[2,3,4,4] x) => (y) <float[4] s = {{{scales}}}> {{ {node} }}"
        )
    };
    for text in [
        upsample(9, "1, 2, 2, 2", "y = Upsample <mode = \"linear\"> (x, s)"),
        upsample(10, "1, 2, 2, 2", "y = Resize <mode = \"linear\"> (x, s)"),
        upsample(7, "1, 2, 2, 2", "y = Upsample <mode = \"linear\", scales = [1.0, 2.0, 2.0, 2.0]> (x)"),
    ] {
        let found = lacks(&text);
        assert!(found.len() == 1 && found[0].contains("and scales [1, 2, 2, 2], only"), "{text}: {found:?}");
    }
    let smaller = upsample(9, "1, 1, 0.5, 2", "y = Upsample (x, s)");
    let expected = "no `Upsample` with scales [1, 1, 0.5, 2], only scales of at least 1";
    assert_lacks(&smaller, Some(expected));
    assert_lacks(&upsample(10, "1, 1, 0.5, 2", "y = Resize (x, s)"), None);
}
