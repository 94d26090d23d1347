//! Rules on models.

use onnx_pass::{PassCx, PassOptions};
use onnx_rewrite::RuleSet;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_graph};

/// Applies rules to a graph, and compares the nodes.
fn check(rules: &str, graph: &str, nodes: &str) {
    let rules = if rules.is_empty() { RuleSet::standard().unwrap() } else { RuleSet::parse(rules).unwrap() };
    let text = format!("<ir_version: 10, opset_import: [\"\": 20]> {graph}");
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = rules.apply(&mut cx);
    assert!(report.refusals.is_empty(), "{:?}", report.refusals);
    drop(cx);
    model.verify_sorted().unwrap();
    let printed = print_graph(&model, model.main_graph(), &PrintOptions::default()).unwrap().text;
    let body = printed.split_once("{\n").unwrap().1.rsplit_once('}').unwrap().0;
    let lines = |text: &str| {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(lines(body), lines(nodes), "{printed}");
}

#[test]
fn transpositions_are_composed() {
    check(
        "",
        "g (float[2,3,4] x) => (float[4,3,2] y) { a = Transpose <perm = [1, 0, 2]> (x) b = Neg (a) c = Transpose (b) d = Transpose <perm = [2, 0, 1]> (c) y = Relu (d) }",
        "a = Transpose <perm = [1, 0, 2]> (x)
         b = Neg (a)
         val_0 = Transpose <perm = [0, 2, 1]> (b)
         y = Relu (val_0)",
    );
}

#[test]
fn inverses_around_elementwise_operators_cancel() {
    check(
        "",
        "g (float[N,3,4] x, float[N,12] z) => (float[N,3,4] y, float[N,12] w) {
            a = Transpose <perm = [1, 2, 0]> (x) b = Neg (a) c = Erf (b) d = Transpose <perm = [2, 0, 1]> (c) y = Relu (d)
            s = Constant <value_ints = [-1, 3, 4]> () e = Reshape (z, s) f = Sigmoid (e)
            t = Constant <value_ints = [-1, 12]> () g = Reshape (f, t) w = Relu (g)
        }",
        "val_0 = Neg (x)
         val_1 = Erf (val_0)
         y = Relu (val_1)
         val_2 = Sigmoid (z)
         w = Relu (val_2)",
    );
}

/// Where another operand is transposed instead, and elements along one axis move with it.
#[test]
fn transpositions_move_through_operators_with_other_operands() {
    check(
        "",
        "g (float[N,8,8,4] x, float[N,4,8,8] r) => (float[N,8,8,4] y, float[N,4,8,8] z) <float[4,1,1] scale = {1, 2, 3, 4}> {
            a = Transpose <perm = [0, 3, 1, 2]> (x) m = Mul (a, scale) s = Add (m, r) t = Transpose <perm = [0, 2, 3, 1]> (s)
            y = Relu (t) z = Relu (r)
        }",
        "val_1 = Transpose <perm = [0, 2, 3, 1]> (r)
         val_2 = Mul (x, val_0)
         val_3 = Add (val_2, val_1)
         y = Relu (val_3)
         z = Relu (r)",
    );
    // One transposition more on each side costs as much as it saves; an axis of other elements does not move.
    for graph in [
        "g (float[N,8,8,4] x, float[N,4,8,8] r, float[N,4,8,8] q) => (float[N,8,8,4] y) {
            a = Transpose <perm = [0, 3, 1, 2]> (x) m = Mul (a, q) s = Add (m, r) y = Transpose <perm = [0, 2, 3, 1]> (s)
        }",
        // The transposition of two axes is that of other ones after broadcasting.
        "g (float[2,2] a, float[2,2,2] b) => (float[2,2,2] y) {
            s = Transpose (a) t = Transpose (b) u = Add (s, t) y = Transpose (u)
        }",
        "g (float[2,2] a, float[2,2,2] b) => (float[2,2,2] y) {
            s = Transpose (a) t = Transpose <perm = [2, 1, 0]> (b) u = Add (s, t) y = Transpose <perm = [2, 1, 0]> (u)
        }",
        "g (float[N,2,3] x) => (float[N,2,3] y) <float[3,2] c = {1, 2, 3, 4, 5, 6}> {
            a = Transpose <perm = [0, 2, 1]> (x) m = Mul (a, c) y = Transpose <perm = [0, 2, 1]> (m)
        }",
    ] {
        let text = format!("<ir_version: 10, opset_import: [\"\": 20]> {graph}");
        let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        assert_eq!(RuleSet::standard().unwrap().apply(&mut cx).edits, 0, "{graph}");
    }
}

