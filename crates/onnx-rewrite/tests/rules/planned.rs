//! Rules around operators whose operands and attributes depend on each other, and around constants with a certain extremum.

use onnx_rewrite::{ExamineOptions, RuleSet, examine};
use onnx_schema::Registry;

/// A side of a rule: its head, what it replaces, and by what; the conditions are last.
type Sides = [&'static str; 4];

/// Rules that are wrong, each with a class of operands without which they would seem right.
const WRONG: &[Sides] = &[
    // Blocks of quantization: at least two, along every axis.
    [
        "exact, since 21 from (x, s)",
        "DequantizeLinear <block_size = 2> (x, s)",
        "DequantizeLinear (x, Gather (Reshape (s, [-1]), 0))",
        "elem(x) == int8",
    ],
    [
        "exact, since 21 from (x, s)",
        "DequantizeLinear <block_size = 16> (x, s)",
        "DequantizeLinear <block_size = 32> (x, s)",
        "elem(x) == int8",
    ],
    [
        "exact, since 21 from (x, s)",
        "DequantizeLinear <block_size = 2, axis = 0> (x, s)",
        "DequantizeLinear <block_size = 2, axis = 1> (x, s)",
        "elem(x) == int8",
    ],
    [
        "exact, since 21 from (x, s)",
        "DequantizeLinear <block_size = @b, axis = @a> (x, s)",
        "DequantizeLinear <block_size = @b, axis = 1> (x, s)",
        "",
    ],
    [
        "exact, since 21 from (x, s)",
        "QuantizeLinear <block_size = 2> (x, s)",
        "QuantizeLinear <block_size = 3> (x, s)",
        "elem(x) == float",
    ],
    // Heads.
    [
        "rounding, since 23 from (q, k, v)",
        "Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v)",
        "Attention <q_num_heads = 1, kv_num_heads = 1> (q, k, v)",
        "",
    ],
    [
        "rounding, since 23 from (q, k, v)",
        "Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)",
        "Attention <q_num_heads = 4, kv_num_heads = 4> (q, k, v)",
        "",
    ],
    [
        "rounding, since 23 from (q, k, v)",
        "Attention <q_num_heads = @h, kv_num_heads = @g> (q, k, v)",
        "Attention <q_num_heads = @h, kv_num_heads = @h> (q, k, v)",
        "",
    ],
    [
        "rounding, since 23 from (q, k, v, m)",
        "Attention (q, k, v, m)",
        "Attention (q, k, v, Mul (m, 2.0))",
        "elem(m) == float",
    ],
    [
        "rounding, since 23 from (x, c, s)",
        "RotaryEmbedding <num_heads = 2> (x, c, s)",
        "RotaryEmbedding <num_heads = 1> (x, c, s)",
        "",
    ],
    ["rounding, since 23 from (x, c, s)", "RotaryEmbedding (x, c, s)", "RotaryEmbedding (x, s, c)", ""],
    // States.
    [
        "rounding, since 14 from (x, w, r, b)",
        "GRU <linear_before_reset = 1> (x, w, r, b)",
        "GRU (x, w, r, b)",
        "",
    ],
    ["rounding, since 14 from (x, w, r)", "LSTM <clip = 0.25> (x, w, r)", "LSTM (x, w, r)", ""],
    ["rounding, since 14 from (x, w, r)", "RNN <direction = \"reverse\"> (x, w, r)", "RNN (x, w, r)", ""],
    // Positions and conditions.
    [
        "exact, since 13 from (x, i)",
        "GatherND <batch_dims = 2> (x, i)",
        "GatherND <batch_dims = 1> (x, i)",
        "",
    ],
    ["exact, since 13 from (x, i)", "Neg (GatherND <batch_dims = @b> (x, i))", "GatherND (Neg (x), i)", ""],
    ["exact, since 11 from (x, c)", "Compress <axis = 1> (x, c)", "Compress <axis = 0> (x, c)", ""],
    [
        "rounding, since 18 from (x, i, b)",
        "Col2Im <strides = [2, 2]> (x, i, b)",
        "Mul (Col2Im <strides = [2, 2]> (x, i, b), 2.0)",
        "elem(x) == float",
    ],
    [
        "exact, since 24 from (p, u, w)",
        "TensorScatter <axis = 1> (p, u, w)",
        "TensorScatter <axis = 1> (p, Neg (Neg (u)), Mul (w, 0))",
        "elem(p) == float",
    ],
    // Tables, coefficients and trees.
    [
        "exact from (x)",
        "ai.onnx.ml.Binarizer <threshold = 0.0> (x)",
        "ai.onnx.ml.Binarizer <threshold = 1.0> (x)",
        "",
    ],
    [
        "rounding from (x)",
        "ai.onnx.ml.Normalizer <norm = \"L2\"> (x)",
        "ai.onnx.ml.Normalizer <norm = \"L1\"> (x)",
        "",
    ],
    [
        "exact from (x)",
        "ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2], values_int64s = [2, 1], default_int64 = 0> (x)",
        "ai.onnx.ml.LabelEncoder <keys_int64s = [2, 1], values_int64s = [2, 1], default_int64 = 0> (x)",
        "",
    ],
    [
        "rounding from (x)",
        "ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0], intercepts = [1.0]> (x)",
        "ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0]> (x)",
        "",
    ],
    ["exact from (x, i)", "ai.onnx.ml.ArrayFeatureExtractor (x, i)", "Gather <axis = 0> (x, i)", ""],
    [
        "rounding from (x)",
        "ai.onnx.ml.TreeEnsembleRegressor <...> (x)",
        "ai.onnx.ml.TreeEnsembleRegressor <...> (Neg (x))",
        "elem(x) == float",
    ],
    // Sequences.
    ["exact, since 11 from (s)", "SequenceAt (s, 0)", "SequenceAt (s, -1)", ""],
    ["exact, since 11 from (s, x)", "SequenceInsert (s, x)", "SequenceInsert (s, x, 0)", ""],
    // The least or the greatest element of a constant says little about the others.
    ["rounding from (x, c)", "Mul (x, c)", "Neg (Neg (x))", "elem(x) == float, least"],
    ["rounding from (x, c)", "Add (x, c)", "Neg (Neg (x))", "elem(x) == float, greatest"],
    // One type, or one word.
    ["exact from (x)", "Cast <to = @t> (Cast <to = 1> (x))", "Cast <to = @t> (x)", "elem(x) == int64"],
];

/// Rules that are right around the same operators.
const RIGHT: &[Sides] = &[
    [
        "exact, since 21 from (x, s)",
        "DequantizeLinear <block_size = @b, axis = @a> (x, Neg (Neg (s)))",
        "DequantizeLinear <block_size = @b, axis = @a> (x, s)",
        "",
    ],
    [
        "rounding, since 23 from (q, k, v)",
        "Attention <q_num_heads = @h, kv_num_heads = @g> (q, k, Neg (v))",
        "Neg (Attention <q_num_heads = @h, kv_num_heads = @g> (q, k, v))",
        "elem(v) in (float, double)",
    ],
    ["rounding, since 14 from (x, w, r)", "LSTM <direction = \"forward\"> (x, w, r)", "LSTM (x, w, r)", ""],
    [
        "exact, since 13 from (x, i)",
        "Neg (GatherND <batch_dims = @b> (x, i))",
        "GatherND <batch_dims = @b> (Neg (x), i)",
        "",
    ],
    [
        "exact, since 11 from (x, c)",
        "Compress <axis = @a> (Abs (x), c)",
        "Abs (Compress <axis = @a> (x, c))",
        "",
    ],
    ["exact from (x)", "ai.onnx.ml.Binarizer (ai.onnx.ml.Binarizer (x))", "ai.onnx.ml.Binarizer (x)", ""],
    [
        "exact, since 14 from (s, x)",
        "SequenceLength (SequenceInsert (s, x))",
        "Add (SequenceLength (s), 1)",
        "",
    ],
    [
        "exact, since 11 from (x)",
        "ConcatFromSequence <axis = 0> (SplitToSequence <axis = 0> (x))",
        "Identity (x)",
        "",
    ],
];

/// The text of a rule.
fn rule([head, from, to, conditions]: &Sides) -> String {
    let (class, operands) = head.split_once(" from ").unwrap();
    let extremum = if conditions.contains("least") { "Min" } else { "Max" };
    let (lets, conditions) = match conditions.split_once(", least").or(conditions.split_once(", greatest")) {
        Some((conditions, _)) => {
            let bound = if extremum == "Min" { "1.0" } else { "0.0" };
            let holds = format!("ok = Equal (Reduce{extremum} <keepdims = 0> (c), {bound})");
            (format!("let {{ {holds} }}\n"), format!("{conditions}, ok"))
        }
        None => (String::new(), (*conditions).to_owned()),
    };
    let conditions = if conditions.is_empty() { String::new() } else { format!("where {conditions}\n") };
    format!(
        "rule t: {class}\nfrom {operands} => (y) {{ y = {from} }}\n{lets}{conditions}to {operands} => (y) {{ y = {to} }}"
    )
}

#[test]
fn wrong_rules_are_refuted() {
    let mut accepted = Vec::new();
    for sides in WRONG {
        let text = rule(sides);
        let rules = RuleSet::parse_whatever_cost(&text, Registry::STANDARD)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let results = examine(&rules, &ExamineOptions::default());
        if results[0].failures.is_empty() {
            accepted.push(format!("{text}\n{:?} {:?}\n", results[0].verdicts, results[0].missed));
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

#[test]
fn right_rules_are_accepted() {
    let mut refused = Vec::new();
    for sides in RIGHT {
        let text = rule(sides);
        let rules = RuleSet::parse_whatever_cost(&text, Registry::STANDARD)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let results = examine(&rules, &ExamineOptions::default());
        if !results[0].is_fine() {
            refused.push(format!("{text}\n{:#?}\n", results[0]));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
