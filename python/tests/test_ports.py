"""The programs of `python/examples/ports`, with tests of what must not match."""

import subprocess
import sys

import pytest
from programs import operators, program

import onnxkit as ox

NORM = """<ir_version: 8, opset_import: ["": 13]> g (float[batch,8] x) => (float[batch,8] y)
    <float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] b = {1, 1, 1, 1, 0, 0, 0, 0}> {
    t = Constant <value = float {EXPONENT}> ()
    e = Constant <value = float {EPSILON}> ()
    i = Identity (s)
    m = ReduceMean <axes = [AXIS]> (x) d = Sub (x, m) p = Pow (d, t) v = ReduceMean <axes = [-1]> (p)
    w = Add (v, e) r = Sqrt (w) n = Div (d, r) k = Mul (i, n) y = Add (k, b) }"""


def norm(exponent="2.0", epsilon="1e-12", axis="-1"):
    return ox.parse(NORM.replace("EXPONENT", exponent).replace("EPSILON", epsilon).replace("AXIS", axis))


def test_layer_norm_plugin():
    model = norm()
    assert program("ports/layer_norm_plugin").use_plugin(model) == 1
    assert operators(model) == ["LayerNormPlugin"] and model.opsets["trt.plugins"] == 1
    [node] = model.nodes()
    assert [value.name for value in (*node.inputs, *node.outputs)] == ["x", "s", "b", "y"]
    assert not ox.check(model).errors
    for other in ({"exponent": "3.0"}, {"epsilon": "1e-5"}, {"axis": "0"}):
        assert program("ports/layer_norm_plugin").use_plugin(norm(**other)) == 0, other


def test_common_subexpressions():
    text = """g (float[2] x) => (float[2] y, float[2] z, float[2] r) {
        a = Neg (x) b = Neg (x) c = Elu <alpha = 0.0> (a) d = Elu <alpha = -0.0> (b) e = Elu <alpha = 0.0> (b)
        y = Add (c, d) z = Sub (e, c) r = Sub (c, e) }"""
    model = ox.parse(text)
    assert program("ports/common_subexpressions").eliminate(model) == 3
    assert [value.name for value in model.graph.outputs] == ["y", "z", "r"]
    ox.check(model).raise_for_errors()
    ox.compare(text, model).raise_for_errors()
    text = "g (float[2] x) => (float[2] y) { a = RandomNormalLike (x) b = RandomNormalLike (x) y = Sub (a, b) }"
    assert program("ports/common_subexpressions").eliminate(ox.parse(text)) == 0


def swish(bias="3.0", low="0.0", high="6.0", divisor="6.0", sizes="N,4", shape="", opset=14):
    return f"""<ir_version: 8, opset_import: ["": {opset}]> g (float[{sizes}] x) => (y)
        <float{shape} b = {{{bias}}}, float l = {{{low}}}, float h = {{{high}}}, float d = {{{divisor}}}>
        {{ a = Add (b, x) c = Clip (a, l, h) e = Mul (x, c) y = Div (e, d) }}"""


def edited(text):
    model = ox.parse(text)
    done = ox.run_passes(model, program("ports/hard_swish").RULES, prove=True)
    return operators(model) if done.edits else None


def test_hard_swish():
    assert edited(swish()) == ["HardSwish"]
    assert edited(swish(shape="[1]")) == ["HardSwish"]
    wrong = ({"bias": "3.01"}, {"low": "-1.0"}, {"high": "6.5"}, {"divisor": "5.0"}, {"opset": 13}, {"shape": "[1,1,1]"})
    for other in wrong:
        assert edited(swish(**other)) is None, other
    text = '<ir_version: 8, opset_import: ["": 14]> g (float[N] x) => (y) { h = HardSigmoid <alpha = ALPHA> (x) y = Mul (x, h) }'
    assert edited(text.replace("ALPHA", "0.16666667")) == ["HardSwish"]
    assert edited(text.replace("ALPHA", "0.2")) is None


@pytest.mark.parametrize(
    ("a", "b", "c", "is_gemm"),
    [("N,3", "3,4", "4", True), ("N,3", "3,M", "M", True), ("N,3", "3,4", "5,1,4", False), ("1,N,3", "3,4", "4", False), ("N,3", "3,M", "4", False)],
)
def test_gemm(a, b, c, is_gemm):
    text = f"g (float[{a}] a, float[{b}] b, float[{c}] c) => (y) {{ m = MatMul (a, b) y = Add (m, c) }}"
    assert edited(text) == (["Gemm"] if is_gemm else None)


def test_the_rules_hold(tmp_path):
    (tmp_path / "ports.onnxrules").write_text("\n".join(rules.text for rules in program("ports/hard_swish").RULES))
    command = [sys.executable, "-m", "onnxkit", "check", str(tmp_path / "ports.onnxrules"), "--prove"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def test_gemm_of_transposed():
    text = "g (float[3,N] a, float[4,3] b, float[4] c) => (y) { s = Transpose <perm = [1, 0]> (a) t = Transpose <perm = [1, 0]> (b) m = MatMul (s, t) y = Add (c, m) }"
    model = ox.parse(text)
    ox.run_passes(model, program("ports/hard_swish").RULES, prove=True)
    [node] = model.nodes()
    assert (node.op_type, dict(node.attrs.items())) == ("Gemm", {"transA": 1, "transB": 1})
