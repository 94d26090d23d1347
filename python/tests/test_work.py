"""Long work: signals, deadlines, progress, limits, and hostile input."""

import gc
import io
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import onnxkit as ox
from onnxkit import _progress

# A run that does not end by itself, however fast the machine is.
ENDLESS = """g (float[300,300] x) => (y) {
    n = Constant <value_int = 1000000000000> ()
    y = Loop (n, , x) <body = b (int64 i, bool c, float[300,300] s) => (bool d, float[300,300] t) { d = Identity (c) t = MatMul (s, s) }>
}"""
# A chain of 201 nodes.
SLOW = "g (float[600,600] x) => (y) {" + "".join(f" v{i + 1} = MatMul (v{i}, v{i})" for i in range(200)).replace("v0,", "x,").replace(
    "v0)", "x)"
) + " y = Identity (v200) }"


def test_timeout():
    model = ox.parse(ENDLESS)
    run = ox.Evaluator(model)
    with pytest.raises(ox.Stopped, match="0.2 s"):
        run.run({"x": ox.inputs(model)["x"]}, timeout=0.2)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupt():
    # A shell starts programs in the background with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = ox.parse(ENDLESS)
    run = ox.Evaluator(model)
    given = {"x": ox.inputs(model)["x"]}
    # The signal can come while the timer starts.
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        run.run(given, timeout=60)


def test_other_threads_run_meanwhile():
    model = ox.parse(ENDLESS)
    run = ox.Evaluator(model)
    given = {"x": ox.inputs(model)["x"]}
    thread = threading.Thread(target=lambda: pytest.raises(ox.Stopped, run.run, given, timeout=1.0))
    thread.start()
    turns = 0
    while thread.is_alive():
        assert len(model) == 4
        turns += 1
        time.sleep(0.001)
    assert turns > 10


def test_progress_can_stop_work():
    model = ox.parse(SLOW)

    def stop(task, done, total):
        raise KeyError(task)

    with pytest.raises(KeyError):
        ox.Evaluator(model).run({"x": ox.inputs(model)["x"]}, progress=stop, timeout=60)


def test_limits():
    model = ox.parse(SLOW)
    with pytest.raises(ox.LimitError, match="nodes"):
        ox.loads(bytes(model), limits={"nodes": 10})
    with pytest.raises(ox.ArgumentError):
        ox.loads(bytes(model), limits={"nothing": 10})
    with pytest.raises(ox.ArgumentError):
        ox.loads(bytes(model), no_option=1)


def test_random_bytes():
    choose = random.Random(7)
    good = bytes(ox.parse("g (float[2] x) => (float[2] y) < float[2] w = {1, 2} > { y = Add (x, w) }"))
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(choose.randrange(1, 5)):
            data[choose.randrange(len(data))] = choose.randrange(256)
        try:
            model = ox.loads(bytes(data))
        except ox.OnnxError:
            continue
        ox.check(model)
        for node in model.nodes():
            repr(node)
        for value in model.graph.values:
            value.type, value.shape, value.const_value, value.uses()


def test_random_scripts_of_edits():
    for seed in range(50):
        choose = random.Random(seed)
        model = ox.parse("g (float[2] x) => (float[2] y) { a = Neg (x) b = Abs (a) c = Add (a, b) y = Relu (c) }")
        handles = [*model.nodes(), *model.graph.values]
        for _ in range(40):
            handle = choose.choice(handles)
            try:
                if isinstance(handle, ox.Node):
                    action = choose.randrange(4)
                    if action == 0:
                        handle.erase()
                    elif action == 1:
                        new = model.graph.add("Neg", [choose.choice(model.graph.values)], after=handle)
                        handles += [new, new.outputs[0]]
                    elif action == 2:
                        handle.replace_input_with(0, choose.choice(model.graph.values))
                    else:
                        handle.op_type = choose.choice(["Abs", "Exp"])
                else:
                    handle.replace_all_uses_with(choose.choice(model.graph.values))
            except ox.EditError:
                pass
        for handle in handles:
            if handle.is_alive:
                repr(handle)
            else:
                with pytest.raises(ox.StaleHandleError):
                    handle.name
        ox.check(model)
        ox.loads(bytes(model))


