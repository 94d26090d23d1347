//! What public converters to half precision write invalid models for, or models with other values, by the public reports about them: an
//! input of our own for each cause, with a report that has it where there is one. Every result is valid with all types inferred, keeps the interface where that is requested, and computes
//! nearly the same.

use onnx_ir::{GraphOutput, Model, NodeId, ValueId};
use onnx_quantize::{Half, MeasureOptions, NarrowError, NarrowOptions, measure, narrow, retype};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::ElemType;

use super::{errors, text_of};

/// The report, the operators that the user excepts, and a model.
const REPORTS: [(&str, &str, &str); 19] = [
    (
        "microsoft/onnxruntime#20570: the type of random numbers",
        "",
        r#"g (float[2,4] x) => (float[2,4] y) <float zero = {0}> { r = RandomNormalLike <seed = 1.0> (x) z = Mul (r, zero) y = Add (x, z) }"#,
    ),
    (
        "ailia-ai/ailia-models#1736: a Cast between declared types in a branch",
        "",
        r#"g (int64[4] ids, float[4] x, bool c) => (float[4] y) {
            y = If (c) <
                then_branch = a () => (float[4] p) <float[4] f> { f = Cast <to = 1> (ids) p = Add (f, x) },
                else_branch = b () => (float[4] q) { q = Neg (x) }
            > }"#,
    ),
    (
        "microsoft/onnxconverter-common#207: an excepted Resize",
        "Resize",
        r#"g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] up = {1, 1, 2, 2}> { a = Relu (x) y = Resize (a, , up) }"#,
    ),
    (
        "microsoft/onnxconverter-common#304: a constant with users of both types",
        "Sub",
        r#"g (float[N,4] x) => (float[N,4] y, float[N,4] z) <float[4] w = {1, 2, 3, 4}> { y = Add (x, w) z = Sub (x, w) }"#,
    ),
    (
        "microsoft/onnxconverter-common#320: the target of a Cast",
        "",
        r#"g (int64[N,4] ids, float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> {
            m = Cast <to = 1> (ids) a = Mul (m, w) y = Add (a, x) }"#,
    ),
    (
        "NVIDIA/Model-Optimizer#1628: a branch with constants and a captured value",
        "",
        r#"g (float[N,4] x, bool c) => (float[N,4] y) {
            h = Relu (x)
            y = If (c) <
                then_branch = a () => (float[N,4] p) <float[4,4] w = splat {0.5}, float[4] b = {1, 2, 3, 4}> { p = Gemm (h, w, b) },
                else_branch = b () => (float[N,4] q) { q = Identity (h) }
            > }"#,
    ),
    (
        "types of filled tensors as attributes",
        "",
        r#"g (int64[1] n, float[4] x) => (float[?] y, float[4] z) {
            c = ConstantOfShape <value = float[1] {0.5}> (n)
            r = Exp (c)
            y = Neg (r)
            e = EyeLike <dtype = 1> (m)
            m = Unsqueeze (x, axes)
            axes = Constant <value_ints = [0]> ()
            f = ReduceSum <keepdims = 0> (e)
            z = Mul (x, f) }"#,
    ),
    (
        "a value that is an output and has a user",
        "",
        r#"g (float[N,4] x) => (float[N,4] h, float[N,4] y) { h = Relu (x) y = Exp (h) }"#,
    ),
    (
        "a factor that is computed from a shape",
        "",
        r#"g (float[N,4] x) => (float[N,4] y) {
            i = Shape (x) j = Constant <value_int = 0> () k = Gather (i, j) m = Cast <to = 1> (k) y = Mul (x, m) }"#,
    ),
    (
        "microsoft/onnxruntime#14827: Resize with sizes after other operators",
        "",
        r#"g (float[1,1,2,2] x) => (float[1,1,5,5] y) <int64[4] sizes = {1, 1, 5, 5}> { a = Sigmoid (x) y = Resize <mode = "linear"> (a, , , sizes) }"#,
    ),
    (
        "a loop that carries floats",
        "",
        r#"g (float[4] x) => (float[4] y, float[3,4] all) <int64 trips = {3}, bool on = {1}> {
            y, all = Loop (trips, on, x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t, float[4] u) {
                d = Identity (c) t = Add (s, x) u = Relu (t) }> }"#,
    ),
    (
        "microsoft/onnxruntime#20346: casts one after another",
        "",
        r#"g (float[N,4] x) => (float[N,4] y) { a = Cast <to = 11> (x) b = Cast <to = 1> (a) c = Cast <to = 10> (b) d = Cast <to = 1> (c) y = Relu (d) }"#,
    ),
    (
        "normalization with a small epsilon",
        "",
        r#"g (float[N,4] x) => (float[N,4] y) <float eps = {1e-12}, int64[1] axis = {-1}> {
            m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [-1]> (q)
            e = Add (v, eps) s = Sqrt (e) one = Constant <value_float = 0.5> () t = Add (s, one) y = Div (d, t) }"#,
    ),
    (
        "microsoft/onnxruntime#25522: a Cast of a mask, with declared types of inner values",
        "",
        r#"g (bool[N,4] m, float[N,4] x) => (float[N,4] y) <float[N,4] f, float[N,4] a> { f = Cast <to = 1> (m) a = Mul (x, f) y = Softmax (a) }"#,
    ),
    (
        "a mask below the range",
        "",
        r#"g (bool[N,4] m, float[N,4] x) => (float[N,4] y) <float low = {-3.4028235e38}> { a = Where (m, x, low) y = Softmax (a) }"#,
    ),
    (
        "bounds as constants, and a result of integers",
        "",
        r#"g (float[2,3] x) => (float[2,3] y, int64[2,1] i) <int64[1] k = {1}, float lo = {-0.5}, float hi = {0.5}> {
            c = Clip (x, lo, hi) y = Relu (c) v, i = TopK (c, k) }"#,
    ),
    (
        "NVIDIA/Model-Optimizer#1626: inputs and outputs without elements",
        "",
        r#"g (float[0,4] past, float[2,4] x) => (float[2,4] y, float[0,4] out) { y = Concat <axis = 0> (past, x) out = Relu (past) }"#,
    ),
    (
        "constants as nodes, with both kinds of users",
        "Exp",
        r#"g (float[N,2] x) => (float[N,2] y, float[N,2] z) { w = Constant <value = float[2] {0.5, 0.25}> () a = Exp (w) y = Mul (x, w) z = Mul (x, a) }"#,
    ),
    (
        "microsoft/onnxconverter-common#208: casts of inputs come before their users",
        "",
        r#"g (float[N,4] b, float[N,4] a) => (float[N,4] y) { s = Add (a, b) y = Sub (s, a) }"#,
    ),
];

