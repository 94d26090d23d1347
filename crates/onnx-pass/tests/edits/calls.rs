//! Inlining and outlining of functions.

use onnx_ir::{Model, NodeId};
use onnx_pass::passes::Report;
use onnx_pass::{Exactness, Level, PassCx, PassOptions, Patch};
use onnx_schema::Registry;

use crate::{bytes, commits, maker, parse, refuses};

/// The nodes of the main graph, one a line.
fn nodes(model: &Model) -> Vec<String> {
    let mut model = model.clone();
    for function in model.functions().to_vec() {
        model.remove_function(function).unwrap();
    }
    crate::nodes(&model)
}

/// Inlines all calls of functions in the main graph and in nested graphs.
fn inline_all(cx: &mut PassCx<'_>) -> Report {
    let is_call = |model: &Model, node: NodeId| model.callee(node, Registry::STANDARD).function().is_some();
    cx.rewrite_nodes("inline", Exactness::Exact, is_call, |patch, node| patch.inline_call(node))
}

/// Inlines everything and checks the nodes of the main graph, the reasons for calls that remain, and the verdicts.
#[track_caller]
fn check(text: &str, expected: &[&str], missed: &[&str]) -> Model {
    check_with(PassOptions::default(), text, expected, missed)
}

#[track_caller]
fn check_with(options: PassOptions<'_>, text: &str, expected: &[&str], missed: &[&str]) -> Model {
    let mut model = parse(text);
    let errors = |model: &Model| {
        let findings = onnx_check::check(model, &onnx_check::CheckOptions::default());
        findings.diagnostics().iter().filter(|found| found.severity == onnx_diag::Severity::Error).count()
    };
    let errors_before = errors(&model);
    let mut cx = PassCx::new(&mut model, options);
    let report = inline_all(&mut cx);
    drop(cx);
    model.verify_sorted().unwrap();
    assert_eq!(report.refusals.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(nodes(&model), expected);
    assert_eq!(report.missed.iter().map(ToString::to_string).collect::<Vec<_>>(), missed);
    model.erase_unused_functions();
    assert_eq!(errors(&model), errors_before);
    model
}

#[test]
fn attributes_and_defaults_take_the_place_of_references() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) {
            a = my.Scale <slope: float = 0.5> (x)
            b = my.Scale (a)
            y = Add (a, b)
        }
        <domain: "my", opset_import: ["": 20]> Scale <slope: float = 0.25, alpha> (p) => (q) {
            r = LeakyRelu <alpha: float = @slope> (p)
            q = Elu <alpha: float = @alpha> (r)
        }"#;
    let model = check(
        text,
        &[
            "r_0 = LeakyRelu <alpha = 0.5> (x)",
            "q_1 = Elu (r_0)",
            "r_2 = LeakyRelu <alpha = 0.25> (q_1)",
            "q_3 = Elu (r_2)",
            "y = Add (q_1, q_3)",
        ],
        &[],
    );
    assert_eq!(model.functions().len(), 0);
}

#[test]
fn inputs_that_a_call_omits_are_omitted() {
    check(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x, float top) => (float[N] y, float[N] z) {
            y = my.Clamp (x)
            z = my.Clamp (x, , top)
        }
        <domain: "my", opset_import: ["": 20]> Clamp (p, low, high) => (q) { q = Clip (p, low, high) }"#,
        &["y = Clip (x)", "z = Clip (x, \"\", top)"],
        &[],
    );
}

