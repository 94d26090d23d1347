//! Bodies of operators: which there are, for which version and types, and that they are valid.

use std::collections::{BTreeMap, BTreeSet};

use onnx_functions::{InlineError, InlineOptions, body_as, body_of, expand, has_body};
use onnx_ir::{DeclaredTypes, Model, NewNode, NodeId, OpsetImport, Position};
use onnx_schema::{Registry, Schema, domain, latest_opset};
use onnx_types::{Execution, Limits, Shape, Symbol, Type};

use crate::{errors, maker, nodes, nodes_of, parse};

/// The body of the first node of a model.
#[track_caller]
fn body(text: &str) -> Result<Vec<String>, String> {
    let mut model = parse(text);
    let node = model.nodes(model.main_graph()).next().unwrap();
    let functions = model.functions().len();
    let made = body_of(&mut model, node, &DeclaredTypes, Registry::STANDARD);
    model.verify().unwrap();
    match made {
        Ok(function) => Ok(nodes_of(&model, model.function(function).body())),
        Err(reason) => {
            assert_eq!(model.functions().len(), functions);
            Err(reason.to_string())
        }
    }
}

/// Compares the reason why a node has none.
#[track_caller]
fn check_none(text: &str, expected: &str) {
    assert_eq!(body(text), Err(expected.to_owned()));
}

/// A model with one node, whose operands are declared.
fn single(version: i64, inputs: &str, node: &str) -> String {
    format!("<ir_version: 10, opset_import: [\"\": {version}]> g ({inputs}) => (y) {{ {node} }}")
}

/// A node of an operator with operands of the first type that it allows, and with values for required attributes.
fn sample(schema: &'static Schema, version: i64) -> Option<(Model, NodeId)> {
    let mut model = Model::new();
    model.info_mut().ir_version = 14;
    model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, version));
    let graph = model.main_graph();
    let mut new = NewNode::new(schema.op());
    for formal in schema.inputs().iter().take(schema.min_inputs()) {
        let types = schema.types_of(formal);
        let preferred = types.iter().find(|ty| ty.text() == "tensor(float)");
        let mut ty: Type = preferred.or_else(|| types.iter().next())?.form().to_type();
        if schema.name() == "AffineGrid" {
            ty = Type::tensor(ty.elem(), Some(Shape::known(&[5])));
        }
        new.inputs.push(Some(model.add_graph_input(graph, formal.name, ty)));
    }
    for _ in 0..schema.min_outputs() {
        let value = model.new_value(Symbol::EMPTY);
        new.outputs.push(Some(value));
    }
    let outputs: Vec<_> = new.outputs.iter().flatten().copied().collect();
    let node = model.add_node(Position::End(graph), new).ok()?;
    for output in outputs {
        model.push_graph_output(graph, output);
    }
    Some((model, node))
}

#[test]
fn bodies_of_the_facts_are_valid_in_every_later_version() {
    let (mut made, mut operators) = (0, 0);
    for schema in onnx_schema::all().iter().filter(|schema| schema.function_bodies().len() > 0) {
        let last = schema.until_version().or_else(|| latest_opset(schema.domain())).unwrap();
        let mut is_made = false;
        for version in schema.since_version()..=last {
            let Some((mut model, node)) = sample(schema, version) else { panic!("{schema} has no sample") };
            let before = errors(&model);
            let identity = (model.intern("bodies"), schema.op(), Symbol::EMPTY);
            let result = body_as(&mut model, node, &DeclaredTypes, Registry::STANDARD, identity);
            if !has_body(schema, version) {
                assert_eq!(
                    result.unwrap_err().to_string(),
                    format!("the standard gives no body to `{}` in version {version}", schema.name())
                );
                continue;
            }
            result.unwrap_or_else(|reason| panic!("{schema} in version {version}: {reason}"));
            model.verify().unwrap();
            assert_eq!(errors(&model), before, "{schema} in version {version}");
            made += 1;
            is_made = true;
        }
        operators += usize::from(is_made);
    }
    assert_eq!(operators, 42);
    assert!(made > 200, "{made}");
}

#[test]
fn nodes_have_the_form_of_the_version_in_scope() {
    let softmax = |version| body(&single(version, "float[2, 3] x", "y = Softmax (x)")).unwrap();
    // The axes of `ReduceMax` are an attribute, and a second input from version 18 on.
    let rest = [" = Exp ()", " = Constant ()", " = ReduceSum (, )", "output = Div (, )"];
    assert_eq!(softmax(17)[..2], [" = ReduceMax (input)", " = Sub (input, )"]);
    assert_eq!(softmax(17)[2..], rest);
    assert_eq!(softmax(18)[..3], [" = Constant ()", " = ReduceMax (input, )", " = Sub (input, )"]);
    assert_eq!(softmax(18)[3..], rest);
}

