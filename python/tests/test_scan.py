"""Rows about files: any bytes, files that change, sources of ranges, and separate processes."""

import asyncio
import concurrent.futures
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import signal
import socket
import sys
import threading
import time

import pytest
from programs import program

import onnxkit as ox
from onnxkit import _isolation, _ranges

corpus = program("fleets/corpus")
field, large = corpus.field, corpus.large

TEXT = """g (bool c, float[2] x) => (float[2] y) < float[2] w = {1, 2}, int64[2, 1] v = {3, 4} > {
    a = Add (x, w)
    y = If (c) <then_branch = t () => (float[2] b) { b = Neg (a) }, else_branch = e () => (float[2] d) { d = Abs (a) }>
}"""
VARYING = {"seconds"}
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals of processes are those of Linux")


def facts(row):
    return {name: value for name, value in row.items() if name not in VARYING}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    ox.parse(TEXT).save(path)
    return path


def test_a_row_has_the_columns_of_the_schema(model):
    row = ox.scan(model)
    assert list(row) == list(ox.SCAN_SCHEMA)
    kinds = {"string": str, "bool": bool, "int64": int, "float64": float}
    for name, value in row.items():
        assert value is None or type(value) is kinds[ox.SCAN_SCHEMA[name]], name
    size = model.stat().st_size
    expected = {
        "path": str(model), "ok": True, "stage": "done", "error_code": None, "error": None, "bytes": size, "bytes_read": size,
        "ir_version": 10, "opsets": "ai.onnx=21", "producer": "", "nodes": 4, "functions": 0, "parameters": 4, "weight_bytes": 24,
        "external_files": 0, "errors": 0, "warnings": 0, "finding_code": None, "finding": None, "unknown_shapes": 0, "version": ox.__version__,
    }
    assert facts(row) == expected
    bare = ox.scan(model, checks=False)
    assert facts(bare) == {**expected, "errors": None, "warnings": None, "unknown_shapes": None}
    assert pickle.loads(pickle.dumps(ox.scan)) is ox.scan and pickle.loads(pickle.dumps(ox.scan_many)) is ox.scan_many


def test_types_that_contradict_each_other_are_errors(tmp_path):
    path = tmp_path / "m.onnx"
    ox.parse("g (float[2] x) => (float[2] y) <int64[2] w = {1, 2}> { y = Add (x, w) }").save(path)
    row = ox.scan(path)
    assert (row["ok"], row["stage"], row["errors"]) == (False, "done", 1)
    assert row["finding_code"] == "ONNX3002" and "Add" in row["finding"], row
    assert ox.scan(path, checks=False)["ok"]


@pytest.mark.parametrize("isolate", [False, True])
def test_any_bytes_have_a_row(tmp_path, isolate):
    whole = bytes(ox.parse(TEXT))
    cases = {
        "empty": (b"", "load", "LoadError"),
        "noise": (b"\xff" * 100, "load", "LoadError"),
        "text": (b"nothing", "load", "LoadError"),
        "page": (b"<html></html>", "load", "LoadError"),
        "cut": (whole[:-5], "load", "LoadError"),
        "deep": (corpus.deep(100_000), "load", "LimitError"),
        "deep-text": (b"g (float[2] x) => (y) { y = " + b"(" * 100_000, "load", "LoadError"),
        "many": (corpus.bomb(20_000), "done", None),
        "zeros": (b"\0" * 10_000_000, "load", "LoadError"),
        "json": (b'{"irVersion": "8", "graph": {"name": "g"}}', "done", None),
        "onnx-text": (ox.parse(TEXT).to_text().encode(), "done", None),
    }
    for name, (contents, stage, code) in cases.items():
        path = tmp_path / name
        path.write_bytes(contents)
        row = ox.scan(path, isolate=isolate)
        assert (row["stage"], row["error_code"], row["bytes"]) == (stage, code, len(contents)), row
        assert row["ok"] == (stage == "done" and row["errors"] == 0), row
        json.dumps(row).encode()


