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
