//! Constants in other forms than initializers of the main graph, and what runtimes make of them.

use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_quantize::{
    BlockOptions, DequantizeOptions, DynamicOptions, StaticOptions, StaticReport, StayReason, WeightOptions,
    dequantize, quantize_blocks, quantize_dynamic, quantize_weights,
};
use onnx_types::ElemType;

use super::{assert_is_valid, model, text_of};

fn quantized(text: &str, to: ElemType, options: &StaticOptions<'_>) -> (Model, StaticReport, f64) {
    let (result, report, outputs) = super::quantized(text, to, options);
    let ratios = outputs.iter().filter_map(|output| output.snr);
    (result, report, ratios.fold(f64::INFINITY, f64::min))
}

fn count(model: &Model, op: &str) -> usize {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.filter(|&node| model.str(model.node(node).op()) == op).count()
}

/// A bias is what the model computes from constants, and `int32`, whatever the weights are.
#[test]
fn computed_biases_are_integers() {
    for (nodes, bias) in [
        ("t = Identity (b)", "t"),
        // What is excepted may be what a bias is computed by.
        (r#"["keep"] t = Identity (b)"#, "t"),
        ("sh = Constant <value_ints = [2]> () t = Reshape (m, sh)", "t"),
        ("t = Add (b, b)", "t"),
        ("t = Concat <axis = 0> (e, e)", "t"),
        ("z = Constant <value_ints = [2]> () t = ConstantOfShape <value = float[1] {22.0}> (z)", "t"),
        ("t = Constant <value = float[2] {22.2, 31.0}> ()", "t"),
    ] {
        for ir in [3, 10] {
            let names = ["b", "m", "e", "w"];
            let used = names.iter().filter(|name| {
                **name == "w" || nodes.contains(&format!("({name}")) || nodes.contains(&format!(", {name})"))
            });
            let (mut inputs, mut constants) = (String::new(), Vec::new());
            for name in used {
                let (ty, numbers) = match *name {
                    "b" => ("float[2]", "{22.2, 31.0}"),
                    "m" => ("float[1,2]", "{22.2, 31.0}"),
                    "e" => ("float[1]", "{22.2}"),
                    _ => ("float[2,1,1,1]", "{1e-9, 1e-9}"),
                };
                constants.push(format!("{ty} {name} = {numbers}"));
                if ir < 4 {
                    inputs.push_str(&format!(", {ty} {name}"));
                }
            }
            let text = format!(
                r#"<ir_version: {ir}, opset_import: ["": 13]>
                g (float[1,2,4,4] x{inputs}) => (float[1,2,4,4] y) <{}> {{
                    {nodes} c = Conv <group = 2> (x, w, {bias}) y = Relu (c)
                }}"#,
                constants.join(", ")
            );
            for table in ["onnxruntime", "generic"] {
                let table = Quantization::named(table).unwrap();
                let (result, report, ratio) = quantized(&text, ElemType::Int8, &StaticOptions::new(&table));
                let printed = text_of(&result);
                assert!(ratio > 30.0 && report.biases == 1, "{ratio} {report:?}\n{printed}");
                assert!(printed.contains("int32[2]"), "{printed}");
                assert!(!nodes.contains("Identity") || count(&result, "Identity") == 0, "{printed}");
            }
        }
    }
}

/// A bias that a caller may replace is a constant to onnxruntime; one that is computed in each run is not.
#[test]
fn a_bias_that_may_be_replaced_keeps_its_node() {
    let table = Quantization::named("onnxruntime").unwrap();
    for (default, stays) in [("float[2] b = {22.2, 31.0}, ", true), ("", false)] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[1,2,4,4] x, float[2] b) => (float[1,2,4,4] y) <{default}float[2,1,1,1] w = {{0.5, 0.7}}> {{
                z = Conv <group = 2> (x, w) t = Identity (b) c = Conv <group = 2> (z, w, t) y = Conv <group = 2> (c, w)
            }}"#
        );
        let (result, report, _) = quantized(&text, ElemType::Int8, &StaticOptions::new(&table));
        let reasons: Vec<_> = report.stay.iter().map(|row| row.2).collect();
        assert_eq!(reasons.contains(&StayReason::Bias), stays, "{reasons:?}");
        assert_eq!(count(&result, "Sum") == 1, stays, "{}", text_of(&result));
    }
}

