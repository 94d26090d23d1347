//! Quantized models in other forms: operators that take quantized numbers, dynamic ranges, products of blocks.

use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_quantize::{
    BlockOptions, DequantizeOptions, DynamicOptions, GeneratedSamples, MeasureOptions, Method, NoScale,
    QuantizeError, StaticOptions, StayReason, WeightOptions, calibrate, dequantize, measure_on,
    quantize_blocks, quantize_dynamic, quantize_static, quantize_weights, use_operators,
};
use onnx_schema::Registry;
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::{assert_is_valid, model, text_of};

/// The operators of ONNX and of onnxruntime.
pub(super) fn registry() -> Registry {
    let mut pack = onnx_shape_infer::contrib::pack();
    for set in onnx_schema::onnxruntime::operator_sets().unwrap() {
        if !set.domain().is_empty() {
            pack = pack.with_open_set(set);
        }
    }
    Registry::standard().with(pack).unwrap().with(onnx_eval::contrib::pack()).unwrap()
}

/// The least ratio of signal to noise of the outputs.
fn snr(before: &Model, after: &Model, registry: &Registry) -> f64 {
    let settings = MeasureOptions::default().with_registry(registry);
    let samples = GeneratedSamples::new(before, 4, &settings);
    let outputs = measure_on(before, after, &samples, &settings)
        .unwrap_or_else(|reason| panic!("{reason}\n{}", text_of(after)));
    outputs.iter().filter_map(|output| output.snr).fold(f64::INFINITY, f64::min)
}

fn ops(model: &Model) -> Vec<String> {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph).collect::<Vec<_>>());
    nodes.map(|node| model.str(model.node(node).op()).to_owned()).collect()
}

const NETWORK: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,1,4,4] x) => (float[N,2] y, float[N,4,2] t)
<float[2,1,3,3] k = {0.5, -0.25, 1.5, 0.75, -1, 0.3, 0.2, 0.1, -0.6, 0.4, 0.8, -0.9, 0.35, 0.15, -0.45, 0.7, 0.05, -0.2},
 float[2] b = {0.5, -0.25}, float[2,2] w = {0.1, 0.7, -0.3, 0.2}, float[2,2] v = {0.5, -0.7, 0.3, 0.9}, float[2] c = {0.1, -2},
 int64[3] shape = {0, 2, -1}> {
   p = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, k, b)
   r = Relu (p)
   m = Reshape (r, shape)
   t = Transpose <perm = [0, 2, 1]> (m)
   q = MatMul (t, w)
   s = ReduceMean <axes = [1], keepdims = 0> (q)
   y = Gemm <transB = 1> (s, v, c)
}"#;

#[test]
fn products_and_movers_take_quantized_numbers() {
    let source = model(&NETWORK.replace("\"\": 21", "\"\": 17"));
    let table = Quantization::named("onnxruntime").unwrap();
    for (per_channel, to) in [(false, ElemType::Uint8), (true, ElemType::Uint8), (true, ElemType::Int8)] {
        let options = StaticOptions::new(&table).with_per_channel(per_channel).with_quantized_results(true);
        let settings = MeasureOptions::default();
        let samples = GeneratedSamples::new(&source, 4, &settings);
        let ranges = calibrate(&source, to, Method::MinMax, &samples, &options).unwrap();
        let mut result = source.clone();
        quantize_static(&mut result, to, &ranges, None, &options).unwrap();
        let before = result.clone();
        let done = use_operators(&mut result, &table, Registry::STANDARD, &NoData).unwrap();
        assert_is_valid(&result);
        let nodes: Vec<(&str, usize)> = done.nodes.iter().map(|(op, count)| (op.as_str(), *count)).collect();
        assert_eq!(nodes, [("QLinearConv", 1), ("Reshape", 1), ("Transpose", 1), ("QLinearMatMul", 1)]);
        assert!(snr(&source, &result, Registry::STANDARD) > 25.0, "{}", text_of(&result));
        // Sums are rounded in another order: an element can be one step away.
        assert!(snr(&before, &result, Registry::STANDARD) > 35.0, "{}", text_of(&result));
        // Nothing is left to do.
        let again = use_operators(&mut result, &table, Registry::STANDARD, &NoData).unwrap();
        assert!(again.nodes.is_empty(), "{again:?}");
    }
}

