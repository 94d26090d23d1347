"""Fills the weights of real models and runs them with onnxruntime, for the suite `models-eval`.

Questions and answers have the form of `peer.py`. There are two questions:

    {"fill": path, "to": path}
    {"run": path, "values": [[name, kind, length]], "inner": bool}

The first one writes the model with numbers in place of large weights that are zeros, and with all data in one file. The
second one runs a model on the values whose messages follow; its answer is {"names": [name], "outputs": [[kind, length]]},
followed by the messages, of the outputs or, with `inner`, of all values of nodes of the main graph.
"""

import json
import pathlib
import zlib

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import onnxruntime

from peer import KINDS, serve, to_message, to_python

onnxruntime.set_default_logger_severity(4)
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)


def initializers(graph):
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            for nested in [attribute.g, *attribute.graphs]:
                yield from initializers(nested)


def fill(path, to):
    """Vectors become uniform in [0.5, 1.5], as they may be variances; zeros of more axes normal with variance 2 / inputs."""
    model = onnx.load(path)
    state = np.random.default_rng(zlib.crc32(pathlib.Path(path).name.encode()))
    for tensor in initializers(model.graph):
        if tensor.data_type not in FLOATS:
            continue
        array = numpy_helper.to_array(tensor)
        if array.size < 2 or (array.ndim > 1 and array.any()):
            continue
        if array.ndim == 1:
            filled = state.uniform(0.5, 1.5, array.shape)
        else:
            inputs = array.size // array.shape[0] if array.ndim > 2 else array.shape[0]
            filled = state.standard_normal(array.shape) * np.sqrt(2 / max(1, inputs))
        tensor.CopyFrom(numpy_helper.from_array(filled.astype(array.dtype), tensor.name))
    onnx.save(model, to)
    return {}, []


def run(path, values, inner):
    model = onnx.load(path)
    if inner:
        known = {output.name for output in model.graph.output}
        names = [name for node in model.graph.node for name in node.output if name and name not in known]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    results = session.run(names, {name: value for name, value in values.items() if value is not None})
    found = [(name, *to_message(value)) for name, value in zip(names, results) if value is not None]
    messages = [message.SerializeToString() for _, _, message in found]
    outputs = [[kind, len(message)] for (_, kind, _), message in zip(found, messages)]
    return {"names": [name for name, _, _ in found], "outputs": outputs}, messages


def answer_to(question, data):
    if "fill" in question:
        return fill(question["fill"], question["to"])
    at, values = 0, {}
    for name, kind, length in question["values"]:
        values[name] = to_python(kind, KINDS[kind].FromString(data[at : at + length]))
        at += length
    return run(question["run"], values, question["inner"])


def answer(question, data):
    answer, blobs = answer_to(question, data)
    return json.dumps(answer).encode() + b"\n" + b"".join(blobs)


serve(answer)