@linux
@pytest.mark.parametrize("isolate", [False, True])
def test_what_is_not_a_regular_file_is_not_read(tmp_path, monkeypatch, isolate):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.symlink("circle", "circle")
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    cases = {
        ".": ("NotAFileError", "it is a directory"),
        "pipe": ("NotAFileError", "it is a pipe, not a regular file"),
        "socket": ("NotAFileError", "it is a socket, not a regular file"),
        "/dev/zero": ("NotAFileError", "it is a device, not a regular file"),
        "circle": ("OSError", "Too many levels of symbolic links"),
        "none": ("FileNotFoundError", "No such file or directory"),
        "x" * 5000: ("OSError", "File name too long"),
        "a\0b": ("ValueError", "file name contained an unexpected NUL byte"),
        "\ud800": ("UnicodeEncodeError", "'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed"),
    }
    for path, expected in cases.items():
        row = ox.scan(path, isolate=isolate)
        assert (row["ok"], row["stage"], row["error_code"], row["error"]) == (False, "read", *expected)
        assert row["path"] == path.encode(errors="backslashreplace").decode()
    server.close()
    for wrong in (None, 3, object()):
        row = ox.scan(wrong, isolate=isolate)
        assert (row["path"], row["error_code"]) == (type(wrong).__name__, "ArgumentError")


@linux
@pytest.mark.parametrize("isolate", [False, True])
def test_a_name_that_is_not_utf_8_is_shown_with_escapes(tmp_path, isolate):
    path = os.path.join(os.fsencode(tmp_path), b"\xff\xfe.onnx")
    pathlib.Path(os.fsdecode(path)).write_bytes(bytes(ox.parse(TEXT)))
    for name in (path, os.fsdecode(path), pathlib.Path(os.fsdecode(path))):
        row = ox.scan(name, isolate=isolate)
        assert row["ok"] and row["path"] == f"{tmp_path}/\\xff\\xfe.onnx"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="an administrator reads every file")
def test_a_file_that_may_not_be_read(model):
    model.chmod(0)
    row = ox.scan(model)
    assert (row["stage"], row["error_code"]) == ("read", "PermissionError")


def test_texts_and_numbers_have_bounds(tmp_path):
    path = tmp_path / "m.onnx"
    dims = field(1, 2**62) * 2
    path.write_bytes(field(1, 10) + field(2, b"p" * 5000) + field(7, field(2, b"g") + field(5, dims + field(2, 1) + field(8, b"w"))))
    row = ox.scan(path)
    assert row["producer"] == "p" * 999 + "…"
    assert row["parameters"] is not None and row["parameters"] < 2**63


def test_limits_and_timeouts(model):
    for isolate in (False, True):
        row = ox.scan(model, limits={"nodes": 1}, isolate=isolate)
        assert (row["stage"], row["error_code"]) == ("load", "LimitError")
        row = ox.scan(model, timeout=0.0, isolate=isolate)
        assert (row["stage"], row["error_code"]) == ("read", "Stopped")


@linux
def test_a_file_that_changes_does_no_harm(tmp_path):
    path, is_over = tmp_path / "m.onnx", threading.Event()
    large(path, 32 << 20)
    whole = path.stat().st_size

    def change():
        while not is_over.wait(0.001):
            os.truncate(path, 100)
            os.truncate(path, whole)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        # If the file were mapped, this process would end here.
        rows = [ox.scan(path) for _ in range(50)]
    finally:
        is_over.set()
        thread.join()
    assert {row["error_code"] for row in rows} <= {None, "FileChangedError", "LoadError"}, rows


def test_weights_are_not_read(tmp_path):
    path = tmp_path / "large.onnx"
    large(path, 20 << 30)
    row = ox.scan(path)
    assert (row["ok"], row["stage"], row["nodes"], row["weight_bytes"]) == (True, "done", 4, 20 << 30), row
    assert row["bytes"] > 20 << 30 and row["bytes_read"] <= 1 << 20
    os.truncate(path, 10 << 30)
    row = ox.scan(path)
    assert (row["ok"], row["stage"], row["error_code"]) == (False, "load", "LoadError")


def test_little_is_read_of_a_large_file_that_is_no_model(tmp_path):
    path = tmp_path / "large.onnx"
    for start in (b"", b"\xff" * 100, random.Random(1).randbytes(1 << 16), b"\x0a\x03"):
        path.write_bytes(start)
        os.truncate(path, 20 << 30)
        row = ox.scan(path)
        assert (row["stage"], row["error_code"]) == ("load", "LoadError") and row["bytes_read"] < 1 << 18, row


