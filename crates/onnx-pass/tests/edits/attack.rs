//! An attack on the prover: claims that are correct, each with wrong ones that differ by a subtle fault. Every correct claim
//! must be accepted, and every wrong one refuted.

use onnx_pass::{Equivalence, PassOptions, Verdict, prove};

use crate::proofs::claim;

/// Class, input, old side, new side, and new sides that are wrong.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

const ROWS: &[Row] = &[
    // The end of a slice, its step, and the axis.
    (
        "exact",
        "float[N,4] x",
        "s = Constant <value_ints = [1]> () e = Constant <value_ints = [3]> () a = Constant <value_ints = [1]> () y = Slice (x, s, e, a)",
        "s = Constant <value_ints = [1]> () e = Constant <value_ints = [-1]> () a = Constant <value_ints = [-1]> () y = Slice (x, s, e, a)",
        &[
            "s = Constant <value_ints = [1]> () e = Constant <value_ints = [4]> () a = Constant <value_ints = [1]> () y = Slice (x, s, e, a)",
            "s = Constant <value_ints = [1]> () e = Constant <value_ints = [3]> () a = Constant <value_ints = [0]> () y = Slice (x, s, e, a)",
        ],
    ),
    // The permutation, which for square matrices is seen in the elements only.
    (
        "exact",
        "float[N,N,N] x",
        "t = Transpose <perm = [1, 2, 0]> (x) y = Transpose <perm = [1, 2, 0]> (t)",
        "y = Transpose <perm = [2, 0, 1]> (x)",
        &["y = Transpose <perm = [1, 2, 0]> (x)", "y = Transpose (x)", "y = Identity (x)"],
    ),
    // An operand that occurs twice. The order of operands matters for zeros of different sign.
    (
        "exact",
        "float[N] x",
        "z = Constant <value_float = 0.0> () y = Max (x, z)",
        "z = Constant <value_float = 0.0> () y = Max (x, z, z)",
        &[
            "y = Abs (x)",
            "z = Constant <value_float = 0.0> () y = Max (z, x)",
            "z = Constant <value_float = 1e-5> () y = Max (x, z)",
        ],
    ),
    // The epsilon of a normalization.
    (
        "rounding",
        "float[N,3] x",
        "w = Constant <value_floats = [1.0, 2.0, 0.5]> () y = LayerNormalization <epsilon = 1e-5> (x, w)",
        "w = Constant <value_floats = [1.0, 2.0, 0.5]> () y = LayerNormalization <epsilon = 1.0000001e-5, axis = 1> (x, w)",
        &[
            "w = Constant <value_floats = [1.0, 2.0, 0.5]> () y = LayerNormalization <epsilon = 1e-6> (x, w)",
            "w = Constant <value_floats = [1.0, 0.5, 2.0]> () y = LayerNormalization (x, w)",
        ],
    ),
    // Factors and their order. The tolerance is about 2e-6 here.
    (
        "rounding",
        "float[N] x",
        "a = Constant <value_float = 0.3> () b = Constant <value_float = 0.7> () p = Mul (x, a) y = Mul (p, b)",
        "c = Constant <value_float = 0.21> () y = Mul (x, c)",
        &[
            "c = Constant <value_float = 0.210001> () y = Mul (x, c)",
            "c = Constant <value_float = 0.21> () p = Mul (x, x) y = Mul (p, c)",
        ],
    ),
    // Integer division and shifts differ for negative numbers; multiplication wraps.
    (
        "exact",
        "int32[N] x",
        "t = Constant <value = int32 {2}> () y = Mul (x, t)",
        "y = Add (x, x)",
        &["y = Mul (x, x)", "t = Abs (x) y = Add (x, t)"],
    ),
    (
        "exact",
        "int32[N] x",
        "t = Constant <value = int32 {2}> () p = Mul (x, t) y = Div (p, t)",
        "t = Constant <value = int32 {2}> () p = Add (x, x) y = Div (p, t)",
        // Wrong for numbers that wrap.
        &["y = Identity (x)"],
    ),
    // Reduction over an axis of size 1, and over none.
    (
        "exact",
        "float[N,1] x",
        "a = Constant <value_ints = [1]> () y = ReduceMax <keepdims = 0> (x, a)",
        "a = Constant <value_ints = [1]> () y = Squeeze (x, a)",
        &["a = Constant <value_ints = [0]> () y = ReduceMax <keepdims = 0> (x, a)", "y = Squeeze (x)"],
    ),
    // Ties.
    (
        "exact",
        "float[N,3] x",
        "y = ArgMax <axis = 1> (x)",
        "y = ArgMax <axis = -1, select_last_index = 0> (x)",
        &["y = ArgMax <axis = 1, select_last_index = 1> (x)", "y = ArgMin <axis = 1> (x)"],
    ),
    (
        "exact",
        "float[M] x",
        "y = ArgMax (x)",
        "y = ArgMax <axis = -1> (x)",
        &["y = ArgMax <select_last_index = 1> (x)"],
    ),
    // Thresholds, which inputs seldom pass by chance.
    (
        "exact",
        "float[N] x",
        "l = Constant <value_float = 0.0> () h = Constant <value_float = 6.0> () y = Clip (x, l, h)",
        "l = Constant <value_float = 0.0> () h = Constant <value_float = 6.0> () m = Min (x, h) y = Clip (m, l)",
        &["y = Relu (x)"],
    ),
    (
        "rounding",
        "float[N] x",
        "l = Constant <value_float = 0.0> () h = Constant <value_float = 6.0> () y = Clip (x, l, h)",
        "l = Constant <value_float = 0.0> () h = Constant <value_float = 6.0> () m = Min (x, h) y = Clip (m, l)",
        &["y = Relu (x)"],
    ),
    (
        "exact",
        "float[N] x",
        "t = Constant <value_float = 2000.0> () y = Less (x, t)",
        "t = Constant <value_float = 2000.0> () y = Greater (t, x)",
        &[
            "t = Constant <value_float = 1000.0> () y = Less (x, t)",
            "t = Constant <value_float = 2000.0> () y = LessOrEqual (x, t)",
        ],
    ),
    (
        "exact",
        "int64[N] x",
        "t = Constant <value_int = 2000> () y = Less (x, t)",
        "t = Constant <value_int = 2000> () y = Greater (t, x)",
        &[
            "t = Constant <value_int = 1000> () y = Less (x, t)",
            "t = Constant <value_int = 2000> () y = LessOrEqual (x, t)",
        ],
    ),
    // Integers that no float has.
    (
        "exact",
        "int64[N] x",
        "i = Identity (x) y = Neg (i)",
        "y = Neg (x)",
        &[
            "c = Cast <to = 11> (x) d = Cast <to = 7> (c) y = Neg (d)",
            "c = Cast <to = 6> (x) d = Cast <to = 7> (c) y = Neg (d)",
        ],
    ),
    // What is not a number before is not one after.
    (
        "rounding",
        "float[N] x",
        "l = Log (x) y = Exp (l)",
        "l = Log (x) i = Identity (l) y = Exp (i)",
        &["y = Identity (x)", "y = Abs (x)"],
    ),
    // A stable form does not overflow.
    (
        "rounding",
        "float[N,3] x",
        "e = Exp (x) a = Constant <value_ints = [1]> () s = ReduceSum (e, a) y = Div (e, s)",
        "y = Softmax (x)",
        &["y = Softmax <axis = 0> (x)"],
    ),
    // A comparison is not its negation for NaN.
    (
        "exact",
        "float[N] x",
        "z = Constant <value_float = 0.0> () y = Less (x, z)",
        "z = Constant <value_float = 0.0> () y = Greater (z, x)",
        &["z = Constant <value_float = 0.0> () g = GreaterOrEqual (x, z) y = Not (g)"],
    ),
    // The value of a pad, and the side.
    (
        "exact",
        "float[N] x",
        "p = Constant <value_ints = [1, 0]> () y = Pad (x, p)",
        "z = Constant <value_floats = [0.0]> () y = Concat <axis = 0> (z, x)",
        &[
            "z = Constant <value_floats = [0.0]> () y = Concat <axis = 0> (x, z)",
            "z = Constant <value_floats = [-0.0]> () y = Concat <axis = 0> (z, x)",
        ],
    ),
];

#[test]
fn subtle_faults_are_refuted_and_correct_claims_are_not() {
    let verdict = |class, input, before, after| {
        let eq = Equivalence::parse(&claim(class, &[], input, before, after)).unwrap();
        prove(&eq, &PassOptions::default())
    };
    let mut problems = Vec::new();
    let mut wrong_claims = 0;
    for &(class, input, before, after, wrong) in ROWS {
        let found = verdict(class, input, before, after);
        if !matches!(found, Verdict::Proved(_) | Verdict::Tested { .. }) {
            problems.push(format!("correct: {before} => {after}: {found}"));
        }
        for after in wrong {
            wrong_claims += 1;
            let found = verdict(class, input, before, after);
            if !found.is_refuted() {
                problems.push(format!("wrong: {before} => {after}: {found}"));
            }
        }
    }
    println!("{} correct claims, {wrong_claims} wrong ones", ROWS.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
