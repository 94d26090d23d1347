"""Facts about many files, a row for each. A row never raises, and the functions are picklable by name."""

from __future__ import annotations

import os
import time

from . import _core, _results
from ._core import Table
from ._errors import ArgumentError, Stopped

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Final

    from ._ranges import Source

    AnySource = str | bytes | os.PathLike[str] | os.PathLike[bytes] | Source

SCAN_SCHEMA: Final[Mapping[str, str]] = {
    "path": "string",
    "ok": "bool",
    "stage": "string",
    "error_code": "string",
    "error": "string",
    "bytes": "int64",
    "bytes_read": "int64",
    "ir_version": "int64",
    "opsets": "string",
    "producer": "string",
    "nodes": "int64",
    "functions": "int64",
    "parameters": "int64",
    "weight_bytes": "int64",
    "external_files": "int64",
    "errors": "int64",
    "warnings": "int64",
    "unknown_shapes": "int64",
    "seconds": "float64",
    "version": "string",
}
"""The columns of a row, in their order, with their types as Arrow names them. All but the first three may be `None`."""

# Texts that come from the file end after this many characters, and numbers at the greatest one of their type.
_MAX_TEXT = 1000
_MAX_INTEGER = 2**63 - 1
# More than systems let a thread wait.
_MAX_TIMEOUT = 4_000_000


def scan(
    path: AnySource,
    *,
    checks: bool = True,
    limits: Mapping[str, int] | None = None,
    timeout: float | None = None,
    isolate: bool = False,
    memory: int | None = None,
) -> dict[str, Any]:
    """Facts about a file as one row with the columns of `SCAN_SCHEMA`. There is a row for any bytes; nothing is raised.

    `path` is a path, or an object with `size` and `read(start, end)`, such as an object of a store. Elements of large tensors
    are not read. The file is not mapped, so that one that becomes shorter meanwhile does no harm.

    `stage` is `done`, or where it ended, with `error_code` and `error`: `read` if there are no bytes, `load` if they are no
    model, `inspect`, `check` or `infer`, and `process`. `ok` means that it is done, and that no error was found.
    Without `checks`, the columns `errors`, `warnings` and `unknown_shapes` are `None`.

    With `isolate=True`, a separate process does it, which further calls use again. If it dies, or does not end within
    `timeout` seconds, the row says so, with the stage `process`. `memory` is the most bytes of address space that the process
    may use, where the system has such a limit.

    >>> import onnxkit as ox
    >>> ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }").save("relu.onnx")
    0
    >>> row = ox.scan("relu.onnx")
    >>> row["ok"], row["nodes"]
    (True, 1)
    >>> ox.scan("none.onnx")["stage"]
    'read'
    """
    start = time.perf_counter()
    row: dict[str, Any] = dict.fromkeys(SCAN_SCHEMA)
    row["ok"], row["stage"], row["version"] = False, "read", _core.__version__
    # An object can refuse to say what it is called.
    row["path"] = type(path).__name__
    try:
        row["path"] = _shown(path)
        if timeout is not None and not timeout < _MAX_TIMEOUT:
            raise ArgumentError(f"`timeout={timeout}`: write a number of seconds below {_MAX_TIMEOUT:,}")
        if memory is not None and memory < 1:
            raise ArgumentError(f"`memory={memory}`: write a number of bytes")
        if not is_path(path):
            row["bytes"] = _size(path)
        if isolate:
            from ._isolation import isolated

            row.update(isolated(path, {"checks": checks, "limits": _plain(limits), "timeout": timeout}, memory))
        else:
            if memory is not None:
                raise ArgumentError("`memory` is a limit of a separate process: set `isolate=True`")
            _fill(row, path, checks, _plain(limits), timeout)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        row["error_code"], row["error"] = _described(error)
    row["seconds"] = time.perf_counter() - start
    return {name: value if name == "path" else _bounded(value) for name, value in row.items()}


def scan_many(
    paths: Iterable[AnySource],
    *,
    checks: bool = True,
    limits: Mapping[str, int] | None = None,
    timeout: float | None = None,
    threads: int | None = None,
    isolate: bool = False,
    memory: int | None = None,
) -> Table:
    """A row of `scan` for each file, in the order of the paths, as a table. `threads` is 1 for each processor by default.

    With `isolate=True`, each thread has a separate process, and replaces it if a file ends it.
    """
    from concurrent.futures import ThreadPoolExecutor
    from operator import index

    if is_path(paths):  # type: ignore[arg-type]
        raise TypeError("`scan_many` takes a list of paths; `scan` takes one")
    workers = (os.cpu_count() or 1) if threads is None else index(threads)
    if workers < 1:
        raise ArgumentError(f"`threads={threads}`: at least one thread is needed")

    def row(path: AnySource) -> dict[str, Any]:
        return scan(path, checks=checks, limits=limits, timeout=timeout, isolate=isolate, memory=memory)

    with ThreadPoolExecutor(workers) as pool:
        rows = list(pool.map(row, paths))
    return Table({name: [found[name] for found in rows] for name in SCAN_SCHEMA})


