//! Claims that are proved or refuted by runs at and next to the numbers at which results jump.

use onnx_text::{ParseOptions, parse_model};

use super::*;

/// The claim that two graphs with the input `int64[N] x` compute the same.
fn claim(before: &str, after: &str, class: Exactness) -> Equivalence {
    let model = |nodes: &str| {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]>
             g (int64[N] x) => (y) <int64[2] two = {{0, 0}}, int64[1] zero = {{0}}, int64[1] all = {{-1}}> {{ {nodes} }}"
        );
        parse_model(text, &ParseOptions::default()).unwrap()
    };
    Equivalence::of_models(&model(before), &model(after), class).unwrap()
}

/// What doubles 40 times exceeds the limits at all sizes: few runs find that.
#[test]
fn claims_that_exceed_limits_at_all_sizes_are_soon_untested() {
    let doubled: [fn(usize) -> String; 5] = [
        |at| format!("v{at} = Concat <axis = 0> (v{0}, v{0})", at - 1),
        |at| format!("t{at} = Constant <value_ints = [2]> () v{at} = Tile (v{}, t{at})", at - 1),
        |at| {
            format!(
                "u{at} = Unsqueeze (v{}, zero) g{at} = Gather (u{at}, two) v{at} = Reshape (g{at}, all)",
                at - 1
            )
        },
        |at| {
            format!(
                "t{at} = Constant <value_ints = [2, 1]> () e{at} = Expand (v{}, t{at}) v{at} = Reshape (e{at}, all)",
                at - 1
            )
        },
        |at| {
            format!(
                "s{at} = SequenceConstruct (v{0}, v{0}) v{at} = ConcatFromSequence <axis = 0> (s{at})",
                at - 1
            )
        },
    ];
    for double in doubled {
        let all: Vec<String> = (1..=40).map(double).collect();
        let nodes = format!("v0 = Shape (x) {}", all.join(" "));
        for class in [Exactness::Exact, Exactness::Rounding] {
            let eq = claim(
                &format!("{nodes} n = Neg (v40) y = Neg (n)"),
                &format!("{nodes} y = Identity (v40)"),
                class,
            );
            let steps = AtomicU64::new(0);
            let verdict = prove_metered(&eq, &PassOptions::default(), &steps);
            assert!(
                matches!(&verdict, Verdict::Untested(reason) if reason.contains("`proof_")),
                "{verdict:?}"
            );
            let most = Limits::DEFAULT.proof_steps * 4;
            assert!(steps.into_inner() < most, "{nodes}");
        }
    }
}

/// A quotient and the product with the reciprocal are other numbers, and differ below a `Floor` only next to large multiples.
#[test]
fn quotients_and_products_with_reciprocals_are_distinguished() {
    let text = |graph: &str| {
        let text = format!("<ir_version: 10, opset_import: [\"\": 20]> {graph}");
        parse_model(text, &ParseOptions::default()).unwrap()
    };
    let cases = [
        ("float", "q = Div (x, c) y = Floor (q)", "3", "q = Mul (x, c) y = Floor (q)", "0.33333334"),
        ("float", "q = Div (x, c) y = Round (q)", "10", "q = Mul (x, c) y = Round (q)", "0.1"),
        ("float", "q = Div (x, c) y = Ceil (q)", "7", "q = Mul (x, c) y = Ceil (q)", "0.14285715"),
        ("float", "q = Div (x, c) y = Cast <to = 7> (q)", "5", "q = Mul (x, c) y = Cast <to = 7> (q)", "0.2"),
        ("double", "q = Div (x, c) y = Floor (q)", "3", "q = Mul (x, c) y = Floor (q)", "0.3333333333333333"),
        (
            "int32",
            "y = Div (x, c)",
            "10",
            "k = Constant <value_int = 65536> () d = Cast <to = 6> (k) m = Mul (x, c) y = Div (m, d)",
            "6554",
        ),
    ];
    for (elem, before, old, after, new) in cases {
        let model = |nodes: &str, constant: &str| {
            text(&format!("g ({elem}[N] x) => (y) <{elem} c = {{{constant}}}> {{ {nodes} }}"))
        };
        let eq = Equivalence::of_models(&model(before, old), &model(after, new), Exactness::Exact).unwrap();
        let verdict = prove(&eq, &PassOptions::default());
        assert!(matches!(verdict, Verdict::Refuted(_)), "{before}: {verdict:?}");
    }
    let quotient = |nodes: &str, constant: &str| {
        text(&format!(
            "g (float[N] x) => (y) <float c = {{{constant}}}> {{ q = {nodes} (x, c) y = Floor (q) }}"
        ))
    };
    let eq =
        Equivalence::of_models(&quotient("Div", "4"), &quotient("Mul", "0.25"), Exactness::Exact).unwrap();
    assert!(matches!(prove(&eq, &PassOptions::default()), Verdict::Tested { .. }));
}

