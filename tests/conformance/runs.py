"""Records runs of onnxruntime, for `tests/tests/workspace/recorded_runs.rs`: operators without official tests, types other than float, and
operators that onnxruntime adds.

    runs.py FOLDER    writes FOLDER/<group>/<test>/model.onnx and test_data_set_0/{input,output}_<M>.pb

Pack it with `tar -C FOLDER -c . | zstd -19 > tests/conformance/runs.tar.zst`. Outputs of operators that onnxruntime does not
have for a type are computed with numpy, by a function next to the case.
"""

import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

out = pathlib.Path(sys.argv[1])
shutil.rmtree(out, ignore_errors=True)
rng = np.random.RandomState(1)
fails = []


def type_of(array):
    return h.np_dtype_to_tensor_dtype(array.dtype)


def message(value):
    return nh.from_list(value) if isinstance(value, list) else nh.from_array(np.asarray(value))


def info(name, value):
    if isinstance(value, list):
        return h.make_tensor_sequence_value_info(name, type_of(value[0]), None)
    value = np.asarray(value)
    return h.make_tensor_value_info(name, type_of(value) if value.dtype != object else T.STRING, value.shape)


def graph_case(name, nodes, feeds, outputs, group="node", ops=21, ml=4, expected=None):
    """A case of some nodes; `expected` has the outputs if onnxruntime is not asked."""
    inputs = [info(k, v) for k, v in feeds.items()]
    imports = [h.make_opsetid("", ops), h.make_opsetid("com.microsoft", 1), h.make_opsetid("ai.onnx.ml", ml)]
    graph = h.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=o) for o in outputs])
    model = h.make_model(graph, opset_imports=imports, ir_version=10)
    if expected is None:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            expected = session.run(outputs, feeds)
        except Exception as error:
            fails.append((name, str(error)[:160]))
            return
    if any(isinstance(e, list) and e and isinstance(e[0], dict) for e in expected):
        fails.append((name, "maps are not recorded"))
        return
    del graph.output[:]
    graph.output.extend([info(o, e) for o, e in zip(outputs, expected)])
    model = h.make_model(graph, opset_imports=imports, ir_version=10)
    folder = out / group / name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for what, values in (("input", feeds.values()), ("output", expected)):
        for index, value in enumerate(values):
            (data / f"{what}_{index}.pb").write_bytes(message(value).SerializeToString())


def case(name, op, ins, nout=1, domain="com.microsoft", wants=None, expected=None, ops=21, ml=4, **attrs):
    """A case of one node."""
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(ins)]
    outs = [f"o{k}" for k in range(nout)]
    outs = [o if wants is None or k in wants else "" for k, o in enumerate(outs)]
    node = h.make_node(op, names, outs, domain=domain, **attrs)
    feeds = {a: v for a, v in zip(names, ins) if v is not None}
    group = domain or "onnx"
    graph_case(name, [node], feeds, [o for o in outs if o], group, ops, ml, expected)


# Fused and quantized operators of com.microsoft.
f = lambda *s: rng.randn(*s).astype(np.float32)
u8 = lambda *s: rng.randint(0, 256, s).astype(np.uint8)
i8 = lambda *s: rng.randint(-128, 128, s).astype(np.int8)
S = lambda v, t=np.float32: np.array(v, t)
case('bias_gelu', 'BiasGelu', [f(2, 3, 4), f(4)])
case('fast_gelu', 'FastGelu', [f(2, 3, 4) * 3])
case('fast_gelu_bias', 'FastGelu', [f(2, 3, 4), f(4)])
case('gelu', 'Gelu', [f(5) * 3])
case('quick_gelu', 'QuickGelu', [f(5) * 3])
case('quick_gelu1', 'QuickGelu', [f(5) * 3], alpha=1.0)
case('fmm', 'FusedMatMul', [f(2, 3, 4), f(2, 4, 5)], alpha=0.5)
case('fmm_tb', 'FusedMatMul', [f(2, 3, 4), f(2, 5, 4)], alpha=0.5, transB=1)
case('fmm_ta', 'FusedMatMul', [f(2, 4, 3), f(2, 4, 5)], transA=1)
case('fmm_bb', 'FusedMatMul', [f(3, 2, 4), f(4, 2, 5)], transBatchA=1, transBatchB=1)
case('fmm_bb_t', 'FusedMatMul', [f(4, 2, 3), f(5, 2, 4)], transBatchA=1, transBatchB=1, transA=1, transB=1)
case('fmm_vec', 'FusedMatMul', [f(4), f(4, 5)], transA=1)
for act, kw in (('Relu', {}), ('Tanh', {}), ('Sigmoid', {}), ('LeakyRelu', dict(activation_alpha=0.1))):
    case('fgemm_' + act, 'FusedGemm', [f(3, 4), f(5, 4), f(5)], activation=act, transB=1, alpha=0.5, beta=2.0, **kw)
