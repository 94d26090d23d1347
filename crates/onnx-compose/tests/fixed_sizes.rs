//! Sizes that cannot be freed, although nothing in the model says so, and sizes in front of unknown ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use onnx_compose::{ComposeError, EditOptions, NewSize, SizeChange, SizeTarget, resize};
use onnx_ir::Model;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

/// Frees the first size of the input `x`.
fn freed(graph: &str) -> Result<Model, ComposeError> {
    changed(graph, NewSize::Name("batch".to_owned()))
}

/// Changes the first size of the input `x`.
fn changed(graph: &str, size: NewSize) -> Result<Model, ComposeError> {
    let text = format!("<ir_version: 10, opset_import: [\"\": 23]> {graph}");
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, 0), size };
    resize(&mut model, &[change], &EditOptions::default()).map(|_| model)
}

/// What fixes the first size of the input `x`.
fn refused(graph: &str) -> String {
    match freed(graph) {
        Err(ComposeError::FixedSizes(fixed)) => fixed.iter().map(|fixed| fixed.to_string() + "\n").collect(),
        other => panic!("{graph}: {other:?}"),
    }
}

/// Nothing that inference concludes fixes these sizes; a run with another one does.
#[test]
fn operators_that_run_for_the_old_size_only_are_refused() {
    for graph in [
        "g (float[2,3] x) => (float[2,3] y) <float[2,3] w = {1, 0, 0, 1, 1, 1}, int64[2,1] i = {0, 1}> { y = ScatterND (w, i, x) }",
        "g (float[2,3] x) => (float[2,3] y) <float[2,3] w = {1, 0, 0, 1, 1, 1}, int64[2,3] i = {0, 1, 0, 1, 0, 1}> { y = ScatterElements <axis = 0> (w, i, x) }",
        "g (float[2,1,3,3] x) => (float[2,1,1,1] y) <float[2,1,1,2] g = {0, 0, 0.5, 0.5}> { y = GridSample (x, g) }",
        "g (float[2,2,2,2] x) => (float[2,1,2,2] y) <float[2,1,1,1] c = {0, 1}> { y = GridSample (c, x) }",
        "g (float[2,3] x) => (float[2,3] y) <int64[2] l = {1, 2}> { y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) }",
        "g (float[2,3] x) => (float[3,2] y) <float[2] s = {1, 2}> { u = Transpose <perm = [1, 0]> (x) y = LayerNormalization (u, s) }",
        "g (float[2,3] x) => (float[2,3] y) <int64[2] k = {1, 1}> { s = SplitToSequence <axis = 0, keepdims = 1> (x, k) y = ConcatFromSequence <axis = 0> (s) }",
        "g (float[2,1,2,2] x) => (float[2,1,2,2] y) <float[2,1,2,2] m = {1, 2, 3, 4, 5, 6, 7, 8}> { y = Attention (x, x, x, m) }",
        "g (float[2,3] x) => (float[2] y) <int64[2,1] i = {0, 1}> { y = GatherND <batch_dims = 1> (x, i) }",
        "g (float[2,3] x) => (float[2] y) <int64[2] l = {1, 2}> { y = SoftmaxCrossEntropyLoss <reduction = \"none\"> (x, l) }",
    ] {
        let message = refused(graph);
        assert!(
            message.contains("runs for the old size only") || message.contains("requires"),
            "{graph}: {message}"
        );
    }
}

/// The rows of a batch that an output leaves out are lost for every other size.
#[test]
fn outputs_that_keep_the_old_number_of_rows_are_refused() {
    for graph in [
        "g (float[2,2,3] x) => (float[2,2,2,2] y) <int64[4] s = {2, 1, 2, 2}> { y = AffineGrid (x, s) }",
        "g (float[2,3,4] x) => (float[2,4] y) <int64[2,2] i = {0, 2, 1, 2}> { y = GatherND (x, i) }",
        "g (float[2,3] x) => (float[2,3] y) <int64[2] i = {0, 1}> { y = Gather <axis = 0> (x, i) }",
        "g (float[2,3] x) => (float[2,3] y) <int64 a = {0}, int64 b = {2}, int64 c = {1}> { i = Range (a, b, c) y = Gather <axis = 0> (x, i) }",
        "g (float[2,3] x) => (float[2,3] y) <int64[2,3] i = {0, 0, 0, 1, 1, 1}> { y = GatherElements <axis = 0> (x, i) }",
        "g (float[2,3] x) => (float[2,3] y) <int64[1] k = {2}> { y = CenterCropPad <axes = [0]> (x, k) }",
    ] {
        let message = refused(graph);
        assert!(message.contains("freed size"), "{graph}: {message}");
    }
}

