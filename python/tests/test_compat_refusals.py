"""What `onnx` refuses on this package: the same as on its native module, where the specification agrees."""

from __future__ import annotations

import pytest
from replaced import run, same

# Prints how inference answers in each mode, and how the checker does.
MODES = """
from onnx import TensorProto as T, helper
INFER, CHECK = onnx.shape_inference.infer_shapes, onnx.checker.check_model
def vi(name, kind=T.FLOAT, dims=(2, 3)): return helper.make_tensor_value_info(name, kind, dims)
def model(nodes, inputs, outputs, versions={"": 21}, functions=(), **parts):
    graph = helper.make_graph(nodes, "g", inputs, outputs, **parts)
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return onnx.ModelProto(ir_version=10, graph=graph, opset_import=imports, functions=functions)
def answers(name, model):
    found = []
    for mode in ({}, {"check_type": True}, {"strict_mode": True}, {"check_type": True, "strict_mode": True}):
        try:
            INFER(model, **mode)
            found.append("ok")
        except onnx.shape_inference.InferenceError:
            found.append("InferenceError")
        except onnx.checker.ValidationError:
            found.append("ValidationError")
    print(name, *found)
def port(name): return onnx.ValueInfoProto(name=name)
def node(*args, **kwargs): return helper.make_node(*args, **kwargs)
"""


def test_types_are_checked_without_strict_mode() -> None:
    program = MODES + """
texts, ints, bools = vi("s", T.STRING), vi("i", T.INT64), vi("b", T.BOOL)
for op, names in (("Relu", "s"), ("Add", "xi"), ("Add", "ss"), ("Mul", "bb"), ("Where", "xxx"), ("Concat", "xi"), ("Sum", "xi"),
                  ("Gather", "xx"), ("GatherElements", "xx"), ("And", "xx"), ("Pow", "xi"), ("Softmax", "i"), ("Not", "x"), ("Max", "xxi")):
    kwargs = {"axis": 0} if op == "Concat" else {}
    answers(f"{op} of {names}", model([node(op, list(names), ["y"], **kwargs)], [vi("x"), texts, ints, bools], [port("y")]))
# More and fewer operands than the operator has.
for op, count, outputs in (("Relu", 2, 1), ("Add", 3, 1), ("Add", 1, 1), ("Relu", 1, 2), ("Relu", 0, 1), ("Relu", 1, 0), ("Clip", 4, 1)):
    answers(f"{op} {count} {outputs}", model([node(op, ["x"] * count, list("yzuvw")[:outputs])], [vi("x")], []))
# The types of outputs, and of nodes in nested graphs and functions.
answers("output", model([node("Relu", ["x"], ["y"])], [vi("x")], [vi("y", T.INT8)]))
branch = helper.make_graph([node("Relu", ["s"], ["r"])], "b", [], [port("r")])
answers("nested", model([node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], [vi("c", T.BOOL, []), texts], [port("y")]))
called = helper.make_function("own", "f", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 21)])
answers("function", model([node("f", ["s"], ["y"], domain="own")], [texts], [port("y")], {"": 21, "own": 1}, [called]))
"""
    found = same(program).splitlines()
    assert len(found) == 24 and "Relu of s ok InferenceError ok InferenceError" in found and "Add 3 1 ok InferenceError ok InferenceError" in found


def test_strict_inference_refuses_operands_without_a_type() -> None:
    program = MODES + """
for op, count in (("Relu", 1), ("Add", 2), ("Concat", 2), ("Transpose", 1), ("Softmax", 1), ("MatMul", 2), ("Shape", 1), ("Cast", 1)):
    kwargs = {"Concat": {"axis": 0}, "Cast": {"to": 7}}.get(op, {})
    for name in ("nothing", "", "later", "untyped", "custom"):
        nodes = [node("Own", ["x"], ["custom"], domain="own")] * (name == "custom")
        nodes += [node(op, [name] + ["x"] * (count - 1), ["y"], **kwargs)]
        nodes += [node("Neg", ["x"], ["later"])] * (name == "later")
        answers(f"{op} {name}", model(nodes, [vi("x"), port("untyped")], [port("y")], {"": 21, "own": 1}))
body = [node("Relu", ["outer"], ["b"])]
reading = helper.make_function("own", "f", ["a"], ["b"], body, [helper.make_opsetid("", 21)])
nodes = [node("Neg", ["x"], ["outer"]), node("f", ["x"], ["y"], domain="own")]
answers("outer value", model(nodes, [vi("x")], [port("y")], {"": 21, "own": 1}, [reading]))
answers("outer value, not called", model([node("Neg", ["x"], ["y"])], [vi("x")], [port("y")], {"": 21, "own": 1}, [reading]))
"""
    found = same(program).splitlines()
    assert "Relu nothing ok ok InferenceError InferenceError" in found and "Relu custom ok ok ok ok" in found
    assert "outer value ok ok InferenceError InferenceError" in found


