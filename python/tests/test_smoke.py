"""The package on small models."""

import onnx
import pytest

import onnxkit as ox

TWO = 'g (float[N,4] x) => (float[N,4] y) { a = Identity (x) b = Relu (a) y = Relu (b) }'


def test_load_and_save(tmp_path):
    model = ox.parse(TWO)
    path = tmp_path / "m.onnx"
    assert model.save(path) == 0
    again = ox.load(path)
    assert bytes(again) == bytes(model) == path.read_bytes()
    assert ox.diff(model, again).is_same_model
    assert "Identity" in again.to_text()
    assert repr(again).startswith("<Model")
    assert len(again) == 3


def test_any_model(tmp_path):
    model = ox.parse(TWO)
    proto = model.to_proto()
    onnx.checker.check_model(proto)
    assert ox.info(proto).nodes == 3
    assert ox.info(bytes(model)).nodes == 3
    assert ox.info(model.to_text()).nodes == 3
    path = tmp_path / "m.onnx"
    model.save(path)
    assert ox.info(path).nodes == ox.info(str(path)).nodes == 3
    with pytest.raises(TypeError, match="not a model"):
        ox.info(3)


def test_any_model_of_ir():
    model = ox.parse(TWO)
    assert ox.hash(model.to_ir()).structure == ox.hash(model).structure


def test_errors_carry_findings():
    with pytest.raises(ox.LoadError) as caught:
        ox.parse("g (float x) => (float y) { y = Relu x) }")
    assert caught.value.findings[0].place
    with pytest.raises(ox.LoadError):
        ox.loads(b"\xff\xff\xff")
    with pytest.raises(ox.LoadError):
        ox.load("does-not-exist.onnx")
    report = ox.check('g (float x) => (float y) { y = Rleu (x) }\n')
    assert not report.ok
    assert not report
    with pytest.raises(ox.CheckError) as caught:
        report.raise_for_errors()
    assert caught.value.findings == report.errors
    assert report.json().startswith("{")
    assert "error[" in repr(report)


def test_types_are_checked():
    for text, rule in (("int64[3] w = {1, 2, 3}", "ONNX3002"), ("float[3] w = {1, 2, 3}", "ONNX3008")):
        model = ox.parse(f"g (float[2] x) => (float[2] y) <{text}> {{ y = Add (x, w) }}")
        assert [finding.rule for finding in ox.check(model).errors] == [rule]
        assert ox.check(model, full=False).ok and ox.check(model, profile="reference").ok
    # One error for a node: the checker's.
    model = ox.parse("g (float[2] x) => (float[2] y) { y = Add (x) }")
    assert len(ox.check(model)) == len(ox.check(model, full=False)) == 1
    with pytest.raises(ox.Stopped):
        ox.check(model, timeout=0.0)


def test_names_of_declared_sizes_are_trusted_on_request():
    text = '<ir_version: 10, opset_import: ["": 20, "my": 1]> g (float[n, 3] x) => (y) <float[n, 8] b> { b = my.Thing (x) y = Relu (b) }'
    shapes = [ox.infer(m, trust_names=trust).shape(m.graph["y"]) for trust in (False, True) for m in [ox.parse(text)]]
    assert shapes[0] != ("n", 8) and shapes[1] == ("n", 8)


def test_infer_and_why():
    model = ox.parse("g (float[N,4] x) => (y) { y = Concat <axis = 0> (x, x) }")
    inference = ox.infer(model)
    assert inference.shape(model.graph["y"]) == ("2*N", 4)
    assert model.graph["y"].shape == ("2*N", 4)
    unknown = ox.parse("g (float[N] x, int64[M] s) => (y) { y = Reshape (x, s) }")
    assert any(entry.missing for entry in ox.why(unknown, "y"))


def test_cost_hash_find_schema():
    model = ox.parse(TWO)
    assert ox.cost(model, N=2).nodes
    assert len(ox.hash(model).model) == 64
    assert [node.op_type for node in ox.find(model, "Relu()")] == ["Relu", "Relu"]
    with pytest.raises(ox.SelectorError):
        ox.find(model, "((")
    schema = ox.schema("Conv")
    assert schema.since_version == 22
    assert [entry["name"] for entry in schema.inputs] == ["X", "W", "B"]
    assert ox.schema("Resize", 11).since_version == 11
    assert ox.schema("Gelu", domain="com.microsoft").domain == "com.microsoft"
    with pytest.raises(KeyError):
        ox.schema("Nothing")


def test_simplify_convert_extract_merge_split():
    model = ox.parse(TWO)
    result = ox.simplify(model, prove=True)
    assert result and result.raise_if_refuted() is result
    assert [node.op_type for node in model.nodes()] == ["Relu"]
    assert result.model is model
    model = ox.parse(TWO)
    done = ox.convert(model, 13, inplace=False)
    assert done.model.opsets == {"": 13} and model.opsets == {"": 21}
    assert ox.reach(model)[13] is None
    part = ox.extract(model, ["a"], ["b"])
    assert [node.op_type for node in part.nodes()] == ["Relu"]
    both = ox.merge([ox.extract(model, ["x"], ["a"]), ox.extract(model, ["a"], ["y"])])
    assert ox.compare(model, both).agrees
    assert len(ox.split(model, 2)) == 2