/// The sequence is unknown, so that the factors of the flattened mask are.
#[test]
fn a_batch_in_front_of_unknown_sizes_is_flattened() {
    let graph = "g (int64[1, S] x) => (int64[1, S] y) <int64[1] all = {-1}> {
        s = Shape (x) f = Reshape (x, all) n = Neg (f) y = Reshape (n, s)
    }";
    let text = print_model(&freed(graph).unwrap(), &PrintOptions::default()).unwrap().text;
    assert!(text.contains("(int64[batch,S] x) => (int64[batch,S] y)"), "{text}");
}

/// The first axis has the windows of each row, one row after the other; operators that remove or insert axes keep that.
#[test]
fn a_batch_with_windows_is_followed_over_axes_that_are_removed() {
    for (nodes, expected) in [
        ("u = Transpose <perm = [1, 0, 2]> (w) c = Gather <axis = 0> (u, zero)", "-1, 4, 2"),
        ("u = Slice (w, first, second, axis) c = Squeeze (u, axis)", "-1, 4, 2"),
        ("c = ReduceMax <keepdims = 0> (w, axis)", "-1, 4, 2"),
        ("u = Transpose <perm = [1, 0, 2]> (w) c = ArgMax <axis = 0, keepdims = 0> (u)", "-1, 4, 2"),
        ("v, c = Split <axis = 2, num_outputs = 2> (w)", "-1, 4, 3, 1"),
        ("u = Unsqueeze (w, axis) c = Exp (u)", "-1, 4, 1, 3, 2"),
    ] {
        let graph = format!(
            "g (float[1,4,6] x) => (y)
            <int64[3] s = {{4, 3, 2}}, int64[{}] target = {{{expected}}}, int64 zero = {{0}}, int64[1] first = {{0}}, int64[1] second = {{1}},
             int64[1] axis = {{1}}> {{
                w = Reshape (x, s) {nodes} y = Reshape (c, target)
            }}",
            expected.split(',').count()
        );
        let found = freed(&graph);
        assert!(found.is_ok(), "{nodes}: {found:?}");
    }
}

/// Rows of a batch of 1 that the model combines, in ways that only a run shows.
#[test]
fn a_batch_whose_rows_are_combined_is_refused() {
    for graph in [
        // In a function.
        "g (float[1,3] x) => (float[1,3] y) { y = loc.F (x) } <domain: \"loc\", opset_import: [\"\": 23]> F (a) => (b) { z = Constant <value_ints = [0]> () b = ReduceMean <keepdims = 1> (a, z) }",
        // By constant indices.
        "g (float[1,3] x) => (float[1,3] y) <int64[1,1] i = {0}> { u = Relu (x) y = ScatterND (u, i, x) }",
        "g (float[1,3] x) => (float[1,3] y) <int64[1,3] i = {0, 0, 0}> { y = GatherElements <axis = 0> (x, i) }",
        // Between rows of two inputs in one axis.
        "g (float[1,3] x) => (float[2,3] y) { z = Constant <value_int = 0> () u = Concat <axis = 0> (x, x) y = CumSum (u, z) }",
        "g (float[1,3] x) => (float[3,3] y) { y = Einsum <equation = \"bi,bj->ij\"> (x, x) }",
        "g (float[1,3] x) => (float[1,3] y) { y = LpNormalization <axis = 0> (x) }",
        "g (float[1,3] x) => (float[1,1,3] y) <int64[1] z = {0}, int64[1] o = {1}> { u = Unsqueeze (x, z) v = Unsqueeze (x, o) y = Mul (u, v) }",
        // An operand of one element gets one for each row.
        "g (float[1] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}, float z = {0}> { c = Greater (x, z) y = If (c) <then_branch = t () => (float[2] u) { u = Identity (a) }, else_branch = e () => (float[2] u) { u = Identity (b) }> }",
    ] {
        let text = format!("<ir_version: 10, opset_import: [\"\": 23, \"loc\": 1]> {graph}");
        let Ok(mut model) = parse_model(text, &ParseOptions::default()) else { panic!("{graph}") };
        let x = model.find_value(model.main_graph(), "x").unwrap();
        let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("batch".to_owned()) };
        let found = resize(&mut model, &[change], &EditOptions::default());
        assert!(matches!(found, Err(ComposeError::FixedSizes(_))), "{graph}: {found:?}");
    }
}

