"""A row for every file, with Dask."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from distributed import Client, LocalCluster

from onnxkit import scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True), workers: int = 2) -> list[Row]:
    """The rows in the order of the paths. The scheduler gives the files of a worker that died to others."""
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        # A function and the same path may give another row tomorrow, hence `pure=False`.
        futures = client.map(function, list(paths), pure=False, batch_size=100)
        found: list[Row] = client.gather(futures)
        return found
