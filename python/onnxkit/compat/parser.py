"""The module `onnx.onnx_cpp2py_export.parser`: ONNX text to messages."""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _wire
from ._mode import MODE, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Parsed = tuple[bool, bytes, bytes]

# Parts have no header; the parser takes what it needs from that of the model that they are put into.
_HEADER = '<ir_version: 14, opset_import: ["": 28]>'


def _parsed(text: str, take: Callable[[bytes], bytes | memoryview]) -> Parsed:
    try:
        # The reference keeps tensors of other sizes than their dimensions specify, and its checker refuses them.
        model = _core.parse(text, MODE.profile == "spec")
    except OnnxError as error:
        message = worded(finding.to_dict() for finding in error.findings) if error.findings else str(error)
        return False, message.encode(), b""
    return True, b"", bytes(take(bytes(model)))


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text


def parse_model(model: str | bytes) -> Parsed:
    """Whether the text is a model, why not, and the encoded `ModelProto`."""
    return _parsed(_text(model), lambda encoded: encoded)


def parse_graph(graph: str | bytes) -> Parsed:
    """Whether the text is a graph, why not, and the encoded `GraphProto`."""
    return _parsed(f"{_HEADER} {_text(graph)}", lambda encoded: _wire.one_of(encoded, _wire.MODEL_GRAPH))


def parse_function(function: str | bytes) -> Parsed:
    """Whether the text is a function, why not, and the encoded `FunctionProto`."""
    text = f"{_HEADER} part () => () {{}} {_text(function)}"
    return _parsed(text, lambda encoded: _wire.one_of(encoded, _wire.MODEL_FUNCTIONS))


def parse_node(node: str | bytes) -> Parsed:
    """Whether the text is a node, why not, and the encoded `NodeProto`."""
    text = f"{_HEADER} part () => () {{ {_text(node)} }}"
    return _parsed(text, lambda encoded: _wire.one_of(_wire.one_of(encoded, _wire.MODEL_GRAPH), _wire.GRAPH_NODE))
