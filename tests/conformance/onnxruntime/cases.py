"""The cases that `record.py` records: one node each, with dimension variables and random attributes.

`case(op, inputs, outputs, **attributes)`; the inputs are `name:type[dims]` in order, `-` is an absent one. An output
can have a type, where the schema leaves it open. Further words:
`domain`, `version`, `opset`; `sizes`, the base size of variables; `constants`, inputs that are initializers; `data`,
functions from a shape and the sizes to values for inputs that are not arbitrary; `least`, the sizes below which nothing is
asked of an operator without a kernel.
"""

import numpy as np

CASES = []
SPACE = {"H": 7, "W": 9}
# Where no window fits a convolution has no run, but onnxruntime infers sizes, rounding negative numbers towards zero.
LEAST = {"H": 5, "W": 5}
MS, NCHWC, NHWC = "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"
FLOATS = ("float", "float16", "double", "bfloat16")


def case(op, inputs, outputs="y", domain=MS, version=1, opset=20, sizes=None, constants=None, data=None, least=None, **attrs):
    CASES.append({
        "op": op, "inputs": inputs, "outputs": outputs, "domain": domain, "version": version, "opset": opset,
        "sizes": sizes or {}, "constants": constants or {}, "data": data or {},
        "least": least or (LEAST if sizes is SPACE else {}), "attrs": attrs,
    })


def legacy(op, inputs, outputs="y", opset=7, **words):
    case(op, inputs, outputs, domain="", opset=opset, **words)


def zeros(shape, _):
    return np.zeros(shape)


def ones(shape, _):
    return np.ones(shape)


def steps(shape, _):
    return np.arange(int(np.prod(shape)))


# --- elementwise ------------------------------------------------------------------------------------------------------

for op, attrs in (
    ("Affine", {}), ("ParametricSoftplus", {"alpha": 1.0, "beta": 1.0}), ("ScaledTanh", {"alpha": 1.0, "beta": 1.0}),
    ("ThresholdedRelu", {}),
):
    for dims in ("A,B", "", "A,3,B"):
        legacy(op, f"x:float[{dims}]", **attrs)
legacy("Scale", "x:float[A,B]", scale=2.0)
legacy("ImageScaler", "x:float[N,3,H,W]", bias=[0.1, 0.2, 0.3])
legacy("MeanVarianceNormalization", "x:float[N,C,H,W]")
legacy("Crop", "x:float[N,C,H,W]", border=[1, 0, 2, 1], sizes={"H": 5, "W": 6})
legacy("Crop", "x:float[N,C,H,W]", border=[1, 1, 1, 1], scale=[2, 3], sizes={"H": 5, "W": 6})
legacy("DynamicSlice", "x:float[A,B] s:int64[1] e:int64[1] a:int64[1]", constants={"s": [1], "e": [9], "a": [1]})
legacy("DynamicSlice", "x:float[A,B] s:int64[2] e:int64[2]", constants={"s": [0, 1], "e": [-1, 1000]})
legacy("GivenTensorFill", "", shape=[2, 3], values=[1.0] * 6)
legacy("GRUUnit", "h:float[1,N,D] g:float[1,N,G] l:float[N] t:float[1]")
for op in ("MemcpyFromHost", "MemcpyToHost"):
    case(op, "x:float[A,B]", domain="")
for elem in FLOATS:
    case("LayerNormalization", f"x:{elem}[A,B,8] s:{elem}[8] b:{elem}[8]", "y,mean,dev", domain="", opset=12)
    case("SimplifiedLayerNormalization", f"x:{elem}[A,B,8] s:{elem}[8]", "y,dev", domain="")
    case("BiasGelu", f"x:{elem}[A,B,8] b:{elem}[8]")
    case("FastGelu", f"x:{elem}[A,B,8] b:{elem}[8]")
    case("Gelu", f"x:{elem}[A,B]")
    case("QuickGelu", f"x:{elem}[A,B]", alpha=1.5)
    if elem in ("double", "bfloat16"):
        continue
    case("SkipLayerNormalization", f"x:{elem}[A,B,8] k:{elem}[A,B,8] g:{elem}[8] b:{elem}[8] c:{elem}[8]", "y,,,sum")
    case("SkipSimplifiedLayerNormalization", f"x:{elem}[A,B,8] k:{elem}[A,B,8] g:{elem}[8]", "y,,,sum")
case("LayerNormalization", "x:float[A,B,C] s:float[B,C]", "y,mean", domain="", opset=12, axis=1)
case("LayerNormalization", "x:float[A,B,C] s:float[C]", "y,mean,dev", domain="", opset=12, axis=-1)
case("SimplifiedLayerNormalization", "x:float[A,B,C] s:float[C]", "y,dev", domain="")
case("SimplifiedLayerNormalization", "x:float16[A,B,C] s:float[C]", "y", domain="")
case("FastGelu", "x:float[A,B]")
case("SkipLayerNormalization", "x:float[A,B,8] k:float[1,B,8] g:float[8]", "y,mean,dev,sum")
case("SkipLayerNormalization", "x:float[A,B,8] k:float[B,8] g:float[8]", "y")
case("SkipLayerNormalization", "x:float[T,8] k:float[T,8] g:float[8]", "y,,,sum")
case("SkipSimplifiedLayerNormalization", "x:float[T,C] k:float[T,C] g:float[C]", "y,,,sum")
case("BiasSoftmax", "x:float[N,H,S,T] b:float[N,1,1,T]", axis=3, is_inner_broadcast=1)
case("BiasSoftmax", "x:float[N,H,S,T] b:float[1,1,S,T]", axis=2, is_inner_broadcast=0)
case("BiasAdd", "x:float[N,S,C] b:float[C] k:float[N,S,C]")
case("BiasSplitGelu", "x:float[N,S,D] b:float[D]", sizes={"D": 8})
for op in ("ComplexMul", "ComplexMulConj"):
    case(op, "a:float[A,B,2] b:float[A,B,2]")
    case(op, "a:float[A,B,2] b:float[1,B,2]")
