"""Bodies of operators that the specification defines as functions."""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._schema import OpSchema

_DOMAIN = "onnxkit.body"


def _function_of(schema: OpSchema, node: Any) -> Any:
    """A function whose only node is a call of the operator."""
    import onnx

    function = onnx.FunctionProto(name=schema.name, domain=_DOMAIN)
    function.input.extend(formal.name for formal in schema.inputs[: len(node.input)])
    function.output.extend(formal.name for formal in schema.outputs)
    defaults = {name: _wire.decoded(onnx.AttributeProto, one._default_value) for name, one in schema.attributes.items()}
    function.attribute.extend(name for name, value in defaults.items() if not value.name)
    function.attribute_proto.extend(value for value in defaults.values() if value.name)
    call = function.node.add()
    call.CopyFrom(node)
    del call.input[:], call.output[:]
    call.input.extend(name if given else "" for name, given in zip(function.input, node.input, strict=True))
    call.output.extend(function.output)
    return function


def _expanded(schema: OpSchema, function: Any, version: int, types: Sequence[bytes]) -> Any:
    """The function with the body of the operator in place of its call; `None` if there is none."""
    import onnx

    imports = [onnx.OperatorSetIdProto(domain="", version=max(version, 1) if not schema.domain else 21)]
    if schema.domain:
        imports.append(onnx.OperatorSetIdProto(domain=schema.domain, version=version))
    del function.opset_import[:]
    function.opset_import.extend(imports)
    model = onnx.ModelProto(ir_version=10, functions=[function], opset_import=imports)
    model.opset_import.append(onnx.OperatorSetIdProto(domain=_DOMAIN, version=1))
    model.graph.name = "part"
    call = model.graph.node.add(op_type=function.name, domain=_DOMAIN, input=function.input, output=function.output)
    for name, kind in zip(function.input, types, strict=False):
        model.graph.input.append(onnx.ValueInfoProto(name=name, type=_wire.decoded(onnx.TypeProto, kind)))
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in call.output)
    loaded = _core.loads(model.SerializeToString())
    try:
        if not _core.inline(loaded, [], True)[0]:
            return None
    except OnnxError:
        return None
    (expanded,) = onnx.ModelProto.FromString(bytes(loaded)).functions
    expanded.domain = schema.domain
    return expanded


def _call(schema: OpSchema, *, references: bool) -> Any:
    import onnx

    call = onnx.NodeProto(op_type=schema.name, domain=schema.domain)
    call.input.extend(formal.name for formal in schema.inputs)
    if references:
        for attribute in schema.attributes.values():
            call.attribute.add(name=attribute.name, type=int(attribute.type), ref_attr_name=attribute.name)
    return call


def _general(schema: OpSchema, version: int) -> bytes | None:
    known = schema._bodies
    if version not in known:
        call = _call(schema, references=True)
        expanded = _expanded(schema, _function_of(schema, call), version, ())
        known[version] = None if expanded is None else bytes(expanded.SerializeToString())
    return known[version]


def body(schema: OpSchema, version: int) -> bytes:
    """The encoded function that an operator stands for whatever its operands are; empty if there is none."""
    return _general(schema, version) or b""


def body_of(schema: OpSchema, node: bytes, types: Sequence[bytes]) -> bytes:
    """The encoded function that an encoded node stands for, given the types of its inputs."""
    import onnx

    function = _function_of(schema, _wire.decoded(onnx.NodeProto, node))
    expanded = _expanded(schema, function, schema.since_version, types)
    return b"" if expanded is None else bytes(expanded.SerializeToString())