#[test]
fn a_pad_of_several_convolutions_is_their_padding() {
    check(
        "",
        "g (float[1,2,5,5] x) => (float[A,B,C,D] y, float[E,F,G,H] z)
        <float[2,2,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 2, 0, 0, 3, 0}> {
            t = Pad (x, p) y = Conv (t, w) z = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (t, w)
        }",
        "y = Conv <pads = [1, 2, 3, 0]> (x, w)
         z = Conv <strides = [2, 2], pads = [2, 3, 4, 1]> (x, w)",
    );
}

#[test]
fn insertions_of_axes_into_one_result_are_made_together() {
    check(
        "",
        "g (float[N,S] x) => (float[A,B,C,D] y, float[E,F,G,H] z)
        <int64[1] a = {1}, int64[1] b = {0}, int64[1] c = {-1}> {
            t = Unsqueeze (x, a) y = Unsqueeze (t, b) z = Unsqueeze (t, c)
        }",
        "y = Unsqueeze (x, val_0)
         z = Unsqueeze (x, val_1)",
    );
}

#[test]
fn sequences_of_known_tensors_are_tensors() {
    check(
        "",
        "g (float[N,3] x, float[N,4] w) => (float[N,A] y, float[B,C] z, float[N] v)
        <int64 first = {0}, int64 last = {-1}, int64 two = {2}> {
            s = SplitToSequence <axis = 1, keepdims = 0> (x) v = SequenceAt (s, last)
            r = SplitToSequence <axis = -1> (w, two) z = SequenceAt (r, first)
            c = SequenceConstruct (x, w, z) y = ConcatFromSequence <axis = 1> (c)
        }",
        "val_3, val_4, val_5 = Split <axis = 1> (x, val_0)
         v = Squeeze (val_5, val_1)
         z, val_6 = Split <axis = 1> (w, val_2)
         y = Concat <axis = 1> (x, w, z)",
    );
}

/// A size of `a` is known under a guard, and the other one in any case.
#[test]
fn what_does_not_need_a_guard_is_used() {
    let text = "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[S,4] x) => (float[A,B] y) <int64[1] one = {1}, int64[1] all = {9223372036854775807}, int64 axis = {1}> {
            a = Slice (x, one, all) b = Slice (a, one, all) s = Shape (b) d = Gather (s, axis) e = Cast <to = 1> (d) y = Mul (b, e)
        }";
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let rules = RuleSet::standard().unwrap();
    let pipeline = onnx_rewrite::simplification(rules, onnx_schema::Registry::STANDARD).unwrap();
    pipeline.run(&mut model, &PassOptions::default());
    let text = print_graph(&model, model.main_graph(), &PrintOptions::default()).unwrap().text;
    assert!(!text.contains("Shape") && text.contains("Mul"), "{text}");
}

/// Each call gives the references other values.
#[test]
fn references_to_attributes_are_not_inverse() {
    let text = "<ir_version: 10, opset_import: [\"\": 18, \"loc\": 1]>
        g (float[2,3] x) => (float[A,B] y) { y = loc.F <p = [1, 0], q = [0, 1]> (x) }
        <domain: \"loc\", opset_import: [\"\": 18]>
        F <p, q> (x) => (y) {
           a = Transpose <perm: ints = @p> (x)
           b = Neg (a)
           y = Transpose <perm: ints = @q> (b)
        }";
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    assert_eq!(RuleSet::standard().unwrap().apply(&mut cx).edits, 0);
}

