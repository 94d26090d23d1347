"""Forms that the reference infers beyond the specification. What contradicts the declared results of such a node is refused."""

from __future__ import annotations

import pytest
from replaced import run, same

# Version, inputs, node, and declared results, of which the first ones are those that the reference accepts.
FORMS = {
    "Conv": (21, "float[1,4,5,5] x, float[3,2,3,3] w", "y = Conv <group = 2> (x, w)",
             ["float[1,3,3,3] y", "float[1,4,3,3] y", "float[1,3,5,5] y", "float[3] y"]),
    "ConvInteger": (21, "uint8[1,2,5,5] x, uint8[3,2,3,3] w, uint8[2] z", "y = ConvInteger (x, w, z)",
                    ["int32[1,3,3,3] y", "int32[1,3,3,4] y", "int32[1] y"]),
    "GatherElements": (21, "float[3,4] x, int64[2] i", "y = GatherElements (x, i)", ["float[2] y", "float[3] y", "float[2,2] y"]),
    "Gemm": (6, "float[2,3] a, float[3,4] b, float[4] c", "y = Gemm (a, b, c)", ["float[2,4] y", "float[2,3] y", "float[4] y"]),
    "GRU": (21, "float[5,2,3] x, float[1,12,3] w, float[1,12,5] r", "y, z = GRU <hidden_size = 4> (x, w, r)",
            ["float[5,1,2,4] y, float[1,2,4] z", "float[5,1,2,5] y, float[1,2,4] z", "float[5,1,2,4] y, float[1,2,5] z"]),
    "If": (21, "bool[2] c, float[3] x", "y = If (c) <then_branch = t () => (a) { a = Relu (x) }, else_branch = e () => (b) { b = Neg (x) }>",
           ["float[3] y", "float[4] y", "float[1,3] y"]),
    "NonMaxSuppression": (21, "float[2,6,4] b, float[3,2,6] s", "y = NonMaxSuppression (b, s)", ["int64[N,3] y", "int64[N,4] y", "int64[N] y"]),
    "RotaryEmbedding": (23, "float[1,2,3,8] x, float[9,3] c, float[9,3] s, int64[1,3] p", "y = RotaryEmbedding (x, c, s, p)",
                        ["float[1,2,3,8] y", "float[1,2,3,9] y"]),
    "ScatterND": (21, "float[4,5] x, int64[2,1] i, float[2] u", "y = ScatterND (x, i, u)", ["float[4,5] y", "float[4,6] y", "float[4] y"]),
    "SoftmaxCrossEntropyLoss": (21, "float[2,3,4] x, int64[2] l", "y, z = SoftmaxCrossEntropyLoss (x, l)",
                                ["float y, float[2,3,4] z", "float[2] y, float[2,3,4] z", "float y, float[2,3,5] z"]),
    "SoftmaxCrossEntropyLoss none": (
        21, "float[2,3,4] x, int64[2] l", 'y, z = SoftmaxCrossEntropyLoss <reduction = "none"> (x, l)',
        ["float[2] y, float[2,3,4] z", "float[3] y, float[2,3,4] z", "float[2] y, float[2,3,5] z", "float[2,4] y, float[2,3,4] z"]),
    "Clip": (21, "float[3] x, float[1] l, float[2] h", "y = Clip (x, l, h)", ["float[3] y", "float[4] y", "float y"]),
    "OneHot": (21, "int64[3] i, int64[0] d, float[2] v", "y = OneHot (i, d, v)", ["float[3,N] y", "float[4,N] y", "float[3] y"]),
    "STFT": (21, "float[1,16] x", "s = Constant <value_int = 2> () f = Constant <value_int = 8> () y = STFT (x, s, , f)",
             ["float[1,5,8,2] y", "float[1,5,7,2] y", "float[1,4,8,2] y"]),
    "CenterCropPad": (21, "float[4,5] x", "s = Constant <value_ints = [2, 3]> () y = CenterCropPad (x, s)",
                      ["float[2,3] y", "float[2,4] y", "float[2,3,1] y", "float[2] y"]),
    "Add": (6, "float[2] a, float[3] b", "y = Add (a, b)", ["float[2] y", "float[3] y", "float[2,1] y"]),
    "nested": (
        21, "bool c, float[3,4] x, int64[2] i",
        "y = If (c) <then_branch = t () => (a) { a = GatherElements (x, i) }, else_branch = e () => (b) { b = GatherElements (x, i) }>",
        ["float[2] y", "float[3] y"]),
    "a later node": (21, "float[3,4] x, int64[2] i, float[2] z", "a = GatherElements (x, i) y = Add (a, z)", ["float[2] y", "float[3] y"]),
}


