"""Copies, `pickle` and handles in them."""

import ast
import copy
import multiprocessing
import pathlib
import pickle
import re

import onnx_ir
import pytest

import onnxkit as ox
from onnxkit import _results

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


def test_pickles_read_the_files_that_the_model_had_and_no_others(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    ox.parse(TEXT).save(path, weights="external", threshold=1)
    monkeypatch.chdir(tmp_path)
    for mapped in (True, False):
        sent = pickle.dumps(ox.load("model.onnx", mapped=mapped))
        # Another process has another current folder.
        monkeypatch.chdir("/")
        assert pickle.loads(sent).folder == tmp_path.resolve()
        assert pickle.loads(sent).graph["w"].const_value.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert again(pickle.loads(sent)).graph["w"].const_value.tolist() == [1.0, 2.0, 3.0, 4.0]
        monkeypatch.chdir(tmp_path)
    data = tmp_path / "model.onnx.data"
    other = bytes(reversed(data.read_bytes()))
    (tmp_path / "new").write_bytes(other)
    (tmp_path / "new").rename(data)
    # A pickle of a model whose data is replaced does not become one of the new data.
    for made in (pickle.loads(sent), again(pickle.loads(sent)), pickle.loads(sent).clone()):
        with pytest.raises(ox.LoadError, match="changed or replaced since the model was sent to this process"):
            made.graph["w"].const_value.tolist()
        with pytest.raises(ox.LoadError):
            ox.hash(made)
    data.unlink()
    with pytest.raises(ox.LoadError, match="no such file"):
        pickle.loads(sent).graph["w"].const_value.tolist()
    whole = ox.parse(TEXT)
    whole.save(path, weights="external", threshold=1)
    loaded = ox.load(path)
    loaded.embed_weights()
    sent, lost = pickle.dumps(loaded), pickle.dumps(ox.load(path))
    for file in (path, data):
        file.unlink()
    assert pickle.loads(sent).graph["w"].const_value.tolist() == [1.0, 2.0, 3.0, 4.0]
    monkeypatch.chdir("/")
    tmp_path.rmdir()
    with pytest.raises(ox.LoadError, match="cannot be read"):
        pickle.loads(lost).graph["w"].const_value.tolist()


def results():
    """An object of each public class of results and data."""
    model = ox.parse("g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { a = MatMul (x, w) y = Identity (a) }")
    report = ox.check("g (float[2] x) => (float[2] y) { y = Rellu (x) }")
    quantized = ox.quantize(model, "int8", weights_only=True, inplace=False)
    return [
        report, report.errors[0], ox.info(model), ox.cost(model, N=2), ox.hash(model), ox.diff(model, quantized.model), ox.schema("Relu"),
        ox.fix(ox.parse("g (float[2] x) => (float[2] y) { y = Relu (a) a = Neg (x) }"))[0], ox.convert(model, 13, inplace=False),
        ox.half(model, run=False, inplace=False), quantized, ox.dequantize(quantized.model, inplace=False),
        ox.retype(model, {"x": "double"}, inplace=False), ox.resize(model.clone(), {"N": 1}), ox.simplify(model, inplace=False),
        ox.compare(model, quantized.model), ox.why(ox.parse("g (float[N] x, int64[2] s) => (y) { y = Reshape (x, s) }"), "y")[0],
        model.nodes_table(), model.weights_table(), ox.Table({}), ox.Table({"a": [None, None], "b": [[], []]}),
        ox.Table({"f": [1.0, float("nan"), None], "i": [1, None, 2], "b": [True, None, False], "t": ["<a>", None, ""], "l": [["a"], [], ["b", ""]], "n": [[1], [], [2]]}),
        ox.scan_many([]), ox.scan_many(["none.onnx"]), ox.rule(lambda op, x: (op.Neg(op.Neg(x)), x), name="r"), ox.AttrRef("alpha"), ox.DType.INT4,
    ]


# Without a model or a process, these mean nothing, or they are functions.
OF_A_MODEL = {"Attributes", "Graph", "Inference", "Node", "Value", "Pass", "PassContext", "Patch"}


def test_every_public_object_can_be_sent_copied_and_compared():
    seen = set()
    for result in results():
        seen.add(type(result).__name__)
        for made in (again(result), copy.copy(result), copy.deepcopy(result)):
            assert made == result and not made != result, result
            assert type(made) is type(result) and repr(made) == repr(result)
            assert result.__hash__ is None or hash(made) == hash(result)
        assert result != 3 and result is not None
        if isinstance(result, ox.Table):
            assert again(result).types == result.types and again(result).to_dict().keys() == result.to_dict().keys()
            html = result._repr_html_()
            assert html.startswith("<table>") and "<a>" not in html
    public = {name for name in ox.__all__ if isinstance(getattr(ox, name), type) and not issubclass(getattr(ox, name), Exception)}
    # Models and tensors are compared by their contents, which other tests do.
    assert public - seen - OF_A_MODEL == {"Model", "Tensor"}


def test_every_exception_can_be_sent():
    for name in ox.__all__:
        kind = getattr(ox, name)
        if isinstance(kind, type) and issubclass(kind, ox.OnnxError):
            error = kind("message", [{"rule": "ONNX2303", "severity": "error", "message": "m", "place": "p"}])
            assert (str(again(error)), again(error).findings) == ("message", error.findings)


def test_types_of_columns_outlive_their_elements():
    assert ox.scan_many([]).types == dict(ox.SCAN_SCHEMA)
    for columns, types, error, message in (
        ({"a": [1]}, {"a": "int32"}, ox.ArgumentError, "`int32`"),
        ({"a": [1]}, {"b": "int64"}, ox.ArgumentError, "no column `b`"),
        ({"a": [True]}, {"a": "int64"}, TypeError, "truth value"),
        ({"a": [1, True]}, None, TypeError, "truth value"),
        ({"a": [True, 1]}, None, TypeError, "bool"),
    ):
        with pytest.raises(error, match=message):
            ox.Table(columns, types)


def test_fields_of_results_have_the_types_that_checkers_see():
    declared = {}
    for found in ast.parse(pathlib.Path(_results.__file__).read_text()).body:
        if isinstance(found, ast.ClassDef):
            block = [line for part in found.body if isinstance(part, ast.If) for line in part.body]
            declared[found.name] = {line.target.id: ast.unparse(line.annotation) for line in block if isinstance(line, ast.AnnAssign)}
    kinds = {"str": str, "int": int, "bool": bool, "list": list, "dict": dict, "None": type(None), "Amount": (int, str, type(None))}
    for result in results():
        if isinstance(result, _results._Result):
            types, fields = declared[type(result).__name__], result.to_dict()
            if not isinstance(result, ox.Result):
                # That of passes has a field that is hidden by the model.
                assert types.keys() - {"model"} - fields.keys() == set()
            assert fields.keys() - types.keys() <= {"findings", "model"}, type(result)
            for name, value in fields.items():
                if name in types and name != "model":
                    allowed = [kinds[part] for part in re.sub(r"\[.*\]", "", types[name]).split(" | ")]
                    assert any(isinstance(value, kind) for kind in allowed), (type(result), name, value)