/// Number of edits of the standard rules, or of the fusions; none is refused.
fn edits(rules: &RuleSet, opset: i64, graph: &str) -> usize {
    let text = format!("<ir_version: 10, opset_import: [\"\": {opset}]> {graph}");
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = rules.apply(&mut cx);
    assert!(report.refusals.is_empty(), "{graph}: {:?}", report.refusals);
    report.edits
}

/// A result takes the type of what it replaces, which an attribute can give.
#[test]
fn nodes_have_types_that_the_version_allows() {
    let rules = RuleSet::standard().unwrap();
    // `ConstantOfShape` has bfloat16 and float8 from version 20 on, and never strings.
    for (elem, code, opset, count) in [
        ("double", 11, 9, 1),
        ("string", 8, 13, 0),
        ("bfloat16", 16, 13, 0),
        ("bfloat16", 16, 20, 1),
        ("float8e4m3fn", 17, 19, 0),
    ] {
        let graph = format!(
            "g (int64[1] s) => ({elem}[N] y) {{
                t = ConstantOfShape <value = float[1] {{1.5}}> (s) y = Cast <to = {code}> (t)
            }}"
        );
        assert_eq!(edits(&rules, opset, &graph), count, "{elem} in version {opset}");
    }
    // An operand: `Max` has integers from version 12 on, `Relu` from version 14 on.
    let custom = RuleSet::parse(
        "rule max-max-zero: rounding
         from (x) => (y) { y = Max (Max (x, 0), 0) }
         to (x) => (y) { y = Relu (x) }",
    )
    .unwrap();
    let graph = "g (int32[N] x) => (int32[N] y) <int32 z = {0}> { a = Max (x, z) y = Max (a, z) }";
    assert_eq!([edits(&custom, 13, graph), edits(&custom, 14, graph)], [0, 1]);
}

/// Implementations differ in what a limit of `Clip` means that is NaN.
/// The sides are equal in real arithmetic: a mean times an infinity is NaN.
#[test]
fn infinite_factors_are_not_moved_into_a_normalization() {
    let count = |factor: &str| {
        let normalization = "n = InstanceNormalization (x, s, b)";
        let graph = format!(
            "g (float[1,2,4] x) => (float[1,2,4] y) <float[2] s = {{2, 0.5}}, float[2] b = {{1, -1}}, float c = {{{factor}}}> {{
                {normalization} y = Mul (n, c)
            }}"
        );
        edits(&RuleSet::fusions().unwrap(), 21, &graph)
    };
    assert_eq!((count("2"), count("inf"), count("nan")), (1, 0, 0));
}

#[test]
fn limits_that_are_nan_do_not_become_limits_of_clip() {
    let rules = RuleSet::standard().unwrap();
    for nodes in [
        "a = Max (x, l) y = Min (a, h)",
        "a = Min (x, h) y = Max (a, l)",
        "a = Relu (x) y = Clip (a, l, h)",
        "a = Clip (x, l, h) y = Relu (a)",
        "a = Clip (x, l, h) y = Clip (a, , k)",
        "a = Clip (x, , k) y = Clip (a, l, h)",
    ] {
        for (low, high, count) in [("-1", "1", 1), ("nan", "1", 0), ("-1", "nan", 0)] {
            let graph = format!(
                "g (float[N] x) => (float[N] y) <float l = {{{low}}}, float h = {{{high}}}, float k = {{2}}> {{ {nodes} }}"
            );
            assert_eq!(edits(&rules, 20, &graph), count, "{graph}");
        }
    }
}

