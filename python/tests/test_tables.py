"""Tables."""

import nanoarrow
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
    model = ox.parse(TEXT)
    for table in (model.nodes_table(), model.weights_table(), ox.Model().nodes_table()):
        expected = table.to_dict()
        read = nanoarrow.ArrayStream(table).read_all()
        assert [field.name for field in read.schema.fields] == table.column_names
        rows = read.to_pylist()
        assert rows == [dict(zip(expected, row, strict=True)) for row in zip(*expected.values(), strict=True)]
    made = {"n": [1, None, 3] * 5, "f": [1.5, None, 2] * 5, "b": [True, None, False] * 5, "s": ["é", None, ""] * 5, "l": [["a"], [], ["b", "c"]] * 5, "e": [None] * 15}
    rows = nanoarrow.ArrayStream(ox.Table(made)).read_all().to_pylist()
    assert rows == [dict(zip(made, row, strict=True)) for row in zip(*made.values(), strict=True)]
    with pytest.raises(ox.ArgumentError, match="length"):
        ox.Table({"a": [1], "b": [1, 2]})
    # An unread capsule frees its table.
    for _ in range(1000):
        ox.Table(made).__arrow_c_stream__()
