"""Calls of functions whose nodes can be converted only for the types and attributes of a single call.

A bound of `Clip` is an attribute of version 6 and an operand of version 11, which has the type of the others: the body of a function
does not say which. Such a call gets a separate function with the converted nodes.
"""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _constants, _registry, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

_DOMAIN = "onnxkit.specialized"
# A function can call one of another version, which calls another one, and so on.
_ROUNDS = 16


class Scope:
    """The types and the constants of the values that a graph sees, by name."""

    def __init__(self, graph: Any, outer: Scope | None) -> None:
        self.types: dict[str, Any] = {} if outer is None else dict(outer.types)
        self.constants: dict[str, Any] = {} if outer is None else dict(outer.constants)
        for port in (*graph.input, *graph.value_info, *graph.output):
            if port.type.WhichOneof("value") is not None:
                self.types[port.name] = port.type
        self.constants.update((tensor.name, tensor) for tensor in graph.initializer)
        for node in graph.node:
            value = _constants.tensor_of(node)
            if value is not None:
                self.constants[node.output[0]] = value


def selector(function: Any) -> str:
    """The name by which the native module selects a function."""
    return f"{function.domain}.{function.name}" if function.domain else str(function.name)


def inline(model: _core.Model, names: Sequence[str], bodies: bool) -> _core.Model:
    """The model without the calls of these functions, which may be changed. A call that would stay is a `RuntimeError`."""
    for _ in range(_ROUNDS):
        present = {selector(function) for function in proto_of(model).functions}
        kept = _core.inline(model, [name for name in names if name in present], bodies)[1]
        if not kept:
            return _without_import(model)
        call, reason = kept[0]
        problem = f"the call {call} cannot be replaced by the body of its function: {reason}"
        model, own = _with_own_functions(model, names, problem)
        names = [*names, *own]
    raise RuntimeError(f"functions of more than {_ROUNDS} versions of operator sets call each other")


def _without_import(model: _core.Model) -> _core.Model:
    """The model without the operator set of functions that were made here, all of which are inlined."""
    if _DOMAIN not in model.opsets:
        return model
    proto = proto_of(model)
    kept = [(one.domain, one.version) for one in proto.opset_import if one.domain != _DOMAIN]
    del proto.opset_import[:]
    for domain, version in kept:
        proto.opset_import.add(domain=domain, version=version)
    return _core.loads(proto.SerializeToString())


def proto_of(model: _core.Model) -> Any:
    import onnx

    return onnx.ModelProto.FromString(bytes(model))


def _with_own_functions(model: _core.Model, names: Iterable[str], problem: str) -> tuple[_core.Model, list[str]]:
    """The model in which each call of these functions has a separate converted function, and the selectors of these."""
    typed = model.clone()
    _core.infer(typed, {}, True)
    proto = proto_of(model)
    target = _version(proto.opset_import)
    wanted = {
        (one.domain, one.name, one.overload): one for one in proto.functions
        if selector(one) in set(names) and target is not None and _version(one.opset_import) not in (None, target)
    }
    made: list[Any] = []
    for node, scope in _nodes(proto.graph, proto_of(typed).graph, None):
        function = wanted.get((node.domain, node.op_type, node.overload))
        if function is None or function.domain == _DOMAIN:
            continue
        converted = _converted(proto, target or 0, function, node, scope)
        converted.name, converted.domain = f"{function.name}_{len(made)}", _DOMAIN
        made.append(converted)
        node.op_type, node.domain = converted.name, _DOMAIN
        node.ClearField("overload")
        del node.attribute[:]
    if not made:
        raise RuntimeError(problem)
    proto.functions.extend(made)
    if all(entry.domain != _DOMAIN for entry in proto.opset_import):
        proto.opset_import.add(domain=_DOMAIN, version=1)
    return _core.loads(proto.SerializeToString()), [selector(function) for function in made]


def _nodes(graph: Any, typed: Any, outer: Scope | None) -> Iterator[tuple[Any, Scope]]:
    """The nodes of a graph and of its nested graphs with what they see. `typed` is the graph with inferred types."""
    scope = Scope(typed, outer)
    for node, known in zip(graph.node, typed.node, strict=True):
        for nested, inferred in zip(_constants.graphs(node), _constants.graphs(known), strict=True):
            yield from _nodes(nested, inferred, scope)
        yield node, scope


def _converted(proto: Any, version: int, function: Any, call: Any, scope: Scope) -> Any:
    """The function in the version of the model, for the attributes and the operands of a call."""
    import onnx

    part = onnx.ModelProto(ir_version=proto.ir_version, functions=proto.functions)
    part.opset_import.extend(one for one in function.opset_import if one.domain != function.domain)
    part.opset_import.add(domain=function.domain, version=1)
    part.graph.name = "part"
    node = part.graph.node.add()
    node.CopyFrom(call)
    del node.input[:], node.output[:]
    for formal, operand in zip(function.input, call.input, strict=False):
        node.input.append(formal if operand else "")
        if operand in scope.constants:
            part.graph.initializer.append(scope.constants[operand])
            part.graph.initializer[-1].name = formal
        elif operand:
            part.graph.input.add(name=formal, type=scope.types.get(operand))
    for result, name in zip(function.output, call.output, strict=False):
        node.output.append(result if name else "")
        if name:
            part.graph.output.add(name=result, type=scope.types.get(name))
    return _as_function(_in_version(part, version), function)


def _version(imports: Iterable[Any]) -> int | None:
    """The imported version of the default operator set."""
    return next((int(one.version) for one in imports if one.domain in ("", "ai.onnx")), None)


def _in_version(part: Any, version: int) -> Any:
    """A model without calls in a version of the default operator set."""
    names = [selector(function) for function in part.functions]
    model = inline(_wire.loaded(part.SerializeToString()), names, False)
    try:
        _core.infer(model, {}, True)
        _core.convert(model, version, "")
    except OnnxError as error:
        raise RuntimeError(str(error)) from None
    for one in model.nodes():
        if not one.domain and _registry.lookup(one.op_type, version, "") is None:
            raise RuntimeError(f"ONNX has no operator `{one.op_type}` in version {version}")
    return proto_of(model)


def _as_function(part: Any, function: Any) -> Any:
    import onnx

    found = onnx.FunctionProto(input=function.input, output=function.output, opset_import=part.opset_import)
    constants = [tensor for tensor in part.graph.initializer if tensor.name not in set(function.input)]
    found.node.extend(_constants.constant_node(tensor) for tensor in constants)
    found.node.extend(part.graph.node)
    return found