for act, p in (('Relu', []), ('Tanh', []), ('Sigmoid', []), ('LeakyRelu', [0.1]), ('Clip', [-0.5, 0.5]), ('HardSigmoid', [0.3, 0.4])):
    kw = dict(activation_params=p) if p else {}
    case('fconv_' + act, 'FusedConv', [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)], activation=act, pads=[1, 1, 1, 1], **kw)
case('fconv_add', 'FusedConv', [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 3, 3)], activation='Relu')
case('sln', 'SkipLayerNormalization', [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], epsilon=1e-05)
case('sln4', 'SkipLayerNormalization', [f(2, 3, 8), f(1, 3, 8), f(8), f(8)], nout=4, wants=(0, 3), epsilon=1e-05)
case('sln_noeps', 'SkipLayerNormalization', [f(2, 3, 8), f(3, 8), f(8)])
case('ssln', 'SkipSimplifiedLayerNormalization', [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], nout=4, wants=(0, 3))
case('simple_ln', 'SimplifiedLayerNormalization', [f(2, 3, 8), f(8)], domain='', epsilon=1e-06)
ids = rng.randint(0, 10, (2, 4)).astype(np.int32)
case('embed', 'EmbedLayerNormalization', [ids, rng.randint(0, 2, (2, 4)).astype(np.int32), f(10, 8), f(6, 8), f(2, 8), f(8), f(8), rng.randint(0, 2, (2, 4)).astype(np.int32)], nout=3, epsilon=1e-05)
case('embed_noseg', 'EmbedLayerNormalization', [ids, None, f(10, 8), f(6, 8), None, f(8), f(8)], nout=2)
case('embed_pos', 'EmbedLayerNormalization', [ids, None, f(10, 8), f(6, 8), None, f(8), f(8), None, rng.randint(0, 6, (2, 4)).astype(np.int32)], nout=2)
x, w, b = (f(2, 3, 8), f(8, 24), f(24))
case('att', 'Attention', [x, w, b], num_heads=2)
case('att_causal', 'Attention', [x, w, b], num_heads=2, unidirectional=1)
case('att_1d', 'Attention', [x, w, b, np.array([2, 3], np.int32)], num_heads=4)
case('att_2d', 'Attention', [x, w, b, np.array([[1, 1, 0], [1, 0, 1]], np.int32)], num_heads=2)
case('att_2b', 'Attention', [x, w, b, np.array([2, 3, 1, 1], np.int32)], num_heads=2)
case('att_3d', 'Attention', [x, w, b, np.tril(np.ones((2, 3, 3), np.int32))], num_heads=2)
case('att_bias', 'Attention', [x, w, b, None, None, f(1, 2, 3, 3)], num_heads=2)
case('att_bias_full', 'Attention', [x, w, b, None, None, f(2, 2, 3, 3)], num_heads=2, scale=0.3)
case('att_qkv', 'Attention', [x, f(8, 8 + 8 + 4), f(20)], num_heads=2, qkv_hidden_sizes=[8, 8, 4])
for t, r in ((np.uint8, u8), (np.int8, i8)):
    z = lambda v: np.array(v, t)
    nm = np.dtype(t).name
    case('qadd_' + nm, 'QLinearAdd', [r(2, 3, 4), S(0.02), z(3), r(4), S(0.03), z(-5 if t is np.int8 else 100), S(0.05), z(10)])
    case('qmul_' + nm, 'QLinearMul', [r(2, 3, 4), S(0.02), z(3), r(3, 1), S(0.03), z(5), S(0.04), z(10)])
    case('qsig_' + nm, 'QLinearSigmoid', [r(20), S(0.05), z(3), S(1 / 256), z(0)])
    case('qleaky_' + nm, 'QLinearLeakyRelu', [r(20), S(0.05), z(3), S(0.04), z(10)], alpha=0.1)
    case('qsoft_' + nm, 'QLinearSoftmax', [r(2, 8), S(0.05), z(3), S(1 / 256), z(0)], axis=-1, opset=13)
    case('qsoft1_' + nm, 'QLinearSoftmax', [r(2, 3, 4), S(0.05), z(3), S(1 / 256), z(0)], axis=1, opset=13)
    case('qgap_' + nm, 'QLinearGlobalAveragePool', [r(2, 3, 4, 5), S(0.05), z(3), S(0.03), z(5)], channels_last=0)
    case('qgap_last_' + nm, 'QLinearGlobalAveragePool', [r(2, 4, 5, 3), S(0.05), z(3), S(0.03), z(5)], channels_last=1)
    case('qcat_' + nm, 'QLinearConcat', [S(0.05), z(3), r(2, 3, 2), S(0.05), z(3), r(2, 1, 2), S(0.04), z(7)], axis=1)
    case('ql_' + nm, 'QuantizeLinear', [f(3, 4) * 3, S([0.1, 0.2, 0.3, 0.4]), np.array([1, 2, 3, 4], t)], axis=1)
    case('dql_' + nm, 'DequantizeLinear', [r(3, 4), S([0.1, 0.2, 0.3]), np.array([1, 2, 3], t)], axis=0)
    case('mmitf_' + nm, 'MatMulIntegerToFloat', [u8(3, 4), r(4, 5), S(0.02), S(np.arange(1, 6) * 0.01), np.array(7, np.uint8), np.array([1, 2, 3, 4, 5], t), f(5)])
    case('dqmm_' + nm, 'DynamicQuantizeMatMul', [f(3, 4), r(4, 5), S(np.arange(1, 6) * 0.01), np.array([1, 2, 3, 4, 5], t), f(5)])