/// The verdict of the claim that two graphs with the inputs `float[N] x` and `float[N] z` compute the same bits.
fn exact_verdict(before: &str, after: &str) -> Verdict {
    let model = |nodes: &str| {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]>
             g (float[N] x, float[N] z) => (y) <float zero = {{0}}, int64[1] axis = {{0}}> {{ {nodes} }}"
        );
        parse_model(text, &ParseOptions::default()).unwrap()
    };
    let eq = Equivalence::of_models(&model(before), &model(after), Exactness::Exact).unwrap();
    prove(&eq, &PassOptions::default())
}

/// The zero that the new side returns must be one that an implementation of the old side returns.
#[test]
fn zeros_whose_sign_is_open_do_not_replace_others() {
    let where_less = "l = Less (x, zero) y = Where (l, zero, x)";
    let greater =
        "l = GreaterOrEqual (x, z) a = Where (l, x, z) n = Add (x, z) i = IsNaN (n) y = Where (i, n, a)";
    for (before, after) in [
        (where_less, "y = Relu (x)"),
        ("y = Abs (x)", "n = Neg (x) y = Max (x, n)"),
        (greater, "y = Max (x, z)"),
        (
            "y = LeakyRelu <alpha = -0.5> (x)",
            "c = Constant <value_float = -0.5> () h = Mul (x, c) y = Max (x, h)",
        ),
    ] {
        let verdict = exact_verdict(before, after);
        assert!(matches!(verdict, Verdict::Refuted(_)), "{before}: {after}: {verdict}");
    }
    let verdict = exact_verdict(where_less, "y = Relu (x)").to_string();
    assert!(verdict.contains("orders zeros differently"), "{verdict}");
    assert!(verdict.contains("of the class `rounding` may change the sign of a zero"), "{verdict}");
    // Both halves are the same choice.
    let twice = "m = Max (x, z) y = Concat <axis = 0> (m, m)";
    let verdict = exact_verdict(twice, "m = Max (x, z) n = Max (z, x) y = Concat <axis = 0> (m, n)");
    assert!(matches!(verdict, Verdict::Refuted(_)), "{verdict}");
}

/// Either zero is right where the old side returns either.
#[test]
fn zeros_whose_sign_was_open_may_be_either() {
    for (before, after) in [
        ("r = Relu (x) y = Relu (r)", "y = Relu (x)"),
        ("y = Max (x, z)", "a = Max (z, x) y = Max (x, a)"),
        ("a = Neg (x) b = Neg (z) m = Max (a, b) y = Neg (m)", "y = Min (x, z)"),
        ("a = ReduceMax <keepdims = 1> (x, axis) y = Max (a, a)", "y = ReduceMax <keepdims = 1> (x, axis)"),
        // In the order of the kernel, the first one returns -0.0, and the second one 0.0.
        ("n = Neg (zero) a = Clip (x, n) y = Clip (a, zero)", "y = Clip (x, zero)"),
    ] {
        let verdict = exact_verdict(before, after);
        assert!(matches!(verdict, Verdict::Tested { .. }), "{before}: {after}: {verdict}");
    }
}

/// What the standard leaves open does not replace what it defines, and does not differ if it was open before.
#[test]
fn results_that_the_standard_leaves_open_are_told_from_others() {
    let shift = |by: &str, from: &str, to: &str| {
        format!(
            "s = Constant <value = uint32 {{{by}}}> () u = Cast <to = 12> (i) {to} = BitShift <direction = \"LEFT\"> ({from}, s)"
        )
    };
    let text = |nodes: &str| {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20]> g (int32[N] i, float[1, 1, N] x) => (y) {{ {nodes} }}"
        );
        parse_model(text, &ParseOptions::default()).unwrap()
    };
    let verdict = |before: &str, after: &str| {
        let eq = Equivalence::of_models(&text(before), &text(after), Exactness::Exact).unwrap();
        prove(&eq, &PassOptions::default())
    };
    let twice = format!("{} y = BitShift <direction = \"LEFT\"> (t, s)", shift("20", "u", "t"));
    let once = shift("40", "u", "y");
    assert!(matches!(verdict(&twice, &once), Verdict::Refuted(_)));
    // `MaxPool` of a window with NaN is open.
    let padded = "p = Constant <value_ints = [0, 0, 1, 0, 0, 0]> () a = Pad (r, p) y = MaxPool <kernel_shape = [2]> (a)";
    let pool = "r = Exp (x) y = MaxPool <kernel_shape = [2], pads = [1, 0]> (r)";
    let found = verdict(pool, &format!("r = Exp (x) {padded}"));
    assert!(matches!(found, Verdict::Tested { .. }), "{found}");
    let found = verdict(pool, &format!("r = Identity (x) {padded}"));
    assert!(matches!(found, Verdict::Refuted(_)), "{found}");
}

