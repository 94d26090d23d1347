"""What the workers do in `measure.py`: rows in separate processes, and workers that die.

The environment says which file ends its worker (`FLEET_VICTIM`), and where workers leave notes (`FLEET_NOTES`).
"""

from __future__ import annotations

import os
import pathlib
import signal
from typing import Any

from onnxkit import scan

Row = dict[str, Any]
MEMORY = 400 << 20


def row(path: str) -> Row:
    """A row of a separate process of bounded memory."""
    # How many workers an engine really has.
    (pathlib.Path(os.environ["FLEET_NOTES"]) / f"worker-{os.getpid()}").touch()
    return scan(path, isolate=True, memory=MEMORY, timeout=300)


def row_of_a_killed_worker(path: str) -> Row:
    """The same, but the worker is killed once, in the middle of the work."""
    if path == os.environ["FLEET_VICTIM"]:
        try:
            (pathlib.Path(os.environ["FLEET_NOTES"]) / "killed").touch(exist_ok=False)
        except FileExistsError:
            return row(path)
        os.kill(os.getpid(), signal.SIGKILL)
    return row(path)


def row_or_death(path: str) -> Row:
    """A row without a separate process, where one file ends its worker each time."""
    if path == os.environ["FLEET_VICTIM"]:
        with open(pathlib.Path(os.environ["FLEET_NOTES"]) / "deaths", "a") as file:
            file.write(".")
        os.kill(os.getpid(), signal.SIGKILL)
    return scan(path)
