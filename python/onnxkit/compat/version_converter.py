"""The module `onnx.onnx_cpp2py_export.version_converter`."""

from __future__ import annotations

from onnxkit import _core, _errors

from . import _constants, _defaults, _wire
from ._arguments import checked
from ._mode import MODE, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What a model must not have when it is converted: names without a value.
_UNDEFINED = frozenset({"value-never-defined", "graph-output-not-produced"})
_NOTHING_DEFINES = "nothing defines"
_NO_IR_VERSION = "ir-version-missing"
_RECURRENT = frozenset({"RNN", "GRU", "LSTM"})


class ConvertError(Exception):
    """A model that cannot be converted to another version of its operator set."""


class RefusedConversion(ConvertError, RuntimeError):
    """The reference raises either of both, depending on where it notices that a form does not exist."""


@checked
def convert_version(model: bytes, target: int, /) -> bytes:
    """The encoded model in another version of the default operator set, with inferred types."""
    try:
        return _converted(model, target)
    except RefusedConversion:
        # What is an attribute in the other version must be constant. A default can be replaced by the caller: it is constant
        # only without the input. The result has no such input, so that a caller cannot give a value that would be ignored.
        constant, defaults = _defaults.as_constants(model)
        if not defaults:
            raise
        return _converted(constant, target)


def _converted(model: bytes, target: int) -> bytes:
    import onnx

    converted = _wire.loaded(model)
    try:
        refused = [found for found in _core.check(converted, False, "reference")["findings"] if _is_refused(found)]
        if refused:
            raise RefusedConversion(worded(refused))
        if MODE.reference_limits:
            from ._refusals import refusals

            for reason in refusals(converted, target):
                raise RefusedConversion(reason)
        _core.infer(converted, {}, True)
        converted = _with_leniency(converted, target)
        _core.infer(converted, {}, True)
    except _errors.ConvertError as error:
        message = worded(finding.to_dict() for finding in error.findings) if error.findings else str(error)
        raise RefusedConversion(message) from None
    except _errors.OnnxError as error:
        raise RefusedConversion(str(error)) from None
    proto = onnx.ModelProto.FromString(converted.to_bytes())
    known = _constants.names(_wire.decoded(onnx.ModelProto, model).graph)
    _constants.as_nodes(proto.graph, known, target)
    _state_layouts(proto, model, target)
    return bytes(proto.SerializeToString())


def _is_refused(finding: Mapping[str, Any]) -> bool:
    is_undefined = finding["slug"] in _UNDEFINED and str(finding["message"]).startswith(_NOTHING_DEFINES)
    return is_undefined or str(finding["slug"]) == _NO_IR_VERSION


def _with_leniency(model: _core.Model, target: int) -> _core.Model:
    """The model in another version, which nodes that mean nothing do not prevent if they do not prevent it in the reference."""
    try:
        _core.convert(model, target, "")
    except _errors.ConvertError as error:
        from . import _leniency

        findings = [finding.to_dict() for finding in error.findings]
        if MODE.profile != "reference" or not _leniency.has_invalid_nodes(findings):
            raise
        lenient = _leniency.convert(model, target, findings)
        if lenient is None:
            raise
        return lenient
    return model


def _state_layouts(proto: Any, model: bytes, target: int) -> None:
    """States the default layout of recurrent operators that had none before version 14, as the reference does."""
    import onnx

    imports = _wire.decoded(onnx.ModelProto, model).opset_import
    if target < 14 or all(entry.domain or entry.version >= 14 for entry in imports):
        return
    for node in proto.graph.node:
        if node.op_type in _RECURRENT and not node.domain and all(one.name != "layout" for one in node.attribute):
            node.attribute.add(name="layout", type=onnx.AttributeProto.INT, i=0)
