"""The recipes for engines, with that of the standard library, and the files that `measure.py` makes."""

import functools
import importlib
import os
import operator
import pathlib
import shutil
import signal
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import pytest
from programs import PYTHON, program

import onnxkit as ox

FOLDER = PYTHON / "examples" / "fleets"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pipes, limits and signals of processes are those of Linux")


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(os.fspath(FOLDER))
    # Processes of a pool import what their functions are named by.
    monkeypatch.setenv("PYTHONPATH", os.fspath(FOLDER), prepend=os.pathsep)
    return importlib.import_module


def without_time(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_every_poisoned_file_has_a_row(modules, tmp_path):
    paths = modules("corpus").poisoned(tmp_path)
    assert len(paths) == 100
    columns = ox.scan_many(paths, threads=2, isolate=True, memory=400 << 20).to_dict()
    assert columns["path"] == [os.fsencode(path).decode(errors="backslashreplace") for path in paths]
    assert columns["ok"] == [False] * 100
    stages = {stage: columns["stage"].count(stage) for stage in columns["stage"]}
    assert stages == {"read": 10, "load": 85, "process": 5}, stages
    assert [path for path, stage in zip(paths, columns["stage"], strict=True) if stage == "process"] == [str(tmp_path / f"bomb-{i}.onnx") for i in range(5)]
    assert all(message.startswith("the process ended by SIGABRT") for message, stage in zip(columns["error"], columns["stage"], strict=True) if stage == "process")


def test_small_models_are_valid(modules):
    small = modules("corpus").small_model
    assert small(3) == small(3) != small(4)
    for seed in range(50):
        assert ox.check(small(seed)).ok


def row_of_a_killed_process(victim, mark, path):
    """A row; the process is killed at the first time that it meets the victim."""
    if path == victim and not os.path.exists(mark):
        pathlib.Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return ox.scan(path, isolate=True)


def test_the_recipe_of_the_standard_library(modules, tmp_path):
    corpus, recipe = modules("corpus"), modules("with_futures")
    paths = [path for path in corpus.poisoned(tmp_path) if "bomb" not in path]
    for seed in range(20):
        path = tmp_path / f"small-{seed}.onnx"
        path.write_bytes(corpus.small_model(seed))
        paths.insert(5 * seed, str(path))
    wanted = without_time([ox.scan(path) for path in paths])
    assert sum(row["ok"] for row in wanted) == 20
    assert without_time(recipe.rows(paths)) == wanted
    mark = tmp_path / "mark"
    killed = functools.partial(row_of_a_killed_process, paths[60], str(mark))
    assert without_time(recipe.rows(paths, killed)) == wanted
    assert mark.exists()
    assert recipe.rows([]) == []


def row_of_a_first_victim(mark, path):
    """A row; the process is killed at the first path that it gets."""
    if not os.path.exists(mark):
        pathlib.Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"path": path}


def test_a_process_may_die_while_files_are_submitted(modules, tmp_path):
    paths = [f"m{index}.onnx" for index in range(20_000)]
    found = modules("with_futures").rows(paths, functools.partial(row_of_a_first_victim, str(tmp_path / "mark")))
    assert [row["path"] for row in found] == paths


def test_no_process_begins_before_all_files_are_submitted(modules, monkeypatch, tmp_path):
    """A pool of Python 3.11 never answers for a file that is submitted when a process dies."""
    recipe, mark, submitted = modules("with_futures"), tmp_path / "mark", []

    class Pool(recipe.ProcessPoolExecutor):
        def submit(self, function, path):
            time.sleep(0.2)
            submitted.append(path)
            assert len(submitted) > len(paths) or not mark.exists()
            return super().submit(function, path)

    monkeypatch.setattr(recipe, "ProcessPoolExecutor", Pool)
    paths = ["a", "b", "c", "d"]
    found = recipe.rows(paths, functools.partial(row_of_a_first_victim, str(mark)))
    assert [row["path"] for row in found] == paths and mark.exists()


def death(path):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_pool_without_a_row_is_an_error(modules):
    with pytest.raises(BrokenProcessPool, match="4 pools made no row"):
        modules("with_futures").rows(["a", "b"], death)


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray"), ("daft", "daft"), ("spark", "pyspark")])
def test_the_recipes_of_engines(modules, monkeypatch, tmp_path, engine, module):
    """Where the engine is installed: none is needed by the package."""
    pytest.importorskip(module)
    if engine == "spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java")
    corpus, recipe = modules("corpus"), modules(f"with_{engine}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.fspath(FOLDER), *sys.path]))
    paths = [path for path in corpus.poisoned(tmp_path) if "bomb" not in path and "growing" not in path]
    for seed in range(20):
        path = tmp_path / f"small-{seed}.onnx"
        path.write_bytes(corpus.small_model(seed))
        paths.insert(3 * seed, str(path))
    by_path = operator.itemgetter("path")
    wanted = sorted(without_time([ox.scan(path) for path in paths]), key=by_path)
    assert sorted(without_time(recipe.rows(paths)), key=by_path) == wanted


def test_recipes_give_each_file_a_time():
    for path in FOLDER.glob("with_*.py"):
        assert "functools.partial(scan, isolate=True, timeout=300)" in path.read_text(), path


def test_recipes_are_short():
    for path in FOLDER.glob("with_*.py"):
        assert len(path.read_text().splitlines()) <= 30, path


def test_the_rows_of_a_folder(tmp_path):
    scan_folder = program("scan_folder").scan_folder
    files = tmp_path / "files"
    (files / "inner").mkdir(parents=True)
    model = ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }")
    for index in range(5):
        model.save(files / "inner" / f"{index}.onnx")
    (files / "bad.onnx").write_bytes(b"\xff" * 10)
    (files / "none.onnx").symlink_to("nowhere")
    rows = tmp_path / "rows.jsonl"
    def path_of(row):
        return row["path"]

    found = scan_folder(files, rows)
    names = ["bad.onnx", *(f"inner/{index}.onnx" for index in range(5)), "none.onnx"]
    assert [(row["path"], row["ok"]) for row in sorted(found, key=path_of)] == [(str(files / name), "inner" in name) for name in names]
    # The next run continues behind the last complete line.
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(lines[:3]) + lines[3][:10])
    again = scan_folder(files, rows)
    assert len(scan_folder(tmp_path / "files" / "inner" / "..", rows)) == 7
    assert again[:3] == found[:3] and sorted(without_time(again), key=path_of) == sorted(without_time(found), key=path_of)
    assert rows.read_bytes().count(b"\n") == 7
