"""Nodes whose results have no type because an operand has none: it is missing, nothing defines it, or nothing says its type.

The reference finds that in inference: rules of operators take the type of a result from an operand.
"""

from __future__ import annotations

from . import _registry, _types
from ._schema import FormalParameterOption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from onnxkit import _core

    from ._schema import OpSchema

    Finding = dict[str, Any]


# Findings of the checker that say that a node has too few operands or results.
_COUNTS = frozenset({"wrong-input-count", "wrong-output-count"})


def without_operands(model: _core.Model, defects: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """The nodes of the main graph that have no result, or miss the operand that the type of the result is that of.

    The reference refuses them in any mode. `defects` are findings of the checker.
    """
    versions = model.opsets
    found: list[Finding] = []
    if all(one["slug"] not in _COUNTS for one in defects):
        return found
    for node in model.graph.nodes:
        schema = _schema(node, versions)
        index = None if schema is None else _giver(schema)
        if schema is not None and len(node.outputs) < schema.min_output:
            found.append(_types.finding(node, f"{schema.name} has {len(node.outputs)} outputs, and needs {schema.min_output}"))
        elif schema is not None and index is not None and index >= len(node.inputs) and index < schema.min_input:
            found.append(_types.finding(node, f"{schema.name} has {len(node.inputs)} inputs, and needs {schema.min_input}"))
    return found


def in_all_graphs(model: _core.Model, inference: _core.Inference) -> list[Finding]:
    """The nodes of the main graph and its nested graphs whose results have no type, and those of functions that are still called."""
    found = list(_in_graph(model.graph, model, lambda value: _types.type_string(inference.type(value)) is not None, False))
    called = [node.callee for node in _types.nodes(model.graph) if node.callee is not None]
    seen: set[_core.Graph] = set()
    while called:
        body = called.pop()
        if body in seen:
            continue
        seen.add(body)
        found += _in_graph(body, model, _is_defined, False)
        called += [node.callee for node in _types.nodes(body) if node.callee is not None]
    return found


def _is_defined(value: _core.Value) -> bool:
    return value.producer() is not None or value.is_graph_input() or value.is_initializer()


def _schema(node: _core.Node, versions: Any) -> OpSchema | None:
    """The schema of a node for which the reference has an inference rule."""
    schema = None if node.callee is not None else _registry.schema_of(node, versions)
    return schema if schema is not None and schema._has_inference else None


def _in_graph(
    graph: _core.Graph, model: _core.Model, is_typed: Callable[[_core.Value], bool], is_open: bool
) -> Iterator[Finding]:
    """After a node of an operator that is not known, the reference finds nothing more in a graph: `is_open`."""
    versions = model.opsets
    nodes = graph.nodes
    # Values of later nodes have no type when a node is reached.
    later = {value for node in nodes for value in node.outputs if value is not None}
    for node in nodes:
        is_known = node.callee is not None or _registry.schema_of(node, versions) is not None
        is_open = is_open or not is_known
        schema = _schema(node, versions)
        if schema is not None and not is_open:
            problem = _problem(node, schema, lambda value: value not in later and is_typed(value), is_typed)
            if problem is not None:
                yield _types.finding(node, problem)
        later.difference_update(node.outputs)
    for nested in graph.subgraphs():
        yield from _in_graph(nested, model, is_typed, is_open)


def _problem(
    node: _core.Node, schema: OpSchema, is_typed: Callable[[_core.Value], bool], is_inferred: Callable[[_core.Value], bool]
) -> str | None:
    giver = _giver(schema)
    # Each access makes a list.
    inputs = node.inputs
    result = node.outputs[0] if node.outputs else None
    is_unknown = result is not None and not is_inferred(result)
    # Sequences and optionals are made of the types of all operands.
    is_unknown |= all(kind.startswith(("seq(", "optional(")) for kind in schema.outputs[0].types) if schema.outputs else False
    for index in range(max(len(inputs), len(schema.inputs))):
        formal = _types.formal_at(schema.inputs, index)
        if formal is None:
            continue
        value = inputs[index] if index < len(inputs) else None
        is_optional = formal.option is FormalParameterOption.Optional
        is_needed = value is not None or (not is_optional and index < max(len(inputs), schema.min_input))
        if (index == giver or (is_unknown and is_needed)) and (value is None or not is_typed(value)):
            return f"input {index} `{formal.name}` of {schema.name} has no type"
    return None


def _giver(schema: OpSchema) -> int | None:
    """The index of the operand whose type the first result has, by the schema."""
    # Logical operators give `bool` whatever they take.
    if not schema.outputs or schema.outputs[0].types == {"tensor(bool)"}:
        return None
    for index, formal in enumerate(schema.inputs):
        is_one = formal.option is not FormalParameterOption.Optional and formal.is_homogeneous
        if is_one and formal.type_str == schema.outputs[0].type_str:
            return index
    return None