/// Whether the rows of other axes are independent is reported.
#[test]
fn rows_that_depend_on_each_other_are_reported() {
    let freed_length = |graph: &str| {
        let text = format!("<ir_version: 10, opset_import: [\"\": 23]> {graph}");
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let x = model.find_value(model.main_graph(), "x").unwrap();
        let change = SizeChange { target: SizeTarget::Axis(x, 1), size: NewSize::Name("length".to_owned()) };
        resize(&mut model, &[change], &EditOptions::default()).unwrap()
    };
    let sequence = freed_length("g (float[2,4] x) => (float[2,4] y) { y = Softmax (x) }");
    assert_eq!(sequence.dependent_rows[0].0, "length");
    assert!(sequence.dependent_rows[0].1.starts_with("for the size 8, the output `y` is "));
    let elements = freed_length("g (float[2,4] x) => (float[2,4] y) { y = Exp (x) }");
    assert_eq!((elements.dependent_rows.len(), elements.not_run.len()), (0, 0));
    // All runs have equal results, none of which is that of one row.
    let combined = freed_length(
        "g (float[2,4] x, float[3] w) => (float[2,3] y, float[3] u) <int64[1] axis = {1}> {
            z = Shrink <bias = 1000.0, lambd = 1000.0> (x) m = ReduceMean (z, axis) y = Add (m, w) u = Neg (w)
        }",
    );
    let expected = "for the size 8, the output `y` does not have a result for each row";
    assert_eq!(combined.dependent_rows, [("length".to_owned(), expected.to_owned())]);
    assert!(combined.unproved_rows.is_empty());
    // An output that does not depend on the size has no rows.
    let apart = freed_length(
        "g (float[2,4] x, float[3] w) => (float[2,4] y, float[3] u) <int64 axis = {1}> {
            z = Shrink <bias = 1000.0, lambd = 1000.0> (x) y = CumSum (z, axis) u = Neg (w)
        }",
    );
    assert_eq!((apart.dependent_rows.len(), apart.unproved_rows.len()), (0, 1));
    let random =
        freed_length("g (float[2,4] x) => (float[2,4] y) { u = RandomUniformLike (x) y = Add (x, u) }");
    assert_eq!(random.not_run[0].1, "`RandomUniformLike` is not known to be deterministic");
}

/// Runs show the rows of some inputs for some sizes; nodes that may combine others are reported.
#[test]
fn nodes_that_are_not_known_to_keep_rows_apart_are_reported() {
    let unproved = |graph: &str| {
        let text = format!("<ir_version: 10, opset_import: [\"\": 23]> {graph}");
        let Ok(mut model) = parse_model(text, &ParseOptions::default()) else { panic!("{graph}") };
        let x = model.find_value(model.main_graph(), "x").unwrap();
        let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("batch".to_owned()) };
        let found = resize(&mut model, &[change], &EditOptions::default());
        match found {
            Ok(found) => found.unproved_rows.into_iter().flat_map(|(_, reasons)| reasons).collect::<Vec<_>>(),
            Err(error) => vec![format!("refused: {error}")],
        }
    };
    for graph in [
        "g (float[1,3] x) => (float[1,3] y) { u = Exp (x) v = Softmax (u) y = Mul (u, v) }",
        "g (float[1,4,2] x) => (float[1,2,4] y) <int64[3] s = {1, 2, 4}> { t = Transpose <perm = [0, 2, 1]> (x) y = Reshape (t, s) }",
        "g (float[1,2] x) => (float[1,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}> { y = Gemm (x, w, b) }",
        "g (float[1,2,4] x) => (float[1,4] y) <int64 i = {1}> { y = Gather <axis = 1> (x, i) }",
        "g (float[1,2,3] x) => (float[1,2,2] y) { y = Einsum <equation = \"bij,bkj->bik\"> (x, x) }",
        "g (float[1,3] x) => (float[1,3] y) { s = Shape <start = 1> (x) n = Cast <to = 1> (s) y = Div (x, n) }",
        "g (float[1,3] x) => (float[1,3] y) <float c = {1}> { s = Shape (x) e = Expand (c, s) y = Add (x, e) }",
    ] {
        assert_eq!(unproved(graph), Vec::<String>::new(), "{graph}");
    }
    for (graph, reason) in [
        // Few of the generated rows show it.
        (
            "g (float[1,3] x) => (float[1,3] y) <float z = {0}, float big = {100}, int64[1,2] i = {0, 2}> { g = Sub (x, big) r = Relu (g) k = GatherND (r, i) y = Add (x, k) }",
            "is not known to keep the elements along axis 0 apart",
        ),
        // The runs have two sizes.
        (
            "g (float[1,3] x) => (float[1,3] y) <int64 three = {3}, int64 zero = {0}> { s = Shape (x) n = Gather (s, zero) c = Greater (n, three) y = If (c) <then_branch = t () => (float[M,3] u) { u = Neg (x) }, else_branch = e () => (float[M,3] u) { u = Identity (x) }> }",
            "computes with the freed size as a number",
        ),
        (
            "g (float[1,3] x) => (float[1,3] y) <float big = {100}> { s = Size (x) n = Cast <to = 1> (s) m = Sub (n, big) r = Relu (m) y = Add (x, r) }",
            "computes with the freed size as a number",
        ),
        (
            "g (float[1,3] x) => (float[1,3] y) <float[9,3] t = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, int64[1] z = {0}> { s = Shape <end = 1> (x) p = Slice (t, z, s) y = Add (x, p) }",
            "has an operand whose unknown size may be that of the rows",
        ),
    ] {
        let found = unproved(graph);
        assert!(found.iter().any(|found| found.contains(reason)), "{graph}: {found:?}");
    }
}

