//! What onnxruntime sees when it looks for patterns: functions and branches in their places, without what changes nothing.

use onnx_compose::Quantization;
use onnx_ir::{Model, NodeId};
use onnx_quantize::StaticOptions;
use onnx_schema::Registry;
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::text_of;

const WEIGHT: &str = "{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, -0.7}";

fn quantized(text: &str, has_results: bool) -> Model {
    let table = Quantization::named("onnxruntime").unwrap();
    let options = StaticOptions::new(&table).with_quantized_results(has_results);
    let (result, _, outputs) = super::quantized(text, ElemType::Int8, &options);
    assert!(outputs.iter().all(|output| output.snr > Some(15.0)), "{outputs:?}\n{}", text_of(&result));
    result
}

/// The nodes of an operator outside of functions.
fn nodes(model: &Model, op: &str) -> Vec<NodeId> {
    let nodes = model.nodes_in(model.main_graph());
    nodes.filter(|&node| model.str(model.node(node).op()) == op).collect()
}

/// The operator that makes the first operand of each node of an operator.
fn makers(model: &Model, op: &str) -> Vec<String> {
    let makers = nodes(model, op).into_iter().filter_map(|node| model.input_producer(node, 0));
    makers.map(|node| model.str(model.node(node).op()).to_owned()).collect()
}

/// A product of three axes and the sum behind it do not become a `Gemm`, wherever they are.
#[test]
fn a_stack_of_products_and_its_sum_may_be_in_functions_and_branches() {
    let branch = r#"p = If (is) <
        then_branch = t () => (float[2,3,3] t0) { ["keep"] t0 = MatMul (z, w) },
        else_branch = e () => (float[2,3,3] e0) { e0 = Neg (z) }>
        ["keep"] q = Add (p, b)"#;
    for (body, is_row, held, has_results) in [
        ("p = MatMul (z, w) q = my.A (p, b)", false, &["A"][..], false),
        ("p = MatMul (z, w) i = Identity (p) q = my.A (i, b)", false, &["A"], false),
        (r#"p = my.M (z, w) ["keep"] q = Add (p, b)"#, true, &[], true),
        (r#"p = my.M (z, w) i = Dropout (p) ["keep"] q = Add (i, b)"#, true, &[], true),
        ("p = my.M (z, w) q = my.A (p, b)", false, &["A"], true),
        ("q = my.F (z, w, b)", false, &["F"], true),
        ("q = my.G (z, w, b)", false, &["G"], true),
        ("i = Identity (z) q = my.F (i, w, b)", false, &["F"], true),
        (branch, true, &[], true),
        (r#"p = MatMul (z, w) i = Add (p, zero) ["keep"] q = Add (i, b)"#, true, &[], false),
        (r#"p = MatMul (z, w) n = Identity (zero) i = Sub (p, n) ["keep"] q = Add (b, i)"#, true, &[], false),
        (r#"p = MatMul (z, w) i = Mul (one, p) ["keep"] q = Add (i, b)"#, true, &[], false),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 22, "my": 1]> g (float[2,3,3] x) => (float[2,3,3] y)
            <float[3,3] w = {WEIGHT}, float[3] b = {{0.5, -0.25, 0.75}}, bool is = {{1}}, float zero = {{0}}, float one = {{1}}> {{
                z = MatMul (x, w) {body} y = MatMul (q, w)
            }}
            <domain: "my", opset_import: ["": 22]> F (a, w, b) => (c) {{ p = MatMul (a, w) c = Add (p, b) }}
            <domain: "my", opset_import: ["": 22]> M (a, w) => (c) {{ c = MatMul (a, w) }}
            <domain: "my", opset_import: ["": 22]> A (a, b) => (c) {{ c = Add (a, b) }}
            <domain: "my", opset_import: ["my": 1]> G (a, w, b) => (c) {{ c = my.F (a, w, b) }}"#
        );
        let result = quantized(&text, has_results);
        let printed = text_of(&result);
        assert_eq!(printed.contains("float[1,3] b_row"), is_row, "{printed}");
        for call in ["F", "A", "G"] {
            let is_held = makers(&result, call).iter().any(|op| op == "Sum");
            assert_eq!(is_held, held.contains(&call), "{call}\n{printed}");
        }
    }
}

/// Pairs are repeated behind operators that move elements, whatever changes nothing in front of them.
#[test]
fn pairs_are_repeated_behind_what_changes_nothing() {
    for (copy, is_repeated) in [
        ("q = Identity (g)", true),
        ("q = Dropout (g)", true),
        ("q = Cast <to = 1> (g)", true),
        ("q = Mul (g, one)", true),
        ("o = Identity (one) q = Mul (o, g)", true),
        ("q = Div (g, one)", true),
        ("q = Add (zero, g)", true),
        ("q = Sub (g, zero)", true),
        ("i = Identity (g) q = Identity (i)", true),
        ("q = my.I (g)", true),
        ("q = Mul (g, two)", false),
        ("q = Sub (zero, g)", false),
    ] {
        let constants: String = [("one", 1.0), ("zero", 0.0), ("two", 2.0)]
            .iter()
            .filter(|(name, _)| copy.contains(name))
            .fold(String::new(), |text, (name, number)| format!("{text}, float {name} = {{{number:?}}}"));
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[3,3] x) => (float[3,3] y, float[3,3] z)
            <float[3,3] w = {WEIGHT}, float[3] b = {{0.5, -0.25, 0.75}}{constants}> {{
                g = Gemm (x, w, b) {copy} t = Transpose (q) y = Softmax (t) z = MatMul (g, w)
            }}
            <domain: "my", opset_import: ["": 21]> I (a) => (b) {{ b = Identity (a) }}"#
        );
        let result = quantized(&text, true);
        let found = makers(&result, "QuantizeLinear").iter().any(|op| op == "Transpose");
        assert_eq!(found, is_repeated, "{copy}\n{}", text_of(&result));
    }
}

/// What moves elements in a function, which is not changed, has a `Sum` in front of the call.
#[test]
fn pairs_are_not_repeated_in_functions() {
    for (function, is_held) in [
        ("b = Transpose (a)", true),
        ("i = Identity (a) b = Reshape (i, s)", true),
        ("i = Cast <to = 1> (a) b = Reshape (i, s)", true),
        ("i = Cast <to = 10> (a) t = Transpose (i) b = Cast <to = 1> (t)", true),
        ("b = Tanh (a)", false),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[3,3] x) => (float[3,3] y, float[3,3] z)
            <float[3,3] w = {WEIGHT}, int64[2] s = {{3, 3}}> {{
                p = MatMul (x, w) t = my.T (p, s) y = Tanh (t) z = MatMul (p, w)
            }}
            <domain: "my", opset_import: ["": 21]> T (a, s) => (b) {{ {function} }}"#
        );
        let result = quantized(&text, true);
        assert_eq!(makers(&result, "T") == ["Sum"], is_held, "{}", text_of(&result));
    }
}

