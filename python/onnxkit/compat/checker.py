"""The module `onnx.onnx_cpp2py_export.checker`: the rules of the checker that the reference enforces."""

from __future__ import annotations

import os

from onnxkit import _core
from onnxkit._errors import LimitError, LoadError, OnnxError

from . import _arguments, _registry, _wire
from ._arguments import checked
from ._mode import MODE, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

# The domain of nodes that are made to hold a standalone attribute or tensor.
_HOLDER = "onnxkit.part"
# A node uses values that are defined outside of it.
_ENVIRONMENT = frozenset({"value-never-defined"})
# The first version of the format in which a model imports operator sets, as the model around a part does.
_FIRST_IR_VERSION = 3
# The first one with functions, in which a function must have a domain.
_FUNCTION_IR_VERSION, _NO_DOMAIN = 8, "function-domain-missing"
# A finding about the model around a part, whose version of the format may not exist.
_FORMAT = frozenset({"ir-version-unknown"})
# The type in an attribute of a tensor and of a sparse tensor.
_TENSOR, _SPARSE_TENSOR = 4, 11


class ValidationError(Exception):
    """A model, or a part of one, that is not valid."""


class CheckerContext:
    """The versions that a part is checked for."""

    __slots__ = ("_ir_version", "_opset_imports")

    def __init__(self) -> None:
        self._ir_version = -1
        self._opset_imports: dict[str, int] = {}

    @property
    def ir_version(self) -> int:
        """The version of the file format."""
        return self._ir_version

    @ir_version.setter
    def ir_version(self, value: int) -> None:
        self._ir_version = _arguments.integer(value)

    @property
    def opset_imports(self) -> dict[str, int]:
        """A copy of the versions of operator sets by domain."""
        return dict(self._opset_imports)

    @opset_imports.setter
    def opset_imports(self, value: dict[str, int]) -> None:
        self._opset_imports = _arguments.versions(value)


class LexicalScopeContext:
    """The names that are visible from outside of a part: none."""

    __slots__ = ()


def _refuse(model: _core.Model, full: bool, ignored: Collection[str] = (), of_node: Collection[str] = ()) -> None:
    """Raises an error for what the checker finds. Some findings are ignored, and others about nodes that are in no nested graph."""
    found = _core.check(model, full, MODE.profile)["findings"]
    errors = [finding for finding in found if finding["severity"] == "error" and finding["slug"] not in ignored]
    errors = [finding for finding in errors if finding["slug"] not in of_node or " / graph" in finding["place"]]
    errors = _registry.without_known(errors, model)
    if errors:
        raise ValidationError(worded(errors))


# Calls of functions that have no end, or of which it is not known what they call.
_CYCLES = frozenset({"function-calls-itself", "function-calls-too-deep", "function-defined-twice", "too-many-functions"})


def refuse_cycles(findings: Sequence[Mapping[str, Any]]) -> None:
    """Raises an error if findings of the checker say that a function calls itself, or that several have one name."""
    found = [finding for finding in findings if finding["slug"] in _CYCLES]
    if found:
        raise ValidationError(worded(found))


# What the decoder repairs, and the reference refuses.
_REPAIRED = frozenset({"attribute-with-several-values", "tensor-with-several-data-fields", "no-graph"})


def _refuse_repaired(encoded: bytes) -> None:
    try:
        findings = _core.decode_findings(encoded)
    except LoadError as error:
        raise ValueError(str(error)) from None
    except LimitError as error:
        raise ValidationError(str(error)) from None
    found = [finding for finding in findings if finding["slug"] in _REPAIRED]
    if found:
        raise ValidationError(worded(found))


def _loaded(encoded: bytes, data_dir: str | None = None) -> _core.Model:
    try:
        return _core.loads(encoded, data_dir)
    except LoadError as error:
        raise ValueError(str(error)) from None
    except LimitError as error:
        raise ValidationError(str(error)) from None


def _part(graph: bytes, ctx: CheckerContext, of_node: Collection[str] = (), functions: bytes = b"") -> _core.Model:
    """Checks a part in the graph of a model."""
    versions = {**ctx.opset_imports, _HOLDER: 1}
    least = _FUNCTION_IR_VERSION if functions else _FIRST_IR_VERSION
    encoded = _wire.model(max(ctx.ir_version, least), versions, graph, functions)
    _refuse_repaired(encoded)
    model = _loaded(encoded)
    _refuse(model, False, _FORMAT | ({_NO_DOMAIN} if ctx.ir_version < _FUNCTION_IR_VERSION else set()), of_node)
    return model


