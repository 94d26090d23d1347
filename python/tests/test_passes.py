"""Passes and rules in Python."""

import functools

import numpy
import pytest

import onnxkit as ox

RELUS = "g (float[N] x) => (float[N] y) { a = Relu (x) b = Relu (a) y = Neg (b) }"


@ox.pass_("no-double-relu")
def no_double_relu(cx):
    for node in cx.nodes("Relu"):
        before = node.inputs[0].producer()
        if before is not None and before.op_type == "Relu":
            with cx.patch(node, before) as p:
                p.replace(node.outputs[0], node.inputs[0])


@ox.pass_("wrong")
def wrong(cx):
    for node in cx.nodes("Neg"):
        with cx.patch(node) as p:
            p.replace(node.outputs[0], p.add("Abs", [node.inputs[0]]))


@ox.pass_("add-to-double", exactness="exact")
def add_to_double(cx):
    for node in cx.nodes("Add"):
        if node.inputs[0] == node.inputs[1] and node.inputs[0].dtype == ox.DType.FLOAT:
            with cx.patch(node) as p:
                p.replace(node.outputs[0], p.add("Mul", [node.inputs[0], p.constant(2.0)]))


def test_edits_are_proved():
    model = ox.parse(RELUS)
    result = ox.run_passes(model, [no_double_relu], prove=True)
    assert result.edits == 1 and result.proved + result.tested == 1
    assert [node.op_type for node in model.nodes()] == ["Relu", "Neg"]


def test_wrong_edits_are_refused():
    model = ox.parse(RELUS)
    before = bytes(model)
    result = ox.run_passes(model, [wrong], prove=True)
    assert result.edits == 0 and bytes(model) == before
    assert result.refused[0]["refuted"] and result.refused[0]["reason"]
    with pytest.raises(ox.EditError):
        result.raise_if_refuted()


def test_new_nodes_and_constants():
    model = ox.parse("g (float[N] x) => (float[N] y) { y = Add (x, x) }")
    copy = model.clone()
    result = ox.run_passes(model, [add_to_double], prove=True)
    assert result.edits == 1, result.to_dict()
    assert "Mul" in [node.op_type for node in model.nodes()]
    assert ox.compare(copy, model).agrees
    assert [value.name for value in model.graph.outputs] == ["y"]


def test_exceptions_come_through():
    @ox.pass_("fails")
    def fails(cx):
        raise KeyError("mine")

    model = ox.parse(RELUS)
    with pytest.raises(KeyError, match="mine"):
        ox.run_passes(model, [fails])
    with pytest.raises(ox.ArgumentError, match="does not exist"):
        ox.run_passes(model, ["nothing"])
    assert len(model) == 3


def test_standard_passes_by_name():
    assert "no-identities" in ox.passes()
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Identity (x) y = Relu (a) }")
    assert ox.run_passes(model, ["no-identities"]).edits == 1


def test_rules():
    @ox.rule
    def relu_relu(op, x):
        return op.Relu(op.Relu(x)), op.Relu(x)

    model = ox.parse(RELUS)
    assert ox.run_passes(model, [relu_relu], prove=True).edits == 1

    two = ox.rule(lambda op, x: op.Neg(op.Neg(x)), lambda op, x: x, name="neg-neg")
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Neg (x) b = Neg (a) y = Relu (b) }")
    assert ox.run_passes(model, [two], prove=True).nodes_after == 1

    text = """# Two negations cancel.
rule neg-neg: exact
from (x) => (y) {
    y = Neg (Neg (x))
}
to (x) => (x) {}
"""
    rules = ox.Rules.parse(text)
    assert rules.names == ["neg-neg"] and len(rules) == 1
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Neg (x) b = Neg (a) y = Relu (b) }")
    assert ox.run_passes(model, [rules]).nodes_after == 1
    with pytest.raises(ox.RuleError) as caught:
        ox.Rules.parse("rule nothing")
    assert caught.value.findings


def test_shapes_are_assumptions():
    @ox.pass_("no-reshape")
    def no_reshape(cx):
        for node in cx.nodes("Reshape"):
            with cx.patch(node) as p:
                p.tap(node.inputs[0])
                if p.shape(node.inputs[0]) == p.shape(node.outputs[0]):
                    p.replace(node.outputs[0], node.inputs[0])

    model = ox.parse("g (float[N,M] x) => (float[N,M] y) { s = Shape (x) r = Reshape (x, s) y = Relu (r) }")
    result = ox.run_passes(model, [no_reshape], prove=True)
    assert result.edits == 1, result.to_dict()


