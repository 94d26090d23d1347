//! Nodes become functions.

use onnx_functions::{InlineOptions, inline_all, outline};
use onnx_ir::{NodeId, QuantAnnotation, ValueRef};
use onnx_schema::Registry;

use crate::{errors, maker, nodes, parse};

const CHAIN: &str = r#"<ir_version: 7, opset_import: ["": 20]>
    g (float[N] x, float[N] z) => (float[N] y, float[N] w) <float[1] two = {2}> {
        a = Neg (x)
        b = Mul (a, two)
        c = Abs (b)
        d = Add (c, a)
        w = Sub (b, z)
        y = Mul (d, w)
    }"#;

#[test]
fn a_convex_set_becomes_a_function_and_inlining_is_the_inverse() {
    let before = parse(CHAIN);
    let mut model = before.clone();
    let members: Vec<NodeId> = ["c", "b", "d"].iter().map(|name| maker(&model, name)).collect();
    let call = outline(&mut model, &members, ("my", "Part", ""), Registry::STANDARD).unwrap();
    model.verify_sorted().unwrap();
    assert_eq!(model.str(model.node(call).op()), "Part");
    assert_eq!(nodes(&model), ["a = Neg (x)", "b, d = my.Part (a, two)", "w = Sub (b, z)", "y = Mul (d, w)"]);
    // The first IR version with functions.
    assert_eq!(model.info().ir_version, 8);
    assert_eq!(errors(&model), Vec::<String>::new());
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    model.verify_sorted().unwrap();
    assert_eq!(nodes(&model), nodes(&before));
}

#[test]
fn sets_that_cannot_be_functions_have_a_reason_and_leave_no_trace() {
    let check = |names: &[&str], identity: (&str, &str, &str), expected: &str| {
        let mut model = parse(CHAIN);
        let members: Vec<NodeId> = names.iter().map(|name| maker(&model, name)).collect();
        let reason = outline(&mut model, &members, identity, Registry::STANDARD).unwrap_err();
        assert_eq!(reason.to_string(), expected);
        assert_eq!(
            (nodes(&model), model.functions().len(), model.graph_count()),
            (nodes(&parse(CHAIN)), 0, 1)
        );
    };
    let part = ("my", "Part", "");
    check(&["a", "d"], part, "the nodes are not convex: one of them needs `c`, which depends on another one");
    check(&[], part, "the list of nodes is empty");
    check(
        &["c"],
        ("ai.onnx.ml", "Scaler", ""),
        "`Scaler` is the name of an operator, which nodes would call instead of the function",
    );
    check(&["c"], ("", "Part", ""), "`ai.onnx` is the domain of ONNX's own operators: choose another one");
}

/// A function has no annotations, and nothing of the graph can refer to its values.
#[test]
fn values_that_annotations_refer_to_stay() {
    let mut model = parse(CHAIN);
    let [b, c] = ["b", "c"].map(|name| maker(&model, name));
    let value = model.node(c).output(0).unwrap();
    let main = model.main_graph();
    model.graph_mut(main).quantization.push(QuantAnnotation::new(ValueRef::Value(value), Vec::new()));
    let reason = outline(&mut model, &[b, c], ("my", "Part", ""), Registry::STANDARD).unwrap_err();
    let expected = "a quantization annotation or a binding of the training refers to `c`, and would be lost";
    assert_eq!(reason.to_string(), expected);
    outline(&mut model, &[b], ("my", "Part", ""), Registry::STANDARD).unwrap();
    assert_eq!(model.graph(main).quantization.len(), 1);
}

#[test]
fn a_call_follows_its_operands() {
    // `d` needs `c`, which follows `b`, which needs `a`.
    let text = r#"<ir_version: 8, opset_import: ["": 20]>
        g (float[N] x) => (float[N] y) { a = Neg (x) b = Abs (a) c = Exp (x) d = Mul (a, c) y = Add (b, d) }"#;
    let mut model = parse(text);
    let members = ["a", "d"].map(|name| maker(&model, name));
    let reason = outline(&mut model, &members, ("my", "Part", ""), Registry::STANDARD).unwrap_err();
    assert_eq!(
        reason.to_string(),
        "no place for the call follows all operands and precedes all uses: move the node of `c` forward"
    );
    assert_eq!(nodes(&model), nodes(&parse(text)));
}

#[test]
fn overloads_are_functions_of_their_own() {
    let mut model = parse(CHAIN);
    let members = ["c", "d"].map(|name| maker(&model, name));
    let first = outline(&mut model, &[members[0]], ("my", "Part", ""), Registry::STANDARD).unwrap();
    let second = outline(&mut model, &[members[1]], ("my", "Part", "v2"), Registry::STANDARD).unwrap();
    let overloads = [first, second].map(|call| model.str(model.node(call).overload()));
    assert_eq!(overloads, ["", "v2"]);
    // The first IR version with overloads.
    assert_eq!((model.info().ir_version, errors(&model)), (10, Vec::new()));
    let w = maker(&model, "w");
    let reason = outline(&mut model, &[w], ("my", "Part", "v2"), Registry::STANDARD).unwrap_err();
    assert_eq!(reason.to_string(), "the function `my.Part:v2` already exists");
    assert_eq!(inline_all(&mut model, &InlineOptions::default()).unwrap().inlined(), 2);
}
