"""Simplifiers side by side on real models: seconds, nodes, and whether the result computes the same as the model.

    simplifiers.py COMMAND FOLDER MODEL...

COMMAND is the command `onnx` of this project, whose seconds include reading, writing and its start; FOLDER takes the results. Prints an object: by the name of the
model, the number of nodes before, and by tool the seconds, the number of nodes and a verdict:

    equal       the outputs are those of the model, in onnxruntime without optimization, at every size that was tried
    different   they are not
    invalid     onnxruntime does not load or run the result, but the model
    interface   names, types or dimensions of inputs or outputs were changed
    failed      the tool reported an error or its process ended
    slow        it took longer than the limit
    uncompared  onnxruntime does not run the model, or not twice with the same outputs

Sizes are those of `MODEL.truth.json` next to the model if there is one; otherwise each free dimension is 2.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import time

import numpy
import onnx
import onnxoptimizer
import onnxruntime
import onnxscript.optimizer
import onnxsim
import onnxslim
from onnx import helper

# How many seconds a tool may take for one model.
LONGEST = 60

# How far outputs of a floating-point type may differ, relative to the largest element.
TOLERANCE = 1e-3


def basic(path, out):
    """What onnxruntime does at its basic level."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = out
    options.log_severity_level = 4
    onnxruntime.InferenceSession(path, options)


TOOLS = {
    "onnxsim": lambda model: onnxsim.simplify(model)[0],
    "onnxslim": onnxslim.slim,
    "onnxscript": onnxscript.optimizer.optimize,
    "onnxoptimizer": onnxoptimizer.optimize,
    "onnxruntime": None,
}


def simplify(tool, path, out):
    """Writes what a tool makes of a model; returns how many seconds it took, without reading and writing."""
    if tool == "onnxruntime":
        start = time.perf_counter()
        basic(path, out)
        return time.perf_counter() - start
    model = onnx.load(path)
    start = time.perf_counter()
    made = TOOLS[tool](model)
    took = time.perf_counter() - start
    onnx.save(made, out)
    return took


def nodes(graph):
    """The number of nodes without `Constant`, those of nested graphs included."""
    count = 0
    for node in graph.node:
        count += node.op_type != "Constant"
        for attribute in node.attribute:
            for nested in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                count += nodes(nested)
    return count


def interface(model):
    """The inputs and the outputs of a model, each with its element type and dimensions; 0 is an unknown one."""
    made = {value.name for value in model.graph.initializer}

    def shown(value):
        if value.type.WhichOneof("value") != "tensor_type":
            return value.name, value.type.WhichOneof("value"), None
        tensor = value.type.tensor_type
        dims = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
        return value.name, tensor.elem_type, dims if tensor.HasField("shape") else None

    inputs = [shown(value) for value in model.graph.input if value.name not in made]
    return inputs, [shown(value) for value in model.graph.output]


def keeps_interface(before, after):
    """Whether callers see the same; an unknown dimension may get a name, and what is unknown about outputs may become known."""
    (inputs, outputs), (new_inputs, new_outputs) = interface(before), interface(after)
    return (
        len(inputs) == len(new_inputs)
        and len(outputs) == len(new_outputs)
        and all(is_same(a, b, is_output=False) for a, b in zip(inputs, new_inputs))
        and all(is_same(a, b, is_output=True) for a, b in zip(outputs, new_outputs))
    )


def is_same(before, after, is_output):
    if before[:2] != after[:2]:
        return False
    if before[2] is None or after[2] is None:
        return before[2] is None and (is_output or after[2] is None)
    dims = zip(before[2], after[2])
    same = all(a == b or (a == 0 and (is_output or isinstance(b, str))) for a, b in dims)
    return same and len(before[2]) == len(after[2])