def is_path(path: AnySource) -> bool:
    """Whether it is a path, and not a source of ranges."""
    return isinstance(path, (str, bytes)) or hasattr(path, "__fspath__")


def _shown(path: AnySource) -> str:
    """The name of a file or of a source. Bytes of a path that are not UTF-8 are escapes, which every engine can write."""
    if is_path(path):
        name = os.fspath(path)  # type: ignore[arg-type]
        try:
            return os.fsencode(name).decode(errors="backslashreplace")
        except UnicodeEncodeError:
            # Not the name of any file.
            return os.fsdecode(name).encode(errors="backslashreplace").decode()
    found = getattr(path, "path", None) or getattr(path, "name", None)
    return _text(found) if isinstance(found, str) else type(path).__name__


def _size(source: Any) -> int:
    """The size of a source."""
    from ._ranges import is_source, size_of

    if not is_source(source):
        raise ArgumentError(f"a path, or an object with `size` and `read(start, end)`, is needed, not `{type(source).__name__}`")
    return size_of(source)


def _described(error: BaseException) -> tuple[str, str]:
    """The code and the message of an error. Equal errors of different files have equal messages where they can."""
    try:
        is_of_system = isinstance(error, OSError) and error.strerror
        return type(error).__name__, str(error.strerror if is_of_system else error)  # type: ignore[attr-defined]
    except Exception:
        # The exception of a source need not have a message.
        return type(error).__name__, ""


def _text(value: str) -> str:
    """A string that every engine can write, of no other class."""
    return str.encode(value, errors="backslashreplace").decode()


def _plain(limits: Mapping[str, int] | None) -> dict[str, int] | None:
    return None if limits is None else {str(name): int(limit) for name, limit in limits.items()}


def _bounded(value: Any) -> Any:
    """A value that every engine can write."""
    if isinstance(value, str):
        value = _text(value)
        return value if len(value) <= _MAX_TEXT else value[: _MAX_TEXT - 1] + "…"
    if isinstance(value, int) and not isinstance(value, bool):
        return min(value, _MAX_INTEGER)
    return value


def _fill(row: dict[str, Any], path: AnySource, checks: bool, limits: dict[str, int] | None, timeout: float | None) -> None:
    """Fills the row in, stage by stage."""
    from ._ranges import FileSource, sparse_copy

    deadline = None if timeout is None else time.monotonic() + timeout
    if not is_path(path):
        import tempfile

        # Files of external data are not part of a source: they are looked for in an empty folder.
        with tempfile.TemporaryDirectory(prefix="onnxkit-") as folder, sparse_copy(path, limits, deadline) as (copy, read):  # type: ignore[arg-type]
            row["bytes_read"] = read
            _examine(row, copy, folder, checks, limits, deadline)
        return
    source = FileSource(os.fspath(path))  # type: ignore[arg-type]
    try:
        row["bytes"] = source.size
        with sparse_copy(source, limits, deadline) as (copy, read):
            row["bytes_read"] = read
            folder = os.path.dirname(os.fsdecode(path)) or os.curdir  # type: ignore[arg-type]
            _examine(row, copy, folder, checks, limits, deadline)
    finally:
        source.close()


def _counts(report: dict[str, Any]) -> tuple[int, int]:
    """The numbers of errors and warnings."""
    found = _results.Report(report)
    return len(found.errors), len(found.warnings)


def _examine(
    row: dict[str, Any], copy: str, folder: str, checks: bool, limits: dict[str, int] | None, deadline: float | None
) -> None:
    """Fills in what the copy of a model tells. Its files of external data are in the folder."""

    def options() -> dict[str, Any]:
        rest = None if deadline is None else deadline - time.monotonic()
        if rest is not None and rest <= 0:
            raise Stopped("the work was stopped, as `timeout` says")
        return {"limits": limits, "timeout": rest}

    row["stage"] = "load"
    try:
        model = _core.load(copy, folder, **options())
    except Exception as error:
        code, message = _described(error)
        row["error_code"], row["error"] = code, message.replace(copy, row["path"])
        return
    row["stage"] = "inspect"
    facts = _core.info(model)
    for name in ("ir_version", "producer", "nodes", "functions", "parameters", "weight_bytes"):
        row[name] = facts[name]
    row["external_files"] = len(facts["external_files"])
    row["opsets"] = ",".join(f"{domain or 'ai.onnx'}={version}" for domain, version in sorted(facts["opsets"].items()))
    if checks:
        row["stage"] = "check"
        report = _core.check(model, False, None, **options())
        row["errors"], row["warnings"] = _counts(report)
        row["stage"] = "infer"
        inference = _core.infer(model, {}, False, True, **options())
        row["unknown_shapes"] = len(inference.unknown())
        _results.add_contradictions(report, inference)
        row["errors"], row["warnings"] = _counts(report)
    row["ok"], row["stage"] = not row["errors"], "done"
