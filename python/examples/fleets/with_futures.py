"""A row for every file, with processes of `concurrent.futures`."""

import contextlib
import functools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from onnxkit import scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True, timeout=300), workers: int = 2) -> list[Row]:
    """The rows in the order of the paths. A pool that lost a process is replaced, and does what is left."""
    found: dict[str, Row] = {}
    wanted, fruitless = list(paths), 0
    while left := [path for path in wanted if path not in found]:
        before = len(found)
        with ProcessPoolExecutor(workers) as pool:
            futures: dict[str, Future[Row]] = {}
            with contextlib.suppress(BrokenProcessPool):  # Also before all files are submitted.
                futures.update((path, pool.submit(function, path)) for path in left)
            for path, future in futures.items():
                with contextlib.suppress(BrokenProcessPool):
                    found[path] = future.result()
        if (fruitless := 0 if len(found) > before else fruitless + 1) == 4:
            raise BrokenProcessPool("4 pools made no row")
    return [found[path] for path in wanted]