case("GatedAdd", "x:float[A,B,C] z:float[A,B,C] g:float[A,B,1]")
case("SampleOp", "x:float[A,B]")
case("ScaledSiLU", "x:float[A,B]")
case("ScaledSiLU", "x:float16[A,B] s:float16[]")
case("SwiGLU", "g:float[A,B] u:float[A,B]")
case("SwiGLU", "g:float[A,B]", sizes={"B": 6})
for elem in ("float", "double"):
    case("BiasDropout", f"x:{elem}[A,B,C] b:{elem}[C] r:{elem}[A,B,C]", "y,mask")
    case("BitmaskDropout", f"x:{elem}[A,B,C]", "y,mask")
    case("BitmaskBiasDropout", f"x:{elem}[A,B,C] b:{elem}[C] r:{elem}[A,B,C]", "y,mask")
case("IsAllFinite", "a:float[A,B] b:float[C]")
case("Inverse", "x:float[B,3,3]", data={"x": lambda s, _: np.broadcast_to(np.eye(3), s)})
case("Inverse", "x:double[3,3]", data={"x": lambda s, _: np.eye(3)})

# --- products ---------------------------------------------------------------------------------------------------------

for elem in ("float", "double"):
    case("FusedMatMul", f"a:{elem}[B,M,K] b:{elem}[B,K,N]")
    case("FusedMatMul", f"a:{elem}[B,K,M] b:{elem}[N,K]", transA=1, transB=1, alpha=0.5)
for op in ("FusedMatMul", "TransposeMatMul"):
    case(op, "a:float[K] b:float[N,K]", transA=1, transB=1)
    case(op, "a:float[K,M] b:float[K]", transA=1, transB=1)
    case(op, "a:float[K] b:float[K]", transA=1)
    case(op, "a:float[B,1,K,M] b:float[C,K,N]", transA=1)
    case(op, "a:float[K] b:float[B,N,K]", transB=1)
case("FusedMatMul", "a:float[M,B,K] b:float[B,K,N]", transBatchA=1)
case("FusedMatMul", "a:float[K,B,C,M] b:float[B,C,K,N]", transBatchA=1, transA=1)
case("FusedMatMul", "a:float[B,C,M,K] b:float[K,B,C,N]", transBatchB=1)
case("FusedMatMul", "a:float[B,C,M,K] b:float[N,B,C,K]", transBatchB=1, transB=1)
case("FusedMatMul", "a:float[M,B,K] b:float[N,B,K]", transBatchA=1, transBatchB=1, transB=1)
case("FusedMatMulActivation", "a:float[B,M,K] b:float[B,K,N]", activation="Relu")
case("FusedMatMulActivation", "a:float[B,M,K] b:float[N,K]", activation="Relu", transB=1)
for attrs in ({}, {"transA": 1}, {"transB": 1}):
    a, b = ("K,M" if attrs.get("transA") else "M,K"), ("N,K" if attrs.get("transB") else "K,N")
    case("FusedGemm", f"a:float[{a}] b:float[{b}] c:float[N]", activation="Relu", **attrs)
    case("GemmFloat8", f"a:float[{a}] b:float[{b}]", **attrs)
    quantized = f"a:uint8[{a}] as:float[] az:uint8[] b:uint8[{b}] bs:float[] bz:uint8[] c:int32[N]"
    case("QGemm", f"{quantized} ys:float[] yz:uint8[]", **attrs)
    case("QGemm", quantized, **attrs)
case("GemmFloat8", "a:float[M,K] b:float[K,N]", dtype=10)
case("GemmFastGelu", "a:float[B,M,K] w:float[K,N] b:float[N]")
case("DynamicQuantizeMatMul", "a:float[B,M,K] b:uint8[K,N] s:float[] z:uint8[]")
case("DynamicQuantizeMatMul", "a:float[M,K] b:int8[B,K,N] s:float[] z:int8[] c:float[N]")
case("DynamicQuantizeMatMul", "a:float[K] b:int8[K,N] s:float[]")
case("MatMulIntegerToFloat", "a:uint8[B,M,K] b:uint8[K,N] as:float[] bs:float[] az:uint8[] bz:uint8[]")
case("MatMulIntegerToFloat", "a:int8[M,K] b:int8[K,N] as:float[] bs:float[N] - - c:float[N]")
case("MatMulInteger16", "a:int16[M,K] b:int16[K,N]")
case("CDist", "a:float[M,K] b:float[N,K]", metric="euclidean")
case("CDist", "a:double[M,K] b:double[N,K]", metric="sqeuclidean")


