"""The command `onnx`, which the package installs under its own name as well."""

from __future__ import annotations

import sys

from . import _core


def main() -> int:
    """Runs the command with the arguments of the process, and returns its exit status."""
    import os
    import signal

    # The interpreter that separate processes of `onnx scan` need: its program does not find the package without it.
    os.environ["ONNXKIT_PYTHON"] = sys.executable or ""
    # Ctrl-C ends the command at once, as it does without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(["onnx", *sys.argv[1:]])