/// The standard body of `AffineGrid` has such operands, too.
#[test]
fn a_range_with_operands_of_rank_1_counts_in_a_vector() {
    for (inputs, version) in [
        ("int64 a, int64[1] l, int64 d", 11),
        ("int64[1] a, int64[1] l, int64[1] d", 17),
        ("float[1] a, float l, float d", 20),
    ] {
        let nodes = body(&single(version, inputs, "y = Range (a, l, d)")).unwrap();
        let count = nodes.iter().position(|node| node.contains("= ConstantOfShape")).unwrap();
        assert_eq!(nodes[count - 1], " = Reshape (, )", "{nodes:?}");
        assert!(nodes.iter().all(|node| !node.contains("= Unsqueeze")), "{nodes:?}");
    }
}

#[test]
fn the_reason_says_what_is_missing() {
    check_none(
        &single(12, "float[2] x", "y = Clip (x)"),
        "the standard gives no body to `Clip` in version 12",
    );
    check_none(&single(13, "x", "y = Clip (x)"), "the element type of input `input` is not known");
    check_none(
        &single(17, "float x, float s", "y = LayerNormalization <axis: int = 0> (x, s)"),
        "attribute `axis` is not an axis of the input",
    );
    check_none(
        &single(20, "int32[3] x", "y = ReduceLogSum (x)"),
        "the body uses `Log`, which does not have int32 in version 20",
    );
    check_none(
        &single(20, "int32[3] x", "y = Shrink (x)"),
        "the body converts the bias to the element type first, which is wrong for integers",
    );
    check_none(
        &single(20, "float[1, 2, 3] x, int64[4] s", "y = AffineGrid (x, s)"),
        "the body squeezes the batch, too, which fails for a batch of 1",
    );
    let grid = |size: &str, result: &str, corners: i64| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 20]>
            g (float[2, 2, 3] x, int64[4] s) => (float[{result}] y) <int64[4] k = {{{size}}}> {{
                y = AffineGrid <align_corners = {corners}> (x, {})
            }}",
            if size.is_empty() { "s" } else { "k" }
        )
    };
    let divides =
        "with `align_corners`, the body divides by 0 for a height or width of 1, which is not excluded";
    check_none(&grid("2, 1, 1, 4", "2, 1, 4, 2", 1), divides);
    check_none(&grid("2, 1, 4, 1", "N, H, W, 2", 1), divides);
    check_none(&grid("", "2, H, 4, 2", 1).replace(" <int64[4] k = {}>", ""), divides);
    assert!(body(&grid("2, 1, 4, 4", "N, H, W, 2", 1)).is_ok());
    assert!(body(&grid("", "N, 3, 4, 2", 1).replace(" <int64[4] k = {}>", "")).is_ok());
    assert!(body(&grid("2, 1, 1, 4", "2, 1, 4, 2", 0)).is_ok());
    check_none(&single(20, "float[3] x", "y = Abs (x)"), "the standard gives no body to `Abs` in version 20");
    check_none(
        "<ir_version: 10, opset_import: [\"\": 20, \"my\": 1]> g (x) => (y) { y = my.F (x) }",
        "the node calls no operator of the standard",
    );
    check_none(
        &single(20, "float[3] x, float[2] z", "y = CastLike (x)"),
        "the node has a number of inputs or outputs that the operator does not allow",
    );
}

#[test]
fn a_graph_that_uses_values_from_outside_has_no_body() {
    let text = "<ir_version: 10, opset_import: [\"\": 20]>
        g (seq(float[2]) x, float[2] z) => (seq(float[2]) y) {
            y = SequenceMap (x) <body = b (float[2] a) => (float[2] c) { c = Add (a, z) }>
        }";
    check_none(text, "a graph of the node uses values from outside, which a function does not see");
}