def blocks(size, block):
    return -(-size // block)


for bits, dims in ((4, "B,S,48"), (4, "S,48"), (8, "B,S,48"), (2, "S,48")):
    shape = f"[5,{blocks(48, 16)},{16 * bits // 8}]"
    case("MatMulNBits", f"a:float[{dims}] b:uint8{shape} s:float[5,3]", K=48, N=5, bits=bits, block_size=16,
         constants={"b": np.ones((5, 3, 2 * bits)), "s": np.ones((5, 3))})
case("MatMulNBits", "a:float[48] b:uint8[5,3,8] s:float[5,3]", K=48, N=5, bits=4, block_size=16,
     constants={"b": np.ones((5, 3, 8)), "s": np.ones((5, 3))})
case("MatMulNBitsQLoRA", "x:float[B,S,64] w:uint8[5,2,16] s:float[5,2] a:uint8[4,2,32] as:float[4,2] b:uint8[5,1,32] bs:float[5,1]",
     K=64, N=5)
case("MatMulNBitsMlp", "a:float[B,S,64] k:float[B,S,64] n:float[64] g:uint8[5,2,16] gs:float[5,2] - u:uint8[5,2,16] us:float[5,2]",
     "y,sum", K=64, N=5, block_size=32, activation="silu")
case("MatMulNBitsQkv", "a:float[B,S,64] k:float[B,S,64] n:float[64] q:uint8[8,2,16] qs:float[8,2] - k2:uint8[4,2,16] ks:float[4,2] - v:uint8[4,2,16] vs:float[4,2]",
     "q_out,k_out,v_out,sum", K=64, Nq=8, Nkv=4, block_size=32)
case("MatMulBnb4", "a:float[B,S,32] b:uint8[80] m:float[10]", K=32, N=5, block_size=16, quant_type=1,
     constants={"b": np.ones(80), "m": np.ones(10)})
case("MatMulBnb4", "a:float[B,S,5] b:uint8[80] m:float[10]", K=32, N=5, block_size=16, quant_type=1, transB=0)
case("MatMulFpQ4", "a:float[M,32] b:uint8[P] s:int64[2]", constants={"s": [32, 4]}, sizes={"P": 128})
case("MatMulPacked", "a:bfloat16[B,S,32] b:uint8[5,R]", K=32, N=5, packed_type=1)
case("MatMulBlockQuantizedFp4Weight", "a:float16[B,S,32] b:uint8[5,16] s:uint8[5,2] g:float[]")
case("MatMulBlockQuantizedFp8Weight", "a:float16[B,S,32] b:float8e4m3fn[5,32] s:float[5,1]")
case("RouterGateUpProj", "x:bfloat16[B,K] w:bfloat16[K,10]", "r,a", router_size=4)

# --- attention --------------------------------------------------------------------------------------------------------

case("Attention", "x:float[B,S,16] w:float[16,48] b:float[48]", num_heads=4)
case("Attention", "x:float[B,S,16] w:float[16,48] b:float[48]", "y,p", num_heads=4)
case("Attention", "x:float[B,S,D] w:float[D,48] b:float[48]", "y,p", num_heads=2, unidirectional=1)
case("Attention", "x:float[B,S,16] w:float[16,48] b:float[48] - p:float[2,B,4,P,4]", "y,q", num_heads=4)
case("Attention", "x:float[B,S,16] w:float[16,40] b:float[40]", num_heads=4, qkv_hidden_sizes=[16, 16, 8])
case("Attention", "x:float[B,S,16] w:float[16,48] b:float[48] m:int32[B,S]", num_heads=4, data={"m": ones})
quantized = "x:uint8[B,S,16] w:int8[16,48] b:float[48] xs:float[] ws:float[] - xz:uint8[] wz:int8[]"
case("QAttention", quantized, num_heads=4)
case("QAttention", quantized, "y,p", num_heads=4, unidirectional=1)
case("QAttention", f"{quantized} p:float[2,B,4,P,4]", "y,q", num_heads=4, unidirectional=1)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,L,16] v:float[B,L,16]", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,L,16] v:float[B,L,8]", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,L,16] v:float[B,L,16]", "y,pk,pv", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,L,16] v:float[B,L,16] - - - k0:float[B,4,P,4] v0:float[B,4,P,4]", "y,pk,pv", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,L,16] v:float[B,L,16] b:float[48] - - k0:float[B,4,P,4] v0:float[B,4,P,4]", "y,pk,pv,qk:float", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,4,L,4] v:float[B,4,L,4]", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,L,4,2,4]", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,4,3,4]", num_heads=4)
case("MultiHeadAttention", "q:float[B,S,16] k:float[B,L,16] v:float[B,L,16]", "y,pk,pv,qk:float", num_heads=2)


def last(shape, sizes):
    return np.full(shape, sizes.get("S", 1) + sizes.get("P", 0) - 1)


def total(shape, sizes):
    return np.full(shape, sizes.get("S", 1) + sizes.get("P", 0))


LENGTHS = {"l": last, "t": total}
for key in ("k:float[B,S,16] v:float[B,S,16]", "- -"):
    query = "q:float[B,S,32]" if key != "- -" else "q:float[B,S,64]"
    case("GroupQueryAttention", f"{query} {key} - - l:int32[B] t:int32[]", "y,pk,pv", num_heads=4, kv_num_heads=2, data=LENGTHS)
    case("GroupQueryAttention", f"{query} {key} k0:float[B,2,P,8] v0:float[B,2,P,8] l:int32[B] t:int32[]", "y,pk,pv",
         num_heads=4, kv_num_heads=2, data=LENGTHS, sizes={"S": 1})
case("GroupQueryAttention", "q:float[B,3,32] k:float[B,3,16] v:float[B,3,16] - - l:int32[B] t:int32[]", "y,pk,pv",
     num_heads=4, kv_num_heads=2, constants={"t": 3}, data={"l": lambda s, _: np.full(s, 2)})
case("GroupQueryAttention", "q:float[B,1,32] k:float[B,1,16] v:float[B,1,16] k0:float[B,2,7,8] v0:float[B,2,7,8] l:int32[B] t:int32[]", "y,pk,pv",
     num_heads=4, kv_num_heads=2, constants={"t": 5}, data={"l": lambda s, _: np.full(s, 4)})
case("GroupQueryAttention", "q:float[B,1,32] k:float[B,1,16] v:float[B,1,16] k0:float[B,2,P,8] v0:float[B,2,P,8] l:int32[B] t:int32[]", "y,pk,pv",
     num_heads=4, kv_num_heads=2, constants={"t": 5}, data={"l": lambda s, _: np.full(s, 4)})
case("SparseAttention", "q:float[B,S,32] k:float[B,S,16] v:float[B,S,16] k0:float[B,2,32,8] v0:float[B,2,32,8] r:int32[1,3] c:int32[1,3] t:int32[] l:int32[B]", "y,pk,pv",
     num_heads=4, kv_num_heads=2, sparse_block_size=16, data={"t": total, "l": total, "r": lambda s, _: [[0, 1, 3]], "c": lambda s, _: [[0, 0, 1]]})
case("SparseAttention", "q:float[B,S,64] - - k0:float[B,2,32,8] v0:float[B,2,32,8] r:int32[1,3] c:int32[1,3] t:int32[] l:int32[B]", "y,pk,pv",
     num_heads=4, kv_num_heads=2, sparse_block_size=16, data={"t": total, "l": total, "r": lambda s, _: [[0, 1, 3]], "c": lambda s, _: [[0, 0, 1]]})
