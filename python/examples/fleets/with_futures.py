"""A row for every file, with processes of `concurrent.futures`."""

import contextlib
import functools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from onnxkit import scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True), workers: int = 2) -> list[Row]:
    """The rows in the order of the paths. A pool that lost a process is replaced, and does what is left."""
    found: dict[str, Row] = {}
    wanted = list(paths)
    while left := [path for path in wanted if path not in found]:
        with ProcessPoolExecutor(workers) as pool:
            futures: dict[str, Future[Row]] = {}
            # A process can also die before all files are submitted.
            with contextlib.suppress(BrokenProcessPool):
                futures.update((path, pool.submit(function, path)) for path in left)
            for path, future in futures.items():
                with contextlib.suppress(BrokenProcessPool):
                    found[path] = future.result()
    return [found[path] for path in wanted]