/// Biases that are computed from sizes which the model states, or which follow, are integers.
#[test]
fn biases_of_known_sizes_are_integers() {
    for (nodes, sizes, is_integer) in [
        (
            "s = Shape <start = 1, end = 2> (x) b = ConstantOfShape <value = float[1] {22.0}> (s)",
            "1,2,4,4",
            true,
        ),
        (
            "s = Shape <start = -3, end = -2> (x) b = ConstantOfShape <value = float[1] {22.0}> (s)",
            "1,2,N,4",
            true,
        ),
        ("a = Relu (x) s = Shape <start = 1, end = 2> (a) b = Expand (v, s)", "1,2,4,4", true),
        ("s = Shape (x) i = Gather (s, one) b = Expand (v, i)", "1,2,4,4", true),
        ("s = Shape (x) i = Gather (s, one) f = Cast <to = 1> (i) b = Expand (f, i)", "1,2,4,4", true),
        ("s = Size (x) f = Cast <to = 1> (s) b = Expand (f, two)", "1,2,4,4", true),
        ("s = Size (x) f = Cast <to = 1> (s) b = Expand (f, two)", "1,2,N,4", false),
        ("m = ReduceMean <keepdims = 0> (x) b = Expand (m, two)", "1,2,4,4", false),
    ] {
        let constants: String =
            [("one", "int64[1] one = {1}"), ("two", "int64[1] two = {2}"), ("(v,", "float v = {22.0}")]
                .iter()
                .filter(|(name, _)| nodes.contains(name))
                .fold(String::new(), |text, (_, constant)| format!("{text}, {constant}"));
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[{sizes}] x) => (float[{sizes}] y)
            <float[2,1,1,1] w = {{1e-9, 1e-9}}{constants}> {{ {nodes} c = Conv <group = 2> (x, w, b) y = Relu (c) }}"#
        );
        let table = Quantization::named("onnxruntime").unwrap();
        let (result, report, _) = super::quantized(&text, ElemType::Int8, &StaticOptions::new(&table));
        assert_eq!(report.biases == 1, is_integer, "{}", text_of(&result));
    }
}