case("PagedAttention", "q:float16[T,32] k:float16[T,16] v:float16[T,16] kc:float16[N,256,2,8] vc:float16[N,256,2,8] c:int32[B] p:int32[E] t:int32[E,X]", "y,ko,vo", num_heads=4, kv_num_heads=2)
case("PagedAttention", "q:float16[T,64] - - kc:float16[N,256,2,8] vc:float16[N,256,2,8] c:int32[B] p:int32[E] t:int32[E,X]", "y,ko,vo", num_heads=4, kv_num_heads=2)
case("SparsePagedAttention", "q:float16[T,32] k:float16[T,16] v:float16[T,16] kc:float16[N,256,2,8] vc:float16[N,256,2,8] c:int32[B] p:int32[E] t:int32[E,X] - i:int32[T,M] n:int32[T]", "y,ko,vo", num_heads=4, kv_num_heads=2)
case("DynamicSparseAttention", "q:float16[B,S,32] k:float16[B,S,16] v:float16[B,S,16] k0:float16[B,2,P,8] v0:float16[B,2,P,8] - - i:int32[R,M] n:int32[R] l:int32[B] t:int32[]", "y,pk,pv", num_heads=4, kv_num_heads=2)
case("DecoderMaskedMultiHeadAttention", "q:float[B,1,16] k:float[B,1,16] v:float[B,1,16] - - k0:float[B,4,P,4] v0:float[B,4,P,4] l:int32[1]", "y,pk,pv",
     num_heads=4, past_present_share_buffer=1, data={"l": lambda s, z: [max(z.get("P", 1) - 1, 0)]})
case("DecoderMaskedMultiHeadAttention", "q:float[B,1,16] k:float[B,4,L,4] v:float[B,4,L,4]", num_heads=4)
case("DecoderMaskedMultiHeadAttention", "q:float[B,1,16] k:float[B,1,16] v:float[B,1,16] - - k0:float[B,4,P,4] v0:float[B,4,P,4]", "y,pk,pv", num_heads=4)
case("DecoderMaskedSelfAttention", "x:float[B,1,16] w:float[16,48] b:float[48] - p:float[2,B,4,P,4] - l:int32[1]", "y,q", num_heads=4, past_present_share_buffer=1)
case("DecoderAttention", "q:float[S,B,16] k:float[L,B,16] w:float[16,16] kv:float[16,32] b:float[48] - - - s:bool[1] u:bool[1] h:bool[1] m:bool[1]", "y,kc,vc", num_heads=4)
case("LongformerAttention", "x:float[B,S,16] w:float[16,48] b:float[48] m:float[B,S] gw:float[16,48] gb:float[48] g:int32[B,S]", num_heads=4, window=2)
case("PackedAttention", "x:float[T,16] w:float[16,48] b:float[48] o:int32[B,S] c:int32[E]", num_heads=4)
case("PackedAttention", "x:float[T,16] w:float[16,40] b:float[40] o:int32[B,S] c:int32[E]", num_heads=4, qkv_hidden_sizes=[16, 16, 8])
case("PackedMultiHeadAttention", "q:float[T,16] k:float[T,16] v:float[T,8] - o:int32[B,S] c:int32[E]", num_heads=4)
case("PackedMultiHeadAttention", "q:float[T,4,3,4] - - - o:int32[B,S] c:int32[E]", num_heads=4)
case("RemovePadding", "x:float[B,S,H] n:int32[B]", "y,o,c,m")
case("RestorePadding", "x:float[T,H] o:int32[B,S]")
case("RelativePositionBias", "t:float[K,H] q:int64[1] k:int64[1]", max_distance=8, constants={"q": [5], "k": [5]}, sizes={"K": 8})
case("RelativePositionBias", "t:float[K,H] q:int64[1] k:int64[1]", max_distance=8, data={"q": lambda s, _: [4], "k": lambda s, _: [4]}, sizes={"K": 8})
case("GatedRelativePositionBias", "q:float[B,S,16] b:float[16] r:float[1,4,S,S] w:float[4,8] c:float[8] e:float[1,4,1,1]", num_heads=4)
case("GatedRelativePositionBias", "q:float[T,16] b:float[16] r:float[1,4,S,S] w:float[4,8] c:float[8] e:float[1,4,1,1] o:int32[B,S]", num_heads=4)
case("RotaryEmbedding", "x:float[B,S,16] p:int64[B,S] c:float[64,4] s:float[64,4]", data={"p": zeros}, num_heads=2)
case("RotaryEmbedding", "x:float[B,2,S,8] p:int64[1] c:float[64,4] s:float[64,4]", data={"p": zeros})
case("MRotaryEmbedding", "x:float[B,2,S,8] p:int64[3,B,S] c:float[64,4] s:float[64,4]", mrope_section=[2, 1, 1], data={"p": zeros})
case("GemmaRotaryEmbedding", "e:float[B,S,D] q:float16[B,N,S,D] qr:float16[B,N,S,D] k:float16[B,N,S,D] kr:float16[B,N,S,D]", "a,b")
case("RMSNormRotary", "x:float16[B,S,4,8] s:float[8] p:int64[1] c:float[16,2] n:float[16,2]", "y,f", rotary_embedding_dim=4)
case("RMSNormRotary", "x:bfloat16[B,S,4,8] s:float[6] p:int64[1] c:float[16,2] n:float[16,2]", "y", rotary_embedding_dim=4, input_width=6, flatten_batch=1)
case("QOrderedAttention", "x:int8[B,S,16] " + " ".join(f"s{i}:float[]" for i in range(4)) + " q:int8[16,16] k:int8[16,16] v:int8[16,16] " + " ".join(f"t{i}:float[]" for i in range(3)) + " qb:float[16] kb:float[16] vb:float[16] - - u:float[]",
     num_heads=4, order_input=1, order_output=1, order_weight=0)
case("QOrderedLongformerAttention", "x:int8[B,S,16] a:float[] w:int8[16,48] c:float[] b:float[48] d:float[] e:float[] m:float16[B,S] gw:int8[16,48] f:float[] gb:float[48] h:float[] g:int32[B,S] o:float[]",
     num_heads=4, window=2, order_input=1, order_output=1, order_weight=0, order_global_weight=0)
for rule, further in (("linear", ""), ("gated", " - g:float[B,T,6]"), ("delta", " - - b:float[B,T,2]"), ("gated_delta", " - g:float[B,T,2] b:float[B,T,2]")):
    case("LinearAttention", f"q:float[B,T,12] k:float[B,T,6] v:float[B,T,10]{further}", "y,s", q_num_heads=4, kv_num_heads=2, update_rule=rule)
