"""Operators as functions: `ops.Conv(graph, x, w, pads=[1, 1, 1, 1])` adds a node and returns its result.

The operators are those of the operator sets: each name is looked up when it is used. A node with several results gives a
tuple; `_outputs` is their number or their names where it is not fixed.
"""

from __future__ import annotations

from . import _core

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _operator(name: str, domain: str = "") -> Callable[..., Any]:
    if _core.schema(name, None, domain) is None:
        raise AttributeError(f"{domain or 'ai.onnx'} has no operator {name}")

    # By version of the operator set: this is asked for each node.
    schemas: dict[int | None, dict[str, Any] | None] = {}

    def operator(
        graph: _core.Graph,
        *inputs: Any,
        _outputs: Any = None,
        _name: str | None = None,
        _before: _core.Node | None = None,
        _after: _core.Node | None = None,
        **attributes: Any,
    ) -> Any:
        if not isinstance(graph, _core.Graph):
            raise TypeError(f"the first argument is the graph that the node is added to, not `{type(graph).__name__}`")
        attributes = {key: value for key, value in attributes.items() if value is not None}
        # Tensors become initializers together with the node, so that nothing is left of a node that is refused.
        operands = [value if value is None or isinstance(value, _core.Value) else _core.Tensor(value) for value in inputs]
        version = graph.model.opsets.get(domain)
        if version not in schemas:
            schemas[version] = None if version is None else _core.schema(name, version, domain)
        schema = schemas[version]
        if schema is not None:
            known = {attribute["name"] for attribute in schema["attributes"]}
            unknown = [key for key in attributes if key not in known]
            if unknown:
                raise TypeError(f"{name} has no attribute {unknown[0]!r}; it has {', '.join(sorted(known)) or 'none'}")
            least, most = schema["min_inputs"], schema["max_inputs"]
            if len(operands) < least or (most is not None and len(operands) > most):
                span = f"at least {least}" if most is None else str(least) if least == most else f"{least} to {most}"
                raise TypeError(f"{name} takes {span} inputs, not {len(operands)}")
            missing = [
                attribute["name"]
                for attribute in schema["attributes"]
                if attribute["required"] and attribute["name"] not in attributes
            ]
            if missing:
                raise TypeError(f"{name} needs the attribute {missing[0]!r}")
        node = graph.add(
            name, operands, attributes, domain=domain, outputs=_outputs, name=_name, before=_before, after=_after
        )
        results = node.outputs
        return results[0] if len(results) == 1 else results

    operator.__name__ = name
    operator.__qualname__ = name
    operator.__doc__ = f"Adds a node of {name}."
    return operator


class _Domain:
    """The operators of another operator set."""

    def __init__(self, domain: str) -> None:
        self._domain = domain

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return _operator(name, self._domain)


ml = _Domain("ai.onnx.ml")
"""The operators of `ai.onnx.ml`."""
microsoft = _Domain("com.microsoft")
"""The operators of `com.microsoft`."""


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise AttributeError(name)
    made = _operator(name)
    globals()[name] = made
    return made
