"""Passes and rules in Python."""

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
