//! Quantized weights: what the model computes with them, and the conversion back.

use onnx_quantize::{
    DequantizeOptions, DynamicOptions, Granularity, MeasureOptions, NoScale, QuantizeError, RetypeError,
    WeightOptions, dequantize, measure, quantize_dynamic, quantize_weights, retype,
};
use onnx_types::ElemType;

use super::{assert_is_valid, model, text_of};

/// A product, a `Gemm` with a transposed weight, a convolution and an embedding.
const OPERATORS: &str = r#"<ir_version: 11, opset_import: ["": 23]>
g (float[N,4] x, float[1,2,3,3] c, int64[2] i) => (float[N,3] y, float[1,3,3,3] z, float[2,4] e) <
    float[4,5] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, 1.5, -0.25, 0.125, 2, 0.3, 0.6, -1, 0.8, -0.45, 0.05, 0.35, 1.1},
    float[3,5] v = {0.5, 0.2, -0.6, 0.3, 0.9, 0.1, 0.4, -0.2, 0.8, 1.2, -1, 0.7, 0.6, 0.5, 0.15},
    float[3,2,1,1] k = {0.5, -0.25, 1.5, 0.75, -1, 0.3},
    float[3,4] t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
> {
    p = MatMul (x, w)
    y = Gemm <transB = 1> (p, v)
    z = Conv (c, k)
    e = Gather (t, i)
}"#;

#[test]
fn every_type_and_granularity_is_exact_up_to_its_steps() {
    let source = model(OPERATORS);
    let types = [
        (ElemType::Int8, 30.0),
        (ElemType::Uint8, 30.0),
        (ElemType::Int16, 70.0),
        (ElemType::Uint16, 70.0),
        (ElemType::Int4, 10.0),
        (ElemType::Uint4, 10.0),
        (ElemType::Float8E4M3Fn, 20.0),
        (ElemType::Float8E5M2, 14.0),
    ];
    for (to, least) in types {
        for granularity in [Granularity::Tensor, Granularity::Channel, Granularity::Block(2)] {
            let mut result = source.clone();
            let options = WeightOptions::default().with_granularity(granularity);
            let report = quantize_weights(&mut result, to, &options).unwrap();
            assert_eq!(report.weights.len(), 4, "{to}");
            assert_is_valid(&result);
            for output in measure(&source, &result, &MeasureOptions::default()).unwrap() {
                assert!(output.snr > Some(least), "{to} {granularity:?} {output:?}");
            }
            // The floats of the conversion back are those that the operators get.
            let mut back = result.clone();
            let done = dequantize(&mut back, &DequantizeOptions::default()).unwrap();
            assert_eq!((done.weights, done.pairs, done.left.len()), (4, 0, 0));
            assert_is_valid(&back);
            for output in measure(&result, &back, &MeasureOptions::default()).unwrap() {
                assert_eq!(output.max_error, 0.0, "{to} {granularity:?} {output:?}");
            }
        }
    }
}

#[test]
fn symmetric_unsigned_types_have_their_zero_in_the_middle() {
    let mut result = model(OPERATORS);
    let options = WeightOptions::default().with_symmetric(true);
    quantize_weights(&mut result, ElemType::Uint4, &options).unwrap();
    let text = text_of(&result);
    assert!(text.contains("uint4 w_zero_point = raw {8}"), "{text}");
}

#[test]
fn versions_without_the_type_are_refused() {
    let text = OPERATORS.replace("23", "18");
    let mut source = model(&text);
    let error = quantize_weights(&mut source, ElemType::Float8E5M2, &WeightOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`DequantizeLinear` of version 18 does not take float8e5m2; version 19 can"
    );
    let blocks = WeightOptions::default().with_granularity(Granularity::Block(2));
    let error = quantize_weights(&mut source, ElemType::Int8, &blocks).unwrap_err();
    assert!(matches!(error, QuantizeError::Version { needed: 21, imported: 18, .. }), "{error}");
    assert!(matches!(
        quantize_weights(&mut source, ElemType::Bool, &WeightOptions::default()),
        Err(QuantizeError::Type(ElemType::Bool))
    ));
    assert_eq!(text_of(&source), text_of(&model(&text)));
}

