"""Copies, `pickle` and handles in them."""

import copy
import multiprocessing
import pickle

import onnx_ir
import pytest

import onnxkit as ox

TEXT = "g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Identity (x) b = Add (a, w) y = Relu (b) }"


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_models():
    model = ox.parse(TEXT)
    for made in (copy.copy(model), copy.deepcopy(model), again(model)):
        assert bytes(made) == bytes(model)
        made.graph.remove(made.graph.add("Neg", [made.graph.inputs[0]]))
        made.set_metadata("key", "value")
    assert model.metadata == ()
    result = again(ox.simplify(model.clone()))
    assert result.edits == 1 and len(result.model) == 2


def test_models_with_weights_in_other_files(tmp_path):
    model = ox.parse(TEXT)
    model.save(tmp_path / "model.onnx", weights="external", threshold=1)
    loaded = again(ox.load(tmp_path / "model.onnx"))
    assert loaded.graph["w"].const_value.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("values", "dtype"), [([[1, 2], [3, 4]], None), (2.5, None), ([], None), (["a", "b"], None), ("a", None), ([True], None), ([1, 2, 3], "uint16")]
)
def test_tensors(values, dtype):
    tensor = ox.Tensor(values, dtype, name="t")
    for made in (copy.copy(tensor), copy.deepcopy(tensor), again(tensor)):
        assert (made.dtype, made.shape, made.name, made.tolist()) == (tensor.dtype, tensor.shape, "t", tensor.tolist())


def test_tensors_of_small_types():
    for dtype in ox.DType.all():
        if dtype != ox.DType.STRING:
            tensor = ox.Tensor([1, 1, 1], dtype)
            assert again(tensor).tobytes() == tensor.tobytes()


def test_rules_and_reports():
    rules = ox.rule(lambda op, x: (op.Neg(op.Neg(x)), x), name="r")
    assert again(rules).text == rules.text
    report = ox.check("g (float[2] x) => (float[2] y) { y = Rellu (x) }")
    assert again(report) == report
    with pytest.raises(ox.CheckError) as raised:
        report.raise_for_errors()
    assert again(raised.value).findings == report.errors


def test_handles_are_not_copied():
    model = ox.parse(TEXT)
    for handle in (model.graph, model.graph.nodes[0], model.graph["a"], model.graph.nodes[0].attrs):
        for call in (copy.copy, copy.deepcopy, again):
            with pytest.raises(TypeError):
                call(handle)


def nodes_of(model):
    return len(model)


def test_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map_async(nodes_of, [ox.parse(TEXT)]).get(100) == [3]


def test_weights_in_other_files_of_onnx_ir(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "model.onnx"
    ox.parse(TEXT).save(path, weights="external", threshold=1)
    monkeypatch.chdir(tmp_path)
    there = ox.load(path).to_ir()
    assert there.graph.initializers["w"].const_value.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    for source in (there, onnx_ir.load(path), onnx_ir.load("a/model.onnx")):
        here = ox.Model.from_any(source)
        assert here.graph["w"].const_value.tolist() == [1.0, 2.0, 3.0, 4.0]
    monkeypatch.chdir(tmp_path / "a")
    here = ox.Model.from_any(onnx_ir.load("model.onnx"))
    assert here.graph["w"].const_value.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_weights_in_several_folders(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        ox.parse(TEXT).save(tmp_path / name / "model.onnx", weights="external", threshold=1)
    model, other = (onnx_ir.load(tmp_path / name / "model.onnx") for name in ("a", "b"))
    value = other.graph.initializers["w"]
    extra = onnx_ir.Value(name="v", const_value=value.const_value)
    model.graph.register_initializer(extra)
    with pytest.raises(ox.LoadError, match="several folders"):
        ox.Model.from_any(model)
