"""A row for every file, with Dask."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from distributed import Client, LocalCluster

from onnxkit import scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True, timeout=300), workers: int = 2) -> list[Row]:
    """The rows in the order of the paths. The scheduler gives the files of a worker that died to others."""
    wanted = list(paths)
    parts = [wanted[start : start + 16] for start in range(0, len(wanted), 16)]
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        # A function and the same paths may give other rows tomorrow, hence `pure=False`.
        futures = client.map(lambda part: [function(path) for path in part], parts, pure=False)
        return [row for part in client.gather(futures) for row in part]
