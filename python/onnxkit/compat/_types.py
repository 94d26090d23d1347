"""Types of operands compared with those that operators take."""

from __future__ import annotations

import functools

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _registry
from ._schema import FormalParameter, FormalParameterOption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ._schema import OpSchema

# Operators whose outputs have shapes that depend on elements of constants.
_READS_SIZES = frozenset(
    "CenterCropPad Col2Im ConstantOfShape Expand OneHot Pad Range Reshape Resize Slice Split Squeeze Tile TopK Unsqueeze".split()
)
_WRAPPERS = ("seq(", "optional(", "sparse_tensor(")


@functools.lru_cache(maxsize=4096)
def type_string(text: str) -> str | None:
    """The type of ONNX text as schemas write it, without its shape: `tensor(float)`. `None` if it is not known."""
    if text.startswith("map("):
        key, value = text[4:-1].split(",", 1)
        inner = type_string(value.strip())
        return None if inner is None else f"map({key},{inner})"
    for wrapper in _WRAPPERS:
        if text.startswith(wrapper):
            if wrapper == "sparse_tensor(":
                return f"sparse_tensor({text[len(wrapper) : -1].split('[')[0]})"
            inner = type_string(text[len(wrapper) : -1])
            return None if inner is None else f"{wrapper}{inner})"
    name = text.split("[")[0].strip()
    if not name or not name.isidentifier() or name == "undefined":
        return None
    return f"tensor({name})"


@functools.cache
def _allowed(formal: FormalParameter) -> frozenset[str]:
    """The types of a formal parameter without spaces; empty if they are in another form, which is not compared."""
    if not all("(" in allowed for allowed in formal.types):
        return frozenset()
    return frozenset(allowed.replace(" ", "") for allowed in formal.types)


def formal_at(formals: Sequence[FormalParameter], index: int) -> FormalParameter | None:
    """The formal parameter of an operand by its index."""
    if index < len(formals):
        return formals[index]
    if formals and formals[-1].option is FormalParameterOption.Variadic:
        return formals[-1]
    return None


def mismatches(chosen: Iterable[_core.Node], model: _core.Model, inference: _core.Inference) -> list[dict[str, Any]]:
    """A finding for each node with more or fewer operands than its operator takes, for each operand whose type its operator does not
    take, and for different types of one type variable.

    An input of the graph without an element type is one as well, if a node uses it.
    """
    versions = model.opsets
    untyped = _untyped(model)
    found = []
    for node in chosen:
        schema = None if node.callee is not None else _registry.schema_of(node, versions)
        if schema is None:
            continue
        problem = _registry.wrong_count(node, schema) or _problem(node, schema, inference)
        if problem is None and any(value is not None and value.name in untyped for value in node.inputs):
            problem = f"an input of {schema.name} is an input of the graph without an element type"
        if problem is not None:
            found.append(finding(node, problem))
    return found


def inlined(model: _core.Model, inference: _core.Inference) -> tuple[_core.Model, _core.Inference]:
    """The model with the bodies of functions in the place of their calls, so that they have the types of these."""
    if not model.functions:
        return model, inference
    copy = model.clone()
    try:
        _core.inline(copy, None, False)
    except OnnxError:
        return model, inference
    return copy, _core.infer(copy, {}, False)


def nodes(graph: _core.Graph) -> Iterator[_core.Node]:
    """The nodes of a graph and of its nested graphs."""
    yield from graph.nodes
    for nested in graph.subgraphs():
        yield from nodes(nested)


def unreadable_constants(model: _core.Model, inference: _core.Inference) -> list[dict[str, Any]]:
    """A finding for each constant operand whose type its operator does not take: its elements are not what they seem."""
    versions = model.opsets
    found = []
    for node in model.nodes():
        schema = None if node.callee is not None else _registry.schema_of(node, versions)
        for index, value in enumerate(node.inputs if schema is not None else ()):
            formal = None if schema is None else formal_at(schema.inputs, index)
            if value is None or formal is None or not value.is_initializer():
                continue
            kind = type_string(inference.type(value))
            if kind is not None and formal.types and kind not in formal.types and len(formal.types) == 1:
                found.append(finding(node, f"input {index} `{formal.name}` is {kind}"))
    return found


def short_calls(model: _core.Model) -> list[dict[str, Any]]:
    """A finding for each call of a function that omits trailing outputs, which the specification allows and the reference refuses."""
    found = []
    for node in model.nodes():
        callee = node.callee
        if callee is not None and len(node.outputs) < len(callee.outputs):
            found.append(finding(node, f"`{node.op_type}` has {len(callee.outputs)} outputs, and the call {len(node.outputs)}"))
    return found


def unreadable_shapes(model: _core.Model) -> list[dict[str, Any]]:
    """A finding for each node that takes sizes from the elements of a constant in another file, which is not read."""
    found = []
    for node in model.nodes():
        for value in node.inputs if node.op_type in _READS_SIZES and not node.domain else ():
            tensor = None if value is None or not value.is_initializer() else value.const_value
            if tensor is not None and tensor.is_external and tensor.dtype == _core.DType.INT64 and len(tensor.shape) < 2:
                found.append(finding(node, f"the elements of `{value.name}` are in another file, which is not read"))
    return found


def finding(node: _core.Node, problem: str) -> dict[str, Any]:
    """A finding about a node."""
    return {"slug": "type-not-allowed", "rule": "", "place": f"node {node.name or node.op_type}", "message": problem}


def _untyped(model: _core.Model) -> frozenset[str]:
    """The inputs of the main graph that are tensors of no element type."""
    return frozenset(
        port.name for port in model.graph.inputs
        if port.type is not None and port.type.startswith("?") and not port.is_initializer()
    )


def _problem(node: _core.Node, schema: OpSchema, inference: _core.Inference) -> str | None:
    variables: dict[str, str] = {}
    for formals, values, what in ((schema.inputs, node.inputs, "input"), (schema.outputs, node.outputs, "output")):
        for index, value in enumerate(values):
            formal = formal_at(formals, index)
            kind = None if value is None or formal is None else type_string(inference.type(value))
            allowed = frozenset() if kind is None or formal is None else _allowed(formal)
            if kind is None or formal is None or not allowed:
                continue
            if kind.replace(" ", "") not in allowed:
                return f"{what} {index} `{formal.name}` of {schema.name} cannot be of the type {kind}"
            known = variables.setdefault(formal.type_str, kind) if formal.is_homogeneous else kind
            if known != kind:
                return f"{what} {index} `{formal.name}` of {schema.name} is {kind}, but {formal.type_str} is {known}"
    return None
