"""Truth values are not numbers, and numbers are not truth values; refused edits leave nothing."""

import concurrent.futures

import numpy
import pytest

import onnxkit as ox

TEXT = "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { a = MatMul (x, w) y = Identity (a) }"
MODEL = ox.parse(TEXT)


def with_custom(value):
    model = MODEL.clone()
    model.set_opset("my", 1)
    return model.graph.add("Foo", [], {"a": value}, domain="my").attrs["a"]


CALLS = {
    "convert": lambda true: ox.convert(MODEL, true, inplace=False),
    "split": lambda true: ox.split(MODEL, true),
    "outline": lambda true: ox.outline(MODEL.clone(), min_nodes=true),
    "strip_weights": lambda true: ox.strip_weights(MODEL.clone(), true),
    "min_elements": lambda true: ox.strip_weights(MODEL.clone(), min_elements=true),
    "seeds": lambda true: ox.compare(MODEL, MODEL, seeds=true),
    "rtol": lambda true: ox.compare(MODEL, MODEL, rtol=true),
    "atol": lambda true: ox.compare(MODEL, MODEL, atol=true),
    "rtol of diff": lambda true: ox.diff(MODEL, MODEL, rtol=true),
    "seed of inputs": lambda true: ox.inputs(MODEL, seed=true),
    "seed": lambda true: ox.compare(MODEL, MODEL, seed=true),
    "timeout": lambda true: ox.check(MODEL, timeout=true),
    "limits": lambda true: ox.check(MODEL, limits={"nodes": true}),
    "sizes": lambda true: ox.infer(MODEL, sizes={"N": true}, inplace=False),
    "sizes of cost": lambda true: ox.cost(MODEL, N=true),
    "sizes of simplify": lambda true: ox.simplify(MODEL, sizes={"N": true}, inplace=False),
    "resize": lambda true: ox.resize(MODEL.clone(), {"N": true}),
    "threads": lambda true: ox.Evaluator(MODEL, threads=true),
    "threads of scans": lambda true: ox.scan_many([], threads=true),
    "block": lambda true: ox.quantize(MODEL, "int4", weights_only=True, block=true, inplace=False),
    "budget": lambda true: ox.quantize(MODEL, "int8", inputs=1, budget=true, inplace=False),
    "percentile": lambda true: ox.quantize(MODEL, "int8", inputs=1, method="percentile", percentile=true, inplace=False),
    "inputs": lambda true: ox.quantize(MODEL, "int8", inputs=true, inplace=False),
    "ranges": lambda true: ox.quantize(MODEL, "int8", ranges={"x": (0.0, true)}, inplace=False),
    "threshold": lambda true: MODEL.save("m.onnx", threshold=true),
    "align": lambda true: MODEL.save("m.onnx", weights="external", align=true),
    "max_shard_bytes": lambda true: MODEL.save("m.onnx", weights="external", max_shard_bytes=true),
    "elide_above": lambda true: MODEL.to_text(elide_above=true),
    "opset": lambda true: ox.Model(opset=true),
    "ir_version": lambda true: ox.Model(ir_version=true),
    "set_opset": lambda true: MODEL.clone().set_opset("", true),
    "ir_version of a model": lambda true: setattr(MODEL.clone(), "ir_version", true),
    "schema": lambda true: ox.schema("Relu", true),
    "DType": lambda true: ox.DType(true),
    "dtype": lambda true: ox.Tensor([1.0], true),
    "shape": lambda true: setattr(MODEL.clone().graph["x"], "shape", [true, 2]),
    "replace_input_with": lambda true: (lambda model: model.graph.nodes[0].replace_input_with(true, model.graph["x"]))(MODEL.clone()),
    "outputs": lambda true: (lambda model: model.graph.add("Split", [model.graph["x"]], outputs=true))(MODEL.clone()),
    "since": lambda true: ox.rule(lambda op, x: (op.Neg(op.Neg(x)), x), name="r", since=true),
    "a float": lambda true: ox.ops.Elu(MODEL.clone().graph, 1.0, alpha=true),
    "floats": lambda true: ox.ops.Upsample(ox.Model(opset=7).graph, 1.0, scales=[true, 1.0]),
    "integers": lambda true: ox.ops.Transpose(MODEL.clone().graph, 1.0, perm=[true, 0]),
    "floats of a custom operator": lambda true: with_custom([true, 1.5]),
    "integers of a custom operator": lambda true: with_custom([true, 2]),
}


