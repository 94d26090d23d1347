"""Passes that optimizers have: equal subexpressions, `BatchNormalization` behind `Conv`, `LayerNormalization`, extraction, and
functions of repeated blocks. The first three are proved edit by edit.

`python five_passes.py IN OUT`
"""

import sys
from collections.abc import Iterator

import numpy as np

import onnxkit as ox


MOST_ELEMENTS = 64
"""Larger constants are not compared."""


def comparable(value: object) -> str:
    """Text that is the same for the same values of an attribute only."""
    if isinstance(value, ox.Tensor):
        return f"{value!r} {value.tolist() if value.dtype == ox.DType.STRING else value.tobytes()!r}"
    return repr(value)


@ox.pass_("one-of-equal-nodes")
def one_of_equal_nodes(cx: ox.PassContext) -> None:
    """Of nodes with the same operator, operands and attributes in one graph, the first stays."""
    seen: dict[object, ox.Node] = {}
    random = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}
    for node in cx.nodes():
        if node.op_type in random or len(node.outputs) != 1 or any(isinstance(value, ox.Graph) for value in node.attrs.values()):
            continue
        if any(isinstance(value, ox.Tensor) and (value.size or 0) > MOST_ELEMENTS for value in node.attrs.values()):
            continue
        attributes = tuple(sorted((name, comparable(value)) for name, value in node.attrs.items()))
        first = seen.setdefault((node.graph, node.domain, node.op_type, node.inputs, attributes), node)
        if first != node:
            with cx.patch(node, first) as p:
                p.replace(node.outputs[0], first.outputs[0])


@ox.pass_("conv-with-statistics", exactness="rounding")
def conv_with_statistics(cx: ox.PassContext) -> None:
    """`BatchNormalization` of a `Conv` with constant weights becomes part of these."""
    for norm in cx.nodes("BatchNormalization"):
        conv = norm.inputs[0].producer()
        if conv is None or conv.op_type != "Conv" or len(conv.outputs[0].uses()) != 1 or norm.attrs.get("training_mode", 0):
            continue
        with cx.patch(conv, norm) as p:
            operands = [p.constant_of(value) for value in (conv.inputs[1], *norm.inputs[1:5])]
            bias = p.constant_of(conv.inputs[2]) if len(conv.inputs) > 2 else None
            if any(operand is None for operand in operands) or (len(conv.inputs) > 2 and bias is None):
                continue
            weight, gamma, beta, mean, variance = (np.asarray(operand, dtype=np.float64) for operand in operands)
            factor = gamma / np.sqrt(variance + norm.attrs.get("epsilon", 1e-5))
            old = 0.0 if bias is None else np.asarray(bias, dtype=np.float64)
            w = p.constant((weight * factor.reshape(-1, *[1] * (weight.ndim - 1))).astype(np.float32))
            b = p.constant(((old - mean) * factor + beta).astype(np.float32))
            p.tap(conv.inputs[0])
            p.replace(norm.outputs[0], p.add("Conv", [conv.inputs[0], w, b], dict(conv.attrs.items())))


def operands_of(node: ox.Node | None, op: str) -> tuple[ox.Value, ...] | None:
    """The operands of a node, if it has this operator."""
    return node.inputs if node is not None and node.op_type == op else None


@ox.pass_("layer-normalization", exactness="rounding")
def layer_normalization(cx: ox.PassContext) -> None:
    """`(x - mean) / sqrt(mean((x - mean)²) + epsilon)` is `LayerNormalization` with a scale of ones, since version 17."""
    if cx.model.opsets.get("", 0) < 17:
        return
    for node in cx.nodes("Div"):
        root = node.inputs[1].producer()
        under = operands_of(root, "Sqrt")
        add = operands_of(under[0].producer(), "Add") if under else None
        square = operands_of(add[0].producer(), "ReduceMean") if add else None
        power = operands_of(square[0].producer(), "Pow") if square else None
        centered = node.inputs[0].producer()
        parts = operands_of(centered, "Sub")
        mean = operands_of(parts[1].producer(), "ReduceMean") if parts else None
        if not (under and add and square and power and parts and mean):
            continue
        if power[0] != node.inputs[0] or mean[0] != parts[0]:
            continue
        with cx.patch(*reversed([node, *producers(node, stop=parts[0])])) as p:
            epsilon, exponent, shape = p.constant_of(add[1]), p.constant_of(power[1]), p.shape(parts[0])
            if epsilon is None or epsilon.size != 1 or not shape or not isinstance(shape[-1], int):
                continue
            if exponent is None or exponent.tolist() not in (2, [2]):
                continue
            if any(reduced_axes(p, value.producer()) not in ([-1], [len(shape) - 1]) for value in (add[0], parts[1])):
                continue
            p.tap(parts[0])
            scale = p.constant(np.ones(shape[-1], dtype=np.float32))
            attributes = {"axis": -1, "epsilon": float(epsilon.tolist()[0])}
            p.replace(node.outputs[0], p.add("LayerNormalization", [parts[0], scale], attributes))


def reduced_axes(p: ox.Patch, node: ox.Node | None) -> list[int] | None:
    """The axes of a reduction: an attribute before version 18 of the operator set, an operand since then."""
    if node is None or len(node.inputs) < 2:
        return node.attrs.get("axes") if node is not None else None
    axes = p.constant_of(node.inputs[1])
    return None if axes is None else axes.tolist()


def producers(node: ox.Node, stop: ox.Value) -> Iterator[ox.Node]:
    """The nodes between a value and a node, the last one first."""
    seen, waiting = set(), [node]
    while waiting:
        for value in waiting.pop().inputs:
            maker = None if value is None or value == stop else value.producer()
            if maker is not None and maker not in seen:
                seen.add(maker)
                waiting.append(maker)
                yield maker


def first_half(model: ox.Model) -> ox.Model:
    """The first half of a model, as a model."""
    nodes = model.graph.nodes
    return ox.extract(model, None, [nodes[len(nodes) // 2].outputs[0]])


def outlined_and_back(model: ox.Model) -> tuple[int, int]:
    """Makes functions of repeated blocks, and inlines them."""
    blocks = ox.outline(model, min_nodes=8)
    return blocks, ox.inline(model)


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    print(ox.run_passes(loaded, [one_of_equal_nodes, conv_with_statistics, layer_normalization, "no-dead-nodes"], prove=True))
    loaded.save(sys.argv[2])
