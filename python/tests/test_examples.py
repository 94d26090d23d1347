"""The programs of `python/examples`."""

import numpy
from programs import operators, program

import onnxkit as ox


def test_replace_with_clip():
    text = """g (float[4] x) => (float[4] y) < float lo = {0}, float hi = {6} > {
        i = Identity (x) a = Min (hi, i) y = Max (lo, a) }"""
    model = ox.parse(text)
    program("replace_with_clip").replace_with_clip(model, "i", "lo", "hi", "y")
    assert operators(model) == ["Identity", "Clip"]
    ox.compare(text, model).raise_for_errors()


def test_eliminate_identities():
    text = """g (bool c, float[2] x) => (float[2] y, float[2] z) {
        i = Identity (x)
        r = Relu (i)
        y = Identity (r)
        s = If (c) <then_branch = t () => (float[2] a) { n = Neg (i) a = Identity (n) },
                    else_branch = e () => (float[2] b) { b = Abs (x) }>
        z = Identity (s)
    }"""
    model = ox.parse(text)
    assert program("eliminate_identities").eliminate_identities(model) == 4
    assert sorted(operators(model)) == ["Abs", "If", "Neg", "Relu"]
    assert [value.name for value in model.graph.outputs] == ["y", "z"]
    ox.check(model).raise_for_errors()
    ox.compare(text, model).raise_for_errors()
    through = ox.parse("g (float[2] x) => (float[2] y) { y = Identity (x) }")
    assert program("eliminate_identities").eliminate_identities(through) == 0


def test_fuse_gelu():
    rules = program("fuse_gelu")
    text = """g (float[N] x) => (float[N] y, float[N] z) < float s = {1.4142135}, float h = {0.5}, float o = {1.0} > {
        d = Div (x, s) e = Erf (d) f = Add (e, o) g = Mul (x, f) y = Mul (h, g)
        i = Div (y, s) j = Erf (i) k = Add (j, o) l = Mul (h, k) z = Mul (y, l)
    }"""
    model = ox.parse(text)
    done = ox.run_passes(model, [rules.gelu_outer, rules.gelu_inner], prove=True)
    assert operators(model) == ["Gelu", "Gelu"], done
    assert done.proved + done.tested == 2


def test_five_passes():
    passes = program("five_passes")
    text = """g (float[N,4] x) => (float[N,4] y) { a = Relu (x) b = Relu (x) y = Add (a, b) }"""
    model = ox.parse(text)
    assert ox.run_passes(model, [passes.one_of_equal_nodes, "no-dead-nodes"], prove=True).edits == 1
    assert operators(model) == ["Relu", "Add"]

    model = ox.Model()
    graph = model.graph
    x = graph.add_input("x", "float[1,2,4,4]")
    w = graph.constant(numpy.random.default_rng(1).normal(size=(3, 2, 3, 3)).astype(numpy.float32))
    norm = [graph.constant(numpy.float32(numbers)) for numbers in ([1, 2, 3], [0, 1, 0], [0.5, 0, 1], [1, 2, 0.5])]
    y = ox.ops.BatchNormalization(graph, ox.ops.Conv(graph, x, w), *norm)
    y.type = "float[1,3,2,2]"
    graph.add_output(y)
    before = model.clone()
    done = ox.run_passes(model, [passes.conv_with_statistics, "no-dead-nodes"], prove=True)
    assert operators(model) == ["Conv"], done.to_dict()
    assert ox.compare(before, model, rtol=1e-4, atol=1e-4).agrees

    text = """g (float[N,8] x) => (float[N,8] y) < int64[1] a = {-1}, float t = {2.0}, float e = {1e-5} > {
        m = ReduceMean (x, a) d = Sub (x, m) p = Pow (d, t) v = ReduceMean (p, a) w = Add (v, e) s = Sqrt (w) y = Div (d, s) }"""
    model = ox.parse(text)
    done = ox.run_passes(model, [passes.layer_normalization, "no-dead-nodes"], prove=True)
    assert "LayerNormalization" in operators(model), done.to_dict()
    ox.compare(text, model, rtol=1e-4).raise_for_errors()

    chain = ["Relu", "Neg", "Exp", "Sin", "Cos", "Tanh", "Abs"]
    steps = [f"m{i} = Mul (x{i}0, w{i}) " + " ".join(f"x{i}{k + 1} = {op} ({f'x{i}{k}' if k else f'm{i}'})" for k, op in enumerate(chain)) for i in range(3)]
    text = f"""g (float[4] x00) => (float[4] y) <float[4] w0 = {{1, 2, 3, 4}}, float[4] w1 = {{4, 3, 2, 1}}, float[4] w2 = {{1, 1, 2, 2}}> {{
        {steps[0]} x10 = Identity (x07) {steps[1]} x20 = Identity (x17) {steps[2]} y = Identity (x27) }}"""
    model = ox.parse(text)
    assert operators(passes.first_half(model)) == operators(model)[:14]
    assert passes.outlined_and_back(model) == (1, 3)
    ox.compare(text, model).raise_for_errors()


def mixed_model():
    model = ox.Model()
    graph, random = model.graph, numpy.random.default_rng(3)
    x = graph.add_input("x", "float[N,2,6,6]")
    w = graph.constant(random.normal(size=(4, 2, 3, 3)).astype(numpy.float32), name="w")
    c = ox.ops.Relu(graph, ox.ops.Conv(graph, x, w, pads=[1, 1, 1, 1]))
    p = ox.ops.Flatten(graph, ox.ops.GlobalAveragePool(graph, c))
    y = ox.ops.Softmax(graph, ox.ops.MatMul(graph, p, graph.constant(random.normal(size=(4, 5)).astype(numpy.float32))))
    y.name, y.type = "y", "float[N,5]"
    graph.add_output(y)
    return model


def test_half_precision():
    model = mixed_model()
    half = program("half_precision").half_precision(model)
    ox.check(half).raise_for_errors()
    assert half.graph.outputs[0].name == "y"
    assert {str(value.const_value.dtype) for value in half.graph.initializers.values()} == {"float16"}
    inference = ox.infer(half, inplace=False)
    [conv] = ox.find(half, "Conv()")
    assert inference.dtype(conv.outputs[0]) == ox.DType.FLOAT16
    assert operators(half).count("Cast") == 2
    assert ox.compare(model, half, sizes={"N": 2}, rtol=1e-2, atol=1e-2).agrees
    assert not ox.compare(model, half, sizes={"N": 2}, rtol=1e-7, atol=1e-7).agrees


def test_quantize():
    model = mixed_model()
    before = model.clone()
    assert program("quantize").quantize(model) == 2
    ox.check(model).raise_for_errors()
    assert operators(model).count("DequantizeLinear") == 4
    assert ox.compare(before, model, sizes={"N": 2}, rtol=0.1, atol=0.05).agrees


def test_memory_plan():
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Relu (x) b = Neg (a) c = Abs (b) y = Exp (c) }")
    plan = program("memory_plan").plan(model, N=100)
    assert (plan.bytes, plan.peak, plan.unknown, len(plan.places)) == (800, 800, [], 4)
    assert program("memory_plan").plan(model).unknown == ["a", "b", "c", "y"]
