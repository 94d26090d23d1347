//! The rule files in `examples`: blocks of existing models, and how rules of one's own are applied to them.

use onnx_pass::{Level, PassCx, PassOptions, Verdict};
use onnx_rewrite::{ExamineOptions, RuleSet, examine};
use onnx_text::{ParseOptions, parse_model};

/// A file of rules, a block that they edit, and the operators after that.
const BLOCKS: &[(&str, &str, &[&str])] = &[
    (
        include_str!("../../examples/rotary_embedding.onnxrules"),
        r#"<ir_version: 10, opset_import: ["": 17]>
g (float[N,4,S,8] x, float[N,1,S,8] cos, float[N,1,S,8] sin) => (float[N,4,S,8] y)
   <int64[1] zero = {0}, int64[1] half = {4}, int64[1] all = {9223372036854775807}, int64[1] last = {3}> {
   p = Mul (x, cos)
   a = Slice (x, zero, half, last)
   b = Slice (x, half, all, last)
   n = Neg (b)
   r = Concat <axis = -1> (n, a)
   q = Mul (r, sin)
   y = Add (p, q)
}"#,
        &["Mul", "Split", "Neg", "Concat", "Mul", "Add"],
    ),
    (
        include_str!("../../examples/grouped_query_attention.onnxrules"),
        r#"<ir_version: 11, opset_import: ["": 23]>
g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,8] v) => (float[2,4,3,8] y)
   <int64[1] two = {2}, int64[5] more = {2, 2, 2, 5, 8}, int64[4] heads = {2, 4, 5, 8}> {
   k0 = Unsqueeze (k, two)
   k1 = Expand (k0, more)
   k2 = Reshape (k1, heads)
   v0 = Unsqueeze (v, two)
   v1 = Expand (v0, more)
   v2 = Reshape (v1, heads)
   y = Attention <scale = 0.35355338> (q, k2, v2)
}"#,
        &["Attention"],
    ),
    (
        include_str!("../../examples/quantized_block.onnxrules"),
        r#"<ir_version: 10, opset_import: ["": 17]>
g (uint8[N,8] a, uint8[N,8] b) => (uint8[N,8] y)
   <float sa = {0.5}, uint8 za = {128}, float sb = {0.25}, uint8 zb = {120}, float s = {0.75}, uint8 z = {0}> {
   c = DequantizeLinear (a, sa, za)
   d = DequantizeLinear (b, sb, zb)
   e = Add (c, d)
   f = Relu (e)
   y = QuantizeLinear (f, s, z)
}"#,
        &["DequantizeLinear", "DequantizeLinear", "Add", "QuantizeLinear"],
    ),
];

#[test]
fn examples_edit_the_blocks_that_they_are_made_for() {
    for (rules, block, operators) in BLOCKS {
        let rules = RuleSet::parse(rules).unwrap();
        let mut model = parse_model(*block, &ParseOptions::default()).unwrap();
        let mut cx = PassCx::new(&mut model, PassOptions::default().with_level(Level::Values));
        let report = rules.apply(&mut cx);
        let journal = cx.into_journal();
        assert!(report.edits == 1 && report.refusals.is_empty(), "{report:?}");
        assert!(
            matches!(journal[0].verdict, Verdict::Tested { .. } | Verdict::Proved(_)),
            "{:?}",
            journal[0].verdict
        );
        let found: Vec<&str> =
            model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op())).collect();
        assert_eq!(&found, operators);
    }
}

#[test]
fn examples_are_right_on_generated_models() {
    for (rules, ..) in BLOCKS {
        let rules = RuleSet::parse(rules).unwrap();
        for result in examine(&rules, &ExamineOptions::default().with_attempts(3000).with_edits(3)) {
            assert!(result.failures.is_empty(), "{result:#?}");
        }
    }
}
