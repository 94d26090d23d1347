"""Measures how soon work ends after Ctrl-C: `python python/stress/interrupts.py [MODEL ...] [--nodes N] [--gigabytes N] [--tensor N] [--only NAME]`.

Each function runs twice on each model. First, a timer sends a signal each millisecond, so that the longest time between two calls of
its handler is the longest time that Ctrl-C can take until the work sees it, wherever it comes. Then, SIGINT comes from another process at
random times, and what is measured is the time until the exception is caught. Times of the processor do not count what other programs
do meanwhile. Prints a table in milliseconds, the slowest first.

Without models, these are a chain of nodes, and layers with weights. With `--tensor`, each work is that on one tensor of some gigabytes.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import onnxkit as ox

if TYPE_CHECKING:
    from collections.abc import Callable

# Waits for a delay, sends the signal to its parent, and answers when it did.
SENDER = """
import os, signal, sys, time
for line in sys.stdin:
    time.sleep(float(line))
    at = time.monotonic()
    os.kill(os.getppid(), signal.SIGINT)
    print(at, flush=True)
"""
# What a call must keep to.
GOAL = 0.1


def layers(count: int, ops: tuple[str, str, str], seed: int) -> str:
    """Layers with weights as text, of four nodes each."""
    weights, body = ["float[4] b = {1, 2, 3, 4}"], []
    for index in range(count // 4):
        elements = ", ".join(str((index * 31 + place * 7 + seed) % 101) for place in range(16))
        weights.append(f"float[4,4] w{index} = {{{elements}}}")
        body.append(f"[n{index}] m{index} = MatMul (v{index}, w{index}) a{index} = {ops[0]} (m{index}{', b' if ops[0] == 'Add' else ''})")
        body.append(f"r{index} = {ops[1]} (a{index}) v{index + 1} = {ops[2]} (r{index})")
    return f"g (float[N,4] v0) => (float[N,4] y) <{', '.join(weights)}> {{ {' '.join(body)} y = Relu (v{count // 4}) }}"


def chain(count: int, ops: tuple[str, ...], name: str) -> str:
    """A chain of nodes as text."""
    body = []
    for index in range(count):
        op = ops[index % len(ops)]
        other = f", {name}{index // 2}" if op in ("Add", "Sub", "Mul") else ""
        body.append(f"{name}{index + 1} = {op} ({name}{index}{other})")
    return f"g (float[N] {name}0) => (float[N] y) {{ {' '.join(body)} y = Relu ({name}{count}) }}"


def heavy(folder: str, gigabytes: float) -> ox.Model:
    """A model with weights of some gigabytes in another file."""
    import numpy

    model = ox.Model()
    side = 8192
    last = model.graph.add_input("x", f"float[1,{side}]")
    choose = numpy.random.default_rng(7)
    for index in range(max(1, round(gigabytes * (1 << 30) / (side * side * 4)))):
        weight = model.graph.constant(choose.standard_normal((side, side), dtype=numpy.float32), name=f"w{index}")
        last = model.graph.add("MatMul", [last, weight]).outputs[0]
    last.type = f"float[1,{side}]"
    model.graph.add_output(last)
    path = os.path.join(folder, "heavy.onnx")
    model.save(path, weights="external")
    return ox.load(path)


def works(model: ox.Model, other: ox.Model, folder: str) -> dict[str, Callable[[], object]]:
    """The functions; those that edit do so in a copy."""
    nodes = model.graph.nodes
    middle = nodes[len(nodes) // 2].outputs[0]
    size = next((dim for value in model.graph.inputs for dim in value.shape or () if isinstance(dim, str)), None)
    raw: list[bytes] = []
    is_light = ox.info(model).weight_bytes < 1 << 28
    if is_light:
        raw.append(bytes(model))
    text = model.to_text(elide_above=64)
    outlined = model.clone()
    ox.outline(outlined, min_nodes=2)
    stripped = model.clone()
    ox.strip_weights(stripped)
    left = [0]

    def tried(_: object) -> bool:
        left[0] += 1
        return left[0] % 8 != 0

    found: dict[str, Callable[[], object]] = {
        "check": lambda: ox.check(model),
        "fix": lambda: ox.fix(model.clone()),
        "infer": lambda: ox.infer(model, inplace=False),
        "infer, in place": lambda: ox.infer(model.clone()),
        "simplify": lambda: ox.simplify(model, inplace=False),
        "convert down": lambda: ox.convert(model, 13, inplace=False),
        "convert up": lambda: ox.convert(model, 23, inplace=False),
        "reach": lambda: ox.reach(model),
        "half": lambda: ox.half(model, run=False, inplace=False),
        "half with a run": lambda: ox.half(model, inplace=False),
        "bfloat16": lambda: ox.half(model, "bfloat16", run=False, inplace=False),
        "quantize weights": lambda: ox.quantize(model, "int8", weights_only=True, inplace=False),
        "quantize blocks": lambda: ox.quantize(model, "int4", weights_only=True, block=32, inplace=False),
        "quantize dynamic": lambda: ox.quantize(model, "uint8", dynamic=True, inplace=False),
        "quantize static": lambda: ox.quantize(model, "uint8", inputs=1, inplace=False),
        "dequantize": lambda: ox.dequantize(model, inplace=False),
        "extract": lambda: ox.extract(model, None, [middle]),
        "merge": lambda: ox.merge([model, model], prefixes=["a", "b"]),
        "split": lambda: ox.split(model, 3),
        "inline": lambda: ox.inline(outlined.clone()),
        "outline": lambda: ox.outline(model.clone()),
        "rename": lambda: ox.rename(model.clone(), lambda name: "p" + name),
        "strip_weights": lambda: ox.strip_weights(model.clone()),
        "import_weights": lambda: ox.import_weights(stripped.clone(), model),
        "restore weights": lambda: ox.import_weights(stripped.clone()),
        "reduce": lambda: ox.reduce(model, tried),
        "compare": lambda: ox.compare(model, model, seeds=1),
        "diff of equal ones": lambda: ox.diff(model, model),
        "diff of unlike ones": lambda: ox.diff(model, other),
        "hash": lambda: ox.hash(model),
        "find": lambda: ox.find(model, "Relu()"),
        "info": lambda: ox.info(model),
        "cost": lambda: ox.cost(model),
        "why": lambda: ox.why(model, middle),
        "run": lambda: ox.Evaluator(model).run(ox.inputs(model)),
        "clone, and an edit": lambda: setattr(model.clone().graph, "name", "g"),
        "save": lambda: model.save(os.path.join(folder, "saved.onnx")),
        "save with external weights": lambda: model.save(os.path.join(folder, "saved.onnx"), weights="external"),
        "to_text": lambda: model.to_text(elide_above=64),
        "nodes_table": lambda: model.nodes_table().to_dict(),
        "weights_table": lambda: model.weights_table().to_dict(),
        "cleanup": lambda: model.clone().cleanup(),
        "sort": lambda: model.clone().sort(),
        "nodes": lambda: [node.op_type for node in model.nodes()],
    }
    if size is not None:
        found["resize"] = lambda: ox.resize(model.clone(), {size: 2})
    if raw:
        path = os.path.join(folder, "scanned.onnx")
        model.save(path)
        found |= {
            "load": lambda: ox.load(path),
            "scan": lambda: ox.scan(path),
            "loads": lambda: ox.loads(raw[0]),
            "bytes": lambda: bytes(model),
            "textproto": lambda: model.save(os.path.join(folder, "saved.textproto")),
        }
    if len(text) < 1 << 26 and is_light:
        found["parse"] = lambda: ox.parse(text)
    return found


def tensor_works(folder: str, gigabytes: float) -> dict[str, Callable[[], object]]:
    """What is done with one tensor of some gigabytes."""
    import pickle

    import ml_dtypes
    import numpy

    rows, columns = max(1, round(gigabytes * (1 << 18))), 1024
    array = numpy.random.default_rng(7).standard_normal((rows, columns), dtype=numpy.float32)
    short = array.astype(ml_dtypes.bfloat16)
    bits = (array > 0).astype(numpy.int8)

    def path(name: str) -> str:
        return os.path.join(folder, f"{name}.onnx")

    def model(weight: ox.Tensor) -> ox.Model:
        made = ox.parse(f"g ({weight.dtype.text}[N,{rows}] x) => ({weight.dtype.text}[N,{columns}] y) {{ y = MatMul (x, w) }}")
        graph = made.graph
        graph.nodes[0].replace_input_with(1, graph.constant(weight, name="w"))
        return made

    wide = ox.Tensor(array)
    narrow, nibbles = ox.Tensor(short), ox.Tensor(bits, "int4")
    made, half = model(wide), model(narrow)
    made.save(path("inside"))
    made.save(path("outside"), weights="external")
    raw = bytearray(bytes(made))
    copied, stripped = ox.load(path("outside"), mapped=False), made.clone()
    ox.strip_weights(stripped)
    outside = copied.graph["w"].const_value
    assert outside is not None
    quantized = ox.quantize(made, "int8", weights_only=True, inplace=False).model
    blocks = ox.quantize(made, "int4", weights_only=True, block=32, inplace=False).model
    return {
        "load a copy": lambda: ox.load(path("inside"), mapped=False),
        "load a copy, and all weights": lambda: ox.load(path("outside"), mapped=False).embed_weights(),
        "loads a copy": lambda: ox.loads(raw),
        "bytes of a model": lambda: bytes(made),
        "pickle": lambda: pickle.dumps(made),
        "hash": lambda: ox.hash(made),
        "check": lambda: ox.check(made),
        "info, cost": lambda: (ox.info(made), ox.cost(made)),
        "diff": lambda: ox.diff(made, copied),
        "diff of types": lambda: ox.diff(made, half),
        "save": lambda: made.save(path("saved")),
        "save with external weights": lambda: made.save(path("saved"), weights="external"),
        "save embedded": lambda: copied.save(path("saved"), weights="embed"),
        "save as JSON": lambda: made.save(path("saved")[:-4] + "json"),
        "strip_weights": lambda: ox.strip_weights(made.clone()),
        "import_weights": lambda: ox.import_weights(stripped.clone(), path("outside"), mapped=False),
        "restore weights": lambda: ox.import_weights(stripped.clone()),
        "float16": lambda: ox.half(made, run=False, inplace=False),
        "bfloat16": lambda: ox.half(made, "bfloat16", run=False, inplace=False),
        "float of bfloat16": lambda: ox.half(half, "float", run=False, inplace=False),
        "quantize to int8": lambda: ox.quantize(made, "int8", weights_only=True, inplace=False),
        "quantize to int4": lambda: ox.quantize(made, "int4", weights_only=True, block=32, inplace=False),
        "dequantize int8": lambda: ox.dequantize(quantized, inplace=False),
        "dequantize int4": lambda: ox.dequantize(blocks, inplace=False),
        "simplify": lambda: ox.simplify(made, inplace=False),
        "compare": lambda: ox.compare(made, made, seeds=1, sizes={"N": 1}),
        "compare bfloat16": lambda: ox.compare(half, half, seeds=1, sizes={"N": 1}),
        "compare int8": lambda: ox.compare(quantized, quantized, seeds=1, sizes={"N": 1}),
        "compare int4": lambda: ox.compare(blocks, blocks, seeds=1, sizes={"N": 1}),
        "Tensor of float32": lambda: ox.Tensor(array),
        "Tensor of bfloat16": lambda: ox.Tensor(array, "bfloat16"),
        "Tensor of float8": lambda: ox.Tensor(short, "float8e4m3fn"),
        "Tensor of int64": lambda: ox.Tensor(bits, "int64"),
        "Tensor of bool": lambda: ox.Tensor(bits, "bool"),
        "Tensor of int4": lambda: ox.Tensor(bits, "int4"),
        "tobytes": lambda: wide.tobytes(),
        "tobytes of a file": lambda: outside.tobytes(),
        "numpy": lambda: wide.numpy(),
        "numpy of a file": lambda: outside.numpy(),
        "numpy of int4": lambda: nibbles.numpy(),
        "statistics": lambda: wide.statistics(),
        "statistics of bfloat16": lambda: narrow.statistics(),
    }


class Sender:
    """Another process that sends SIGINT to this one."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def waited(self, work: Callable[[], object], delay: float) -> float:
        """The time from the signal to the exception, in repeated work."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{delay}\n")
        try:
            self.process.stdin.flush()
            while True:
                work()
        except KeyboardInterrupt:
            caught = time.monotonic()
        sent = float(self.process.stdout.readline())
        return caught - sent


def longest(work: Callable[[], object]) -> tuple[float, float, float]:
    """The longest times between two handled signals, of the clock and of the processor, and the time of all."""
    marks: list[tuple[float, float]] = []

    def mark(*_: object) -> None:
        marks.append((time.monotonic(), time.thread_time()))

    before = signal.signal(signal.SIGALRM, mark)
    mark()
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        work()
    except ox.OnnxError as error:
        print(f"    {type(error).__name__}: {str(error)[:160]}", file=sys.stderr)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    mark()
    signal.signal(signal.SIGALRM, before)
    pairs = list(zip(marks, marks[1:], strict=False))
    return max(b[0] - a[0] for a, b in pairs), max(b[1] - a[1] for a, b in pairs), marks[-1][0] - marks[0][0]


def measure(title: str, found: dict[str, Callable[[], object]], args: argparse.Namespace) -> list[tuple[Any, ...]]:
    """The rows of some functions."""
    choose, sender, rows = random.Random(5), Sender(), []
    for name, work in found.items():
        if args.only and name not in args.only:
            continue
        clock, cpu, total = longest(work)
        worst = 0.0
        for _ in range(args.turns):
            try:
                worst = max(worst, sender.waited(work, choose.uniform(0.02, min(2.0, 0.05 + total))))
            except ox.OnnxError:
                sender = Sender()
                break
        rows.append((title, name, total, clock, cpu, worst))
        print(f"    {title}: {name}: {total * 1e3:.0f} {clock * 1e3:.0f} {cpu * 1e3:.0f} {worst * 1e3:.0f}", file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--gigabytes", type=float, default=0)
    parser.add_argument("--tensor", type=float, default=0)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", action="append")
    args = parser.parse_args()
    rows: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        if args.gigabytes:
            model = heavy(folder, args.gigabytes)
            rows += measure(f"{args.gigabytes} GiB", works(model, ox.load(os.path.join(folder, "heavy.onnx")), folder), args)
        elif args.tensor:
            rows += measure(f"a tensor of {args.tensor} GiB", tensor_works(folder, args.tensor), args)
        elif args.models:
            for path in args.models:
                rows += measure(os.path.basename(path), works(ox.load(path), ox.load(args.models[0]), folder), args)
        else:
            first = ox.parse(layers(args.nodes, ("Add", "Relu", "Sigmoid"), 0))
            rows += measure("layers", works(first, ox.parse(layers(args.nodes, ("Neg", "Abs", "Tanh"), 5)), folder), args)
            first = ox.parse(chain(args.nodes, ("Relu", "Identity", "Add", "Neg"), "v"))
            other = ox.parse(chain(args.nodes, ("Neg", "Abs", "Mul", "Relu", "Sub", "Neg"), "u"))
            rows += measure("chain", works(first, other, folder), args)
    print("| model | function | all, ms | without a look for signals, ms | of it the processor | Ctrl-C until the exception, slowest |")
    print("|---|---|---|---|---|---|")
    rows.sort(key=lambda row: -max(row[4], row[5]))
    for title, name, *times in rows:
        print(f"| {title} | {name} | {' | '.join(f'{value * 1e3:,.0f}' for value in times)} |")
    late = [f"{row[0]}: {row[1]}" for row in rows if row[4] > GOAL]
    print(f"{len(late)} above {GOAL * 1e3:.0f} ms of the processor: {', '.join(late) or 'none'}")


if __name__ == "__main__":
    main()
