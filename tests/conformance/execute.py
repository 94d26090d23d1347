"""Runs small models with the reference evaluator for several sizes of their dimension variables, and writes down the
shapes of all values:

    execute.py CORPUS OUT

CORPUS is a folder of recorded cases; its models whose input sizes are names are run (suite `backend-symbolic`). OUT gets
one line of JSON for each model: {"case", "runs": [{"bindings", "values": {name: [dtype, shape]}}]}. A run that fails says
nothing and is left out. The evaluator computes with inputs that an operator does not take as well, as far as numpy can;
such runs are left out, too: strict inference of the model with the sizes of the run must accept it, and so must
onnxruntime, where it is installed and knows the operators. Inputs are those of the original test, repeated or cut to the sizes, so that indices and the like
stay in their ranges.
"""

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
LARGEST = 4_000_000


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
    """The sizes to try: the original ones, all 0, all 1, all larger, and some of them 0 or 1 alone.

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
    """The original sizes of the dimension variables; nothing where the inputs do not fit together."""
    sizes = {}
    for info, array in zip(inputs, arrays):
        dims = info.type.tensor_type.shape.dim
        if info.type.WhichOneof("value") != "tensor_type" or len(dims) != array.ndim:
            return None
        for dim, size in zip(dims, array.shape):
            if dim.dim_param:
                sizes.setdefault(dim.dim_param, size)
    return sizes


def session_of(model):
    """What runs the model besides the evaluator, if anything does."""
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
    return shapes if is_valid(model, session, feeds, shapes) else None


def run(model, data):
    known = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in known]
    arrays = [tensor_of(piece) for piece in data]
    if len(inputs) != len(arrays):
        return []
    sizes = sizes_of(inputs, arrays)
    session = session_of(model)
    runs = []
    for bindings in bindings_of(sizes, session is not None) if sizes else []:
        try:
            values = observed(model, session, inputs, arrays, bindings)
        except Exception:  # A run that fails says nothing.
            continue
        if values:
            runs.append({"bindings": bindings, "values": values})
    return runs


def apart(model, data):
    """`run` in a process of its own: a runtime that aborts must not end everything."""
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
    except ValueError:  # The process ended early.
        return []


def main(corpus, out):
    corpus = pathlib.Path(corpus)
    data = originals(corpus)
    seen = set()
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
                runs = apart(model, data[name])
                if runs:
                    file.write(json.dumps({"case": case["id"], "model": blob, "runs": runs}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
