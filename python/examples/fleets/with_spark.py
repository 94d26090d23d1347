"""A row for every file, with Spark."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from onnxkit import SCAN_SCHEMA, scan

Row = dict[str, Any]


def rows(paths: Iterable[str], function: Callable[[str], Row] = functools.partial(scan, isolate=True, timeout=300), workers: int = 2) -> list[Row]:
    """The rows. Spark repeats a task whose worker died; in one process it does so because of the 4 in its address."""
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in SCAN_SCHEMA.items()])

    def batches(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield pa.RecordBatch.from_pylist([function(os.fsdecode(path)) for path in part["path"].to_pylist()], schema)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master(f"local[{workers},4]").config("spark.ui.enabled", "false").getOrCreate()
    # Paths are bytes, because a name need not be UTF-8.
    names = spark.createDataFrame([(os.fsencode(path),) for path in paths], "path binary").repartition(32)
    return [row.asDict() for row in names.mapInArrow(batches, from_arrow_schema(schema)).collect()]
