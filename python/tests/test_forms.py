"""Forms of models in files, bytes and text; what the decoder repairs; names and messages."""

import subprocess
import sys

import pytest

import onnxkit as ox

MODEL = ox.parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }")
NAMES = ["m.onnx", "m.pb", "m.onnxtxt", "m.onnxtext", "m.textproto", "m.pbtxt", "m.prototxt", "m.json", "M.JSON"]
BEGINNINGS = {"onnxtxt": b"<", "onnxtext": b"<", "textproto": b"ir_version", "pbtxt": b"ir_version", "prototxt": b"ir_version", "json": b"{"}


@pytest.mark.parametrize("name", NAMES)
def test_the_ending_stands_for_the_form(name, tmp_path):
    path = tmp_path / name
    # The second time, the file exists.
    for _ in range(2):
        assert MODEL.save(path) == 0
    contents = path.read_bytes()
    beginning = BEGINNINGS.get(path.suffix[1:].lower())
    assert contents == bytes(MODEL) if beginning is None else contents.startswith(beginning)
    for model in (ox.load(path), ox.loads(contents), ox.loads(bytearray(contents))):
        assert bytes(model) == bytes(MODEL)
    if beginning is not None:
        assert bytes(ox.loads(contents.decode())) == bytes(MODEL)


@pytest.mark.parametrize("name", ["m", "m.txt", "m.onnx.bak", "weights.data"])
def test_other_names_need_a_form(name, tmp_path):
    path = tmp_path / name
    with pytest.raises(ox.ArgumentError, match="stands for no form of a model"):
        MODEL.save(path)
    assert not path.exists()
    MODEL.save(path, form="onnx")
    assert path.read_bytes() == bytes(MODEL)
    # It may be the weights of some model.
    with pytest.raises(ox.SaveError, match="is not a model by its name"):
        MODEL.save(path, form="onnx")


def test_a_form_that_is_named(tmp_path):
    MODEL.save(tmp_path / "m.json", form="onnx")
    assert (tmp_path / "m.json").read_bytes() == bytes(MODEL)
    with pytest.raises(ox.ArgumentError, match="`form=yaml`: write onnx, textproto, json, onnxtxt"):
        MODEL.save(tmp_path / "m.onnx", form="yaml")


def test_weights_of_texts_are_in_files_next_to_them(tmp_path):
    path = tmp_path / "m.json"
    assert MODEL.save(path, weights="external", threshold=1) == 8
    assert ox.load(path).graph["w"].const_value.tolist() == [1.0, 2.0]
    assert ox.loads(path.read_bytes(), data_dir=tmp_path).graph["w"].const_value.tolist() == [1.0, 2.0]


def test_a_form_that_leaves_something_out_warns(tmp_path):
    # A field that the schema does not know.
    model = ox.loads(bytes(MODEL) + b"\xa2\x06\x01a")
    with pytest.warns(UserWarning, match="m.json leaves out the model: field 100"):
        model.save(tmp_path / "m.json")


@pytest.mark.parametrize("text", ["{", '{"ir_version": true}', "ir_version: x", "ir_version: 8 graph {", "g (float[2] x) => ("])
def test_texts_that_are_not_models(text):
    for contents in (text, text.encode()):
        with pytest.raises(ox.LoadError):
            ox.loads(contents)


def test_texts_begin_in_many_ways():
    for text in ("g () => () {}", "# text\ng () => () {}", "<ir_version: 8> g () => () {}", '"a: b" () => () {}'):
        assert len(ox.loads(text)) == 0
    for text in ('\n {"ir_version": "8"}', "# text\nir_version: 8\n", "graph { name: 'g' }"):
        assert len(ox.loads(text)) == 0


def test_what_the_decoder_repairs_is_reported_until_the_model_is_edited(tmp_path):
    proto = ox.parse("g (float[2] x) => (float[2] y) { y = Elu <alpha = 1.0> (x) }").to_proto()
    proto.graph.node[0].attribute[0].i = 3
    contents = proto.SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(contents)
    for source in (path, contents, proto, ox.loads(contents), ox.loads(contents).clone()):
        found = ox.check(source)
        assert "attribute-with-several-values" in [finding.slug for finding in found.findings]
    model = ox.load(path)
    assert [finding["slug"] for finding in model.decoder_findings()] == ["attribute-with-several-values"]
    assert ox.check(model, profile="reference").ok
    model.graph.name = "h"
    assert model.decoder_findings() == [] and ox.check(model).ok
    assert MODEL.decoder_findings() == []


