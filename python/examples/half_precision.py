"""Converts a model to half precision: `python half_precision.py IN OUT`.

Only `Cast` nodes are inserted, around each node that takes `float16` wherever it takes `float`; the casts of weights are then
computed. The inputs and outputs of the model stay as they are.
"""

import sys

import onnxkit as ox

KEPT = {"Cast", "CastLike", "Constant", "ConstantOfShape", "Range"}


def narrow(node: ox.Node, inference: ox.Inference, opset: int) -> tuple[list[int], list[int]]:
    """The inputs and the outputs of a node that become `float16`."""
    none: tuple[list[int], list[int]] = [], []
    if node.domain or node.op_type in KEPT or any(isinstance(value, ox.Graph) for value in node.attrs.values()):
        return none
    if any(value is not None and inference.dtype(value) is None for value in node.inputs):
        return none
    schema = ox.schema(node.op_type, opset)

    def half(values: tuple[ox.Value, ...], formals: list[dict[str, object]]) -> list[int]:
        found = []
        for index, value in enumerate(values):
            types = formals[min(index, len(formals) - 1)]["types"]
            if value is not None and inference.dtype(value) == ox.DType.FLOAT and "tensor(float16)" in types:  # type: ignore[operator]
                found.append(index)
        return found

    inputs, outputs = half(node.inputs, schema.inputs), half(node.outputs, schema.outputs)
    return (inputs, outputs) if inputs and outputs else none


def half_precision(model: ox.Model) -> ox.Model:
    """The model in half precision."""
    model = model.clone()
    ox.inline(model)
    inference = ox.infer(model, inplace=False)
    opset = model.opsets[""]
    plan = [(node, *narrow(node, inference, opset)) for node in model.nodes()]
    # Results that are single again, with the half that each was made of.
    widened: dict[ox.Value, ox.Value] = {}
    for node, inputs, outputs in plan:
        graph = node.graph
        for index in inputs:
            value = node.inputs[index]
            cast = widened.get(value) or ox.ops.Cast(graph, value, to=ox.DType.FLOAT16, _before=node)
            node.replace_input_with(index, cast)
        for index in outputs:
            result = node.outputs[index]
            single = graph.add("Cast", [graph.constant(0.0)], {"to": ox.DType.FLOAT}, after=node)
            # The name, the type and the users of the result are those of the cast.
            result.replace_all_uses_with(single.outputs[0])
            single.replace_input_with(0, result)
            result.type = None
            widened[single.outputs[0]] = result
    ox.run_passes(model, ["no-identities", "folded-constants"])
    # The weights in single precision are not used any more.
    model.cleanup()
    return model


if __name__ == "__main__":
    half_precision(ox.load(sys.argv[1])).save(sys.argv[2])
