"""Replaces the nodes between named values by one `Clip`, as example 8 of onnx-graphsurgeon does.

`python replace_with_clip.py IN OUT`
"""

import sys

import onnxkit as ox


def replace_with_clip(model: ox.Model, source: str, least: str, greatest: str, result: str) -> None:
    """Makes `result` the `Clip` of `source`, and removes what was between them."""
    graph = model.graph
    old = graph[result]
    clip = ox.ops.Clip(graph, graph[source], graph[least], graph[greatest], _before=old.producer())
    old.replace_all_uses_with(clip)
    model.cleanup()


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    replace_with_clip(loaded, "identity_out_0", "onnx_graphsurgeon_constant_5", "onnx_graphsurgeon_constant_2", "max_out_6")
    loaded.save(sys.argv[2])