case("LinearAttention", "q:float[B,T,6] k:float[B,T,12] v:float[B,T,20] s0:float[B,4,3,5]", "y,s", q_num_heads=2, kv_num_heads=4, update_rule="linear")
case("LinearAttentionGate", "a:float[B,T,H] d:float[H] s:float[H] b:float[B,T,H]", "y,z")
case("CausalConvWithState", "x:float[B,C,L] w:float[C,1,4]", "y,s")
case("CausalConvWithState", "x:float[B,C,L] w:float[C,1,K] b:float[C]", "y,s", activation="silu", dilation=2)
case("CausalConvWithState", "x:float[B,C,L] w:float[C,1,4] b:float[C] s0:float[B,C,3]", "y,s")
case("CausalConvWithState", "x:float[B,L,C] w:float[C,1,4]", "y,s", channels_last=1)
case("VarlenCausalConvWithState", "x:float[T,C] w:float[C,1,4] c:int32[E] - s0:float[B,C,3]", "y,s", data={"c": lambda s, z: np.linspace(0, z.get("T", 0), s[0]).astype(int) if s[0] else []}, sizes={"B": 2, "E": 3})
case("GatedDeltaNet", "q:float[T,2,3] k:float[T,2,3] v:float[T,4,5] - g:float[T,4] b:float[T,4] s0:float[B,4,5,3]", "y,s")
case("GatedDeltaNet", "q:float[B,S,2,3] k:float[B,S,2,3] v:float[B,S,4,5] - g:float[B,S,4] b:float[B,S,4] s0:float[B,4,5,3]", "y,s")
case("GatedDeltaNet", "q:float[T,32] - - - g:float[T,4] b:float[T,4] s0:float[B,4,5,3]", "y,s")
case("GatedDeltaNetStateReplay", "s:float[A] c:float[B] d:float[C] m:int64[11]")
case("ConvStateReplay", "s:float[A] c:float[B] d:float[C] m:int64[8]")
case("EngramGate", "k:float[B,S,M,H] q:float[B,S,M,H] v:float[B,S,H] ks:float[M,H] qs:float[M,H] c:float[M,H]", "y,n")
case("Mamba2Verify", "p:bfloat16[R,514] c:bfloat16[Z,384,3] s:float[Z,2,128,64] w:bfloat16[384,4] b:bfloat16[384] d:float[2] a:float[2] e:float[2] n:float[128] r:int32[1]", "y,cs,ss,x,o", heads=2, n_groups=1)
case("SparseAttentionIndexer", "q:float[B,S,16] k:float[B,S,4] qn:float[4] kn:float[4] c:float[64,4] s:float[64,4] m:int64[B,T] p:float[B,P,4]", "i,pk",
     policy_mode="qsa", compress_ratio=2, token_budget=4)
case("PackedSparseAttentionIndexer", "q:float16[T,16] k:float16[T,4] qn:float16[4] kn:float16[4] c:float16[64,4] s:float16[64,4] l:int32[E] p:int32[B] - - - - ks:float16[B,8,4] kb:float16[B,3,4] - sl:int32[B,2]", "i,n,a,b,,d",
     policy_mode="qsa", compress_ratio=2, token_budget=4)
case("PackedSparseAttentionIndexerMerge", "i:int32[R,C] c:int32[R] r:int32[N] s:int32[N] e:int32[N]", "a,b,c2", max_output_entries=6, policy_mode="append_range")

# --- normalization and experts ----------------------------------------------------------------------------------------

case("EmbedLayerNormalization", "i:int32[B,S] s:int32[B,S] w:float[9,8] p:float[16,8] g:float[2,8] a:float[8] b:float[8] m:int32[B,S]", "y,z,e", data={"i": zeros, "s": zeros, "m": ones})
case("EmbedLayerNormalization", "i:int32[B,S] - w:float[9,8] p:float[16,8] - a:float[8] b:float[8]", "y,z", data={"i": zeros})
case("QEmbedLayerNormalization", "i:int32[B,S] s:int32[B,S] w:uint8[9,8] p:uint8[16,8] g:uint8[2,8] a:uint8[8] b:uint8[8] m:int32[B,S] "
     + " ".join(f"s{i}:float[]" for i in range(5)) + " " + " ".join(f"z{i}:uint8[]" for i in range(5)), "y,z", data={"i": zeros, "s": zeros, "m": ones})
case("GroupNorm", "x:float[N,H,W,8] g:float[8] b:float[8]", groups=2, activation=0)
case("SkipGroupNorm", "x:float[N,H,W,8] g:float[8] b:float[8] k:float[N,H,W,8] c:float[8]", "y,s", groups=2, activation=1)
case("BranchwiseRMSNorm", "x:float[A,3,H]")
case("BranchwiseRMSNorm", "x:float[A,12]", num_branches=3)
case("GatedRMSNorm", "x:float[A,B,12] s:float[4] g:float[A,B,12]")
case("HyperConnectionPreMix", "x:float[A,B,3,H] m:float[A,B,3]")
case("HyperConnectionPreMix", "x:float[A,B,12] m:float[A,B,3]", num_branches=3)
case("HyperConnectionPostMix", "x:float[A,B,3,H] o:float[A,B,H] m:float[A,B,3]")
case("HyperConnectionPostMix", "x:float[A,B,12] o:float[A,B,4] m:float[A,B,3]", num_branches=3)
case("HyperConnectionLowRankMix", "x:bfloat16[A,B,12] n:bfloat16[12] d:bfloat16[12,5] u:bfloat16[5,12] i:bfloat16[12,3]", "y,z,s", num_branches=3)
case("MoE", "x:float[T,8] r:float[T,4] a:float[4,16,8] - b:float[4,8,16]", k=2)
case("MoE", "x:float[B,S,8] r:float[R,4] a:float[4,16,8] - b:float[4,8,16]", k=1, sizes={"B": 2, "S": 3, "R": 6})
case("QMoE", "x:float[T,32] r:float[T,4] a:uint8[4,64,16] s:float[4,64] - b:uint8[4,32,32] t:float[4,32]", k=2, swiglu_fusion=0, activation_type="silu")
case("MoEPacked", "x:bfloat16[T,32] r:float[T,4] a:uint8[4,16,18] u:uint8[4,16,18] b:uint8[4,32,9]", gate_type=1, up_type=1, down_type=1)
case("MoEGroupRouter", "l:float[T,8] b:float[8]", "y", top_k=2, n_group=2, topk_group=1)
case("MoEGroupRouter", "l:float[B,S,8] b:float[8]", "y", top_k=2)

