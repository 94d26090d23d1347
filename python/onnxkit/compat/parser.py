"""The module `onnx.onnx_cpp2py_export.parser`: ONNX text to messages."""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _wire
from ._arguments import checked
from ._mode import MODE, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Parsed = tuple[bool, bytes, bytes]

# Parts have no header; the parser takes what it needs from that of the model that they are put into.
_HEADER = '<ir_version: 14, opset_import: ["": 28]>'


def _parsed(text: str, take: Callable[[bytes], list[memoryview]], what: str) -> Parsed:
    try:
        # The reference keeps tensors of other sizes than their dimensions specify, and its checker refuses them.
        model = _core.parse(text, MODE.profile == "spec")
    except OnnxError as error:
        message = worded(finding.to_dict() for finding in error.findings) if error.findings else str(error)
        return False, message.encode(), b""
    encoded = bytes(model)
    found = take(encoded)
    if len(found) != 1:
        return False, f"the text has {len(found)} {what}s where one is wanted".encode(), b""
    if what in ("graph", "node") and _wire.all_of(encoded, _wire.MODEL_FUNCTIONS):
        return False, f"the text continues after the {what}".encode(), b""
    return True, b"", bytes(found[0])


@checked
def parse_model(model: str, /) -> Parsed:
    """Whether the text is a model, why not, and the encoded `ModelProto`."""
    return _parsed(model, lambda encoded: [memoryview(encoded)], "model")


@checked
def parse_graph(graph: str, /) -> Parsed:
    """Whether the text is a graph, why not, and the encoded `GraphProto`."""
    return _parsed(f"{_HEADER} {graph}", lambda encoded: _wire.all_of(encoded, _wire.MODEL_GRAPH), "graph")


@checked
def parse_function(function: str, /) -> Parsed:
    """Whether the text is a function, why not, and the encoded `FunctionProto`."""
    text = f"{_HEADER} part () => () {{}} {function}"
    return _parsed(text, lambda encoded: _wire.all_of(encoded, _wire.MODEL_FUNCTIONS), "function")


@checked
def parse_node(node: str, /) -> Parsed:
    """Whether the text is a node, why not, and the encoded `NodeProto`."""
    text = f"{_HEADER} part () => () {{\n{node}\n}}"
    return _parsed(text, lambda encoded: _wire.all_of(_wire.one_of(encoded, _wire.MODEL_GRAPH), _wire.GRAPH_NODE), "node")
