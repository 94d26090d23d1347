"""Models of other packages."""

from __future__ import annotations

import os
import sys
import time

from . import _core
from ._core import Model, Table
from ._errors import LoadError

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._ranges import Source


def parse(text: str, **options: Any) -> Model:
    """The model of ONNX text, which may begin with its graph."""
    return _core.parse(_with_header(text), **options)


def _with_header(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"the text of a model is a `str`, not `{type(text).__name__}`; `loads` reads bytes")
    if not text.lstrip().startswith(("<", "#", "//")):
        return f'<ir_version: 10, opset_import: ["": 21]> {text}'
    return text


def _is_onnx_text(text: str) -> bool:
    """Whether a text is not JSON or the text form of protobuf, which begins with a field and `:` or `{`."""
    start = text.lstrip()
    return start.startswith(("<", "//")) or not start[:1] == "{" and not _begins_with_field(start)


def _begins_with_field(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    name = first.split(":")[0].split("{")[0].strip()
    return "(" not in name and "=>" not in name and name != first and name.replace("_", "a").isalnum()


def load(path: Any, data_dir: Any = None, mapped: bool = True, **options: Any) -> Model:
    """The model of a file."""
    if isinstance(path, (bytes, bytearray, memoryview)):
        raise TypeError("a path is a `str` or `os.PathLike`; `loads` reads the bytes of a model")
    if not isinstance(path, str) and not hasattr(path, "__fspath__"):
        from ._ranges import is_source

        if is_source(path):
            return _of_source(path, data_dir, mapped, **options)
    return _core.load(path, data_dir, mapped, **options)


def _of_source(source: Source, data_dir: Any, mapped: bool, *, timeout: float | None = None, **options: Any) -> Model:
    """The model of an object that gives ranges of bytes, all of which are read. `timeout` is for both parts of the work."""
    from ._ranges import FileChangedError, contents

    # Wrong options are refused before anything is read.
    _core.require_options(timeout=timeout, **options)
    deadline = None if timeout is None else time.monotonic() + float(timeout)
    try:
        read = contents(source, options.get("limits"), deadline)
    except FileChangedError as error:
        raise LoadError(f"{type(source).__name__}: {error}") from error
    rest = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    return loads(read, data_dir, mapped, timeout=rest, **options)


def loads(contents: Any, data_dir: Any = None, mapped: bool = True, **options: Any) -> Model:
    """The model of the bytes of a file, or of text in any form."""
    if isinstance(contents, str):
        if _is_onnx_text(contents):
            if data_dir is None:
                return parse(contents, **options)
            contents = _with_header(contents)
        contents = contents.encode()
    if not isinstance(contents, bytes):
        try:
            view = memoryview(contents)
        except (TypeError, BufferError):
            raise TypeError(f"a model is read from bytes or text, not `{type(contents).__name__}`") from None
        if not view.ndim:
            raise TypeError(f"a model is read from bytes or text, not from one element of `{type(contents).__name__}`")
        # The native module copies memory that something can write.
        contents = view if view.c_contiguous else view.tobytes()
    if not len(contents):
        raise LoadError("no bytes, so that they hold no model")
    return _core.loads(contents, data_dir, mapped, **options)


def flag(value: Any, name: str) -> bool:
    """An argument that is true or false. Other values would mean something else than they seem to: the text `no` is true."""
    if isinstance(value, bool):
        return value
    raise TypeError(f"`{name}={value!r}`: write True or False")


def is_truth(value: Any) -> bool:
    """Whether an argument is a truth value, which is a number for Python, and no number here."""
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"))


def is_text(source: str) -> bool:
    """Whether this is the text of a model: no path has the arrow and the brace of a graph."""
    return "\n" in source or source.lstrip().startswith("<") or ("=>" in source and "{" in source)


def from_any(source: Any) -> Model:
    """The model that an object is: a model, a path, bytes, text, or a model of `onnx` or `onnx_ir`."""
    if isinstance(source, Model):
        return source
    if isinstance(source, str):
        return parse(source) if is_text(source) else load(source)
    if isinstance(source, os.PathLike):
        return load(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return loads(source)
    if hasattr(source, "size") and hasattr(source, "read"):
        return load(source)
    # The bytes of another message can be those of a model, with other contents.
    if hasattr(source, "SerializeToString") and getattr(getattr(source, "DESCRIPTOR", None), "name", "ModelProto") == "ModelProto":
        return _core.loads(source.SerializeToString())
    onnx_ir = sys.modules.get("onnx_ir")
    if onnx_ir is not None and isinstance(source, onnx_ir.Model):
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


# More rows are not shown in a notebook.
_SHOWN_ROWS = 20


def table_to_html(table: Table) -> str:
    """What a notebook shows."""
    import html

    columns = table.to_dict()
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    rows = []
    for row in zip(*(column[:_SHOWN_ROWS] for column in columns.values()), strict=True):
        shown = ("" if cell is None else ", ".join(map(str, cell)) if isinstance(cell, list) else str(cell) for cell in row)
        rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in shown) + "</tr>")
    rest = len(table) - len(rows)
    more = f"<p>and {rest} more rows</p>" if rest else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def to_html(model: Model) -> str:
    """What a notebook shows."""
    import html

    from . import info

    return f"<pre>{html.escape(repr(info(model)))}</pre>"
