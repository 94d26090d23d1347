//! Targets: what a text must be to be one.

#![allow(clippy::unwrap_used, reason = "a test")]

use onnx_compose::{
    QUANTIZATIONS, Quantization, RulePlace, TARGETS, Target, unsupported, unsupported_in_bodies,
};
use onnx_ir::DeclaredTypes;
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Execution;

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

#[test]
fn a_code_is_not_both_tolerated_and_refused() {
    let text = target(r#""tolerates": ["ONNX2205"], "refuses": ["ONNX2105", "ONNX2205"], "operators": []"#);
    let error = Target::parse(&text).unwrap_err().to_string();
    assert_eq!(error, "the target both tolerates and refuses `ONNX2205`");
}

/// What the target of onnxruntime lacks for a model in text.
fn lacks(text: &str) -> Vec<String> {
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let target = Target::named("onnxruntime").unwrap();
    let found = unsupported(&model, target, &DeclaredTypes, Registry::STANDARD);
    let message = |message: &str| message.strip_prefix("onnxruntime 1.32.0 ").unwrap().to_owned();
    found.diagnostics().iter().map(|found| message(&found.message)).collect()
}

const HEADER: &str = r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3, "com.microsoft": 1]>"#;

/// Only the order of the main graph is repaired by loading.
#[test]
fn order_is_tolerated_in_the_main_graph_only() {
    let in_branch = |nodes: &str, after: &str| {
        format!(
            "{HEADER} g (bool c, float[2] x) => (float[2] y) {{ y = If (c) <then_branch = a () => (float[2] p) {{ {nodes} }}, \
             else_branch = b () => (float[2] q) {{ q = Abs (x) }}> {after} }}"
        )
    };
    let main = |nodes: &str| format!("{HEADER} g (float[2] x) => (float[2] y) {{ {nodes} }}");
    let in_function = |nodes: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[2] x) => (float[2] y) {{ y = my.F (x) }}
            <domain: "my", opset_import: ["": 21]> F (a) => (b) {{ {nodes} }}"#
        )
    };
    let (cycle, order) = ("loads no graph with a cycle", "sorts the nodes of the main graph only");
    let cases = [
        (main("y = Neg (t) t = Abs (x)"), None),
        (main("t = Add (x, t) y = Abs (t)"), Some(cycle)),
        (main("a = Add (x, b) b = Neg (a) y = Abs (b)"), Some(cycle)),
        (main("a = Neg (b) b = Neg (a) y = Abs (x)"), Some(cycle)),
        (in_branch("p = Neg (t)", "t = Abs (x)"), None),
        (in_branch("p = Neg (y)", ""), Some(cycle)),
        (in_branch("p = Neg (t) t = Abs (x)", ""), Some(order)),
        (in_function("b = Abs (t) t = Neg (a)"), Some(order)),
        (in_function("b = Add (t, a) t = Neg (b)"), Some(cycle)),
    ];
    for (text, expected) in cases {
        assert_eq!(lacks(&text), expected.map_or_else(Vec::new, |one| vec![one.to_owned()]), "{text}");
    }
}

/// What is not tolerated of rules that are.
#[test]
fn tolerances_have_limits() {
    let main = |header: &str, rest: &str| format!("<ir_version: 10, opset_import: [{header}]> {rest}");
    let onnx = r#""": 21"#;
    let early = |node: &str| {
        let header = r#""": 21, "ai.onnx.ml": 0"#;
        main(header, &format!("g (float[2] x) => (float[2] y) {{ y = {node} (x) }}"))
    };
    let cases = [
        (main(onnx, "g (float x) => (float y) { y = Neg (x) }"), None),
        (main(onnx, "g (x) => (float[2] y) { y = Neg (x) }"), Some("loads no input without a type")),
        (main(onnx, "g (float[2] x) => (y) { y = Neg (x) }"), None),
        (main(onnx, "g (float[2] x) => () <float[2] w = {1, 2}> { y = Neg (x) }"), None),
        (main(onnx, "g () => (float[2] w) <float[2] w = {1, 2}> { }"), None),
        (
            main(onnx, "g (float[2] x) => () <float[2] w = {1, 2}> { }"),
            Some("loads no graph without outputs and nodes"),
        ),
        (
            main(onnx, "g () => () { y = Constant <value_float = 1.0> () }"),
            Some("loads no graph without outputs and nodes"),
        ),
        (early("Neg"), None),
        (
            early("ai.onnx.ml.Scaler <offset = [1.0], scale = [1.0]>"),
            Some("has no operators of a version below 1"),
        ),
    ];
    for (text, expected) in cases {
        let found = lacks(&text);
        assert!(found.iter().map(String::as_str).eq(expected), "{text}: {found:?}");
    }
    let text = |used: &str| {
        format!(
            r#"<ir_version: 3, opset_import: ["": 9]> g (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ y = Add (x, {used}) }}"#
        )
    };
    assert_eq!(lacks(&text("w")), Vec::<String>::new());
    assert_eq!(lacks(&text("x")), ["loads no initializer without a use before IR version 4"]);
}

