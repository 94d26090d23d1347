//! Operators of onnxruntime.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use onnx_shape_infer::{InferOptions, contrib, infer};
use onnx_text::{ParseOptions, parse_model};

/// What the first output of each node is, as text.
fn shapes(text: &str) -> Vec<String> {
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let registry = contrib::registry();
    let inference = infer(&model, &InferOptions::default().with_registry(&registry));
    assert_eq!(inference.findings().diagnostics().len(), 0, "{:?}", inference.findings().diagnostics());
    let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
    let outputs = nodes.into_iter().flat_map(|node| model.node(node).outputs().to_vec()).flatten();
    outputs
        .map(|value| {
            let elem = inference.elem(value).map_or("?", |elem| elem.name());
            let dims = inference.shape(value).map(|dims| {
                let texts: Vec<String> =
                    dims.iter().map(|&dim| inference.display(&model, dim).to_string()).collect();
                texts.join(",")
            });
            format!("{elem}[{}]", dims.unwrap_or_else(|| "*".to_owned()))
        })
        .collect()
}

#[test]
fn fused_operators() {
    let found = shapes(
        r#"<ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (float[B, 12, S, 8] q, float[B, 12, T, 8] k, float[B, S, 64] x, float[64] bias, float[M, 64] a, float[64, 10] b,
           float[R, 3, B, 8] rows, float[3, B, 8, C] columns, float[V, 64] square, float[N, 3, 32, 32] image, float[16, 3, 3, 3] kernel, float[16] offset) => (float[] o)
        {
            scores = com.microsoft.FusedMatMul <transB = 1, alpha = 0.5> (q, k)
            batched = com.microsoft.FusedMatMul <transBatchA = 1> (rows, columns)
            vector = com.microsoft.FusedMatMul <transA = 1, transB = 1> (bias, square)
            gelu = com.microsoft.BiasGelu (x, bias)
            fast = com.microsoft.FastGelu (x)
            gemm = com.microsoft.FusedGemm <activation = "Tanh"> (a, b)
            conv = com.microsoft.FusedConv <activation = "Relu", strides = [2, 2], pads = [1, 1, 1, 1]> (image, kernel, offset)
            o = Relu (conv)
        }"#,
    );
    assert_eq!(
        found,
        [
            "float[B,12,S,T]",
            "float[3,B,R,C]",
            "float[V]",
            "float[B,S,64]",
            "float[B,S,64]",
            "float[M,10]",
            "float[N,16,16,16]",
            "float[N,16,16,16]",
        ]
    );
}

#[test]
fn parts_of_transformers() {
    let found = shapes(
        r#"<ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (float[B, S, 48] x, float[48] gamma, int32[B, S] ids, float16[500, 32] words, float[48, 144] w, float[144] bias)
            => (float[] o)
        {
            o, mean, inv, sum = com.microsoft.SkipLayerNormalization (x, x, gamma, gamma)
            e, mask = com.microsoft.EmbedLayerNormalization (ids, , words, words, , gamma, gamma)
            attended = com.microsoft.Attention <num_heads = 12> (x, w, bias)
        }"#,
    );
    assert_eq!(
        found,
        [
            "float[B,S,48]",
            "float[*]",
            "float[*]",
            "float[B,S,48]",
            "float16[B,S,32]",
            "int32[B]",
            "float[B,S,48]",
        ]
    );
}

#[test]
fn quantized_operators() {
    let found = shapes(
        r#"<ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (uint8[N, C, 7, 7] x, float s, uint8 z, uint8[M, 64] a, uint8[10, 64] b, float[T, B, 16] seq, int8[2, 16, 96] w,
           int8[2, 24, 96] r) => (float[] o)
        {
            sum = com.microsoft.QLinearAdd (x, s, z, x, s, z, s, z)
            pool = com.microsoft.QLinearGlobalAveragePool (x, s, z, s, z)
            last = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (x, s, z, s, z)
            soft = com.microsoft.QLinearSoftmax (x, s, z, s, z)
            gemm = com.microsoft.QGemm <transB = 1> (a, s, z, b, s, z, , s, z)
            floats = com.microsoft.QGemm <transB = 1> (a, s, z, b, s, z)
            y, h, c = com.microsoft.DynamicQuantizeLSTM <hidden_size = 24> (seq, w, r)
            o = Relu (y)
        }"#,
    );
    assert_eq!(
        found,
        [
            "uint8[N,C,7,7]",
            "uint8[N,C,1,1]",
            "uint8[N,1,1,7]",
            "uint8[N,C,7,7]",
            "uint8[M,10]",
            "float[M,10]",
            "float[T,2,B,24]",
            "float[2,B,24]",
            "float[2,B,24]",
            "float[T,2,B,24]",
        ]
    );
}

#[test]
fn vectors_are_not_transposed() {
    let found = shapes(
        r#"<ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (float[K, M] a, float[K] k, float[B, K, M] stack, float[M, K] b) => (float[] o)
        {
            left = com.microsoft.FusedMatMul <transA = 1> (a, k)
            right = com.microsoft.FusedMatMul <transB = 1> (k, b)
            both = com.microsoft.FusedMatMul <transA = 1, transB = 1> (k, b)
            dot = com.microsoft.FusedMatMul <transA = 1, transB = 1> (k, k)
            o = com.microsoft.FusedMatMul <transA = 1, transB = 1> (stack, k)
        }"#,
    );
    assert_eq!(found, ["float[M]", "float[M]", "float[M]", "float[]", "float[B,M]"]);
}