def feeds(path, model):
    """Inputs at some sizes."""
    truth = path[: -len(".onnx")] + ".truth.json"
    if os.path.exists(truth):
        with open(truth, encoding="utf-8") as file:
            runs = [run["inputs"] for run in json.load(file)["runs"] if "error" not in run]
    else:
        made = {value.name for value in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in made]
        tensors = {value.name: value.type.tensor_type for value in inputs}
        shape = lambda tensor: [dim.dim_value if dim.HasField("dim_value") else 2 for dim in tensor.shape.dim]
        runs = [{name: [None, shape(tensor)] for name, tensor in tensors.items()}]
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    random = numpy.random.default_rng(7)
    for run in runs:
        yield {name: elements(random, types[name], shape) for name, (_, shape) in run.items()}


def elements(random, elem, shape):
    dtype = helper.tensor_dtype_to_np_dtype(elem)
    if elem == onnx.TensorProto.STRING:
        return numpy.full(shape, "a", dtype=object)
    if numpy.issubdtype(dtype, numpy.floating):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options)


def is_close(a, b):
    if isinstance(a, (list, dict)) or a is None:
        return json.dumps(a, default=str) == json.dumps(b, default=str)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not numpy.issubdtype(a.dtype, numpy.floating):
        return numpy.array_equal(a, b)
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    finite = numpy.abs(a[numpy.isfinite(a)])
    return numpy.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * finite.max(initial=1e-3), equal_nan=True)


def verdicts(path, results):
    """A verdict for each result by its name; the model is run once more to see whether it computes the same twice."""
    model = onnx.load(path)
    found, runs = {}, []
    try:
        original = session(path)
        for feed in feeds(path, model):
            expected = original.run(None, feed)
            if all(map(is_close, expected, original.run(None, feed))):
                runs.append((feed, expected))
    except Exception:  # It raises all kinds.
        pass
    for tool, result in results.items():
        after = onnx.load(result)
        found[tool] = {"nodes": nodes(after.graph)}
        if not keeps_interface(model, after):
            found[tool]["verdict"] = "interface"
            continue
        found[tool]["verdict"] = "equal" if runs else "uncompared"
        try:
            optimized = session(result) if runs else None
            for feed, expected in runs:
                if not all(map(is_close, expected, optimized.run(None, feed))):
                    found[tool]["verdict"] = "different"
        except Exception:
            found[tool]["verdict"] = "invalid"
    return found


def apart(work, *args, limit):
    """Runs a function in a separate process: the returned value, or why there is none."""
    queue = multiprocessing.get_context("fork").Queue()

    def run():
        # Tools print; so do processes that a tool ends.
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        queue.put(work(*args))

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if not queue.empty():
            return queue.get(), None
        if not process.is_alive():
            return (queue.get(), None) if not queue.empty() else (None, "failed")
        time.sleep(0.02)
    process.kill()
    return None, "slow"


def ours(command, path, out):
    """Simplifies with this project."""
    start = time.perf_counter()
    ended = subprocess.run([command, "simplify", path, "-o", out, "--force"], capture_output=True, timeout=LONGEST)
    return time.perf_counter() - start, "failed" if ended.returncode else None


def compare(command, folder, path):
    """Everything about one model."""
    name = os.path.basename(path)[: -len(".onnx")]
    found, results = {}, {}
    for tool in ["ours", *TOOLS]:
        out = os.path.join(folder, f"{tool}.onnx")
        if tool == "ours":
            took, problem = ours(command, path, out)
        else:
            took, problem = apart(simplify, tool, path, out, limit=LONGEST)
        found[tool] = {"verdict": problem} if problem else {"seconds": took}
        if not problem:
            results[tool] = out
    compared, problem = apart(verdicts, path, results, limit=10 * LONGEST)
    for tool in results:
        found[tool].update(compared[tool] if compared else {"verdict": "uncompared"})
    for result in results.values():
        os.remove(result)
    found["before"] = nodes(onnx.load(path, load_external_data=False).graph)
    print(name, json.dumps(found), file=sys.stderr, flush=True)
    return name, found


def main(command, folder, *paths):
    os.makedirs(folder, exist_ok=True)
    print(json.dumps(dict(compare(command, folder, path) for path in paths)))


main(*sys.argv[1:])
