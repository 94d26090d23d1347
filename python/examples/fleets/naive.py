"""The shortest form of the work in each engine, without a thought of files that end their worker.

`measure.py` runs each with such a file, to show what happens then.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from onnxkit import SCAN_SCHEMA

Row = dict[str, Any]
Function = Callable[[str], Row]


def futures(paths: list[str], function: Function) -> list[Row]:
    """`ProcessPoolExecutor.map`."""
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(function, paths))


def dask(paths: list[str], function: Function) -> list[Row]:
    """A bag of Dask."""
    import dask.bag
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        found: list[Row] = dask.bag.from_sequence(paths, npartitions=16).map(function).compute()
        return found


def ray(paths: list[str], function: Function) -> list[Row]:
    """Tasks of Ray."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    task = ray.remote(function)
    found: list[Row] = ray.get([task.remote(path) for path in paths])
    return found


def ray_data(paths: list[str], function: Function) -> list[Row]:
    """A data set of Ray."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    found: list[Row] = ray.data.from_items(paths).map(lambda item: function(item["item"])).take_all()
    return found


def _kind() -> Any:
    import daft

    return daft.DataType.struct({name: getattr(daft.DataType, kind)() for name, kind in SCAN_SCHEMA.items()})


def daft(paths: list[str], function: Function) -> list[Row]:
    """A function of Daft in the process of the query."""
    import daft

    query = daft.from_pydict({"path": paths})
    found: list[Row] = query.select(daft.func(function, return_dtype=_kind())(query["path"]).alias("row")).to_pydict()["row"]
    return found


def daft_process(paths: list[str], function: Function) -> list[Row]:
    """A function of Daft in a separate process."""
    import daft

    query = daft.from_pydict({"path": paths})
    row = daft.func(function, return_dtype=_kind(), use_process=True)
    found: list[Row] = query.select(row(query["path"]).alias("row")).to_pydict()["row"]
    return found


def spark(paths: list[str], function: Function) -> list[Row]:
    """A map over batches of Spark."""
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in SCAN_SCHEMA.items()])

    def batches(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield pa.RecordBatch.from_pylist([function(path) for path in part["path"].to_pylist()], schema)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    names = spark.createDataFrame([(path,) for path in paths], "path string").repartition(16)
    return [row.asDict() for row in names.mapInArrow(batches, from_arrow_schema(schema)).collect()]
