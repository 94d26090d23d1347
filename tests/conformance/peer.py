"""What the scripts that ask the reference and onnxruntime share: questions and answers, limits of time, messages of values.

Each question is a length, then content; each answer is a length, a byte that says whether the question was understood, and
content. The first answer is the version, and the other packages that there are. Most questions are a line of JSON, followed by bytes.
"""

import contextlib
import faulthandler
import importlib.util
import json
import signal
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = {
    "tensor": onnx.TensorProto,
    "sequence": onnx.SequenceProto,
    "optional": onnx.OptionalProto,
    "map": onnx.MapProto,
}


def send(understood, content):
    sys.stdout.buffer.write(struct.pack("<QB", len(content), understood) + content)
    sys.stdout.buffer.flush()


def send_version():
    others = [name for name in ("onnxruntime",) if importlib.util.find_spec(name)]
    send(True, " ".join([onnx.__version__, *others]).encode())


def questions():
    """The contents of the questions."""
    while header := sys.stdin.buffer.read(8):
        yield sys.stdin.buffer.read(struct.unpack("<Q", header)[0])


def questions_in_json():
    """The questions that are a line of JSON, each with the bytes after it."""
    for content in questions():
        line, _, data = content.partition(b"\n")
        yield json.loads(line), data


def serve(answer_to):
    """Answers each question with bytes; whatever is raised is an answer, too."""
    send_version()
    for question, data in questions_in_json():
        try:
            understood, answer = True, answer_to(question, data)
        except Exception as error:
            understood, answer = False, f"{type(error).__name__}: {error}"[:500].encode()
        send(understood, answer)


def give_up(*_):
    raise TimeoutError("it takes too long")


@contextlib.contextmanager
def time_limit(patience, end):
    """Raises TimeoutError after some seconds, and ends the process after some more, as native code is not interrupted."""
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(patience)
    faulthandler.dump_traceback_later(end, exit=True)
    try:
        yield
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()


def rename_overloads(nodes):
    for node in nodes:
        if node.overload:
            node.op_type += "__" + node.overload
            node.overload = ""
        for attribute in node.attribute:
            rename_overloads(attribute.g.node)
            for graph in attribute.graphs:
                rename_overloads(graph.node)


def without_overloads(model):
    """The model with another name for each overload: peers look up functions only by domain and name."""
    rename_overloads(model.graph.node)
    for function in model.functions:
        rename_overloads(function.node)
        if function.overload:
            function.name += "__" + function.overload
            function.overload = ""
    return model


def to_python(kind, message):
    """The value that a message holds, as both peers take it."""
    if kind == "tensor":
        return numpy_helper.to_array(message)
    if kind == "sequence":
        items = [("tensor", item) for item in message.tensor_values]
        items += [("sequence", item) for item in message.sequence_values]
        items += [("map", item) for item in message.map_values]
        items += [("optional", item) for item in message.optional_values]
        return [to_python(*item) for item in items]
    if kind == "map":
        keys = list(message.keys) or [key.decode() for key in message.string_keys]
        values = to_python("sequence", message.values)
        return {key: value.item() if np.size(value) == 1 else value for key, value in zip(keys, values)}
    for inner, field in (("tensor", "tensor_value"), ("sequence", "sequence_value"), ("map", "map_value")):
        if message.HasField(field):
            return to_python(inner, getattr(message, field))
    return None


def tensor_message(value):
    value = np.asarray(value)
    if value.dtype.kind in "OUS":
        texts = [item if isinstance(item, bytes) else str(item).encode() for item in value.reshape(-1)]
        return helper.make_tensor("", TensorProto.STRING, value.shape, texts)
    return numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape))


def to_message(value):
    """The message that holds a result, with its kind."""
    if value is None:
        return "optional", onnx.OptionalProto()
    if isinstance(value, dict):
        message = onnx.MapProto()
        for key, item in value.items():
            if isinstance(key, str):
                message.string_keys.append(key.encode())
            else:
                message.keys.append(int(key))
            item = np.float32(item) if isinstance(item, float) else item
            message.values.tensor_values.append(tensor_message(item))
        return "map", message
    if isinstance(value, (list, tuple)):
        message = onnx.SequenceProto()
        fields = {"tensor": "tensor_values", "sequence": "sequence_values", "map": "map_values"}
        for item in value:
            kind, inner = to_message(item)
            getattr(message, fields[kind]).append(inner)
        return "sequence", message
    return "tensor", tensor_message(value)
