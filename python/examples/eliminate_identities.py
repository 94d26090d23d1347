"""Removes `Identity` nodes from all graphs and functions, with the rules of the pass of onnx-ir.

`python eliminate_identities.py IN OUT`
"""

import sys

import onnxkit as ox


def eliminate_identities(model: ox.Model) -> int:
    """Removes the nodes, and returns how many. One between an input and an output stays: both names are known to callers."""
    count = 0
    for body in (model.graph, *model.functions):
        for graph in (body, *body.subgraphs()):
            for node in graph:
                if node.op_type != "Identity" or node.domain:
                    continue
                source, result = node.inputs[0], node.outputs[0]
                if result.is_graph_output() and (source.producer() is None or source.is_graph_output()):
                    continue
                result.replace_all_uses_with(source)
                graph.remove(node)
                count += 1
    return count


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    print(eliminate_identities(loaded), "nodes removed")
    loaded.save(sys.argv[2])