def test_the_body_of_a_function_has_the_name_of_the_function():
    model = ox.parse("""<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float[2] x) => (float[2] y) { y = f.twice (x) }
        <domain: "f", opset_import: ["": 21]> twice (a) => (b) { b = Add (a, a) }""")
    body = model.functions[0]
    assert body.name == "twice" and repr(body) == '<Graph "twice": 1 inputs, 1 nodes, 1 outputs>'
    with pytest.raises(ox.EditError, match="refer to it by its name"):
        body.name = "thrice"
    model.graph.name = "h"
    assert model.graph.name == "h"


def test_messages_name_a_path_once(tmp_path):
    model = MODEL.clone()
    missing = tmp_path / "none.safetensors"
    for path, start in ((missing, f"{missing}: cannot be read"), ("", '"": cannot be read')):
        with pytest.raises(ox.LoadError) as error:
            ox.import_weights(model, path)
        assert str(error.value).startswith(start)
        with pytest.raises(ox.LoadError) as error:
            ox.load(path)
        assert str(error.value).startswith(start)


# Run in a separate process: the fault of a map would end the tests.
SHORTENED = """
import os, sys
import onnxkit as ox

inner, outer = (ox.load(path, mapped=False) for path in sys.argv[1:3])
before = sum(outer.graph["w"].const_value.tolist())
for path in sys.argv[1:]:
    os.truncate(path, 100)
print(before, sum(inner.graph["w"].const_value.tolist()))
try:
    print(outer.graph["v"].const_value.tolist()[0])
except ox.OnnxError as error:
    print(error)
"""


def test_a_file_that_becomes_shorter_does_not_end_the_process_unless_it_is_mapped(tmp_path):
    ones = ", ".join(["1"] * 20_000)
    model = ox.parse(f"""g (float[20000] x) => (float[20000] y)
        <float[20000] w = {{{ones}}}, float[20000] v = {{{ones}}}> {{ z = Add (x, w) y = Add (z, v) }}""")
    model.save(tmp_path / "inner.onnx")
    model.save(tmp_path / "outer.onnx", weights="external")
    paths = [tmp_path / "inner.onnx", tmp_path / "outer.onnx", *tmp_path.glob("outer.onnx?*")]
    done = subprocess.run([sys.executable, "-c", SHORTENED, *paths], capture_output=True, text=True, timeout=100)
    sums, error = done.stdout.splitlines()
    assert (done.returncode, sums) == (0, "20000.0 20000.0") and "outer.onnx" in error, done


def test_limits_of_external_data_are_those_of_one_call(tmp_path):
    model = ox.parse(f"g (float[1000] x) => (float[1000] y) <float[1000] w = {{{', '.join(['1'] * 1000)}}}> {{ y = Add (x, w) }}")
    model.save(tmp_path / "m.onnx", weights="external")
    loaded = ox.load(tmp_path / "m.onnx", limits={"external_bytes": 4000})
    weight, evaluator = loaded.graph["w"].const_value, ox.Evaluator(loaded)
    for count in range(3):
        assert len(weight.tolist()) == 1000
        assert sum(evaluator.run({"x": [1.0] * 1000})["y"].tolist()) == 2000.0
        loaded.save(tmp_path / f"{count}.onnx", weights="embed")
    with pytest.raises(ox.LimitError, match="external_bytes"):
        ox.load(tmp_path / "m.onnx", limits={"external_bytes": 3999}).embed_weights()


def test_saving_ends_in_time_and_leaves_nothing(tmp_path):
    model = ox.parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }")
    for weights in ("embed", "external"):
        with pytest.raises(ox.Stopped):
            model.save(tmp_path / "m.onnx", weights=weights, threshold=1, timeout=0.0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ox.ArgumentError, match="unheard"):
        model.save(tmp_path / "m.onnx", limits={"unheard": 1})
