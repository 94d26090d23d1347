"""Models that inference refuses for their declarations: imports, types of initializers, and sizes."""

from __future__ import annotations

from onnxkit import _core

from . import _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Finding = Mapping[str, Any]

# What the reference refuses in any mode: nothing says what the operators of a node mean, or an initializer is not of the type that is
# declared for it.
_NOT_IMPORTED = frozenset({"domain-not-imported", "opset-import-missing"})
_SPELLED_OUT, _SPELLED = "default-domain-spelled-out", "ai.onnx"
_CONTRADICTED = "initializer-contradicts-type"
_NEGATIVE = "negative-dimension"
# A size that stands for -1, so that it is equal to itself and to no other.
_STAND_IN = 1_999_999_973


def always(
    model: _core.Model, sized: _core.Model | None, defects: Sequence[Finding], strict_mode: bool
) -> list[Finding]:
    """The findings for which a model is refused in any mode. In nested graphs and functions they count in strict mode only.

    `sized` is the model of `with_sizes`.
    """
    slugs = {_CONTRADICTED} | (_NOT_IMPORTED if model.graph.nodes else set())
    found = [one for one in defects if one["slug"] in slugs or (one["slug"] == _SPELLED_OUT and not _imports_spelled(model))]
    if sized is not None:
        found += renamed(one for one in _core.check(sized, False, "spec")["findings"] if one["slug"] == _CONTRADICTED)
    return [one for one in found if strict_mode or _is_of_main_graph(one)]


def _imports_spelled(model: _core.Model) -> bool:
    imports = _wire.all_of(bytes(model), _wire.MODEL_OPSET_IMPORT)
    return any(_wire.text_of(one, _wire.OPSET_DOMAIN) == _SPELLED for one in imports)


def _is_of_main_graph(finding: Finding) -> bool:
    place = str(finding["place"])
    return not place.startswith("function") and " / graph" not in place


def with_sizes(model: _core.Model, defects: Sequence[Finding]) -> _core.Model | None:
    """The model with declared sizes below zero as sizes like others; `None` if there are none.

    The specification allows no such size. Inference takes them as unknown, which hides that a shape contradicts another one; the
    reference compares them.
    """
    if all(found["slug"] != _NEGATIVE for found in defects):
        return None
    import onnx

    proto = onnx.ModelProto.FromString(model.to_bytes())
    for kind in _declared_types(proto.graph):
        for dim in _dims(kind):
            if dim.HasField("dim_value") and dim.dim_value < 0:
                dim.dim_value = max(_STAND_IN + 1 + dim.dim_value, 0)
    return _wire.loaded(proto.SerializeToString())


def renamed(findings: Iterable[Finding]) -> list[Finding]:
    """Findings about a model of `with_sizes`, in the words of the model that it is made from."""
    return [{**one, "message": str(one["message"]).replace(str(_STAND_IN), "-1")} for one in findings]


def _declared_types(graph: Any) -> Iterator[Any]:
    for port in (*graph.input, *graph.output, *graph.value_info):
        yield port.type
    for node in graph.node:
        for attribute in node.attribute:
            for nested in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                yield from _declared_types(nested)


def _dims(kind: Any) -> Iterator[Any]:
    match kind.WhichOneof("value"):
        case "tensor_type" | "sparse_tensor_type" as field:
            yield from getattr(kind, field).shape.dim
        case "sequence_type" | "optional_type" as field:
            yield from _dims(getattr(kind, field).elem_type)
        case "map_type":
            yield from _dims(kind.map_type.value_type)
