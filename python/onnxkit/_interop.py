"""Models of other packages."""

from __future__ import annotations

import os

from . import _core
from ._core import Model, load, loads

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse(text: str, **options: Any) -> Model:
    """The model of ONNX text, which may begin with its graph."""
    if not text.lstrip().startswith(("<", "#", "//")):
        text = f'<ir_version: 10, opset_import: ["": 21]> {text}'
    return _core.parse(text, **options)


def from_any(source: Any) -> Model:
    """The model that an object is: a model, a path, bytes, text, or a model of `onnx` or `onnx_ir`."""
    if isinstance(source, Model):
        return source
    if isinstance(source, str):
        # No path has the arrow and the brace of a graph.
        if "\n" in source or source.lstrip().startswith("<") or ("=>" in source and "{" in source):
            return parse(source)
        return load(source)
    if isinstance(source, os.PathLike):
        return load(source)
    if isinstance(source, bytes):
        return loads(source)
    if isinstance(source, (bytearray, memoryview)):
        from ._arrays import stable

        return loads(stable(memoryview(source)))
    if hasattr(source, "SerializeToString"):
        return loads(source.SerializeToString())
    if type(source).__module__.split(".")[0] == "onnx_ir":
        import onnx_ir

        return loads(onnx_ir.to_proto(source).SerializeToString())
    if hasattr(source, "model_proto"):
        return from_any(source.model_proto)
    kind = f"{type(source).__module__}.{type(source).__name__}"
    raise TypeError(f"{kind} is not a model; pass a Model, a path, bytes, text, or a model of onnx or onnx_ir")


def to_proto(model: Model) -> Any:
    """The model as an `onnx.ModelProto`."""
    import onnx

    return onnx.ModelProto.FromString(bytes(model))


def to_ir(model: Model) -> Any:
    """The model as an `onnx_ir.Model`."""
    import onnx_ir

    return onnx_ir.from_proto(to_proto(model))


def to_ort(model: Model, **options: Any) -> Any:
    """A session of `onnxruntime`. Weights in other files are found in the folder of the model."""
    import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]

    folder = model.folder
    session = options.pop("sess_options", None) or onnxruntime.SessionOptions()
    if folder is not None:
        session.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(bytes(model), sess_options=session, **options)


def to_html(model: Model) -> str:
    """What a notebook shows."""
    import html

    from . import info

    return f"<pre>{html.escape(repr(info(model)))}</pre>"
