"""A row for every file, with processes of `concurrent.futures`."""

import contextlib
import functools
import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from onnxkit import scan


def rows(paths: Iterable[str], function: Callable[[str], dict[str, Any]] = functools.partial(scan, isolate=True, timeout=300), workers: int = 2) -> list[dict[str, Any]]:
    """The rows in the order of the paths. A pool that lost a process is replaced, and does what is left."""
    wanted, found, fruitless = list(paths), dict[str, dict[str, Any]](), 0
    while left := [path for path in wanted if path not in found][:10_000]:
        before, futures, gate = len(found), dict[str, Future[dict[str, Any]]](), multiprocessing.Semaphore(0)
        with ProcessPoolExecutor(workers, initializer=gate.acquire) as pool:
            with contextlib.suppress(BrokenProcessPool), contextlib.ExitStack() as submitted:
                for _ in range(workers):
                    submitted.callback(gate.release)
                futures.update((path, pool.submit(function, path)) for path in left)
            for path, future in futures.items():
                with contextlib.suppress(BrokenProcessPool):
                    found[path] = future.result()
        if (fruitless := 0 if len(found) > before else fruitless + 1) == 4:
            raise BrokenProcessPool("4 pools made no row")
    return [found[path] for path in wanted]
