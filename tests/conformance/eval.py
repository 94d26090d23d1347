"""Runs single nodes with the reference's evaluator and with onnxruntime, on values that the suite `eval` gives.

Questions and answers have the form of `peer.py`, and an answer is a line of JSON and bytes, too. The JSON of a question:

    {"model": length, "values": [[name, kind, length]], "nodes": [[index, [element type of each output]]], "peers": [name]}

followed by the bytes of the model and of the messages of the values. `kind` is `tensor`, `sequence`, `optional` or `map`.
The JSON of an answer has for each node and each peer either the outputs or the reason why there are none, followed by the
messages of the outputs:

    {"nodes": [{peer: {"outputs": [[kind, length] | null]} | {"failed": text}}]}

Each peer runs every node alone, on the given values, so that a difference is one of this node.
"""

import json
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from peer import KINDS, serve, time_limit, to_message, to_python, without_overloads

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
# Seconds that a question may take, before it is given up, and before the process is.
PATIENCE = 8
END = 16
# The newest version of the format that onnxruntime loads, and the oldest in which initializers are not inputs.
NEWEST, OLDEST = 13, 8
# What numpy does not hold is cast to a type that has all its values.
CAST = {
    "int4": "int8",
    "int2": "int8",
    "uint4": "uint8",
    "uint2": "uint8",
    "bfloat16": "float",
    "float8e4m3fn": "float",
    "float8e4m3fnuz": "float",
    "float8e5m2": "float",
    "float8e5m2fnuz": "float",
    "float8e8m0": "float",
    "float4e2m1": "float",
}


def dtype_of(elem):
    return helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(elem.upper()))


def alone(model, node):
    """The model with one node, without initializers."""
    one = onnx.ModelProto()
    one.CopyFrom(model)
    for field in ("node", "initializer", "sparse_initializer", "value_info", "output", "quantization_annotation"):
        one.graph.ClearField(field)
    one.graph.node.append(node)
    return one


def with_reference(one, values):
    evaluator = ReferenceEvaluator(one)
    node = evaluator.rt_nodes_[0]
    inputs = [None if name == "" else values[name] for name in node.input]
    outputs = node.run(*inputs, context=values) if node.need_context() else node.run(*inputs)
    return list(outputs)


def names_used(nodes):
    """The names that nodes use, those of nested graphs included."""
    names = set()
    for node in nodes:
        names.update(node.input)
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                names |= names_used(graph.node) | {output.name for output in graph.output}
    return names


def type_of(value, kind):
    """The type of a value that is not a tensor."""
    if kind == "sequence":
        inner = value[0]
        elem = helper.np_dtype_to_tensor_dtype(inner.dtype) if inner.dtype.kind not in "OUS" else TensorProto.STRING
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(elem, None))
    if kind == "map":
        key, item = next(iter(value.items()))
        key = TensorProto.STRING if isinstance(key, str) else TensorProto.INT64
        elem = {str: TensorProto.STRING, int: TensorProto.INT64}.get(type(item), TensorProto.FLOAT)
        return helper.make_map_type_proto(key, helper.make_tensor_type_proto(elem, ()))
    raise NotImplementedError(f"onnxruntime is given no {kind}")


def with_runtime(one, values, messages, elems):
    if onnxruntime is None:
        raise NotImplementedError("onnxruntime is not installed")
    node = one.graph.node[0]
    one.ir_version = max(OLDEST, min(one.ir_version, NEWEST))
    one.graph.ClearField("input")
    feeds = {}
    for name in sorted(names_used([node]) & messages.keys()):
        kind, message = messages[name]
        if kind == "tensor":
            one.graph.initializer.append(message)
        else:
            feeds[name] = values[name]
            one.graph.input.append(helper.make_value_info(name, type_of(values[name], kind)))
    wanted = []
    for name, elem in zip(node.output, elems):
        if elem in CAST:
            to = TensorProto.DataType.Value(CAST[elem].upper())
            one.graph.node.append(helper.make_node("Cast", [name], [name + "/cast"], to=to))
            name += "/cast"
        wanted.append(name)
    one.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted if name)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(one.SerializeToString(), options, ["CPUExecutionProvider"])
    results = iter(session.run([name for name in wanted if name], feeds))
    outputs = []
    for name, elem in zip(wanted, elems):
        value = next(results) if name else None
        outputs.append(value.astype(dtype_of(elem)) if name and elem in CAST else value)
    return outputs


def is_endless(node, values):
    """Whether onnxruntime may not end: where a window moves over nothing."""
    windows = any(part in node.op_type for part in ("Pool", "Conv", "Im", "Resize", "Upsample", "Fft", "DFT", "STFT"))
    return windows and any(0 in getattr(values.get(name), "shape", ()) for name in node.input)


def outputs_of(peer, model, index, elems, values, messages):
    node = model.graph.node[index]
    one = alone(model, node)
    try:
        if peer == "reference":
            outputs = with_reference(one, values)
        elif is_endless(node, values):
            raise NotImplementedError("onnxruntime is given no empty values")
        else:
            outputs = with_runtime(one, values, messages, elems)
        found = [to_message(value) if name else None for name, value in zip(node.output, outputs)]
    except TimeoutError:
        raise
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:300]}, []
    blobs = [None if entry is None else (entry[0], entry[1].SerializeToString()) for entry in found]
    described = [None if entry is None else [entry[0], len(entry[1])] for entry in blobs]
    return {"outputs": described}, [entry[1] for entry in blobs if entry is not None]




def answer_to(question, data):
    at = question["model"]
    model = without_overloads(onnx.load_model_from_string(data[:at]))
    messages, values = {}, {}
    for name, kind, length in question["values"]:
        message = KINDS[kind].FromString(data[at : at + length])
        message.name = name
        messages[name] = (kind, message)
        values[name] = to_python(kind, message)
        at += length
    nodes, blobs = [], []
    for index, elems in question["nodes"]:
        answers = {}
        for peer in question["peers"]:
            answers[peer], outputs = outputs_of(peer, model, index, elems, values, messages)
            blobs += outputs
        nodes.append(answers)
    return json.dumps({"nodes": nodes}).encode() + b"\n" + b"".join(blobs)


def within_time(question, data):
    with time_limit(PATIENCE, END):
        return answer_to(question, data)


serve(within_time)
