"""A row for every file, with Daft."""

import functools
import os
from collections.abc import Callable, Iterable
from typing import Any

import daft

from onnxkit import SCAN_SCHEMA, scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True), workers: int = 2) -> list[Row]:
    """The rows. A process that dies ends the query, so that a part of the files whose query failed is repeated."""
    kind = daft.DataType.struct({name: getattr(daft.DataType, kind)() for name, kind in SCAN_SCHEMA.items()})
    row = daft.udf(return_dtype=kind, concurrency=workers, use_process=True, batch_size=16)(
        lambda part: [function(os.fsdecode(path)) for path in part.to_pylist()]
    )
    # Paths are bytes, because a name need not be UTF-8.
    wanted = [os.fsencode(path) for path in paths]
    found: list[Row] = []
    while part := wanted[len(found) : len(found) + 500]:
        try:
            query = daft.from_pydict({"path": part})
            found += query.select(row(query["path"]).alias("row")).to_pydict()["row"]
        except RuntimeError:
            continue
    return found