#[test]
fn tolerances_have_places() {
    let text = |tolerance: &str| target(&format!(r#""tolerates": [{tolerance}], "operators": []"#));
    let read =
        Target::parse(&text(r#"{"rule": "ONNX2311", "in": ["functions"], "operators": ["Constant"]}"#))
            .unwrap();
    let tolerated = &read.tolerates[0];
    assert_eq!(
        (&*tolerated.places, &*tolerated.operators),
        (&[RulePlace::Functions][..], &["Constant".to_owned()][..])
    );
    assert!(!tolerated.is_everywhere());
    let wrong = |tolerance: &str| Target::parse(&text(tolerance)).unwrap_err().to_string();
    assert!(
        wrong(r#"{"rule": "ONNX2311", "in": ["everywhere"]}"#).contains("there is no place `everywhere`")
    );
    assert!(wrong(r#"{"rule": "ONNX2311"}"#).contains("`ONNX2311` has no places"));
}

/// A body is run only in versions in which none of its operators changed, and its operators need kernels.
#[test]
fn bodies_are_of_the_version_that_is_imported() {
    let model = |version: i64, elem: &str, node: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": {version}]> g ({elem}[2] x) => ({elem}[2] y) {{ y = {node} (x) }}"#
        )
    };
    let (no_leaky, no_relu) = (
        "has no `LeakyRelu` (version 16) for `T` = tensor(double), and runs no body of it in operator set 19",
        "has no `Relu` (version 14) for `T` = tensor(int64), and runs no body of it in operator set 17",
    );
    for (version, elem, node, expected) in [
        (18, "double", "LeakyRelu", None),
        (19, "double", "LeakyRelu", Some(no_leaky)),
        (18, "int64", "Relu", None),
        (17, "int64", "Relu", Some(no_relu)),
    ] {
        let found = lacks(&model(version, elem, node));
        assert!(found.iter().map(String::as_str).eq(expected), "{version} {elem} {node}: {found:?}");
    }
    let in_bodies = |text: &str| -> Vec<String> {
        let model = parse_model(text, &ParseOptions::default()).unwrap();
        let target = Target::named("onnxruntime").unwrap();
        let found = unsupported_in_bodies(&model, target, Registry::STANDARD, &Execution::DEFAULT).unwrap();
        found.diagnostics().iter().map(|found| found.message.clone()).collect()
    };
    // `Erf`, which the body has, has no kernel for it.
    assert_eq!(
        in_bodies(&model(20, "double", "Gelu")),
        ["onnxruntime 1.32.0 has no `Erf` (version 13) for `T` = tensor(double); a body needs it"]
    );
    assert_eq!(in_bodies(&model(20, "float", "Gelu")), Vec::<String>::new());
    let call = |elem: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g ({elem}[2] x) => ({elem}[2] y) {{ y = my.F (x) }}
            <domain: "my", opset_import: ["": 21]> F (a) => (b) {{ b = Erf (a) }}"#
        )
    };
    assert_eq!(in_bodies(&call("double")).len(), 1);
    assert_eq!(in_bodies(&call("float")), Vec::<String>::new());
}

/// What nothing calls is never run; a function that such a one calls neither.
#[test]
fn functions_without_a_call_need_no_kernels() {
    let text = |called: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[2] x) => (float[2] y) {{ y = {called} (x) }}
            <domain: "my", opset_import: ["": 21, "my": 1]> Outer (a) => (b) {{ b = my.Inner (a) }}
            <domain: "my", opset_import: ["": 21]> Inner (a) => (b) {{ b = RegexFullMatch (a) }}
            <domain: "my", opset_import: ["": 21]> Other (a) => (b) {{ b = Neg (a) }}"#
        )
    };
    assert_eq!(lacks(&text("my.Other")), Vec::<String>::new());
    for called in ["my.Outer", "my.Inner"] {
        assert_eq!(lacks(&text(called)), ["has no `RegexFullMatch` without attribute `pattern`"], "{called}");
    }
}

