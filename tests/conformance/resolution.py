"""Records which operator set version the reference uses for a node: `python resolution.py > tests/tests/workspace/resolution_cases.txt`.

Each line has the IR version, where the node is (`graph`, or `body` of a function), the imports of that scope in their order,
the form of `Reshape` (`attribute` until version 4, `operand` since version 5), whether the reference's checker accepts the
model, and whether its inference finds the shape.
"""

import itertools

import onnx
from onnx import TensorProto, helper

IMPORTS = [("", 4), ("", 6), ("ai.onnx", 4), ("ai.onnx", 6), ("d", 1)]


def node(form):
    if form == "attribute":
        return helper.make_node("Reshape", ["x"], ["y"], shape=[3, 2])
    return helper.make_node("Reshape", ["x", "s"], ["y"])


def model(place, ir_version, imports, form):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])
    s = helper.make_tensor("s", TensorProto.INT64, [2], [3, 2])
    opsets = [helper.make_opsetid(domain, version) for domain, version in imports]
    if place == "graph":
        graph = helper.make_graph([node(form)], "g", [x], [y], [s])
        result = helper.make_model(graph, ir_version=ir_version)
        del result.opset_import[:]
        result.opset_import.extend(opsets)
        if ir_version < 4:
            graph = result.graph
            graph.input.append(helper.make_tensor_value_info("s", TensorProto.INT64, [2]))
        return result
    body = helper.make_function("d", "F", ["x", "s"], ["y"], [node(form)], opsets)
    graph = helper.make_graph([helper.make_node("F", ["x", "s"], ["y"], domain="d")], "g", [x], [y], [s])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("d", 1)]
    return helper.make_model(graph, functions=[body], opset_imports=opsets, ir_version=ir_version)


def verdict(proto):
    try:
        onnx.checker.check_model(proto)
        accepted = "accepted"
    except Exception:
        accepted = "refused"
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True)
        shape = inferred.graph.output[0].type.tensor_type
        dims = [dim.dim_value for dim in shape.shape.dim]
        return accepted, "known" if dims == [3, 2] else "unknown"
    except Exception:
        return accepted, "error"


for place, ir_version in [("graph", 8), ("graph", 2), ("body", 8)]:
    for count in range(4):
        for imports in itertools.product(IMPORTS, repeat=count):
            if len({*imports}) < count or (count == 3 and ("d", 1) not in imports):
                continue
            for form in ("attribute", "operand"):
                accepted, shape = verdict(model(place, ir_version, imports, form))
                written = ",".join(f"{domain or '-'}:{version}" for domain, version in imports) or "none"
                print(ir_version, place, written, form, accepted, shape)
