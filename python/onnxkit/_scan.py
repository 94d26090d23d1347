"""Facts about many files, a row for each, and functions that are picklable by name.

The rows are those of `onnx scan`, made by the same code.
"""

from __future__ import annotations

import os
import time

from . import _core
from ._core import Table
from ._errors import ArgumentError
from ._interop import flag

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from concurrent.futures import Future, ThreadPoolExecutor
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
    "finding_code": "string",
    "finding": "string",
    "unknown_shapes": "int64",
    "seconds": "float64",
    "version": "string",
}
"""The columns of a row, in their order, with their types as Arrow names them. All but the first three may be `None`."""

# Texts that come from a file end after this many characters.
_MAX_TEXT = 1000
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
    """Facts about a file as one row with the columns of `SCAN_SCHEMA`. Every path and any bytes have a row.

    `path` is a path, or an object with `size` and `read(start, end)`, such as an object of a store. Elements of large tensors
    are not read. The file is not mapped, so that one that becomes shorter meanwhile does no harm.

    `stage` is `done`, or where it ended, with `error_code` and `error`: `read` if there are no bytes, `load` if they are no
    model, `inspect`, `check` or `infer`, and `process`. `ok` means that it is done, and that no error was found: what
    `onnx check` finds. The first error, or else the first warning, is in `finding_code` and `finding`. Without `checks`, the
    columns from `errors` to `unknown_shapes` are `None`.

    `timeout` is the time for reading and checks together, in seconds. `limits` are those of `onnx explain --list limits`.

    With `isolate=True`, a separate process does it, which further calls use again. If it dies, or does not end within
    `timeout` seconds, the row says so, with the stage `process`. `memory` is the most bytes of address space that the process
    may use, where the system has such a limit; the map of a large file, which takes no memory, does not count.

    Options that have no meaning, such as a negative timeout or a limit of an unknown name, raise an exception.

    >>> import onnxkit as ox
    >>> ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }").save("relu.onnx")
    0
    >>> row = ox.scan("relu.onnx")
    >>> row["ok"], row["nodes"]
    (True, 1)
    >>> ox.scan("none.onnx")["stage"]
    'read'
    """
    return row_of(path, options_of(checks, limits, timeout, isolate, memory))


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

    With `isolate=True`, each thread has a separate process, and replaces it if a file ends it. `scan_iter` gives the rows one
    by one, as they are made.

    >>> import onnxkit as ox
    >>> ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }").save("relu.onnx")
    0
    >>> ox.scan_many(["relu.onnx", "none.onnx"]).to_dict()["stage"]
    ['done', 'read']
    """
    options = options_of(checks, limits, timeout, isolate, memory)
    rows = [row for _, row in _rows(paths, options, _workers(threads, paths, "scan_many"), True)]
    return Table({name: [row[name] for row in rows] for name in SCAN_SCHEMA}, dict(SCAN_SCHEMA))


def scan_iter(
    paths: Iterable[AnySource],
    *,
    checks: bool = True,
    limits: Mapping[str, int] | None = None,
    timeout: float | None = None,
    threads: int | None = None,
    isolate: bool = False,
    memory: int | None = None,
    ordered: bool = False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The row of `scan` for each file with its index in the paths, as soon as it is made: one that takes long holds back no
    other one. With `ordered=True`, they are in the order of the paths.

    Paths are taken as they are needed, so that there can be any number of them.

    >>> import onnxkit as ox
    >>> ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }").save("relu.onnx")
    0
    >>> for index, row in ox.scan_iter(["relu.onnx", "none.onnx"], ordered=True):
    ...     print(index, row["path"], row["ok"])
    0 relu.onnx True
    1 none.onnx False
    """
    # A generator would refuse wrong options when the first row is taken.
    options = options_of(checks, limits, timeout, isolate, memory)
    return _rows(paths, options, _workers(threads, paths, "scan_iter"), flag(ordered, "ordered"))