case('ql_u16', 'QuantizeLinear', [f(3, 4) * 3, S(0.001), np.array(1000, np.uint16)])
case('dql_i32', 'DequantizeLinear', [rng.randint(-9, 9, (3, 4)).astype(np.int32), S(0.001)])
for bt, r in ((np.uint8, u8), (np.int8, i8)):
    case('qgemm_' + np.dtype(bt).name, 'QGemm', [u8(3, 4), S(0.02), np.array(3, np.uint8), r(5, 4), S(np.arange(1, 6) * 0.01), np.array([1, 2, 3, 4, 5], bt), rng.randint(-99, 99, (5,)).astype(np.int32), S(0.05), np.array(9, np.uint8)], transB=1, alpha=1.0)
    case('qgemm_f_' + np.dtype(bt).name, 'QGemm', [u8(3, 4), S(0.02), np.array(3, np.uint8), r(4, 5), S(0.01), np.array(2, bt)], alpha=0.5)
for bits in (2, 4, 8):
    for K, N, bs in ((32, 3, 16), (40, 5, 32)):
        nb = -(-K // bs)
        bw = bs * bits // 8
        B = u8(N, nb, bw)
        sc = (rng.rand(N * nb) * 0.1 + 0.01).astype(np.float32)
        zw = -(-nb * bits // 8)
        A = f(2, 3, K)
        case(f'nbits{bits}_{K}', 'MatMulNBits', [A, B, sc], K=K, N=N, bits=bits, block_size=bs)
        case(f'nbits{bits}_{K}_z', 'MatMulNBits', [A, B, sc, u8(N * zw)], K=K, N=N, bits=bits, block_size=bs)
        case(f'nbits{bits}_{K}_zf', 'MatMulNBits', [A, B, sc, f(N * nb)], K=K, N=N, bits=bits, block_size=bs)
        case(f'nbits{bits}_{K}_b', 'MatMulNBits', [A, B, sc, None, None, f(N)], K=K, N=N, bits=bits, block_size=bs)
case('nbits16', 'MatMulNBits', [f(2, 32).astype(np.float16), u8(3, 2, 8), (rng.rand(6) * 0.1).astype(np.float16)], K=32, N=3, bits=4, block_size=16)

# Operators of ai.onnx.ml.
def ml(name, op, ins, nout=1, **kw):
    case(name, op, ins, nout=nout, domain='ai.onnx.ml', ml=kw.pop('version', 3), **kw)
X = np.array([[0.2, 1.0], [0.8, -1.0], [np.nan, 0.3], [-0.5, 0.3]], np.float32)
Y = X[[0, 1, 3]]

def tree(ids, w):
    return dict(nodes_treeids=[0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2, 0, 1, 2], nodes_featureids=[0, 0, 0, 1, 0, 0], nodes_modes=['BRANCH_LEQ', 'LEAF', 'LEAF'] * 2, nodes_values=[0.5, 0.0, 0.0, 0.0, 0.0, 0.0], nodes_truenodeids=[1, 0, 0, 1, 0, 0], nodes_falsenodeids=[2, 0, 0, 2, 0, 0], class_treeids=[0, 0, 1, 1], class_nodeids=[1, 2, 1, 2], class_ids=ids, class_weights=w)
pos, neg = ([0.1, 0.6, 0.2, 0.3], [-0.4, 0.6, 0.2, -0.3])
for n, w in (('pos', pos), ('neg', neg)):
    for pt in ('NONE', 'LOGISTIC'):
        ml(f'tree_{n}_{pt.lower()}', 'TreeEnsembleClassifier', [X], 2, classlabels_int64s=[3, 7], post_transform=pt, **tree([0] * 4, w))
    ml(f'tree_{n}_base', 'TreeEnsembleClassifier', [X], 2, classlabels_int64s=[3, 7], base_values=[0.25], **tree([0] * 4, w))
    ml(f'tree_{n}_second', 'TreeEnsembleClassifier', [X], 2, classlabels_int64s=[3, 7], **tree([1] * 4, w))
for pt in ('NONE', 'LOGISTIC', 'SOFTMAX', 'SOFTMAX_ZERO'):
    ml(f'tree3_{pt.lower()}', 'TreeEnsembleClassifier', [X], 2, classlabels_int64s=[3, 7, 9], post_transform=pt, base_values=[0.1, 0.2, 0.05], **tree([0, 2, 1, 1], pos))
ml('tree3_text', 'TreeEnsembleClassifier', [X], 2, classlabels_strings=['a', 'b', 'c'], **tree([0, 2, 1, 1], pos))
ml('tree3_double', 'TreeEnsembleClassifier', [X.astype(np.float64)], 2, classlabels_int64s=[3, 7, 9], **tree([0, 2, 1, 1], pos))
ml('tree3_int64', 'TreeEnsembleClassifier', [np.array([[0, 1], [1, 0], [-1, -5]], np.int64)], 2, classlabels_int64s=[3, 7, 9], **tree([0, 2, 1, 1], pos))
R = {'target_' + k[6:] if k.startswith('class_') else k: v for k, v in tree([0, 1, 1, 0], neg).items()}
for agg in ('SUM', 'AVERAGE', 'MIN', 'MAX'):
    ml(f'forest_{agg.lower()}', 'TreeEnsembleRegressor', [X], n_targets=2, aggregate_function=agg, base_values=[0.5, -0.25], **R)
for mode in ('BRANCH_LT', 'BRANCH_GTE', 'BRANCH_GT', 'BRANCH_EQ', 'BRANCH_NEQ'):
    r = dict(R)
    r['nodes_modes'] = [mode, 'LEAF', 'LEAF'] * 2
    r['nodes_values'] = [0.2, 0.0, 0.0, 0.3, 0.0, 0.0]
    ml(f'forest_{mode[7:].lower()}', 'TreeEnsembleRegressor', [X], n_targets=2, **r)
    ml(f'forest_{mode[7:].lower()}_missing', 'TreeEnsembleRegressor', [X], n_targets=2, nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 0], **r)
ml('forest_softmax', 'TreeEnsembleRegressor', [X], n_targets=2, post_transform='SOFTMAX', **R)
sv = [0.1, 0.2, 0.5, -0.5, -1.0, 0.3, 0.7, 0.7]
for kt, kp in (('LINEAR', [0.0, 0.0, 0.0]), ('POLY', [0.5, 1.0, 3.0]), ('RBF', [0.7, 0.0, 0.0]), ('SIGMOID', [0.3, 0.1, 0.0])):
    k = dict(support_vectors=sv, rho=[0.1], kernel_type=kt, kernel_params=kp, coefficients=[0.5, -0.3, 0.8, -1.0])
    ml(f'svc2_{kt.lower()}', 'SVMClassifier', [Y], 2, classlabels_ints=[3, 7], vectors_per_class=[2, 2], **k)
    ml(f'svr_{kt.lower()}', 'SVMRegressor', [Y], n_supports=4, **k)
k = dict(support_vectors=sv, kernel_type='RBF', kernel_params=[0.7, 0.0, 0.0])
ml('svc2_logistic', 'SVMClassifier', [Y], 2, classlabels_ints=[3, 7], vectors_per_class=[2, 2], rho=[0.1], coefficients=[0.5, -0.3, 0.8, -1.0], post_transform='LOGISTIC', **k)
ml('svc2_chance', 'SVMClassifier', [Y], 2, classlabels_strings=['a', 'b'], vectors_per_class=[2, 2], rho=[0.1], coefficients=[0.5, -0.3, 0.8, -1.0], prob_a=[-1.5], prob_b=[0.2], **k)
co = [0.5, -0.3, 0.8, -1.0, 0.2, 0.4, -0.6, 0.9]
for pt in ('NONE', 'LOGISTIC', 'SOFTMAX'):
    ml(f'svc3_{pt.lower()}', 'SVMClassifier', [Y], 2, classlabels_ints=[3, 7, 9], vectors_per_class=[1, 2, 1], rho=[0.1, -0.2, 0.3], coefficients=co, post_transform=pt, **k)
ml('svc3_chance', 'SVMClassifier', [Y], 2, classlabels_ints=[3, 7, 9], vectors_per_class=[1, 2, 1], rho=[0.1, -0.2, 0.3], coefficients=co, prob_a=[-1.5, -1.0, -0.8], prob_b=[0.2, 0.0, -0.1], **k)
ml('svc4', 'SVMClassifier', [Y], 2, classlabels_ints=[3, 7, 9, 11], vectors_per_class=[1, 1, 1, 1], rho=[0.1, -0.2, 0.3, 0.4, 0.5, -0.6], coefficients=co + [0.1, 0.2, -0.3, 0.4], **k)
z = dict(kernel_params=[0.0, 0.0, 0.0])
for pt in ('NONE', 'LOGISTIC', 'SOFTMAX'):
    ml(f'svc_linear_{pt.lower()}', 'SVMClassifier', [Y], 2, classlabels_ints=[3, 7, 9], coefficients=[0.5, -0.3, 0.8, -1.0, 0.2, 0.4], rho=[0.1], post_transform=pt, **z)
ml('svr_linear_only', 'SVMRegressor', [Y], coefficients=[0.5, -0.3], rho=[0.1], **z)
ml('svr_one_class', 'SVMRegressor', [Y], coefficients=[0.5, -0.3, 0.8, -1.0], n_supports=4, rho=[0.1], one_class=1, **k)
ml('linear_regressor', 'LinearRegressor', [Y], coefficients=[0.5, -0.3, 0.8, -1.0], intercepts=[0.1, 0.2], targets=2)
ml('linear_classifier', 'LinearClassifier', [Y], 2, coefficients=[0.5, -0.3, 0.8, -1.0, 0.2, 0.4], intercepts=[0.1, 0.2, 0.3], classlabels_ints=[3, 7, 9], post_transform='SOFTMAX')
for norm in ('MAX', 'L1', 'L2'):
    ml('normalizer_' + norm.lower(), 'Normalizer', [Y], norm=norm)
for t in (np.float32, np.float64, np.int64, np.int32):
    n = np.dtype(t).name
    a = np.array([[1, -2], [3, 4], [0, 5]], t)
    ml('scaler_' + n, 'Scaler', [a], scale=[2.0, 0.5], offset=[1.0, -1.0])
    ml('normalizer_' + n, 'Normalizer', [a], norm='L2')
    ml('vectorizer_' + n, 'FeatureVectorizer', [a, a[:, :1]], inputdimensions=[2, 1])
    ml('linreg_' + n, 'LinearRegressor', [a], coefficients=[0.5, -0.3], intercepts=[0.1])
    ml('afe_' + n, 'ArrayFeatureExtractor', [a, np.array([1, 0], np.int64)])
    ml('onehot_' + n, 'OneHotEncoder', [np.array([1, 3, 2], t)], cats_int64s=[1, 2, 3])
ml('imputer_f', 'Imputer', [X], imputed_value_floats=[9.0, 8.0])
ml('imputer_i', 'Imputer', [np.array([[1, 2], [3, 1]], np.int64)], imputed_value_int64s=[7], replaced_value_int64=1)
ml('onehot_text', 'OneHotEncoder', [np.array(['a', 'c', 'z'], object)], cats_strings=['a', 'b', 'c'], zeros=1)
ml('category_text', 'CategoryMapper', [np.array(['a', 'c', 'z'], object)], cats_int64s=[5, 6, 7], cats_strings=['a', 'b', 'c'], default_int64=-4)
ml('category_int', 'CategoryMapper', [np.array([5, 7, 1], np.int64)], cats_int64s=[5, 6, 7], cats_strings=['a', 'b', 'c'], default_string='none')

# Operators of ONNX without official tests, and types other than float.
def on(name, op, ins, nout=1, **kw):
    case(name, op, ins, nout=nout, domain='', **kw)
on('global_lp_pool', 'GlobalLpPool', [f(2, 3, 4, 5)], p=3)
on('global_lp_pool_1', 'GlobalLpPool', [f(2, 3, 7)], p=1)
rois = np.array([[0, 0, 0, 3, 3], [0, 1, 2, 4, 4], [1, 0, 0, 4, 4]], np.float32)
on('max_roi_pool', 'MaxRoiPool', [f(2, 3, 5, 5), rois], pooled_shape=[2, 2])
on('max_roi_pool_scale', 'MaxRoiPool', [f(2, 3, 5, 5), rois * 2], pooled_shape=[3, 2], spatial_scale=0.5)
seq = [f(2, 3), f(2, 3), f(2, 3)]

def seqcase(name, nodes, outs, feeds):
    graph_case(name, nodes, feeds, outs, 'onnx')
N = h.make_node
con = N('SequenceConstruct', ['a', 'b', 'c'], ['s'])
ab = dict(a=f(2, 3), b=f(2, 3), c=f(2, 3), i=np.array(-1, np.int64))
seqcase('sequence_at', [con, N('SequenceAt', ['s', 'i'], ['o'])], ['o'], ab)
seqcase('sequence_length', [con, N('SequenceLength', ['s'], ['n']), N('SequenceErase', ['s', 'i'], ['t']), N('SequenceLength', ['t'], ['m']), N('ConcatFromSequence', ['t'], ['o'], axis=1)], ['n', 'm', 'o'], ab)
seqcase('concat_new_axis', [con, N('ConcatFromSequence', ['s'], ['o'], axis=-1, new_axis=1)], ['o'], ab)
seqcase('sequence_empty', [N('SequenceEmpty', [], ['s'], dtype=T.FLOAT), N('SequenceLength', ['s'], ['n']), N('SequenceInsert', ['s', 'a'], ['t']), N('SequenceAt', ['t', 'i'], ['o'])], ['n', 'o'], dict(a=f(2, 3), i=np.array(0, np.int64)))
seqcase('sequence_split', [N('SplitToSequence', ['a'], ['s'], axis=1, keepdims=0), N('SequenceAt', ['s', 'i'], ['o'])], ['o'], dict(a=f(2, 3), i=np.array(1, np.int64)))
ints = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
for t in ints + [np.float16, np.float64]:
    n = np.dtype(t).name
    info_ = np.iinfo(t) if np.dtype(t).kind in 'iu' else None
    a = rng.randint(info_.min // 2 if info_.min else 0, info_.max // 2, (2, 3)).astype(t) if info_ else (rng.randn(2, 3) * 5).astype(t)
    b = rng.randint(1, 50, (3,)).astype(t)
    wide = info_ is not None
    with np.errstate(over='ignore'):
        exp = lambda v: [v] if wide else None
        on('add_' + n, 'Add', [a, b], expected=exp(a + b))
        on('sub_' + n, 'Sub', [b, a], expected=exp(b - a))
        on('mul_' + n, 'Mul', [a, b], expected=exp(a * b))
        trunc = (np.abs(a.astype(object)) // b.astype(object) * np.sign(a.astype(object))).astype(t) if wide else None
        on('div_' + n, 'Div', [a, b], expected=exp(trunc))
        if wide:
            on('mod_' + n, 'Mod', [a, b], expected=[np.mod(a, b)])
            on('fmod_' + n, 'Mod', [a, b], fmod=1, expected=[np.fmod(a, b)])
        on('max_' + n, 'Max', [a, b], expected=exp(np.maximum(a, b)))
        on('min_' + n, 'Min', [a, b], expected=exp(np.minimum(a, b)))
        on('clip_' + n, 'Clip', [a, np.array(3, t), np.array(40, t)], expected=[np.clip(a, np.array(3, t), np.array(40, t))])
        if wide:
            on('sum_axis_' + n, 'ReduceSum', [a, np.array([1], np.int64)], expected=[a.sum(1, keepdims=True, dtype=t)]) if n in ('int32', 'int64', 'uint32', 'uint64') else None
        if np.dtype(t).kind != 'u':
            on('abs_' + n, 'Abs', [a], expected=[np.abs(a)])
            on('neg_' + n, 'Neg', [a], expected=[-a])
        on('sign_' + n, 'Sign', [a], expected=[np.sign(a)])
        on('less_' + n, 'Less', [a, b], expected=[np.less(a, b)])
        on('equal_' + n, 'Equal', [a, a[:1]], expected=[np.equal(a, a[:1])])
        on('where_' + n, 'Where', [a > b, a, b], expected=[np.where(a > b, a, b)])
        on('gather_' + n, 'Gather', [a, np.array([2, -3], np.int64)], axis=1, expected=[a[:, [2, 0]]])
        on('transpose_' + n, 'Transpose', [a], expected=[a.T])
        on('pad_' + n, 'Pad', [a, np.array([0, 1, 1, 0], np.int64), b[:1].reshape(())], expected=[np.pad(a, [(0, 1), (1, 0)], constant_values=b[0])])
        on('topk_' + n, 'TopK', [a, np.array([2], np.int64)], 2, axis=1)
        on('argmax_' + n, 'ArgMax', [a], axis=1, expected=[np.argmax(a, 1)[:, None]])
        on('cumsum_' + n, 'CumSum', [a, np.array(1, np.int64)], expected=[np.cumsum(a, 1, dtype=t)]) if n in ('int32', 'int64', 'uint32', 'uint64', 'float16', 'float64') else None
        if n in ('int32', 'int64', 'uint32', 'uint64'):
            on('matmul_' + n, 'MatMul', [a, b.reshape(3, 1)], expected=[a @ b.reshape(3, 1)])
        if np.dtype(t).kind == 'u':
            s = rng.randint(0, np.iinfo(t).bits, (3,)).astype(t)
            on('shift_left_' + n, 'BitShift', [a, s], direction='LEFT', expected=[np.left_shift(a, s)])
            on('shift_right_' + n, 'BitShift', [a, s], direction='RIGHT', expected=[np.right_shift(a, s)])
        if wide:
            on('bitand_' + n, 'BitwiseAnd', [a, b], expected=[a & b])
            on('bitxor_' + n, 'BitwiseXor', [a, b], expected=[a ^ b])
            on('bitnot_' + n, 'BitwiseNot', [a], expected=[~a])
        for to in ints:
            if wide:
                on(f'cast_{n}_{np.dtype(to).name}', 'Cast', [a], to=h.np_dtype_to_tensor_dtype(np.dtype(to)), expected=[a.astype(to)])
for t in (np.float16, np.float64):
    n = np.dtype(t).name
    a = rng.randn(2, 3, 4).astype(t)
    for op in ('Exp', 'Log', 'Sqrt', 'Tanh', 'Sigmoid', 'Erf', 'Softplus', 'Softsign', 'Relu', 'Elu', 'Selu', 'LeakyRelu', 'HardSigmoid', 'Floor', 'Ceil', 'Round', 'Reciprocal', 'Sin', 'Cos', 'Softmax', 'LogSoftmax'):
        on(f'{op.lower()}_{n}', op, [np.abs(a) + t(0.1) if op in ('Log', 'Sqrt', 'Reciprocal') else a])
    for op in ('ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceProd', 'ReduceL1', 'ReduceL2', 'ReduceLogSumExp', 'ReduceSumSquare'):
        on(f'{op.lower()}_{n}', op, [a, np.array([0, 2], np.int64)], ops=18)
    on('conv_' + n, 'Conv', [rng.randn(1, 2, 5, 5).astype(t), rng.randn(3, 2, 3, 3).astype(t)], pads=[1, 1, 1, 1])
    on('avgpool_' + n, 'AveragePool', [rng.randn(1, 2, 5, 5).astype(t)], kernel_shape=[2, 2])
    on('gemm_' + n, 'Gemm', [rng.randn(2, 3).astype(t), rng.randn(3, 4).astype(t), rng.randn(4).astype(t)], alpha=0.5)
    on('ln_' + n, 'LayerNormalization', [a, rng.randn(4).astype(t), rng.randn(4).astype(t)])
    on('resize_' + n, 'Resize', [rng.randn(1, 1, 3, 4).astype(t), None, np.array([1, 1, 2, 1.5], np.float32)], mode='linear')
    on('bn_' + n, 'BatchNormalization', [a] + [np.abs(rng.randn(3)).astype(t) for _ in range(4)])
on('maxpool_u8', 'MaxPool', [u8(1, 2, 5, 5)], kernel_shape=[2, 2])
on('maxpool_i8', 'MaxPool', [i8(1, 2, 5, 5)], kernel_shape=[3, 3], strides=[2, 2])
d = rng.randn(1, 6, 1)
q = np.fft.rfft(d[..., 0], axis=1)
on('dft_onesided_float64', 'DFT', [d], onesided=1, axis=1, ops=17, expected=[np.stack([q.real, q.imag], -1)])
c = rng.randn(1, 4, 2)
q = np.fft.irfft(c[..., 0] + 1j * c[..., 1], n=7, axis=1)
on('dft_back_float64', 'DFT', [c, np.array(7, np.int64), np.array(1, np.int64)], onesided=1, inverse=1, ops=20, expected=[q[..., None]])
c = rng.randn(2, 13, 2)
q = np.fft.fft(c[..., 0] + 1j * c[..., 1], n=10, axis=1)
on('dft_cut_float64', 'DFT', [c, np.array(10, np.int64), np.array(-2, np.int64)], ops=20, expected=[np.stack([q.real, q.imag], -1)])
c = rng.randn(2, 3, 5, 2)
q = np.fft.ifft(c[..., 0] + 1j * c[..., 1], axis=0)
on('dft_axis0_float64', 'DFT', [c, None, np.array(0, np.int64)], inverse=1, ops=20, expected=[np.stack([q.real, q.imag], -1)])
sg = rng.randn(2, 20, 1)
wn = np.hanning(8)
fr = np.stack([np.fft.fft(sg[:, k * 3:k * 3 + 8, 0] * wn, axis=1) for k in range(5)], 1)
on('stft_two_sided_float64', 'STFT', [sg, np.array(3, np.int64), wn], onesided=0, ops=17, expected=[np.stack([fr.real, fr.imag], -1)])
on('deform3', 'DeformConv', [f(1, 2, 4, 4), f(2, 2, 2, 2), f(1, 8, 3, 3), f(2)], ops=22, pads=[0, 0, 0, 0])
on('deform_groups', 'DeformConv', [f(1, 4, 5, 4), f(6, 2, 2, 2), f(1, 16, 3, 2), f(6), f(1, 8, 3, 2)], ops=22, group=2, offset_group=2, dilations=[2, 2])
on('tf_half_pixel', 'Resize', [f(1, 1, 4, 4), np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)], mode='nearest', coordinate_transformation_mode='tf_half_pixel_for_nn', nearest_mode='floor', ops=11)
body = h.make_graph([N('Add', ['st', 'x'], ['so']), N('Mul', ['so', 'x'], ['y'])], 'b', [h.make_tensor_value_info(k, T.FLOAT, [2]) for k in ('st', 'x')], [h.make_tensor_value_info(k, T.FLOAT, [2]) for k in ('so', 'y')])
on('scan8', 'Scan', [np.array([3, 1], np.int64), f(2, 2), f(2, 3, 2)], 2, body=body, num_scan_inputs=1, directions=[1], ops=8)
on('scan8_full', 'Scan', [None, f(2, 2), f(2, 3, 2)], 2, body=body, num_scan_inputs=1, ops=8)
for name, error in fails:
    print('not recorded:', name, error)
print(sum((1 for _ in out.rglob('model.onnx'))), 'cases')
