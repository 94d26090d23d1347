"""The module `onnx.onnx_cpp2py_export.printer`: messages to ONNX text."""

from __future__ import annotations

import textwrap

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _wire
from ._mode import MODE

# Parts are printed within a model of these versions, which does not change how they are printed.
_IR_VERSION, _VERSIONS = 14, {"": 28}


def _printed(encoded: bytes) -> str:
    try:
        model = _core.loads(encoded)
        text = model.to_text(reference=True)
    except OnnxError as error:
        raise RuntimeError(str(error)) from None
    if not MODE.reference_texts:
        return text
    from . import _print_form

    _print_form.refuse_wrong_sizes(model)
    return _print_form.as_reference(text)


def model_to_text(model: bytes) -> str:
    """The text of an encoded `ModelProto`."""
    return _printed(model)


def graph_to_text(graph: bytes) -> str:
    """The text of an encoded `GraphProto`."""
    text = _printed(_wire.model(_IR_VERSION, _VERSIONS, graph))
    return text.split(">\n", 1)[1]


def function_to_text(function: bytes) -> str:
    """The text of an encoded `FunctionProto`."""
    graph = _wire.text(_wire.GRAPH_NAME, "part")
    text = _printed(_wire.model(_IR_VERSION, _VERSIONS, graph, _wire.message(_wire.MODEL_FUNCTIONS, function)))
    # The graph of the model is empty, and ends before the function.
    return text.split("}\n", 1)[1].lstrip("\n")


def node_to_text(node: bytes) -> str:
    """The text of an encoded `NodeProto`."""
    text = graph_to_text(_wire.text(_wire.GRAPH_NAME, "part") + _wire.message(_wire.GRAPH_NODE, node))
    body = text[text.index("{\n") + 2 : text.rindex("}")]
    return textwrap.dedent(body).rstrip("\n")