#[test]
fn an_epsilon_with_more_axes_than_the_operand_is_not_fused() {
    let rules = RuleSet::fusions().unwrap();
    for (sizes, count) in [("", 1), ("[1, 1, 1, 1]", 1), ("[1, 1, 1, 1, 1]", 0)] {
        let graph = format!(
            "g (float[N, 2, 3, 4] x) => (y) <int64[2] a = {{2, 3}}, float{sizes} e = {{0.01}}> {{
                m = ReduceMean <keepdims = 1> (x, a) d = Sub (x, m) q = Mul (d, d)
                v = ReduceMean <keepdims = 1> (q, a) s = Add (v, e) r = Sqrt (s) y = Div (d, r)
            }}"
        );
        assert_eq!(edits(&rules, 20, &graph), count, "{sizes}");
    }
}

/// Before version 14, a node with more outputs is in training mode, also if nothing uses them.
#[test]
fn a_batch_normalization_in_training_is_not_folded() {
    for (opset, outputs, is_folded) in
        [(9, "y", true), (9, "y, m, v", false), (13, "y, \"\", \"\", \"\", v", false), (14, "y", true)]
    {
        let text = format!(
            "<ir_version: 7, opset_import: [\"\": {opset}]>
            g (float[2,3,4] x) => (float[2,3,4] y)
            <float[3,3,1] w = {{1,2,3,4,5,6,7,8,9}}, float[3] s = {{1,2,3}}, float[3] b = {{0,0,1}}, float[3] mean = {{0,1,0}}, float[3] var = {{1,1,2}}> {{
               t = Conv (x, w)
               {outputs} = BatchNormalization (t, s, b, mean, var)
            }}"
        );
        let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let report = RuleSet::standard().unwrap().apply(&mut cx);
        assert_eq!(report.edits > 0, is_folded, "{text}");
    }
}

#[test]
fn inverses_around_operators_with_several_uses_cancel() {
    check(
        "",
        "g (float[A,B,8] x, float[A,B,8] v) => (float[A,B,8] y, float[8] z, float[A,B,8] w) <float half = {0.5}, float[1] three = {3.0}> {
            s = Constant <value_ints = [-1, 8]> () a = Reshape (x, s) h = Mul (a, half) p = Pow (a, three) q = Add (a, p) t = Tanh (q)
            m = Mul (h, t) k = Shape (x) b = Reshape <allowzero = 1> (m, k) y = Relu (b)
            c = Reshape (v, s) d = Erf (c) e = Tanh (d) f = Reshape <allowzero = 1> (e, k) w = Relu (f) z = ReduceMax (d)
        }",
        "s = Constant <value_ints = [-1, 8]> ()
         k = Shape (x)
         val_0 = Mul (x, half)
         val_1 = Pow (x, three)
         val_2 = Add (x, val_1)
         val_3 = Tanh (val_2)
         val_4 = Mul (val_0, val_3)
         y = Relu (val_4)
         c = Reshape (v, s)
         d = Erf (c)
         e = Tanh (d)
         f = Reshape <allowzero = 1> (e, k)
         w = Relu (f)
         z = ReduceMax (d)",
    );
}

/// The sizes of `a` are known under guards only, and those of a product with one number are those of its other operand.
#[test]
fn a_neutral_number_needs_no_sizes() {
    check(
        "",
        "g (float[N,M] x, float[K,L] z) => (float[A,B] y, float[C] w) <float one = {1.0}, float[1,1,1] three = {1.0}> {
            a = Add (x, z) b = Div (a, one) c = Mul (one, b) y = Relu (c) d = Mul (a, three) w = ReduceMax (d)
        }",
        "a = Add (x, z)
         y = Relu (a)
         d = Mul (a, three)
         w = ReduceMax (d)",
    );
}

/// Two rules match the same node: the one with more nodes applies, whichever comes first.
#[test]
fn the_order_of_rules_does_not_matter() {
    let short = "rule abs-neg: exact from (x) => (y) { y = Abs (Neg (x)) } to (x) => (y) { y = Abs (x) }\n";
    let long =
        "rule abs-neg-abs: exact from (x) => (y) { y = Abs (Neg (Abs (x))) } to (x) => (y) { y = Abs (x) }\n";
    for rules in [format!("{short}{long}"), format!("{long}{short}")] {
        let rules = RuleSet::parse(&rules).unwrap();
        let text = r#"<ir_version: 10, opset_import: ["": 20]>
            g (float[N] x) => (float[N] y) { a = Abs (x) b = Neg (a) c = Abs (b) y = Relu (c) }"#;
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        rules.apply(&mut cx);
        let names: Vec<String> = cx.into_journal().into_iter().map(|entry| entry.pass).collect();
        assert_eq!(names, ["abs-neg-abs"]);
    }
}

