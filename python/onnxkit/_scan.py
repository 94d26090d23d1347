"""Facts about many files. A row never raises for a file that is not a model, and functions are picklable by name."""

from __future__ import annotations

import os

from . import _core, _results
from ._core import Table

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

COLUMNS = (
    "path", "ok", "stage", "error_code", "error", "bytes", "ir_version", "opsets", "producer", "nodes", "functions", "parameters",
    "weight_bytes", "external_files", "errors", "warnings", "unknown_shapes", "seconds", "version",
)
"""The columns of a row."""


def scan(
    path: str | os.PathLike[str], *, checks: bool = True, limits: Mapping[str, int] | None = None, timeout: float | None = None
) -> dict[str, Any]:
    """Facts about a file as one row, for tables of many models. Never raises for a file that is not a model.

    `stage` is `done`, or where it ended: `load`, `inspect`, `check` or `infer`, with `error_code` and `error`. Weights are not
    read. Without `checks`, the columns `errors`, `warnings` and `unknown_shapes` are empty.
    """
    import time

    start = time.perf_counter()
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    shown = os.fspath(path)
    row["path"] = shown if isinstance(shown, str) else os.fsdecode(shown)
    row["ok"], row["stage"], row["version"] = False, "load", _core.__version__
    options: dict[str, Any] = {"limits": None if limits is None else dict(limits), "timeout": timeout}
    try:
        row["bytes"] = os.stat(path).st_size
        model = _core.load(path, None, **options)
        row["stage"] = "inspect"
        facts = _core.info(model)
        for name in ("ir_version", "producer", "nodes", "functions", "parameters", "weight_bytes"):
            row[name] = facts[name]
        row["external_files"] = len(facts["external_files"])
        row["opsets"] = ",".join(f"{domain or 'ai.onnx'}={version}" for domain, version in sorted(facts["opsets"].items()))
        if checks:
            row["stage"] = "check"
            report = _results.Report(_core.check(model, False, None, **options))
            row["errors"], row["warnings"] = len(report.errors), len(report.warnings)
            row["stage"] = "infer"
            row["unknown_shapes"] = len(_core.infer(model, {}, False, **options).unknown())
        row["ok"], row["stage"] = not row["errors"], "done"
    except Exception as error:
        row["error_code"], row["error"] = type(error).__name__, str(error)
    row["seconds"] = time.perf_counter() - start
    return row


def _isolated(path: Any, checks: bool, limits: Mapping[str, int] | None, timeout: float | None) -> dict[str, Any]:
    """The row of a separate process, which a file may end."""
    import json
    import subprocess
    import sys

    code = "import json, sys; from onnxkit import scan; p, c, l, t = json.load(sys.stdin); json.dump(scan(p, checks=c, limits=l, timeout=t), sys.stdout)"
    shown = os.fsdecode(path)
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row.update(path=shown, ok=False, stage="process", version=_core.__version__)
    request = json.dumps([shown, checks, None if limits is None else dict(limits), timeout])
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], input=request, capture_output=True, text=True, timeout=None if timeout is None else 2 * timeout + 5
        )
        if done.returncode == 0:
            found: dict[str, Any] = json.loads(done.stdout)
            return found
        row["error_code"], row["error"] = "ProcessError", f"the process ended with status {done.returncode}: {done.stderr[-500:]}"
    except subprocess.TimeoutExpired:
        row["error_code"], row["error"] = "Stopped", "the process did not end in time"
    return row


def scan_many(
    paths: Iterable[str | os.PathLike[str]],
    *,
    checks: bool = True,
    limits: Mapping[str, int] | None = None,
    timeout: float | None = None,
    threads: int | None = None,
    isolate: bool = False,
) -> Table:
    """A row of `scan` for each file, in the order of the paths, as a table.

    With `isolate=True`, each file is read in a separate process: one that ends it, for instance at a limit of the system for
    memory, has a row that says so.
    """
    from concurrent.futures import ThreadPoolExecutor

    def row(path: Any) -> dict[str, Any]:
        return _isolated(path, checks, limits, timeout) if isolate else scan(path, checks=checks, limits=limits, timeout=timeout)

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        rows = list(pool.map(row, paths))
    return Table({name: [found[name] for found in rows] for name in COLUMNS})