#[test]
fn functions_in_functions_and_branches_are_inlined_one_after_the_other() {
    // The operands of calls in a function have no types, so these edits are not tested.
    let model = check_with(
        PassOptions::default().with_untested(true),
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (bool c, float[N] x) => (float[N] y) {
            y = my.Outer <yes: graph = t () => (p) { p = Abs (x) }> (c, x)
        }
        <domain: "my", opset_import: ["": 20, "other": 3]> Outer <yes> (c, v) => (w) {
            u = other.Twice (v)
            w = If (c) <then_branch: graph = @yes, else_branch: graph = e () => (f) { f = other.Twice (u) }>
        }
        <domain: "other", opset_import: ["": 20]> Twice (a) => (b) { b = Add (a, a) }"#,
        &[
            // The rest of the text after the last graph begins.
            "f_3 = other.Twice (u_0)",
            ">",
        ],
        &[],
    );
    // The new calls are nodes that the walk does not visit; the domain of the function is imported.
    assert_eq!(model.functions().len(), 1);
    let domain = model.functions().first().map(|&function| model.function(function).domain()).unwrap();
    assert_eq!(model.opset_version(domain), Some(3));
}

#[test]
fn an_operator_with_another_meaning_stays_in_its_function() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[2,3] x) => (float[2,3] y) { a = my.F (x) y = my.G (a) }
        <domain: "my", opset_import: ["": 12]> F (p) => (q) { q = Softmax (p) }
        <domain: "my", opset_import: ["": 19]> G (p) => (q) { q = Abs (p) }"#;
    check(
        text,
        &["a = my.F (x)", "y = Abs (a)"],
        &[
            "`a`: `Softmax` can have another meaning in version 20, which applies to the call, than in version 12, which the function imports",
        ],
    );
}

#[test]
fn an_attribute_that_can_be_omitted_does_not_hide_a_default() {
    let inner = |around: &str, default: &str| {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
            g (float[N] x) => (float[N] y, float[N] z) {{ y = my.G (x) z = my.G <k = 5.0> (x) }}
            <domain: "my", opset_import: ["": 20, "my": 1]> G <{around}> (p) => (q) {{ q = my.F <by: float = @k> (p) }}
            <domain: "my", opset_import: ["": 20]> F <{default}> (p) => (q) {{ q = Elu <alpha: float = @by> (p) }}"#
        );
        let mut model = parse(&text);
        let is_inner = |model: &Model, node: NodeId| model.str(model.node(node).op()) == "F";
        // A claim cannot express references to attributes of a function.
        // The operands of calls in a function have no types.
        let mut cx = PassCx::new(&mut model, PassOptions::default().with_untested(true));
        let report =
            cx.rewrite_nodes("inline", Exactness::Exact, is_inner, |patch, node| patch.inline_call(node));
        drop(cx);
        let findings = onnx_check::check(&model, &onnx_check::CheckOptions::default());
        let errors =
            findings.diagnostics().iter().filter(|found| found.severity == onnx_diag::Severity::Error);
        assert_eq!(errors.count(), 0);
        let missed: Vec<String> = report.missed.iter().map(ToString::to_string).collect();
        let elu = model
            .all_graphs()
            .flat_map(|graph| model.nodes(graph))
            .find(|&node| model.str(model.node(node).op()) == "Elu");
        let kind = elu.map(|node| model.node(node).attributes()[0].kind());
        (report.edits, report.refusals.len(), missed, kind)
    };
    let kind = Some(onnx_schema::AttrKind::Float);
    let reason = "`q`: for its attribute `by` the function has a default, which counts where the function around the call is called without `k`";
    assert_eq!(inner("k", "by: float = 3.0"), (0, 0, vec![reason.to_owned()], kind));
    assert_eq!(inner("k", "by"), (1, 0, vec![], kind));
    assert_eq!(inner("k: float = 2.0", "by: float = 3.0"), (1, 0, vec![], kind));
}

const CHAIN: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x, float[N] z) => (float[N] y, float[N] w) <float[1] two = {2}> {
        a = Neg (x)
        b = Mul (a, two)
        c = Abs (b)
        d = Add (c, a)
        w = Sub (b, z)
        y = Mul (d, w)
    }"#;

