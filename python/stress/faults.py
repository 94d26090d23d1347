"""Tries to break the package, and prints what was observed: `cargo xtask python --stress [NAME ...]`.

Each function is one attack. It raises if something goes wrong, and returns a line of figures. They take minutes; the tests of
the package have a short form of each.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any

import onnxkit as ox

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = "g (float[N,4] x) => (float[N,4] y) < float[4] w = {1, 2, 3, 4} > { a = Identity (x) b = Add (a, w) y = Relu (b) }"
BRANCHES = """g (bool c, float[2] x) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) }, else_branch = e () => (float[2] b) { b = Abs (x) }>
}"""


def resident() -> int:
    """The resident memory of this process in kilobytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def chain(nodes: int) -> ox.Model:
    """A chain of operators."""
    model = ox.Model()
    last = model.graph.add_input("x", "float[N]")
    for index in range(nodes):
        last = model.graph.add("Neg" if index % 2 else "Relu", [last]).outputs[0]
    last.type = "float[N]"
    model.graph.add_output(last)
    return model


def growth() -> str:
    """10,000 loads in one process, each with a check and some handles."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        chain(200).save(path)

        def once() -> None:
            model = ox.load(path)
            assert ox.check(model).ok
            for node in model.nodes():
                node.op_type, node.inputs, node.attrs
            node.graph.remove(model.graph.add("Neg", [model.graph.inputs[0]]))
            ox.infer(model)
            bytes(model)

        figures = []
        for step in range(11):
            for _ in range(1000 if step else 100):
                once()
            gc.collect()
            figures.append(resident())
        descriptors = len(os.listdir("/proc/self/fd"))
        grown = figures[-1] - figures[1]
        assert grown < 4096, figures
        assert descriptors < 20
        return f"10,000 loads: {figures[1]} kB after 1,100, {figures[-1]} kB after 10,100; {descriptors} descriptors"


def editing_growth() -> str:
    """A million edits of one model."""
    model = chain(100)
    graph = model.graph
    value = graph.inputs[0]

    def edits(count: int) -> None:
        for _ in range(count):
            graph.remove(graph.add("Neg", [value]))

    edits(100_000)
    before = resident()
    edits(900_000)
    after = resident()
    return f"1,000,000 nodes added and removed: {before} kB after a tenth, {after} kB at the end"


def _mutated(choose: random.Random, seed: bytes) -> bytes:
    data = bytearray(seed)
    for _ in range(choose.randrange(1, 6)):
        kind = choose.randrange(4)
        at = choose.randrange(len(data) + 1)
        if kind == 0 and data:
            data[at % len(data)] = choose.randrange(256)
        elif kind == 1:
            data[at:at] = bytes(choose.randrange(256) for _ in range(choose.randrange(1, 4)))
        elif kind == 2:
            del data[at : at + choose.randrange(1, 8)]
        else:
            data[at:at] = data[: choose.randrange(len(data) + 1)][:32]
    return bytes(data)


def _targets(choose: random.Random, model: ox.Model) -> list[tuple[Callable[[bytes], object], list[bytes], int]]:
    """Functions that take bytes or text, with inputs to begin with, and how often each is called."""
    small, branches = bytes(ox.parse(SMALL)), bytes(ox.parse('<ir_version: 10, opset_import: ["": 21]> ' + BRANCHES))
    rule = "# r\nrule neg-neg: exact\nfrom (x) => (y) {\n    y = Neg (Neg (x))\n}\nto (x) => (x) {}\n"
    value, dtypes = model.graph["b"], ox.DType.all()

    def all_of(data: bytes) -> None:
        made = ox.loads(data)
        ox.check(made)
        for node in made.nodes():
            repr(node), node.inputs, node.attrs.keys()
        for found in made.graph.values:
            found.type, found.shape, found.const_value, found.uses()
        bytes(made)

    def text(data: bytes) -> str:
        return data.decode("utf-8", "surrogateescape" if choose.randrange(20) == 0 else "replace")

    return [
        (all_of, [small, branches], 6),
        (lambda data: ox.parse(text(data)), [SMALL.encode(), BRANCHES.encode()], 6),
        (lambda data: ox.Rules.parse(text(data)), [rule.encode()], 2),
        (lambda data: ox.find(model, text(data)), [b"Add() -> Relu()", b"down(a) & ~Relu()", b"a..y"], 3),
        (lambda data: setattr(value, "type", text(data)), [b"float[N,2*M + 1]", b"seq(tensor(int64))", b"optional(float[2])"], 3),
        (lambda data: ox.DType(text(data)), [b"float32", b"FLOAT8E4M3FN"], 1),
        (lambda data: ox.Tensor(data, choose.choice(dtypes), [choose.randrange(-1, 4) for _ in range(choose.randrange(3))]), [b"\0" * 8], 3),
        (lambda data: ox.schema(text(data)), [b"Conv"], 1),
        (lambda data: ox.explain(text(data)), [b"ONNX2303"], 1),
        (lambda data: model.graph[text(data)], [b"a"], 1),
        (lambda data: ox.extract(model, [text(data)], ["y"]), [b"a"], 1),
        (lambda data: ox.resize(model.clone(), {text(data): 3}), [b"x[0]", b"N"], 1),
        (lambda data: ox.rename(model.clone(), {"a": text(data)}), [b"name"], 1),
        (lambda data: ox.infer(model, sizes={text(data): 3}, inplace=False), [b"N"], 1),
        (lambda data: model.graph.add(text(data), [value], {text(data): text(data)}, domain=text(data)), [b"Neg", b""], 1),
        (lambda data: ox.ops.__getattr__(text(data)), [b"Conv"], 1),
        (lambda data: setattr(value, "name", text(data)), [b"b"], 1),
        (lambda data: model.set_metadata(text(data), text(data)), [b"key"], 1),
    ]


def random_input(count: int = 1_000_000) -> str:
    """Random bytes and texts into every function that takes some. The only exceptions are those of the package."""
    choose = random.Random(11)
    allowed = (ox.OnnxError, KeyError, AttributeError, TypeError, ValueError, OverflowError)
    weights = [weight for *_, weight in _targets(choose, ox.parse(SMALL))]
    accepted = refused = 0
    slowest, slow = 0.0, ""
    for index, weight in enumerate(weights):
        for turn in range(count * weight // sum(weights)):
            if turn % 2000 == 0:
                # Names and nodes that were added make a model slow.
                call, seeds, _ = _targets(choose, ox.parse(SMALL))[index]
            seed = choose.choice(seeds)
            data = bytes(choose.randrange(256) for _ in range(choose.randrange(40))) if turn % 10 == 0 else _mutated(choose, seed)
            start = time.perf_counter()
            try:
                call(data)
                accepted += 1
            except ox.BugError as error:
                raise AssertionError(f"target {index}: {data!r}: {error}") from error
            except allowed:
                refused += 1
            took = time.perf_counter() - start
            if took > slowest:
                slowest, slow = took, f"target {index}: {data[:80]!r}"
    return f"{accepted + refused:,} inputs for {len(weights)} functions: {accepted:,} accepted, {refused:,} refused; slowest {slowest * 1e3:.0f} ms ({slow})"


def _edit(choose: random.Random, model: ox.Model, handles: list[Any]) -> None:
    """A random edit by handles, some of which are stale or of another model. New elements are added to the handles."""

    def one(kind: type) -> Any:
        return choose.choice([handle for handle in handles if isinstance(handle, kind)])

    graph, node, value, second = one(ox.Graph), one(ox.Node), one(ox.Value), one(ox.Value)

    def added(new: ox.Node) -> None:
        handles.extend([new, *new.outputs])

    def set_attribute() -> None:
        node.attrs[choose.choice(["axis", "then_branch", "to", "value"])] = choose.choice([1, 2.5, "t", graph, [1], ox.Tensor([1])])

    choose.choice([
        lambda: added(graph.add("Neg", [value], after=node)),
        lambda: added(graph.add("Split", [value], {"num_outputs": 2, "axis": 0}, outputs=2, before=node)),
        lambda: node.erase(),
        lambda: node.graph.remove([node, one(ox.Node)]),
        lambda: node.replace_input_with(choose.randrange(3), choose.choice([value, None])),
        lambda: value.replace_all_uses_with(second),
        lambda: node.replace_with([value, second][: choose.randrange(3)]),
        lambda: node.move_before(one(ox.Node)),
        lambda: setattr(graph, "outputs", [value, second][: choose.randrange(3)]),
        lambda: setattr(graph, "inputs", [value, second][: choose.randrange(3)]),
        lambda: graph.add_output(value),
        lambda: handles.append(graph.constant([1.0, 2.0])),
        set_attribute,
        lambda: setattr(value, "type", choose.choice(["float[2]", None, "seq(tensor(float))"])),
        lambda: setattr(value, "const_value", [3.0]),
        lambda: model.cleanup(),
        lambda: graph.sort(),
        lambda: node.push_input(value),
    ])()


def _script(seed: int) -> tuple[int, int]:
    choose = random.Random(seed)
    model = ox.parse(choose.choice([SMALL, BRANCHES, "g (float[2] x) => (float[2] y) { a = Neg (x) b = Abs (a) c = Add (a, b) y = Relu (c) }"]))
    other = ox.parse(SMALL)
    handles = [*model.nodes(), *model.graph.values, model.graph, *model.graph.subgraphs(), *other.nodes(), *other.graph.values]
    stale = edits = 0
    for _ in range(200):
        before = bytes(model)
        try:
            _edit(choose, model, handles)
            edits += 1
        except ox.BugError:
            raise
        except (ox.OnnxError, KeyError, TypeError) as error:
            stale += isinstance(error, ox.StaleHandleError)
            assert bytes(model) == before, (seed, error)
    for handle in handles:
        is_gone = repr(handle).endswith(", erased>")
        assert is_gone or getattr(handle, "is_alive", True)
        if is_gone:
            try:
                handle.name
            except ox.StaleHandleError:
                stale += 1
            else:
                raise AssertionError("an erased element answered")
    ox.check(model)
    ox.infer(model, inplace=False)
    again = ox.loads(bytes(model))
    assert len(again) == len(model)
    return edits, stale


def scripts(count: int = 1000) -> str:
    """Random scripts of edits with stale and foreign handles; a refused edit leaves the bytes of the model as they were."""
    done = [_script(seed) for seed in range(count)]
    return f"{count} scripts of 200 edits: {sum(edits for edits, _ in done):,} edits made, {sum(stale for _, stale in done):,} stale handles refused"


def threads(seconds: float = 5.0) -> str:
    """8 threads on one model, and on eight."""
    counts: dict[str, int] = {}
    for shared in (True, False):
        model = chain(300)
        errors: list[BaseException] = []
        turns = [0] * 8
        end = time.monotonic() + seconds

        def work(index: int, model: ox.Model = model, shared: bool = shared, turns: list[int] = turns) -> None:
            own = model if shared else model.clone()
            choose = random.Random(index)
            while time.monotonic() < end:
                turns[index] += 1
                try:
                    action = choose.randrange(6)
                    if action == 0:
                        ox.check(own)
                    elif action == 1:
                        new = own.graph.add("Neg", [own.graph.inputs[0]])
                        new.erase()
                    elif action == 2:
                        for node in own.nodes():
                            node.op_type
                    elif action == 3:
                        ox.simplify(own)
                    elif action == 4:
                        bytes(own)
                    else:
                        ox.infer(own)
                except (ox.ConcurrentEditError, ox.EditError):
                    if not shared:
                        raise
                except BaseException as error:
                    errors.append(error)
                    return

        running = [threading.Thread(target=work, args=(index,)) for index in range(8)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(120)
            assert not thread.is_alive(), "a thread hangs"
        assert not errors, errors
        assert ox.check(model).ok
        counts["one model" if shared else "eight models"] = sum(turns)
    return f"8 threads: {counts}"


INTERRUPTED = """
import sys, time, onnxkit as ox
big = "g (float[500,500] x) => (y) {" + "".join(f" v{i + 1} = MatMul (v{i}, v{i})" for i in range(400)).replace("v0,", "x,").replace("v0)", "x)") + " y = Identity (v400) }"
model = ox.parse(big)
data = ox.inputs(model)
many = ox.Model()
last = many.graph.add_input("x", "float[N]")
for index in range(40000):
    last = many.graph.add("Neg" if index % 2 else "Relu", [last]).outputs[0]
