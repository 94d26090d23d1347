//! Forms that onnxruntime fuses and loads.

use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_quantize::{
    DynamicOptions, GeneratedSamples, Granularity, Half, MeasureOptions, Method, NarrowOptions,
    StaticOptions, WeightOptions, calibrate, measure_on, narrow, quantize_dynamic, quantize_static,
    quantize_weights, use_operators,
};
use onnx_schema::Registry;
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::{assert_is_valid, model, text_of};

fn quantized(text: &str, to: ElemType, options: &StaticOptions<'_>) -> Model {
    let source = model(text);
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&source, 4, &settings);
    let ranges = calibrate(&source, to, Method::MinMax, &samples, options).unwrap();
    let mut result = source.clone();
    quantize_static(&mut result, to, &ranges, None, options).unwrap();
    assert_is_valid(&result);
    let outputs = measure_on(&source, &result, &samples, &settings).unwrap();
    assert!(outputs.iter().all(|output| output.snr > Some(20.0)), "{outputs:?}\n{}", text_of(&result));
    result
}

/// The sizes of the constant operand of the first `Add`.
fn bias_dims(model: &Model) -> Vec<i64> {
    let node =
        model.nodes(model.main_graph()).find(|&node| model.str(model.node(node).op()) == "Add").unwrap();
    let mut constants = model.node(node).inputs().flatten().filter_map(|value| model.constant_tensor(value));
    constants.next().unwrap().dims().to_vec()
}

/// A bias behind a product of three axes is a row, so that the product stays one of integers.
#[test]
fn biases_of_stacks_of_products_are_rows() {
    let table = Quantization::named("onnxruntime").unwrap();
    for version in [13, 21] {
        for (sizes, wanted) in [("N,3,4", vec![1, 2]), ("N,2,3,4", vec![1, 2])] {
            let text = format!(
                r#"<ir_version: 10, opset_import: ["": {version}]>
                g (float[{sizes}] x) => (float[{}2] y)
                <float[4,2] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}}, float[2] b = {{0.5, -0.25}}> {{
                    p = MatMul (x, w)
                    y = Add (b, p)
                }}"#,
                sizes.trim_end_matches('4')
            );
            for to in [ElemType::Uint8, ElemType::Int8] {
                assert_eq!(bias_dims(&quantized(&text, to, &StaticOptions::new(&table))), wanted, "{sizes}");
            }
        }
    }
}

/// onnxruntime quantizes a bias that stays `float`, also one that is beyond the range of `int32`.
#[test]
fn a_bias_fits_whatever_signs_the_weights_have() {
    let table = Quantization::named("onnxruntime").unwrap();
    for weights in ["{1.8e-5, 0, 0, 1.3e-5}", "{-1.8e-5, 0, 0, -1.3e-5}", "{1.8e-5, -1e-5, 0, 1.3e-5}"] {
        let text = format!(
            r#"<ir_version: 9, opset_import: ["": 21]> g (float[1,2,4,4] x) => (float[1,2,4,4] y)
            <float[2,2,1,1] w = {weights}, float[2] b = {{0.61, 1.27}}> {{ z = Conv (x, w, b) y = Tanh (z) }}"#
        );
        for channels in [false, true] {
            let options =
                StaticOptions::new(&table).with_weights(Some(ElemType::Uint8)).with_per_channel(channels);
            let printed = text_of(&quantized(&text, ElemType::Int8, &options));
            assert!(printed.contains("int32[2] b_quantized"), "{printed}");
        }
    }
}

/// onnxruntime quantizes a constant bias that stays `float` itself, without the factors; before version 11, it does not load the model.
#[test]
fn a_scaled_product_with_a_constant_bias_is_not_quantized() {
    let table = Quantization::named("onnxruntime").unwrap();
    let pairs = |version: i64, scale: &str, bias: &str| {
        let text = format!(
            r#"<ir_version: 5, opset_import: ["": {version}]> g (float[N,4] x, float[2] c) => (float[N,2] y)
            <float[4,2] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}}, float[2] b = {{0.5, -0.25}}> {{
                y = Gemm <{scale}> (x, w, {bias})
            }}"#
        );
        let done = quantized(&text, ElemType::Int8, &StaticOptions::new(&table));
        text_of(&done).contains("QuantizeLinear")
    };
    for version in [10, 21] {
        assert!(pairs(version, "alpha = 1.0", "b") && pairs(version, "transA = 0", "b"));
        assert!(pairs(version, "alpha = 0.5", "c"), "a bias that is computed stays as it is");
        assert!(!pairs(version, "alpha = 0.5", "b") && !pairs(version, "beta = 0.5", "b"));
    }
}