#[test]
fn imports_of_functions_and_of_other_domains_are_bounded() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 2, "com.ms.internal.nhwc": 28, "my": 1, "other": 9]>
        g (float[2] x) => (float[2] y) { y = Neg (x) }
        <domain: "my", opset_import: ["": 29, "ai.onnx.ml": 6]> Unused (a) => (b) { b = Neg (a) }"#;
    assert_eq!(
        lacks(text),
        [
            "reads `com.microsoft` up to version 1, not 2",
            "reads `ai.onnx` up to version 28, not 29",
            "reads `ai.onnx.ml` up to version 5, not 6"
        ]
    );
}

/// Kernels throw where the specification has no demand.
/// A node with these inputs lacks something, or nothing.
fn assert_lacks((inputs, node, expected): (&str, &str, &str)) {
    let text = format!("{HEADER} g ({inputs}) => (y) {{ {node} }}");
    let expected: Vec<&str> = Some(expected).filter(|expected| !expected.is_empty()).into_iter().collect();
    assert_eq!(lacks(&text), expected, "{node}");
}

#[test]
fn nodes_have_what_kernels_demand() {
    let xy = "float[2] x, float[2] z";
    let cases = [
        (xy, "y = Concat <axis = 0> (, z)", "has no `Concat` without input 0"),
        (xy, "y = Concat <axis = 0> (x, , z)", ""),
        (xy, "y = Einsum <equation = \"i,i->i\"> (, z)", "has no `Einsum` without input 0"),
        (xy, "y = Max (, z)", "has no `Max` without input 0"),
        (xy, "y = Max (x, )", ""),
        (xy, "y = SequenceConstruct (x, , z)", "has no `SequenceConstruct` without input 1"),
        ("int32[2] x", "y = Mod <fmod = 2> (x, x)", "has no `Mod` with `fmod` = 2, only 0 or 1"),
        ("int32[2] x", "y = Mod <fmod = 1> (x, x)", ""),
        (
            "float[2] x, int64 a",
            "y = CumSum <reverse = -1> (x, a)",
            "has no `CumSum` with `reverse` = -1, only 0 or 1",
        ),
        (
            "float[3,1,2] x, float[1,4,2] w",
            "y = RNN (x, w, w)",
            "has no `RNN` without attribute `hidden_size`",
        ),
        ("float[3,1,2] x, float[1,2,2] w", "y = RNN <hidden_size = 2> (x, w, w)", ""),
        (
            "float[2,3] x",
            "y = ai.onnx.ml.FeatureVectorizer <inputdimensions: ints = []> (x)",
            "has no `ai.onnx.ml.FeatureVectorizer` without elements of attribute `inputdimensions`",
        ),
        ("float[2,3] x", "y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [3]> (x)", ""),
        (
            "float[2,2] x",
            "y = com.microsoft.FusedGemm (x, x)",
            "has no `com.microsoft.FusedGemm` without attribute `activation`",
        ),
        ("float[2] x", "y = Affine (x)", "has no `Affine` in operator set 21, only up to 9"),
        (
            "float[1,1,8,8] x",
            "y = MaxPool <kernel_shape = [3, 2], pads = [2, 0, 1, 2]> (x)",
            "has no `MaxPool` with `pads` = [2, 0, 1, 2], only below `kernel_shape` = [3, 2]",
        ),
        ("float[1,1,8,8] x", "y = LpPool <kernel_shape = [3, 2], pads = [2, 1, 2, 1]> (x)", ""),
        (
            "float[1,1,8] x",
            "y = AveragePool <auto_pad = \"VALID\", kernel_shape = [1], pads = [0, 1]> (x)",
            "has no `AveragePool` with `pads` = [0, 1], only below `kernel_shape` = [1]",
        ),
        (
            "uint8[1,8,8,8] x",
            "y = com.microsoft.NhwcMaxPool <kernel_shape = [2, 2], pads = [0, 0, 0, 2]> (x)",
            "has no `com.microsoft.NhwcMaxPool` with `pads` = [0, 0, 0, 2], only below `kernel_shape` = [2, 2]",
        ),
    ];
    cases.into_iter().for_each(assert_lacks);
    let text = r#"<ir_version: 4, opset_import: ["": 9]> g (float[2] x) => (float[2] y) { y = Affine (x) }"#;
    assert!(lacks(text).is_empty());
}

