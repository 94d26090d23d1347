"""Runs models with onnxruntime and the reference for `cargo xtask bench --peers`, and prints the samples as a JSON object.

onnxruntime runs without optimization and with one thread. Times are processor times in nanoseconds, sizes in bytes.

    evaluate.py prepare MODEL FOLDER
    evaluate.py run FOLDER ROUNDS REFERENCE_ROUNDS
    evaluate.py held FOLDER
"""

import collections
import gc
import json
import os
import pathlib
import sys
import time
import zlib

# Before numpy is loaded, which reads it once.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

SAMPLES = collections.defaultdict(list)


def prepare(path, folder):
    """Writes a model with weights that are not zero, and inputs for it."""
    model = onnx.load(path)
    random = np.random.default_rng(zlib.crc32(pathlib.Path(path).name.encode()))
    fill(model.graph, random)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    onnx.save(model, folder / "model.onnx")
    weights = {weight.name for weight in model.graph.initializer}
    for index, entry in enumerate(model.graph.input):
        if entry.name not in weights:
            array = value(entry, sizes(path), random)
            (folder / f"input_{index}.pb").write_bytes(numpy_helper.from_array(array, entry.name).SerializeToString())
    session(folder).run(None, feeds(folder, model))


def fill(graph, random):
    """Gives numbers to float weights that are all zeros, as in collections of models that are distributed without weights:
    vectors may be variances, and matrices keep activations in range."""
    for weight in graph.initializer:
        if weight.data_type not in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE):
            continue
        array = numpy_helper.to_array(weight)
        if array.size < 2 or array.any():
            continue
        if array.ndim == 1:
            filled = random.uniform(0.5, 1.5, array.shape)
        else:
            fan_in = array.size // array.shape[0] if array.ndim > 2 else array.shape[0]
            filled = random.standard_normal(array.shape) * np.sqrt(2 / max(1, fan_in))
        weight.CopyFrom(numpy_helper.from_array(filled.astype(array.dtype), weight.name))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                fill(attribute.g, random)


def sizes(path):
    """Sizes of the inputs by name: those of the first run in `NAME.truth.json` next to the model, if there is one."""
    path = pathlib.Path(path).with_suffix(".truth.json")
    if not path.exists():
        return {}
    runs = [run for run in json.loads(path.read_text())["runs"] if "error" not in run]
    return {name: shape for name, (_, shape) in runs[0]["inputs"].items()} if runs else {}


def value(entry, known, random):
    """A value for an input: floats in [-1, 1), ones for integers, which are valid indices, lengths and masks."""
    tensor = entry.type.tensor_type
    shape = known.get(entry.name) or [dim.dim_value or 1 for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if np.issubdtype(dtype, np.floating):
        return random.uniform(-1, 1, shape).astype(dtype)
    return np.ones(shape, dtype)


def feeds(folder, model):
    """The inputs in a folder by name."""
    entries = ((entry.name, folder / f"input_{index}.pb") for index, entry in enumerate(model.graph.input))
    tensors = ((name, onnx.TensorProto.FromString(path.read_bytes())) for name, path in entries if path.exists())
    return {name: numpy_helper.to_array(tensor) for name, tensor in tensors}


def session(folder):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, ["CPUExecutionProvider"])


def timed(name, run):
    gc.collect()
    gc.disable()
    start = time.thread_time_ns()
    made = run()
    SAMPLES[name].append(time.thread_time_ns() - start)
    gc.enable()
    return made


def run(folder, rounds, reference_rounds):
    """Runs a model with both; the first round of each is not counted, except that of a single one of the reference, which
    takes seconds."""
    model = onnx.load(folder / "model.onnx")
    inputs = feeds(folder, model)
    runtime = session(folder)
    runtime.run(None, inputs)
    for _ in range(rounds):
        timed("run", lambda: runtime.run(None, inputs))
    if not reference_rounds:
        return
    from onnx.reference import ReferenceEvaluator

    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(model)
            for _ in range(reference_rounds):
                timed("reference", lambda: evaluator.run(None, inputs))
    except Exception as error:  # It lacks operators; a model that it cannot run has no time.
        print(f"the reference gave up: {error!r}", file=sys.stderr)


def held(folder):
    """Opens a model and runs it once; what Python takes is not counted."""
    inputs = feeds(folder, onnx.load(folder / "model.onnx", load_external_data=False))
    gc.collect()
    # The counter of the maximum starts again at what is resident now.
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = status("VmHWM")
    made = session(folder).run(None, inputs)
    SAMPLES["held-peak"].append(status("VmHWM") - before)
    del made


def status(key):
    """A line of /proc/self/status in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    raise LookupError(key)


def main(command, *args):
    if command == "prepare":
        prepare(*args)
    elif command == "run":
        run(pathlib.Path(args[0]), int(args[1]), int(args[2]))
    elif command == "held":
        held(pathlib.Path(args[0]))
    print(json.dumps(SAMPLES))


main(*sys.argv[1:])