def test_convert_refuses_with_reasons():
    model = ox.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Gelu (x) }')
    with pytest.raises(ox.ConvertError) as caught:
        ox.convert(model, 1)
    assert caught.value.reasons
    assert model.opsets == {"": 21}


def test_rename_resize_functions():
    model = ox.parse(TWO)
    assert ox.rename(model, {"a": "first"}) == [("a", "first")]
    ox.rename(model, lambda name: "p_" + name)
    assert model.graph.inputs[0].name == "p_x"
    with pytest.raises(ox.ArgumentError):
        ox.rename(model, {"nothing": "n"})
    ox.resize(model, {"N": 3})
    assert model.graph.inputs[0].shape == (3, 4)
    with pytest.raises(ox.ArgumentError):
        ox.resize(model, {"Q": 3})
    text = '''<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float[2] x) => (float[2] y) { y = f.twice (x) }
    <domain: "f", opset_import: ["": 21]> twice (a) => (b) { b = Add (a, a) }'''
    model = ox.parse(text)
    assert len(model.functions) == 1
    assert ox.inline(model) == 1
    assert [node.op_type for node in model.nodes()] == ["Add"]


def test_weights(tmp_path):
    model = ox.parse("g (float[2] x) => (float[2] y) < float[2] w = {1.0, 2.0} > { y = Add (x, w) }")
    model.save(tmp_path / "e.onnx", weights="external", threshold=1)
    loaded = ox.load(tmp_path / "e.onnx")
    assert loaded.graph["w"].const_value.is_external
    assert loaded.graph["w"].const_value.tolist() == [1.0, 2.0]
    (tmp_path / "other").mkdir()
    loaded.save(tmp_path / "other" / "e.onnx", threshold=1)
    assert ox.compare(ox.load(tmp_path / "other" / "e.onnx"), model).agrees
    loaded.embed_weights()
    assert not loaded.graph["w"].const_value.is_external
    stripped = ox.strip_weights(model, min_elements=1)
    assert stripped["stripped"] == 1
    assert ox.import_weights(model) == 1
    with pytest.raises(ox.ArgumentError):
        model.save(tmp_path / "x.onnx", weights="elsewhere")


def test_weights_come_from_another_model(tmp_path):
    text = """g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
        k = Constant <value = float[2] {3, 4}> ()
        a = Add (w, k)
        y = If (c) <then_branch = t () => (float[2] r) <float[2] v = {5, 6}> { r = Mul (a, v) }, else_branch = e () => (float[2] r) { r = Neg (x) }> }"""
    original = ox.parse(text)
    bare = original.clone()
    assert ox.strip_weights(bare, min_elements=1)["stripped"] == 3
    original.save(tmp_path / "m.onnx", weights="external", threshold=0)
    (tmp_path / "m.onnxtxt").write_text(original.to_text())
    for source in (original, tmp_path / "m.onnx", str(tmp_path / "m.onnxtxt"), bytes(original), text):
        filled = bare.clone()
        assert ox.import_weights(filled, source) == 3
        assert ox.compare(filled, original).agrees
    # What is left is a warning, and other errors name the weight.
    with pytest.warns(UserWarning, match="without elements, which were stripped: k, v"):
        assert ox.import_weights(bare.clone(), "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }") == 1
    for source, message in (
        (bare, "the elements of `w` were stripped"),
        ("g (float[2] x) => (float[2] y) <float[2] z = {1, 2}> { y = Add (x, z) }", "none of the stripped weights, such as `w`"),
        ("g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Add (x, w) }", "has the type"),
    ):
        with pytest.raises(ox.LoadError, match=message):
            ox.import_weights(bare.clone(), source)


def test_reduce():
    model = ox.parse(TWO)
    small = ox.reduce(model, lambda tried: any(node.op_type == "Identity" for node in tried.nodes()))
    assert [node.op_type for node in small.nodes()] == ["Identity"]

    def fails(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ox.reduce(model, fails)
    with pytest.raises(ox.ArgumentError):
        ox.reduce(model, lambda _: False)


def test_run_and_compare():
    model = ox.parse("g (float[2] x) => (float[2] y) { y = Neg (x) }")
    assert ox.Evaluator(model).run({"x": [1.0, -2.0]})["y"].tolist() == [-1.0, 2.0]
    with pytest.raises(ox.RunError) as caught:
        ox.Evaluator(model).run({})
    assert caught.value.findings
    other = ox.parse("g (float[2] x) => (float[2] y) { y = Abs (x) }")
    comparison = ox.compare(model, other)
    assert not comparison and comparison.first["name"] == "y"