fn model(text: &str) -> Model {
    let text = format!("<ir_version: 8, opset_import: [\"\": 17]>\n{text}");
    let mut model =
        parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    // Some are written in another order.
    let main = model.main_graph();
    model.sort(main).unwrap();
    model
}

/// Names and types of inputs and outputs.
fn interface(model: &Model) -> Vec<(String, Option<ElemType>)> {
    let graph = model.graph(model.main_graph());
    let ports = graph.inputs().iter().copied().chain(graph.outputs().iter().map(GraphOutput::value));
    let port = |value: ValueId| {
        let elem = model.ty(value).map(onnx_types::Type::elem);
        (model.str(model.value(value).name()).to_owned(), elem)
    };
    ports.map(port).collect()
}

#[test]
fn models_of_public_reports_are_converted() {
    for (report, except, text) in REPORTS {
        let source = model(text);
        assert_eq!(errors(&source), Vec::<String>::new(), "{report}");
        let nodes = source.all_graphs().flat_map(|graph| source.nodes(graph).collect::<Vec<_>>());
        let kept: Vec<NodeId> = nodes.filter(|&node| source.str(source.node(node).op()) == except).collect();
        for half in [Half::Float16, Half::Bfloat16] {
            for keep_io in [true, false] {
                let mut result = source.clone();
                let options = NarrowOptions::default().with_keep_io(keep_io).with_except(&kept);
                match narrow(&mut result, half, &options) {
                    Ok(done) => assert!(done.nodes + done.constants > 0, "{report}"),
                    // bfloat16 came later to some operators.
                    Err(NarrowError::NotTaken(reason)) if reason.half == Some(Half::Bfloat16) => continue,
                    Err(error) => panic!("{report}: {error}"),
                }
                result.verify().unwrap();
                assert_eq!(
                    errors(&result),
                    Vec::<String>::new(),
                    "{report} {half:?} {keep_io}\n{}",
                    text_of(&result)
                );
                if keep_io {
                    assert_eq!(interface(&result), interface(&source), "{report}\n{}", text_of(&result));
                }
                let outputs = measure(&source, &result, &MeasureOptions::default())
                    .unwrap_or_else(|reason| panic!("{report}: {reason}\n{}", text_of(&result)));
                let least = if half == Half::Float16 { 45.0 } else { 25.0 };
                for output in outputs {
                    assert!(
                        output.snr.is_none_or(|snr| snr > least) && output.not_finite == 0,
                        "{report} {half:?}: {output:?}\n{}",
                        text_of(&result)
                    );
                }
            }
        }
    }
}

#[test]
fn an_input_of_integers_takes_another_type() {
    let mut result = model(
        "g (int64[B,S] ids) => (float[B,S,4] y) <float[10,4] table = splat {0.5}> { y = Gather (table, ids) }",
    );
    // `Gather` takes both types, but the cast keeps what the graph computes.
    assert_eq!(retype(&mut result, "ids", ElemType::Int32).unwrap(), 1);
    assert_eq!(errors(&result), Vec::<String>::new());
    assert_eq!(interface(&result)[0], ("ids".to_owned(), Some(ElemType::Int32)));
}

#[test]
fn a_model_that_mixes_both_types_is_an_error() {
    let mixed = model(
        "g (float16[N,4] x) => (float16[N,4] y) <float16[N,4] m> {
            i = Shape (x) j = Constant <value_int = 0> () k = Gather (i, j) m = Cast <to = 1> (k) y = Mul (x, m) }",
    );
    assert!(!errors(&mixed).is_empty());
}