def _held(attribute: bytes, ctx: CheckerContext) -> None:
    """Checks an attribute of a node of which nothing is known."""
    node = (
        _wire.text(_wire.NODE_OUTPUT, "held") + _wire.text(_wire.NODE_OP_TYPE, "Held")
        + _wire.message(_wire.NODE_ATTRIBUTE, attribute) + _wire.text(_wire.NODE_DOMAIN, _HOLDER)
    )
    _part(_named(_wire.message(_wire.GRAPH_NODE, node)), ctx)


def _named(graph: bytes) -> bytes:
    return _wire.text(_wire.GRAPH_NAME, "part") + graph


@checked
def check_value_info(bytes: bytes, checker_context: CheckerContext, /) -> None:
    """Checks an encoded `ValueInfoProto`."""
    _part(_named(_wire.message(_wire.GRAPH_INPUT, bytes)), checker_context)


@checked
def check_tensor(bytes: bytes, checker_context: CheckerContext, /) -> None:
    """Checks an encoded `TensorProto`."""
    _held(_attribute(_wire.ATTRIBUTE_TENSOR, bytes, _TENSOR), checker_context)


@checked
def check_sparse_tensor(bytes: bytes, checker_context: CheckerContext, /) -> None:
    """Checks an encoded `SparseTensorProto`."""
    _held(_attribute(_wire.ATTRIBUTE_SPARSE_TENSOR, bytes, _SPARSE_TENSOR), checker_context)


def _attribute(field: int, value: bytes, kind: int) -> bytes:
    name = _wire.text(_wire.ATTRIBUTE_NAME, "held")
    return name + _wire.message(field, value) + _wire.number(_wire.ATTRIBUTE_TYPE, kind)


@checked
def check_attribute(
    bytes: bytes, checker_context: CheckerContext, lexical_scope_context: LexicalScopeContext, /
) -> None:
    """Checks an encoded `AttributeProto`."""
    _held(bytes, checker_context)


@checked
def check_node(
    bytes: bytes, checker_context: CheckerContext, lexical_scope_context: LexicalScopeContext, /
) -> None:
    """Checks an encoded `NodeProto`."""
    model = _part(_named(_wire.message(_wire.GRAPH_NODE, bytes)), checker_context, _ENVIRONMENT)
    _registry.verify(model)


@checked
def check_function(
    bytes: bytes, checker_context: CheckerContext, lexical_scope_context: LexicalScopeContext, /
) -> None:
    """Checks an encoded `FunctionProto`."""
    functions = _wire.message(_wire.MODEL_FUNCTIONS, bytes)
    model = _part(_named(b""), checker_context, functions=functions)
    _registry.verify(model)


@checked
def check_graph(
    bytes: bytes, checker_context: CheckerContext, lexical_scope_context: LexicalScopeContext, /
) -> None:
    """Checks an encoded `GraphProto`."""
    _registry.verify(_part(bytes, checker_context))


@checked
def check_model(
    bytes: bytes,
    full_check: bool = False,
    skip_opset_compatibility_check: bool = False,
    check_custom_domain: bool = False,
) -> None:
    """Checks an encoded `ModelProto`. Files with weights are looked for in the current folder."""
    _refuse_repaired(bytes)
    ignored = {"operator-differs-from-model"} if skip_opset_compatibility_check else ()
    _check(_loaded(bytes, os.curdir), full_check, ignored, check_custom_domain)


@checked
def check_model_path(
    path: str,
    full_check: bool = False,
    skip_opset_compatibility_check: bool = False,
    check_custom_domain: bool = False,
) -> None:
    """Checks a model in a file."""
    ignored = {"operator-differs-from-model"} if skip_opset_compatibility_check else ()
    try:
        model = _core.load(path)
    except OnnxError as error:
        raise ValidationError(str(error)) from None
    _check(model, full_check, ignored, check_custom_domain)


def _check(model: _core.Model, full_check: bool, ignored: Collection[str], check_custom_domain: bool) -> None:
    _refuse(model, True, ignored)
    _registry.verify(model)
    if check_custom_domain:
        unknown = _registry.unknown_operator(model)
        if unknown is not None:
            raise ValidationError(unknown)
    if full_check:
        from . import shape_inference

        shape_inference.infer(model, check_type=True, strict_mode=True, data_prop=False)


@checked
def _open_external_data(base_dir: str, location: str, tensor_name: str, read_only: bool, /) -> int:
    """Opens a file with weights, and returns its descriptor. It must be in the folder, and not through links."""
    from ._external import open_contained

    try:
        return open_contained(base_dir, location, read_only)
    except OSError as error:
        raise ValidationError(
            f"the external data of tensor `{tensor_name}` cannot be opened: {error.strerror or error}"
        ) from None
