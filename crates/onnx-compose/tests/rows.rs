//! Whether the rows of a freed size are apart, as far as operators and flows prove it.
//!
//! The first node of most models makes zeros of the inputs of runs, so that only the proof decides.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use onnx_compose::{ComposeError, EditOptions, NewSize, SizeChange, SizeTarget, resize};
use onnx_text::{ParseOptions, parse_model};

/// Makes zeros of small numbers.
const Z: &str = "z = Shrink <bias = 1000.0, lambd = 1000.0> (x)";

/// What is reported about the rows if axes of inputs, such as `x[0]`, get the size `n`: `apart` if they are proved to be apart.
fn rows_of(version: i64, graph: &str, axes: &[&str]) -> String {
    let graph = graph.replace("Z;", Z);
    let text = format!("<ir_version: 10, opset_import: [\"\": {version}, \"loc\": 1]> {graph}");
    let mut model =
        parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{graph}: {error:?}"));
    let change = |text: &&str| {
        let (name, axis) = text.strip_suffix(']').and_then(|text| text.split_once('[')).unwrap();
        let input = model.find_value(model.main_graph(), name).unwrap();
        SizeChange {
            target: SizeTarget::Axis(input, axis.parse().unwrap()),
            size: NewSize::Name("n".to_owned()),
        }
    };
    let changes: Vec<SizeChange> = axes.iter().map(change).collect();
    let done = match resize(&mut model, &changes, &EditOptions::default()) {
        Ok(done) => done,
        Err(ComposeError::FixedSizes(fixed)) => {
            let fixed: Vec<String> = fixed.iter().map(ToString::to_string).collect();
            return format!("refused: {}", fixed.join("; "));
        }
        Err(error) => panic!("{graph}: {error}"),
    };
    let unproved = done.unproved_rows.into_iter().flat_map(|(_, reasons)| reasons);
    let dependent = done.dependent_rows.into_iter().map(|(_, reason)| format!("dependent: {reason}"));
    let not_run = done.not_run.into_iter().map(|(_, reason)| format!("not run: {reason}"));
    let all: Vec<String> = unproved.chain(dependent).chain(not_run).collect();
    if all.is_empty() { "apart".to_owned() } else { all.join("; ") }
}

/// Expects that the first axis of `x` is refused, or reported for a reason.
#[track_caller]
fn reported(cases: &[(i64, &str, &str)]) {
    for &(version, graph, expected) in cases {
        let found = rows_of(version, graph, &["x[0]"]);
        assert!(found != "apart" && found.contains(expected), "{graph}: {found}");
    }
}

#[track_caller]
fn apart(cases: &[(i64, &str)]) {
    for &(version, graph) in cases {
        assert_eq!(rows_of(version, graph, &["x[0]"]), "apart", "{graph}");
    }
}

const COMPUTES: &str = "computes with the freed size as a number";