@pytest.mark.parametrize("true", [True, numpy.True_])
@pytest.mark.parametrize("name", CALLS)
def test_truth_values_are_no_numbers(name, true, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ox.ArgumentError)):
        CALLS[name](true)
    assert not list(tmp_path.iterdir())


def test_truth_values_are_the_integers_of_flags():
    for true in (True, numpy.True_):
        value = ox.ops.ReduceSum(MODEL.clone().graph, 1.0, keepdims=true)
        assert value.producer().attrs["keepdims"] == 1
        assert with_custom(true) == 1


FLAGS = {
    "full": lambda one: ox.check(MODEL, full=one),
    "inplace": lambda one: ox.infer(MODEL.clone(), inplace=one),
    "prove": lambda one: ox.simplify(MODEL, prove=one, inplace=False),
    "weights": lambda one: ox.diff(MODEL, MODEL, weights=one),
    "bodies": lambda one: ox.inline(MODEL.clone(), bodies=one),
    "everything": lambda one: ox.strip_weights(MODEL.clone(), everything=one),
    "only_valid": lambda one: ox.reduce(MODEL, lambda model: True, only_valid=one),
    "inner": lambda one: ox.compare(MODEL, MODEL, inner=one),
    "keep_io": lambda one: ox.half(MODEL, keep_io=one, inplace=False),
    "run": lambda one: ox.half(MODEL, run=one, inplace=False),
    "symmetric": lambda one: ox.quantize(MODEL, "int8", weights_only=True, symmetric=one, inplace=False),
    "repeat": lambda one: ox.run_passes(MODEL, [], repeat=one, inplace=False),
    "ordered": lambda one: ox.scan_iter([], ordered=one),
}


@pytest.mark.parametrize("name", FLAGS)
def test_numbers_are_no_truth_values(name):
    for one in (1, 0, "no", None):
        with pytest.raises((TypeError, ox.ArgumentError)):
            FLAGS[name](one)


def test_refused_nodes_leave_nothing():
    model = MODEL.clone()
    before, values = bytes(model), len(model.graph.values)
    for call in (
        lambda: ox.ops.Relu(model.graph, 1.0, slope=1.0),
        lambda: ox.ops.Relu(model.graph, 1.0, 2.0),
        lambda: ox.ops.Elu(model.graph, 1.0, alpha=1e300),
        lambda: ox.ops.Cast(model.graph, 1.0),
        lambda: model.graph.add("Add", [model.graph["x"], ox.Tensor([1.0]), "x"]),
    ):
        with pytest.raises((TypeError, ox.ArgumentError)):
            call()
        assert (bytes(model), len(model.graph.values)) == (before, values)
    node = model.graph.add("Add", [model.graph["x"], ox.Tensor([1.0])])
    assert node.inputs[1].const_value.tolist() == [1.0] and len(model.graph.values) == values + 2


def test_inputs_and_outputs_have_names():
    model = MODEL.clone()
    node = model.graph.add("Neg", [model.graph["x"]])
    node.outputs[0].name = ""
    for edit in (
        lambda: setattr(model.graph["x"], "name", ""),
        lambda: setattr(model.graph["y"], "name", ""),
        lambda: model.graph.add_input(""),
        lambda: model.graph.add_output(node.outputs[0]),
        lambda: setattr(model.graph, "outputs", [node.outputs[0]]),
        lambda: setattr(model.graph, "inputs", [model.graph["x"], node.outputs[0]]),
    ):
        with pytest.raises(ox.EditError):
            edit()
        assert ox.hash(model).model == ox.hash(bytes(model)).model


def test_threads_that_the_system_refuses_are_a_memory_error(monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(concurrent.futures.ThreadPoolExecutor, "submit", refused)
    with pytest.raises(MemoryError, match="7 threads cannot be started"):
        ox.scan_many(["none.onnx"], threads=7)
