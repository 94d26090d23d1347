"""Measures the package, onnx, onnx-ir, onnxslim and onnxsim in one run: `cargo xtask python --bench [MODEL|FOLDER ...]`.

Prints one table of the best of several runs, in milliseconds of processor time for whole models and in nanoseconds for a node.
Every function gets the form of the model that its package works on; what is not offered is empty. A folder stands for the models of
`MODELS` that it has. A loop that edits has a model of its own: a clone shares everything until the first edit, whose cost is in a row
of its own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import io
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir
import onnx_ir.passes.common as ir_passes

import onnxkit as ox

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = 20_000
# Models of exporters: text, images, a detector, a decoder, audio, a classifier of tables.
MODELS = ["bert_base_l17", "resnet50_l17", "ssdlite320_l17", "gpt2_past_l17", "audio_frontend_l17", "sk_rf_zipmap"]
# Packages that simplify; a missing one is stated in the table.
MISSING = [name for name in ("onnxslim", "onnxsim") if importlib.util.find_spec(name) is None]
# An operation that takes longer than this, in seconds, is run once.
LONG = 2.0


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


def best(work: Callable[[Any], object], make: Callable[[], Any] = lambda: None, runs: int = 7) -> float | None:
    """The least time of some runs, in seconds. What `make` gives is not measured. `None` if the work fails."""
    times: list[float] = []
    for _ in range(runs):
        given = make()
        gc.collect()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                start = time.process_time()
                work(given)
                times.append(time.process_time() - start)
        except Exception as error:
            print(f"    {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
            return None
        if times[-1] > LONG:
            break
    return min(times)


def started(module: str) -> float:
    """The time of an interpreter that imports a module, without that of an empty one, in seconds of processor time."""

    def cpu(code: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        return (after.children_user + after.children_system) - (before.children_user + before.children_system)

    return min(cpu(f"import {module}") for _ in range(9)) - min(cpu("pass") for _ in range(9))


def operators(nodes: Any) -> None:
    """Reads the operator of each node."""
    for node in nodes:
        node.op_type == "Relu"  # noqa: B015


def producers(nodes: Any) -> None:
    """Asks for the producers of all inputs."""
    for node in nodes:
        for value in node.inputs:
            if value is not None:
                value.producer()


def replace_ours(model: ox.Model) -> None:
    """Lets the uses of each result be of another value, and back."""
    other = model.graph.inputs[0]
    for node in model.nodes():
        value = node.outputs[0]
        users = value.uses()
        value.replace_all_uses_with(other)
        for user, index in users:
            user.replace_input_with(index, value)


def replace_theirs(model: Any) -> None:
    """The same in onnx-ir."""
    other = model.graph.inputs[0]
    for node in list(model.graph):
        value = node.outputs[0]
        users = tuple(value.uses())
        value.replace_all_uses_with(other, replace_graph_outputs=value.is_graph_output())
        for user, index in users:
            user.replace_input_with(index, value)


def no_identities(nodes: Any) -> None:
    """The pass that removes identities."""
    for node in nodes:
        if node.op_type == "Identity" and not node.outputs[0].is_graph_output():
            node.outputs[0].replace_all_uses_with(node.inputs[0])
            node.graph.remove(node)


def insert_ours(model: ox.Model) -> None:
    """Inserts a node before each and erases it."""
    graph = model.graph
    for node in model.graph:
        inputs = node.inputs
        new = graph.add("Neg", inputs[:1], before=node)
        graph.remove(new)


def insert_theirs(model: Any) -> None:
    """The same in onnx-ir."""
    graph = model.graph
    for node in list(graph):
        new = onnx_ir.Node("", "Neg", node.inputs[:1])
        graph.insert_before(node, new)
        graph.remove(new, safe=True)


def attributes(nodes: Any) -> None:
    """Looks for an attribute of each node."""
    for node in nodes:
        node.attributes.get("axis")


def scaled(scale: float, *times: float | None) -> tuple[float | None, ...]:
    return tuple(None if value is None else value * scale for value in times)


def head() -> None:
    """Prints the head of the table."""
    peers = [f"{name} (not installed)" if name in MISSING else name for name in ("onnx", "onnx-ir", "onnxslim", "onnxsim")]
    print(f"| model | what | unit | onnxkit | {' | '.join(peers)} | best of the others / onnxkit |")
    print("|---|---|---|---|---|---|---|---|---|")


def table(title: str, rows: list[tuple[Any, ...]]) -> None:
    """Prints rows of a name, a unit, our time, and those of the others."""
    for name, unit, ours, *others in rows:
        known = [value for value in others if value is not None]
        ratio = f"{min(known) / ours:.1f}" if known and ours else "–"
        shown = ["–" if value is None else f"{value:,.2f}" if value < 10 else f"{value:,.0f}" for value in (ours, *others)]
        print(f"| {title} | {name} | {unit} | {' | '.join(shown)} | {ratio} |", flush=True)


def own(model: ox.Model) -> ox.Model:
    """A copy that shares nothing any more."""
    copy = model.clone()
    copy.graph.name = model.graph.name
    return copy


def editing(model: ox.Model, load_ir: Callable[[], Any], proto: Any, runs: int) -> list[tuple[Any, ...]]:
    """The loops over nodes."""
    count = len(model.graph.nodes)
    theirs = load_ir()
    ns = 1e9 / max(1, count)

    def row(name: str, ours: Any, ir: Any, upb: float | None = None) -> tuple[Any, ...]:
        return (name, "ns", *scaled(ns, ours, upb, ir), None, None)

    return [
        row(
            "operators", best(lambda _: operators(model.nodes()), runs=runs), best(lambda _: operators(theirs.graph), runs=runs),
            best(lambda _: operators(proto.graph.node), runs=runs),
        ),
        row("producers of inputs", best(lambda _: producers(model.nodes())), best(lambda _: producers(theirs.graph))),
        row(
            "an attribute", best(lambda _: attributes(model.nodes())), best(lambda _: attributes(theirs.graph)),
        ),
        row("replace uses, and back", best(replace_ours, lambda: own(model)), best(replace_theirs, load_ir, 4)),
        row("insert and erase", best(insert_ours, lambda: own(model)), best(insert_theirs, load_ir, 4)),
        row(
            "remove identities", best(lambda m: no_identities(m.nodes()), lambda: own(model)),
            best(lambda m: no_identities(list(m.graph)), load_ir, 4),
        ),
    ]


def extract_ir(model: Any) -> None:
    value = model.graph[len(model.graph) // 2].outputs[0]
    onnx_ir.convenience.extract(model.graph, list(model.graph.inputs), [value])


def extract_ours(model: ox.Model) -> None:
    nodes = model.graph.nodes
    ox.extract(model, None, [nodes[len(nodes) // 2].outputs[0]])


def simplifier(name: str) -> Callable[[Any], object]:
    """The function of a package that simplifies."""
    module = importlib.import_module(name)
    return lambda model: (module.slim if name == "onnxslim" else module.simplify)(model)


def whole(path: str, model: ox.Model, proto: Any, load_ir: Callable[[], Any]) -> list[tuple[Any, ...]]:
    """The functions on whole models."""
    theirs = load_ir()

    def row(name: str, ours: Any, upb: Any = None, ir: Any = None, slim: Any = None, sim: Any = None) -> tuple[Any, ...]:
        return (name, "ms", *scaled(1e3, ours, upb, ir, slim, sim))

    def fresh() -> Any:
        return onnx.load(path)

    middle = model.graph.nodes[len(model.graph.nodes) // 2].outputs[0].name
    inputs = [value.name for value in proto.graph.input]
    # It needs the types of the values at which it cuts.
    cut = onnx.utils.Extractor(onnx.shape_inference.infer_shapes(proto))
    edited = model.clone()
    saved = str(pathlib.Path(path).with_suffix(".saved.onnx"))
    return [
        row("load", best(lambda _: ox.load(path)), best(lambda _: onnx.load(path)), best(lambda _: load_ir())),
        row("save", best(lambda _: model.save(saved)), best(lambda _: onnx.save(proto, saved)), best(lambda _: onnx_ir.save(theirs, saved), runs=3)),
        row("clone", best(lambda _: model.clone()), best(lambda _: onnx.ModelProto().CopyFrom(proto)), best(lambda _: theirs.clone(), runs=3)),
        row("clone, and the first edit", best(lambda _: setattr(edited.clone().graph, "name", "g")), None, None),
        row("clean up", best(lambda m: m.cleanup(), lambda: own(model)), None, best(lambda m: ir_passes.RemoveUnusedNodesPass()(m), load_ir, 3)),
        row("sort", best(lambda m: m.sort(), lambda: own(model)), None, best(lambda m: m.graph.sort(), load_ir, 3)),
        row(
            "merge equal subexpressions", best(lambda m: ox.run_passes(m, ["unique-subexpressions"]), lambda: own(model)), None,
            best(lambda m: ir_passes.CommonSubexpressionEliminationPass()(m), load_ir, 3),
        ),
        row("check", best(lambda _: ox.check(model)), best(lambda _: onnx.checker.check_model(proto)), best(lambda m: ir_passes.CheckerPass()(m), load_ir, 3)),
        row(
            "infer", best(lambda _: ox.infer(model, inplace=False)), best(lambda _: onnx.shape_inference.infer_shapes(proto), runs=3),
            best(lambda m: ir_passes.ShapeInferencePass()(m), load_ir, 3),
        ),
        row(
            "extract half", best(extract_ours, lambda: model), best(lambda _: cut.extract_model(inputs, [middle]), runs=3),
            best(extract_ir, lambda: theirs, 3),
        ),
        row(
            "simplify", best(ox.simplify, lambda: own(model), 3), None, None,
            *(None if name in MISSING else best(simplifier(name), fresh, 2) for name in ("onnxslim", "onnxsim")),
        ),
    ]


def models(args: list[str]) -> list[pathlib.Path]:
    """The files to measure."""
    found = []
    for path in map(pathlib.Path, args):
        if not path.is_dir():
            found.append(path)
            continue
        for name in MODELS:
            file = path / f"{name}.onnx"
            if file.exists():
                found.append(file)
            else:
                print(f"    {path} has no {file.name}", file=sys.stderr)
    return found


def main() -> None:
    """Prints the table."""
    logging.disable(logging.CRITICAL)
    model = chain(NODES)
    head()
    imports = [None if name in MISSING else started(name) * 1e3 for name in ("onnxkit", "onnx", "onnx_ir", "onnxslim", "onnxsim")]
    table("none", [("import", "ms", *imports)])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "chain.onnx"
        model.save(path)
        for file in [path, *models(sys.argv[1:])]:
            copy = str(pathlib.Path(folder) / file.name)
            if str(file) != copy:
                pathlib.Path(copy).write_bytes(file.read_bytes())
            ours, proto = ox.load(copy), onnx.load(copy)

            def load_ir(copy: str = copy) -> Any:
                return onnx_ir.load(copy)

            title = f"{file.stem}, {len(ours.graph.nodes):,} nodes"
            table(title, editing(ours, load_ir, proto, 7))
            table(title, whole(copy, ours, proto, load_ir))


if __name__ == "__main__":
    main()
