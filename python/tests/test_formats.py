"""Half precision, quantization, and other types of inputs and outputs."""

import json
import pathlib

import numpy
import pytest

import onnxkit as ox

TEXT = """<ir_version: 11, opset_import: ["": 21]>
g (float[N,4] x, bool[N] mask) => (float[N,2] scores)
<float[4,2] weight = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}, float low = {-3.4028235e38}, float epsilon = {1e-12}>
{
  product = MatMul (x, weight)
  axes = Constant <value_ints = [1]> ()
  column = Unsqueeze (mask, axes)
  masked = Where (column, product, low)
  raised = Add (masked, epsilon)
  scores = Softmax <axis = 0> (raised)
}"""
LAYER = "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { p = MatMul (x, w) y = Relu (p) }"
NETWORK = "g (float[N,2] x) => (float[N,2] z) <float[2,2] w = {1, 2, 3, 4}> { p = MatMul (x, w) y = Relu (p) z = MatMul (y, w) }"
DATA = [{"x": numpy.array([[-1.0, 1.0]], "float32")}, {"x": numpy.array([[0.5, 2.0], [0.0, 0.25]], "float32")}]


def operators(model):
    return ox.info(model).operators


def test_half_precision_is_that_of_the_command():
    model = ox.parse(TEXT)
    done = ox.half(model, keep_io=True)
    assert done.model is model and ox.check(model).ok
    assert (done.format, done.nodes, done.casts, done.bytes) == ("float16", 4, 2, {"before": 40, "after": 20})
    assert {tensor["name"]: tensor["saturated"] for tensor in done.tensors}["low"] == 1
    assert done.outputs[0]["name"] == "scores" and done.outputs[0]["snr"] > 60 and done.not_measured is None and done.not_run is None
    assert repr(done).startswith("4 nodes in float16, 2 casts added, 40 -> 20 bytes of weights; `scores` has ")
    assert json.loads(done.json())["casts"] == 2
    assert (model.graph["x"].dtype, model.graph["weight"].dtype) == (ox.DType.FLOAT, ox.DType.FLOAT16)


def test_half_precision_of_a_copy_and_of_some_nodes():
    model = ox.parse(TEXT)
    before = model.to_text()
    product = model.graph["product"].producer()
    for except_ in ("MatMul()", product, [product], ["MatMul()", product]):
        done = ox.half(model, except_=except_, inplace=False, run=False)
        assert (done.nodes, done.casts) == (3, 1) and done.wide[0]["op"] == "MatMul"
        assert done.model.graph["weight"].dtype == ox.DType.FLOAT and done.not_measured == "`run=False` was given"
    assert ox.half(model, only="MatMul()", inplace=False).nodes == 1
    assert ox.half(model, ox.DType.BFLOAT16, inplace=False).format == "bfloat16"
    assert ox.half(TEXT, "bfloat16").model.graph["weight"].dtype == "bfloat16"
    assert model.to_text() == before


def test_numbers_out_of_range_stay_wide():
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Mul (x, x) b = Sqrt (a) y = Neg (b) }")
    done = ox.half(model, inputs={"x": numpy.array([1000.0, 1.0], "float32")}, inplace=False)
    assert list(done.out_of_range) == ["a"] and done.out_of_range["a"] == 1e6
    assert {row["op"] for row in done.wide} >= {"Mul"}
    assert ox.half(model, inputs={"x": [1.0, 2.0]}, inplace=False).out_of_range == {}


def test_calibration_on_data():
    model = ox.parse(NETWORK)
    done = ox.quantize(model, "uint8", inputs=DATA, per_channel=True, measure=True, losses=True)
    assert done.model is model and ox.check(model).ok
    assert operators(model) == {"DequantizeLinear": 3, "MatMul": 2, "QuantizeLinear": 2}
    assert (done.kind, done.to, done.quantized, done.pairs, done.folded) == ("static", "uint8", [{"op": "MatMul", "nodes": 2}], 2, 1)
    assert done.samples == 2 and done.ranges["x"] == [-1.0, 2.0]
    assert done.outputs[0]["elements"] == 6 and done.outputs[0]["snr"] > 30
    assert {value["name"] for value in done.values} == {"x", "y"} and all(value["snr"] > 30 for value in done.values)
    assert repr(done).startswith("2 nodes and 1 weights in uint8, 16 -> ")


def test_biases_are_corrected():
    # The second input is never negative, and its weights are rounded in one direction.
    model = "g (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, 0.1}, float[1] b = {0}> { p = Abs (x) y = Gemm (p, w, b) }"
    plain = ox.quantize(model, "int16", inputs=DATA, weight_type="int4", keep_biases=True)
    assert plain.correction is None and "b_corrected" not in plain.model.to_text()
    done = ox.quantize(model, "int16", inputs=DATA, weight_type="int4", measure=True)
    assert done.correction["applied"] and done.correction["biases"] == 1 and "b_corrected" in done.model.to_text()
    assert done.correction["before"] < done.correction["after"] == done.outputs[0]["snr"]
    assert ox.quantize(LAYER, "int8", weights_only=True).correction is None