#[test]
fn attributes_of_a_function_around_the_node_are_passed_or_refused() {
    // A body of the facts refers to attributes itself; one that depends on them needs their values.
    let text = |node: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 20, \"my\": 1]>
            g (float[3] x) => (float[3] y) {{ y = my.F (x) }}
            <domain: \"my\", opset_import: [\"\": 20]> F <a: float = 1.0> (x) => (y) {{ {node} }}"
        )
    };
    let expanded = |node: &str| {
        let mut model = parse(&text(node));
        // The types of values in functions are not declared, and the body of `CastLike` depends on them.
        let select = |_: &Model, _, schema: &Schema| schema.name() != "CastLike";
        let options = InlineOptions::default();
        let done = expand(&mut model, &options, |_| Box::new(DeclaredTypes), select).unwrap();
        model.verify().unwrap();
        let kept: Vec<String> = done.kept().map(|(_, reason)| reason.to_string()).collect();
        (done.inlined(), kept)
    };
    assert_eq!(expanded("y = Selu <alpha: float = @a> (x)"), (1, Vec::new()));
    assert_eq!(expanded("y = Celu <alpha: float = @a> (x)"), (1, Vec::new()));
    let (inlined, kept) = expanded("y = LayerNormalization <epsilon: float = @a> (x, x)");
    assert_eq!(inlined, 0);
    assert_eq!(kept.len(), 1);
}

#[test]
fn expansion_ends_with_operators_without_a_body() {
    let mut model = parse(&single(
        20,
        "float[2, 3] x, int64[2] t",
        "a = HardSwish (x)
         b = Relu (a)
         y = SoftmaxCrossEntropyLoss (b, t)",
    ));
    let done =
        expand(&mut model, &InlineOptions::default(), |_| Box::new(DeclaredTypes), |_, _, _| true).unwrap();
    model.verify().unwrap();
    assert!(model.functions().is_empty());
    // `HardSwish` uses `HardSigmoid`, whose body does not depend on types.
    assert!(done.inlined() >= 3, "{done:?}");
    for line in nodes(&model) {
        assert!(!line.contains("= HardS") && !line.contains("= Relu"), "{line}");
    }
}

#[test]
fn expansion_is_limited_before_anything_is_replaced() {
    let nodes: String = (0..100).map(|index| format!("y{index} = HardSwish (x)\n")).collect();
    let mut model = parse(&single(20, "float[2, 3] x", &format!("{nodes} y = Neg (x)")));
    let limits = Limits { nodes: 150, ..Limits::default() };
    let options = InlineOptions::default().with_execution(Execution::default().with_limits(limits));
    let error = expand(&mut model, &options, |_| Box::new(DeclaredTypes), |_, _, _| true).unwrap_err();
    // One of the two nodes of each body takes the place of the call, which is counted with it.
    assert_eq!(error, InlineError::TooLarge { limit: "nodes", allowed: 150, needed: 301 });
    assert_eq!((model.node_count(), model.functions().len()), (101, 0));
}

#[test]
fn no_operator_is_used_in_its_own_body() {
    // The operators with a body that the body of each one uses.
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for schema in onnx_schema::all().iter().filter(|schema| schema.domain() == domain::ONNX) {
        let last = schema.until_version().or_else(|| latest_opset(domain::ONNX)).unwrap();
        let Some((mut model, node)) = sample(schema, last).filter(|_| has_body(schema, last)) else {
            continue;
        };
        let Ok(function) = body_of(&mut model, node, &DeclaredTypes, Registry::STANDARD) else { continue };
        for inner in model.nodes_in(model.function(function).body()) {
            if let Some(used) = onnx_schema::lookup(domain::ONNX, model.node(inner).op(), last)
                && has_body(used, last)
            {
                uses.entry(schema.name()).or_default().insert(used.name());
            } else {
                uses.entry(schema.name()).or_default();
            }
        }
    }
    assert!(uses.len() > 30, "{}", uses.len());
    // Operators whose bodies use none, or only those that were removed before, are removed in rounds.
    let mut rounds = 0;
    while !uses.is_empty() {
        let names: BTreeSet<&str> = uses.keys().copied().collect();
        let before = uses.len();
        uses.retain(|_, used| used.iter().any(|name| names.contains(name)));
        assert!(uses.len() < before, "a cycle: {uses:?}");
        rounds += 1;
    }
    assert!(rounds <= 8, "{rounds}");
}

#[test]
fn a_body_that_is_refused_leaves_no_nodes() {
    // The element type of the result is known, and the graph of the node uses a value from outside.
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (seq(float[N]) s, float[N] x) => (seq(float[N]) y) {
            y = SequenceMap (s) <body = one (float[N] e) => (float[N] r) { r = Add (e, x) }>
        }"#;
    let mut model = parse(text);
    let before = (model.node_count(), model.graph_count(), model.functions().len());
    let node = maker(&model, "y");
    let reason = body_of(&mut model, node, &DeclaredTypes, Registry::STANDARD).unwrap_err();
    assert!(reason.to_string().contains("values from outside"), "{reason}");
    assert_eq!((model.node_count(), model.graph_count(), model.functions().len()), before);
}