@pytest.mark.skipif(os.name != "posix", reason="fork")
def test_a_child_process():
    model = ox.parse("g (float[2] x) => (float[2] y) { y = Neg (x) }")
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(100)
        os._exit(0 if ox.check(model).ok and len(model) == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_import_needs_nothing():
    code = "import sys, onnxkit; print(sorted(m for m in ('numpy', 'onnx', 'google.protobuf', 'typing', 'dataclasses') if m in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(ox.__file__))}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment, timeout=100)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(_progress, "DELAY", 0.0)

    def work(progress):
        progress("checking", 1, 4)
        return 7

    assert _progress.with_bar(work) == 7
    assert "checking [######" in shown.getvalue() and "25%" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K")
    closed = io.StringIO()
    closed.close()
    for stream in (io.StringIO(), closed, None, object()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert _progress.with_bar(lambda: 3) == 3

    class Gone(Terminal):
        def write(self, text):
            raise OSError("the terminal is gone")

    monkeypatch.setattr(sys, "stderr", Gone())
    assert _progress.with_bar(work) == 7


def chain(nodes):
    """A chain of nodes as a model."""
    lines = "".join(f" v{i + 1} = Neg (v{i})" for i in range(nodes)).replace("(v0)", "(x)")
    return ox.parse(f"g (float[N] x) => (float[N] y) {{{lines} y = Relu (v{nodes}) }}")


def test_a_timeout_ends_whatever_takes_one():
    model = chain(4096)
    before = bytes(model)
    half = model.graph["v2048"]
    for work in (
        lambda: ox.split(model, 3, timeout=0),
        lambda: ox.merge([model, model], prefixes=["a_", "b_"], timeout=0),
        lambda: ox.outline(model, timeout=0),
        lambda: ox.extract(model, None, [half], timeout=0),
        lambda: ox.rename(model, lambda name: "p_" + name, timeout=0),
        lambda: ox.rename(model, {"x": "input"}, timeout=0),
        lambda: ox.fix(model, timeout=0),
        lambda: ox.quantize(model, "int8", weights_only=True, timeout=0),
        lambda: ox.half(model, timeout=0),
        lambda: ox.Rules.parse("rule r: exact from (x) => (y) { y = Neg (Neg (x)) } to (x) => (x) {}", timeout=0),
    ):
        with pytest.raises(ox.Stopped, match="0 s"):
            work()
    assert bytes(model) == before


class Signal(BaseException):
    """What the handler of a signal raises."""


def seconds_after_a_signal(work, share):
    """The processor time of the rest of work after a signal, as a share of what all of it takes. The signal comes after this share."""

    def handle(number, frame):
        raise Signal

    # A collection takes as long as it takes.
    gc.disable()
    start = time.process_time()
    work()
    whole = time.process_time() - start
    handler = signal.signal(signal.SIGPROF, handle)
    try:
        start = time.process_time()
        with pytest.raises(Signal):
            signal.setitimer(signal.ITIMER_PROF, whole * share)
            work()
        return (time.process_time() - start) / whole - share
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        gc.enable()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals")
def test_signals_are_seen_while_lists_are_made():
    numbers = ox.Tensor(numpy.zeros(6_000_000, "int32"))
    texts = ox.Tensor([str(number) for number in range(1_000_000)])
    listed = [0.5] * 3_000_000
    rules = "".join(f"rule r{i}: exact from (x) => (y) {{ y = Neg (Neg (x)) }} to (x) => (x) {{}}\n" for i in range(15_000))
    for work in (numbers.tolist, texts.tolist, lambda: ox.Tensor(listed), lambda: ox.Rules.parse(rules)):
        # The rest would be 0.9 if nothing looked for signals.
        assert seconds_after_a_signal(work, 0.1) < 0.6


def in_little_memory(path, megabytes, program):
    """Runs a program in a new process, in which `m` is the model of the file and `attempt` prints what ends a call."""
    start = f"""
import onnxkit as ox, resource
path = {str(path)!r}
def attempt(work):
    try:
        work()
    except MemoryError as error:
        print("refused:", error)
    else:
        print("done")
def limit():
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ({megabytes} << 20),) * 2)
"""
    command = [sys.executable, "-c", start + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_memory_that_is_refused_is_an_exception(tmp_path):
    path = tmp_path / "m.onnx"
    chain(60_000).save(path)
    program = """
contents = open(path, "rb").read()
evaluator = ox.Evaluator(ox.parse("g (float[2] x) => (float[2] y) { y = Neg (x) }"), threads=64)
limit()
large = path + ".large"
with open(large, "wb") as file:
    file.truncate(256 << 20)
for work in (lambda: ox.load(path), lambda: ox.loads(contents), lambda: ox.load(large), lambda: evaluator.run({"x": [1.0, 2.0]})):
    attempt(work)
"""
    lines = in_little_memory(path, 1, program)
    assert len(lines) == 4 and all(line.startswith("refused") for line in lines)
    assert "cannot be read: Cannot allocate memory" in lines[2]
    assert "64 threads cannot be started" in lines[3]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_memory_that_is_refused_ends_calls_not_the_process(tmp_path):
    path = tmp_path / "m.onnx"
    chain(60_000).save(path)
    program = """
m, text = ox.load(path), ox.load(path).to_text()
small = ox.parse("g (float[2] x) => (float[2] y) { y = Neg (x) }")
limit()
for work in (
    lambda: ox.infer(m, inplace=False),
    lambda: ox.check(m),
    lambda: ox.simplify(m, inplace=False),
    lambda: ox.parse(text),
    lambda: ox.half(m, inplace=False, run=False),
    lambda: ox.split(m, 3),
    lambda: ox.compare(m, m),
    lambda: m.nodes_table(),
):
    attempt(work)
# What was refused is free again.
attempt(lambda: ox.check(small))
# Many short edits end, too.
def build():
    for index in range(1 << 30):
        ox.ops.Neg(small.graph, small.graph.inputs[0])
attempt(build)
"""
    lines = in_little_memory(path, 1, program)
    assert sum(line.startswith("refused: the system refuses memory") for line in lines[:8]) >= 6
    assert lines[8:] == ["done", lines[-1]] and lines[-1].startswith("refused")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_memory_that_is_refused_for_results_is_an_exception(tmp_path):
    path = tmp_path / "m.onnx"
    model = chain(30_000)
    model.set_metadata("long", "x" * 20_000_000)
    model.save(path)
    program = """
m = ox.load(path)
table = m.nodes_table()
kept = []
def until_refused(work):
    try:
        while True:
            kept.append(work())
    finally:
        kept.clear()
limit()
for work in (lambda: m.to_text(full=True), table.to_dict, lambda: m.metadata, lambda: ox.info(m).json()):
    attempt(lambda: until_refused(work))
"""
    lines = in_little_memory(path, 100, program)
    assert len(lines) == 4 and all(line.startswith("refused") for line in lines)
