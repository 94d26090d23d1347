"""Initializers that a conversion added, as `Constant` nodes: where the reference puts what an attribute was before."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# Operands that the reference leaves initializers, by operator and index.
_INITIALIZERS = frozenset({("Pad", 2)})
# The first version in which a `Constant` can be of any type, and the types before.
_ANY_TYPE, _FLOATS = 9, frozenset({1, 10, 11})


def as_nodes(graph: Any, known: set[str], version: int) -> None:
    """Replaces the initializers of a `GraphProto` and its nested graphs that are not `known` by nodes before their first use.

    Those stay that a node cannot be in a version of the operator set.
    """
    added = {
        tensor.name: tensor for tensor in graph.initializer
        if tensor.name not in known and (version >= _ANY_TYPE or tensor.data_type in _FLOATS)
    }
    for node in graph.node:
        for nested in graphs(node):
            as_nodes(nested, known, version)
    if not added:
        return
    nodes = []
    for node in graph.node:
        for index, name in enumerate((*node.input, *_captured(node))):
            if name in added and (node.op_type, index) not in _INITIALIZERS:
                nodes.append(constant_node(added.pop(name)))
        nodes.append(node)
    taken = {name for node in nodes for name in node.output}
    kept = [tensor for tensor in graph.initializer if tensor.name not in taken]
    nodes, kept = [_copy(node) for node in nodes], [_copy(tensor) for tensor in kept]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept)


def names(graph: Any) -> set[str]:
    """The names of all initializers of a `GraphProto` and its nested graphs."""
    found = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        for nested in graphs(node):
            found |= names(nested)
    return found


def _copy(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def graphs(node: Any) -> list[Any]:
    """The nested graphs of a `NodeProto`."""
    single = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return single + [nested for attribute in node.attribute for nested in attribute.graphs]


def _captured(node: Any) -> list[str]:
    """The names that the nodes of nested graphs use."""
    found: list[str] = []
    for nested in graphs(node):
        for inner in nested.node:
            found += [*inner.input, *_captured(inner)]
        found += [port.name for port in nested.output]
    return found


def constant_node(tensor: Any) -> Any:
    """A `Constant` node with the elements of a `TensorProto`, whose output has its name."""
    import onnx

    node = onnx.NodeProto(op_type="Constant", output=[tensor.name])
    value = node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
    value.t.CopyFrom(tensor)
    value.t.name = ""
    return node


# The element types of what an attribute of `Constant` gives.
_LISTS = {"value_int": "INT64", "value_ints": "INT64", "value_float": "FLOAT", "value_floats": "FLOAT"}


def tensor_of(node: Any) -> Any | None:
    """The elements of a `Constant` node with numbers as a `TensorProto`; `None` for any other node."""
    import onnx

    if node.op_type != "Constant" or node.domain:
        return None
    for attribute in node.attribute:
        if attribute.name == "value" and attribute.HasField("t"):
            return attribute.t
        if attribute.name in _LISTS:
            value = onnx.helper.get_attribute_value(attribute)
            dims = [len(value)] if attribute.name.endswith("s") else []
            kind = onnx.TensorProto.DataType.Value(_LISTS[attribute.name])
            return onnx.helper.make_tensor("", kind, dims, value if dims else [value])
    return None