def test_operator_sets_that_are_not_imported_are_refused_in_every_mode() -> None:
    program = MODES + """
relu = node("Relu", ["x"], ["y"])
answers("nothing", model([relu], [vi("x")], [port("y")], {}))
answers("nothing, no node", model([], [vi("x")], [], {}))
answers("other", model([node("Scaler", ["x"], ["y"], domain="ai.onnx.ml")], [vi("x")], [port("y")]))
answers("custom", model([node("Own", ["x"], ["y"], domain="own")], [vi("x")], [port("y")]))
answers("custom, imported", model([node("Own", ["x"], ["y"], domain="own")], [vi("x")], [port("y")], {"": 21, "own": 1}))
for written in ("", "ai.onnx"):
    for imported in ("", "ai.onnx"):
        answers(f"{written!r} {imported!r}", model([node("Relu", ["x"], ["y"], domain=written)], [vi("x")], [port("y")], {imported: 21}))
branch = helper.make_graph([node("Own", ["x"], ["r"], domain="own")], "b", [], [port("r")])
answers("nested", model([node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], [vi("c", T.BOOL, []), vi("x")], [port("y")]))
called = helper.make_function("own", "f", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [])
answers("function", model([node("f", ["x"], ["y"], domain="own")], [vi("x")], [port("y")], {"": 21, "own": 1}, [called]))
answers("twice", model([relu], [vi("x")], [port("y")], {"": 21, "own": 1}, [called, called]))
"""
    found = same(program).splitlines()
    assert found[0] == "nothing" + " InferenceError" * 4 and "'ai.onnx' ''" + " InferenceError" * 4 in found
    assert found[-1] == "twice" + " ValidationError" * 4


def test_initializers_contradict_declared_types_in_every_mode_and_sizes_below_zero_in_strict_mode() -> None:
    program = MODES + """
weight = helper.make_tensor("w", T.FLOAT, [2, 3], [0] * 6)
for kind, dims in ((T.FLOAT, [2, 3]), (T.FLOAT, ["N", 3]), (T.FLOAT, [-1, 3]), (T.FLOAT, [2]), (T.FLOAT, [2, 4]), (T.INT64, [2, 3])):
    answers(f"initializer {kind} {dims}", model([node("Relu", ["w"], ["y"])], [vi("w", kind, dims)], [port("y")], initializer=[weight]))
for dims in ([-1, 3], [2, -1], [-1, -1], ["N", 3], [2, 3]):
    answers(f"output {dims}", model([node("Relu", ["x"], ["y"])], [vi("x")], [vi("y", dims=dims)]))
    answers(f"input {dims}", model([node("Relu", ["z"], ["y"])], [vi("z", dims=dims)], [vi("y")]))
    answers(f"same {dims}", model([node("Relu", ["z"], ["y"])], [vi("z", dims=dims)], [vi("y", dims=dims)]))
    answers(f"none {dims}", model([node("Relu", ["z"], ["y"])], [vi("z", dims=dims)], [port("y")]))
    answers(f"value {dims}", model([node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["y"])], [vi("x")], [port("y")],
                                   value_info=[vi("a", dims=dims)]))
answers("flattened", model([node("Flatten", ["z"], ["y"])], [vi("z", dims=[-1, 3, 4])], [vi("y", dims=[-1, 12])]))
answers("batch", model([node("MatMul", ["z", "x"], ["y"])], [vi("z", dims=[-1, 5, 2]), vi("x")], [vi("y", dims=[-1, 5, 3])]))
"""
    found = same(program).splitlines()
    assert "initializer 1 [-1, 3]" + " InferenceError" * 4 in found
    assert "output [-1, 3] ok ok InferenceError InferenceError" in found and "same [-1, 3] ok ok ok ok" in found


