"""The module `onnx.onnx_cpp2py_export.inliner`."""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _constants, _registry, _specialized, _wire
from ._arguments import checked
from .checker import refuse_cycles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

_FUNCTION_NAME, _FUNCTION_DOMAIN, _FUNCTION_OPSET_IMPORT = 1, 10, 9
_INCOMPATIBLE = "Model has functions with incompatible opset versions."


class _Function:
    """What the encoded function of a model says about itself."""

    def __init__(self, encoded: memoryview) -> None:
        self.domain, self.name = _wire.text_of(encoded, _FUNCTION_DOMAIN), _wire.text_of(encoded, _FUNCTION_NAME)
        self.imports = _imports(encoded, _FUNCTION_OPSET_IMPORT)


def _imports(encoded: bytes | memoryview, field: int) -> dict[str, int]:
    """The versions of operator sets; the default one has the empty name."""
    found: dict[str, int] = {}
    for entry in _wire.all_of(encoded, field):
        domain = _wire.text_of(entry, _wire.OPSET_DOMAIN)
        found.setdefault("" if domain == "ai.onnx" else domain, _wire.number_of(entry, _wire.OPSET_VERSION))
    return found


def _read(model: bytes) -> tuple[_core.Model, list[_Function], dict[str, int]]:
    loaded = _wire.loaded(model)
    functions = [_Function(encoded) for encoded in _wire.all_of(model, _wire.MODEL_FUNCTIONS)]
    if functions:
        refuse_cycles(_core.check(loaded, False, "reference")["findings"])
    return loaded, functions, _imports(model, _wire.MODEL_OPSET_IMPORT)


def _mismatches(function: _Function, versions: dict[str, int]) -> set[str]:
    """The operator sets that a function imports in another version than the model."""
    return {domain for domain, version in function.imports.items() if versions.get(domain, version) != version}


def _inlined(loaded: _core.Model, chosen: Iterable[_Function], bodies: bool) -> bytes:
    """The encoded model without calls of some of its functions. A call that would have to stay is an error."""
    names = [_specialized.selector(function) for function in chosen]
    try:
        if names or bodies:
            loaded = _specialized.inline(loaded, names, bodies)
    except OnnxError as error:
        raise RuntimeError(str(error)) from None
    return _without(loaded, set(names)) if names else bytes(loaded)


def _without(model: _core.Model, names: set[str]) -> bytes:
    """The encoded model without the functions of these names, unless something that stays still calls one."""
    import onnx

    proto = onnx.ModelProto.FromString(bytes(model))
    called = set(_called(proto.graph.node))
    kept, others = [], list(proto.functions)
    while True:
        stay = [one for one in others if _specialized.selector(one) not in names or (one.domain, one.name) in called]
        if not stay:
            break
        kept += stay
        others = [one for one in others if one not in stay]
        called.update(pair for one in stay for pair in _called(one.node))
    if len(kept) == len(proto.functions):
        return bytes(model)
    kept = [onnx.FunctionProto.FromString(one.SerializeToString()) for one in proto.functions if one in kept]
    del proto.functions[:]
    proto.functions.extend(kept)
    return bytes(proto.SerializeToString())


def _called(nodes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """The domains and names of operators of nodes, also in nested graphs."""
    for node in nodes:
        yield node.domain, node.op_type
        for nested in _constants.graphs(node):
            yield from _called(nested.node)


@checked
def inline_local_functions(model: bytes, convert_version: bool, /) -> bytes:
    """The encoded model with all calls of its functions replaced by their bodies.

    Functions that import another version of an operator set than the model stay. With `convert_version`, those of other versions of
    the default operator set are converted; that one cannot be converted is a `RuntimeError`.
    """
    loaded, functions, versions = _read(model)
    convertible = {""} if convert_version else set()
    return _inlined(loaded, [one for one in functions if _mismatches(one, versions) <= convertible], False)


@checked
def inline_selected_functions(model: bytes, function_ids: Sequence[tuple[str, str]], exclude: bool, /) -> bytes:
    """The same for calls of some functions of the model, or of all but these. All must import the versions of the model."""
    loaded, functions, versions = _read(model)
    return _inlined(loaded, _selected(functions, versions, function_ids, exclude), False)


@checked
def inline_selected_functions2(model: bytes, function_ids: Sequence[tuple[str, str]], exclude: bool, /) -> bytes:
    """The same, with operators whose bodies the specification defines as functions, too: all that the model has, or none."""
    loaded, functions, versions = _read(model)
    selected = _selected(functions, versions, function_ids, exclude)
    present = _operators_with_bodies(loaded)
    operators = {operator for operator in present if (operator in set(function_ids)) != exclude}
    if operators and operators != present:
        others = ", ".join(sorted(name for _, name in present - operators))
        raise RuntimeError(f"operators are replaced by their bodies all or not at all; {others} would be, too")
    return _inlined(loaded, selected, bool(operators))


def _selected(
    functions: Iterable[_Function], versions: dict[str, int], function_ids: Iterable[tuple[str, str]], exclude: bool
) -> list[_Function]:
    chosen, found = set(function_ids), []
    for function in functions:
        if _mismatches(function, versions):
            raise RuntimeError(_INCOMPATIBLE)
        versions = {**function.imports, **versions}
        if ((function.domain, function.name) in chosen) != exclude:
            found.append(function)
    return found


def _operators_with_bodies(loaded: _core.Model) -> set[tuple[str, str]]:
    """The operators of a model that have bodies, by domain and name."""
    versions = loaded.opsets
    schemas = (_registry.schema_of(node, versions) for node in loaded.nodes() if node.callee is None)
    return {(schema.domain, schema.name) for schema in schemas if schema is not None and schema._has_body}
