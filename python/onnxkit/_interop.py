"""Models of other packages."""

from __future__ import annotations

import os

from . import _core
from ._core import Model, load, loads
from ._errors import LoadError

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
        return _from_ir(source)
    if hasattr(source, "model_proto"):
        return from_any(source.model_proto)
    kind = f"{type(source).__module__}.{type(source).__name__}"
    raise TypeError(f"{kind} is not a model; pass a Model, a path, bytes, text, or a model of onnx or onnx_ir")


def _from_ir(source: Any) -> Model:
    """The model of an `onnx_ir.Model`; weights in other files are read from the folder that it has for them."""
    import onnx_ir

    folders: set[str] = set()
    for graph in source.graphs():
        for value in graph.initializers.values():
            if isinstance(value.const_value, onnx_ir.ExternalTensor):
                folders.add(os.fspath(value.const_value.base_dir) or ".")
    if len(folders) > 1:
        message = "the model has weights in several folders; read them first, with `onnx_ir.external_data.load_to_model`"
        raise LoadError(f"{message}: {', '.join(sorted(folders))}")
    return loads(onnx_ir.to_proto(source).SerializeToString(), next(iter(folders), None))


def to_proto(model: Model) -> Any:
    """The model as an `onnx.ModelProto`. Weights in other files stay there: they are in `model.folder`."""
    import onnx

    return onnx.ModelProto.FromString(bytes(model))


def to_ir(model: Model) -> Any:
    """The model as an `onnx_ir.Model`."""
    import onnx_ir

    made = onnx_ir.from_proto(to_proto(model))
    if model.folder is not None:
        for graph in made.graphs():
            onnx_ir.external_data.set_base_dir(graph, model.folder)
    return made


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