#[test]
fn sizes_that_leave_nested_graphs_are_followed() {
    reported(&[
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <float[4] v = {1, 2, 3, 4}> {
                s = Shape <end = 1> (x) f = Cast <to = 1> (s) c = Constant <value = bool {1}> ()
                r = If (c) <then_branch = t () => (float[4] o) { o = Mul (f, v) }, else_branch = e () => (float[4] p) { p = Add (v, v) }>
                Z; y = Mul (z, r) }",
            "Mul `y` computes with",
        ),
        (
            21,
            "g (float[1,4] x, bool c) => (float[a,b] y) <float[4] v = {1, 2, 3, 4}> {
                s = Shape <end = 1> (x) f = Cast <to = 1> (s)
                r = If (c) <then_branch = t () => (float[4] o) { o = Mul (f, v) }, else_branch = e () => (float[4] p) { p = Add (v, v) }>
                Z; y = Mul (z, r) }",
            COMPUTES,
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <float[4] v = {1, 2, 3, 4}> {
                s = Shape <end = 1> (x) f = Cast <to = 1> (s) t = Constant <value_int = 2> () c = Constant <value = bool {1}> ()
                r = Loop (t, c, v) <body = b (int64 i, bool ci, float[4] a) => (bool co, float[4] ao) { co = Identity (ci) ao = Mul (f, a) }>
                Z; y = Mul (z, r) }",
            COMPUTES,
        ),
        // As the number of iterations, as a scanned operand, and through a result that is collected.
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <float[4] v = {1, 2, 3, 4}, int64 zero = {0}> {
                s = Shape (x) t = Gather (s, zero) c = Constant <value = bool {1}> ()
                r = Loop (t, c, v) <body = b (int64 i, bool ci, float[4] a) => (bool co, float[4] ao) { co = Identity (ci) ao = Add (a, a) }>
                Z; y = Mul (z, r) }",
            COMPUTES,
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <float init = {0}> {
                s = Shape (x) f = Cast <to = 1> (s)
                r, q = Scan (init, f) <num_scan_inputs = 1, body = b (float a, float i) => (float ao, float io) { ao = Add (a, i) io = Identity (i) }>
                Z; y = Mul (z, r) }",
            COMPUTES,
        ),
        // Through a function and a sequence.
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64 zero = {0}> {
                s = loc.F (x) q = SequenceConstruct (s) r = SequenceAt (q, zero) Z; y = Mul (z, r) }
             <domain: \"loc\", opset_import: [\"\": 21]> F (a) => (b) { s = Shape <end = 1> (a) b = Cast <to = 1> (s) }",
            "F `s` is not known to keep the elements along axis 0 apart",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64 zero = {0}> {
                t = Shape <end = 1> (x) s = Cast <to = 1> (t) q = SequenceConstruct (s) r = SequenceAt (q, zero) Z; y = Mul (z, r) }",
            COMPUTES,
        ),
    ]);
}

#[test]
fn sizes_that_choose_elements_are_reported() {
    reported(&[
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <float[4] v = {1, 2, 3, 4}> {
                s = Shape <end = 1> (x) one = Constant <value_ints = [1]> () d = Sub (s, one) m = Neg (d) p = Concat <axis = 0> (d, m)
                r = Pad (v, p) Z; y = Mul (z, r) }",
            COMPUTES,
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <float[4] v = {1, 2, 3, 4}> {
                s = Shape <end = 1> (x) one = Constant <value_ints = [1]> () d = Sub (s, one) four = Constant <value_ints = [4]> ()
                i = Mod (d, four) e = Add (i, one) zero = Constant <value_ints = [0]> () r = Slice (v, i, e, zero) Z; y = Mul (z, r) }",
            COMPUTES,
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) {
                s = Shape <end = 1> (x) zero = Constant <value_ints = [0]> () e = Constant <value_ints = [4]> () one = Constant <value_ints = [1]> ()
                Z; r = Slice (z, zero, e, one, s) y = ReduceSum (r, one) }",
            COMPUTES,
        ),
        (
            21,
            "g (float[1,2,3,4] x) => (float[a,b,c,d] y) {
                s = Shape <end = 1> (x) f = Cast <to = 1> (s) o = Constant <value_floats = [1.0, 1.0, 1.0]> () k = Concat <axis = 0> (o, f)
                Z; y = Resize (z, , k) }",
            "",
        ),
        // Outputs that are the size.
        (
            21,
            "g (float[1,4] x) => (float[a,b] y, int64[1] w) { s = Shape <end = 1> (x) one = Constant <value_ints = [1]> () d = Div (s, s) w = Mul (d, s) y = Relu (x) }",
            "freed size",
        ),
    ]);
    apart(&[
        // Sizes that do not depend on the freed one, and shapes.
        (21, "g (float[1,4] x) => (float[a,b] y) { s = Shape <start = 1> (x) f = Cast <to = 1> (s) Z; y = Div (z, f) }"),
        (
            21,
            "g (float[1,2,3,4] x) => (float[a,b,c,d] y) {
                s = Shape <end = 2> (x) hw = Constant <value_ints = [6, 8]> () k = Concat <axis = 0> (s, hw) Z; y = Resize (z, , , k) }",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <float c = {2}> { s = Shape (x) e = Expand (c, s) Z; y = Add (z, e) }",
        ),
        (
            21,
            "g (float[1,6] x) => (float[a,b,c] y) { s = Shape <end = 1> (x) r = Constant <value_ints = [2, 3]> () t = Concat <axis = 0> (s, r) Z; y = Reshape (z, t) }",
        ),
    ]);
}

