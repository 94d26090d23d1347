"""Runs small models with the reference evaluator for several sizes of their dimension variables, and writes down the
shapes of all values:

    execute.py CORPUS OUT

CORPUS is a folder of recorded cases; its models whose input sizes are names are run (suite `backend-symbolic`). OUT gets
one line of JSON for each model: {"case", "runs": [{"bindings", "values": {name: [dtype, shape]}}]}. A run that fails says
nothing and is left out. The evaluator computes with inputs that an operator does not take as well, as far as numpy can;
such runs are left out, too: strict inference of the model with the sizes of the run must accept it, and so must
onnxruntime, where it is installed and knows the operators. What operators ask of their inputs and neither of the two
looks at is in `CONSTRAINTS`. Inputs are those of the original test, repeated or cut to the sizes, so that indices and the
like stay in their ranges. At the end it says how many models ran, and why others did not.
"""

import collections
import json
import os
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

warnings.filterwarnings("ignore")
# The most elements of an input, and the most bytes of a model.
LARGEST = 4_000_000
LARGEST_MODEL = 64 << 20


def originals(corpus):
    """The recorded inputs of the official tests, by the name of the test."""
    found = {}
    for path in sorted((corpus / "backend").glob("*/*")):
        tensors = []
        for index in range(64):
            file = path / "test_data_set_0" / f"input_{index}.pb"
            if not file.exists():
                break
            tensors.append(file.read_bytes())
        found[path.name] = tensors
    return found


def tensor_of(data):
    tensor = TensorProto()
    tensor.ParseFromString(data)
    return numpy_helper.to_array(tensor)


def bindings_of(sizes, is_checked):
    """The sizes to try: the original ones, all 0, all 1, all larger, and individual ones 0 or 1.

    Where nothing but the evaluator says whether a run is valid, sizes that are equal in the original stay equal.
    """
    tried = []
    names = list(sizes)
    groups = [[n] for n in names] if is_checked else []
    groups += [[n for n in names if sizes[n] == size] for size in sorted(set(sizes.values()))]
    candidates = [dict(sizes), {n: 1 for n in names}, {n: 0 for n in names}, {n: s + 1 for n, s in sizes.items()}]
    for size in (1, 0):
        candidates += [{**sizes, **{n: size for n in group}} for group in groups[:8]]
    for candidate in candidates:
        if candidate not in tried:
            tried.append(candidate)
    return tried


def shape_of(info, bindings):
    dims = []
    for dim in info.type.tensor_type.shape.dim:
        if dim.WhichOneof("value") == "dim_value":
            dims.append(dim.dim_value)
        elif dim.dim_param in bindings:
            dims.append(bindings[dim.dim_param])
        else:
            return None
    return dims


def resized(array, shape):
    if list(array.shape) == shape:
        return array
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    return np.resize(array, shape).astype(array.dtype)


def sizes_of(inputs, arrays):
    """The original sizes of the dimension variables; `None` if the inputs do not fit together."""
    sizes = {}
    for info, array in zip(inputs, arrays):
        dims = info.type.tensor_type.shape.dim
        if info.type.WhichOneof("value") != "tensor_type" or len(dims) != array.ndim:
            return None
        for dim, size in zip(dims, array.shape):
            if dim.dim_param:
                sizes.setdefault(dim.dim_param, size)
    return sizes


def heads_divide(node, given, attributes):
    """Each head of keys and values serves as many heads of queries."""
    queries, keys, *_ = given
    if len(queries) == 4:
        heads, shared = queries[1], keys[1]
    else:
        heads, shared = attributes["q_num_heads"], attributes["kv_num_heads"]
    return shared > 0 and heads % shared == 0


def channels_agree(node, given, attributes):
    """There is one parameter for each channel."""
    channels = given[0][1] if len(given[0]) > 1 else 1
    return all(shape == [channels] for shape in given[1:])


def groups_agree(node, given, attributes):
    """There is one parameter for each channel, or for each group in early versions."""
    return given[1] == given[2] and given[1] in ([given[0][1]], [attributes["num_groups"]])


def states_agree(node, given, attributes):
    """All weights are for the same number of hidden units."""
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[node.op_type]
    hidden = given[2][2]
    return (
        attributes.get("hidden_size", hidden) == hidden and given[1][1] == gates * hidden == given[2][1]
    )


