"""Inputs that have defaults. The reference takes a default for a constant in inference and conversion."""

from __future__ import annotations

from . import _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INITIALIZER, _TENSOR_NAME, _PORT_NAME = 5, 8, 1


def as_constants(encoded: bytes, *, sized: bool = False) -> tuple[bytes, list[tuple[int, Any]]]:
    """The encoded model without the inputs that have defaults, and these inputs with their indices.

    With `sized`, those whose declared shape leaves a size open stay: the value that a caller gives can have another shape.
    """
    import onnx

    graph = _wire.one_of(encoded, _wire.MODEL_GRAPH)
    inputs, names = [], set()
    for field, value in _wire.fields(graph):
        if field == _wire.GRAPH_INPUT and isinstance(value, memoryview):
            inputs.append(_wire.text_of(value, _PORT_NAME))
        elif field == _INITIALIZER and isinstance(value, memoryview):
            names.add(_wire.text_of(value, _TENSOR_NAME))
    if names.isdisjoint(inputs):
        return encoded, []
    model = _wire.decoded(onnx.ModelProto, encoded)
    ports = [onnx.ValueInfoProto.FromString(port.SerializeToString()) for port in model.graph.input]
    removed = [(index, port) for index, port in enumerate(ports) if port.name in names and (_is_sized(port) or not sized)]
    names = {port.name for _, port in removed}
    del model.graph.input[:]
    model.graph.input.extend(port for port in ports if port.name not in names)
    return bytes(model.SerializeToString()), removed


def _is_sized(port: Any) -> bool:
    shape = port.type.tensor_type.shape
    return port.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in shape.dim)


def with_inputs(encoded: bytes, inputs: list[tuple[int, Any]]) -> bytes:
    """The encoded model with inputs at their indices."""
    if not inputs:
        return encoded
    import onnx

    model = _wire.decoded(onnx.ModelProto, encoded)
    for index, port in inputs:
        model.graph.input.insert(index, port)
    return bytes(model.SerializeToString())