/// Sizes through floats, whose elements inference does not know.
#[test]
fn sizes_that_inference_does_not_know_are_followed() {
    for node in [
        "e = ConstantOfShape <value = float[1] {1.0}> (k)",
        "e = Tile (v, k)",
        "e = Expand (one, k)",
        "t = Concat <axis = 0> (k, minus) e = Reshape (v, t)",
        "t = Concat <axis = 0> (zero, k) e = Pad (one, t)",
        "d = Sub (twelve, k) t = Concat <axis = 0> (k, d) e, rest = Split (v, t)",
        "e = Slice (v, zero, k)",
        "e = Resize (v, , , k)",
        "t = Concat <axis = 0> (k, minus) u = Abs (t) w = Expand (z, u) h = Shape <end = 1> (w) e = Cast <to = 1> (h)",
        "r = Squeeze (k) i = Range (from, r, step) e = Cast <to = 1> (i)",
    ] {
        let graph = format!(
            "g (float[1,4] x) => (float[a,b] y)
             <float[12] v = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, float[1] one = {{1}}, int64[1] minus = {{-1}}, int64[1] zero = {{0}},
              int64[1] twelve = {{12}}, int64 from = {{0}}, int64 step = {{1}}> {{
                Z; s = Shape <end = 1> (x) f = Cast <to = 1> (s) q = Sqrt (f) p = Mul (q, q) o = Round (p) k = Cast <to = 7> (o)
                {node}
                m = ReduceSum <keepdims = 0> (e) y = Mul (z, m) }}"
        );
        let found = rows_of(21, &graph, &["x[0]"]);
        assert_ne!(found, "apart", "{node}");
    }
    for node in [
        "e = Scan (init, all) <num_scan_inputs = 1, body = b (float[1] a, float[1] i) => (float[1] ao) { ao = Add (a, f) }>",
        "e = If (c) <then_branch = t () => (float[1] o) { w = Shape <end = 1> (x) o = Cast <to = 1> (w) }, else_branch = e () => (float[1] p) { p = Identity (init) }>",
    ] {
        let graph = format!(
            "g (float[1,4] x) => (float[a,b] y) <float[1] init = {{0}}, float[1,1] all = {{0}}> {{
                Z; s = Shape <end = 1> (x) f = Cast <to = 1> (s) c = Constant <value = bool {{1}}> () {node} y = Mul (z, e) }}"
        );
        let found = rows_of(21, &graph, &["x[0]"]);
        assert!(found.contains(COMPUTES), "{node}: {found}");
    }
}

#[test]
fn outputs_with_rows_in_another_order_are_reported() {
    reported(&[(
        21,
        "g (float[1,4] x) => (float[a] y) { Z; t = Transpose (z) m = Constant <value_ints = [-1]> () y = Reshape (t, m) }",
        "refused",
    )]);
    for (graph, axis) in [
        ("g (float[3,3] x) => (float[a] y) <int64[1] s = {9}> { Z; y = Reshape (z, s) }", "x[1]"),
        (
            "g (float[4,1] x) => (float[a,b,c] y) <int64[3] s = {-1, 2, 2}> { Z; r = Reshape (z, s) y = Transpose <perm = [1, 0, 2]> (r) }",
            "x[1]",
        ),
    ] {
        let found = rows_of(21, graph, &[axis]);
        assert_ne!(found, "apart", "{graph}");
    }
    apart(&[(
        21,
        "g (float[1,4] x) => (float[a] y) { Z; m = Constant <value_ints = [-1]> () y = Reshape (z, m) }",
    )]);
}