#[test]
fn values_ranks_and_types_are_those_that_run() {
    let cases = [
        ("float[1,2,2,2] x", "y = LRN <size = 1> (x)", ""),
        ("float[1,2,2] x", "y = LRN <size = 1> (x)", "has no `LRN` with `X` of rank 3, only 4"),
        (
            "float[1,2,2,2] x",
            "y = LRN <size = 1, beta = -0.5> (x)",
            "has no `LRN` with `beta` = -0.5, only above 0",
        ),
        ("float[2] x", "y = Cast <to = 7, saturate = 1> (x)", ""),
        ("float[2] x", "y = Cast <to = 17, saturate = 0> (x)", ""),
        (
            "double[3,1,2] x, double[1,16,2] w, double[1,16,4] r",
            "y = LSTM <hidden_size = 4> (x, w, r)",
            "has no `LSTM` with `T` = tensor(double)",
        ),
        (
            "float[2,3] x",
            "y = GlobalAveragePool (x)",
            "has no `GlobalAveragePool` with `X` of rank 2, only 3 or 4 or 5",
        ),
        ("float[2,3,4] x", "y = GlobalMaxPool (x)", ""),
        (
            "float[1,1,4] x, float[1,4,1] g",
            "y = GridSample (x, g)",
            "has no `GridSample` with `X` of rank 3, only 4 or 5",
        ),
        ("float[1,1,4,4,4] x, float[1,4,4,4,3] g", "y = GridSample (x, g)", ""),
        (
            "float[1,1,4,4,4] x, float[1,4,4,4,3] g",
            "y = GridSample <mode = \"cubic\"> (x, g)",
            "has no `GridSample` with `X` of rank 5 and `mode` = cubic",
        ),
        ("float[1,1,4,4] x, float[1,4,4,2] g", "y = GridSample <mode = \"cubic\"> (x, g)", ""),
        ("float[] x, float[] g", "y = GridSample <mode = \"cubic\"> (x, g)", ""),
        ("float[2] x, map(int64, float) m", "y = Relu (x)", ""),
        (
            "float[2] x, map(int32, float) m",
            "y = Relu (x)",
            "has no values of the type map(int32, tensor(float))",
        ),
        ("complex64[2] x, float[2] z", "y = Relu (z)", "has no values of the type tensor(complex64)"),
    ];
    cases.into_iter().for_each(assert_lacks);
    let text = format!("{HEADER} g (float[2] x) => (int64[2] y) {{ y = Cast <to = 7, saturate = 0> (x) }}");
    assert_eq!(lacks(&text), ["has no `Cast` with `T2` = tensor(int64) and `saturate` = 0"]);
}