/// Pairs of `int8` are repeated behind operators that move elements, where onnxruntime would repeat them in a form that is not valid.
#[test]
fn pairs_are_repeated_behind_movers() {
    let table = Quantization::named("generic").unwrap();
    let text = |version: i64| {
        format!(
            r#"<ir_version: 10, opset_import: ["": {version}]>
            g (float[N,1,4] x) => (float[N,4] y, float[4,N,1] t)
            <float[4,4] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, 0.3, -0.6, 0.8, 0.15, 0.25, 0.35, -0.45, 0.55}},
             float[2,1,1] k = {{0.5, -0.25}}, int64[2] flat = {{-1, 4}}> {{
                c = Conv (x, k)
                m = Transpose <perm = [2, 0, 1]> (c)
                e = Reshape (m, flat)
                y0 = Exp (e)
                y1 = Softmax (y0)
                y2 = ReduceMean <keepdims = 0> (y1)
                q = MatMul (e, w)
                y3 = Add (q, y2)
                y = Sigmoid (y3)
                x_moved = Transpose <perm = [2, 0, 1]> (x)
                t = Exp (x_moved)
            }}"#
        )
    };
    let count = |version, to| {
        let result = quantized(&text(version), to, &StaticOptions::new(&table));
        // Behind each of these operators are quantized numbers.
        let nodes: Vec<_> = result.nodes(result.main_graph()).collect();
        let op = |node| result.str(result.node(node).op()).to_owned();
        let bare = nodes.iter().filter(|&&node| {
            let is_mover = matches!(op(node).as_str(), "Transpose" | "Reshape");
            let from = result.input_producer(node, 0).is_some_and(|from| op(from) == "DequantizeLinear");
            let output = result.node(node).output(0).unwrap();
            is_mover && from && !result.consumers(output).all(|user| op(user) == "QuantizeLinear")
        });
        bare.count()
    };
    assert_eq!(count(21, ElemType::Int8), 0);
    // Others are left to the runtime.
    let _ = count(17, ElemType::Int8);
    let _ = count(21, ElemType::Uint8);
}

/// A constant as first operand has the type of activations, and types without a kernel keep their pairs.
#[test]
fn operator_form_takes_types_of_kernels() {
    let left = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[4,N] x) => (float[2,N] z) <float[2,4] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}> {
        y = MatMul (w, x)
        z = Sigmoid (y)
    }"#;
    let right = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[N,4] x) => (float[N,2] z) <float[4,2] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}> {
        y = MatMul (x, w)
        z = Sigmoid (y)
    }"#;
    let table = Quantization::named("onnxruntime").unwrap();
    let (int8, uint8) = (ElemType::Int8, ElemType::Uint8);
    for (text, to, weights, wanted) in [
        (left, uint8, int8, Some([uint8, uint8])),
        (left, uint8, uint8, Some([uint8, uint8])),
        (left, int8, int8, Some([int8, int8])),
        (left, int8, uint8, Some([int8, int8])),
        (right, uint8, int8, Some([uint8, int8])),
        (right, uint8, uint8, Some([uint8, uint8])),
        (right, int8, int8, Some([int8, int8])),
        (right, int8, uint8, None),
    ] {
        let options = StaticOptions::new(&table).with_weights(Some(weights)).with_quantized_results(true);
        let mut result = quantized(text, to, &options);
        let done = use_operators(&mut result, &table, Registry::STANDARD, &NoData).unwrap();
        assert_is_valid(&result);
        let node = result
            .nodes(result.main_graph())
            .find(|&node| result.str(result.node(node).op()) == "QLinearMatMul");
        assert_eq!(node.is_some(), wanted.is_some(), "{done:?}\n{}", text_of(&result));
        let zero =
            |node, index| result.constant_tensor(result.node(node).input(index).unwrap()).unwrap().elem();
        assert_eq!(node.map(|node| [zero(node, 2), zero(node, 5)]), wanted);
    }
}