#[test]
fn pairs_of_activations_are_removed() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[4] x) => (float[4] y, float[4] z) <float s = {0.1}, uint8 z0 = {128}, uint8 other = {0}> {
        q = QuantizeLinear (x, s, z0)
        d = DequantizeLinear (q, s, z0)
        y = Relu (d)
        z = DequantizeLinear (q, s, other)
    }"#;
    let mut source = model(text);
    let done = dequantize(&mut source, &DequantizeOptions::default()).unwrap();
    assert_eq!((done.pairs, done.limits, done.left.len()), (1, 1, 2), "{}", text_of(&source));
    assert_is_valid(&source);
    assert!(text_of(&source).contains("y = Relu (x_limited)"), "{}", text_of(&source));
}

/// Operators in front of a pair, the parameters of the pair, and whether it limits what they give.
const LIMITS: &[(&str, &str, bool)] = &[
    // The range of the pair is that of a `Relu` that a quantizer has left out.
    ("v = Neg (x)", "float s = {0.125}, uint8 z = {0}", true),
    ("v = Relu (x)", "float s = {0.125}, uint8 z = {0}", true),
    ("v = Sigmoid (x)", "float s = {0.0078125}, uint8 z = {0}", false),
    ("v = Sigmoid (x)", "float s = {0.00390625}, uint8 z = {0}", true),
    ("v = Sigmoid (x)", "float s = {0.0078125}, int8 z = {-128}", false),
    ("v = Tanh (x)", "float s = {0.0078125}, int8 z = {0}", true),
    ("v = Tanh (x)", "float s = {0.015625}, int8 z = {0}", false),
    (
        "lo = Constant <value = float {0}> () hi = Constant <value = float {6}> () c = Clip (x, lo, hi) v = Transpose (c)",
        "float s = {0.03125}, uint8 z = {0}",
        false,
    ),
    ("v = Neg (x)", "float s = {0.125}, float8e4m3fn z = {0}", true),
    ("v = Neg (x)", "float s = {0.125}, int4 z = {0}", true),
    ("v = Neg (x)", "float s = {0.0009765625}, uint16 z = {32768}", true),
];

#[test]
fn pairs_that_limit_numbers_become_clip() {
    for version in [21, 23] {
        for (front, parameters, is_limit) in LIMITS {
            let text = format!(
                r#"<ir_version: 11, opset_import: ["": {version}]> g (float[N] x) => (float[N] y) <{parameters}> {{
                    {front} q = QuantizeLinear (v, s, z) d = DequantizeLinear (q, s, z) y = Neg (d)
                }}"#
            );
            let source = model(&text);
            let mut back = source.clone();
            let done = dequantize(&mut back, &DequantizeOptions::default()).unwrap();
            assert_eq!((done.pairs, done.limits, done.left.len()), (1, usize::from(*is_limit), 0), "{text}");
            assert_is_valid(&back);
            assert_eq!(text_of(&back).contains("_limited = Clip"), *is_limit, "{}", text_of(&back));
            // Generated inputs are beyond the ranges. What is left is rounding: half a step, or an eighth of a float of 8 bits.
            for output in measure(&source, &back, &MeasureOptions::default()).unwrap() {
                assert!(
                    output.max_error <= if parameters.contains("float8") { 4.0 } else { 0.0626 },
                    "{text} {output:?}"
                );
            }
        }
    }
}