#[test]
fn rows_on_an_axis_of_an_output_with_others_are_refused() {
    let text = "<ir_version: 10, opset_import: [\"\": 23]>
        g (float[1,4,6] x) => (float[1,6] y) <int64[3] s = {1, 4, 6}, int64 i = {1}> {
            t = Transpose <perm = [1, 0, 2]> (x)
            r = Reshape (t, s)
            y = Gather <axis = 1> (r, i)
        }";
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("batch".to_owned()) };
    let found = resize(&mut model, &[change], &EditOptions::default());
    assert!(matches!(found, Err(ComposeError::FixedSizes(_))), "{found:?}");
}

#[test]
fn a_size_of_one_for_which_a_node_does_not_run_is_a_condition() {
    let text = "<ir_version: 10, opset_import: [\"\": 23]>
        g (float[2,3] x) => (float[1,3] y) <int64[1] i = {1}> { y = Gather (x, i) }";
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("n".to_owned()) };
    let found = resize(&mut model, &[change], &EditOptions::default()).unwrap();
    assert!(found.conditions.iter().any(|text| text.starts_with("n > 1 (Gather `y` ")), "{found:?}");
}

/// Before version 4 of the format, every initializer is an input.
#[test]
fn new_constants_are_nodes_where_initializers_are_inputs() {
    let text = "<ir_version: 3, opset_import: [\"\": 9]>
        g (float[1,2,4] x, int64[2] s = {1, 8}, float[1,8] w = {1, 2, 3, 4, 5, 6, 7, 8}) => (float[1,16] y) {
            r = Reshape (x, s) y = Concat <axis = 1> (r, w)
        }";
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("n".to_owned()) };
    let found = resize(&mut model, &[change], &EditOptions::default());
    // The operand of `Concat` is an input, which can have another number of rows.
    assert!(matches!(found, Err(ComposeError::FixedSizes(_))), "{found:?}");
    let text = text.replace(", float[1,8] w = {1, 2, 3, 4, 5, 6, 7, 8}", "").replace(
        "y = Concat <axis = 1> (r, w)",
        "w = Constant <value = float[1,8] {1, 2, 3, 4, 5, 6, 7, 8}> () y = Concat <axis = 1> (r, w)",
    );
    // Before version 9 of the operators, no `Constant` has integers.
    for version in [9, 8] {
        let text = text.replace("\"\": 9", &format!("\"\": {version}"));
        let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
        let x = model.find_value(model.main_graph(), "x").unwrap();
        let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("n".to_owned()) };
        let done = resize(&mut model, &[change], &EditOptions::default()).unwrap();
        assert_eq!(done.constants.len(), 2, "{version}: {done:?}");
        let found = onnx_check::check(&model, &onnx_check::CheckOptions::default());
        assert!(!found.has_errors(), "{version}: {:?}", found.diagnostics());
    }
    // Before version 8, no operator expands the constant.
    let mut model = parse_model(text.replace("\"\": 9", "\"\": 7"), &ParseOptions::default()).unwrap();
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("n".to_owned()) };
    let found = resize(&mut model, &[change], &EditOptions::default());
    assert!(matches!(found, Err(ComposeError::FixedSizes(_))), "{found:?}");
}