def program(version: int, inputs: str, node: str, outputs: list[str]) -> str:
    models = [f'<ir_version: 10, opset_import: ["": {version}]> g ({inputs}) => ({one}) {{ {node} }}' for one in outputs]
    return f"""
    for text in {models!r}:
        model = onnx.parser.parse_model(text)
        try:
            onnx.checker.check_model(model, full_check=True)
            onnx.shape_inference.infer_shapes(model, strict_mode=True)
            print("accepted")
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            print("refused")
    """


@pytest.mark.parametrize("form", FORMS)
def test_declared_results_are_compared(form: str) -> None:
    version, inputs, node, outputs = FORMS[form]
    assert same(program(version, inputs, node, outputs)).split() == ["accepted"] + ["refused"] * (len(outputs) - 1)


def test_forms_in_functions_are_those_of_calls() -> None:
    models = [
        f'<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float[3,4] x, int64[2] i) => ({one} y) {{ y = f.fn (x, i) }} '
        '<domain: "f", opset_import: ["": 21]> fn (x, i) => (y) { y = GatherElements (x, i) }'
        for one in ("float[2]", "float[3]")
    ]
    text = f"""
    for text in {models!r}:
        try:
            onnx.shape_inference.infer_shapes(onnx.parser.parse_model(text), strict_mode=True)
            print("accepted")
        except onnx.shape_inference.InferenceError:
            print("refused")
    """
    assert same(text).split() == ["accepted", "refused"]


def test_results_are_those_of_the_reference() -> None:
    texts = [
        "(float[2,3,x] a, float[2,4,x] b) => (o) { s = SequenceConstruct (a, b) o = ConcatFromSequence <axis = 2> (s) }",
        "(int64[2,2] i, float[2] v) => (o) <int64[0] d = {}> { o = OneHot (i, d, v) }",
        "(float[3,4] x, int64[2] i) => (o) { g = GatherElements (x, i) o = Relu (g) }",
    ]
    assert same(f"""
    for text in {texts!r}:
        model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g ' + text)
        for strict in (False, True):
            kind = onnx.shape_inference.infer_shapes(model, strict_mode=strict).graph.output[0].type.tensor_type
            print(kind.elem_type, [dim.dim_value for dim in kind.shape.dim])
    """).splitlines() == ["1 [2, 0, 0]"] * 2 + ["1 [2, 2, 0]"] * 2 + ["1 [2]"] * 2


def test_both_branches_are_compared() -> None:
    branches = "<then_branch = t () => (a) { a = Softmax <axis = 3> (x) }, else_branch = e () => (b) { b = Relu (x) }>"
    texts = [
        f"(float[2,3] x, bool c) => (float[2,3] y) {{ y = If (c) {branches} }}",
        f"(float[2,3] x) => (float[2,3] y) <bool c = {{0}}> {{ y = If (c) {branches} }}",
        f"(float[2,3] x) => (float[2,3] y) {{ r = Size (x) z = Constant <value_int = 9> () c = Equal (r, z) y = If (c) {branches} }}",
    ]
    program = f"""
    for text in {texts!r}:
        model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g ' + text)
        try:
            onnx.shape_inference.infer_shapes(model, strict_mode=True)
            print("accepted")
        except onnx.shape_inference.InferenceError:
            print("refused")
    """
    assert same(program).split() == ["refused"] * 3
    # By the specification, nothing is wrong with a branch that does not run.
    assert run(program, install='onnxkit.compat.install(profile="spec")').split() == ["accepted"] * 3


def test_a_default_does_not_tell_the_shape_of_an_input() -> None:
    assert same("""
    from onnx import TensorProto, helper
    tensor = helper.make_tensor("x", TensorProto.FLOAT, (8, 7), [0.0] * 56)
    for version in (3, 4, 10):
        for shape in ((None, None), (8, None), (8, 7)):
            port = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
            graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [port], [], [tensor])
            model = helper.make_model(graph, ir_version=version, opset_imports=[helper.make_opsetid("", 8)])
            inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
            print(inferred.ir_version, [dim.dim_value for dim in inferred.graph.value_info[0].type.tensor_type.shape.dim])
    """).splitlines() == [f"{version} {shape}" for version in (3, 4, 10) for shape in ([0, 0], [8, 0], [8, 7])]