fn outline(patch: &mut Patch<'_, '_>, names: &[&str]) -> Result<NodeId, String> {
    let members: Vec<NodeId> = names.iter().map(|name| maker(patch.model(), name)).collect();
    patch.outline(&members, "my", "Part").map_err(|reason| reason.to_string())
}

#[test]
fn a_convex_set_becomes_a_function() {
    let (mut model, proof) = commits(CHAIN, Exactness::Exact, |patch| {
        outline(patch, &["c", "b", "d"]).unwrap();
    });
    assert_eq!(proof.verdict.to_string(), "tested in 24 runs (24 attempts)");
    assert_eq!(nodes(&model)[..3], ["a = Neg (x)", "val_0, val_1 = my.Part (a, two)", "w = Sub (val_0, z)"]);
    model.verify_sorted().unwrap();
    assert_eq!(onnx_check::check(&model, &onnx_check::CheckOptions::default()).diagnostics().len(), 0);
    // Inlining is the inverse.
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = inline_all(&mut cx);
    assert_eq!((report.edits, report.missed.len()), (1, 0));
    drop(cx);
    let operators = |model: &Model| -> Vec<String> {
        let nodes = model.nodes(model.main_graph());
        nodes.map(|node| model.str(model.node(node).op()).to_owned()).collect()
    };
    assert_eq!(operators(&model), operators(&parse(CHAIN)));
}

#[test]
fn nodes_of_a_function_become_another_function() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F (a) => (d) { b = Neg (a) c = Abs (b) d = Exp (c) }"#;
    let mut model = parse(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let body = cx.model().function(cx.model().functions()[0]).body();
    let members: Vec<NodeId> = cx.model().nodes(body).take(2).collect();
    let mut patch = cx.patch("outline", Exactness::Exact);
    patch.outline(&members, "parts", "NegAbs").unwrap();
    patch.commit().unwrap();
    drop(cx);
    model.verify_sorted().unwrap();
    // The function imports the domain, and the model does not.
    let domain = model.function(model.functions()[1]).domain();
    assert_eq!((model.versions_in(body).get(domain), model.opset_version(domain)), (Some(1), None));
    assert_eq!(model.graph(body).node_count(), 2);
}

#[test]
fn branches_move_into_a_function_with_what_they_capture() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (bool c, float[N] x) => (float[N] y) {
            a = Neg (x)
            b = If (c) <then_branch = t () => (p) { q = Abs (a) p = Add (q, x) }, else_branch = e () => (r) { r = Neg (x) }>
            y = Add (b, a)
        }"#;
    let (model, _) = commits(text, Exactness::Exact, |patch| {
        outline(patch, &["b", "y"]).unwrap();
    });
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), ["a = Neg (x)", "y = my.Part (c, a, x)"]);
}

#[test]
fn sets_that_are_not_convex_have_a_reason_and_leave_no_trace() {
    let check = |names: &[&str], reason: &str| {
        let mut model = parse(CHAIN);
        let before = bytes(&model);
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let mut patch = cx.patch("outline", Exactness::Exact);
        assert_eq!(outline(&mut patch, names).unwrap_err(), reason);
        drop(patch);
        drop(cx);
        assert!(bytes(&model) == before);
    };
    check(&["a", "d"], "the nodes are not convex: one of them needs `c`, which depends on another one");
    check(&["b", "y"], "the nodes are not convex: one of them needs `w`, which depends on another one");
    check(&[], "the list of nodes is empty");
}

#[test]
fn a_call_that_is_edited_after_outlining_is_refuted() {
    refuses(
        CHAIN,
        Exactness::Exact,
        |patch| {
            outline(patch, &["c", "d"]).unwrap();
            let (c, z) = (crate::value(patch.model(), "w"), crate::value(patch.model(), "z"));
            patch.replace(c, z);
        },
        Level::Values,
        &[
            "the results differ",
            "b = float[2] {0.375, -4.0}",
            "a = float[2] {-2.25, 4.0}",
            "z = float[2] {-1.875, 2.875}",
            "w[0] is 2.25 before and -1.875 after",
        ],
    );
}

