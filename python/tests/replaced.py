"""Programs with `onnx` on this package. Each runs in a separate process, since the native module is replaced before `onnx` is imported."""

from __future__ import annotations

import subprocess
import sys
import textwrap

HEADER = '<ir_version: 10, opset_import: ["": 21]>'
INSTALL = "onnxkit.compat.install()"


def run(program: str, *, install: str = INSTALL) -> str:
    """What a program prints that runs with `onnx` on this package; with `install=""`, on the native module."""
    text = f"import onnxkit.compat\n{install}\nimport onnx, onnx.inliner\n{textwrap.dedent(program)}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def same(program: str) -> str:
    """What a program prints on this package, which must be what it prints on the native module."""
    found = run(program)
    assert found == run(program, install="")
    return found