/// Results that are open in functions and branches are seen, also where a call omits an argument.
#[test]
fn results_that_are_open_in_functions_and_branches_are_seen() {
    let verdict = |before: &str, after: &str| {
        let side = |name: &str, nodes: &str| {
            format!(
                "<domain: \"onnx.pass\", opset_import: [\"\": 20, \"my\": 1]> {name} (x, c) => (y) {{
                    top = Constant <value_float = 3.4028234663852886e38> () bottom = Neg (top) {nodes}
                }}"
            )
        };
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20, \"my\": 1, \"onnx.pass\": 1], metadata_props: [\"equivalence.class\": \"exact\"]>
            equivalence (float[N] x, bool c) => (b, a) {{ b = onnx.pass.before (x, c) a = onnx.pass.after (x, c) }}
            {} {} <domain: \"my\", opset_import: [\"\": 20]> Clamp (p, low, high) => (q) {{ q = Clip (p, low, high) }}",
            side("before", before),
            side("after", after)
        );
        prove(&Equivalence::parse(&text).unwrap(), &PassOptions::default())
    };
    let (open, half) = ("y = my.Clamp (x)", "y = my.Clamp (x, bottom)");
    let defined = "a = Min (x, top) y = Max (a, bottom)";
    let branch = |graph: &str| {
        format!(
            "y = If (c) <then_branch = t () => (p) {{ {graph} }}, else_branch = e () => (q) {{ q = Neg (x) }}>"
        )
    };
    for (before, after) in [(open, "y = Clip (x)"), (half, "y = Clip (x, bottom)"), (open, half)] {
        let verdict = verdict(before, after);
        assert!(matches!(verdict, Verdict::Tested { .. }), "{before}: {after}: {verdict}");
    }
    let in_branch = [
        branch("a = Min (x, top) p = Max (a, bottom)"),
        branch("p = my.Clamp (x)"),
        branch("a = Clip (x) p = Identity (a)"),
    ];
    let [old, called, copied] = in_branch.each_ref().map(String::as_str);
    for (before, after) in [(defined, open), (defined, half), (old, called), (old, copied)] {
        let verdict = verdict(before, after);
        assert!(matches!(verdict, Verdict::Refuted(_)), "{before}: {after}: {verdict}");
    }
    // The last node selects what is defined.
    let selected = "i = IsInf (x) a = Clip (x) s = Where (i, top, x) n = Less (x, bottom) m = Where (n, bottom, s) y = Where (i, m, a)";
    let found = verdict(defined, selected);
    assert!(matches!(found, Verdict::Tested { .. }), "{found}");
}

/// A number that is rounded to -0.0 is one.
#[test]
fn granted_conditions_hold_for_rounded_numbers() {
    let text = |nodes: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 20, \"onnx.pass\": 1], metadata_props: [\"equivalence.class\": \"exact\", \"equivalence.assume.0\": \"granted: no-negative-zero\"]>
            equivalence (float[N] x) => (b, a) {{ b = onnx.pass.before (x) a = onnx.pass.after (x) }}
            <domain: \"onnx.pass\", opset_import: [\"\": 20]> before (x) => (y) {{ z = Constant <value_float = 0.0> () l = Less (x, z) n = Neg (x) y = Where (l, n, x) }}
            <domain: \"onnx.pass\", opset_import: [\"\": 20]> after (x) => (y) {{ {nodes} }}"
        )
    };
    let eq = Equivalence::parse(&text("y = Abs (x)")).unwrap();
    let verdict = prove(&eq, &PassOptions::default());
    assert!(matches!(verdict, Verdict::Tested { .. }), "{verdict}");
}