last.type = "float[N]"
many.graph.add_output(last)
raw = bytes(many)
work = {
    "run": lambda: ox.Evaluator(model).run(data),
    "run on threads": lambda: ox.Evaluator(model, threads=2).run(data),
    "matmul": lambda: ox.Evaluator(wide).run(wide_data),
    "matmul on threads": lambda: ox.Evaluator(wide, threads=2).run(wide_data),
    "check": lambda: ox.check(many),
    "infer": lambda: ox.infer(many, inplace=False),
    "simplify": lambda: ox.simplify(many, inplace=False),
    "prove": lambda: ox.simplify(many, prove=True, inplace=False),
    "loads": lambda: ox.loads(raw),
    "bytes": lambda: bytes(many),
    "text": lambda: many.to_text(),
    "hash": lambda: ox.hash(many),
    "diff": lambda: ox.diff(many, many),
    "convert": lambda: ox.convert(many, 13, inplace=False),
    "reach": lambda: ox.reach(many),
    "outline": lambda: ox.outline(many.clone()),
    "split": lambda: ox.split(many, 4),
    "compare": lambda: ox.compare(model, model),
    "cost": lambda: ox.cost(many),
    "loop": lambda: [node.op_type for node in many.nodes()],
}
wide = ox.parse("g (float[3000,3000] x) => (y) { y = MatMul (x, x) }")
wide_data = ox.inputs(wide)
chosen = work[sys.argv[1]]
print("ready", flush=True)
try:
    while True:
        chosen()
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
"""


def interrupts(turns: int = 5) -> str:
    """Ctrl-C at random times in long work of every kind."""
    names = [line.split('"')[1] for line in INTERRUPTED.splitlines() if line.startswith('    "') and "lambda" in line]
    choose = random.Random(3)
    figures: dict[str, float] = {}
    for name in names:
        worst = 0.0
        for _ in range(turns):
            child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert child.stdout is not None
            ready = child.stdout.readline()
            assert ready.startswith("ready"), child.communicate()
            time.sleep(choose.uniform(0.05, 1.0))
            start = time.monotonic()
            child.send_signal(signal.SIGINT)
            line = child.stdout.readline()
            child.kill()
            rest = child.communicate()[1]
            assert line.startswith("interrupted"), (name, line, rest)
            worst = max(worst, float(line.split()[1]) - start)
        figures[name] = worst
    figures["the command"] = max(_interrupted_command(choose) for _ in range(turns))
    shown = ", ".join(f"{name} {worst * 1e3:.0f}" for name, worst in figures.items())
    return f"Ctrl-C, slowest of {turns} in ms: {shown}"


def _interrupted_command(choose: random.Random) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        model = ox.parse("g (float[1500,1500] x) => (y) {" + "".join(f" v{i + 1} = MatMul ({f'v{i}' if i else 'x'}, x)" for i in range(300)) + " y = Relu (v300) }")
        model.save(path)
        command = [sys.executable, "-m", "onnxkit", "run", path, "--limit", "run_steps=1000000000000000"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(choose.uniform(1.0, 3.0))
        assert child.poll() is None, child.communicate()
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        child.communicate()
        assert child.returncode == -signal.SIGINT
        return time.monotonic() - start


def limits() -> str:
    """A model that hits each limit. Exceptions name it; limits that only leave something unknown do not raise."""
    text = """<ir_version: 10, opset_import: ["": 21, "f": 1], metadata_props: ["a": "b", "c": "d"]>
    g (bool c, float[2] x) => (float[2] y) < float[2] w = {1, 2} > {
        t = f.twice (x)
        u = Add (t, w)
        y = If (c) <then_branch = p () => (float[2] a) { a = Neg (u) }, else_branch = q () => (float[2] b) { b = Abs (u) }>
    }
    <domain: "f", opset_import: ["": 21]> twice (a) => (b) { b = Add (a, a) }"""
    model = ox.parse(text)
    raw, run, feeds = bytes(model), ox.Evaluator(model), {"c": True, "x": [1.0, 2.0]}
    hard = [
        *((name, lambda **options: ox.loads(raw, **options)) for name in (
            "message_depth", "input_bytes", "string_bytes", "nodes", "values", "graphs", "functions", "tensors", "entries",
        )),
        *((name, lambda **options: ox.parse(text, **options)) for name in ("text_depth", "text_bytes")),
        *((name, lambda **options: run.run(feeds, **options)) for name in ("run_elements", "run_bytes", "run_steps", "run_depth")),
        ("selector_steps", lambda **options: ox.find(model, "Add()", **options)),
    ]
    soft = [
        "text_errors", "followed_elements", "inferred_rank", "visits_per_node", "expression_steps", "inference_depth", "findings",
        "findings_per_rule", "report_entries", "report_steps", "external_files", "external_bytes", "splat_bytes", "proof_runs",
        "proof_attempts", "proof_nodes", "proof_elements", "proof_steps", "proof_bytes", "reduce_attempts",
    ]
    wrong = []
    for name, call in hard:
        try:
            call(limits={name: 1})
            call(limits={name: 0})
        except ox.LimitError as error:
            if name not in str(error):
                wrong.append(f"{name}: {error}")
        except ox.OnnxError as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{name} is not hit")
    assert not wrong, "; ".join(wrong)
    for name in soft:
        for limit in (0, 1):
            given = {name: limit}
            ox.check(model, limits=given)
            ox.infer(model, inplace=False, limits=given)
            ox.simplify(model, inplace=False, prove=True, limits=given)
            ox.loads(raw, limits=given)
            try:
                ox.reduce(model, lambda tried: True, limits=given)
            except ox.OnnxError as error:
                assert not isinstance(error, ox.BugError)
    return f"{len(hard)} limits raise, {len(soft)} do not"


def _child(queue: multiprocessing.Queue) -> None:
    model = ox.parse(SMALL)
    result = ox.Evaluator(model, threads=2).run({"x": [[1.0, 2.0, 3.0, 4.0]]})
    queue.put((ox.check(model).ok, len(result)))


def forks(count: int = 20) -> str:
    """Children of a process that has used threads, while other threads hold the lock of a model."""
    wide = ox.parse("g (float[300,300] x) => (y) { y = MatMul (x, x) }")
    ox.Evaluator(wide, threads=2).run(ox.inputs(wide))
    shared, stop = chain(500), threading.Event()

    def work() -> None:
        while not stop.is_set():
            shared.graph.add("Neg", [shared.graph.inputs[0]]).erase()
            ox.check(shared)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            for _ in range(count if method == "fork" else 2):
                queue = context.Queue()
                child = context.Process(target=_child, args=(queue,))
                child.start()
                assert queue.get(timeout=60) == (True, 1)
                child.join(60)
                assert child.exitcode == 0, (method, child.exitcode)
    finally:
        stop.set()
        thread.join()
    return f"{count} forked and 2 spawned children of a process with threads"


ATTACKS = [growth, editing_growth, random_input, scripts, threads, interrupts, limits, forks]


def main() -> None:
    """Runs all, or those that are named. One that fails does not end the others."""
    import traceback

    chosen = [attack for attack in ATTACKS if not sys.argv[1:] or attack.__name__ in sys.argv[1:]]
    failed = []
    for attack in chosen:
        start = time.monotonic()
        try:
            print(textwrap.fill(f"{attack.__name__}: {attack()} ({time.monotonic() - start:.0f} s)", 140), flush=True)
        except Exception:
            failed.append(attack.__name__)
            traceback.print_exc()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
