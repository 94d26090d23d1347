"""Tables, and rows about files."""

import pickle
import sys

import pytest

import onnxkit as ox

TEXT = """g (bool c, float[2] x) => (float[2] y) < float[2] w = {1, 2}, int64[2, 1] v = {3, 4} > {
    a = Add (x, w)
    y = If (c) <then_branch = t () => (float[2] b) { b = Neg (a) }, else_branch = e () => (float[2] d) { d = Abs (a) }>
}"""


def test_nodes_and_weights():
    model = ox.parse(TEXT)
    nodes = model.nodes_table()
    assert len(nodes) == 4 and repr(nodes).startswith("<Table of 4 rows: name, op_type")
    columns = nodes.to_dict()
    assert columns["op_type"] == ["Add", "If", "Neg", "Abs"]
    assert columns["graph"] == ["g", "g", "t", "e"]
    assert columns["inputs"] == [["x", "w"], ["c"], ["a"], ["a"]]
    assert columns["attributes"] == [[], ["then_branch", "else_branch"], [], []]
    weights = model.weights_table().to_dict()
    assert weights["name"] == ["w", "v"]
    assert weights["shape"] == [[2], [2, 1]] and weights["bytes"] == [8, 16] and weights["is_external"] == [False, False]
    assert weights["uses"] == [1, 0]


def test_a_stream_of_arrow():
    nanoarrow = pytest.importorskip("nanoarrow")
    model = ox.parse(TEXT)
    for table in (model.nodes_table(), model.weights_table(), ox.Model().nodes_table()):
        expected = table.to_dict()
        read = nanoarrow.ArrayStream(table).read_all()
        assert [field.name for field in read.schema.fields] == table.column_names
        rows = read.to_pylist()
        assert rows == [dict(zip(expected, row)) for row in zip(*expected.values())]
    made = {"n": [1, None, 3] * 5, "f": [1.5, None, 2] * 5, "b": [True, None, False] * 5, "s": ["é", None, ""] * 5, "l": [["a"], [], ["b", "c"]] * 5, "e": [None] * 15}
    rows = nanoarrow.ArrayStream(ox.Table(made)).read_all().to_pylist()
    assert rows == [dict(zip(made, row)) for row in zip(*made.values())]
    with pytest.raises(ox.ArgumentError, match="length"):
        ox.Table({"a": [1], "b": [1, 2]})
    # An unread capsule frees its table.
    for _ in range(1000):
        ox.Table(made).__arrow_c_stream__()


def test_rows_of_files(tmp_path):
    good, bad, empty = tmp_path / "good.onnx", tmp_path / "bad.onnx", tmp_path / "empty.onnx"
    ox.parse(TEXT).save(good)
    bad.write_bytes(b"\xff" * 100)
    empty.write_bytes(b"")
    row = ox.scan(good)
    assert (row["ok"], row["stage"], row["nodes"], row["errors"], row["unknown_shapes"]) == (True, "done", 4, 0, 0)
    assert ox.scan(bad)["error_code"] == "LoadError"
    assert ox.scan(tmp_path)["ok"] is False
    limited = ox.scan(good, limits={"nodes": 1})
    assert (limited["stage"], limited["error_code"]) == ("load", "LimitError")
    assert pickle.loads(pickle.dumps(ox.scan))(good)["ok"]
    paths = [good, bad, tmp_path / "none.onnx", empty]
    table = ox.scan_many(paths)
    columns = table.to_dict()
    assert columns["path"] == [str(path) for path in paths]
    assert columns["ok"][:3] == [True, False, False]
    isolated = ox.scan_many(paths, isolate=True).to_dict()
    for name in columns:
        if name != "seconds":
            assert isolated[name] == columns[name], name


@pytest.mark.skipif(sys.platform != "linux", reason="limits of processes")
def test_a_file_that_ends_its_process(tmp_path, monkeypatch):
    import resource

    from onnxkit import _scan

    path = tmp_path / "m.onnx"
    ox.parse(TEXT).save(path)
    # The system does not give the process the memory that it needs.
    run = _scan.scan_many
    monkeypatch.setenv("PYTHONSTARTUP", "")
    real = __import__("subprocess").run

    def limited(*arguments, **options):
        return real(*arguments, **options, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (16 << 20, 16 << 20)))

    monkeypatch.setattr("subprocess.run", limited)
    columns = run([path, path], isolate=True).to_dict()
    assert columns["ok"] == [False, False] and columns["stage"] == ["process", "process"]
    assert columns["error_code"] == ["ProcessError", "ProcessError"]