def test_one_pass_is_a_list_of_one():
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Identity (x) y = Neg (a) }")
    assert ox.run_passes(model.clone(), "no-identities").nodes_after == 1
    assert ox.run_passes(model.clone(), ox.rule(lambda op, x: (op.Neg(op.Identity(x)), op.Neg(x)), name="r")).nodes_after == 1
    with pytest.raises(TypeError, match="ox.pass_"):
        ox.run_passes(model, [lambda cx: None])


def test_a_pass_that_always_edits_ends():
    @ox.pass_("swap")
    def swap(cx):
        for node in cx.nodes("Add"):
            with cx.patch(node) as p:
                p.replace(node.outputs[0], p.add("Add", [node.inputs[1], node.inputs[0]]))

    done = ox.run_passes(ox.parse("g (float[N] x, float[N] z) => (float[N] y) { y = Add (x, z) }"), swap)
    assert done.ended == "rounds" and "rounds" in repr(done)
    assert ox.run_passes(ox.parse("g (float[N] x) => (float[N] y) { y = Neg (x) }"), swap).ended is None


def test_constants_behind_identities():
    found = []

    @ox.pass_("look")
    def look(cx):
        for node in cx.nodes("Add"):
            with cx.patch(node) as p:
                found.append(p.constant_of(node.inputs[1]))
                p.replace(node.outputs[0], p.add("Sub", [node.inputs[0], p.constant(-found[-1].numpy())]))

    model = ox.parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { v = Identity (w) u = Identity (v) y = Add (x, u) }")
    assert ox.run_passes(model, look, prove=True).edits == 1
    assert found[0].tolist() == [1.0, 2.0]


def patched(describe):
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Relu (x) y = Neg (a) }")

    @ox.pass_("p")
    def made(cx):
        [node] = cx.nodes("Neg")
        with cx.patch(node) as p:
            describe(cx, p, node)

    ox.run_passes(model, made)


def test_what_a_patch_cannot_use():
    with pytest.raises(TypeError, match="constant"):
        patched(lambda cx, p, node: p.replace(node.outputs[0], p.add("Add", [node.inputs[0], 1.0])))
    with pytest.raises(TypeError):
        patched(lambda cx, p, node: p.replace(node.outputs[0], None))
    with pytest.raises(TypeError):
        patched(lambda cx, p, node: p.replace(node, node.inputs[0]))
    with pytest.raises(ValueError, match="another patch"):
        patched(lambda cx, p, node: p.replace(node.outputs[0], cx.patch(node).add("Abs", node.inputs)))


def test_forms_of_traced_rules():
    def text(function, **options):
        return ox.rule(function, name="r", **options).text

    assert "Div (x, 1.4142135623730951)" in text(lambda op, x: (op.Erf(x / numpy.sqrt(2)), op.Relu(x)))
    assert "Mul (1.4142135623730951, x)" in text(lambda op, x: (op.Erf(numpy.sqrt(2) * x), op.Relu(x)))
    assert "<alpha = 2.0>" in text(lambda op, x: (op.Elu(op.Neg(x), alpha=numpy.float32(2)), op.Relu(x)))
    assert "perm = [1, 0]" in text(lambda op, x: (op.Relu(op.Transpose(x, perm=numpy.array([1, 0]))), op.Transpose(x, perm=[1, 0])))
    assert "(x, [0])" in text(lambda op, x: (op.Relu(op.Unsqueeze(x, [numpy.int64(0)])), op.Unsqueeze(x, [0])))

    def conv(op, x, w, b=None):
        return op.Conv(op.Neg(x), op.Neg(w), b, _others=True), op.Conv(x, w, b, _others=True)

    rules = ox.rule(conv, exactness="rounding")
    assert "from (x, w, b?)" in rules.text and "Conv <...>" in rules.text
    for bias in ("", ", b"):
        model = ox.parse(
            f"g (float[1,2,4,4] x, float[3,2,1,1] w, float[3] b) => (y) {{ m = Neg (x) n = Neg (w) y = Conv <strides = [2, 2]> (m, n{bias}) }}"
        )
        assert ox.run_passes(model, rules, prove=True).edits == 1
        [node] = model.nodes()
        assert node.attrs["strides"] == [2, 2] and len(node.inputs) == (3 if bias else 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda op, *operands: (op.Neg(operands[0]), operands[0]),
        lambda: None,
        lambda op, x: op.Neg(x),
        lambda op, x: (op.Neg(x), 0.0),
        lambda op, x: (op.And(x, True), x),
        functools.partial(lambda op, x: (op.Neg(x), x)),
    ],
)
def test_functions_that_are_no_rules(function):
    with pytest.raises(TypeError):
        ox.rule(function, name="r")


def test_a_lambda_has_no_name():
    with pytest.raises(TypeError, match="name="):
        ox.rule(lambda op, x: (op.Neg(op.Neg(x)), x))
