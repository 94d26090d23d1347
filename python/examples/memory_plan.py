"""Plans the memory of activations: `python memory_plan.py MODEL SIZE=NUMBER ...`.

A value lives from the node that makes it to the last node that uses it. Each gets the least offset at which no living value is in
the way.
"""

import math
import sys
from typing import NamedTuple

import onnxkit as ox


class Plan(NamedTuple):
    """Places of values, and the bytes of all."""

    places: dict[ox.Value, tuple[int, int]]
    bytes: int
    peak: int
    unknown: list[str]


def last_uses(model: ox.Model) -> dict[ox.Value, int]:
    """The index of the last node of the main graph that needs each value, those of its nested graphs included."""
    last: dict[ox.Value, int] = {}
    for index, node in enumerate(model.graph):
        nested = [inner for graph in node.attrs.values() if isinstance(graph, ox.Graph) for inner in (graph, *graph.subgraphs())]
        for user in (node, *(inner for graph in nested for inner in graph)):
            for value in user.inputs:
                if value is not None:
                    last[value] = index
        for graph in nested:
            for value in graph.outputs:
                last[value] = index
    for value in model.graph.outputs:
        last[value] = sys.maxsize
    return last


def plan(model: ox.Model, **sizes: int) -> Plan:
    """The plan of the main graph for sizes of its dimension variables."""
    inference = ox.infer(model, sizes=sizes, inplace=False)
    last = last_uses(model)
    places: dict[ox.Value, tuple[int, int]] = {}
    living: list[tuple[int, int, ox.Value]] = []
    unknown, peak = [], 0
    for index, node in enumerate(model.graph):
        for value in node.outputs:
            if value is None:
                continue
            shape, dtype = inference.shape(value), inference.dtype(value)
            if shape is None or dtype is None or dtype.bits is None or not all(isinstance(size, int) for size in shape):
                unknown.append(value.name)
                continue
            count = -(-dtype.bits // 8)
            count *= math.prod(size for size in shape if isinstance(size, int))
            offset = 0
            for begin, end, _ in sorted(living, key=lambda entry: entry[:2]):
                if begin >= offset + count:
                    break
                offset = max(offset, end)
            places[value] = offset, count
            living.append((offset, offset + count, value))
        peak = max(peak, sum(end - begin for begin, end, _ in living))
        living = [entry for entry in living if last.get(entry[2], index) > index]
    return Plan(places, max((offset + count for offset, count in places.values()), default=0), peak, unknown)


if __name__ == "__main__":
    given = {name: int(number) for name, number in (argument.split("=") for argument in sys.argv[2:])}
    made = plan(ox.load(sys.argv[1]), **given)
    print(f"{len(made.places)} values take {made.bytes} bytes, {made.peak} of them at one time; {len(made.unknown)} of unknown size")