/// The scales are those of the columns of the second operand, whose product with a vector is a vector.
#[test]
fn vectors_are_multiplied_with_scales_of_columns() {
    let table = Quantization::named("onnxruntime").unwrap();
    let options = StaticOptions::new(&table).with_per_channel(true).with_quantized_results(true);
    for (x, nodes) in [("3", "p = MatMul (x, w)"), ("2,3", "p = MatMul (x, w)"), ("3", "p = MatMul (w, x)")] {
        let y = if x == "3" { "N" } else { "M,N" };
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[{x}] x) => (float[{y}] y)
            <float[3,3] w = {{0.1, 7, -0.03, 0.2, 5, -0.01, 0.4, 9, -0.07}}> {{ {nodes} y = Relu (p) }}"#
        );
        let (before, ..) = super::quantized(&text, ElemType::Int8, &options);
        let mut result = before.clone();
        let done = use_operators(&mut result, &table, Registry::STANDARD, &NoData).unwrap();
        assert!(done.nodes.contains(&("QLinearMatMul".to_owned(), 1)), "{}", text_of(&result));
        assert!(snr(&before, &result, Registry::STANDARD) > 35.0, "{}", text_of(&result));
    }
}

#[test]
fn ranges_of_activations_are_found_in_each_run() {
    let source = model(&NETWORK.replace("\"\": 21", "\"\": 17"));
    for (to, per_channel) in
        [(ElemType::Int8, false), (ElemType::Int8, true), (ElemType::Uint8, false), (ElemType::Uint8, true)]
    {
        let mut result = source.clone();
        let options = DynamicOptions::default().with_per_channel(per_channel);
        let report = quantize_dynamic(&mut result, to, &options).unwrap();
        assert_is_valid(&result);
        assert_eq!(
            report.quantized,
            [("Conv".to_owned(), 1), ("MatMul".to_owned(), 1), ("Gemm".to_owned(), 1)]
        );
        assert_eq!(report.weights.len(), 3);
        let ratio = snr(&source, &result, Registry::STANDARD);
        assert!(ratio > 25.0, "{to} {per_channel} {ratio}\n{}", text_of(&result));
    }
    let error =
        |text: &str, to| quantize_dynamic(&mut model(text), to, &DynamicOptions::default()).unwrap_err();
    assert_eq!(
        error(&NETWORK.replace("\"\": 21", "\"\": 10"), ElemType::Int8).to_string(),
        "`DynamicQuantizeLinear` of version 10 does not exist; version 11 can"
    );
    assert!(matches!(error(NETWORK, ElemType::Int16), QuantizeError::Type(ElemType::Int16)));
}

/// Inner values keep their names, new ones are named after them, and all have types.
#[test]
fn inner_values_have_names_and_types() {
    let source = model(&NETWORK.replace("\"\": 21", "\"\": 17"));
    let untyped = |model: &Model| {
        let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph).collect::<Vec<_>>());
        let values =
            nodes.flat_map(|node| model.node(node).outputs().iter().copied().flatten().collect::<Vec<_>>());
        let values = values.filter(|&value| model.ty(value).is_none());
        values.map(|value| model.str(model.value(value).name()).to_owned()).collect::<Vec<_>>()
    };
    assert!(!untyped(&source).is_empty());
    let names = |model: &Model| {
        let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph).collect::<Vec<_>>());
        let values =
            nodes.flat_map(|node| model.node(node).outputs().iter().copied().flatten().collect::<Vec<_>>());
        values.map(|value| model.str(model.value(value).name()).to_owned()).collect::<Vec<_>>()
    };
    let mut dynamic = source.clone();
    quantize_dynamic(&mut dynamic, ElemType::Uint8, &DynamicOptions::default()).unwrap();
    let found = names(&dynamic);
    for name in names(&source) {
        assert!(found.contains(&name), "{name}: {found:?}");
    }
    for name in ["x_quantized", "x_scale", "x_zero_point", "p_quantized", "q_float"] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
    assert_eq!(untyped(&dynamic), Vec::<String>::new());
    let mut weights = source.clone();
    quantize_weights(&mut weights, ElemType::Int8, &WeightOptions::default()).unwrap();
    assert_eq!(untyped(&weights), Vec::<String>::new());
    let mut blocks = source.clone();
    let registry = registry();
    quantize_blocks(&mut blocks, ElemType::Uint4, &BlockOptions::default().with_registry(&registry)).unwrap();
    let mut found = names(&blocks);
    // The third operand of the `Gemm` is added for itself.
    found.retain(|name| name != "s_product" && name != "y_product");
    assert_eq!((untyped(&blocks), found), (Vec::new(), names(&source)));
    let table = Quantization::named("onnxruntime").unwrap();
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 2, &settings);
    let options = StaticOptions::new(&table);
    let ranges = calibrate(&source, ElemType::Uint8, Method::MinMax, &samples, &options).unwrap();
    let mut pairs = source.clone();
    quantize_static(&mut pairs, ElemType::Uint8, &ranges, None, &options).unwrap();
    assert_eq!(untyped(&pairs), Vec::<String>::new());
}