# --- windows ----------------------------------------------------------------------------------------------------------

for attrs in ({}, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, {"dilations": [2, 1]}, {"auto_pad": "SAME_UPPER", "strides": [2, 1]}, {"auto_pad": "VALID"}):
    case("FusedConv", "x:float[N,4,H,W] w:float[6,4,3,3] b:float[6]", activation="Relu", sizes=SPACE, **attrs)
    case("NhwcFusedConv", "x:float16[N,H,W,4] w:float16[6,4,3,3] b:float16[6]", activation="Relu", sizes=SPACE, **attrs)
    case("NhwcConv", "x:float[N,H,W,4] w:float[6,4,3,3]", sizes=SPACE, **attrs)
    for last_axis in (0, 1):
        x = "N,H,W,4" if last_axis else "N,4,H,W"
        case("QLinearConv", f"x:uint8[{x}] xs:float[] xz:uint8[] w:uint8[6,4,3,3] ws:float[] wz:uint8[] ys:float[] yz:uint8[]", sizes=SPACE, channels_last=last_axis, **attrs)
    if "dilations" not in attrs:
        for last_axis in (0, 1):
            x = "N,H,W,4" if last_axis else "N,4,H,W"
            for ceil in (0, 1):
                case("QLinearAveragePool", f"x:uint8[{x}] xs:float[] xz:uint8[] ys:float[] yz:uint8[]", sizes=SPACE, kernel_shape=[3, 2], channels_last=last_axis, ceil_mode=ceil, **attrs)
        case("MaxpoolWithMask", "x:float[N,C,H,W] m:int32[N,C,H,W]", sizes=SPACE, kernel_shape=[3, 2], data={"m": ones}, **attrs)
    case("NhwcMaxPool", "x:uint8[N,H,W,C]", sizes=SPACE, kernel_shape=[3, 2], **attrs)
    case("NhwcMaxPool", "x:uint8[N,H,W,C]", sizes=SPACE, kernel_shape=[3, 2], ceil_mode=1, **attrs)
    case("Conv", "x:float[N,16,H,W] w:float[32,16,3,3] b:float[32]", domain=NCHWC, sizes=SPACE, **attrs)
    for op in ("MaxPool", "AveragePool"):
        case(op, "x:float[N,16,H,W]", domain=NCHWC, sizes=SPACE, kernel_shape=[3, 2], **attrs)
        case(op, "x:float[N,H,W,3]", domain=NHWC, version=19, sizes=SPACE, kernel_shape=[3, 2], **attrs)
    case("LpPool", "x:float[N,H,W,3]", domain=NHWC, version=18, sizes=SPACE, kernel_shape=[3, 2], **attrs)
    case("Conv", "x:float[N,H,W,4] w:float[6,4,3,3] b:float[6]", domain=NHWC, version=11, sizes=SPACE, **attrs)
    case("ConvTranspose", "x:float[N,H,W,4] w:float[4,6,3,3] b:float[6]", domain=NHWC, version=11, sizes=SPACE, **attrs)
    case("QLinearConv", "x:uint8[N,H,W,4] xs:float[] xz:uint8[] w:uint8[6,4,3,3] ws:float[] wz:uint8[] ys:float[] yz:uint8[]", domain=NHWC, version=10, sizes=SPACE, **attrs)
    case("QLinearConvTranspose", "x:uint8[N,H,W,4] xs:float[] xz:uint8[] w:uint8[4,6,3,3] ws:float[] wz:uint8[] ys:float[] yz:uint8[]", domain=NHWC, version=1, sizes=SPACE, **attrs)
    case("QLinearAveragePool", "x:uint8[N,H,W,4] xs:float[] xz:uint8[] ys:float[] yz:uint8[]", domain=NHWC, version=1, sizes=SPACE, kernel_shape=[3, 2], **{k: v for k, v in attrs.items() if k != "dilations"})
case("QLinearConv", "x:uint8[N,4,H,W] xs:float[] xz:uint8[] w:uint8[6,2,3,3] ws:float[] wz:uint8[] ys:float[] yz:uint8[] b:int32[6]", sizes=SPACE, group=2)
case("FusedConv", "x:float[N,4,L] w:float[6,2,3]", activation="Relu", group=2, sizes={"L": 8})
case("ConvTransposeWithDynamicPads", "x:float[N,4,H,W] w:float[4,3,3,3] p:int64[4]", constants={"p": [1, 1, 1, 1]}, sizes=SPACE, strides=[2, 2])
case("ConvTransposeWithDynamicPads", "x:float[N,4,H,W] w:float[4,3,3,3] p:int64[4]", data={"p": ones}, sizes=SPACE, output_padding=[1, 0], strides=[2, 2])
case("ConvTransposeWithDynamicPads", "x:float[N,4,H,W] w:float[4,3,3,3]", sizes=SPACE, group=2)
for last_axis in (0, 1):
    case("QLinearGlobalAveragePool", "x:uint8[N,A,B,C] xs:float[] xz:uint8[] ys:float[] yz:uint8[]", channels_last=last_axis)
for op in ("GlobalAveragePool", "GlobalMaxPool"):
    case(op, "x:float[N,16,H,W]", domain=NCHWC)
    case(op, "x:float[N,H,W,3]", domain=NHWC)