def blocks_agree(node, given, attributes):
    """Where scales are for blocks, there are as many as the axis has blocks."""
    values, scales = given[0], given[1]
    block = attributes.get("block_size", 0)
    if not block:
        return True
    axis = attributes.get("axis", 1) % len(values)
    wanted = list(values)
    wanted[axis] = -(-values[axis] // block)
    return scales == wanted


def state_fits(node, given, attributes):
    """The state has the heads of keys and values, and the sizes of both."""
    if len(given) < 4 or given[3] is None:
        return True
    heads = attributes["kv_num_heads"]
    return given[3] == [given[0][0], heads, given[1][2] // heads, given[2][2] // heads]


def state_stays(node, given, attributes, made):
    """The shape of a state does not change from slice to slice."""
    states = len(given) - attributes["num_scan_inputs"]
    return all(made[i] is None or made[i] == given[i] for i in range(states))


# Until version 6, the second input broadcasts to the first, and never vice versa.
ONE_WAY = {"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "PRelu", "Sub", "Xor"}

CONSTRAINTS = {
    "Attention": heads_divide,
    "BatchNormalization": channels_agree,
    "InstanceNormalization": channels_agree,
    "GroupNormalization": groups_agree,
    "RNN": states_agree,
    "GRU": states_agree,
    "LSTM": states_agree,
    "QuantizeLinear": blocks_agree,
    "DequantizeLinear": blocks_agree,
    "LinearAttention": state_fits,
}


def is_documented(model, shapes):
    """Whether the inputs of all nodes of the main graph are such as the specification of their operators asks for."""
    shapes = dict(shapes)
    for tensor in model.graph.initializer:
        shapes.setdefault(tensor.name, list(tensor.dims))
    is_early = any(opset.domain == "" and opset.version < 7 for opset in model.opset_import)
    for node in model.graph.node:
        given = [shapes.get(name) for name in node.input]
        made = [shapes.get(name) for name in node.output]
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        if node.op_type == "Scan":
            if "num_scan_inputs" in attributes and not state_stays(node, given, attributes, made):
                return False
        elif is_early and node.op_type in ONE_WAY and made[0] != given[0]:
            return False
        elif node.op_type in CONSTRAINTS and not CONSTRAINTS[node.op_type](node, given, attributes):
            return False
    return True


def session_of(model):
    """The runtime that runs the model in addition to the evaluator, or `None`."""
    if onnxruntime is None:
        return None
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except Exception:  # It does not know the operators.
        return None


def is_valid(model, session, feeds, outputs):
    """Whether others accept the run as well, and get the same shapes."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    del fixed.graph.value_info[:]
    for info in fixed.graph.input:
        if info.name in feeds:
            shape = info.type.tensor_type.shape
            for dim, size in zip(shape.dim, feeds[info.name].shape):
                dim.dim_value = size
    shape_inference.infer_shapes(fixed, check_type=True, strict_mode=True, data_prop=True)
    if session is None:
        return True
    names = [output.name for output in session.get_outputs()]
    results = session.run(names, feeds)
    return all(
        not isinstance(result, np.ndarray) or list(result.shape) == outputs[name][1]
        for name, result in zip(names, results)
        if name in outputs
    )


def observed(model, session, inputs, arrays, bindings):
    feeds = {}
    for info, array in zip(inputs, arrays):
        shape = shape_of(info, bindings)
        if shape is None or np.prod(shape, dtype=np.float64) > LARGEST:
            return None
        feeds[info.name] = resized(array, shape)
    values = ReferenceEvaluator(model).run(None, feeds, intermediate=True)
    shapes = {}
    for name, value in values.items():
        if name and isinstance(value, np.ndarray):
            dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
            shapes[name] = [TensorProto.DataType.Name(dtype).lower(), list(value.shape)]
    known = {name: shape for name, (_, shape) in shapes.items()}
    if not is_documented(model, known | {name: list(array.shape) for name, array in feeds.items()}):
        return None
    return shapes if is_valid(model, session, feeds, shapes) else None


def run(model, data):
    known = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in known]
    arrays = [tensor_of(piece) for piece in data]
    if len(inputs) != len(arrays):
        return "the test has not the inputs of the model"
    sizes = sizes_of(inputs, arrays)
    if sizes is None:
        return "an input is not a tensor"
    if not sizes:
        return "no size is a name"
    session = session_of(model)
    runs, problem = [], None
    for bindings in bindings_of(sizes, session is not None):
        try:
            values = observed(model, session, inputs, arrays, bindings)
        except Exception as error:  # A run that fails says nothing.
            problem = problem or f"every run fails, the first one with {type(error).__name__}"
            continue
        if values:
            runs.append({"bindings": bindings, "values": values})
    return runs or problem or "no run is valid"


def apart(model, data):
    """`run` in a separate process: a runtime that aborts must not end this one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "w", encoding="utf-8") as pipe:
                json.dump(run(model, data), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    try:
        return json.loads(text)
    except ValueError:
        return "the process ended early"


def main(corpus, out):
    corpus = pathlib.Path(corpus)
    data = originals(corpus)
    seen = set()
    reasons = collections.Counter()
    with open(out, "w", encoding="utf-8") as file:
        for manifest in sorted(corpus.glob("manifest*.jsonl")):
            for line in manifest.read_text(encoding="utf-8").splitlines():
                case = json.loads(line)
                if case["suite"] != "backend-symbolic":
                    continue
                blob = case["inputs"][0]["blob"]
                name = case["test_id"].split("#")[0].rsplit("/", 1)[-1]
                if blob in seen or name not in data:
                    continue
                seen.add(blob)
                model = onnx.load_from_string((corpus / "blobs" / f"{blob}.bin").read_bytes())
                if model.ByteSize() > LARGEST_MODEL:
                    reasons["the model is large"] += 1
                    continue
                runs = apart(model, data[name])
                if isinstance(runs, str):
                    reasons[runs] += 1
                else:
                    file.write(json.dumps({"case": case["id"], "model": blob, "runs": runs}) + "\n")
                    reasons["it ran"] += 1
    for reason, count in reasons.most_common():
        print(f"{count} models: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