/// A pattern with two lists of operands and alternatives in the middle has a bounded cost at a node with many operands.
#[test]
fn nodes_with_many_operands_are_matched_in_bounded_time() {
    let rules = RuleSet::parse(
        "rule concat-concat: exact
         from (p*, q*, r*) => (y) { y = Concat <axis = 0> (p*, Concat <axis = 0> (q*), r*) }
         where rank(y) == 17
         to (p*, q*, r*) => (y) { y = Concat <axis = 0> (p*, q*, r*) }",
    )
    .unwrap();
    for count in [1000, 20_000] {
        let operands = vec!["a"; count].join(", ");
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]> g (float[2] x) => (float[M] y) {{ a = Concat <axis = 0> (x, x) y = Concat <axis = 0> ({operands}) }}"
        );
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        assert_eq!(rules.apply(&mut cx).edits, 0);
    }
}

/// Random elementwise operators between transpositions, with operands of several ranks: each edit is proved at all levels, and none
/// is refused.
#[test]
fn moved_transpositions_compute_the_same() {
    let mut state = 1_u64;
    let mut below = |count: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % count
    };
    let mut edits = 0;
    for _ in 0..120 {
        let rank = 2 + below(2);
        let mut perms = |rank: u64| -> String {
            let mut axes: Vec<u64> = (0..rank).collect();
            for at in (1..axes.len()).rev() {
                axes.swap(at, below(at as u64 + 1) as usize);
            }
            if below(3) == 0 { "Transpose".to_owned() } else { format!("Transpose <perm = {axes:?}>") }
        };
        let last = perms(rank);
        let shared = [perms(rank), last.clone()];
        let (mut inputs, mut nodes, mut values) = (Vec::new(), String::new(), Vec::new());
        for index in 0..2 + below(3) {
            let own = if below(4) == 0 { 1 + below(rank) } else { rank };
            let sizes: Vec<u64> = (0..own).map(|_| if below(5) == 0 { 1 } else { 2 }).collect();
            inputs.push(format!("float{sizes:?} x{index}"));
            let choice = below(4) as usize;
            values.push(match shared.get(choice).filter(|_| own == rank) {
                Some(change) => {
                    nodes += &format!("t{index} = {change} (x{index}) ");
                    format!("t{index}")
                }
                None if choice == 2 => {
                    nodes += &format!("t{index} = Transpose (x{index}) ");
                    format!("t{index}")
                }
                None => format!("x{index}"),
            });
        }
        for index in 0..1 + below(4) {
            let op = ["Add", "Mul", "Sub", "Max2"][below(3) as usize];
            let [a, b] = [0, 0].map(|_| values[below(values.len() as u64) as usize].clone());
            nodes += &format!("e{index} = {op} ({a}, {b}) ");
            values.push(format!("e{index}"));
        }
        let result = values.last().unwrap();
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]> g ({}) => (float y) {{ {nodes} y = {last} ({result}) }}",
            inputs.join(", ")
        );
        let text = text.replace("=> (float y)", "=> (y)");
        let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
        let before = model.clone();
        let report = RuleSet::standard().unwrap().apply(&mut PassCx::new(&mut model, PassOptions::default()));
        assert!(report.refusals.is_empty(), "{text}\n{:?}", report.refusals);
        edits += report.edits;
        let verdict =
            onnx_pass::prove_models(&before, &model, onnx_pass::Exactness::Rounding, &PassOptions::default());
        assert!(!verdict.is_refuted(), "{text}\n{verdict:?}");
    }
    assert!(edits > 20, "{edits}");
}