def test_external_data_are_not_read(tmp_path):
    with open(tmp_path / "weights.bin", "wb") as file:
        file.truncate(20 << 30)
    entries = [(b"location", b"weights.bin"), (b"offset", b"0"), (b"length", b"%d" % (20 << 30))]
    data = b"".join(field(13, field(1, key) + field(2, value)) for key, value in entries)
    weights = field(1, 5 << 20) + field(1, 1024) + field(2, 1) + field(8, b"w") + data + field(14, 1)
    shapes = [field(1, field(1, 1) + field(2, field(1, field(1, n)) + field(1, field(1, m)))) for n, m in ((1, 5 << 20), (1, 1024))]
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"MatMul")
    ports = field(11, field(1, b"x") + field(2, shapes[0])) + field(12, field(1, b"y") + field(2, shapes[1]))
    graph = field(1, node) + field(2, b"g") + field(5, weights) + ports
    path = tmp_path / "m.onnx"
    path.write_bytes(field(1, 10) + field(8, field(2, 21)) + field(7, graph))
    row = ox.scan(path)
    assert (row["ok"], row["external_files"], row["weight_bytes"]) == (True, 1, 20 << 30), row
    assert row["bytes_read"] == path.stat().st_size < 1000


class Object:
    """An object of a store, which counts requests."""

    def __init__(self, path, kind=bytes):
        self.path, self.size, self.kind, self.ranges = str(path), os.path.getsize(path), kind, []

    def read(self, start, end):
        self.ranges.append((start, end))
        with open(self.path, "rb") as file:
            file.seek(start)
            return self.kind(file.read(end - start))


@pytest.mark.parametrize("isolate", [False, True])
def test_sources_of_ranges(model, tmp_path, isolate):
    for kind in (bytes, bytearray, memoryview):
        source = Object(model, kind)
        assert facts(ox.scan(source, isolate=isolate)) == facts(ox.scan(model))
        assert source.ranges == [(0, model.stat().st_size)]
    path = tmp_path / "large.onnx"
    large(path, 20 << 30)
    source = Object(path)
    row = ox.scan(source, isolate=isolate)
    assert row["ok"] and row["bytes"] == source.size
    assert row["bytes_read"] == sum(end - start for start, end in source.ranges) < 10 << 20
    assert len(source.ranges) <= 6 and source.ranges == sorted(source.ranges)


@pytest.mark.parametrize("isolate", [False, True])
def test_sources_that_fail(model, isolate):
    class Gone(Object):
        def read(self, start, end):
            raise OSError("the connection is closed")

    class Short(Object):
        def read(self, start, end):
            return super().read(start, end)[1:]

    class Wrong(Object):
        def read(self, start, end):
            return 7

    cases = {Gone: ("OSError", "the connection is closed"), Short: ("FileChangedError", None), Wrong: ("TypeError", None)}
    for kind, (code, message) in cases.items():
        row = ox.scan(kind(model), isolate=isolate)
        assert (row["ok"], row["stage"], row["error_code"], row["bytes"]) == (False, "read", code, model.stat().st_size)
        assert message is None or row["error"] == message
    # What a text names is not a file of the machine that scans.
    assert not any(name.startswith("onnxkit-") for name in os.listdir(os.path.dirname(model)))


