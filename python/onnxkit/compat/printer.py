"""The module `onnx.onnx_cpp2py_export.printer`: messages to ONNX text."""

from __future__ import annotations

import textwrap

from onnxkit._errors import OnnxError

from . import _wire
from ._arguments import checked
from ._mode import MODE

# Parts are printed within a model of these versions, which does not change how they are printed.
_IR_VERSION, _VERSIONS = 14, {"": 28}


def _printed(encoded: bytes) -> str:
    model = _wire.loaded(encoded)
    try:
        return model.to_text(reference=True)
    except OnnxError as error:
        raise RuntimeError(str(error)) from None


def _as_reference(kind: str, encoded: bytes) -> str:
    """The text of a message in the form of the reference."""
    import onnx

    from . import _print_form

    message = _wire.decoded(getattr(onnx, f"{kind.title()}Proto"), encoded)
    return str(getattr(_print_form, f"{kind}_text")(message))


@checked
def model_to_text(model: bytes, /) -> str:
    """The text of an encoded `ModelProto`."""
    return _as_reference("model", model) if MODE.reference_texts else _printed(model)


@checked
def graph_to_text(graph: bytes, /) -> str:
    """The text of an encoded `GraphProto`."""
    if MODE.reference_texts:
        return _as_reference("graph", graph)
    return _printed(_wire.model(_IR_VERSION, _VERSIONS, graph)).split(">\n", 1)[1]


@checked
def function_to_text(function: bytes, /) -> str:
    """The text of an encoded `FunctionProto`."""
    if MODE.reference_texts:
        return _as_reference("function", function)
    graph = _wire.text(_wire.GRAPH_NAME, "part")
    model = _wire.model(_IR_VERSION, _VERSIONS, graph, _wire.message(_wire.MODEL_FUNCTIONS, function))
    # The graph of the model is empty, and ends before the function.
    return _printed(model).split("}\n", 1)[1].lstrip("\n")


@checked
def node_to_text(node: bytes, /) -> str:
    """The text of an encoded `NodeProto`."""
    if MODE.reference_texts:
        return _as_reference("node", node)
    text = graph_to_text(_wire.text(_wire.GRAPH_NAME, "part") + _wire.message(_wire.GRAPH_NODE, node))
    body = text[text.index("{\n") + 2 : text.rindex("}")]
    return textwrap.dedent(body).rstrip("\n")