case("GlobalLpPool", "x:float[N,H,W,3]", domain=NHWC, version=2)
case("ReorderInput", "x:float[N,16,H,W]", domain=NCHWC)
case("ReorderInput", "x:float[N,12,H,W]", domain=NCHWC)
case("ReorderInput", "x:float[N,H,W,32]", domain=NCHWC, channels_last=1)
case("ReorderOutput", "x:float[N,16,H,W]", domain=NCHWC, channels=12)
case("ReorderOutput", "x:float[N,32,H,W]", domain=NCHWC, channels=28, channels_last=1)
case("Upsample", "x:float[N,16,H,W]", domain=NCHWC, scales=[1, 1, 2, 3])
case("BatchNormalization", "x:float[N,H,W,C] s:float[C] b:float[C] m:float[C] v:float[C]", domain=NHWC, version=15)
case("InstanceNormalization", "x:float[N,H,W,C] s:float[C] b:float[C]", domain=NHWC, version=6)
case("LRN", "x:float[N,H,W,C]", domain=NHWC, version=13, size=3)
case("DepthToSpace", "x:float[N,H,W,8]", domain=NHWC, version=13, blocksize=2)
case("SpaceToDepth", "x:float[N,H,W,C]", domain=NHWC, version=13, blocksize=2, sizes={"H": 4, "W": 6})
case("GridSample", "x:float[N,H,W,C] g:float[N,A,B,2]", domain=NHWC, version=16)
case("MaxUnpool", "x:float[N,H,W,C] i:int64[N,H,W,C]", domain=NHWC, version=11, kernel_shape=[2, 2], strides=[2, 2])
case("Resize", "x:float[N,H,W,C] r:float[0] s:float[4]", domain=NHWC, version=13, constants={"r": [], "s": [1.0, 2.0, 3.0, 1.0]})
case("GridSample", "x:float[N,C,H,W] g:float[N,A,B,2]")
case("CropAndResize", "x:float[N,C,H,W] r:float[R,4] b:int32[R] s:int32[2]", constants={"s": [4, 5]}, data={"b": zeros}, sizes={"H": 6, "W": 6})
case("CropAndResize", "x:float[N,C,H,W] r:float[R,4] b:int32[R] s:int32[2]", data={"b": zeros, "s": lambda s, _: [3, 2]}, sizes={"H": 6, "W": 6})

# --- quantized --------------------------------------------------------------------------------------------------------

for op in ("QLinearAdd", "QLinearMul"):
    for elem in ("uint8", "int8"):
        case(op, f"a:{elem}[A,B] as:float[] az:{elem}[] b:{elem}[A,B] bs:float[] bz:{elem}[] s:float[] z:{elem}[]")
    case(op, "a:uint8[A,1,C] as:float[] az:uint8[] b:uint8[B,1] bs:float[] bz:uint8[] s:float[] z:uint8[]")
case("QLinearWhere", "c:bool[A,B] x:uint8[A,B] xs:float[] xz:uint8[] v:uint8[1,B] ys:float[] yz:uint8[] s:float[] z:uint8[]")
case("MulInteger", "a:uint8[A,B] az:uint8[] b:uint8[B] bz:uint8[]")
for op in ("QLinearLeakyRelu", "QLinearSigmoid"):
    case(op, "x:uint8[A,B] xs:float[] xz:uint8[] ys:float[] yz:uint8[]")
    case(op, "x:int8[A,B,C] xs:float[] xz:int8[] ys:float[] yz:int8[]")
case("QLinearSoftmax", "x:uint8[A,B,C] xs:float[] xz:uint8[] ys:float[] yz:uint8[]")
CASES[-1]["attrs"] = {"opset": 13, "axis": -1}
case("QLinearSoftmax", "x:int8[A,B,C] xs:float[] xz:int8[] ys:float[] yz:int8[]")
CASES[-1]["attrs"] = {"opset": 11, "axis": 1}
case("QLinearConcat", "s:float[] z:uint8[] a:uint8[A,B,C] as:float[] az:uint8[] b:uint8[A,D,C] bs:float[] bz:uint8[]", axis=1)
case("QLinearConcat", "s:float[] z:int8[] a:int8[A,B] as:float[] az:int8[] b:int8[A,C] bs:float[] bz:int8[] c:int8[A,3] cs:float[] cz:int8[]", axis=-1)
for axes, keep in (([1], 1), ([0, 2], 0), ([-1], 0)):
    case("QLinearReduceMean", "x:uint8[A,B,C] xs:float[] xz:uint8[] ys:float[] yz:uint8[]", axes=axes, keepdims=keep)
    case("ReduceSumInteger", "x:uint8[A,B,C]", "y:uint32", axes=axes, keepdims=keep)
case("QuantizeLinear", "x:float[A,B] s:float[] z:uint8[]")
case("QuantizeLinear", "x:float[A,B] s:float[B] z:int8[B]", axis=1)
case("QuantizeLinear", "x:float[A,B] s:float[]")
case("QuantizeLinear", "x:float[A,B] s:float[] z:uint16[]")
case("DequantizeLinear", "x:uint8[A,B] s:float[] z:uint8[]")
case("DequantizeLinear", "x:int8[A,B] s:float[B] z:int8[B]", axis=1)
case("DequantizeLinear", "x:int32[A,B] s:float[]")
case("QuantizeBFP", "x:float[A,B]", "y,s,t", bfp_type=0)
case("DequantizeBFP", "x:uint8[A] s:int64[2] t:int64[2]", bfp_type=0, dtype=1)
case("QuantizeWithOrder", "x:float[A,B] s:float[]", order_input=1, order_output=2)
case("DequantizeWithOrder", "x:int8[A,B] s:float[]", order_input=1, order_output=2, to=10)
case("QOrderedGelu", "x:int8[A,B] s:float[] t:float[]")
case("QOrderedLayerNormalization", "x:int8[A,B,C] s:float[] g:float[C] b:float[C] t:float[]")
case("QOrderedMatMul", "a:int8[B,M,K] s:float[] b:int8[K,N] t:float[] u:float[]", order_A=1, order_B=0, order_Y=1)

# --- gathering, shapes, texts -----------------------------------------------------------------------------------------

for axis in (0, 1):
    case("GatherBlockQuantized", "d:uint4[6,32] i:int64[A,B] s:float[6,2]", gather_axis=axis, quantize_axis=1, block_size=16, data={"i": zeros}, constants={"d": 0})
case("GatherBlockQuantized", "d:uint8[6,16] i:int32[A] s:float[6,2]", gather_axis=0, quantize_axis=1, block_size=16, bits=4, data={"i": zeros})
case("GatherBlockQuantized", "d:uint8[6,32] i:int64[A,B] s:float[6,2]", gather_axis=0, quantize_axis=1, block_size=16, bits=8, data={"i": zeros})
case("GatherBlockQuantized", "d:int4[6,4,32] i:int64[A] s:float[6,4,2]", gather_axis=-2, quantize_axis=-1, block_size=16, data={"i": zeros}, constants={"d": 0})
case("GatherND", "x:float[A,B,C] i:int64[D,2]", data={"i": zeros})
case("GatherND", "x:float[A,B] i:int32[D,E,1]", data={"i": zeros})
case("GatherPacked", "w:uint8[V,128] i:int64[A,B]", K=64, packed_type=1)
case("TorchEmbedding", "w:float[V,M] i:int64[A,B]", data={"i": zeros})
for axis in (0, 2, -1):
    case("ExpandDims", "x:float[A,B] a:int32[]", constants={"a": axis})