/// What a runtime leaves out or puts in its place does not keep a convolution from it, and neither does another user.
#[test]
fn what_stays_has_a_sum_behind_it_whatever_is_between() {
    let branches = "i = If (is) <
        then_branch = t () => (float[1,2,4,4] p) { p = Identity (k) },
        else_branch = e () => (float[1,2,4,4] q) { q = Neg (k) }>";
    for (behind, output) in [
        ("i = Identity (k)", "y"),
        ("i = Dropout (k)", "y"),
        ("i = Cast <to = 1> (k)", "y"),
        ("r = Relu (k) i = Identity (r)", "y"),
        ("i = my.F (k)", "y"),
        (branches, "y"),
        ("i = Relu (k)", "i"),
        ("i = Identity (k)", "k"),
        ("i = Relu (k) j = Relu (k)", "j"),
    ] {
        for (front, op) in [("a = Identity (z)", "Conv"), ("a = Dropout (z)", "ConvTranspose")] {
            let outputs = if output == "y" { String::new() } else { format!("float[1,2,4,4] {output}, ") };
            let text = format!(
                r#"<ir_version: 10, opset_import: ["": 21, "my": 1]>
                g (float[1,2,4,4] x) => ({outputs}float[1,2,4,4] y)
                <float[2,1,1,1] w = {{1.0, 0.9}}, float[2] b = {{22.2, 31.0}}, bool is = {{1}}> {{
                    z = Conv <group = 2> (x, w) {front}
                    ["keep"] k = {op} <group = 2> (a, w, b) {behind}
                    y = Conv <group = 2> (i, w)
                }}
                <domain: "my", opset_import: ["": 21]> F (a) => (b) {{ b = Relu (a) }}"#
            );
            for name in ["onnxruntime", "generic"] {
                let table = Quantization::named(name).unwrap();
                let options = StaticOptions::new(&table);
                let (result, ..) = quantized(&text, ElemType::Int8, &options);
                // The generic table quantizes the operators that move elements, too.
                assert!(count(&result, "Sum") >= 1, "{name}\n{}", text_of(&result));
            }
        }
    }
}

/// The activation in front of 8-bit floats likewise, also in functions.
#[test]
fn activations_in_front_of_short_floats_stay_whatever_is_behind_them() {
    let table = Quantization::named("generic").unwrap();
    for behind in [
        "r = Relu (p) z = Identity (r)",
        "r = Relu (p) z = Dropout (r)",
        "r = Relu (p) z = Cast <to = 1> (r)",
        "z = my.F (p)",
        "z = If (is) <then_branch = t () => (float[2,2] q) { q = Relu (p) },
            else_branch = e () => (float[2,2] r) { r = Neg (p) }>",
    ] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[2,2] x) => (float[2,2] y)
            <float[2,2] w = {{0.5, -0.7, 0.3, 0.9}}, bool is = {{1}}> {{
                p = MatMul (x, w) {behind} y = MatMul (z, w)
            }}
            <domain: "my", opset_import: ["": 21]> F (a) => (b) {{ b = Relu (a) }}"#
        );
        let (result, ..) = quantized(&text, ElemType::Float8E4M3Fn, &StaticOptions::new(&table));
        assert!(count(&result, "Sum") >= 1, "{}", text_of(&result));
    }
}