#[test]
fn indices_must_have_all_rows() {
    reported(&[
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64[1,4] i = {1, 0, 2, 3}> { Z; q = GatherElements <axis = 1> (z, i) y = Add (z, q) }",
            "GatherElements `q` is not known to keep",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64[1,2] i = {1, 0}, float[1,2] u = {0, 0}> { Z; y = ScatterElements <axis = 1> (z, i, u) }",
            "ScatterElements `y` is not known to keep",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64[1,2] i = {1, 0}, float[1,2] u = {3, 5}> { Z; y = ScatterElements <axis = 1, reduction = \"mul\"> (z, i, u) }",
            "ScatterElements `y` is not known to keep",
        ),
    ]);
    // Row 1 of the indices takes from row 1 of a constant.
    let constant = "g (float[1,4] x) => (float[a,b] y) <float[3,3] d = {1, 2, 3, 1, 5, 6, 1, 8, 9}> {
        Z; a = Abs (z) i = Cast <to = 7> (a) y = GatherElements <axis = 1> (d, i) }";
    assert_ne!(rows_of(21, constant, &["x[0]"]), "apart");
    let both = "g (float[1,4] x, int64[1,4] i) => (float[a,b] y) { Z; k = Sub (i, i) y = GatherElements <axis = 1> (z, k) }";
    let found = rows_of(21, both, &["x[0]"]);
    assert_eq!(found, "refused: `y` does not have the freed size on any axis");
    let both = "g (float[1,4] x, float[1,4] w) => (float[a,b] y) {
        Z; m = ArgMax <axis = 1> (w) y = GatherElements <axis = 1> (z, m) }";
    assert_eq!(rows_of(21, both, &["x[0]", "w[0]"]), "apart");
    let both = "g (float[1,4] x, float[1,4] w) => (float[a,b] y) {
        Z; one = Constant <value_int = 1> () m = ArgMax <axis = 1, keepdims = 0> (w) l = Add (m, one)
        y = ReverseSequence <batch_axis = 0, time_axis = 1> (z, l) }";
    assert_eq!(rows_of(21, both, &["x[0]", "w[0]"]), "apart");
}

/// The axis along which an operator works, if no attribute names it, depends on its version.
#[test]
fn defaults_are_those_of_the_version_of_the_operator() {
    for (version, node, axis, is_apart) in [
        (9, "y, i = TopK <k = 2> (z)", "x[2]", false),
        (9, "y, i = TopK <k = 2> (z)", "x[0]", true),
        (5, "y, i = TopK <k = 2> (z)", "x[2]", false),
        (5, "y, i = TopK <k = 2> (z)", "x[0]", true),
        (12, "y = Softmax (z)", "x[1]", false),
        (13, "y = Softmax (z)", "x[1]", true),
        (12, "y = LogSoftmax (z)", "x[1]", false),
        (13, "y = LogSoftmax (z)", "x[1]", true),
        (12, "y = Hardmax (z)", "x[1]", false),
        (13, "y = Hardmax (z)", "x[1]", true),
        (13, "y = ArgMax (z)", "x[0]", false),
        (13, "y = ArgMax (z)", "x[1]", true),
        (13, "y = LpNormalization (z)", "x[2]", false),
        (13, "y = LpNormalization (z)", "x[1]", true),
        (13, "y = Gather (z, one)", "x[0]", false),
        (13, "y = Gather (z, one)", "x[1]", true),
    ] {
        // `Shrink` is of version 9.
        let zeros = if version < 9 { "z = Sub (x, x)" } else { "Z;" };
        let elem = if node.contains("ArgMax") { "int64" } else { "float" };
        let graph =
            format!("g (float[2,3,4] x) => ({elem}[a,b,c] y) <int64[1] one = {{1}}> {{ {zeros} {node} }}");
        let found = rows_of(version, &graph, &[axis]);
        assert_eq!(found == "apart", is_apart, "{version} {node} {axis}: {found}");
    }
}

