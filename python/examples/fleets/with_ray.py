"""A row for every file, with Ray."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import ray

from onnxkit import scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True, timeout=300), workers: int = 2) -> list[Row]:
    """The rows in the order of the paths. Ray repeats a task whose worker died, at most 3 times."""
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        task = ray.remote(max_retries=3)(lambda part: [function(path) for path in part])
        wanted = list(paths)
        parts = [task.remote(wanted[start : start + 16]) for start in range(0, len(wanted), 16)]
        return [row for part in ray.get(parts) for row in part]
    finally:
        ray.shutdown()