/// The nodes of a graph that the rules leave, as text of their operators and operands.
fn simplified(opset: i64, graph: &str) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\": {opset}]> {graph}");
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    RuleSet::standard().unwrap().apply(&mut cx);
    drop(cx);
    let nodes = model.nodes(model.main_graph());
    let nodes = nodes.filter(|&node| !model.node(node).is(onnx_schema::op::CONSTANT));
    nodes.map(|node| model.show(node).to_string()).collect::<Vec<_>>().join("; ")
}

/// The default of an omitted limit is a finite number in the specification, and none in the reference.
#[test]
fn omitted_limits_of_clip_stay_omitted() {
    for elem in ["float", "double", "float16"] {
        let limit = |name: &str, number: &str| format!("{elem} {name} = {{{number}}}");
        let graph = |nodes: &str| {
            let (l, h, k) = (limit("l", "-1.0"), limit("h", "3.0"), limit("k", "2.0"));
            format!("g ({elem}[N] x) => ({elem}[N] y) <{l}, {h}, {k}> {{ {nodes} }}")
        };
        for (nodes, operands) in [
            // Number of operands of the one `Clip` that is left, and whether the lower limit is there.
            ("a = Relu (x) y = Clip (a, k)", (2, true)),
            ("a = Relu (x) y = Clip (a, , h)", (3, true)),
            ("a = Relu (x) y = Clip (a, l, h)", (3, true)),
            ("a = Clip (x, l) y = Clip (a, k)", (2, true)),
            ("a = Clip (x, , h) y = Clip (a, , k)", (3, false)),
            ("a = Clip (x, l) y = Clip (a, , h)", (3, true)),
            ("a = Clip (x, , h) y = Clip (a, l)", (3, true)),
            ("a = Clip (x, , h) y = Relu (a)", (3, true)),
        ] {
            let text = format!("<ir_version: 10, opset_import: [\"\": 20]> {}", graph(nodes));
            let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
            let mut cx = PassCx::new(&mut model, PassOptions::default());
            RuleSet::standard().unwrap().apply(&mut cx);
            drop(cx);
            let all: Vec<_> = model.nodes(model.main_graph()).collect();
            let [clip] = all[..] else { panic!("{elem} {nodes}: {} nodes", all.len()) };
            let clip = model.node(clip);
            let found = (clip.input_count(), clip.input(1).is_some());
            assert_eq!(found, operands, "{elem} {nodes}");
        }
        // An infinite limit is not an omitted one.
        for nodes in ["a = Clip (x, l) y = Clip (a, k, i)", "a = Clip (x, , i) y = Clip (a, , h)"] {
            let infinite = limit("i", "inf");
            let graph = graph(nodes).replacen('<', &format!("<{infinite}, "), 1);
            let expected = if nodes.contains(", i) y") { 1 } else { 2 };
            assert_eq!(simplified(20, &graph).matches("Clip").count(), expected, "{elem} {nodes}");
        }
    }
}

/// onnxruntime has `Clip` of `double` since version 12, and `Min` and `Max` of it since version 8.
#[test]
fn no_operator_takes_the_place_of_others_that_runtimes_have_and_it_not() {
    for (elem, opset, count) in [
        ("float", 8, 1),
        ("float", 11, 1),
        ("double", 8, 0),
        ("double", 11, 0),
        ("double", 12, 1),
        ("float16", 12, 1),
    ] {
        for nodes in ["a = Max (x, l) y = Min (a, h)", "a = Min (x, h) y = Max (a, l)"] {
            let graph = format!(
                "g ({elem}[N] x) => ({elem}[N] y) <{elem} l = {{0}}, {elem} h = {{6}}> {{ {nodes} }}"
            );
            let found = simplified(opset, &graph).matches("Clip").count();
            assert_eq!(found, count, "{elem} in version {opset}: {nodes}");
        }
    }
}

