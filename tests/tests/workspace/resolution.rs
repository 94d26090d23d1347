//! Which operator set version applies to a node: inference and the checker decide as the reference does, for imports that
//! are duplicate, missing, written as `""` and `ai.onnx`, of the model and of a function.

use onnx_check::{CheckOptions, check};
use onnx_ir::Callee;
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Dim;

/// What the reference says: recorded by `tests/conformance/resolution.py`, which explains the columns.
const CASES: &str = include_str!("resolution_cases.txt");

struct Case<'a> {
    ir_version: &'a str,
    is_in_body: bool,
    imports: String,
    is_attribute: bool,
    is_accepted: bool,
    is_known: bool,
}

fn case(line: &str) -> Option<Case<'_>> {
    let columns: Vec<&str> = line.split(' ').collect();
    let [ir_version, place, imports, form, verdict, shape] = columns[..] else { return None };
    let import = |import: &str| {
        let (domain, version) = import.split_once(':')?;
        Some(format!("\"{}\": {version}", if domain == "-" { "" } else { domain }))
    };
    let imports = imports.split(',').filter(|&written| written != "none").map(import);
    Some(Case {
        ir_version,
        is_in_body: place == "body",
        imports: imports.collect::<Option<Vec<_>>>()?.join(", "),
        is_attribute: form == "attribute",
        is_accepted: verdict == "accepted",
        is_known: shape == "known",
    })
}

impl Case<'_> {
    fn text(&self) -> String {
        let (version, imports) = (self.ir_version, &self.imports);
        let node = if self.is_attribute { "y = Reshape <shape = [3, 2]> (x)" } else { "y = Reshape (x, s)" };
        let graph = |imports: &str, inputs: &str, node: &str| {
            format!(
                "<ir_version: {version}, opset_import: [{imports}]>\n\
                 g (float[2, 3] x{inputs}) => (float[a, b] y) <int64[2] s = {{3, 2}}> {{ {node} }}\n"
            )
        };
        if self.is_in_body {
            let model = graph("\"\": 13, \"d\": 1", "", "y = d.F (x, s)");
            format!("{model}<domain: \"d\", opset_import: [{imports}]>\nF (x, s) => (y) {{ {node} }}\n")
        } else {
            graph(imports, if version == "2" { ", int64[2] s" } else { "" }, node)
        }
    }
}

#[test]
fn checker_and_inference_decide_as_the_reference() {
    let mut count = 0;
    for line in CASES.lines() {
        let case = case(line).unwrap();
        let model = parse_model(case.text(), &ParseOptions::default()).unwrap();
        let node = if case.is_in_body {
            let body = model.function(model.functions()[0]).body();
            model.nodes(body).next().unwrap()
        } else {
            model.nodes(model.main_graph()).next().unwrap()
        };
        let registry = Registry::standard();
        let callee = model.callee(node, &registry);
        let since = callee.standard().map(|schema| schema.since_version());
        let is_imported = !matches!(callee, Callee::NotImported);
        let findings = check(&model, &CheckOptions::default());
        let output = model.graph(model.main_graph()).outputs()[0].value();
        let inference = infer(&model, &InferOptions::default());
        let is_inferred = inference.shape(output) == Some(&[Dim::Known(3), Dim::Known(2)][..]);

        // The form decides which versions have a rule for the node: 1 for the attribute, 5 for the operand.
        assert_eq!(is_inferred, since == Some(if case.is_attribute { 1 } else { 5 }), "{line}");
        if !case.is_attribute {
            assert_eq!(is_inferred, case.is_known, "{line}");
        }
        let has = |slug: &str| findings.diagnostics().iter().any(|finding| finding.rule.slug == slug);
        // One finding covers all nodes of a model without any import.
        let is_reported = has("domain-not-imported") || has("opset-import-missing");
        // In a function, the reference's inference reads the name `ai.onnx` as the empty one, its checker does not.
        let is_alias = case.is_in_body && is_imported && !case.imports.contains("\"\":");
        assert_eq!(is_reported, !is_imported || is_alias, "{line}");
        // The reference refuses bodies at other versions than the model's, and models older than imports that have some.
        if !case.is_in_body && case.ir_version != "2" {
            assert_eq!(findings.has_errors(), !case.is_accepted, "{line}");
        }
        count += 1;
    }
    assert_eq!(count, 372);
}
