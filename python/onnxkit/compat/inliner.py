"""The module `onnx.onnx_cpp2py_export.inliner`."""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _registry, _wire
from .checker import ValidationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FUNCTION_NAME, _FUNCTION_DOMAIN = 1, 10


def _inlined(model: bytes, names: list[str] | None, bodies: bool) -> bytes:
    loaded = _wire.loaded(model)
    try:
        if names is None or names or bodies:
            _core.inline(loaded, names, bodies)
    except OnnxError as error:
        raise ValidationError(str(error)) from None
    return bytes(loaded)


def _selected(model: bytes, function_ids: Iterable[tuple[str, str]], exclude: bool) -> list[str]:
    chosen = {(domain, name) for domain, name in function_ids}
    names = []
    for function in _wire.all_of(model, _wire.MODEL_FUNCTIONS):
        domain = _wire.text_of(function, _FUNCTION_DOMAIN)
        name = _wire.text_of(function, _FUNCTION_NAME)
        if ((domain, name) in chosen) != exclude:
            names.append(f"{domain}.{name}" if domain else name)
    return names


def inline_local_functions(model: bytes, convert_version: bool = False) -> bytes:
    """The encoded model with all calls of its functions replaced by their bodies.

    Functions of other versions of an operator set are converted, whether this is asked for or not: the model would be
    wrong otherwise.
    """
    return _inlined(model, None, False)


def inline_selected_functions(model: bytes, function_ids: Iterable[tuple[str, str]], exclude: bool) -> bytes:
    """The same for calls of some functions of the model, or of all but these."""
    return _inlined(model, _selected(model, function_ids, exclude), False)


def inline_selected_functions2(model: bytes, function_ids: Iterable[tuple[str, str]], exclude: bool) -> bytes:
    """The same, with operators whose bodies the specification defines as functions, too: all that the model has, or none."""
    chosen = {(domain, name) for domain, name in function_ids}
    present = _operators_with_bodies(model)
    selected = {operator for operator in present if (operator in chosen) != exclude}
    if selected and selected != present:
        others = ", ".join(sorted(name for _, name in present - selected))
        raise RuntimeError(f"operators are replaced by their bodies all or not at all; {others} would be, too")
    return _inlined(model, _selected(model, chosen, exclude), bool(selected))


def _operators_with_bodies(model: bytes) -> set[tuple[str, str]]:
    """The operators of a model that have bodies, by domain and name."""
    loaded = _wire.loaded(model)
    versions = loaded.opsets
    schemas = (_registry.schema_of(node, versions) for node in loaded.nodes() if node.callee is None)
    return {(schema.domain, schema.name) for schema in schemas if schema is not None and schema._has_body}