/// The result of a product is the operand and the bias of the next one.
#[test]
fn products_in_a_row_are_quantized() {
    let text = "<ir_version: 10, opset_import: [\"\": 17]>
    g (float[N,4] x) => (float[N,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, 8}> {
        a = MatMul (x, w)
        b = MatMul (a, w)
        y = Gemm (b, w, a)
    }";
    let before = model(text);
    let mut after = before.clone();
    let report = quantize_dynamic(&mut after, ElemType::Uint8, &DynamicOptions::default()).unwrap();
    assert_eq!(report.quantized.iter().map(|(_, count)| count).sum::<usize>(), 3);
    assert_eq!(ops(&after).iter().filter(|op| *op == "DynamicQuantizeLinear").count(), 3);
    assert!(snr(&before, &after, &registry()) > 30.0);
    let mut after = before.clone();
    let registry = registry();
    quantize_blocks(&mut after, ElemType::Uint8, &BlockOptions::default().with_registry(&registry)).unwrap();
    assert_eq!(ops(&after), ["MatMulNBits", "MatMulNBits", "MatMulNBits", "Add"]);
    assert!(snr(&before, &after, &registry) > 30.0);
}

/// A `Gemm` without factors is a product, with the third operand added behind it; others stay and are named.
#[test]
fn matrices_of_gemm_become_blocks() {
    let numbers: Vec<String> =
        (0..40 * 3).map(|index| format!("{:.3}", (f64::from(index) * 0.37).sin())).collect();
    let registry = registry();
    for (attributes, operands, wanted) in [
        ("transB = 0", "x, w", &["MatMulNBits"][..]),
        ("transB = 0", "x, w, row", &["MatMulNBits", "Add"]),
        ("transB = 0", "x, w, column", &["MatMulNBits", "Add"]),
        ("alpha = 1.0, beta = 1.0, transA = 0", "x, w, one", &["MatMulNBits", "Add"]),
        ("transB = 1", "x, t, row", &["MatMulNBits", "Add"]),
        ("transB = 1", "x, t", &["MatMulNBits"]),
        ("beta = 0.5", "x, w", &["MatMulNBits"]),
        ("beta = 0.5", "x, w, row", &["Gemm"]),
        ("alpha = 0.5", "x, w", &["Gemm"]),
        ("transA = 1", "v, w", &["Gemm"]),
    ] {
        let constants: String = [
            ("w", "float[40,3] w", numbers.join(", ")),
            ("t", "float[3,40] t", numbers.join(", ")),
            ("row", "float[3] row", "0.5, -2, 7".to_owned()),
            ("column", "float[4,1] column", "0.5, -2, 7, 1".to_owned()),
            ("one", "float one", "0.5".to_owned()),
        ]
        .iter()
        .filter(|(name, ..)| operands.split(", ").any(|operand| operand == *name))
        .map(|(_, ty, numbers)| format!("{ty} = {{{numbers}}}"))
        .collect::<Vec<_>>()
        .join(", ");
        let source = model(&format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g (float[4,40] x, float[40,4] v) => (float[4,3] y) <{constants}> {{
                y = Gemm <{attributes}> ({operands})
            }}"#
        ));
        for block in [16, 32, 64] {
            let mut result = source.clone();
            let options = BlockOptions::default().with_block(block).with_registry(&registry);
            let report = quantize_blocks(&mut result, ElemType::Uint8, &options).unwrap();
            assert_eq!(ops(&result), wanted, "{attributes} {operands}");
            let stays = wanted == ["Gemm"];
            assert_eq!((report.weights.len(), report.stay.len()), (usize::from(!stays), usize::from(stays)));
            assert!(report.stay.iter().all(|row| row.1 == NoScale::Form));
            assert!(stays || snr(&source, &result, &registry) > 40.0, "{attributes} {operands} {block}");
            assert_is_valid_in(&result, &registry);
        }
    }
}