/// The result of a conversion that the standard does not define is left to the runtime, whatever the class of the rule.
#[test]
fn rules_compute_nothing_that_the_standard_leaves_open() {
    for (from, number, to, count) in [
        ("double", "1e10", 6, 2),
        ("float", "nan", 7, 2),
        ("float", "-1", 2, 2),
        ("float", "inf", 3, 2),
        ("double", "1e9", 6, 1),
        ("float", "7.5", 7, 1),
        ("float", "nan", 11, 1),
    ] {
        let graph = format!(
            "g (int64[1] s) => (y) {{ c = ConstantOfShape <value = {from} {{{number}}}> (s) y = Cast <to = {to}> (c) }}"
        );
        let graph = graph.replace(&format!("value = {from} {{"), &format!("value = {from}[1] {{"));
        let found = simplified(20, &graph);
        assert_eq!(found.matches("Of").count() + found.matches("Cast").count(), count, "{found}");
    }
}

/// What is known about the body of a function depends on its calls, which an incremental inference does not follow.
#[test]
fn bodies_of_functions_are_simplified_after_edits_elsewhere() {
    let text = r#"<ir_version: 11, opset_import: ["": 24, "my.fn": 1]>
        g (float[2] x) => (float[2] y) { a = Identity (x) b = Identity (a) y = my.fn.F <al = 1.0> (b) }
        <domain: "my.fn", opset_import: ["": 24, "my.fn": 1]> F <al> (a) => (z) {
            one = Constant <value_float = 1.0> () t = Elu <alpha: float = @al> (a) u = Mul (t, one) z = my.fn.G (u)
        }
        <domain: "my.fn", opset_import: ["": 24]> G (a) => (z) {
            one = Constant <value_float = 1.0> () t = Exp (a) u = Mul (t, one) w = Neg (u) z = Neg (w)
        }"#;
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let pipeline =
        onnx_rewrite::simplification(RuleSet::standard().unwrap(), onnx_schema::Registry::STANDARD).unwrap();
    let options = PassOptions::default().with_level(onnx_pass::Level::Types);
    pipeline.run(&mut model, &options);
    let again = pipeline.run(&mut model, &options);
    assert_eq!(again.edits(), 0, "{:?}", again.journal);
    // `Elu`, `Exp` and both calls.
    assert_eq!(model.node_count(), 4);
}

/// A constant of no elements is not one for each of no channels: it may repeat what it is added to.
#[test]
fn constants_without_elements_are_not_those_of_channels() {
    let rules = [RuleSet::standard().unwrap(), RuleSet::fusions().unwrap()];
    for nodes in [
        "t = Conv (x, w)",
        "t = ConvTranspose (x, v)",
        "t = InstanceNormalization (x, s, s)",
        "t = GroupNormalization <num_groups = 1> (x, s, s)",
    ] {
        for op in ["Add", "Mul"] {
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": 21]> g (float[1,0,3] x) => (float[3,0,3] y)
                <float[0,0,1] w = {{}}, float[0,0,1] v = {{}}, float[0] s = {{}}, float[3,0,3] c = {{}}> {{ {nodes} y = {op} (t, c) }}"
            );
            for rules in &rules {
                let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
                let report = rules.apply(&mut PassCx::new(&mut model, PassOptions::default()));
                assert!(report.refusals.is_empty(), "{text}: {:?}", report.refusals);
                assert_eq!(report.edits, 0, "{text}");
            }
        }
    }
}

#[test]
fn integers_are_matched_with_all_bits() {
    check(
        "rule t: exact
         from (x) => (y) { y = Neg (Add (x, -9007199254740993)) }
         to (x) => (y) { y = Sub (9007199254740993, x) }",
        "g (int64[N] x) => (int64[N] y, int64[N] z) <int64 k = {-9007199254740993}, int64 m = {-9007199254740992}> {
            a = Add (x, k) y = Neg (a) b = Add (x, m) z = Neg (b)
        }",
        "y = Sub (val_0, x)
         b = Add (x, m)
         z = Neg (b)",
    );
}
