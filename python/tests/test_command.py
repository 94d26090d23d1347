"""The command that the package installs."""

import json
import os
import subprocess
import sys

import pytest

import onnxkit as ox

BIN = os.path.dirname(sys.executable)


def run(*arguments, name="onnx", **options):
    return subprocess.run([os.path.join(BIN, name), *map(str, arguments)], capture_output=True, text=True, timeout=100, **options)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    ox.parse("g (float[N] x) => (float[N] y) { a = Identity (x) y = Relu (a) }").save(path)
    return path


def test_both_names(model):
    for name in ("onnx", "onnxkit"):
        done = run("info", model, name=name)
        assert done.returncode == 0 and "2" in done.stdout, done
    done = subprocess.run([sys.executable, "-m", "onnxkit", "check", str(model)], capture_output=True, text=True, timeout=100)
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


def test_rows_of_the_command_are_those_of_scan(model, tmp_path):
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "text.onnx").write_text("Dear all,\n\nthe model is attached.\n")
    text = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Rellu (x) }'
    (tmp_path / "bad.onnxtxt").write_text(text)
    # A name that does not exist has no row; a link to nothing has one.
    (tmp_path / "none.onnx").symlink_to("nowhere")
    files = [model, tmp_path / "empty.onnx", tmp_path / "text.onnx", tmp_path / "bad.onnxtxt", tmp_path / "none.onnx"]
    done = run("scan", "--in-order", *files)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, [list(row) for row in rows]) == (0, [list(ox.SCAN_SCHEMA)] * len(files)), done
    for row, expected in zip(rows, map(ox.scan, files), strict=True):
        assert {**row, "seconds": 0} == {**expected, "seconds": 0}


def test_the_command_of_the_package_writes_no_parquet(model, tmp_path):
    """The feature that writes it is not one of the wheel; `docs/fleets.md` says how rows are converted."""
    done = run("scan", model, "-o", tmp_path / "rows.parquet")
    assert done.returncode == 2 and "the cargo feature `parquet`" in done.stderr, done
    assert not (tmp_path / "rows.parquet").exists()
