"""Writes what the CPU kernels of onnxruntime support as a target: a JSON file in the format of `docs/targets.md`.

Run by `cargo xtask codegen --extract`, with the pinned versions of `onnx` and `onnxruntime` and the file to write to as
arguments. The kernels are those that the installed package has registered.
"""

import collections
import json
import pathlib
import re
import sys

PINNED_ONNX, PINNED, FILE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])

try:
    import numpy
    import onnx
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state
except ImportError as error:
    sys.exit(f"{error}: install `onnx=={PINNED_ONNX}` and `onnxruntime=={PINNED}`, or set ONNX_PYTHON")
for package, pinned in ((onnx, PINNED_ONNX), (onnxruntime, PINNED)):
    if package.__version__ != pinned:
        sys.exit(f"the facts are pinned to {package.__name__} {pinned}, {sys.executable} has {package.__version__}")

UNBOUNDED = 2147483647

# The domains that it bounds, apart from those of the standard.
DOMAINS = (
    "ai.onnx.preview",
    "ai.onnx.preview.training",
    "ai.onnx.training",
    "com.microsoft",
    "com.microsoft.experimental",
    "com.microsoft.nchwc",
    "com.ms.internal.nhwc",
    "org.pytorch.aten",
)

# What nodes need beyond the specification: the constructors of kernels throw, inference does so for operands without a name, and
# operators that were experimental are gone from operator set 10 on.
GONE = {"opset_until": 9}
RECURRENT = {"attributes": ["hidden_size"], "values": {"layout": [0]}}
# Scales are those of two or three axes, or of more if batch and channels have the scale 1; channels may be last of four axes. Without
# `antialias`, cubic scales of such planes are not less than 1, and integers stay what they are. A result without elements, or with the
# sizes of the operand, is not computed.
PLANES = [[None, None], [1, 1, None, None], [1, None, None, 1]]
LINEAR = [PLANES[0], [None, None, None], *PLANES[1:], [1, 1, None, None, None]]
CUBIC = [*PLANES[:2], [1, ">=1", ">=1", 1]]
INTEGERS = ["tensor(int32)", "tensor(int8)", "tensor(uint8)"]
UPSAMPLED = {"scales": [{"least": 1}, {"of": {"mode": ["linear"]}, "forms": LINEAR}]}
ALIASED = {"mode": ["cubic"], "antialias": [0, None]}
RESIZED = {
    "excludes": [
        {"mode": ["nearest"], "antialias": [1]},
        {"mode": ["nearest"], "exclude_outside": [1]},
        {"mode": ["linear"], "antialias": [0, None], "exclude_outside": [1]},
    ],
    "scales": [
        {"of": {"mode": ["linear"]}, "forms": LINEAR},
        {"of": ALIASED, "forms": CUBIC},
        {"of": {"mode": ["cubic"], "antialias": [1]}, "forms": PLANES},
    ],
}
RESIZED_TO_RUN = {
    "scales": [{"of": {**ALIASED, "T1": INTEGERS}, "if_resized": True, "forms": [[1, ">1", ">=1", 1]]}],
}
FLOAT8 = [f"tensor(float8{name})" for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")]
POOL = {"below": {"pads": "kernel_shape"}}
OTHERS = ["bool", "string", "bfloat16", "double", "float", "float16"]
OTHERS += [sign + size for sign in ("int", "uint") for size in ("2", "4", "8", "16", "32", "64")]
CAST = [
    {"round_mode": ["down", "nearest"]},
    {"saturate": [0], "T2": [f"tensor({name})" for name in OTHERS]},
]
FIRST, ALL = {"operands": "first"}, {"operands": "all"}
REQUIRES = {
    ("", "Affine"): GONE,
    ("", "Cast"): {"excludes": CAST},
    ("", "Concat"): FIRST,
    ("", "ConstantOfShape"): {"excludes": [{"T2": FLOAT8}]},
    ("", "Crop"): GONE,
    ("", "CumSum"): {"values": {"exclusive": [0, 1], "reverse": [0, 1]}},
    ("", "DynamicSlice"): GONE,
    ("", "Einsum"): FIRST,
    ("", "AveragePool"): POOL,
    ("", "GRU"): RECURRENT,
    ("", "ImageScaler"): GONE,
    ("", "LRN"): {"positive": ["alpha", "beta"]},
    ("", "LSTM"): RECURRENT,
    ("", "Loop"): ALL,
    ("", "LpPool"): POOL,
    ("", "Max"): FIRST,
    ("", "MaxPool"): POOL,
    ("", "MaxRoiPool"): {"positive": ["spatial_scale"]},
    ("", "MaxUnpool"): POOL,
    ("", "Mean"): FIRST,
    ("", "Min"): FIRST,
    ("", "Mod"): {"values": {"fmod": [0, 1]}},
    ("", "NonMaxSuppression"): {"values": {"center_point_box": [0, 1]}},
    ("", "ParametricSoftplus"): {"attributes": ["alpha", "beta"], **GONE},
    ("", "RNN"): RECURRENT,
    ("", "RegexFullMatch"): {"attributes": ["pattern"]},
    ("", "Resize"): RESIZED,
    ("", "ScaledTanh"): {"attributes": ["alpha", "beta"], **GONE},
    ("", "Scan"): ALL,
    ("", "SequenceConstruct"): ALL,
    ("", "Sum"): FIRST,
    ("", "Upsample"): UPSAMPLED,
    ("ai.onnx.ml", "FeatureVectorizer"): {"nonempty": ["inputdimensions"]},
    ("ai.onnx.ml", "LinearClassifier"): {"nonempty": ["coefficients", "intercepts"]},
    ("ai.onnx.ml", "LinearRegressor"): {"attributes": ["coefficients"]},
    ("ai.onnx.ml", "SVMClassifier"): {"attributes": ["kernel_params"], "nonempty": ["coefficients", "rho"]},
    ("ai.onnx.ml", "SVMRegressor"): {"attributes": ["kernel_params"], "nonempty": ["coefficients", "rho"]},
    # Its attributes are not converted with an operand of `float16`.
    # The constants of its body are of `float`.
    ("", "MeanVarianceNormalization"): {
        "excludes": [{"T": ["tensor(bfloat16)", "tensor(double)", "tensor(float16)"]}]
    },
    ("ai.onnx.ml", "TreeEnsemble"): {"excludes": [{"T": ["tensor(float16)"]}]},
    ("ai.onnx.ml", "Scaler"): {"nonempty": ["offset", "scale"]},
    ("com.microsoft", "FusedGemm"): {"attributes": ["activation"]},
    ("com.microsoft", "NhwcMaxPool"): POOL,
    ("com.microsoft", "QLinearAveragePool"): POOL,
    ("com.microsoft.nchwc", "AveragePool"): POOL,
    ("com.microsoft.nchwc", "MaxPool"): POOL,
}

# What nodes need beyond that in each run that has elements to compute. Kernels of `double` are registered, and every run of them fails.
SINGLE = {"excludes": [{"T": ["tensor(double)"]}]}
SPATIAL = {"ranks": {"X": [3, 4, 5]}}
REQUIRES_TO_RUN = {
    ("", "AveragePool"): SPATIAL,
    ("", "GRU"): SINGLE,
    ("", "GlobalAveragePool"): SPATIAL,
    ("", "GlobalLpPool"): SPATIAL,
    ("", "GlobalMaxPool"): SPATIAL,
    ("", "GridSample"): {"ranks": {"X": [4, 5]}, "excludes": [{"X": [5], "mode": ["cubic"]}]},
    ("", "LRN"): {"ranks": {"X": [4]}},
    ("", "LSTM"): SINGLE,
    ("", "LpPool"): SPATIAL,
    ("", "MaxPool"): SPATIAL,
    ("", "MaxUnpool"): SPATIAL,
    ("", "Resize"): RESIZED_TO_RUN,
}

# Operators that it has in versions in which ONNX has none. A function with a layer normalization ends the process.
EXPERIMENTAL = ["LayerNormalization", "ThresholdedRelu"]

# What it loads although the specification forbids it. Of a loss, the reduction is compared with two texts only. A constant of the
# main graph becomes an initializer before anything is checked: its first known attribute counts, its declaration does not. In nested
# graphs, less is tolerated.
# It reads neither training information nor configurations of devices.
TOLERATES = [
    "ONNX1009",
    "ONNX2002",
    "ONNX2004",
    "ONNX2010",
    "ONNX2020",
    "ONNX2312",
    "ONNX2556",
    "ONNX2650",
    "ONNX2701",
    "ONNX2702",
    "ONNX2703",
    "ONNX2704",
    "ONNX2705",
    "ONNX2801",
    "ONNX2802",
    "ONNX2803",
    "ONNX2804",
    "ONNX2850",
    "ONNX2851",
    "ONNX2852",
    "ONNX2853",
    "ONNX2854",
    "ONNX2901",
    "ONNX3025",
    {"rule": "ONNX1004", "in": ["initializers"]},
    {"rule": "ONNX2101", "in": ["initializers"]},
    {"rule": "ONNX2103", "in": ["main-graph"]},
    {"rule": "ONNX2201", "in": ["main-graph"]},
    {"rule": "ONNX2203", "in": ["initializers"]},
    {"rule": "ONNX2302", "in": ["main-graph"]},
    {"rule": "ONNX2303", "in": ["main-graph"], "operators": EXPERIMENTAL},
    {"rule": "ONNX2303", "operators": EXPERIMENTAL[1:]},
    {"rule": "ONNX2311", "in": ["functions"]},
    {"rule": "ONNX2311", "in": ["main-graph"], "operators": ["Constant"]},
    {"rule": "ONNX2401", "in": ["main-graph", "functions"], "operators": ["Constant"]},
    {"rule": "ONNX2411", "operators": ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"]},
    {"rule": "ONNX3016", "in": ["main-graph"], "operators": ["Constant"]},
]

# Contradictions that its inference does not look for, found by loading mutants of nodes: only a run fails.
OVERLOOKS = {
    "ONNX3004": [
        "Compress", "ConstantOfShape", "Conv", "Expand", "GRU", "GatherElements", "GroupNormalization", "Hardmax",
        "InstanceNormalization", "LSTM", "MaxUnpool", "Mean", "NonMaxSuppression", "QLinearConv", "RNN", "ReduceL1",
        "ReduceL2", "ReduceLogSum", "ReduceMax", "ReduceSum", "ReduceSumSquare", "Reshape", "Resize", "Scatter",
        "ScatterElements", "ScatterND", "Slice", "Split", "Squeeze", "Unsqueeze",
    ],
    "ONNX3005": [
        "ArgMax", "ArgMin", "Compress", "Concat", "CumSum", "Flatten", "GatherElements", "LpNormalization",
        "MeanVarianceNormalization", "OneHot", "QuantizeLinear", "ReduceLogSumExp", "ReduceMin", "ReduceProd",
    ],
    "ONNX3007": [
        "AffineGrid", "Attention", "BatchNormalization", "Clip", "Conv", "ConvInteger", "ConvTranspose", "CumSum",
        "DeformConv", "DepthToSpace", "DequantizeLinear", "GRU", "GatherElements", "GroupNormalization",
        "HammingWindow", "HannWindow", "InstanceNormalization", "LSTM", "Loop", "MaxUnpool", "MelWeightMatrix",
        "NonMaxSuppression", "Pad", "QLinearConv", "QuantizeLinear", "RNN", "Range", "ReverseSequence", "Scatter",
        "ScatterElements", "ScatterND", "SpaceToDepth", "ai.onnx.ml::FeatureVectorizer",
    ],
    "ONNX3008": [
        "Gemm", "LayerNormalization", "RMSNormalization",
    ],
    "ONNX3009": [
        "AveragePool", "CenterCropPad", "Conv", "ConvInteger", "LpPool", "MaxPool", "Pad",
    ],
    "ONNX3010": [
        "Reshape",
    ],
    "ONNX3011": [
        "Split", "Transpose",
    ],
    "ONNX3012": [
        "Gather", "Range", "STFT",
    ],
}


def loads(model):
    """Whether a session can be created."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return True
    except Exception:  # The classes of its errors are not public.
        return False


def identity(ir_version, opset, others=()):
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    imports = [onnx.helper.make_opsetid("", opset)] + [onnx.helper.make_opsetid(*other) for other in others]
    return onnx.helper.make_model(graph, ir_version=ir_version, opset_imports=imports)


def greatest(is_supported, least):
    found = least
    while is_supported(found + 1):
        found += 1
    return found


def unused_arguments(names):
    """The types of arguments that a function need not use, of those that inputs can have."""
    element = {value.lower(): number for value, number in onnx.TensorProto.DataType.items()}
    taken = []
    for name in names:
        found = re.fullmatch(r"(seq\()?tensor\((\w+)\)\)?", name)
        if not found:
            continue
        make = onnx.helper.make_tensor_sequence_value_info if found[1] else onnx.helper.make_tensor_value_info
        body = [onnx.helper.make_node("Constant", [], ["y"], value_int=1)]
        function = onnx.helper.make_function("f", "F", ["x"], ["y"], body, [onnx.helper.make_opsetid("", 17)])
        y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [])
        call = onnx.helper.make_node("F", ["x"], ["y"], domain="f")
        graph = onnx.helper.make_graph([call], "g", [make("x", element[found[2]], None)], [y])
        imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("f", 1)]
        model = onnx.helper.make_model(graph, functions=[function], ir_version=10, opset_imports=imports)
        if loads(model):
            taken.append(name)
    return taken


def types():
    """The types of inputs with which a model is loaded."""
    helper, names = onnx.helper, {}
    elems = {name.lower(): value for name, value in onnx.TensorProto.DataType.items() if value}
    for name, value in elems.items():
        tensor = helper.make_tensor_type_proto(value, [1])
        names[f"tensor({name})"] = tensor
        names[f"sparse_tensor({name})"] = helper.make_sparse_tensor_type_proto(value, [1])
        names[f"seq(tensor({name}))"] = helper.make_sequence_type_proto(tensor)
        for key, number in elems.items():
            names[f"map({key}, tensor({name}))"] = helper.make_map_type_proto(number, tensor)
    for name, proto in list(names.items()):
        if name.startswith("map"):
            names[f"seq({name})"] = helper.make_sequence_type_proto(proto)
        elif not name.startswith("sparse"):
            names[f"optional({name})"] = helper.make_optional_type_proto(proto)
    known = []
    for name, proto in names.items():
        model = identity(ir_version, opset)
        model.graph.input.append(onnx.ValueInfoProto(name="z", type=proto))
        if loads(model):
            known.append(name)
    return sorted(known)


def kernels():
    """The ranges of versions of each operator, and the types of each combination of kernels."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for kernel in state.get_all_opkernel_def():
        if kernel.provider != "CPUExecutionProvider":
            continue
        since, until = kernel.version_range
        # A kernel without an end serves the version of its beginning only, as later ones may mean something else.
        until = since if until == UNBOUNDED else until
        types = {name: sorted(set(names)) for name, names in kernel.type_constraints.items()}
        found[(kernel.domain, kernel.op_name)][(since, until)].append(types)
    return found


def constants(opset):
    """The versions of `Constant` with their element types. It has no kernel, as loading makes it an initializer."""
    rows = []
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda schema: schema.since_version):
        if schema.domain or schema.name != "Constant" or schema.since_version > opset:
            continue
        names = []
        for constraint in schema.type_constraints:
            for name in sorted(constraint.allowed_type_strs):
                kind = getattr(onnx.TensorProto, name[len("tensor("):-1].upper(), None) if name.startswith("tensor(") else None
                if kind is None:
                    continue
                value = onnx.TensorProto(data_type=kind, dims=[0])
                node = onnx.helper.make_node("Constant", [], ["y"], value=value)
                y = onnx.helper.make_tensor_value_info("y", kind, [0])
                graph = onnx.helper.make_graph([node], "g", [], [y])
                imports = [onnx.helper.make_opsetid("", schema.since_version)]
                if loads(onnx.helper.make_model(graph, ir_version=ir_version, opset_imports=imports)):
                    names.append(name)
        if names:
            rows.append({"since": schema.since_version, "until": schema.since_version, "types": [{"T": names}]})
    return rows


def merged(combinations):
    """The combinations, with those joined that differ in one variable only."""
    changed = True
    while changed:
        changed = False
        for a in range(len(combinations)):
            for b in range(a + 1, len(combinations)):
                one, two = combinations[a], combinations[b]
                if one.keys() != two.keys():
                    continue
                different = [name for name in one if one[name] != two[name]]
                if len(different) <= 1:
                    for name in different:
                        one[name] = sorted(set(one[name]) | set(two[name]))
                    del combinations[b]
                    changed = True
                    break
            if changed:
                break
    return sorted(combinations, key=lambda types: json.dumps(types, sort_keys=True))


ir_version = greatest(lambda version: loads(identity(version, 17)), 8)
opset = greatest(lambda version: loads(identity(ir_version, version)), 17)
domains = {}
for schema in onnx.defs.get_all_schemas_with_history():
    if schema.domain and schema.domain.startswith("ai.onnx."):
        domains[schema.domain] = max(domains.get(schema.domain, 0), schema.since_version)
bounds = {"": opset, "ai.onnx.ml": 5 if "ai.onnx.ml" not in domains else domains["ai.onnx.ml"]}
for domain in DOMAINS:
    bounds[domain] = greatest(lambda version: loads(identity(ir_version, 17, [(domain, version)])), 1)
operators = []
for (domain, name), ranges in sorted(kernels().items()):
    rows = []
    for (since, until), combinations in sorted(ranges.items()):
        rows.append({"since": since, "until": until, "types": merged(combinations)})
    operators.append({"domain": domain, "name": name, "kernels": rows})
operators.append({"domain": "", "name": "Constant", "kernels": constants(opset)})
operators.sort(key=lambda operator: (operator["domain"], operator["name"]))
for operator in operators:
    for key, table in (("requires", REQUIRES), ("requires_to_run", REQUIRES_TO_RUN)):
        requires = table.pop((operator["domain"], operator["name"]), None)
        if requires:
            operator[key] = requires
if REQUIRES or REQUIRES_TO_RUN:
    sys.exit(f"kernels of {sorted({**REQUIRES, **REQUIRES_TO_RUN})} are missing")
target = {
    "schema": "onnx-target/1",
    "name": "onnxruntime",
    "version": onnxruntime.__version__,
    "summary": "onnxruntime on a CPU",
    "ir_version": ir_version,
    "opset": bounds,
    "types": types(),
    "unused_arguments": unused_arguments(types()),
    # An operator without a kernel runs as its body, if the standard or the model has one.
    "expands_functions": True,
    # It infers all graphs, then folds constants, which drops the branches that are not taken, and then looks for kernels.
    "infers_all_graphs": True,
    "overlooks": [{"rule": rule, "operators": operators} for rule, operators in OVERLOOKS.items()],
    "drops_branches": True,
    # A kernel for the second type serves the first, between casts that the runtime inserts.
    "casts": [["float16", "float"]],
    # It sorts the nodes of the main graph, merges declared and inferred sizes with a warning, runs each function with its own imports,
    # and does not read what the others are about.
    "tolerates": TOLERATES,
    # Inputs of bodies with an initializer, names of nodes given twice, and undefined types.
    "refuses": ["ONNX2105", "ONNX2205", "ONNX2902"],
}
lines = [json.dumps(target, indent=1)[:-2] + ",", ' "operators": [']
lines.append(",\n".join("  " + json.dumps(operator) for operator in operators))
lines.append(" ]\n}")
FILE.write_text("\n".join(lines) + "\n")