fn assert_is_valid_in(result: &Model, registry: &Registry) {
    result.verify().unwrap();
    let options = onnx_check::CheckOptions::default().with_registry(registry);
    let errors: Vec<_> = onnx_check::check(result, &options)
        .diagnostics()
        .iter()
        .filter(|found| found.severity == onnx_diag::Severity::Error)
        .map(|found| found.message.clone())
        .collect();
    assert!(errors.is_empty(), "{errors:?}\n{}", text_of(result));
}

/// One weight stays for all its users, and is named once.
#[test]
fn stacks_of_matrices_have_no_blocks() {
    let mut result = model(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2,2,2] x) => (float[2,2,2] y)
        <float[2,2,2] w = {0.5, -0.7, 0.3, 0.9, 0.1, 0.2, -0.3, 0.4}> { a = MatMul (x, w) y = MatMul (a, w) }"#,
    );
    let report = quantize_blocks(&mut result, ElemType::Int4, &BlockOptions::default()).unwrap();
    assert_eq!((report.weights.len(), report.stay), (0, vec![("w".to_owned(), NoScale::Form)]));
}

/// Weights in other types are named by each form that leaves them out.
#[test]
fn weights_of_other_types_are_named() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[2,2] x, float16[2,2] h, double[2,2] d) => (float[2,2] y, float16[2,2] z, double[2,2] e)
    <float[2,2] w = {0.5, -0.7, 0.3, 0.9}, float16[2,2] v = {0.5, -0.7, 0.3, 0.9}, double[2,2] u = {0.5, -0.7, 0.3, 0.9}> {
        y = MatMul (x, w) z = MatMul (h, v) e = Gemm (d, u)
    }"#;
    let wanted = [("v".to_owned(), NoScale::OtherType), ("u".to_owned(), NoScale::OtherType)];
    let weights = quantize_weights(&mut model(text), ElemType::Int8, &WeightOptions::default()).unwrap();
    let blocks = quantize_blocks(&mut model(text), ElemType::Int8, &BlockOptions::default()).unwrap();
    let dynamic = quantize_dynamic(&mut model(text), ElemType::Int8, &DynamicOptions::default()).unwrap();
    assert_eq!((weights.weights.len(), weights.stay), (1, wanted.to_vec()));
    assert_eq!((blocks.weights.len(), blocks.stay), (1, wanted.to_vec()));
    assert_eq!((dynamic.weights.len(), dynamic.stay), (1, wanted.to_vec()));
    let table = Quantization::named("onnxruntime").unwrap();
    let (_, report, _) = super::quantized(text, ElemType::Int8, &StaticOptions::new(&table));
    let found: Vec<_> =
        report.stay.iter().map(|(op, name, reason)| (op.as_str(), name.as_str(), *reason)).collect();
    assert_eq!(found, [("Gemm", "e", StayReason::OtherType), ("MatMul", "z", StayReason::OtherType)]);
}

