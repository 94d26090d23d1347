"""Measures the package, onnx and onnx-ir in one run: `cargo xtask python --bench`.

Prints a table of the best of several runs, in milliseconds for whole models and in nanoseconds for a node.
"""

from __future__ import annotations

import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir

import onnxkit as ox

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = 20_000


def chain(nodes: int) -> ox.Model:
    """A model whose operators alternate, with an `Identity` as every fourth node."""
    model = ox.Model()
    graph = model.graph
    last = first = graph.add_input("x", "float[N]")
    for index in range(nodes):
        op = ("Relu", "Identity", "Add", "Neg")[index % 4]
        inputs = [last, first] if op == "Add" else [last]
        last = graph.add(op, inputs, name=f"n{index}").outputs[0]
    last.type = "float[N]"
    graph.add_output(last)
    return model


def best(work: Callable[[Any], object], make: Callable[[], Any] = lambda: None, runs: int = 5) -> float:
    """The best time of some runs, in seconds. What `make` gives is not measured."""
    times = []
    for _ in range(runs):
        given = make()
        gc.collect()
        start = time.perf_counter()
        work(given)
        times.append(time.perf_counter() - start)
    return min(times)


def started(module: str) -> float:
    """The time of an interpreter that imports a module, without that of an empty one, in seconds of CPU."""

    def cpu(code: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        return (after.children_user + after.children_system) - (before.children_user + before.children_system)

    return min(cpu(f"import {module}") for _ in range(7)) - min(cpu("pass") for _ in range(7))


def operators(nodes: Any) -> None:
    """Reads the operator of each node."""
    for node in nodes:
        node.op_type == "Relu"  # noqa: B015


def producers(nodes: Any) -> None:
    """Asks for the producers of all inputs."""
    for node in nodes:
        for value in node.inputs:
            value.producer()


def no_identities(nodes: Any) -> None:
    """The pass that removes identities."""
    for node in nodes:
        if node.op_type == "Identity" and not node.outputs[0].is_graph_output():
            node.outputs[0].replace_all_uses_with(node.inputs[0])
            node.graph.remove(node)


def insert_ours(model: ox.Model) -> None:
    """Inserts a node before each and erases it."""
    for node in model.nodes():
        new = node.graph.add("Neg", [node.inputs[0]], before=node)
        node.graph.remove(new)


def insert_theirs(model: Any) -> None:
    """The same in onnx-ir."""
    for node in list(model.graph):
        new = onnx_ir.Node("", "Neg", [node.inputs[0]])
        node.graph.insert_before(node, new)
        node.graph.remove(new, safe=True)


def main() -> None:
    """Prints the table."""
    model = chain(NODES)
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "chain.onnx")
        model.save(path)
        proto = onnx.load(path)

        def ir_of_file(_: Any = None) -> Any:
            return onnx_ir.load(path)

        theirs = ir_of_file()
        ms, ns = 1e3, 1e9 / NODES
        rows: list[tuple[str, str, float, float | None, float | None]] = [
            ("import", "ms", started("onnxkit") * ms, started("onnx") * ms, started("onnx_ir") * ms),
            ("load", "ms", best(lambda _: ox.load(path)) * ms, best(lambda _: onnx.load(path)) * ms, best(ir_of_file) * ms),
            (
                "save", "ms", best(lambda _: model.save(path)) * ms, best(lambda _: onnx.save(proto, path)) * ms,
                best(lambda _: onnx_ir.save(theirs, path)) * ms,
            ),
            (
                "clone", "ms", best(lambda _: model.clone()) * ms, best(lambda _: onnx.ModelProto().CopyFrom(proto)) * ms,
                best(lambda _: theirs.clone()) * ms if hasattr(theirs, "clone") else None,
            ),
            (
                "clone and edit", "ms", best(lambda _: setattr(model.clone().graph, "name", "g")) * ms, None, None,
            ),
            (
                "operators, per node", "ns", best(lambda _: operators(model.nodes())) * ns,
                best(lambda _: operators(proto.graph.node)) * ns, best(lambda _: operators(theirs.graph)) * ns,
            ),
            (
                "producers, per node", "ns", best(lambda _: producers(model.nodes())) * ns, None,
                best(lambda _: producers(theirs.graph)) * ns,
            ),
            (
                "insert and erase, per node", "ns", best(insert_ours, model.clone) * ns, None,
                best(insert_theirs, ir_of_file) * ns,
            ),
            (
                "remove identities, per node", "ns", best(lambda m: no_identities(m.nodes()), model.clone) * ns, None,
                best(lambda m: no_identities(list(m.graph)), ir_of_file, 3) * ns,
            ),
            (
                "check", "ms", best(lambda _: ox.check(model)) * ms, best(lambda _: onnx.checker.check_model(proto)) * ms,
                None,
            ),
            (
                "infer", "ms", best(lambda _: ox.infer(model, inplace=False)) * ms,
                best(lambda _: onnx.shape_inference.infer_shapes(proto), runs=3) * ms, None,
            ),
            ("simplify", "ms", best(ox.simplify, model.clone, 2) * ms, None, None),
        ]
    print("| 20,000 nodes | unit | onnxkit | onnx | onnx-ir |\n|---|---|---|---|---|")
    for name, unit, *times in rows:
        shown = " | ".join("–" if value is None else f"{value:,.2f}" if value < 10 else f"{value:,.0f}" for value in times)
        print(f"| {name} | {unit} | {shown} |")


if __name__ == "__main__":
    main()