/// A weight that is quantized in blocks, or along another axis than that of the results, stays as it is.
#[test]
fn products_of_weights_in_other_forms_stay() {
    let table = Quantization::named("onnxruntime").unwrap();
    let source = |op: &str, attributes: &str, ty: &str, scales: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,4] x) => (float[2,4] y)
            <{ty}[4,4] w = {{9, 8, 7, -1, -2, -6, -4, 7, -4, -9, 6, -2, 8, 2, -4, -4}}, float{scales}> {{
                d = DequantizeLinear <{attributes}> (w, s) y = {op} (x, d)
            }}"#
        )
    };
    let channels = "[4] s = {0.1, 0.2, 0.3, 0.4}";
    let blocks = "[2,4] s = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}";
    let rows = "[4,2] s = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}";
    for op in ["MatMul", "Gemm"] {
        for (attributes, ty, scales, is_quantized) in [
            ("axis = 1", "int8", " s = {0.1}", true),
            ("axis = 1", "int8", "[1] s = {0.1}", true),
            ("axis = 1", "int8", channels, true),
            ("axis = -1", "int8", channels, true),
            ("axis = 0", "int8", channels, false),
            ("axis = 0, block_size = 2", "int8", blocks, false),
            ("axis = 1, block_size = 2", "int8", rows, false),
            ("axis = 1", "int32", " s = {0.1}", false),
        ] {
            let text = source(op, attributes, ty, scales);
            let (result, ..) = quantized(&text, ElemType::Int8, &StaticOptions::new(&table));
            let found = count(&result, "QuantizeLinear") > 0;
            assert_eq!(found, is_quantized, "{op} {attributes} {ty}");
        }
    }
}

/// The scale and the zero point of a pair are where the pair is, in each version of the format.
#[test]
fn parameters_of_a_pair_are_in_its_graph() {
    let text = |ir: i64, before: &str, after: &str| {
        format!(
            r#"<ir_version: {ir}, opset_import: ["": 13]>
            g (float[2,2] x, bool c) => (float[2,2] y) {{
                {before} y = If (c) <
                    then_branch = a () => (float[2,2] p) {{
                        w = Constant <value = float[2,2] {{0.5, -0.7, 0.3, 0.9}}> ()
                        {after}
                    }},
                    else_branch = b () => (float[2,2] q) {{
                        v = Constant <value = float[2,2] {{0.5, -0.7, 0.3, 0.9}}> ()
                        u = Transpose <perm = [1, 0]> (v)
                        q = MatMul (x, u)
                    }}>
            }}"#
        )
    };
    let table = Quantization::named("onnxruntime").unwrap();
    for ir in [3, 8] {
        for (before, after) in [
            ("", "t = Transpose <perm = [1, 0]> (w) p = MatMul (x, t)"),
            ("", "t = Identity (w) p = MatMul (x, t)"),
            ("", "t = Transpose (w) s = MatMul (x, t) r = Relu (s) p = MatMul (r, t)"),
            (
                "z = Tanh (x)",
                "t = Transpose (w) s = MatMul (z, t) r = Relu (s) e = MatMul (r, t) p = Add (e, x)",
            ),
        ] {
            let (result, ..) =
                quantized(&text(ir, before, after), ElemType::Int8, &StaticOptions::new(&table));
            let mut weights = model(&text(ir, before, after));
            quantize_weights(&mut weights, ElemType::Int8, &WeightOptions::default()).unwrap();
            assert_is_valid(&weights);
            for result in [result, weights] {
                let main = result.main_graph();
                assert!(result.is_sorted(main), "{}", text_of(&result));
                let nested: Vec<_> = result.all_graphs().filter(|&graph| graph != main).collect();
                for node in nested.iter().flat_map(|&graph| result.nodes(graph)) {
                    let record = result.node(node);
                    let is_pair = ["QuantizeLinear", "DequantizeLinear"].contains(&result.str(record.op()));
                    let mut parameters = (1..record.input_count()).filter_map(|index| record.input(index));
                    let is_near = parameters.all(|value| result.graph_of(value) == record.graph());
                    assert!(!is_pair || is_near, "{}", text_of(&result));
                }
                assert!(nested.iter().all(|&graph| result.is_sorted(graph)), "{}", text_of(&result));
            }
        }
    }
}

/// Initializers of nested graphs are inputs before IR version 4, which branches do not have.
#[test]
fn bounds_in_branches_of_old_versions_are_nodes() {
    let text = r#"<ir_version: 3, opset_import: ["": 13]>
    g (float[2] x, bool c, float s, uint8 z) => (float[2] y) <float s = {0.1}, uint8 z = {5}> {
        y = If (c) <
            then_branch = a () => (float[2] p) {
                q = QuantizeLinear (x, s, z)
                p = DequantizeLinear (q, s, z)
            },
            else_branch = b () => (float[2] r) { r = Neg (x) }>
    }"#;
    let mut result = model(text);
    let done = dequantize(&mut result, &DequantizeOptions::default()).unwrap();
    assert_eq!((done.pairs, done.limits), (1, 1));
    assert_is_valid(&result);
    let main = result.main_graph();
    let nested: Vec<_> = result.all_graphs().filter(|&graph| graph != main).collect();
    assert!(nested.iter().all(|&graph| result.initializers(graph).next().is_none()), "{}", text_of(&result));
    assert_eq!(count(&result, "Constant"), 2);
}

