"""A plugin of pytest: puts `onnxkit.compat` in the place of the native module before tests are imported, and writes outcomes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

if os.environ["UPSTREAM_CORE"] == "onnxkit":
    import onnxkit.compat

    onnxkit.compat.install(reference_texts=True, reference_limits=True)

OUTCOMES: dict[str, str] = {}


def refines(expected: Any, inferred: Any) -> None:
    """Asserts that an inferred type is the expected one, or has ranks and sizes where that has none."""
    kind = expected.WhichOneof("value")
    assert kind == inferred.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return refines(getattr(expected, kind).elem_type, getattr(inferred, kind).elem_type)
    if kind == "map_type":
        assert expected.map_type.key_type == inferred.map_type.key_type
        return refines(expected.map_type.value_type, inferred.map_type.value_type)
    assert kind in ("tensor_type", None)
    if kind is None:
        return None
    expected, inferred = expected.tensor_type, inferred.tensor_type
    assert expected.elem_type == inferred.elem_type
    if not expected.HasField("shape"):
        return None
    assert inferred.HasField("shape") and len(expected.shape.dim) == len(inferred.shape.dim)
    for wanted, found in zip(expected.shape.dim, inferred.shape.dim, strict=True):
        # Generated names are those of unknown sizes.
        is_open = wanted.WhichOneof("value") is None or wanted.dim_param.startswith("unk__")
        assert is_open or wanted == found or (wanted.dim_param and found.HasField("dim_value"))
    return None


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Lets the tests of inference accept more specific types, if this is wanted."""
    if os.environ["UPSTREAM_REFINED"]:
        for item in items:
            helper = getattr(item, "cls", None)
            if helper is not None and hasattr(helper, "_compare_value_infos"):
                helper._compare_value_infos = lambda self, expected, inferred: refines(expected, inferred)


def pytest_runtest_logreport(report: Any) -> None:
    """Keeps the outcome of a test; a failure of its set-up or its end is one of the test."""
    if report.when == "call" or report.outcome != "passed":
        prefix = "x" if hasattr(report, "wasxfail") else ""
        OUTCOMES[report.nodeid] = prefix + report.outcome


def pytest_sessionfinish() -> None:
    """Writes the outcomes."""
    Path(os.environ["UPSTREAM_OUTCOMES"]).write_text(json.dumps(OUTCOMES))