/// The cause is named once and first, not each of its consequences.
#[test]
fn constants_that_have_the_old_size_are_named() {
    let graph = "g (float[2,3] x) => (float[2,4] y, float[2,3] z) <float[2,1] c = {1, 1}, float[2,3] w = {1, 0, 0, 1, 1, 1}> {
        y = Concat <axis = 1> (c, x)
        a = Add (x, w)
        b = Mul (a, w)
        z = Sub (b, w)
    }";
    assert_eq!(
        refused(graph),
        "`c` is a constant float[2, 1] with the old size on axis 0, and Concat `y` requires 2 == batch\n\
         `w` is a constant float[2, 3] with the old size on axis 0, and Add `a` requires 2 == batch or batch == 1\n"
    );
    let graph = "g (float[2,6] x) => (float[2,6] y) <int64[2] s = {4, 3}, int64[3] t = {2, 2, 3}, float[2,2,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
        a = Reshape (w, t)
        b = Reshape (x, s)
        c = Reshape (b, t)
        d = Add (a, c)
        y = Flatten (d)
    }";
    let found = refused(graph);
    assert!(found.starts_with("`w` is a constant float[2, 2, 3] with the old size on axis 0"), "{found}");
}

/// A constant that has the old size, but on an axis or as an element that results do not have, is not the cause.
#[test]
fn coincidences_of_size_are_not_named() {
    // The other input has the size; the table has it as its number of rows.
    let graph = "g (float[2,3] x, int64[2] k) => (float[2,3] y) <float[2,3] table = {1, 2, 3, 4, 5, 6}> {
        t = Gather (table, k)
        y = Add (x, t)
    }";
    assert_eq!(
        refused(graph),
        "`k` has the old size 2 on axis 0 and is not freed, and Add `y` requires 2 == batch or batch == 1\n"
    );
    // An operator combines the rows, whatever the constants are.
    let graph =
        "g (float[1,2] x) => (float[1,2] y) <int64 one = {1}> { zero = Sub (one, one) y = CumSum (x, zero) }";
    assert_eq!(refused(graph), "CumSum `y` combines the elements along axis 0, which has the freed size\n");
    // A constant that is broadcast along the axis.
    let graph = "g (float[2,2] x) => (float[2,2] y) <float[1,2] w = {1, 2}, float[2,1] c = {1, 2}, float[2,1] d = {3, 4}> {
        e = Mul (w, c)
        y = Add (x, e)
    }";
    let found = refused(graph);
    assert!(found.starts_with("`c` is a constant float[2, 1] with the old size on axis 0"), "{found}");
}

fn advice(graph: &str, axis: usize) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {graph}");
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, axis), size: NewSize::Name("n".to_owned()) };
    let error = resize(&mut model, &[change], &EditOptions::default()).unwrap_err();
    let found = error.findings(&model);
    found
        .diagnostics()
        .iter()
        .map(|found| format!("{}: {}\n", found.message, found.help.clone().unwrap_or_default()))
        .collect()
}

/// A weight was not computed for a size.
#[test]
fn sizes_of_weights_are_told_from_those_of_computed_constants() {
    for (graph, axis, weight) in [
        (
            "g (float[1,2,3,3] x) => (float[a,b,c,d] y) <float[2,2,1,1] w = {1, 2, 3, 4}> { y = Conv (x, w) }",
            1,
            "float[2, 2, 1, 1] for the size 2 (axis 1)",
        ),
        (
            "g (float[1,2,3,3] x) => (float[a,b,c,d] y) <float[2,1,1,1] w = {1, 2}> { y = ConvTranspose (x, w) }",
            1,
            "float[2, 1, 1, 1] for the size 2 (axis 0)",
        ),
        (
            "g (float[1,3] x) => (float[a,b] y) <float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = MatMul (x, w) }",
            1,
            "float[3, 3] for the size 3 (axis 0)",
        ),
        (
            "g (float[1,3] x) => (float[a,b] y) <float[3] w = {1, 2, 3}> { y = LayerNormalization (x, w) }",
            1,
            "float[3] for the size 3 (axis 0)",
        ),
    ] {
        let found = advice(graph, axis);
        assert!(found.contains(&format!("`w` is a weight {weight}")), "{found}");
        assert!(found.contains("the size is that of a weight") && !found.contains("simplify"), "{found}");
    }
    let found = advice(
        "g (float[2,3] x) => (float[a,b] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> { y = Add (x, w) }",
        0,
    );
    assert!(
        found.contains("`w` is a constant float[2, 3]") && found.contains("if the exporter or `simplify`"),
        "{found}"
    );
    let found = advice("g (float[1,3] x) => (float[a,b] y) { y = Softmax <axis = 0> (x) }", 0);
    assert!(found.contains("combines") && found.contains("if `simplify` has changed the model"), "{found}");
}