/// Sizes that inference does not know can hide rows.
#[test]
fn rows_behind_unknown_sizes_are_reported() {
    reported(&[
        (
            21,
            "g (float[1,4] x, int64[2] k) => (float[a,b] y) <int64[1] zero = {0}> { Z; e = Expand (z, k) m = ReduceMax (e, zero) y = Add (m, z) }",
            "Expand `e`",
        ),
        (
            21,
            "g (float[1,4] x, int64[2] k) => (float[a,b] y) { Z; e = Expand (z, k) t = Transpose (e) p = MatMul (t, e) y = MatMul (z, p) }",
            "Expand `e`",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64[1] zero = {0}> {
                Z; s = Shape (x) f = Cast <to = 1> (s) r = Sqrt (f) q = Mul (r, r) i = Cast <to = 7> (q)
                e = Expand (z, i) m = ReduceMax (e, zero) y = Add (m, z) }",
            "Expand `e`",
        ),
        (
            21,
            "g (float[1,4] x, bool k) => (float[a,b] y) <float[1,4] v = {1, 2, 3, 4}, int64[1] zero = {0}> {
                Z; r = If (k) <then_branch = t () => (float[p,q] o) { o = Relu (z) }, else_branch = e () => (float[s,q] u) { u = Neg (v) }>
                m = ReduceMax (r, zero) y = Add (m, z) }",
            "If `r` passes rows that are not known to be on one axis",
        ),
        (
            21,
            "g (float[1,4] x, int64[2] k) => (float[a,b] y) <int64[1] zero = {0}> { Z; e = ConstantOfShape (k) q = Add (e, z) m = ReduceMax (q, zero) y = Add (m, z) }",
            "",
        ),
        // The number of elements depends on the size, and is counted.
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64[3] v = {1, 2, 3}, int64 one = {1}> {
                Z; s = Shape <end = 1> (x) g = Less (v, s) n = NonZero (g) c = Shape (n) k = Gather (c, one) f = Cast <to = 1> (k) y = Mul (z, f) }",
            COMPUTES,
        ),
    ]);
}

#[test]
fn rows_through_graphs_and_functions_are_apart() {
    apart(&[
        (
            21,
            "g (float[1,4] x, bool c) => (float[a,b] y) {
                Z; y = If (c) <then_branch = t () => (float[p,q] o) { o = Relu (z) }, else_branch = e () => (float[p,q] u) { u = Neg (z) }> }",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) {
                Z; t = Constant <value_int = 2> () c = Constant <value = bool {1}> ()
                y = Loop (t, c, z) <body = b (int64 i, bool ci, float[p,q] a) => (bool co, float[p,q] ao) { co = Identity (ci) ao = Add (a, z) }> }",
        ),
        (
            21,
            "g (float[1,3,4] x) => (float[a,b,c] w) <float[1,4] h = {0, 0, 0, 0}> {
                Z; s = Shape <end = 1> (x) four = Constant <value_ints = [4]> () k = Concat <axis = 0> (s, four) i = Expand (h, k)
                y, w = Scan (i, z) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body = b (float[p,q] a, float[p,q] r) => (float[p,q] ao, float[p,q] ro) { ao = Add (a, r) ro = Mul (ao, r) }> }",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) { Z; y = loc.F (z) } <domain: \"loc\", opset_import: [\"\": 21]> F (a) => (b) { c = Exp (a) b = Mul (a, c) }",
        ),
    ]);
    reported(&[
        // Over the rows, a state that a body transposes, and rows that decide.
        (
            21,
            "g (float[1,4] x) => (float[a] y) <float[4] h = {0, 0, 0, 0}> {
                Z; y = Scan (h, z) <num_scan_inputs = 1, body = b (float[4] a, float[4] r) => (float[4] ao) { ao = Add (a, r) }> }",
            "",
        ),
    ]);
}