INLINED = """
def operators(function, *args):
    try:
        model = function(onnx.parser.parse_model(TEXT), *args)
        print([node.op_type for node in model.graph.node], [function.name for function in model.functions])
    except (RuntimeError, onnx.checker.ValidationError) as error:
        print(type(error).__name__)
def inline(header, body, versions):
    global TEXT
    TEXT = f'<ir_version: 10, opset_import: ["": 21, "own": 1{header}]> g (float[2,3] x) => (float[M,N] y) {{ y = own.f (x) }} '
    TEXT += f'<domain: "own", opset_import: [{versions}]> f (x) => (y) {{ {body} }}'
    operators(onnx.inliner.inline_local_functions)
    operators(onnx.inliner.inline_local_functions, True)
    operators(onnx.inliner.inline_selected_functions, [("own", "f")])
    operators(onnx.inliner.inline_selected_functions, [])
"""


@pytest.mark.parametrize(("header", "body", "versions"), [
    ("", "y = Relu (x)", '"": 21'), ("", "y = Relu (x)", '"": 9'), ("", "y = Identity (x)", '"": 1'), ("", "y = Gelu (x)", '"": 20'),
    (', "ai.onnx.ml": 3', "y = ai.onnx.ml.Scaler <offset = [0.0], scale = [1.0]> (x)", '"": 21, "ai.onnx.ml": 1'),
    ("", "y = own.Other (x)", '"": 21, "own": 2'), ("", "y = z.Q (x)", '"": 21, "z": 2'), ("", "y = own.f (x)", '"": 21, "own": 1'),
])
def test_functions_of_other_versions_stay_or_are_converted_or_are_refused(header: str, body: str, versions: str) -> None:
    found = same(f"{INLINED}\ninline({header!r}, {body!r}, {versions!r})").splitlines()
    assert len(found) == 4


def test_attributes_that_are_operands_of_the_version_of_the_model_are_converted_for_each_call() -> None:
    program = """
    import numpy, onnxkit.backend
    def text(call, function, ports="float[2,3] x"):
        return (f'<ir_version: 10, opset_import: ["": 21, "own": 1]> g ({ports}) => (float[M,N] y) {{ {call} }} '
                f'<domain: "own", opset_import: ["": 9]> {function}')
    x = numpy.array([[-2, -1, 0], [1, 2, 7]], dtype=numpy.float32)
    for call, function in (
        ("y = own.f (x)", "f (x) => (y) { y = Clip <min = 0.0, max = 6.0> (x) }"),
        ("a = own.f <low = -1.0> (x) y = own.f <low = 1.0> (a)", "f <low> (x) => (y) { y = Clip <min: float = @low> (x) }"),
        ("y = own.f (x)", "f <low: float = 1.5> (x) => (y) { y = Clip <min: float = @low> (x) }"),
        ("y = own.f <p = [0, 1, 0, 2]> (x)", "f <p> (x) => (y) { y = Pad <pads: ints = @p, value = 3.0> (x) }"),
        ("y = own.f (x)", "f (x) => (y) { a = Abs (x) y = Pad <pads = [1, 0, 0, 0]> (a) }"),
        ("y = own.f (x)", 'f (x) => (y) { y = own.h (x) } <domain: "own", opset_import: ["": 6]> h (x) => (y) { y = Clip <max = 1.0> (x) }'),
    ):
        model = onnx.parser.parse_model(text(call, function).replace('["": 9]> f (x) => (y) { y = own.h', '["": 9, "own": 1]> f (x) => (y) { y = own.h'))
        inlined = onnx.inliner.inline_local_functions(model, True)
        onnx.checker.check_model(inlined, full_check=True)
        expected, found = (onnxkit.backend.run_model(one, [x])[0] for one in (model, inlined))
        same_sets = list(inlined.opset_import) == list(model.opset_import)
        print(len(inlined.functions), {node.domain for node in inlined.graph.node}, (expected == found).all(), same_sets)
    nested = text("y = If (c) <then_branch = t () => (r) { r = own.f (x) }, else_branch = e () => (r) { r = Neg (x) }>",
                  "f (x) => (y) { y = Clip <min = 0.0> (x) }", "float[2,3] x, bool c")
    inlined = onnx.inliner.inline_local_functions(onnx.parser.parse_model(nested), True)
    print([node.op_type for node in inlined.graph.node[0].attribute[0].g.node], len(inlined.functions))
    """
    found = run(program).splitlines()
    assert found[:-1] == ["0 {''} True True"] * 6
    assert found[-1].endswith("'Clip'] 0")


