"""Signals: a call that one of them ends has changed nothing."""

import itertools
import os
import pickle
import signal
import time

import numpy
import pytest

import onnxkit as ox
from onnxkit import _core

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals")


class Signal(BaseException):
    """What the handler of a signal raises."""


@pytest.fixture(autouse=True)
def handler():
    def handle(number, frame):
        raise Signal

    before = signal.signal(signal.SIGALRM, handle)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def with_signal(items):
    """The items, and then a signal, of which nothing in Python can see anything before the call returns that takes the items."""
    alarm = map(signal.setitimer, [signal.ITIMER_REAL], [1e-6])
    return itertools.chain(items, itertools.filterfalse(len, alarm))


def chain(nodes):
    lines = "".join(f" v{i + 1} = Neg (v{i})" for i in range(nodes)).replace("(v0)", "(x)")
    return ox.parse(f"g (float[N] x) => (float[N] y) {{{lines} y = Relu (v{nodes}) }}")


def test_a_signal_during_short_work_comes_before_its_change():
    model = chain(2000)
    before = bytes(model)
    with pytest.raises(Signal):
        _core.rename(model, with_signal([("v1", "other")]))
    assert bytes(model) == before
    assert _core.rename(model, [("v1", "other")]) == [("v1", "other")]


WORKS = {
    "cleanup": lambda model, path: model.cleanup(),
    "convert": lambda model, path: ox.convert(model, 13),
    "fix": lambda model, path: ox.fix(model),
    "half": lambda model, path: ox.half(model, run=False),
    "infer": lambda model, path: ox.infer(model),
    "outline": lambda model, path: ox.outline(model),
    "passes": lambda model, path: ox.run_passes(model, "no-identities"),
    "rename": lambda model, path: ox.rename(model, lambda name: "p" + name),
    "resize": lambda model, path: ox.resize(model, {"N": 4}),
    "retype": lambda model, path: ox.retype(model, {"x": "double"}),
    "save": lambda model, path: model.save(path),
    "simplify": lambda model, path: ox.simplify(model),
    "sort": lambda model, path: model.sort(),
    "strip_weights": lambda model, path: ox.strip_weights(model, everything=True, min_elements=1),
}


@pytest.mark.parametrize("name", WORKS)
def test_interrupted_calls_change_everything_or_nothing(name, tmp_path):
    path = tmp_path / "m.onnx"
    original = chain(300)
    for node in list(original.graph.nodes)[::3]:
        node.op_type = "Identity"
    original.graph.add("Add", [original.graph["v7"], original.graph.constant([1.0], name="w")])
    # What depends on the order of the nodes is changed by sorting.
    original.graph.nodes[0].move_before(original.graph.nodes[5]) if name in ("fix", "sort") else None
    done = original.clone()
    start = time.perf_counter()
    WORKS[name](done, path)
    whole = time.perf_counter() - start
    results = {bytes(original), bytes(done)}
    old = b"" if name != "save" else bytes(chain(1))
    for share in numpy.linspace(0.05, 1.0, 12):
        model = original.clone()
        path.write_bytes(old)
        try:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, whole * share))
            WORKS[name](model, path)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Signal:
            pass
        assert bytes(model) in results
        assert name != "save" or path.read_bytes() in (old, bytes(original))


def seconds_without_a_look(work):
    """The longest processor time between two handled signals, as a share of all of it."""
    marks = []
    before = signal.signal(signal.SIGPROF, lambda *_: marks.append(time.process_time()))
    try:
        marks.append(time.process_time())
        signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    marks.append(time.process_time())
    return max(b - a for a, b in itertools.pairwise(marks)) / (marks[-1] - marks[0])