/// onnxruntime cannot repeat a pair of any type behind an operator whose result a nested graph takes.
#[test]
fn pairs_are_repeated_in_front_of_nested_graphs() {
    for (moved, is_repeated) in [
        ("m = Transpose (p)", true),
        ("i = Identity (p) m = Transpose (i)", true),
        ("t = Transpose (p) m = Transpose (t)", true),
        ("t = Transpose (p) m = Identity (t)", true),
        ("m = Tanh (p)", false),
    ] {
        for (to, version) in
            [(ElemType::Uint8, 13), (ElemType::Int8, 13), (ElemType::Int16, 21), (ElemType::Int8, 21)]
        {
            let text = format!(
                r#"<ir_version: 10, opset_import: ["": {version}]> g (float[3,3] x, bool is) => (float[3,3] y)
                <float[3,3] w = {WEIGHT}> {{
                    p = MatMul (x, w) {moved}
                    y = If (is) <
                        then_branch = t () => (float[3,3] a) {{ a = Tanh (m) }},
                        else_branch = e () => (float[3,3] b) {{ b = Neg (m) }}
                    >
                }}"#
            );
            let table = Quantization::named("generic").unwrap();
            let options = StaticOptions::new(&table).with_quantized_results(true);
            let (result, ..) = super::quantized(&text, to, &options);
            let found =
                makers(&result, "QuantizeLinear").iter().any(|op| op == "Transpose" || op == "Identity");
            assert_eq!(found, is_repeated, "{to} {moved}\n{}", text_of(&result));
        }
    }
}

/// A function that is called in front of what moves elements and behind it, in a branch: each call has its own result.
#[test]
fn what_enters_a_function_leaves_it_at_the_same_call() {
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": 20, "my": 1]> g (float[2,3] x, bool c) => (float[3,2] y, float[2,3] z)
        <float[3,3] w = {WEIGHT}, float[3] b = {{0.5, -0.25, 0.75}}> {{
            g = Gemm (x, w, b) q = my.I (g) t = Transpose (q)
            y = If (c) <then_branch = t () => (float[3,2] a) {{ a = my.R (t) }},
                        else_branch = e () => (float[3,2] d) {{ d = my.I (t) }}>
            z = MatMul (q, w)
        }}
        <domain: "my", opset_import: ["": 20]> I (a) => (c) {{ c = Identity (a) }}
        <domain: "my", opset_import: ["": 20]> R (a) => (c) {{ c = Relu (a) }}"#
    );
    let table = Quantization::named("onnxruntime").unwrap();
    let (mut result, _, outputs) =
        super::quantized(&text, ElemType::Int8, &StaticOptions::new(&table).with_quantized_results(true));
    onnx_quantize::use_operators(&mut result, &table, Registry::STANDARD, &NoData).unwrap();
    assert!(outputs.iter().all(|output| output.snr > Some(15.0)), "{outputs:?}");
    // It is repeated once behind what moves elements.
    assert!(nodes(&result, "Transpose").len() == 1 && nodes(&result, "QuantizeLinear").len() <= 4);
}

/// Functions take their places first: what is in one may be in a nested graph.
#[test]
fn functions_are_parts_of_nested_graphs() {
    let nested = |then_branch: &str, else_branch: &str| {
        format!(
            "y = If (is) <then_branch = t () => (float[3,3] a) {{ {then_branch} }}, else_branch = e () => (float[3,3] b) {{ {else_branch} }}>"
        )
    };
    for (nodes, maker, user) in [
        (
            format!("t = Transpose (p) {}", nested("a = my.RR (t)", "b = my.R (t)")),
            "Transpose",
            "QuantizeLinear",
        ),
        (format!("t = my.T (p) {}", nested("a = Relu (t)", "b = Neg (t)")), "Sum", "T"),
        ("t = Transpose (p) y = my.IF (t, is)".to_owned(), "Transpose", "QuantizeLinear"),
        // onnxruntime leaves out `Identity`, and the two nodes around it then.
        (
            format!("i = Identity (p) {}", nested("c = MatMul (i, w) a = Relu (c)", "b = Neg (x)")),
            "Sum",
            "QuantizeLinear",
        ),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20, "my": 1]> g (float[3,3] x, bool is) => (float[3,3] y)
            <float[3,3] w = {WEIGHT}> {{ p = MatMul (x, w) {nodes} }}
            <domain: "my", opset_import: ["": 20]> R (a) => (c) {{ c = Relu (a) }}
            <domain: "my", opset_import: ["": 20]> RR (a) => (c) {{ d = Relu (a) c = Neg (d) }}
            <domain: "my", opset_import: ["": 20]> T (a) => (c) {{ c = Transpose (a) }}
            <domain: "my", opset_import: ["": 20]> IF (m, k) => (y) {{
                y = If (k) <then_branch = t () => (a) {{ a = Relu (m) }}, else_branch = e () => (b) {{ b = Neg (m) }}>
            }}"#
        );
        let table = Quantization::named("generic").unwrap();
        let options = StaticOptions::new(&table).with_quantized_results(true);
        let (result, ..) = super::quantized(&text, ElemType::Uint8, &options);
        assert!(makers(&result, user).iter().any(|op| op == maker), "{nodes}\n{}", text_of(&result));
    }
}

