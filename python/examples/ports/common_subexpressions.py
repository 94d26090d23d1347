"""The pass `CommonSubexpressionEliminationPass` of onnx-ir: of nodes of the main graph with equal operators, operands and
attributes, the first stays.

`python common_subexpressions.py IN OUT`
"""

import sys

import onnxkit as ox

RANDOM = {"RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", "Multinomial"}


def comparable(value: object) -> object:
    """What equal values of attributes have in common. As text, `1`, `1.0`, `0.0` and `-0.0` are different."""
    if isinstance(value, ox.Tensor):
        return value.shape, value.dtype, repr(value.tolist()) if value.nbytes is None else value.tobytes()
    return repr(value)


def same_nodes(node: ox.Node, size_limit: int) -> tuple[object, ...] | None:
    """What nodes that compute the same have in common; nothing for a node that stays."""
    values = node.attrs.values()
    if node.domain == "" and node.op_type in RANDOM or any(isinstance(value, ox.Graph) for value in values):
        return None
    if any(isinstance(value, ox.Tensor) and (value.size or 0) > size_limit for value in values):
        return None
    attributes = tuple((name, comparable(value)) for name, value in sorted(node.attrs.items()))
    outputs = tuple(value is None for value in node.outputs)
    return node.domain, node.op_type, node.overload, outputs, node.inputs, attributes


def eliminate(model: ox.Model, size_limit: int = 10) -> int:
    """Merges nodes in place, and returns how many were erased. Outputs of the model keep their names."""
    first: dict[object, ox.Node] = {}
    count = 0
    for node in model.graph:
        found = same_nodes(node, size_limit)
        known = node if found is None else first.setdefault(found, node)
        if known != node:
            node.replace_with(known.outputs)
            count += 1
    return count


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    print(eliminate(loaded), "nodes erased")
    loaded.save(sys.argv[2])
