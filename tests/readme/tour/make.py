"""Writes the model of the tour in README.md: `python make.py` with the packages onnx and numpy, in this folder.

A transformer of two layers as exporters write them: sizes computed by nodes, normalization and Gelu as their arithmetic
(Gelu in a function), a fixed batch, weights in a second file, and two nodes in the wrong order.
"""

import numpy as np
from onnx import TensorProto, helper as h, numpy_helper, save_model

HIDDEN, HEADS, INNER, TOKENS, POSITIONS, LABELS = 32, 4, 64, 60, 40, 3
random = np.random.default_rng(20)
nodes, weights = [], []


def weight(name, *shape, center=0.0, spread=0.2):
    array = (center + spread * random.standard_normal(shape)).astype(np.float32)
    weights.append(numpy_helper.from_array(array, name))
    return name


def constant(name, values, kind=np.int64):
    weights.append(numpy_helper.from_array(np.array(values, kind), name))
    return name


def node(op, inputs, output, domain="", **attributes):
    nodes.append(h.make_node(op, inputs, [output], name=f"{output}/{op}", domain=domain, **attributes))
    return output


def normalized(x, at):
    mean = node("ReduceMean", [x], f"{at}/mean", axes=[-1])
    centered = node("Sub", [x, mean], f"{at}/centered")
    square = node("Pow", [centered, "two"], f"{at}/square")
    variance = node("ReduceMean", [square], f"{at}/variance", axes=[-1])
    deviation = node("Sqrt", [node("Add", [variance, "epsilon"], f"{at}/shifted")], f"{at}/deviation")
    scaled = node("Div", [centered, deviation], f"{at}/scaled")
    product = node("Mul", [scaled, weight(f"{at}.weight", HIDDEN, center=1.0)], f"{at}/product")
    return node("Add", [product, weight(f"{at}.bias", HIDDEN)], f"{at}/out")


def linear(x, at, rows, columns):
    product = node("MatMul", [x, weight(f"{at}.weight", rows, columns)], f"{at}/product")
    return node("Add", [weight(f"{at}.bias", columns), product], f"{at}/out")


def size(x, axis, at):
    shape = node("Shape", [x], f"{at}/shape")
    return node("Unsqueeze", [node("Gather", [shape, f"index_{axis}"], f"{at}/size"), "axis_0"], f"{at}/entry")


def reshaped(x, like, entries, at):
    batch, sequence = size(like, 0, f"{at}/batch"), size(like, 1, f"{at}/sequence")
    return node("Reshape", [x, node("Concat", [batch, sequence, *entries], f"{at}/target", axis=0)], f"{at}/out")


def heads(x, at, perm):
    parts = reshaped(x, x, ["heads", "head_size"], at)
    return node("Transpose", [parts], f"{at}/transposed", perm=perm)


def layer(x, bias, at):
    query = heads(linear(x, f"{at}/query", HIDDEN, HIDDEN), f"{at}/query/heads", [0, 2, 1, 3])
    key = heads(linear(x, f"{at}/key", HIDDEN, HIDDEN), f"{at}/key/heads", [0, 2, 3, 1])
    value = heads(linear(x, f"{at}/value", HIDDEN, HIDDEN), f"{at}/value/heads", [0, 2, 1, 3])
    scores = node("Div", [node("MatMul", [query, key], f"{at}/products"), "root"], f"{at}/scores")
    shares = node("Softmax", [node("Add", [scores, bias], f"{at}/masked")], f"{at}/shares", axis=-1)
    context = node("Transpose", [node("MatMul", [shares, value], f"{at}/context")], f"{at}/joined", perm=[0, 2, 1, 3])
    attention = linear(reshaped(context, x, ["hidden"], f"{at}/attention"), f"{at}/dense", HIDDEN, HIDDEN)
    inner = normalized(node("Add", [attention, x], f"{at}/residual"), f"{at}/norm1")
    active = node("Gelu", [linear(inner, f"{at}/up", HIDDEN, INNER)], f"{at}/gelu", domain="com.example")
    result = linear(active, f"{at}/down", INNER, HIDDEN)
    last = normalized(node("Add", [result, inner], f"{at}/residual2"), f"{at}/norm2")
    return node("Identity", [last], f"{at}/out")


def gelu():
    body = [
        h.make_node("Constant", [], ["root"], value_float=float(np.sqrt(2))),
        h.make_node("Constant", [], ["one"], value_float=1.0),
        h.make_node("Constant", [], ["half"], value_float=0.5),
        h.make_node("Div", ["x", "root"], ["scaled"]),
        h.make_node("Erf", ["scaled"], ["erf"]),
        h.make_node("Add", ["erf", "one"], ["sum"]),
        h.make_node("Mul", ["x", "sum"], ["product"]),
        h.make_node("Mul", ["product", "half"], ["y"]),
    ]
    return h.make_function("com.example", "Gelu", ["x"], ["y"], body, [h.make_opsetid("", 17)])


def main():
    constant("two", 2.0, np.float32)
    constant("epsilon", 1e-5, np.float32)
    constant("one", 1.0, np.float32)
    constant("masked", -10000.0, np.float32)
    constant("root", np.sqrt(HIDDEN / HEADS), np.float32)
    for name, values in [
        ("index_0", 0), ("index_1", 1), ("axis_0", [0]), ("axes_12", [1, 2]), ("zero", 0), ("step", 1),
        ("heads", [HEADS]), ("head_size", [HIDDEN // HEADS]), ("hidden", [HIDDEN]),
    ]:
        constant(name, values)
    words = node("Gather", [weight("embeddings.word", TOKENS, HIDDEN), "ids"], "/embeddings/word")
    length = node("Gather", [node("Shape", ["ids"], "/embeddings/shape"), "index_1"], "/embeddings/length")
    position = node("Range", ["zero", length, "step"], "/embeddings/position")
    place = node("Gather", [weight("embeddings.position", POSITIONS, HIDDEN), position], "/embeddings/place")
    x = normalized(node("Add", [words, place], "/embeddings/sum"), "/embeddings/norm")
    mask = node("Cast", [node("Unsqueeze", ["mask", "axes_12"], "/mask/axes")], "/mask/float", to=TensorProto.FLOAT)
    bias = node("Mul", [node("Sub", ["one", mask], "/mask/inverse"), "masked"], "/mask/bias")
    for index in range(2):
        x = layer(x, bias, f"/layer.{index}")
    first = node("Gather", [x, "index_0"], "/pooler/first", axis=1)
    pooled = node("Tanh", [linear(first, "/pooler", HIDDEN, HIDDEN)], "/pooler/tanh")
    product = node("MatMul", [pooled, weight("classifier.weight", HIDDEN, LABELS)], "/classifier/product")
    node("Add", [product, weight("classifier.bias", LABELS)], "logits")
    at = next(index for index, made in enumerate(nodes) if made.output[0] == "/layer.1/down/product")
    nodes[at], nodes[at + 1] = nodes[at + 1], nodes[at]
    inputs = [h.make_tensor_value_info(name, TensorProto.INT64, [1, "sequence"]) for name in ["ids", "mask"]]
    outputs = [h.make_tensor_value_info("logits", TensorProto.FLOAT, [1, LABELS])]
    graph = h.make_graph(nodes, "main_graph", inputs, outputs, weights)
    model = h.make_model(
        graph, functions=[gelu()], ir_version=8, producer_name="example",
        opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.example", 1)],
    )
    save_model(model, "bert.onnx", save_as_external_data=True, location="bert.data", size_threshold=256)


main()