def test_inputs_of_a_calibration_in_any_form():
    class Lazy:
        def __init__(self):
            self.read = []

        def __len__(self):
            return len(DATA)

        def __getitem__(self, index):
            self.read.append(index)
            return DATA[index]

    lazy = Lazy()
    wanted = ox.quantize(LAYER, "uint8", inputs=DATA)
    for inputs in (tuple(DATA), iter(DATA), (sample for sample in DATA), lazy):
        done = ox.quantize(LAYER, "uint8", inputs=inputs)
        assert done == wanted and done.model.to_text() == wanted.model.to_text()
    assert lazy.read == [0, 1]
    assert ox.quantize(LAYER, "uint8", inputs=DATA[0]).ranges["x"] == [-1.0, 1.0]
    one, other = (ox.quantize(LAYER, "uint8", inputs=4, seed=seed).ranges for seed in (0, 1))
    assert one == ox.quantize(LAYER, "uint8", inputs=numpy.int64(4)).ranges != other


def test_ranges_out_and_in(tmp_path):
    found = ox.quantize(LAYER, "uint8", inputs=DATA, method="mse")
    again = ox.quantize(LAYER, "uint8", ranges=found.ranges)
    assert again.model.to_text() == found.model.to_text() and again.ranges == found.ranges and again.samples == 0
    path = tmp_path / "ranges.json"
    found.save_ranges(path)
    assert ox.quantize(LAYER, "uint8", ranges=path).ranges == found.ranges
    assert ox.quantize(LAYER, "uint8", ranges=str(path), inputs=DATA).ranges == found.ranges
    edited = ox.quantize(LAYER, "uint8", ranges={"x": (-4, 4)}, inputs=DATA)
    assert edited.ranges["x"] == [-4.0, 4.0] and len(edited.ranges) == len(found.ranges)


def test_methods_and_budget():
    heavy = {"x": numpy.array([[0.01, 0.02]] * 50 + [[90.0, 0.0]], "float32")}
    high = {method: ox.quantize(LAYER, "uint8", inputs=heavy, method=method).ranges["x"][1] for method in ("minmax", "percentile", "entropy", "mse")}
    assert high["minmax"] == 90.0 and all(0 < number <= 90.0 for number in high.values())
    assert ox.quantize(LAYER, "uint8", inputs=heavy, method="percentile", percentile=50).ranges["x"][1] < 1.0
    strict = ox.quantize(LAYER, "uint8", inputs=DATA, budget=200)
    assert strict.quantized == [] and strict.runs > 0
    assert ("MatMul", "the outputs would not be within the budget") in [(row["op"], row["reason"]) for row in strict.stay]
    loose = ox.quantize(LAYER, "uint8", inputs=DATA, budget=20.0)
    assert loose.quantized == [{"op": "MatMul", "nodes": 1}] and min(output["snr"] for output in loose.outputs) >= 20


def test_weights_only_and_dynamic():
    done = ox.quantize(LAYER, "int8", weights_only=True, measure=True)
    assert (done.kind, done.bytes, done.weights[0]["name"]) == ("weights", {"before": 16, "after": 8}, "w")
    assert (done.quantized, done.ranges, done.outputs[0]["name"]) == ([], {}, "y")
    assert repr(done).startswith("1 weights in int8, 16 -> 8 bytes of weights; `y` has ")
    blocks = ox.quantize(LAYER, "uint4", weights_only=True, block=2, symmetric=True).model
    assert ox.DType.UINT4 in [value.dtype for value in blocks.graph.initializers.values()]
    kept = ox.quantize(LAYER, "int8", weights_only=True, budget=300.0, inputs=DATA)
    assert kept.weights[0]["kept"] and kept.bytes == {"before": 16, "after": 16}
    dynamic = ox.quantize(LAYER, "int8", dynamic=True, inputs=DATA, measure=True)
    assert dynamic.quantized == [{"op": "MatMul", "nodes": 1}] and operators(dynamic.model)["MatMulInteger"] == 1
    assert dynamic.outputs[0]["elements"] == 6