#[test]
fn products_of_blocks_have_the_numbers_of_the_weights() {
    let numbers: Vec<String> =
        (0..40 * 3).map(|index| format!("{:.3}", (f64::from(index) * 0.37).sin())).collect();
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[N,40] x) => (float[N,3] y) <float[40,3] w = {{{}}}> {{ y = MatMul (x, w) }}"#,
        numbers.join(", ")
    );
    let source = model(&text);
    let registry = registry();
    for (to, symmetric, least) in [
        (ElemType::Int4, false, 15.0),
        (ElemType::Uint4, false, 15.0),
        (ElemType::Uint4, true, 15.0),
        (ElemType::Int8, false, 40.0),
        (ElemType::Uint8, false, 40.0),
    ] {
        for block in [16, 32, 64] {
            let mut result = source.clone();
            let options = BlockOptions::default().with_block(block).with_symmetric(symmetric);
            let weights = quantize_blocks(&mut result, to, &options).unwrap();
            assert!(weights.weights.len() == 1 && weights.weights[0].snr > least, "{weights:?}");
            assert_eq!(ops(&result), ["MatMulNBits"]);
            let ratio = snr(&source, &result, &registry);
            assert!(ratio > least, "{to} {symmetric} {block}: {ratio}\n{}", text_of(&result));
        }
    }
    let error = |to, block| {
        let options = BlockOptions::default().with_block(block);
        quantize_blocks(&mut source.clone(), to, &options).unwrap_err().to_string()
    };
    assert_eq!(error(ElemType::Int4, 24), "blocks of `MatMulNBits` have 16, 32, 64, ... elements, not 24");
    assert_eq!(error(ElemType::Int16, 32), "numbers are not quantized to int16");
}

#[test]
fn products_with_one_weight_share_its_blocks() {
    let numbers: Vec<String> =
        (0..16 * 16).map(|index| format!("{:.3}", (f64::from(index) * 0.37).sin())).collect();
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[N,16] x) => (float[N,16] y) <float[16,16] w = {{{}}}> {{
            a = MatMul (x, w)
            b = Tanh (a)
            y = MatMul (b, w)
        }}"#,
        numbers.join(", ")
    );
    let (source, registry) = (model(&text), registry());
    let mut result = source.clone();
    let options = BlockOptions::default().with_block(16).with_registry(&registry);
    let weights = quantize_blocks(&mut result, ElemType::Uint4, &options).unwrap();
    assert_eq!(
        (weights.weights.len(), ops(&result)),
        (1, ["MatMulNBits", "Tanh", "MatMulNBits"].map(str::to_owned).to_vec())
    );
    let constants =
        result.initializers(result.main_graph()).map(|value| result.str(result.value(value).name()));
    assert_eq!(constants.collect::<Vec<_>>(), ["w_quantized", "w_scale", "w_zero_point"]);
    assert!(snr(&source, &result, &registry) > 15.0);
}

/// Weights that the version of the format requires as inputs are constants for the conversion back, too.
#[test]
fn blocks_that_are_inputs_become_floats() {
    let registry = registry();
    let numbers: Vec<String> =
        (0..64).map(|number| format!("{}", f64::from(number % 7) * 0.25 - 0.6)).collect();
    for (ir, input) in [(3, ", float[32,2] w"), (8, "")] {
        let text = format!(
            r#"<ir_version: {ir}, opset_import: ["": 11]>
            g (float[N,32] x{input}) => (float[N,2] y) <float[32,2] w = {{{}}}> {{ p = MatMul (x, w) y = Relu (p) }}"#,
            numbers.join(", ")
        );
        let source = model(&text);
        let mut blocks = source.clone();
        quantize_blocks(&mut blocks, ElemType::Uint8, &BlockOptions::default().with_registry(&registry))
            .unwrap();
        let options = DequantizeOptions::default().with_registry(&registry);
        let mut back = blocks.clone();
        let done = dequantize(&mut back, &options).unwrap();
        assert_eq!((done.operators, done.left.len()), (1, 0), "{}", text_of(&back));
        assert_is_valid(&back);
        assert_eq!(ops(&back).iter().filter(|op| *op != "Constant").count(), 2, "{}", text_of(&back));
        assert!(snr(&blocks, &back, &registry) > 100.0);
        let has_inputs = back.graph(back.main_graph()).inputs().len() > 1;
        assert!(ir > 3 || !has_inputs || back.initializers(back.main_graph()).count() > 0);
    }
}

/// A model of which nothing becomes floats is not touched.
#[test]
fn a_model_without_quantized_numbers_stays_as_it_is() {
    let text = r#"<ir_version: 3, opset_import: ["": 11]> g (float[N] x) => (float[N] y) {
        unused = Constant <value_float = 1.0> ()
        y = Relu (x)
    }"#;
    let mut source = model(text);
    let before = text_of(&source);
    dequantize(&mut source, &DequantizeOptions::default()).unwrap();
    assert_eq!(text_of(&source), before);
}