/// Without a constant that contains the old size, simplification can be the reason as well: a transposition of a size of 1 is a
/// `Reshape` then, which does not show where the size goes.
#[test]
fn a_node_that_fixes_a_size_may_be_of_simplification() {
    let graph = "g (float[1,5,6] x) => (float[a,b,c] y) <int64[5] s = {1, 5, 1, 3, 2}, int64[1] axis = {3}> {
        r = Reshape (x, s) t = Transpose <perm = [3, 1, 2, 0, 4]> (r) y = Squeeze (t, axis)
    }";
    let found = advice(graph, 0);
    assert!(found.contains("Squeeze `y` requires n == 1"), "{found}");
    assert!(
        found.lines().all(|line| line.contains("if `simplify` has changed the model, free the size")),
        "{found}"
    );
    assert!(!found.contains("choose a size"), "{found}");
}

/// Each of several sizes that are freed in one change is that of other inputs until it is freed.
#[test]
fn sizes_that_are_freed_together_are_not_kept() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]> g (float[1,3] x, float[1,3] z, float[1,1] w) => (float[a,b] y) {
        t = Transpose <perm = [1, 0]> (z) m = MatMul (x, t) y = Add (m, w)
    }";
    let kept = |axes: &[(&str, &str)]| {
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let change = |(input, name): &(&str, &str)| {
            let input = model.find_value(model.main_graph(), input).unwrap();
            SizeChange { target: SizeTarget::Axis(input, 0), size: NewSize::Name((*name).to_owned()) }
        };
        let changes: Vec<SizeChange> = axes.iter().map(change).collect();
        resize(&mut model, &changes, &EditOptions::default()).unwrap().fixed_axes
    };
    let axes = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 1)).collect::<Vec<_>>();
    assert_eq!(kept(&[("x", "n")]), axes(&["z[0]", "w[0]"]));
    assert_eq!(kept(&[("x", "n"), ("z", "m")]), axes(&["w[0]"]));
    assert_eq!(kept(&[("z", "n"), ("x", "m")]), axes(&["w[0]"]));
}

/// Runtimes infer the shapes of all graphs, and do not load such a model.
#[test]
fn a_branch_that_would_contradict_the_size_is_refused() {
    let graph = "g (float[N,3] x, bool c, float[3] v) => (float[3] y) {
        y = If (c) <
            then_branch = t () => (float[3] a) {
                s = Constant <value = int64[3] {1, 4, 1}> ()
                e = Expand (x, s)
                a = Identity (v)
            },
            else_branch = e () => (float[3] b) { b = Neg (v) }
        >
    }";
    let error = changed(graph, NewSize::Number(5)).unwrap_err();
    let ComposeError::FixedSizes(fixed) = error else { panic!("{error}") };
    let reasons: Vec<String> = fixed.iter().map(ToString::to_string).collect();
    assert!(reasons.iter().any(|reason| reason.contains("sizes 4 and 5 do not broadcast")), "{reasons:?}");
    changed(graph, NewSize::Number(4)).unwrap();
}

/// Positions are indices into a table, whatever their number is.
#[test]
fn a_sequence_longer_than_the_table_of_positions_is_refused() {
    let graph = format!(
        "g (float[n] x) => (float[n] y) <float[40] table = {{{}}}, int64 z = {{0}}, int64 one = {{1}}, int64[1] axis = {{0}}> {{
            s = Shape (x) k = Squeeze (s, axis) r = Range (z, k, one) t = Gather (table, r) y = Add (t, x) }}",
        vec!["1"; 40].join(", ")
    );
    for length in [41, 257, 5_000] {
        let error = changed(&graph, NewSize::Number(length)).unwrap_err();
        assert!(matches!(error, ComposeError::FixedSizes(_)), "{length}: {error}");
    }
    changed(&graph, NewSize::Number(40)).unwrap();
}
