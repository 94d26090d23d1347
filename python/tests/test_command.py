"""The command that the package installs."""

import os
import subprocess
import sys

import pytest

import onnxkit as ox

BIN = os.path.dirname(sys.executable)


def run(*arguments, name="onnx", **options):
    return subprocess.run([os.path.join(BIN, name), *map(str, arguments)], capture_output=True, text=True, **options)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    ox.parse("g (float[N] x) => (float[N] y) { a = Identity (x) y = Relu (a) }").save(path)
    return path


def test_both_names(model):
    for name in ("onnx", "onnxkit"):
        done = run("info", model, name=name)
        assert done.returncode == 0 and "2" in done.stdout, done
    done = subprocess.run([sys.executable, "-m", "onnxkit", "check", str(model)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip().endswith("no findings")) == (0, True), done


def test_statuses(model, tmp_path):
    bad = tmp_path / "bad.onnxtxt"
    bad.write_text("g (float[2] x) => (float[2] y) { y = Rellu (x) }")
    assert run("check", bad).returncode == 1
    assert run("check", tmp_path / "none.onnx").returncode == 2
    assert run("no-such-command").returncode == 2
    assert run("--version").stdout.startswith("onnx ")
    assert run("simplify", model, "-o", tmp_path / "s.onnx").returncode == 0
    assert len(ox.load(tmp_path / "s.onnx")) == 1