/// onnxruntime takes a bias of more axes than the product for its own.
#[test]
fn a_bias_of_more_axes_is_added_for_itself() {
    for (sizes, output, is_wide) in [("1,1,2", "1,2,2", true), ("1,2", "2,2", false), ("2", "2,2", false)] {
        let text = format!(
            r#"<ir_version: 8, opset_import: ["": 13]> g (float[2,2] x) => (float[{output}] y)
            <float[2,2] w = {{0.5, -0.7, 0.3, 0.9}}, float[{sizes}] b = {{0.25, 0.5}}> {{
                p = MatMul (x, w) y = Add (p, b)
            }}"#
        );
        let mut result = model(&text);
        quantize_dynamic(&mut result, ElemType::Int8, &DynamicOptions::default()).unwrap();
        assert_is_valid(&result);
        assert_eq!(count(&result, "Sum") == 1, is_wide, "{}", text_of(&result));
    }
}

/// Weights of `Constant` nodes are quantized as those that are initializers, and the floats are gone.
#[test]
fn weights_of_constant_nodes_are_quantized() {
    let source = model(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,2] x) => (float[2,2] y) {
            w = Constant <value = float[2,2] {0.5, -0.7, 0.3, 0.9}> () y = MatMul (x, w)
        }"#,
    );
    let mut weights = source.clone();
    let report = quantize_weights(&mut weights, ElemType::Int8, &WeightOptions::default()).unwrap();
    assert_eq!(report.weights.len(), 1);
    let mut dynamic = source.clone();
    quantize_dynamic(&mut dynamic, ElemType::Int8, &DynamicOptions::default()).unwrap();
    let table = Quantization::named("onnxruntime").unwrap();
    let (fixed, ..) = quantized(&text_of(&source), ElemType::Int8, &StaticOptions::new(&table));
    for result in [weights, dynamic, fixed] {
        assert_is_valid(&result);
        assert_eq!(count(&result, "Constant"), 0, "{}", text_of(&result));
    }
}

/// Also in branches of versions whose initializers are inputs.
#[test]
fn weights_of_constant_nodes_in_branches_are_quantized() {
    for ir in [3, 10] {
        let mut result = model(&format!(
            r#"<ir_version: {ir}, opset_import: ["": 13]> g (float[2,2] x, bool c) => (float[2,2] y) {{
                y = If (c) <
                    then_branch = a () => (float[2,2] p) {{
                        w = Constant <value = float[2,2] {{0.5, -0.7, 0.3, 0.9}}> () p = MatMul (x, w)
                    }},
                    else_branch = b () => (float[2,2] r) {{ r = Neg (x) }}>
            }}"#
        ));
        let report = quantize_weights(&mut result, ElemType::Int8, &WeightOptions::default()).unwrap();
        assert_eq!(report.weights.len(), 1);
        assert_is_valid(&result);
    }
}

/// The scale of zeros is what their bias needs.
#[test]
fn a_bias_next_to_zeros_is_kept() {
    let table = Quantization::named("onnxruntime").unwrap();
    for weights in ["0.0, 0.0", "0.0, 1.0"] {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[1,2,4,4] x) => (float[1,2,4,4] c)
            <float[2,1,1,1] w = {{{weights}}}, float[2] b = {{0.0288, 0.031}}> {{ c = Conv <group = 2> (x, w, b) }}"#
        );
        let options = StaticOptions::new(&table).with_per_channel(true);
        let (result, ..) = quantized(&text, ElemType::Uint8, &options);
        let value = result.find_value(result.main_graph(), "b_quantized").unwrap();
        let numbers = result.constant_tensor(value).unwrap().iter_i64(&onnx_types::tensor::NoData).unwrap();
        let first = numbers.take(1).next().unwrap();
        assert!(first > 1 << 20, "{first}\n{}", text_of(&result));
    }
}

