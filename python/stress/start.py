"""Installs a wheel in an empty environment, and shows what it costs: `python start.py WHEEL`."""

from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import venv

TOUR = """
import onnxkit as ox
m = ox.parse("g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Identity (x) b = Add (a, w) y = Relu (b) }")
m.save("model.onnx")
m = ox.load("model.onnx")
assert ox.check(m).ok and ox.simplify(m, prove=True).edits == 1
assert ox.infer(m).shape(m.graph["y"]) == ("N", 4)
assert ox.Evaluator(m).run({"x": [[1.0, -9.0, 0.0, 0.0]]})["y"].tolist() == [2.0, 0.0, 3.0, 4.0]
assert ox.convert(m, 13, inplace=False).model.opsets == {"": 13}
m.graph.add("Neg", [m.graph["y"]])
assert m.cleanup() == 1
"""


def seconds(python: str, code: str) -> float:
    """The least processor time of an interpreter that runs code."""

    def children() -> float:
        # `os.times` counts in steps of 10 ms.
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def once() -> float:
        before = children()
        subprocess.run([python, "-c", code], check=True)
        return children() - before

    return min(once() for _ in range(15))


def main() -> None:
    """Prints the figures."""
    wheel = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", str(wheel)], check=True)
        listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True).stdout
        subprocess.run([python, "-c", TOUR], check=True, cwd=folder)
        for name in ("onnx", "onnxkit"):
            command = os.path.join(folder, "bin", name)
            shown = subprocess.run([command, "info", "model.onnx"], check=True, capture_output=True, text=True, cwd=folder).stdout
            assert "3" in shown
        site = next(pathlib.Path(folder).glob("lib/python*/site-packages/onnxkit"))
        installed = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
        empty, full = seconds(python, "pass"), seconds(python, "import onnxkit")
        print(f"wheel: {wheel.stat().st_size:,} bytes; installed: {installed:,} bytes; packages: {', '.join(listed.split())}")
        print(f"import: {(full - empty) * 1e3:.1f} ms of processor time over an empty interpreter ({empty * 1e3:.1f} ms)")


if __name__ == "__main__":
    main()
