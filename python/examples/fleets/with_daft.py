"""A row for every file, with Daft."""

import functools
import os
from collections.abc import Callable, Iterable
from typing import Any

import daft

from onnxkit import SCAN_SCHEMA, scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True, timeout=300), workers: int = 2) -> list[Row]:
    """The rows. A process that dies ends the query, so that a part of the files whose query failed is repeated."""
    kind = daft.DataType.struct({name: getattr(daft.DataType, kind)() for name, kind in SCAN_SCHEMA.items()})
    row = daft.udf(return_dtype=kind, concurrency=workers, use_process=True, batch_size=16)(
        lambda part: [function(os.fsdecode(path)) for path in part.to_pylist()]
    )
    wanted = [os.fsencode(path) for path in paths]  # A name need not be UTF-8.
    found, failures = list[Row](), 0
    while part := wanted[len(found) : len(found) + 500]:
        try:
            rows_of_part = daft.from_pydict({"path": part}).select(row(daft.col("path")).alias("row")).to_pydict()["row"]
            found, failures = found + rows_of_part, 0
        except RuntimeError:
            if (failures := failures + 1) == 4:
                raise
    return found