/// A weight is what the model computes from constants; what is quantized already stays.
#[test]
fn computed_weights_are_quantized() {
    let numbers: Vec<String> =
        (0..64).map(|index| format!("{:.3}", (f64::from(index) * 0.37).sin())).collect();
    let numbers = numbers.join(", ");
    let codes: Vec<String> = (0..64).map(|index| (index - 32).to_string()).collect();
    for (ty, nodes, is_folded) in [
        ("float[8,8]", "t = Identity (v)", true),
        ("float[8,8]", "t = Transpose (v)", true),
        ("float[64]", "s = Constant <value_ints = [8, 8]> () r = Reshape (v, s) t = Transpose (r)", true),
        ("double[8,8]", "t = Cast <to = 1> (v)", true),
        ("float16[8,8]", "t = Cast <to = 1> (v)", true),
        ("float[8,8]", "t = Add (v, v)", true),
        ("float[8,8]", "t = my.T (v)", true),
        (
            "int8[8,8]",
            "s = Constant <value_float = 0.02> () d = DequantizeLinear (v, s) t = Transpose (d)",
            false,
        ),
        ("float[8,8]", "e = Add (v, x) t = Identity (e)", false),
    ] {
        let numbers = if ty.starts_with("int8") { codes.join(", ") } else { numbers.clone() };
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[8,8] x) => (float[8,8] y)
            <{ty} v = {{{numbers}}}> {{ {nodes} y = MatMul (x, t) }}
            <domain: "my", opset_import: ["": 21]> T (a) => (c) {{ c = Transpose (a) }}"#
        );
        let count_of = usize::from(is_folded);
        let table = Quantization::named("onnxruntime").unwrap();
        let (result, report, ratio) = quantized(&text, ElemType::Uint8, &StaticOptions::new(&table));
        assert!(report.weights.len() == count_of && ratio > 25.0, "{nodes} {ratio}\n{}", text_of(&result));
        let mut weights = model(&text);
        let report = quantize_weights(&mut weights, ElemType::Int8, &WeightOptions::default()).unwrap();
        assert_eq!(report.weights.len(), count_of, "{nodes}");
        let mut dynamic = model(&text);
        let report = quantize_dynamic(&mut dynamic, ElemType::Int8, &DynamicOptions::default()).unwrap();
        assert_eq!(report.quantized.len(), count_of, "{nodes}");
        let mut blocks = model(&text);
        let options = BlockOptions::default().with_block(16);
        let report = quantize_blocks(&mut blocks, ElemType::Uint4, &options).unwrap();
        assert_eq!(report.weights.len(), count_of, "{nodes}");
        for result in [&result, &weights, &dynamic, &blocks] {
            assert_is_valid(result);
        }
        if !is_folded {
            let before = text_of(&model(&text));
            assert!([&weights, &dynamic, &blocks].into_iter().all(|result| text_of(result) == before));
        }
    }
}

/// One that is the weight of another node as well has one quantized form.
#[test]
fn tied_weights_are_stored_once() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]> g (int64[3] ids) => (float[3,4] y)
        <float[4,2] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}> {
            e = Gather (w, ids) t = Transpose (w) y = MatMul (e, t)
        }"#;
    let layers = r#"<ir_version: 10, opset_import: ["": 21]> g (float[3,2] x) => (float[3,2] y)
        <float[2,2] w = {0.1, 0.7, -0.3, 0.2}> {
            t = Transpose (w) z = MatMul (x, t) i = Identity (w) u = Transpose (i) y = MatMul (z, u)
        }"#;
    for (text, transposed) in [(text, 1), (layers, 0)] {
        let mut changed = model(text);
        let report = quantize_weights(&mut changed, ElemType::Int8, &WeightOptions::default()).unwrap();
        assert_is_valid(&changed);
        let left = count(&changed, "Transpose");
        assert!(report.weights.len() == 1 && left == transposed, "{}", text_of(&changed));
    }
}
