"""How gradients pass through operators, as `onnx.defs` states it.

The specification says it of the newer versions of most operators. Nothing else of this package reads it.
"""

from __future__ import annotations

# The inputs and the outputs: differentiable, not, or unknown; and the operators with the first version of which that is known.
_CATEGORIES = {
    ("D", "D"): (
        "Abs-13 Acos-7 Acosh-9 Asin-7 Asinh-9 Atan-7 Atanh-9 AveragePool-11 Cast-13 Celu-12 Concat-13 Cos-7 Cosh-9 "
        "DepthToSpace-13 Det-11 Einsum-12 Elu-6 Erf-13 Exp-13 Flatten-13 Gelu-20 GlobalAveragePool-1 GlobalLpPool-2 "
        "GlobalMaxPool-1 HardSigmoid-6 HardSwish-14 Hardmax-13 Identity-13 LRN-13 LeakyRelu-6 Log-13 LogSoftmax-13 "
        "LpNormalization-1 LpPool-11 Max-13 Mean-13 MeanVarianceNormalization-13 Min-13 Mish-18 Neg-13 Reciprocal-13 "
        "ReduceL1-13 ReduceL2-13 ReduceLogSum-13 ReduceLogSumExp-13 ReduceMax-13 ReduceMean-13 ReduceMin-13 ReduceProd-13 "
        "ReduceSumSquare-13 Relu-13 Selu-6 Shrink-9 Sigmoid-13 Sin-7 Sinh-9 Softmax-13 Softplus-1 Softsign-1 SpaceToDepth-13 "
        "Sqrt-13 Sum-13 Swish-24 Tan-7 Tanh-13 ThresholdedRelu-10 Transpose-13"
    ),
    ("D", "DN"): "MaxPool-12",
    ("DD", "D"): "Add-13 Div-13 MatMul-13 Mul-13 PRelu-9 Pow-13 Sub-13 SwiGLU-28",
    ("DDD", "D"): "Conv-11 ConvTranspose-11 Gemm-13 GroupNormalization-18 InstanceNormalization-6",
    ("DDDDD", "DNN"): "BatchNormalization-14",
    ("DDDDD", "DNNNN"): "BatchNormalization-9",
    ("DDDDNN", "DD"): "GRU-14 RNN-14",
    ("DDDDNNND", "DDD"): "LSTM-14",
    ("DDDN", "DN"): "CausalConvWithState-27",
    ("DDDNDD", "DN"): "LinearAttention-27",
    ("DDN", "D"): "TensorScatter-24",
    ("DN", "D"): (
        "CastLike-15 CenterCropPad-18 Compress-11 CumProd-26 CumSum-11 Expand-13 Gather-13 GatherElements-13 GatherND-13 "
        "GridSample-16 MaxRoiPool-1 Mod-13 ReduceL1-18 ReduceL2-18 ReduceLogSum-18 ReduceLogSumExp-18 ReduceMax-18 "
        "ReduceMean-18 ReduceMin-18 ReduceProd-18 ReduceSum-13 ReduceSumSquare-18 Reshape-13 Split-13 Squeeze-13 Tile-13 "
        "Trilu-14 Unsqueeze-13"
    ),
    ("DN", "DN"): "TopK-11",
    ("DND", "D"): "Scatter-11 ScatterElements-13 ScatterND-13",
    ("DNN", "D"): "Clip-13 Col2Im-18 MaxUnpool-11 NegativeLogLikelihoodLoss-13 Pad-13",
    ("DNN", "DD"): "SoftmaxCrossEntropyLoss-13",
    ("DNN", "DN"): "Dropout-13",
    ("DNNN", "D"): "Pad-18 Resize-13",
    ("DNNNN", "D"): "Slice-13",
    ("N", "N"): (
        "ArgMax-13 ArgMin-13 BitCast-26 BitwiseNot-18 BlackmanWindow-17 Ceil-13 Floor-13 HammingWindow-17 HannWindow-17 "
        "ImageDecoder-20 IsInf-10 IsNaN-13 NonZero-13 Not-1 RegexFullMatch-20 Round-11 Shape-13 Sign-13 Size-13 "
        "TfIdfVectorizer-9"
    ),
    ("N", "NN"): "StringSplit-20",
    ("N", "NNNN"): "Unique-11",
    ("NDD", "D"): "Where-9",
    ("NN", "D"): "AffineGrid-20",
    ("NN", "N"): (
        "And-7 BitShift-11 BitwiseAnd-18 BitwiseOr-18 BitwiseXor-18 Equal-13 Greater-13 GreaterOrEqual-12 Less-13 "
        "LessOrEqual-12 Or-7 StringConcat-20 Xor-7"
    ),
    ("NN", "U"): "DFT-17",
    ("NNN", "N"): "OneHot-11",
    ("NNN", "U"): "DFT-20",
    ("NNNN", "N"): "MatMulInteger-10 STFT-17",
    ("NNNNN", "N"): "MelWeightMatrix-17",
    ("NNNNNNNN", "N"): "QLinearMatMul-10",
}


def _by_operator() -> dict[str, list[tuple[int, tuple[str, str]]]]:
    found: dict[str, list[tuple[int, tuple[str, str]]]] = {}
    for categories, operators in _CATEGORIES.items():
        for operator in operators.split():
            name, version = operator.split("-")
            found.setdefault(name, []).append((int(version), categories))
    return {name: sorted(versions) for name, versions in found.items()}


_BY_OPERATOR = _by_operator()


def categories(domain: str, name: str, version: int) -> tuple[str, str]:
    """The letter of each input and output of a schema; empty if nothing is known."""
    known = ("", "")
    for since, letters in _BY_OPERATOR.get(name, []) if domain == "" else []:
        if since <= version:
            known = letters
    return known