#[test]
fn pairs_whose_parameters_are_no_constants_of_one_element_stay() {
    for (parameters, more) in [
        ("float[3] s = {0.5, 0.25, 1}, uint8[3] z = {0, 0, 0}", ""),
        ("uint8 z = {0}", "m = ReduceMax <keepdims = 0> (x) s = Abs (m)"),
        ("float s = {0}, uint8 z = {0}", ""),
    ] {
        let text = format!(
            r#"<ir_version: 11, opset_import: ["": 21]> g (float[N,3] x) => (float[N,3] y) <{parameters}> {{
                {more} q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Neg (d)
            }}"#
        );
        let mut source = model(&text);
        let done = dequantize(&mut source, &DequantizeOptions::default()).unwrap();
        assert_eq!((done.pairs, done.left.len()), (0, 2), "{text}");
    }
    // The result has another type than the operand.
    let text = r#"<ir_version: 11, opset_import: ["": 23]> g (int32[N] x) => (float[N] y) <float s = {0.5}, uint8 z = {0}> {
        q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z)
    }"#;
    let mut source = model(text);
    let done = dequantize(&mut source, &DequantizeOptions::default()).unwrap();
    assert_eq!((done.pairs, done.left.len()), (0, 2));
    assert_is_valid(&source);
}

/// Before version 11, the bounds are attributes.
#[test]
fn bounds_have_the_form_of_the_version() {
    let text = r#"<ir_version: 5, opset_import: ["": 10]> g (float[N] x) => (float[N] y) {
        s = Constant <value = float {0.5}> () z = Constant <value = uint8 {10}> ()
        q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Neg (d)
    }"#;
    let mut source = model(text);
    let done = dequantize(&mut source, &DequantizeOptions::default()).unwrap();
    assert_eq!((done.pairs, done.limits, done.left.len()), (1, 1, 0));
    assert_is_valid(&source);
    assert!(text_of(&source).contains("Clip <min = -5.0, max = 122.5> (x)"), "{}", text_of(&source));
}

#[test]
fn types_of_inputs_and_outputs_change() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
    g (int64[N] i, float[N] x) => (float[N] y, float[N] x2) {
        f = Cast <to = 1> (i)
        y = Add (f, x)
        x2 = Neg (y)
    }"#;
    let mut source = model(text);
    assert_eq!(retype(&mut source, "i", ElemType::Int32), Ok(0));
    assert_eq!(retype(&mut source, "x", ElemType::Float16), Ok(1));
    assert_eq!(retype(&mut source, "y", ElemType::Double), Ok(1));
    assert_eq!(retype(&mut source, "y", ElemType::Double), Ok(0));
    assert_is_valid(&source);
    let text = text_of(&source);
    for line in ["x2 = Neg (y_float)", "y_float = Add (f, x_float)", "x_float = Cast <to = 1> (x)"] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(retype(&mut source, "f", ElemType::Int8), Err(RetypeError::NotFound("f".to_owned())));
    let wrong = retype(&mut source, "x", ElemType::Complex64);
    assert!(matches!(wrong, Err(RetypeError::Cast { from: ElemType::Complex64, .. })));
}

/// Version 3 of the format has no initializers that are not inputs, in the main graph.
#[test]
fn old_versions_of_the_format_have_their_constants_as_inputs() {
    let text = r#"<ir_version: 3, opset_import: ["": 14]>
g (float[2,4] x, bool b, float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}) => (float[2,2] y, float[2,2] z) {
    y = MatMul (x, w)
    z = If (b) <
        then_branch = t () => (float[2,2] p) {
            v = Constant <value = float[4,2] {1, -2, 3, -4, 5, -6, 7, -8}> ()
            p = MatMul (x, v)
        },
        else_branch = e () => (float[2,2] q) { q = Identity (y) }
    >
}"#;
    let source = model(text);
    let mut weights = source.clone();
    let report = quantize_weights(&mut weights, ElemType::Int8, &WeightOptions::default()).unwrap();
    assert_eq!(report.weights.len(), 2);
    let mut dynamic = source.clone();
    let report = quantize_dynamic(&mut dynamic, ElemType::Int8, &DynamicOptions::default()).unwrap();
    assert!(!report.weights.is_empty());
    for result in [&weights, &dynamic] {
        result.verify().unwrap();
        assert_is_valid(result);
        let text = text_of(result);
        assert!(!text.contains("float[4,2] w ="), "{text}");
        for output in measure(&source, result, &MeasureOptions::default()).unwrap() {
            assert!(output.snr > Some(30.0), "{output:?}\n{text}");
        }
    }
}