/// A form that keeps a node from running does not matter where the node may never run.
#[test]
fn nodes_that_may_never_run_are_only_loaded() {
    let rank = "has no `GlobalMaxPool` with `X` of rank 2, only 3 or 4 or 5";
    let pads = "has no `MaxPool` with `pads` = [2, 0], only below `kernel_shape` = [2]";
    let run = "e = GlobalMaxPool (x)";
    let load = "e = MaxPool <kernel_shape = [2], pads = [2, 0]> (x)";
    let branch = |ty: &str, node: &str| {
        format!(
            "{HEADER} g ({ty} x, bool c) => (y) {{ y = If (c) <then_branch = t () => (a) {{ a = Identity (x) }}, \
             else_branch = e () => (e) {{ {node} }}> }}"
        )
    };
    assert_eq!(lacks(&branch("float[2,3]", run)), [""; 0]);
    assert_eq!(lacks(&branch("float[1,1,8]", load)), [pads]);
    let linear = "e = Resize <mode = \"linear\"> (x, , s)";
    let scales = |node: &str| {
        let stated = "s = Constant <value_floats = [2.0, 1.0, 2.0, 2.0]> ()";
        branch("float[2,3,8,8]", &format!("{stated} {node}"))
    };
    assert_eq!(lacks(&scales(linear)).len(), 1);
    let sizes = |node: &str| {
        let stated = "s = Constant <value_ints = [4, 3, 16, 16]> ()";
        branch("float[2,3,8,8]", &format!("{stated} {node}"))
    };
    assert_eq!(lacks(&sizes("e = Resize <mode = \"linear\"> (x, , , s)")), [""; 0]);
    // The body of a function runs if its call does.
    let function = "<ir_version: 10, opset_import: [\"\": 21, \"d\": 1]>
        g (float[2,3] x, bool c) => (y) { CALL }
        <domain: \"d\", opset_import: [\"\": 21]> F (x) => (y) {
            z = Constant <value = float[2,3] {1, 2, 3, 4, 5, 6}> () y = GlobalMaxPool (z)
        }";
    let within = "y = If (c) <then_branch = t () => (a) { a = Identity (x) }, else_branch = e () => (e) { e = d.F (x) }>";
    let lacking = |call: &str| {
        let model = parse_model(function.replace("CALL", call), &ParseOptions::default()).unwrap();
        let target = Target::named("onnxruntime").unwrap();
        let types = infer(&model, &InferOptions::default());
        let own = unsupported(&model, target, &types, Registry::STANDARD).diagnostics().len();
        let bodies =
            unsupported_in_bodies(&model, target, Registry::STANDARD, &Execution::default()).unwrap();
        (own, bodies.diagnostics().iter().map(|found| found.message.clone()).collect::<Vec<_>>())
    };
    assert_eq!(lacking(within), (0, Vec::new()));
    let (own, bodies) = lacking("y = d.F (x)");
    assert!(own + bodies.len() > 0 && bodies.iter().all(|message| message.contains(rank)), "{bodies:?}");
}

/// A cast to another type is a node of the operator set of the model.
#[test]
fn casts_need_a_kernel() {
    let lacking = "has no `Pad` (version 2) for `T` = tensor(float16)";
    for (version, expected) in [(2, vec![lacking]), (5, vec![lacking]), (6, vec![])] {
        let text = format!(
            "<ir_version: 4, opset_import: [\"\": {version}]> g (float16[4,2] x) => (float16[5,3] y) {{
                y = Pad <pads = [0, 0, 1, 1]> (x)
            }}"
        );
        assert_eq!(lacks(&text), expected, "{version}");
    }
}