#[test]
fn a_function_does_not_take_the_identity_of_an_operator() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y, float[N] z) {
            a = Neg (x)
            b = Exp (a)
            y = my.Foo (b)
            z = my.Over:load (b)
        }"#;
    let mut set = onnx_schema::OperatorSet::new("declared", 1);
    set.add(onnx_schema::declare("Scale", 1).input("X", "").output("Y", "")).unwrap();
    let registry = Registry::STANDARD.with(&set).unwrap();
    let check = |names: &[&str], (domain, name): (&str, &str), expected: &str| {
        let mut model = parse(text);
        let before = bytes(&model);
        let mut cx = PassCx::new(&mut model, PassOptions::default().with_registry(&registry));
        let members: Vec<NodeId> = names.iter().map(|name| maker(cx.model(), name)).collect();
        let mut patch = cx.patch("outline", Exactness::Exact);
        let reason = patch.outline(&members, domain, name).map_err(|reason| reason.to_string());
        assert_eq!(reason.err().unwrap_or_default(), expected);
        drop(patch);
        drop(cx);
        assert!(bytes(&model) == before);
    };
    check(&["a", "b"], ("my", "Foo"), "a node of the model calls another operator `Foo`");
    check(&["b", "y"], ("my", "Foo"), "a node of the model calls another operator `Foo`");
    check(&["a", "b"], ("my", "Over"), "");
    check(
        &["a", "b"],
        ("declared", "Scale"),
        "`Scale` is the name of an operator, which nodes would call instead of the function",
    );
    check(
        &["a", "b"],
        ("ai.onnx.ml", "Scaler"),
        "`Scaler` is the name of an operator, which nodes would call instead of the function",
    );
    check(
        &["a", "b"],
        ("ai.onnx", "New"),
        "`ai.onnx` is the domain of ONNX's own operators: choose another one",
    );
    check(&["a", "b"], ("my", ""), "the function needs a name");
}

#[test]
fn a_patch_that_is_dropped_leaves_nothing_of_an_unsorted_body() {
    let check = |body: &str| {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
            g (bool c, float[N] x) => (float[N] y) {{ y = my.P (c, x) }}
            <domain: "my", opset_import: ["": 20]> P (c, p) => (q) {{ {body} }}"#
        );
        let mut model = parse(&text);
        let before = bytes(&model);
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let call = maker(cx.model(), "y");
        let mut patch = cx.patch("inline", Exactness::Exact);
        patch.inline_call(call).unwrap();
        drop(patch);
        drop(cx);
        model.verify().unwrap();
        assert!(bytes(&model) == before, "{body}");
    };
    check("q = Neg (r) r = Exp (p)");
    check("s = Abs (r) q = Neg (s) t = Add (r, s) r = Exp (p)");
    check("q = If (c) <then_branch = t () => (r) {}, else_branch = e () => (v) { v = Neg (r) }> r = Exp (p)");
    // A cycle.
    check("r = Add (p, s) s = Neg (r) q = Exp (s)");
    check(
        "r = If (c) <then_branch = t () => (s) {}, else_branch = e () => (v) { v = Neg (r) }> s = Neg (r) q = Exp (s)",
    );
}

#[test]
fn a_value_that_only_a_branch_of_the_nodes_needs_moves_with_them() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N] x, bool c) => (float[N] y, float[N] z) {
            b = Exp (x)
            y = If (c) <then_branch = t () => (v) { v = Neg (b) }, else_branch = e () => (q) { q = Abs (x) }>
            z = Neg (b)
        }"#;
    let (model, _) = commits(text, Exactness::Exact, |patch| {
        outline(patch, &["b", "y"]).unwrap();
    });
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), ["val_0, y = my.Part (x, c)", "z = Neg (val_0)"]);
}