/// Why the weight of a model stays.
fn staying(text: &str, to: ElemType, granularity: Granularity) -> Vec<NoScale> {
    let mut result = model(text);
    let options = WeightOptions::default().with_granularity(granularity);
    let report = quantize_weights(&mut result, to, &options).unwrap();
    assert_is_valid(&result);
    assert_eq!(report.weights.len() + report.stay.len(), 1, "{text}");
    report.stay.into_iter().map(|row| row.1).collect()
}

const GRANULARITIES: [Granularity; 3] = [Granularity::Tensor, Granularity::Channel, Granularity::Block(2)];

/// onnxruntime reads 2-bit weights as if each column began a byte.
#[test]
fn columns_of_two_bits_are_multiples_of_four() {
    for (nodes, x, w, stays) in [
        ("y = MatMul (x, w)", "2,4", "4,2", true),
        ("y = MatMul (x, w)", "2,2", "2,4", false),
        ("y = MatMul (w, x)", "2,4", "4,2", false),
        ("y = MatMul (x, w)", "1,2,4", "1,4,2", false),
        ("y = Gemm (x, w)", "2,4", "4,2", true),
        ("y = Gemm <transB = 1> (x, w)", "2,2", "4,2", false),
    ] {
        let dims = if x.len() > 3 { "L,M,N" } else { "M,N" };
        let text = format!(
            r#"<ir_version: 13, opset_import: ["": 25]> g (float[{x}] x) => (float[{dims}] y)
            <float[{w}] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}}> {{ {nodes} }}"#
        );
        for granularity in GRANULARITIES {
            for to in [ElemType::Int2, ElemType::Uint2] {
                let wanted: &[NoScale] = if stays { &[NoScale::Columns] } else { &[] };
                assert_eq!(staying(&text, to, granularity), wanted, "{to} {granularity:?} {text}");
            }
            assert!(staying(&text, ElemType::Int4, granularity).is_empty());
        }
    }
}

/// onnxruntime multiplies two quantized operands with one scale for each, or with those of the columns of a matrix.
#[test]
fn scales_next_to_a_quantized_operand_are_those_of_a_quantized_product() {
    let (never, blocks, all) = ([false; 3], [false, false, true], [false, true, true]);
    for (nodes, x, w, stays) in [
        ("y = MatMul (d, w)", "2,4", "4,2", blocks),
        ("y = MatMul (w, d)", "2,4", "4,2", all),
        ("y = MatMul (d, w)", "1,2,4", "1,4,2", all),
        ("t = Transpose (d) i = Identity (t) y = MatMul (i, w)", "4,2", "4,2", blocks),
        ("t = Tanh (d) y = MatMul (w, t)", "2,4", "4,2", never),
        ("y = MatMul (x, w)", "2,4", "4,2", never),
        ("y = Gemm (d, w)", "2,4", "4,2", never),
        ("y = Conv (d, w)", "1,2,4,4", "2,2,2,1", blocks),
    ] {
        let dims = ["M", "N", "O", "P"];
        let dims = dims[..x.split(',').count()].join(",");
        let text = format!(
            r#"<ir_version: 11, opset_import: ["": 23]> g (float[{x}] x) => (float[{dims}] y)
            <float[{w}] w = {{0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}}, float s = {{0.01}}, uint8 z = {{128}}> {{
                q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) {nodes}
            }}"#
        );
        for (granularity, stays) in GRANULARITIES.into_iter().zip(stays) {
            for to in [ElemType::Int8, ElemType::Uint8] {
                let wanted: &[NoScale] = if stays { &[NoScale::Operand] } else { &[] };
                assert_eq!(staying(&text, to, granularity), wanted, "{to} {granularity:?} {text}");
            }
            assert!(staying(&text, ElemType::Int4, granularity).is_empty());
        }
    }
}