def test_operators_with_quantized_numbers():
    values = ", ".join(str(number / 64) for number in range(64))
    model = f"g (float[N,32] x) => (float[N,2] y) <float[32,2] w = {{{values}}}> {{ y = MatMul (x, w) }}"
    blocks = ox.quantize(model, "int4", weights_only=True, form="operator", target="onnxruntime")
    assert operators(blocks.model) == {"com.microsoft.MatMulNBits": 1}
    static = ox.quantize(LAYER, "uint8", inputs=DATA, form="operator")
    assert sum(row["nodes"] for row in static.operators) == 1 and operators(static.model)["QLinearMatMul"] == 1


def test_floats_again():
    model = ox.parse(LAYER)
    ox.quantize(model, "uint8", inputs=DATA)
    done = ox.dequantize(model)
    assert (done.weights, done.pairs, done.left, done.model is model) == (1, 1, [], True)
    assert operators(model) == {"Clip": 1, "MatMul": 1, "Relu": 1}
    dynamic = ox.dequantize(ox.quantize(LAYER, "int8", dynamic=True).model)
    assert (dynamic.left, operators(dynamic.model)) == ([], {"MatMul": 1, "Relu": 1})


def test_types_of_inputs_and_outputs():
    model = ox.parse("g (int64[N] ids) => (float[N] y) { y = Cast <to = 1> (ids) }")
    copy = ox.retype(model, {"ids": numpy.int32, "y": ox.DType.FLOAT16}, inplace=False)
    assert copy.casts == {"ids": 0, "y": 1} and ox.check(copy.model).ok
    assert (copy.model.graph["ids"].type, copy.model.graph["y"].type) == ("int32[N]", "float16[N]")
    with pytest.raises(ox.ArgumentError, match="`z` is not an input or output"):
        ox.retype(model, {"ids": "int32", "z": "int32"})
    assert model.graph["ids"].type == "int64[N]"
    both = ox.retype("g (float[2] x) => (float[2] x, float[2] y) { y = Relu (x) }", {"x": "double"})
    assert both.casts == {"x": 1} and ox.check(both.model).ok
    assert both.model.graph["x"].type == "double[2]"