/// Types raise the IR version to the first one that has them, and initializers of old versions are not inputs then.
#[test]
fn types_raise_the_ir_version() {
    let text = |ir: i64, version: i64| {
        let (input, weights) = match ir {
            ..4 => (", float[16,4] w", "float[16,4] w"),
            _ => ("", "float[16,4] w"),
        };
        let numbers: Vec<String> =
            (0..64).map(|number| format!("{}", f64::from(number % 7) * 0.25 - 0.6)).collect();
        format!(
            r#"<ir_version: {ir}, opset_import: ["": {version}]>
            g (float[N,16] x{input}) => (float[N,4] y) <{weights} = {{{}}}> {{ y = MatMul (x, w) }}"#,
            numbers.join(", ")
        )
    };
    for ir in [3, 7, 8, 11] {
        for (to, needed) in [
            (ElemType::Int8, 3),
            (ElemType::Float8E4M3Fn, 9),
            (ElemType::Float8E5M2, 9),
            (ElemType::Int4, 10),
            (ElemType::Uint4, 10),
            (ElemType::Float4E2M1, 11),
            (ElemType::Int2, 13),
            (ElemType::Uint2, 13),
        ] {
            let mut result = model(&text(ir, 25));
            let options = WeightOptions::default().with_granularity(Granularity::Block(16));
            if quantize_weights(&mut result, to, &options).is_err() {
                // The version of the operators does not take it.
                continue;
            }
            assert_is_valid(&result);
            assert_eq!(result.info().ir_version, ir.max(needed), "{to}");
            let inputs = result.graph(result.main_graph()).inputs().len();
            assert_eq!(inputs == 1, result.info().ir_version >= 4, "{to}\n{}", text_of(&result));
        }
        let mut result = model(&text(ir, 21));
        narrow(&mut result, Half::Bfloat16, &NarrowOptions::default()).unwrap();
        assert_is_valid(&result);
        assert_eq!(result.info().ir_version, ir.max(4));
        let mut result = model(&text(ir, 21));
        quantize_dynamic(&mut result, ElemType::Int8, &DynamicOptions::default()).unwrap();
        assert_eq!(result.info().ir_version, ir);
    }
}

/// A product of matrices and the bias behind it are a `Gemm`, whose bias has the product of the scales.
#[test]
fn biases_of_matrices_are_integers() {
    let table = Quantization::named("onnxruntime").unwrap();
    let text = |sizes: &str, bias: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 17]>
            g (float[{sizes}4] x) => (float[{sizes}2] y)
            <float[4,2] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}}, float{bias}> {{
                p = MatMul (x, w)
                s = Add (b, p)
                r = Relu (s)
                y = Softmax (r)
            }}"#
        )
    };
    let has = |text: &str, options: &StaticOptions<'_>| {
        let result = quantized(text, ElemType::Uint8, options);
        let mut ops: Vec<_> = result
            .nodes(result.main_graph())
            .map(|node| result.str(result.node(node).op()).to_owned())
            .collect();
        ops.retain(|op| ["Add", "Gemm", "MatMul"].contains(&op.as_str()));
        let is_integer = text_of(&result).contains("int32[2] b_");
        (ops.join(" "), is_integer)
    };
    let options = StaticOptions::new(&table);
    let vector = "[2] b = {0.5, -0.25}";
    assert_eq!(has(&text("N,", vector), &options), ("Gemm".to_owned(), true));
    assert_eq!(has(&text("N,3,", vector), &options), ("MatMul Add".to_owned(), false));
    assert_eq!(has(&text("N,", "[1] b = {0.5}"), &options), ("MatMul Add".to_owned(), false));
    assert_eq!(has(&text("N,", "[1,2] b = {0.5, 1}"), &options), ("MatMul Add".to_owned(), false));
    // Operators with quantized operands need the product.
    assert_eq!(has(&text("N,", vector), &options.clone().with_quantized_results(true)).0, "MatMul Add");
}