def test_calls_that_cannot_be_inlined_are_errors() -> None:
    program = """
    for body, versions in (("y = Clip (x, x, x, x)", 9), ("y = Add (x, outer)", 21)):
        model = onnx.parser.parse_model(
            f'<ir_version: 10, opset_import: ["": 21, "own": 1]> g (float[2] x) => (float[2] y) {{ outer = Neg (x) y = own.f (x) }} '
            f'<domain: "own", opset_import: ["": {versions}]> f (x) => (y) {{ {body} }}')
        try:
            onnx.inliner.inline_local_functions(model, True)
            print("inlined")
        except RuntimeError as error:
            print(error)
    """
    found = run(program).splitlines()
    assert "`Clip` cannot be converted" in found[0] and "the call `own.f` cannot be replaced" in found[1] and len(found) == 2


@pytest.mark.parametrize("install", ["onnxkit.compat.install()", ""])
def test_the_backend_takes_single_inputs_and_knows_what_it_cannot_run(install: str) -> None:
    program = """
    import numpy as np, onnxkit, onnxkit.backend as backend
    x = np.array([[-1, 2]], dtype=np.float32)
    relu, add = onnx.helper.make_node("Relu", ["x"], ["y"]), onnx.helper.make_node("Add", ["x", "z"], ["y"])
    for inputs in (x, [x], (x,), {"x": x}, np.float32(3), onnxkit.Tensor(x)):
        print(np.asarray(backend.run_node(relu, inputs)[0]).tolist())
    try:
        backend.run_node(add, x)
    except ValueError as error:
        print(error)
    def able(text): return backend.OnnxkitBackend.is_compatible(onnx.parser.parse_model(text))
    header = '<ir_version: 10, opset_import: ["": 21, "own": 1]> g (float[2] x, bool c) => (float[2] y)'
    nested = "{ y = If (c) <then_branch = t () => (r) { r = own.Foo (x) }, else_branch = e () => (r) { r = Neg (x) }> }"
    called = '{ y = own.f (x) } <domain: "own", opset_import: ["": 21]> f (x) => (y) { y = Fooo (x) }'
    print(able(header + "{ y = Relu (x) }"), able(header + "{ y = own.Foo (x) }"), able(header + "{ y = Fooo (x) }"), able(header + nested),
          able(header + called), able(header + called.replace("Fooo", "Neg")))
    print(backend.OnnxkitBackend.is_compatible(onnx.parser.parse_model(header + "{ y = Relu (x) }"), "CUDA"))
    """
    assert run(program, install=install).splitlines() == [
        *["[[0.0, 2.0]]"] * 4, "3.0", "[[0.0, 2.0]]", "the node has 2 inputs, but 1 are given", "True False False False False True", "False",
    ]


def test_lists_of_narrow_floats_are_bit_patterns_or_values() -> None:
    program = """
    def elements(text):
        try:
            graph = onnx.parser.parse_graph(f"g () => () <float16[2] w = {text}> {{ }}")
        except onnx.parser.ParseError:
            return "refused"
        return list(graph.initializer[0].int32_data)
    print(elements("{1, 2}"), elements("{1, 0.5}"), elements("{0.5, 1}"), elements("{inf, 1}"))
    """
    assert same(program) == "[1, 2] refused refused refused"


def test_constants_are_nodes_only_of_types_that_the_version_allows() -> None:
    program = """
    import onnx.version_converter
    text = '<ir_version: 10, opset_import: ["": 9]> g (float[3] x) => (int64[2] y) { y = Constant <value = int64[2] {1, 2}> () }'
    for version in (7, 8, 11):
        converted = onnx.version_converter.convert_version(onnx.parser.parse_model(text), version)
        onnx.checker.check_model(converted, full_check=True)
        print(version, [node.op_type for node in converted.graph.node])
    """
    assert run(program).splitlines() == [
        "7 ['Identity']", "8 ['Identity']", "11 ['Constant']",
    ]


def test_no_conversion_ends_with_an_operator_that_the_version_does_not_have() -> None:
    program = """
    import onnx.version_converter
    text = (
        '<ir_version: 10, opset_import: ["": 1]> g (float[1,2,3,4] x) => (float[M,N,O,P] y) '
        '{ y = Upsample <mode = "cubic", height_scale = 1.0, width_scale = 0.0> (x) }'
    )
    for version in (11, 13):
        try:
            print(onnx.version_converter.convert_version(onnx.parser.parse_model(text), version))
        except RuntimeError:
            print("refused")
    """
    assert run(program).splitlines() == ["refused"] * 2