def test_nothing_to_do_is_a_reason():
    done = ox.half("g (int64[2] x) => (int64[2] y) { y = Neg (x) }")
    assert done.nodes == 0 and "nothing in the model computes with `float`" in done.unchanged
    assert ox.half(LAYER, keep_io=True).unchanged is None
    half = ox.half(LAYER, inplace=False).model
    assert "computes in float16" in ox.quantize(half, "int8", weights_only=True).unchanged


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ox.half(LAYER, "int8"), ox.ArgumentError, "`quantize` has other types"),
        (lambda: ox.half(LAYER, "half"), ox.ArgumentError, "is not an element type"),
        (lambda: ox.half(LAYER, only=3), TypeError, "`only` is a selector"),
        (lambda: ox.half(LAYER, except_=[3]), ox.ArgumentError, "is not a node or a selector"),
        (lambda: ox.half(LAYER, except_="Nothing("), ox.SelectorError, None),
        (lambda: ox.half(LAYER, except_=ox.parse(LAYER).graph["p"].producer()), ox.EditError, "another model"),
        (lambda: ox.half(LAYER, inputs={"z": [1.0]}), ox.ArgumentError, "no input 'z'; it has x"),
        (lambda: ox.half(LAYER, inputs=[1.0]), TypeError, "`inputs` is a mapping"),
        (lambda: ox.half(LAYER, inputs={"x": [[1.0, 2.0]]}, run=False), ox.ArgumentError, "`run=False`"),
        (lambda: ox.half(LAYER, no_option=1), ox.ArgumentError, "no_option"),
        (lambda: ox.quantize(LAYER, "float16", inputs=2), ox.ArgumentError, "`half` changes the whole model"),
        (lambda: ox.quantize(LAYER, "int64", inputs=2), ox.ArgumentError, "types: .*int8"),
        (lambda: ox.quantize(LAYER, "int4", inputs=2), ox.ArgumentError, "not quantized to int4|no activations of type int4"),
        (lambda: ox.quantize(LAYER, "uint8"), ox.ArgumentError, "`inputs=` with data"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=0), ox.ArgumentError, "at least one input"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=[]), ox.ArgumentError, "`inputs` is empty"),
        (lambda: ox.quantize(LAYER, "uint8", inputs="data"), TypeError, "`inputs` is a number"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2.5), TypeError, "`inputs` is a number"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=object()), TypeError, None),
        (lambda: ox.quantize(LAYER, "uint8", inputs=[[1.0]]), TypeError, "sample 0 is `list`, not a mapping"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=[DATA[0], {}]), ox.ArgumentError, "sample 1 has no value of the input `x`"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=[{**DATA[0], "z": 1.0}]), ox.ArgumentError, "no input `z`; it has x"),
        (lambda: ox.quantize(LAYER, "uint8", inputs={"x": numpy.zeros((2, 3), "float32")}), ox.RunError, "sample 0"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, method="best"), ox.ArgumentError, "`best` is not a method"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, percentile=99), ox.ArgumentError, "`percentile` is for"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, method="percentile", percentile=0), ox.ArgumentError, "above 0 and at most 100"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, target="none"), ox.ArgumentError, "`none` is not a target: write generic"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, form="best"), ox.ArgumentError, "`form=best`"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, block=16), ox.ArgumentError, "`block` has no meaning"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, budget=float("nan")), ox.ArgumentError, "finite number of decibels"),
        (lambda: ox.quantize(LAYER, "uint8", inputs=2, threads=10**6), ox.ArgumentError, "1000000 threads"),
        (lambda: ox.quantize(LAYER, "uint8", ranges={"x": 3}), ox.ArgumentError, "is not two numbers"),
        (lambda: ox.quantize(LAYER, "uint8", ranges={"x": (2, 1)}), ox.ArgumentError, "the lower one first"),
        (lambda: ox.quantize(LAYER, "uint8", ranges={"x": (0, float("inf"))}), ox.ArgumentError, "two finite numbers"),
        (lambda: ox.quantize(LAYER, "uint8", ranges={"x": (0, 1)}, budget=20), ox.ArgumentError, "`budget` needs `inputs`"),
        (lambda: ox.quantize(LAYER, "uint8", ranges={"x": (0, 1)}, keep_biases=True), ox.ArgumentError, "`keep_biases` needs `inputs`"),
        (lambda: ox.quantize(LAYER, "int8", dynamic=True, keep_biases=True), ox.ArgumentError, "`keep_biases` has no meaning"),
        (lambda: ox.quantize(LAYER, "uint8", ranges={}), ox.ArgumentError, "no value of the operators"),
        (lambda: ox.quantize(LAYER, "uint8", ranges=pathlib.Path("none.json")), FileNotFoundError, None),
        (lambda: ox.quantize(LAYER, "int8", weights_only=True, dynamic=True), ox.ArgumentError, "exclude each other"),
        (lambda: ox.quantize(LAYER, "int8", weights_only=True, losses=True), ox.ArgumentError, "`losses` has no meaning"),
        (lambda: ox.quantize(LAYER, "int8", weights_only=True, block=0), ox.ArgumentError, "at least one element"),
        (lambda: ox.quantize(LAYER, "int8", weights_only=True, block=2, per_channel=True), ox.ArgumentError, "exclude each other"),
        (lambda: ox.quantize(LAYER, "int4", weights_only=True, form="operator"), ox.ArgumentError, "MatMulNBits"),
        (lambda: ox.quantize(LAYER, "int8", dynamic=True, symmetric=True), ox.ArgumentError, "`symmetric` has no meaning"),
        (lambda: ox.quantize(ox.convert(LAYER, 9).model, "int8", weights_only=True), ox.EditError, r"`convert\(model, 10\)` first"),
        (lambda: ox.retype(LAYER, [("x", "double")]), TypeError, "`types` is a mapping"),
        (lambda: ox.retype(LAYER, {"x": "real"}), ox.ArgumentError, "is not an element type"),
    ],
)
def test_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_nodes_that_are_not_valid_are_refused():
    wrong = "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { p = MatMul (x, w) y = Relu <slope = 2.0> (p) }"
    for call in (lambda: ox.half(wrong), lambda: ox.quantize(wrong, "int8", weights_only=True), lambda: ox.dequantize(wrong)):
        with pytest.raises(ox.EditError, match="nodes are not valid in the imported versions") as error:
            call()
        assert error.value.findings


def test_errors_change_nothing():
    model = ox.parse(LAYER)
    before = bytes(model)

    class Broken:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            if index == 1:
                raise ZeroDivisionError("the data is broken")
            return DATA[0]

    for threads in (1, 2):
        with pytest.raises(ZeroDivisionError, match="the data is broken"):
            ox.quantize(model, "uint8", inputs=Broken(), threads=threads)
    with pytest.raises(ox.Stopped):
        ox.quantize(model, "uint8", inputs=4, timeout=0)
    with pytest.raises(ox.Stopped):
        ox.half(model, timeout=0)
    assert bytes(model) == before


def test_weights_in_other_files(tmp_path):
    path = tmp_path / "m.onnx"
    ox.parse(LAYER).save(path, weights="external", threshold=1)
    assert ox.half(path).model.graph["w"].dtype == "float16"
    assert ox.quantize(path, "int8", weights_only=True).weights[0]["elements"] == 4
    (tmp_path / "m.onnx.data").unlink()
    for call in (lambda: ox.half(path), lambda: ox.quantize(path, "int8", weights_only=True)):
        with pytest.raises(ox.LoadError, match="`w`"):
            call()