case("ExpandDims", "x:float[A,B] a:int32[]", data={"a": zeros})
case("Pad", "x:float[A,B] p:int64[4]", constants={"p": [1, 0, 2, 3]})
case("Pad", "x:float[A,B] p:int64[1,4]", constants={"p": [[1, 0, 2, 3]]})
case("Pad", "x:float[A,B] p:int64[4] v:float[1]", constants={"p": [0, -1, 2, 0]}, sizes={"B": 4})
case("Pad", "x:float[A,B] p:int64[4]", constants={"p": [1, 0, 1, 1]}, mode="reflect", sizes={"A": 4, "B": 4})
for bounds in ([0, 7, 2], [3, 3, 1], [5, 1, 1], [-3, 4, 3], [9, 2, -2]):
    case("Range", "s:int64[] l:int64[] d:int64[]", constants=dict(zip("sld", bounds)))
case("Range", "s:int32[1] l:int32[1]", constants={"s": [2], "l": [6]})
case("Range", "s:float[] l:float[] d:float[]", constants={"s": 0.0, "l": 3.0, "d": 0.5})
case("Trilu", "x:float[A,B,C]")
case("Trilu", "x:int64[A,B] k:int64[]", upper=0)
for dim, size, step in ((-1, 2, 1), (0, 3, 2), (1, 1, 3)):
    case("UnfoldTensor", "x:float[A,B,C]", dim=dim, size=size, step=step, sizes={"A": 5, "B": 4, "C": 6})
case("Unique", "x:float[A]", "y,i,c")
case("SparseToDenseMatMul", "a:float[M,K] b:float[K,N]")
case("MurmurHash3", "x:int32[A,B]")
case("MurmurHash3", "x:string[A]", positive=0)
case("Tokenizer", "x:string[A]", mark=0, mincharnum=1, pad_value="#", separators=[" "])
case("Tokenizer", "x:string[A,B]", mark=1, mincharnum=1, pad_value="#", tokenexp="[a-z]+")
case("WordConvEmbedding", "s:int32[S,L] w:float[F,1,2,4] b:float[F] c:float[V,4]", data={"s": ones}, sizes={"L": 5, "V": 6})
case("NGramHashMapping", "i:int64[B,S] m:int64[3] v:int64[4]", "y,p", max_ngram_size=3, n_head_per_ngram=2, pad_id=0, data={"v": lambda s, _: [3, 5, 7, 11], "m": ones})
case("VarlenNGramHashMapping", "i:int64[T] m:int64[3] v:int64[4] c:int32[E]", "y,p", max_ngram_size=3, n_head_per_ngram=2, pad_id=0,
     data={"v": lambda s, _: [3, 5, 7, 11], "m": ones, "c": lambda s, z: np.linspace(0, z.get("T", 0), s[0]).astype(int) if s[0] else []})
case("NGramRepeatBlock", "i:int64[B,S] s:float[B,V]", ngram_size=2)
case("BifurcationDetector", "s:int64[S] c:int64[C] p:int64[1] t:int64[T]", "y,i", data={"p": zeros}, sizes={"S": 6, "C": 2, "T": 7})
case("BifurcationDetector", "s:int64[S] c:int64[C] p:int64[]", "y,i", data={"p": zeros}, sizes={"S": 6, "C": 2})
case("DynamicTimeWarping", "x:float[M,N]")
case("DynamicTimeWarping", "x:float[1,M,N]")
case("Rfft", "x:float[A,N]", signal_ndim=1)
case("Irfft", "x:float[A,N,2]", signal_ndim=1)
case("SpeculativePrefixCommit", "n:int64[B,3] i:int64[I] s:int32[S] c:int64[C] x:int64[X] p:int64[P] r:int64[R]", "h,a,b", head_rows=3)

# --- recurrent --------------------------------------------------------------------------------------------------------

for direction, count in (("forward", 1), ("bidirectional", 2)):
    case("DynamicQuantizeLSTM", f"x:float[T,B,4] w:int8[{count},4,12] r:int8[{count},3,12] - - - - - ws:float[{count}] wz:int8[{count}] rs:float[{count}] rz:int8[{count}]", "y,h,c",
         direction=direction, hidden_size=3, constants={"w": np.ones((count, 4, 12)), "r": np.ones((count, 3, 12)), "wz": np.zeros(count), "rz": np.zeros(count)})
case("AttnLSTM", "x:float[T,B,2] w:float[1,12,6] r:float[1,12,3] b:float[1,24] l:int32[B] - - - qw:float[1,3,2] mw:float[1,4,2] v:float[1,2] m:float[B,M,4] ml:int32[B] a:float[1,7,4]", "y,h,c",
     hidden_size=3, data={"l": lambda s, z: np.full(s, z["T"]), "ml": lambda s, z: np.full(s, z["M"])})

# --- plug-ins ---------------------------------------------------------------------------------------------------------

case("EfficientNMS_TRT", "b:float[B,N,4] s:float[B,N,C]", "n,b2,s2,c", domain="", background_class=0, box_coding=0, iou_threshold=0.5,
     max_output_boxes=7, plugin_version="1", score_activation=0, score_threshold=0.1)
features = " ".join(f"f{at}:float[B,C,{32 >> at},{32 >> at}]" for at in range(4))
case("MultilevelCropAndResize_TRT", f"b:float[B,N,4] {features}", domain="", image_size=[3, 64, 64], plugin_version="1", pooled_size=5)
case("PyramidROIAlign_TRT", f"b:float[B,N,4] {features}", domain="", plugin_version="1", pooled_size=5)
case("DisentangledAttention_TRT", "a:float[N,S,T] b:float[N,S,K] c:float[N,K,T]", domain="", factor=0.1, span=2)
case("EPContext", "x:float[A,B]", "y:float")
case("Snpe", "x:float[A,B]", "y:float", DLC="")
