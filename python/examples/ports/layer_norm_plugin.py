"""Replaces each layer normalization that an exporter wrote as nine nodes by one node of a plugin, as scripts on
onnx-graphsurgeon do for TensorRT: constants are folded, subgraphs replaced, the batch size fixed, and the rest removed.

`python layer_norm_plugin.py IN OUT`

A rule cannot make the node: what a plugin computes is not known, so that no edit that makes one can be checked. The graph is
edited directly.
"""

import sys
from collections.abc import Iterator

import onnxkit as ox

EPSILON = 1e-12


def is_number(value: ox.Value, number: float) -> bool:
    """Whether a value is a constant of one element that is about a number."""
    tensor = value.const_value
    return tensor is not None and tensor.size == 1 and abs(tensor.tolist()[0] - number) <= 1e-6 * abs(number)


def made_by(node: ox.Node | None, op: str, operand: str) -> Iterator[tuple[ox.Node, ox.Value]]:
    """The operands of a node of two operands in both orders: the node that makes one of them, and the other one."""
    if node is not None and node.op_type == op:
        for this, other in (node.inputs, node.inputs[::-1]):
            maker = this.producer()
            if maker is not None and maker.op_type == operand:
                yield maker, other


def normalized(last: ox.Node) -> list[ox.Value] | None:
    """The operand, the scale and the bias of the normalization that ends in a node."""
    for mul, bias in made_by(last, "Add", "Mul"):
        for div, scale in made_by(mul, "Mul", "Div"):
            sub, root = (value.producer() for value in div.inputs)
            if sub is None or root is None or (sub.op_type, root.op_type) != ("Sub", "Sqrt"):
                continue
            for variance, epsilon in made_by(root.inputs[0].producer(), "Add", "ReduceMean"):
                mean, power = sub.inputs[1].producer(), variance.inputs[0].producer()
                if mean is None or power is None or (mean.op_type, power.op_type) != ("ReduceMean", "Pow"):
                    continue
                same = mean.inputs[0] == sub.inputs[0] and power.inputs[0] == sub.outputs[0]
                last_axis = mean.attrs.get("axes") == variance.attrs.get("axes") == [-1]
                if same and last_axis and is_number(power.inputs[1], 2.0) and is_number(epsilon, EPSILON):
                    return [sub.inputs[0], scale, bias]
    return None


def use_plugin(model: ox.Model) -> int:
    """Replaces the normalizations of the main graph, and returns how many."""
    ox.run_passes(model, ["constants-as-initializers", "no-identities", "folded-constants"])
    model.set_opset("trt.plugins", 1)
    count = 0
    for node in model.graph:
        operands = normalized(node)
        if operands is not None:
            attributes = {"epsilon": EPSILON}
            plugin = model.graph.add("LayerNormPlugin", operands, attributes, domain="trt.plugins", before=node)
            node.replace_with(plugin.outputs)
            count += 1
    model.cleanup()
    return count


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    print(use_plugin(loaded), "normalizations")
    ox.resize(loaded, {"batch": 2})
    loaded.save(sys.argv[2])