#[test]
fn rows_of_more_operators_are_proved() {
    apart(&[
        (21, "g (float[1,4] x) => (float[a,b] y) <int64 axis = {1}> { Z; y = CumSum (z, axis) }"),
        (21, "g (float[1,4] x) => (float[a,b] y) <int64[1] axis = {1}> { Z; y = CumSum (z, axis) }"),
        (21, "g (float[1,4] x) => (float[a,b] y) <int32[1] axis = {-1}> { Z; y = CumSum (z, axis) }"),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <bool[3] c = {1, 0, 1}> { Z; y = Compress <axis = 1> (z, c) }",
        ),
        (21, "g (float[1,2,6] x) => (float[a,b,c] y) { Z; y = GlobalLpPool (z) }"),
        (
            21,
            "g (float[1,2] x) => (float[a,b] y) <float[2,2] m = {1, 2, 3, 4}> { Z; y = Einsum <equation = \"bi,ij\"> (z, m) }",
        ),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64[1] zero = {0}, int64[1] end = {9223372036854775807}> { Z; y = Slice (z, zero, end, zero) }",
        ),
    ]);
    let graph =
        "g (float[S,1,2,3] x) => (float[a,b,c] y) <int64[3] t = {0, 0, -1}> { Z; y = Reshape (z, t) }";
    assert_eq!(rows_of(21, graph, &["x[1]"]), "apart");
    reported(&[
        (21, "g (float[1,4] x) => (float[a,b] y) <bool[1] c = {1}> { Z; y = Compress <axis = 0> (z, c) }", "combines"),
        (
            21,
            "g (float[1,4] x) => (float[a,b] y) <int64[1] zero = {0}, int64[1] end = {9223372036854775807}, int64[1] step = {2}> { Z; r = Slice (z, zero, end, zero, step) y = Add (z, r) }",
            "",
        ),
        // Half an element off.
        (
            11,
            "g (float[1,1,2,2] x) => (float[a,b,c,d] y) <float[0] roi = {}, float[4] s = {1, 1, 2, 2}> {
                Z; y = Resize <coordinate_transformation_mode = \"tf_half_pixel_for_nn\", nearest_mode = \"ceil\"> (z, roi, s) }",
            "Resize `y`",
        ),
    ]);
}

/// A number for a fixed size frees it first, with a variable that has no name in messages.
#[test]
fn an_axis_that_gets_a_number_is_named() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
        g (float[1,4] x) => (float[1,4] y) <float[4,4] m = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> {
            y = Einsum <equation = \"...i,ij->...j\"> (x, m)
        }";
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Number(4) };
    let done = resize(&mut model, &[change], &EditOptions::default()).unwrap();
    let reason = "Einsum `y` is not known to keep the elements along axis 0 apart".to_owned();
    assert_eq!(done.unproved_rows, [("x[0]".to_owned(), vec![reason])]);
}

/// A `Reshape` keeps the rows together only if those of its operand follow one another.
#[test]
fn rows_in_an_order_that_is_not_known_are_reported() {
    reported(&[
        (
            20,
            "g (float[1,2,2] x) => (float[A,2] y) <int64[2] s = {-1, 2}, int64[1] a = {1}> {
                Z; t = Transpose <perm = [1, 0, 2]> (z) r = Reshape (t, s)
                m = ReduceMax <keepdims = 0> (r, a) y = Reshape (m, s)
            }",
            "",
        ),
        (
            20,
            "g (float[1,2,2] x) => (float[B,A] y) <int64[2] s = {-1, 2}> {
                Z; t = Transpose <perm = [1, 0, 2]> (z) r = Reshape (t, s)
                m = Einsum <equation = \"bi,ij->jb\"> (r, r) y = Transpose (m)
            }",
            "",
        ),
    ]);
}

/// A size that is a multiple of the freed one for small numbers only is not one.
#[test]
fn sizes_that_are_bounded_are_reported() {
    reported(&[(
        20,
        "g (float[1,4] x) => (float[A,4] y) <float[1,4] v = {1, 2, 3, 4}, int64[1] hundred = {100}, int64[1] four = {4}> {
            n = Shape <start = 0, end = 1> (x) m = Min (n, hundred) s = Concat <axis = 0> (m, four)
            y = Expand (v, s)
        }",
        "",
    )]);
}

/// The sizes of runs are those that the model takes: a window of 300 elements needs more than a few.
#[test]
fn runs_have_sizes_that_operators_take() {
    let weight = vec!["1"; 300].join(",");
    let graph = format!(
        "g (float[1,1,samples] x) => (float[a,1,b] y) <float[1,1,300] w = {{{weight}}}> {{ y = Conv (x, w) }}"
    );
    assert_eq!(rows_of(21, &graph, &["x[0]"]), "apart");
}

/// The average over no elements is NaN, for several rows as for one.
#[test]
fn runs_without_finite_results_show_nothing() {
    let graph = "g (float[N,4] x) => (float[1,1] y) <int64[1] from = {6}, int64[1] to = {1000}, int64[1] axis = {0}> {
        s = Slice (x, from, to, axis)
        y = ReduceMean <keepdims = 1> (s)
    }";
    let found = rows_of(17, graph, &["x[1]"]);
    assert!(found.starts_with("dependent: "), "{found}");
}