def test_sources_whose_name_or_size_fails_have_a_row(model):
    class Nameless(Object):
        path = property(lambda self: 1 // 0, lambda self, path: None)

    class Sized(Object):
        def __init__(self, path, size):
            super().__init__(path)
            self.size = size

    row = ox.scan(Nameless(model))
    assert (row["path"], row["ok"], row["stage"], row["error_code"]) == ("Nameless", False, "read", "ZeroDivisionError")
    for size, code in ((-1, "ArgumentError"), (1.5, "TypeError"), ("9", "TypeError"), (None, "TypeError"), (1 << 62, "FileChangedError")):
        row = ox.scan(Sized(model, size))
        assert (row["path"], row["ok"], row["stage"], row["error_code"]) == (str(model), False, "read", code)


def test_models_are_loaded_from_sources_of_ranges(model, monkeypatch):
    whole = model.read_bytes()
    for kind in (bytes, bytearray, memoryview):
        source = Object(model, kind)
        assert bytes(ox.load(source)) == whole and source.ranges == [(0, len(whole))]
    monkeypatch.setattr(_ranges, "_LARGEST_READ", 64)
    source = Object(model)
    assert ox.check(source).ok
    assert source.ranges == [(start, min(start + 64, len(whole))) for start in range(0, len(whole), 64)]

    class Short(Object):
        def read(self, start, end):
            return super().read(start, end)[1:]

    class Long(Object):
        def read(self, start, end):
            return super().read(start, end) + b"x"

    class Gone(Object):
        def read(self, start, end):
            raise ConnectionError("closed")

    class Wrong(Object):
        def read(self, start, end):
            return "text"

    class Negative(Object):
        size = property(lambda self: -1, lambda self, size: None)

    class Slow(Object):
        def read(self, start, end):
            monkeypatch.setattr(_ranges.time, "monotonic", lambda: 1e9)
            return super().read(start, end)

    for kind, error in (
        (Short, ox.LoadError), (Long, ox.LoadError), (Gone, ConnectionError), (Wrong, TypeError), (Negative, ox.ArgumentError),
    ):
        with pytest.raises(error):
            ox.load(kind(model))
    with pytest.raises(ox.Stopped, match="while the file was read"):
        ox.load(Slow(model), timeout=100.0)


@pytest.mark.parametrize("isolate", [False, True])
def test_bounds_hold_while_a_source_is_read(tmp_path, isolate):
    path = tmp_path / "m.onnx"
    large(path, 64 << 20, tensors=16)

    class Slow(Object):
        def read(self, start, end):
            time.sleep(0.2)
            return super().read(start, end)

    source = Slow(path)
    row = ox.scan(source, timeout=0.5, isolate=isolate)
    assert (row["stage"], row["error_code"], row["bytes"]) == ("read", "Stopped", source.size)
    assert 1 <= len(source.ranges) < 8 and row["seconds"] < 5
    source = Object(path)
    row = ox.scan(source, limits={"input_bytes": 1 << 20}, isolate=isolate)
    assert (row["stage"], row["error_code"], source.ranges) == ("load", "LimitError", [])
    with pytest.raises(ox.LimitError, match="input_bytes"):
        ox.load(source, limits={"input_bytes": 1 << 20})
    with pytest.raises(ox.ArgumentError, match="unheard"):
        ox.load(source, limits={"unheard": 1})
    assert source.ranges == []


def test_a_source_that_hangs_has_a_row(model, monkeypatch):
    class Hanging(Object):
        def read(self, start, end):
            time.sleep(1)
            return super().read(start, end)

    monkeypatch.setattr(_isolation, "_GRACE", 0.2)
    row = ox.scan(Hanging(model), timeout=0.1, isolate=True)
    assert (row["stage"], row["error_code"]) == ("read", "Stopped")


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_what_is_no_error_of_a_source_is_raised(model, isolate, error):
    class Interrupted(Object):
        def read(self, start, end):
            raise error

    with pytest.raises(error):
        ox.scan(Interrupted(model), isolate=isolate)
    assert ox.scan(model, isolate=isolate)["ok"]


class Ending(BaseException):
    """An exception that ends programs that do not know it."""


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("error", [SystemExit(3), Ending("over"), asyncio.CancelledError()], ids=lambda error: type(error).__name__)
def test_whatever_else_a_source_raises_is_its_row(model, isolate, error):
    def fail(*_):
        raise error

    class Source(Object):
        read = fail

    class Nameless(Object):
        path = property(fail, lambda self, path: None)

    class Sizeless(Object):
        size = property(fail, lambda self, size: None)

    class Path:
        __fspath__ = fail

    class Unprintable(Exception):
        __str__ = fail

    class Doubly(Object):
        def read(self, start, end):
            raise Unprintable

    sources = [Source(model), Nameless(model), Sizeless(model), Path(), Doubly(model), model]
    columns = ox.scan_many(sources, threads=2, isolate=isolate).to_dict()
    assert columns["ok"] == [False] * 5 + [True]
    assert columns["stage"] == ["read"] * 5 + ["done"]
    assert columns["error_code"] == [type(error).__name__] * 4 + ["Unprintable", None]
    assert columns["error"] == [str(error)] * 4 + ["", None]
    assert sorted(index for index, _ in ox.scan_iter(sources, threads=2, isolate=isolate)) == list(range(6))


@linux
def test_an_exception_of_a_signal_is_raised(model):
    """A program that is asked to end by a signal ends, although `sys.exit` in a source does not end it."""
    import subprocess

    path = model.parent / "slow.onnxtxt"
    nodes = "\n".join(f"v{index + 1} = Neg (v{index})" for index in range(300_000))
    path.write_text(f"<ir_version: 10, opset_import: ['': 21]> g (float[2] v0) => (float[2] v300000) {{ {nodes} }}".replace("'", '"'))
    code = "import signal, sys; signal.signal(signal.SIGALRM, lambda *_: sys.exit(7)); signal.setitimer(signal.ITIMER_REAL, 0.4)\n"
    code += f"import onnxkit as ox\nwhile True: ox.scan({str(path)!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=100)
    assert (done.returncode, done.stdout) == (7, ""), done


def test_a_path_is_asked_once(model):
    class Path:
        paths = [str(model)]

        def __fspath__(self):
            return self.paths.pop()

    assert ox.scan(Path())["ok"]


@pytest.mark.parametrize("isolate", [False, True])
def test_a_limit_of_inference_ends_the_row_there(tmp_path, isolate):
    path = tmp_path / "m.onnx"
    ox.parse(
        "g (float[a, b, c, d] x) => (int64[N] z) { s = Shape (x) t = ReduceSum (s) r = Add (s, t) z = Mul (r, r) }"
    ).save(path)
    assert ox.scan(path, isolate=isolate)["ok"]
    for source in (path, Object(path)):
        row = ox.scan(source, limits={"expression_steps": 1}, isolate=isolate)
        assert (row["ok"], row["stage"], row["error_code"], row["errors"]) == (False, "infer", "LimitError", 0), row
        assert "expression_steps" in row["error"] and row["finding"] is None and row["unknown_shapes"] is None


def test_rows_come_as_they_are_made(model):
    is_first_wanted = threading.Event()

    class Slow(Object):
        def read(self, start, end):
            assert is_first_wanted.wait(60)
            return super().read(start, end)

    paths = [Slow(model), *[model] * 40]
    rows = ox.scan_iter(iter(paths), threads=2)
    indices = [next(rows)[0] for _ in range(40)]
    assert sorted(indices) == list(range(1, 41))
    is_first_wanted.set()
    index, row = next(rows)
    assert (index, row["ok"]) == (0, True) and next(rows, None) is None
    assert [index for index, _ in ox.scan_iter(paths, threads=2, ordered=True)] == list(range(41))
    # Paths are taken as they are needed.
    endless = ox.scan_iter(itertools.repeat(model), threads=2)
    assert [next(endless)[1]["ok"] for _ in range(20)] == [True] * 20
    endless.close()


def test_many_files_have_a_table_in_their_order(model, tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\xff" * 100)
    paths = [model, bad, tmp_path / "none.onnx", Object(model)] * 5
    table = ox.scan_many(iter(paths), threads=3)
    columns = table.to_dict()
    assert table.column_names == list(ox.SCAN_SCHEMA) and len(table) == len(paths)
    assert columns["ok"] == [True, False, False, True] * 5
    assert columns["path"] == [str(getattr(path, "path", path)) for path in paths]
    isolated = ox.scan_many(paths, threads=2, isolate=True).to_dict()
    for name in columns:
        if name not in VARYING:
            assert isolated[name] == columns[name], name
    assert len(ox.scan_many([])) == 0


def process_of(memory=0):
    [process] = [process for process in _isolation._idle.processes if process.memory == memory]
    return process


@pytest.fixture
def no_processes():
    _isolation._idle.end()
    yield
    _isolation._idle.end()


@linux
def test_a_process_serves_many_files_and_is_replaced(model, no_processes):
    assert ox.scan(model, isolate=True)["ok"]
    first = process_of()
    assert ox.scan(model, isolate=True)["ok"] and process_of() is first and first.served == 2
    # Another file may have been the cause: this one has another process.
    os.kill(first._process.pid, signal.SIGKILL)
    assert ox.scan(model, isolate=True)["ok"]
    assert process_of() is not first and process_of().served == 1


@linux
def test_a_file_that_needs_too_much_memory_has_a_row(tmp_path, model, no_processes):
    path, memory = tmp_path / "bomb.onnx", 150 << 20
    path.write_bytes(corpus.bomb(1_000_000))
    paths = [model, path, model, path, model]
    columns = ox.scan_many(paths, threads=2, isolate=True, memory=memory).to_dict()
    assert columns["path"] == [str(path) for path in paths]
    assert columns["ok"] == [True, False, True, False, True]
    assert columns["stage"] == ["done", "read", "done", "read", "done"]
    assert "memory" in columns["error"][1]
    # The map of a large file takes no memory.
    large(tmp_path / "large.onnx", 20 << 30)
    assert ox.scan(tmp_path / "large.onnx", isolate=True, memory=memory)["ok"]
    assert memory in [process.memory for process in _isolation._idle.processes]
    assert ox.scan(path, isolate=True, memory=memory)["stage"] == "read"



@linux
def test_a_process_that_does_not_end_has_a_row(model, no_processes, monkeypatch):
    assert ox.scan(model, isolate=True)["ok"]
    monkeypatch.setattr(_isolation, "_GRACE", 0.2)
    os.kill(process_of()._process.pid, signal.SIGSTOP)
    row = ox.scan(model, isolate=True, timeout=0.1)
    assert (row["ok"], row["stage"], row["error_code"]) == (False, "process", "Stopped")
    assert _isolation._idle.processes == []
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    row = ox.scan(model, isolate=True)
    assert (row["ok"], row["stage"], row["error_code"]) == (False, "process", "ProcessError")


@linux
def test_a_process_ends_with_its_caller(tmp_path, model):
    """Also while it reads a file, and however the caller ends."""
    import subprocess

    path = tmp_path / "slow.onnxtxt"
    nodes = "\n".join(f"v{index + 1} = Neg (v{index})" for index in range(400_000))
    path.write_text(f'<ir_version: 10, opset_import: ["": 21]> g (float[2] v0) => (float[2] v400000) {{ {nodes} }}')
    code = f"import onnxkit as ox\nfrom onnxkit import _isolation\nassert ox.scan({str(model)!r}, isolate=True)['ok']\n"
    code += f"print(_isolation._idle.processes[0]._process.pid, flush=True)\nox.scan({str(path)!r}, isolate=True)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as caller:
        late = threading.Timer(100, caller.kill)
        late.start()
        worker = int(caller.stdout.readline())
        time.sleep(0.3)
        caller.kill()
    late.cancel()
    start = time.monotonic()
    while pathlib.Path(f"/proc/{worker}/stat").exists() and pathlib.Path(f"/proc/{worker}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() - start < 0.9, "it reads on"
        time.sleep(0.01)


@linux
def test_no_descriptors_are_left(model, tmp_path, no_processes):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\xff" * 100)
    paths = [model, bad, tmp_path / "none.onnx", tmp_path, Object(model), Object(bad)]

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    for isolate in (False, True):
        ox.scan_many(paths, threads=1, isolate=isolate)
        before = descriptors()
        for _ in range(20):
            ox.scan_many(paths, threads=1, isolate=isolate)
        assert descriptors() == before


def isolated(path):
    return ox.scan(path, isolate=True)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_of_processes(model, tmp_path, method):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\xff" * 100)
    paths = [str(model), str(bad), str(tmp_path / "none.onnx")] * 4
    # The processes of this one are not those of a fork of it.
    assert ox.scan(model, isolate=True)["ok"]
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        for function in (ox.scan, isolated):
            rows = list(pool.map(function, paths, timeout=100))
            assert [facts(row) for row in rows] == [facts(ox.scan(path)) for path in paths]


class Unprintable(Exception):
    def __str__(self):
        raise ValueError


class Name(str):
    """A string of another class, which need not be one that another process has."""


@pytest.mark.parametrize("error", [Unprintable(), OSError(1, object()), OSError(1, 123), OSError(5, "gone")], ids=lambda error: type(error).__name__)
def test_whatever_a_source_raises_is_a_row(error):
    class Source:
        size = 100
        path = "a"

        def read(self, start, end):
            raise error

    columns = ox.scan_many([Source(), Source()], threads=1).to_dict()
    assert columns["error_code"] == [type(error).__name__] * 2
    assert all(type(message) is str for message in columns["error"])


def test_the_name_of_a_source_can_be_written():
    class Source:
        size = 3
        path = Name("a\udcff")

        def read(self, start, end):
            return b"abc"[start:end]

    assert ox.scan_many([Source()]).to_dict()["path"] == ["a\\udcff"]
    assert type(pickle.loads(pickle.dumps(ox.scan(Source())))["path"]) is str


@linux
def test_a_relative_path_without_a_directory_is_missing(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    row = ox.scan("etc/hostname", isolate=True)
    assert (row["stage"], row["error_code"]) == ("read", "FileNotFoundError")
    monkeypatch.chdir(tmp_path)


@linux
def test_a_process_that_was_late_serves_no_other_file(model, monkeypatch):
    request = _isolation._Process.row

    def late(self, *arguments):
        row = request(self, *arguments)
        # The timer fires between the row and its cancellation.
        self._stop_late()
        return row

    with monkeypatch.context() as patch:
        patch.setattr(_isolation._Process, "row", late)
        assert ox.scan(model, isolate=True, timeout=100)["stage"] == "done"
    assert ox.scan(model, isolate=True, timeout=1000)["stage"] == "done"