def _rows(paths: Iterable[AnySource], options: dict[str, Any], workers: int, ordered: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(workers)
    try:
        running: dict[Future[dict[str, Any]], int] = {}
        made: dict[int, dict[str, Any]] = {}
        left, turn = enumerate(paths), 0
        while True:
            # What waits for its turn counts, so that a slow file does not let rows accumulate without end.
            while len(running) < 4 * workers and len(made) < 1024 * workers and (entry := next(left, None)) is not None:
                running[_submitted(pool, entry[1], options)] = entry[0]
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                made[running.pop(future)] = future.result()
            while made and (not ordered or turn in made):
                index = turn if ordered else next(iter(made))
                turn += 1
                yield index, made.pop(index)
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(pool: ThreadPoolExecutor, path: AnySource, options: dict[str, Any]) -> Future[dict[str, Any]]:
    """The row of a file that a thread makes."""
    try:
        return pool.submit(row_of, path, options)
    except RuntimeError as error:
        if "thread" not in str(error):
            raise
        # `Evaluator` raises the same for threads that the system refuses.
        raise MemoryError(f"{pool._max_workers} threads cannot be started: {error}") from error


def _workers(threads: int | None, paths: Any, function: str) -> int:
    if is_path(paths):
        raise TypeError(f"`{function}` takes a list of paths; `scan` takes one")
    return (os.cpu_count() or 1) if threads is None else _positive("threads", threads, "a number of threads, at least 1, such as 4")


def _positive(name: str, value: Any, expected: str) -> int:
    """The whole number of an argument, which is at least 1. A truth value is none."""
    from operator import index

    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"`{name}={value!r}`: write {expected}")
    if number < 1:
        raise ArgumentError(f"`{name}={value!r}`: write {expected}")
    return number


def options_of(
    checks: bool, limits: Mapping[str, int] | None, timeout: float | None, isolate: bool, memory: int | None
) -> dict[str, Any]:
    """The options of a row. Raises an exception if one has no meaning."""
    from operator import index

    for name, flag in (("checks", checks), ("isolate", isolate)):
        if flag is not True and flag is not False:
            raise ArgumentError(f"`{name}={flag!r}`: write `True` or `False`")
    _core.require_options(limits=limits, timeout=timeout)
    if timeout is not None and not timeout < _MAX_TIMEOUT:
        raise ArgumentError(f"`timeout={timeout!r}`: write a number of seconds below {_MAX_TIMEOUT:,}")
    if memory is not None:
        memory = _positive("memory", memory, "a number of bytes, at least 1, such as `2 << 30`")
        if not isolate:
            raise ArgumentError("`memory` is a limit of a separate process: set `isolate=True`")
        try:
            import resource  # noqa: F401
        except ImportError:
            raise ArgumentError("`memory`: this system has no limit of the memory of a process") from None
    # Mappings and numbers of other libraries need not be those of a process.
    plain = None if limits is None else {str(name): index(limit) for name, limit in limits.items()}
    timeout = None if timeout is None else float(timeout)
    return {"checks": checks, "limits": plain, "timeout": timeout, "isolate": isolate, "memory": memory}


def row_of(path: AnySource, options: dict[str, Any], is_alone: bool = False) -> dict[str, Any]:
    """The row of a file. `is_alone` tells that this process does nothing else."""
    start = time.perf_counter()
    row: dict[str, Any] = dict.fromkeys(SCAN_SCHEMA)
    row["ok"], row["stage"], row["version"] = False, "read", _core.__version__
    # An object can refuse to say what it is called.
    row["path"] = type(path).__name__
    try:
        # Asked once: an object can answer differently, or not, the next time.
        known: Any = path
        if is_path(known):
            known = os.fspath(known)
        row["path"] = _shown(known)
        size = row["bytes"] = None if is_path(known) else _size(known)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        row["error_code"], row["error"] = described(error)
    else:
        try:
            row = _filled(row, known, size, options, is_alone)
        # What a source raises is in the row. Another exception is that of a signal, such as `SystemExit`.
        except Exception as error:
            row["error_code"], row["error"] = described(error)
    row["seconds"] = time.perf_counter() - start
    return row


def _filled(row: dict[str, Any], path: Any, size: int | None, options: dict[str, Any], is_alone: bool) -> dict[str, Any]:
    """The row with what is known of the contents. `size` is that of a source."""
    if options["isolate"]:
        from ._isolation import isolated

        return {**row, **isolated(path, row["path"], size, options)}
    work = {"limits": options["limits"], "timeout": options["timeout"]}
    if size is None:
        return _core.scan_file(os.fsdecode(path), row["path"], options["checks"], is_alone, **work)
    return _core.scan_source(path, size, row["path"], options["checks"], is_alone, **work)


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


def described(error: BaseException) -> tuple[str, str]:
    """The code and the message of an error. Equal errors of different files have equal messages where they can."""
    try:
        is_of_system = isinstance(error, OSError) and error.strerror
        message = _text(str(error.strerror if is_of_system else error))  # type: ignore[attr-defined]
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException:
        # The exception of a source need not have a message.
        message = ""
    return _text(type(error).__name__), message if len(message) <= _MAX_TEXT else message[: _MAX_TEXT - 1] + "…"


def _text(value: str) -> str:
    """A string that every engine can write, of no other class."""
    return str.encode(value, errors="backslashreplace").decode()
