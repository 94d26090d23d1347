"""Writes `runtime_results.jsonl`: models of operators with quantized numbers, and what onnxruntime makes of them, without its optimizations.

    python runtime_results.py ONNX > runtime_results.jsonl

ONNX is the command of this project, which writes the models as text.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort
from onnx import helper, numpy_helper, save

TYPES = {"uint8": (2, np.uint8, 0, 255), "int8": (3, np.int8, -128, 127)}
rng = np.random.default_rng(7)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def codes(elem, shape):
    _, kind, low, high = TYPES[elem]
    return np.asarray(rng.integers(low, high, shape, endpoint=True)).astype(kind)


def rounded(array):
    """Numbers with a short text."""
    return np.round(np.asarray(array, "float64") * 64).astype("float32") / 64


def write(name, nodes, inputs, outputs, constants, tolerance):
    feeds = dict(inputs)
    kinds = {np.dtype("float32"): 1, np.dtype("uint8"): 2, np.dtype("int8"): 3}
    ins = [helper.make_tensor_value_info(name, kinds[array.dtype], array.shape) for name, array in feeds.items()]
    outs = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs]
    graph = helper.make_graph(nodes, "g", ins, outs, constants)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    with tempfile.TemporaryDirectory() as folder:
        model, text = pathlib.Path(folder, "m.onnx"), pathlib.Path(folder, "m.onnxtxt")
        save(helper.make_model(graph, opset_imports=imports, ir_version=8), model)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        made = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)
        subprocess.run([sys.argv[1], "convert", model, "-o", text, "-q"], check=True)
        given = {name: [str(array.dtype), list(array.shape), array.ravel().tolist()] for name, array in feeds.items()}
        results = [np.asarray(array, "float64").ravel().tolist() for array in made]
        print(json.dumps({"name": name, "model": text.read_text(), "inputs": given, "outputs": results, "tolerance": tolerance}))


def linear(elem):
    kind, dtype, low, high = TYPES[elem]
    shapes = [((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((2, 2, 3), (2, 1))]
    zeros = [(low, high, low), (high, low, high), (low + 7, low + 100, low + 50)]
    for (op, (a, b), index) in itertools.product(("Add", "Mul"), shapes, range(3)):
        zero = [dtype(number) for number in zeros[index]]
        scales = [0.02, 0.03, 0.05]
        constants = [constant(f"s{i}", np.float32(scale)) for i, scale in enumerate(scales)]
        constants += [constant(f"z{i}", number) for i, number in enumerate(zero)]
        inputs, nodes = {}, []
        for i, shape in enumerate((a, b)):
            if index == i + 1:
                constants.append(constant(f"q{i}", codes(elem, shape)))
                continue
            inputs[f"x{i}"] = rounded((codes(elem, shape).astype(float) - float(zero[i])) * scales[i])
            nodes.append(helper.make_node("QuantizeLinear", [f"x{i}", f"s{i}", f"z{i}"], [f"q{i}"]))
        names = ["q0", "s0", "z0", "q1", "s1", "z1", "s2", "z2"]
        nodes.append(helper.make_node(f"QLinear{op}", names, ["q2"], domain="com.microsoft"))
        nodes.append(helper.make_node("DequantizeLinear", ["q2", "s2", "z2"], ["y"]))
        # Half a step of each operand, of the result, and of the other operand for products.
        size = max(abs(float(low) - float(zero[1])), abs(float(high) - float(zero[1]))) * 0.03
        tolerance = 0.026 + 0.025 if op == "Add" else 0.026 + 0.01 * size + 0.015 * 255 * 0.02
        write(f"QLinear{op} {elem} {a} {b} {index}", nodes, inputs, [("y", 1, np.broadcast_shapes(a, b))], constants, tolerance)


def unary(elem):
    _, dtype, low, high = TYPES[elem]
    for op, zero in (("Sigmoid", low), ("Sigmoid", high), ("LeakyRelu", low), ("LeakyRelu", high), ("LeakyRelu", low + 60)):
        scale, out = 0.05, low if op == "Sigmoid" else zero
        step = 1 / 256 if op == "Sigmoid" else 0.05
        constants = [constant("sx", np.float32(scale)), constant("zx", dtype(zero)), constant("sy", np.float32(step)), constant("zy", dtype(out))]
        x = rounded((codes(elem, (2, 4)).astype(float) - float(zero)) * scale)
        attributes = {"alpha": 0.25} if op == "LeakyRelu" else {}
        nodes = [
            helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
            helper.make_node(f"QLinear{op}", ["q", "sx", "zx", "sy", "zy"], ["r"], domain="com.microsoft", **attributes),
            helper.make_node("DequantizeLinear", ["r", "sy", "zy"], ["y"]),
        ]
        write(f"QLinear{op} {elem} {zero}", nodes, {"x": x}, [("y", 1, (2, 4))], constants, step * 0.51 + scale * 0.51)


def product(elem):
    kind, dtype, low, high = TYPES[elem]
    for shape, columns, zero, has_bias in itertools.product(((2, 4), (1, 2, 4)), (False, True), (None, low, high), (False, True)):
        weight = codes(elem, (4, 3))
        scale = rounded(rng.random(3) + 0.1) if columns else np.float32(0.015625)
        constants = [constant("w", weight), constant("sw", scale)]
        zeros = 0.0
        if zero is not None:
            zeros = float(zero)
            constants.append(constant("zw", np.full(np.shape(scale), zero, dtype)))
        if has_bias:
            constants.append(constant("b", rounded(rng.standard_normal(3))))
        names = ["x", "w", "sw", "" if zero is None else "zw"] + (["b"] if has_bias else [])
        x = rounded(rng.standard_normal(shape))
        step = (max(x.max(), 0) - min(x.min(), 0)) / 255
        tolerance = float(step * np.abs((weight - zeros) * scale).sum(0).max() * 0.6 + 1e-4)
        nodes = [helper.make_node("DynamicQuantizeMatMul", names, ["y"], domain="com.microsoft")]
        name = f"DynamicQuantizeMatMul {elem} {shape} {columns} {zero} {has_bias}"
        write(name, nodes, {"x": x}, [("y", 1, (*shape[:-1], 3))], constants, tolerance)


def lstm(elem):
    _, dtype, low, high = TYPES[elem]
    for direction, columns, count in itertools.product(("forward", "bidirectional"), (False, True), (0, 2)):
        both, hidden, size = 2 if direction == "bidirectional" else 1, 2, 3
        constants = []
        names = ["x", "w", "r", "", "", "", "", "", "sw", "zw", "sr", "zr"]
        for name, rows in (("w", size), ("r", hidden)):
            numbers = rng.standard_normal((both, rows, 4 * hidden)) * 0.4
            most = np.abs(numbers).max(axis=1) if columns else np.abs(numbers).max(axis=(1, 2))
            scale, zero = rounded(most / 2 + 0.05) / 32, 0 if elem == "int8" else 128
            whole = np.round(numbers / (scale[:, None, :] if columns else scale[:, None, None])) + zero
            constants += [constant(name, np.clip(whole, low, high).astype(dtype)), constant(f"s{name}", scale)]
            constants.append(constant(f"z{name}", np.full(scale.shape, zero, dtype)))
        if count:
            constants.append(constant("b", rounded(rng.standard_normal((both, 8 * hidden)) * 0.1)))
            constants.append(constant("h", rounded(rng.standard_normal((both, 1, hidden)) * 0.3)))
            names[3], names[5], names[6] = "b", "h", "h"
        nodes = [
            helper.make_node(
                "DynamicQuantizeLSTM", names, ["y", "last", "cell"], domain="com.microsoft", hidden_size=hidden, direction=direction
            )
        ]
        outputs = [("y", 1, (2, both, 1, hidden)), ("last", 1, (both, 1, hidden)), ("cell", 1, (both, 1, hidden))]
        x = rounded(rng.standard_normal((2, 1, size)))
        write(f"DynamicQuantizeLSTM {elem} {direction} {columns} {count}", nodes, {"x": x}, outputs, constants, 0.03)


for name in TYPES:
    linear(name)
    unary(name)
    product(name)
    lstm(name)