/// The shapes that a body declares for its inputs are not merged with those that they get.
#[test]
fn bodies_declare_the_shapes_that_they_get() {
    let scan = |axes: &str, state: &str, element: &str| {
        format!(
            "{HEADER} g (float[2] h, float[3,2] x) => (float[2] y) {{ y = Scan <num_scan_inputs = 1 {axes}, \
             body = b (float[{state}] s, float[{element}] e) => (float[2] so) {{ so = Identity (s) }}> (h, x) }}"
        )
    };
    let looped = |given: &str, index: &str, condition: &str, state: &str| {
        format!(
            "{HEADER} g (int64 n, bool{given} c, float[2] x) => (float[2] y) {{ y = Loop (n, c, x) <body = \
             b (int64{index} i, bool{condition} ci, float[{state}] s) => (bool co, float[2] so) {{ co = Identity (ci) so = Neg (s) }}> }}"
        )
    };
    let map = |element: &str, other: &str| {
        format!(
            "{HEADER} g (seq(float[2]) s, float[3] x) => (seq(float[2]) y) {{ y = SequenceMap (s, x) <body = \
             b (float[{element}] e, float[{other}] u) => (float[2] o) {{ o = Neg (e) }}> }}"
        )
    };
    let message = |operator, index| {
        vec![format!(
            "has no `{operator}` whose body declares another shape for its input {index} than it gets"
        )]
    };
    let cases = [
        (scan("", "2", "2"), vec![]),
        (scan("", "N", "2"), vec![]),
        (scan("", "5", "2"), message("Scan", 0)),
        (scan("", "2,1", "2"), message("Scan", 0)),
        (scan("", "2", "4"), message("Scan", 1)),
        (scan(", scan_input_axes = [1]", "2", "3"), vec![]),
        (scan(", scan_input_axes = [-1]", "2", "2"), message("Scan", 1)),
        (looped("", "", "", "2"), vec![]),
        (looped("", "[1]", "", "5"), vec![]),
        (looped("[1]", "", "", "2"), message("Loop", 1)),
        (looped("[1]", "", "[2]", "2"), message("Loop", 1)),
        (map("2", "3"), vec![]),
        (map("3", "3"), message("SequenceMap", 0)),
        (map("2", "4"), message("SequenceMap", 1)),
    ];
    for (text, expected) in cases {
        assert_eq!(lacks(&text), expected, "{text}");
    }
}

/// A runtime registers the operators of no preview, whether the standard has bodies of them or not.
#[test]
fn operators_of_previews_are_compared() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview": 1]>
        g (float[1,2,3,4] q) => (float[1,2,3,4] y) { y = ai.onnx.preview.FlexAttention (q, q, q) }"#;
    assert_eq!(lacks(text), ["has no operator `ai.onnx.preview.FlexAttention` (version 1)"]);
}

/// Parts of targets, and the errors.
const MISTAKES: &[(&str, &str)] = &[
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
        r#""operators": [{"name": "LSTM", "requires": {"attributes": ["hiden_size"]}}]"#,
        "`LSTM` has no attribute `hiden_size`; did you mean `hidden_size`?",
    ),
    (
        r#""operators": [{"name": "LSTM", "requires": {"nonempty": ["activation"]}}]"#,
        "`LSTM` has no attribute `activation`; did you mean `activations`?",
    ),
    (
        r#""operators": [{"name": "Mod", "requires": {"values": {"zzz": [0]}}}]"#,
        "`Mod` has no attribute `zzz`",
    ),
    (
        r#""operators": [{"name": "MaxPool", "requires": {"below": {"pads": "kernel_shap"}}}]"#,
        "`MaxPool` has no attribute `kernel_shap`; did you mean `kernel_shape`?",
    ),
    (
        r#""operators": [{"name": "MaxPool", "requires_to_run": {"ranks": {"Z": [4]}}}]"#,
        "`MaxPool` has no operand `Z`",
    ),
    (
        r#""operators": [{"name": "MaxPool", "requires": {"excludes": [{"Z": [4]}]}}]"#,
        "`MaxPool` has no attribute, variable or operand `Z`",
    ),
    (
        r#""operators": [{"name": "Relu", "requires": {"operands": "first"}}]"#,
        "`Relu` has no list of operands",
    ),
    (r#""operators": [{"name": "Max", "requires": {"operands": "last"}}]"#, "unknown variant `last`"),
    (r#""operators": [{"name": "Max", "requires": {"operand": "all"}}]"#, "unknown field `operand`"),
    (
        r#""operators": [{"name": "Relu", "kernels": [{"since": 13, "types": [{"X2": ["tensor(float)"]}]}]}]"#,
        "`Relu` has no type variable `X2`, but `T`, from version 13 on",
    ),
];

/// A misspelled name would be something that the target lacks.
#[test]
fn misspelled_names_are_errors_with_their_line() {
    for (parts, expected) in MISTAKES {
        let error = Target::parse(&target(parts)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("at line 2"), "{parts}: {error}");
    }
}