/// Several nodes of a function move elements in front of a nested graph, which may have them in a call.
#[test]
fn nested_graphs_take_what_functions_move() {
    let nested = |branch: &str| {
        format!(
            "y = If (k) <then_branch = t () => (float[3,3] r) {{ {branch} }}, else_branch = e () => (float[3,3] n) {{ n = Neg (m) }}>"
        )
    };
    let looped = |body: &str| {
        format!(
            "j = Constant <value_int = 2> () o = Identity (a)
            y = Loop (j, , o) <body = l (int64 i, bool c, float[3,3] s) => (bool d, float[3,3] r) {{ d = Identity (c) {body} }}>"
        )
    };
    for (function, is_held) in [
        (format!("u = Transpose (a) m = Transpose (u) {}", nested("r = Relu (m)")), true),
        (
            format!(
                "u = Transpose (a) i = Identity (u) q = Transpose (i) m = Identity (q) {}",
                nested("r = Relu (m)")
            ),
            true,
        ),
        (format!("m = my.MM (a) {}", nested("r = Relu (m)")), true),
        (format!("u = Transpose (a) m = Tanh (u) {}", nested("r = my.R (u)")), true),
        (format!("u = Transpose (a) {}", looped("v = my.R (u) r = Add (v, s)")), true),
        (format!("u = Transpose (a) v = Transpose (u) {}", looped("r = Add (v, s)")), true),
        (format!("u = Transpose (a) q = Transpose (u) m = Tanh (q) {}", nested("r = Relu (m)")), false),
        (format!("m = Tanh (a) {}", nested("r = my.R (m)")), false),
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 20, "my": 1]> g (float[3,3] x, bool is) => (float[3,3] y, float[3,3] z)
            <float[3,3] w = {WEIGHT}> {{ p = MatMul (x, w) y = my.T (p, is) z = MatMul (p, w) }}
            <domain: "my", opset_import: ["": 20]> R (a) => (c) {{ c = Relu (a) }}
            <domain: "my", opset_import: ["": 20]> MM (a) => (c) {{ u = Transpose (a) c = Transpose (u) }}
            <domain: "my", opset_import: ["": 20, "my": 1]> T (a, k) => (y) {{ {function} }}"#
        );
        let table = Quantization::named("generic").unwrap();
        let options = StaticOptions::new(&table).with_quantized_results(true);
        let (result, ..) = super::quantized(&text, ElemType::Uint8, &options);
        assert_eq!(makers(&result, "T") == ["Sum"], is_held, "{function}\n{}", text_of(&result));
    }
}

/// The sizes of an operand are known where the function is called.
#[test]
fn biases_of_sizes_in_functions_are_held() {
    let text = r#"<ir_version: 10, opset_import: ["": 18, "my": 1]> g (float[1,2,4,4] x) => (float[1,2,4,4] y)
        <float[2,2,1,1] w = {0.5, -0.25, 0.75, 0.3}, float[2,2,1,1] v = {1e-9, -2e-9, 3e-9, 1e-9}> {
            ["pre"] z = Conv (x, w) b = my.S (x) ["keep"] k = Conv (z, v, b) y = Conv (k, w)
        }
        <domain: "my", opset_import: ["": 18]> S (a) => (b) {
            s = Shape (a) i = Constant <value_ints = [1]> () n = Gather (s, i) b = ConstantOfShape <value = float[1] {22.0}> (n)
        }"#;
    let table = Quantization::named("onnxruntime").unwrap();
    let (result, ..) = super::quantized(text, ElemType::Int8, &StaticOptions::new(&table));
    assert!(makers(&result, "QuantizeLinear").iter().any(|op| op == "Sum"), "{}", text_of(&result));
}
