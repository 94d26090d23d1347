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


def pytest_runtest_logreport(report: Any) -> None:
    """Keeps the outcome of a test; a failure of its set-up or its end is one of the test."""
    if report.when == "call" or report.outcome != "passed":
        prefix = "x" if hasattr(report, "wasxfail") else ""
        OUTCOMES[report.nodeid] = prefix + report.outcome


def pytest_sessionfinish() -> None:
    """Writes the outcomes."""
    Path(os.environ["UPSTREAM_OUTCOMES"]).write_text(json.dumps(OUTCOMES))
