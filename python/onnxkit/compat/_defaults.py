"""Inputs that have defaults. The reference takes a default for a constant in inference and conversion."""

from __future__ import annotations

from . import _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INITIALIZER, _TENSOR_NAME, _PORT_NAME = 5, 8, 1


def as_constants(encoded: bytes) -> tuple[bytes, list[tuple[int, Any]]]:
    """The encoded model without the inputs that have defaults, and these inputs with their indices."""
    import onnx

    graph = _wire.one_of(encoded, _wire.MODEL_GRAPH)
    inputs = [_wire.one_of(port, _PORT_NAME) for port in _wire.all_of(graph, _wire.GRAPH_INPUT)]
    names = {_wire.one_of(tensor, _TENSOR_NAME).decode() for tensor in _wire.all_of(graph, _INITIALIZER)}
    if not any(name.decode() in names for name in inputs):
        return encoded, []
    model = onnx.ModelProto.FromString(encoded)
    ports = [onnx.ValueInfoProto.FromString(port.SerializeToString()) for port in model.graph.input]
    del model.graph.input[:]
    model.graph.input.extend(port for port in ports if port.name not in names)
    return bytes(model.SerializeToString()), [(index, port) for index, port in enumerate(ports) if port.name in names]


def with_inputs(encoded: bytes, inputs: list[tuple[int, Any]]) -> bytes:
    """The encoded model with inputs at their indices."""
    if not inputs:
        return encoded
    import onnx

    model = onnx.ModelProto.FromString(encoded)
    for index, port in inputs:
        model.graph.input.insert(index, port)
    return bytes(model.SerializeToString())
