//! Rules of other crates.
#![allow(clippy::unwrap_used, reason = "a test")]
use onnx_check::{CheckOptions, CustomRule, Part, Profile, check, check_part};
use onnx_diag::{Reference, Rule, Severity};
use onnx_ir::Model;
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Limits;

static RELU: Rule = Rule::new(1, "relu-used", Severity::Warning, "A node is a Relu.").with_prefix("ACME");
static ENFORCED: Rule = RELU.with_reference(Reference::Enforced);
static FUNCTIONS: Rule =
    Rule::new(2, "functions-used", Severity::Note, "A model has functions.").with_prefix("ACME");

const TEXT: &str = r#"<ir_version: 10, opset_import: ["": 20, "f": 1]>
g (bool c, float[N] x) => (float[N] y) {
   a = Relu (x)
   b = If (c) <then_branch = t () => (float[N] u) { u = Relu (a) }, else_branch = e () => (float[N] v) { v = Abs (a) }>
   y = f.Twice (b)
}
<domain: "f", opset_import: ["": 20]>
Twice (p) => (q) { r = Relu (p)  q = Add (r, r) }
"#;

fn model() -> Model {
    parse_model(TEXT, &ParseOptions::default()).unwrap()
}

fn relu(rule: &'static Rule) -> CustomRule {
    CustomRule::for_nodes(rule, |cx, node| {
        if cx.model().node(node).is(onnx_schema::op::RELU) {
            cx.report_node(node, "the node is a Relu");
        }
    })
}

fn options(rule: &'static Rule) -> CheckOptions {
    let functions = CustomRule::for_models(&FUNCTIONS, |cx| {
        let count = cx.model().functions().len();
        if count > 0 {
            cx.report(
                |_| onnx_diag::Locus::model(),
                format!("{count} functions"),
                |found| found.help("inline them"),
            );
        }
    });
    CheckOptions::default().with_rules([relu(rule)]).with_rules([functions])
}

fn found(sink: &onnx_diag::Sink) -> Vec<String> {
    let acme = sink.diagnostics().iter().filter(|found| found.rule.prefix == "ACME");
    acme.map(|found| format!("{} {} {}", found.rule.id(), found.locus, found.message)).collect()
}

#[test]
fn nodes_of_all_graphs_are_visited() {
    let sink = check(&model(), &options(&RELU));
    assert_eq!(
        found(&sink),
        [
            r#"ACME0001 graph "g" / node #0 Relu the node is a Relu"#,
            r#"ACME0001 graph "g" / node #1 If / attribute "then_branch" / graph "t" / node #0 Relu the node is a Relu"#,
            r#"ACME0001 function "Twice" of domain "f" / node #0 Relu the node is a Relu"#,
            "ACME0002 model 1 functions",
        ]
    );
    assert!(
        sink.diagnostics().iter().all(|found| found.rule.prefix == "ACME" && found.beyond_reference),
        "{sink:?}"
    );
}

#[test]
fn limits_severities_and_profiles_apply() {
    let model = model();
    let limits = Limits { findings_per_rule: 2, ..Limits::DEFAULT };
    let sink = check(&model, &options(&RELU).with_limits(limits));
    assert_eq!((found(&sink).len(), sink.dropped()), (3, 1));
    let policy = onnx_diag::Policy::new().allow(&RELU);
    assert_eq!(found(&check(&model, &options(&RELU).with_policy(policy))).len(), 1);
    let reference = |rule| found(&check(&model, &options(rule).with_profile(Profile::Reference))).len();
    assert_eq!((reference(&RELU), reference(&ENFORCED)), (0, 3));
}

#[test]
fn parts_have_their_nodes_only() {
    let model = model();
    let node = model.nodes(model.main_graph()).next().unwrap();
    let count = |part| found(&check_part(&model, part, &options(&RELU))).len();
    assert_eq!((count(Part::Node(node)), count(Part::Graph), count(Part::Inputs)), (1, 2, 0));
    assert_eq!(count(Part::Function(model.functions()[0])), 1);
}
