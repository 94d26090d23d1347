"""Inference functions that programs wrote in Python, for operators that they registered."""

from __future__ import annotations

from onnxkit import _core

from . import _registry, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ._schema import OpSchema


def outputs_of(
    schema: OpSchema,
    node: Any,
    types: Mapping[str, Any],
    data: Mapping[str, Any],
    versions: Mapping[str, int],
    symbolic: Callable[[str], Any] = lambda name: None,
) -> Iterator[tuple[str, Any]]:
    """The types of the outputs of a node that an inference function of Python gives."""
    from .shape_inference import InferenceContext

    infer = schema.get_type_and_shape_inference_function()
    if infer is None:
        return
    context = InferenceContext(node, types, data, versions, symbolic)
    infer(context)
    for index, name in enumerate(node.output):
        kind = context.get_output_type(index)
        if name and kind.WhichOneof("value") is not None:
            yield name, kind


def declared(encoded: bytes, data_prop: bool) -> bytes:
    """The encoded model with the types that inference functions of Python give as declared types.

    Each round infers what follows from the types known so far, in the order of the nodes; every round adds the type of
    at least one output.
    """
    import onnx

    model = _wire.decoded(onnx.ModelProto, encoded)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    calls = [
        (node, schema) for node in model.graph.node
        if (schema := _schema_of(node, versions)) is not None and schema.get_type_and_shape_inference_function()
    ]
    data = {tensor.name: tensor for tensor in model.graph.initializer}
    for node, schema in calls:
        types = _types(model)
        symbolic = (lambda name: _elements(model, name)) if data_prop else (lambda name: None)
        for name, kind in outputs_of(schema, node, types, data, versions, symbolic):
            if name not in types or not types[name].tensor_type.HasField("shape"):
                _declare(model.graph, name, kind)
    return bytes(model.SerializeToString())


def _declare(graph: Any, name: str, kind: Any) -> None:
    for port in graph.output:
        if port.name == name:
            port.type.CopyFrom(kind)
    for port in graph.value_info:
        if port.name == name:
            port.type.CopyFrom(kind)
            return
    graph.value_info.add(name=name, type=kind)


def _schema_of(node: Any, versions: Mapping[str, int]) -> OpSchema | None:
    version = versions.get(node.domain)
    return None if version is None else _registry.lookup(node.op_type, version, node.domain)


def _types(model: Any) -> dict[str, Any]:
    """The types of all values of the main graph that follow from the native rules and from declared types."""
    import onnx

    loaded = _core.loads(model.SerializeToString())
    _core.infer(loaded, {}, True)
    graph = onnx.ModelProto.FromString(loaded.to_bytes()).graph
    found = {port.name: port.type for port in (*graph.input, *graph.value_info, *graph.output) if port.HasField("type")}
    for tensor in graph.initializer:
        kind = onnx.TypeProto()
        kind.tensor_type.elem_type = tensor.data_type
        kind.tensor_type.shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=size) for size in tensor.dims)
        found.setdefault(tensor.name, kind)
    return found


def _elements(model: Any, name: str) -> Any:
    """The elements of a list of sizes as dimensions, or `None` if they are not known.

    Inference has them as the shape of a tensor of these sizes.
    """
    import onnx

    probe = onnx.ModelProto.FromString(model.SerializeToString())
    probe.graph.node.add(op_type="ConstantOfShape", input=[name], output=["onnxkit.probe"])
    probe.graph.output.add(name="onnxkit.probe")
    loaded = _core.loads(probe.SerializeToString())
    _core.infer(loaded, {}, True)
    kind = onnx.ModelProto.FromString(loaded.to_bytes()).graph.output[-1].type.tensor_type
    return kind.shape if kind.HasField("shape") else None
